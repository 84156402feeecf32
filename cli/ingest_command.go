package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"strata/ingest"
)

// ingesting is what the flags of ingest say.
type ingesting struct {
	sync, force, watch         bool
	groups, effective, expires string
	id, title, prefix          string
	check                      string        // file of questions
	poll                       time.Duration // 0 = by notice
}

func (p *program) ingestCommand() *cobra.Command {
	var t target
	var in ingesting
	cmd := &cobra.Command{
		Use: "ingest PATH…", Short: "Add files to what answers can draw on",
		Long: `Add documents to what answers can draw on, and folders with everything below
them: Markdown, text, HTML, CSV, PDF, docx, xlsx, pptx; - is standard input,
with --id. A file's id is its path below the folder,
or the id in its front matter, behind --prefix. A file that has not changed
changes nothing; one that has becomes a new version. The exit code is 1 when a
file failed; what is of another kind is skipped and counted.

A text may begin with front matter (YAML between two lines of ---): id, title,
groups, effective, expires. Flags win over it.

--check asks the questions of a file (see strata check) of a temporary copy
with the new versions in it, and publishes nothing when one fails.`,
		Example: `  strata ingest handbook/
  strata ingest handbook/ --prefix handbook --sync      # and delete what is gone from it
  strata ingest handbook/ --watch                       # until Ctrl-C
  strata ingest handbook/ --check questions.yaml
  pandoc leave.rst -t markdown | strata ingest - --id hr/leave.md --title "Leave"
  strata ingest policy.md --id leave-policy --groups hr,managers --effective 2026-01-01`,
		Args: atLeast(1, "a file or folder, or - for standard input"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := in.validate(args); err != nil {
				return err
			}
			u := &upload{in: in, paths: args}
			if isTerminal(p.stderr) {
				u.report = func(line string) { fmt.Fprint(p.stderr, "\r\x1b[K"+line) }
			}
			var err error
			if in.check != "" {
				if u.questions, err = p.questions(in.check); err != nil {
					return usageError{err}
				}
			}
			if u.c, err = p.client(t); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if in.watch {
				return p.ingestWatch(ctx, u)
			}
			return p.ingest(ctx, u)
		},
	}
	t.addTo(cmd)
	in.addTo(cmd)
	return cmd
}

func (in *ingesting) addTo(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&in.sync, "sync", false, "delete documents that are not among the files (with --prefix: only those behind it)")
	cmd.Flags().BoolVar(&in.force, "force", false, "with --sync: delete also more than half of the documents")
	cmd.Flags().BoolVar(&in.watch, "watch", false, "go on until Ctrl-C and take in what changes")
	cmd.Flags().DurationVar(&in.poll, "poll", 0, "with --watch: look every so often, such as 5s, instead of waiting for the system's notice")
	cmd.Flags().StringVar(&in.check, "check", "", "publish nothing unless the questions of this file get what they should")
	cmd.Flags().StringVar(&in.groups, "groups", "", "who may read them, comma-separated (default: from front matter, else everybody)")
	cmd.Flags().StringVar(&in.effective, "effective", "", "in force from this date or RFC 3339 time (default: from front matter, else at once)")
	cmd.Flags().StringVar(&in.expires, "expires", "", "in force until this date or RFC 3339 time (default: from front matter, else for ever)")
	cmd.Flags().StringVar(&in.id, "id", "", "id of a single file")
	cmd.Flags().StringVar(&in.title, "title", "", "title of a single file (default: from the text)")
	cmd.Flags().StringVar(&in.prefix, "prefix", "", "put before every id, such as handbook")
}

// validate refuses flags that do not go together.
func (in *ingesting) validate(paths []string) error {
	folder, stdin := false, false
	for _, p := range paths {
		if p == "-" {
			stdin = true
			continue
		}
		info, err := os.Stat(p)
		if err != nil {
			return usageError{fmt.Errorf("%s cannot be read; name a file or folder", p)}
		}
		folder = folder || info.IsDir()
	}
	switch {
	case stdin && (len(paths) > 1 || in.watch || in.check == "-"):
		return usageError{errors.New("- is standard input, which is one document; give it alone, without --watch and --check -")}
	case (in.id != "" || in.title != "") && (folder || len(paths) > 1):
		return usageError{errors.New("--id and --title are of a single file; name one")}
	case in.id != "" && in.prefix != "":
		return usageError{errors.New("--id is the whole id; leave out --prefix")}
	case in.sync && !folder:
		return usageError{errors.New("--sync deletes what is not in a folder; name the folder")}
	case in.force && !in.sync:
		return usageError{errors.New("--force is of --sync; add --sync")}
	case in.poll < 0 || in.poll > 0 && !in.watch:
		return usageError{errors.New("--poll is of --watch, a time such as 5s; add --watch")}
	}
	in.prefix = strings.Trim(in.prefix, "/")
	return nil
}

// upload is one run of ingest, of a watch one look.
type upload struct {
	c         *client
	in        ingesting
	paths     []string
	report    func(line string) // shows whoever watches what goes on, "" = nothing; nil = nobody does
	questions []question

	files  []incoming
	found  []string         // ids that are there, so that sync leaves them
	seen   map[string]bool  // paths that are there, taken or not
	unread map[string]bool  // of these, folders that could not be read
	before map[string]stamp // of files, from before they were read
	unsure bool             // a file's id could not be read

	stored, unchanged, skipped, deleted int
	failed                              []string
	sums                                map[string]string // of what was taken or refused, by path
}

// incoming is one document that is to be taken in.
type incoming struct {
	id, path string
	body     []byte // of standard input; nil = in path
}

func (p *program) ingest(ctx context.Context, u *upload) error {
	var have []string
	if u.in.sync {
		var err error
		if have, err = u.documents(); err != nil {
			return err
		}
	}
	if err := p.collect(ctx, u); err != nil {
		return err
	}
	drop, refused := u.toDrop(have)
	if u.questions != nil {
		if err := p.preflight(ctx, u, drop); err != nil {
			return err
		}
	}
	if err := p.ingestFiles(ctx, u); err != nil {
		return err
	}
	if err := p.drop(u, drop); err != nil {
		return err
	}
	fmt.Fprintln(p.stdout, u.summary())
	if len(u.failed) > 0 {
		refused = errors.Join(fmt.Errorf("%d failed: %s", len(u.failed), strings.Join(u.failed, ", ")), refused)
	}
	return refused
}

func (u *upload) summary() string {
	text := fmt.Sprintf("%d stored, %d unchanged, %d skipped", u.stored, u.unchanged, u.skipped)
	if u.in.sync || u.deleted > 0 {
		text += fmt.Sprintf(", %d deleted", u.deleted)
	}
	return text
}

// collect finds the files, and tells what it skips.
func (p *program) collect(ctx context.Context, u *upload) error {
	u.seen, u.unread, u.before, u.sums = map[string]bool{}, map[string]bool{}, map[string]stamp{}, map[string]string{}
	if u.paths[0] == "-" {
		return p.collectInput(u)
	}
	from := map[string]string{} // path, by id
	_, err := ingest.Walk(ctx, u.paths, func(f ingest.Found) error {
		u.seen[f.Path] = true
		id := u.idOf(f)
		if f.Skipped != "" {
			if f.Keep {
				u.found = append(u.found, id)
				u.unread[f.Path] = strings.HasSuffix(id, "/")
			}
			p.skip(u, f.Path, f.Skipped)
			return nil
		}
		u.before[f.Path] = stampOf(f.Path)
		own, err := u.ownID(f.Path)
		switch {
		case err != nil:
			u.unsure = true
			p.fail(u, id, f.Path, err)
			return nil
		case own != "":
			id = own
		}
		u.found = append(u.found, id)
		if other, taken := from[id]; taken {
			p.skip(u, f.Path, "has the same id as "+other)
			return nil
		}
		from[id] = f.Path
		u.files = append(u.files, incoming{id: id, path: f.Path})
		return nil
	})
	return err
}

func (p *program) collectInput(u *upload) error {
	body, err := io.ReadAll(io.LimitReader(p.stdin, ingest.MaxSize+1))
	switch {
	case err != nil:
		return fmt.Errorf("standard input cannot be read: %w", err)
	case len(body) > ingest.MaxSize:
		return fmt.Errorf("standard input is larger than %d MB; send it as several documents", ingest.MaxSize>>20)
	}
	front, err := ingest.ReadFront(body)
	if err != nil {
		return errors.New(message(err))
	}
	id := u.in.id
	if id == "" && front.ID != "" {
		id = path.Join(u.in.prefix, front.ID)
	}
	if id == "" {
		return usageError{errors.New("- has no name to make an id of; give --id, or an id in its front matter")}
	}
	u.files = append(u.files, incoming{id: id, path: id, body: body})
	return nil
}

// ownID is the id that a file's front matter gives it, "" if none.
func (u *upload) ownID(file string) (string, error) {
	if u.in.id != "" {
		return u.in.id, nil
	}
	const head = 64 << 10 // more than front matter may take
	f, err := os.Open(file)
	if err != nil {
		return "", nil // told when it is sent
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, head))
	if err != nil {
		return "", nil
	}
	front, err := ingest.ReadFront(b)
	if err != nil {
		return "", errors.New(message(err))
	}
	if front.ID == "" {
		return "", nil
	}
	return strings.TrimPrefix(u.in.prefix+"/"+front.ID, "/"), nil
}

// message is an error of ingest without the name of its package.
func message(err error) string { return strings.TrimPrefix(err.Error(), "ingest: ") }

func (p *program) skip(u *upload, file, why string) {
	u.skipped++
	fmt.Fprintf(p.stdout, "skipped    %s: %s\n", plain(file), plain(why))
}

func (p *program) fail(u *upload, id, file string, err error) {
	u.failed = append(u.failed, plain(id))
	fmt.Fprintf(p.stdout, "failed     %s: %v\n", plain(file), err)
}

// ingestFiles sends the files and tells of each in their order. Only what makes
// all further ones useless is an error.
func (p *program) ingestFiles(ctx context.Context, u *upload) error {
	for f, wait := range u.sendAll(ctx) {
		if u.report != nil {
			u.report(shorten(plain(f.path), 60) + " …")
		}
		s := wait()
		if u.report != nil {
			u.report("")
		}
		if ctx.Err() != nil {
			return errors.New("stopped; what was stored stays, and running it again goes on from there")
		}
		if failure, ok := errors.AsType[*refusedError](s.err); s.err != nil && (!ok || failure.status == http.StatusUnauthorized) {
			return s.err
		}
		u.sums[f.path] = s.sum
		switch {
		case s.err != nil:
			p.fail(u, f.id, f.path, s.err)
		case s.Unchanged:
			u.unchanged++
			fmt.Fprintf(p.stdout, "unchanged  %s%s\n", plain(f.id), lost(": ", s.Result))
		default:
			u.stored++
			fmt.Fprintf(p.stdout, "%-10s %s: version %d, %d passages%s\n", s.Status, plain(f.id), s.Version, s.Passages, lost("; ", s.Result))
		}
	}
	return nil
}

// sent is what became of a file that was sent.
type sent struct {
	ingest.Result
	sum string // of its content
	err error
}

// How many files are on their way at one time: while some are read, others are
// written to the index as one. Large ones wait for each other anyway.
const (
	senders      = 32
	largeSenders = 2
	largeFile    = 256 << 10 // bytes
)

// sendAll gives out each file with a function that waits for what becomes of
// it. None is on its way any more when it returns.
func (u *upload) sendAll(ctx context.Context) iter.Seq2[incoming, func() sent] {
	return func(yield func(incoming, func() sent) bool) {
		var running sync.WaitGroup
		defer running.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		large := make(chan struct{}, largeSenders)
		results := make([]chan sent, len(u.files))
		begin := func(i int) {
			if i < len(results) {
				result := make(chan sent, 1)
				results[i] = result
				running.Go(func() { result <- u.send(ctx, u.files[i], large) })
			}
		}
		for i := range senders {
			begin(i)
		}
		for i, f := range u.files {
			if !yield(f, func() sent { return <-results[i] }) {
				return
			}
			begin(i + senders)
		}
	}
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

// send sends one file and waits until it is published. It holds large while
// the file is a large one.
func (u *upload) send(ctx context.Context, f incoming, large chan struct{}) (s sent) {
	var body io.ReaderAt = bytes.NewReader(f.body)
	size := int64(len(f.body))
	shrank := func() bool { return false }
	if f.body == nil {
		file, now, err := openUpload(f.path)
		if err != nil {
			return sent{err: &refusedError{0, "cannot be read"}}
		}
		defer file.Close()
		body, size = file, now
		shrank = func() bool {
			info, err := file.Stat()
			return err != nil || info.Size() < now
		}
	}
	if size > largeFile {
		large <- struct{}{}
		defer func() { <-large }()
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(body, 0, size)); err != nil {
		return sent{err: &refusedError{0, "cannot be read"}}
	}
	s.sum = fmt.Sprintf("%x", sum.Sum(nil))
	s.Result, s.err = u.put(ctx, f, io.NewSectionReader(body, 0, size))
	if s.err != nil && shrank() {
		s.err = &refusedError{0, "became shorter while it was sent; run it again"}
	}
	return s
}

func (u *upload) put(ctx context.Context, f incoming, body *io.SectionReader) (r ingest.Result, err error) {
	query := url.Values{}
	for name, value := range map[string]string{"title": u.in.title, "groups": u.in.groups, "effective": u.in.effective, "expires": u.in.expires} {
		if value != "" {
			query.Set(name, value)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, uploadLimit)
	defer cancel()
	resp, err := u.c.send(ctx, http.MethodPut, "/v1/documents/"+segment(f.id), query, ingest.MediaType(f.path), body)
	if err != nil {
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
