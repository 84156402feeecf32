package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"strata/ingest"
	"strata/stores"
)

// Documents reads the documents of a tenant.
type Documents interface {
	Documents(ctx context.Context, tenant, cursor string, limit int) ([]stores.Document, string, error)
	// Document returns one with its versions, the newest first.
	Document(ctx context.Context, tenant, id string) (stores.Document, []stores.Version, error)
	// DocumentPassages returns some passages of any version that is kept, from
	// the number first on; none are left after the last. All of them are of the
	// one version, or one of the reads is an error.
	DocumentPassages(ctx context.Context, tenant, id string, version, first int) ([]stores.Passage, error)
}

// Ingester writes them. Put answers when the new version is published.
type Ingester interface {
	Put(ctx context.Context, tenant string, source ingest.Source) (ingest.Result, error)
	Delete(ctx context.Context, tenant, id string) error
}

// maxInline is the largest upload in bytes that its caller waits for; above it
// the answer is a job.
const maxInline = 8 << 20

func (c *calls) documentRoutes() []route {
	noRead, noWrite := c.cfg.Documents == nil, c.cfg.Ingester == nil
	return []route{
		{"GET /v1/documents", paged, noRead, c.listDocuments},
		{"GET /v1/documents/{id...}", []string{"version", "passages"}, noRead, c.getDocument},
		{"PUT /v1/documents/{id...}", []string{"title", "groups", "effective", "expires"}, noWrite, c.putDocument},
		{"DELETE /v1/documents/{id...}", nil, noWrite, c.deleteDocument},
		{"GET /v1/jobs", paged, noWrite, c.listJobs},
		{"GET /v1/jobs/{id}", nil, noWrite, c.getJob},
	}
}

func (c *calls) listDocuments(w http.ResponseWriter, r *request) error {
	limit, cursor, err := r.page()
	if err != nil {
		return err
	}
	documents, next, err := c.cfg.Documents.Documents(r.Context(), r.tenant, cursor, limit)
	if err != nil {
		return err
	}
	for i := range documents {
		documents[i].Groups = list(documents[i].Groups)
	}
	answer(w, http.StatusOK, struct {
		Documents []stores.Document `json:"documents"`
		Next      string            `json:"next_cursor"`
	}{list(documents), next})
	return nil
}

func (c *calls) deleteDocument(w http.ResponseWriter, r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	// What is being ingested must not come after the delete.
	stopped := c.jobs.cancel(r.Context(), r.tenant, id)
	err = c.cfg.Ingester.Delete(r.Context(), r.tenant, id)
	if err != nil && (!stopped || !errors.Is(err, stores.ErrNotFound)) {
		return err
	}
	answer(w, http.StatusOK, deletion{id, true})
	return nil
}

func (c *calls) putDocument(w http.ResponseWriter, r *request) error {
	source, err := c.readSource(w, r)
	if err != nil {
		return err
	}
	large := source.File != ""
	parent := r.Context()
	if large {
		parent = context.Background()
	}
	keep := spooled{Tenant: r.tenant, ID: source.ID, Title: source.Title, MediaType: source.MediaType, Groups: source.Groups,
		Effective: source.Effective, Expires: source.Expires, At: time.Now()}
	j, err := c.jobs.start(parent, keep, source, func(ctx context.Context, source ingest.Source) (ingest.Result, error) {
		return c.ingest(ctx, keep.Tenant, source)
	})
	if err != nil {
		return err
	}
	if large {
		w.Header().Set("Location", "/v1/jobs/"+j.id)
		answer(w, http.StatusAccepted, jobAnswer{Job: j.id, ID: source.ID, Status: jobPending})
		return nil
	}
	<-j.done
	if j.err != nil {
		return j.err
	}
	answer(w, http.StatusOK, j.result)
	return nil
}

// resume takes up what the process before had accepted and not ended.
func (c *calls) resume() {
	jobs, err := c.jobs.spool.waiting()
	if err != nil {
		c.cfg.Logger.Error("accepted documents cannot be taken up", "error", err)
		return
	}
	for _, kept := range jobs {
		gaveUp := kept.Tries >= maxTries
		_, err := c.jobs.start(context.Background(), kept, c.jobs.spool.source(kept), func(ctx context.Context, source ingest.Source) (ingest.Result, error) {
			if gaveUp {
				return ingest.Result{}, errCrashed
			}
			return c.ingest(ctx, kept.Tenant, source)
		})
		if err != nil {
			c.cfg.Logger.Error("an accepted document cannot be taken up", "document", kept.ID, "job", kept.Job, "error", err)
			continue
		}
		c.cfg.Logger.Info("an accepted document is taken up again", "document", kept.ID, "job", kept.Job, "begun_before", kept.Tries, "given_up", gaveUp)
	}
}

// ingest runs on a goroutine of its own, so a panic of a parser must end here.
// Nobody waits for a large one, so its errors are logged here too.
func (c *calls) ingest(ctx context.Context, tenant string, source ingest.Source) (res ingest.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("BUG: ingesting panicked: %v\n%s", v, debug.Stack())
		}
		if _, ours := asProblem(err); err != nil && ours && source.File != "" {
			c.cfg.Logger.Error("an ingest failed", "document", source.ID, "error", err)
		}
	}()
	res, err = c.cfg.Ingester.Put(ctx, tenant, source)
	if err == nil && res.Status == ingest.StatusDeleted {
		err = errDeleted
	}
	return res, err
}

// readSource takes the document from path, query and body.
func (c *calls) readSource(w http.ResponseWriter, r *request) (ingest.Source, error) {
	source := ingest.Source{Title: r.query["title"], MediaType: r.Header.Get("Content-Type")}
	var err error
	if source.ID, err = r.id(); err != nil {
		return source, err
	}
	if source.Effective, err = parseDate("effective", r.query["effective"], r.zone, false); err != nil {
		return source, err
	}
	if source.Expires, err = parseDate("expires", r.query["expires"], r.zone, true); err != nil {
		return source, err
	}
	if !source.Expires.IsZero() && !source.Effective.Before(source.Expires) {
		return source, invalid("expires", "not after effective")
	}
	if source.Groups, err = splitGroups(r.query["groups"]); err != nil {
		return source, err
	}
	err = c.readUpload(w, r, &source)
	return source, err
}

// splitGroups reads names with commas between them. A list that names nobody is
// a mistake: taken for none, it would show the document to everybody.
func splitGroups(text string) ([]string, error) {
	var groups []string
	for g := range strings.SplitSeq(text, ",") {
		if g = strings.TrimSpace(g); g != "" && !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	if text != "" && len(groups) == 0 {
		return nil, invalid("groups", "holds no name; leave it out for everybody")
	}
	slices.Sort(groups)
	return groups, nil
}

var errLargeDocument = &problem{http.StatusRequestEntityTooLarge, "body_too_large", "The document is larger than this Strata takes."}

// readUpload reads the body: into memory, or a file if it is large. A large
// one over a slow line takes longer than the listener gives other calls.
func (c *calls) readUpload(w http.ResponseWriter, r *request, source *ingest.Source) error {
	if r.ContentLength > c.cfg.MaxDocument {
		return errLargeDocument // before any of it is read
	}
	// Not every writer has deadlines; those that have none need none.
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetReadDeadline(time.Now().Add(10 * time.Minute))
	_ = deadlines.SetWriteDeadline(time.Now().Add(20 * time.Minute))
	body := http.MaxBytesReader(w, r.Body, c.cfg.MaxDocument)
	start, err := io.ReadAll(io.LimitReader(body, maxInline+1))
	if source.Body = start; err == nil && len(start) > maxInline {
		source.Body = nil
		source.File, err = c.keepUpload(io.MultiReader(bytes.NewReader(start), body))
	}
	var large *http.MaxBytesError
	var file *os.PathError
	switch {
	case errors.As(err, &large):
		return errLargeDocument
	case errors.As(err, &file):
		return fmt.Errorf("an upload cannot be kept: %w", err)
	case err != nil:
		return &problem{http.StatusBadRequest, "bad_request_body", "The body is cut off or wrongly framed."}
	}
	// Whether the client is still there is read from the connection, so that
	// the deadline would end the ingest.
	_ = deadlines.SetReadDeadline(time.Time{})
	return nil
}

// keepUpload writes an upload to a file, of which nothing is left after an
// error.
func (c *calls) keepUpload(body io.Reader) (name string, err error) {
	f, err := c.jobs.upload(c.cfg.TmpDir)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, body)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// listJobs answers all at once: few are known at any time.
func (c *calls) listJobs(w http.ResponseWriter, r *request) error {
	answer(w, http.StatusOK, struct {
		Jobs []jobAnswer `json:"jobs"`
		Next string      `json:"next_cursor"`
	}{c.jobs.list(r.tenant), ""})
	return nil
}

func (c *calls) getJob(w http.ResponseWriter, r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	a, found := c.jobs.find(r.tenant, id)
	if !found {
		return stores.ErrNotFound
	}
	answer(w, http.StatusOK, a)
	return nil
}
