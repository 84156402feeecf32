package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"strata/ingest"
)

// ingesting is what the flags of ingest say.
type ingesting struct {
	sync                       bool
	groups, effective, expires string
	id, title, prefix          string
}

func (p *program) ingestCommand() *cobra.Command {
	var t target
	var in ingesting
	cmd := &cobra.Command{
		Use: "ingest PATH…", Short: "Add files to what answers can draw on",
		Long: `Add documents to what answers can draw on, and folders with everything below
them: Markdown, text, HTML, CSV, PDF, docx, xlsx, pptx. A file's id is its path below the folder, behind --prefix. A file that has
not changed changes nothing; one that has becomes a new version. The exit code
is 1 when a file failed; what is of another kind is skipped and counted.`,
		Example: `  strata ingest handbook/
  strata ingest handbook/ --prefix handbook --sync      # and delete what is gone from it
  strata ingest policy.md --id leave-policy --groups hr,managers --effective 2026-01-01`,
		Args: atLeast(1, "a file or folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := in.check(args); err != nil {
				return err
			}
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return p.ingest(&upload{c: c, in: in, paths: args, progress: isTerminal(p.stderr)})
		},
	}
	t.addTo(cmd)
	cmd.Flags().BoolVar(&in.sync, "sync", false, "delete documents that are not among the files (with --prefix: only those behind it)")
	cmd.Flags().StringVar(&in.groups, "groups", "", "who may read them, comma-separated (default: everybody)")
	cmd.Flags().StringVar(&in.effective, "effective", "", "in force from this date or RFC 3339 time (default: at once)")
	cmd.Flags().StringVar(&in.expires, "expires", "", "in force until this date or RFC 3339 time (default: for ever)")
	cmd.Flags().StringVar(&in.id, "id", "", "id of a single file")
	cmd.Flags().StringVar(&in.title, "title", "", "title of a single file (default: from the text)")
	cmd.Flags().StringVar(&in.prefix, "prefix", "", "put before every id, such as handbook")
	return cmd
}

// check refuses flags that do not go together.
func (in *ingesting) check(paths []string) error {
	folder := false
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return usageError{fmt.Errorf("%s cannot be read; name a file or folder", p)}
		}
		folder = folder || info.IsDir()
	}
	switch {
	case (in.id != "" || in.title != "") && (folder || len(paths) > 1):
		return usageError{errors.New("--id and --title are of a single file; name one")}
	case in.id != "" && in.prefix != "":
		return usageError{errors.New("--id is the whole id; leave out --prefix")}
	case in.sync && !folder:
		return usageError{errors.New("--sync deletes what is not in a folder; name the folder")}
	}
	in.prefix = strings.Trim(in.prefix, "/")
	return nil
}

// upload is one run of ingest.
type upload struct {
	c        *client
	in       ingesting
	paths    []string
	progress bool // there is somebody to watch

	found                               []string // ids that are there, so that sync leaves them
	stored, unchanged, skipped, deleted int
	failed                              []string
}

func (p *program) ingest(u *upload) error {
	ctx := context.Background()
	_, err := ingest.Walk(ctx, u.paths, func(f ingest.Found) error { return p.ingestFile(ctx, u, f) })
	if err != nil {
		return err
	}
	if u.in.sync {
		if err := p.ingestSync(u); err != nil {
			return err
		}
	}
	summary := fmt.Sprintf("%d stored, %d unchanged, %d skipped", u.stored, u.unchanged, u.skipped)
	if u.in.sync {
		summary += fmt.Sprintf(", %d deleted", u.deleted)
	}
	fmt.Fprintln(p.stdout, summary)
	if len(u.failed) > 0 {
		return fmt.Errorf("%d failed: %s", len(u.failed), strings.Join(u.failed, ", "))
	}
	return nil
}

// ingestFile deals with one file. Only what makes all further ones useless is
// an error.
func (p *program) ingestFile(ctx context.Context, u *upload, f ingest.Found) error {
	id := u.idOf(f)
	if f.Skipped != "" {
		if f.Keep {
			u.found = append(u.found, id)
		}
		u.skipped++
		fmt.Fprintf(p.stdout, "skipped    %s: %s\n", plain(f.Path), plain(f.Skipped))
		return nil
	}
	u.found = append(u.found, id)
	if u.progress {
		fmt.Fprintf(p.stderr, "\r\x1b[K%s …", shorten(plain(f.Path), 60))
	}
	a, err := u.put(ctx, id, f)
	if u.progress {
		fmt.Fprint(p.stderr, "\r\x1b[K")
	}
	if failure, ok := errors.AsType[*refusedError](err); err != nil && (!ok || failure.status == http.StatusUnauthorized) {
		return err
	}
	switch {
	case err != nil:
		u.failed = append(u.failed, plain(id))
		fmt.Fprintf(p.stdout, "failed     %s: %v\n", plain(f.Path), err)
	case a.Unchanged:
		u.unchanged++
		fmt.Fprintf(p.stdout, "unchanged  %s\n", plain(id))
	default:
		u.stored++
		fmt.Fprintf(p.stdout, "%-10s %s: version %d, %d passages\n", a.Status, plain(id), a.Version, a.Passages)
	}
	return nil
}

func (u *upload) idOf(f ingest.Found) string {
	if u.in.id != "" {
		return u.in.id
	}
	id := path.Join(u.in.prefix, f.ID)
	if f.ID == "" || strings.HasSuffix(f.ID, "/") { // a folder stands for all that is below
		id += "/"
	}
	return id
}

// put sends one file and waits until it is published.
func (u *upload) put(ctx context.Context, id string, f ingest.Found) (ingest.Result, error) {
	var r ingest.Result
	file, size, err := openUpload(f.Path)
	if err != nil {
		return r, &refusedError{0, "cannot be read"}
	}
	defer file.Close()
	query := url.Values{}
	for name, value := range map[string]string{"title": u.in.title, "groups": u.in.groups, "effective": u.in.effective, "expires": u.in.expires} {
		if value != "" {
			query.Set(name, value)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, uploadLimit)
	defer cancel()
	resp, err := u.c.send(ctx, http.MethodPut, "/v1/documents/"+segment(id), query, ingest.MediaType(f.Path), io.NewSectionReader(file, 0, size))
	if err != nil {
		if info, statErr := file.Stat(); statErr != nil || info.Size() < size {
			err = &refusedError{0, "became shorter while it was sent; run it again"}
		}
		return r, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusAccepted {
		return u.await(ctx, resp)
	}
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return r, fmt.Errorf("%s broke off its answer; run it again", u.c.server)
	}
	return r, nil
}

// openUpload opens a file to send as many bytes of as it has now: one that
// grows meanwhile is sent up to there, one that shrinks breaks off.
func openUpload(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

const (
	uploadLimit = 30 * time.Minute
	askEvery    = 300 * time.Millisecond
)

// await waits for the job of a large file.
func (u *upload) await(ctx context.Context, accepted *http.Response) (ingest.Result, error) {
	var job struct {
		Job    string        `json:"job"`
		Status string        `json:"status"`
		Result ingest.Result `json:"result"`
		Error  struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.NewDecoder(accepted.Body).Decode(&job); err != nil || job.Job == "" {
		return job.Result, fmt.Errorf("%s broke off its answer; run it again", u.c.server)
	}
	for job.Status == "pending" {
		select {
		case <-ctx.Done():
			return job.Result, &refusedError{0, "not published after " + uploadLimit.String() + "; job " + job.Job + " goes on"}
		case <-time.After(askEvery):
		}
		if _, err := u.c.get("/v1/jobs/"+segment(job.Job), nil, &job); err != nil {
			return job.Result, err
		}
	}
	if job.Status != "done" {
		return job.Result, &refusedError{0, plain(job.Error.Message)}
	}
	return job.Result, nil
}

// ingestSync deletes the documents whose files are gone. Finding nothing at
// all is taken for a mistake: a folder that is not mounted looks the same.
func (p *program) ingestSync(u *upload) error {
	if len(u.found) == 0 {
		return errors.New("no file was found, so nothing is deleted; delete documents with `strata docs rm`")
	}
	rows, _, err := u.c.rows("/v1/documents", "documents", nil, paging{})
	if err != nil {
		return err
	}
	var have []string
	for _, raw := range rows {
		var d shownDocument
		if err := json.Unmarshal(raw, &d); err != nil {
			return fmt.Errorf("%s answers documents of another version; nothing was deleted", u.c.server)
		}
		have = append(have, d.ID)
	}
	for _, id := range ingest.Missing(have, u.found, u.in.prefix) {
		_, err := u.c.do(http.MethodDelete, "/v1/documents/"+segment(id), nil, nil)
		if failure, ok := errors.AsType[*refusedError](err); ok && failure.status == http.StatusNotFound {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", plain(id), err)
		}
		u.deleted++
		fmt.Fprintf(p.stdout, "deleted    %s\n", plain(id))
	}
	return nil
}
