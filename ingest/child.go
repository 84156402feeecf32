package ingest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"strata/ingest/extract"
	"strata/stores"
)

// Worker is the process that documents are read in.
type Worker struct {
	// Command runs Work on its standard input and output; empty = this program
	// with the argument "read-document".
	Command []string
	Time    time.Duration // for one document; 0 = 10 minutes
	Busy    time.Duration // of processors for a document of no size, with 20 s more for each MB; 0 = 30 s
	Memory  int64         // bytes of the process; 0 = 192 MB
	Text    int64         // bytes of all passages together; 0 = 1 GB
	Limits  extract.Limits
}

const (
	workerTime = 10 * time.Minute
	// What honest files take is far less: 5,000 pages of PDF ten seconds, and a MB
	// of text a third of one. A small file that takes more makes its reader go
	// over the same things again and again.
	workerBusy   = 30 * time.Second
	busyEachMB   = 20 * time.Second
	workerMemory = 192 << 20
	// inline is up to how many bytes of a worker's answer are held in memory.
	inline = 8 << 20
	// workerText is bounded since a sheet of few bytes may have rows of any width.
	workerText = 1 << 30
	// maxAnswer bounds a worker's answer in bytes, for one that does not keep to
	// that.
	maxAnswer = 2 << 30
)

// WorkerCommand is the command of the program that runs Work.
const WorkerCommand = "read-document"

func (w Worker) withDefaults() (Worker, error) {
	w.Time, w.Busy, w.Memory, w.Text = cmp.Or(w.Time, workerTime), cmp.Or(w.Busy, workerBusy), cmp.Or(w.Memory, workerMemory), cmp.Or(w.Text, workerText)
	if len(w.Command) > 0 {
		return w, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return w, fmt.Errorf("ingest: this program cannot find itself to read documents with: %w", err)
	}
	w.Command = []string{exe, WorkerCommand}
	return w, nil
}

// passages are the passages of a document as a worker has written them.
type passages struct {
	facts
	list []stores.Passage                 // all, or none if they are many
	more iter.Seq2[stores.Passage, error] // the others
	dir  string                           // goes with them
}

func (p *passages) close() {
	if p != nil && p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}

// readApart reads a document in a process of its own. Its files are below
// tmp until passages.close.
func readApart(ctx context.Context, w Worker, tmp string, r reading, body *os.File) (_ *passages, err error) {
	if w, err = w.withDefaults(); err != nil {
		return nil, err
	}
	p := &passages{}
	if p.dir, err = os.MkdirTemp(tmp, "document-"); err != nil {
		return nil, fmt.Errorf("ingest: no folder to read a document in: %w", err)
	}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if body == nil {
		if body, err = spool(p.dir, r); err != nil {
			return nil, err
		}
		defer body.Close()
	}
	out, err := os.OpenFile(filepath.Join(p.dir, "passages"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	defer out.Close()
	if err := w.run(ctx, p.dir, r, body, out); err != nil {
		return nil, err
	}
	return p, p.load(out)
}

func spool(dir string, r reading) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "document"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	if _, err := io.Copy(f, io.NewSectionReader(r.body, 0, r.size)); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("ingest: %w", err)
	}
	return f, nil
}

// run runs the worker. An error that it writes itself is not among its errors.
func (w Worker) run(ctx context.Context, dir string, r reading, body, out *os.File) error {
	busy := w.busy(r.size)
	asked, err := json.Marshal(work{Format: r.format, Charset: r.charset, Tmp: dir, Busy: busy, Memory: w.Memory, Text: w.Text, Limits: w.Limits})
	if err != nil {
		return err
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, w.Time)
	defer cancel()
	cmd := exec.CommandContext(limited, w.Command[0], w.Command[1:]...)
	stderr := &start{limit: 4 << 10}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = body, out, stderr, dir
	cmd.Env = []string{workVariable + "=" + string(asked), "TMPDIR=" + dir}
	if root := os.Getenv("SYSTEMROOT"); root != "" { // Windows runs nothing without it
		cmd.Env = append(cmd.Env, "SYSTEMROOT="+root, "TEMP="+dir, "TMP="+dir)
	}
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return fmt.Errorf("%w: more than %v", ErrLimit, w.Time)
	case cmd.ProcessState == nil:
		return fmt.Errorf("ingest: documents cannot be read: %w", err)
	case cmd.ProcessState.ExitCode() == busyExit:
		return fmt.Errorf("%w: more than %v of processor time, which is far beyond what a file of %d KB takes", ErrLimit, busy.Round(time.Second), r.size>>10)
	case cmd.ProcessState.ExitCode() == memoryExit, strings.Contains(stderr.String(), "out of memory"), strings.Contains(stderr.String(), "cannot allocate memory"):
		return fmt.Errorf("%w: more than %d MB of memory", ErrLimit, w.Memory>>20)
	case cmd.ProcessState.ExitCode() == 1, cmd.ProcessState.ExitCode() == 2 && !strings.Contains(stderr.String(), "goroutine"):
		return fmt.Errorf("ingest: documents cannot be read: %s", oneLine(stderr.String()))
	}
	return fmt.Errorf("%w: its reader broke off (%v)", ErrDamaged, err) // a fault of its own, or killed by the system
}

// busy is how long a worker may keep processors at work for a document of so
// many bytes.
func (w Worker) busy(size int64) time.Duration {
	return w.Busy + time.Duration(float64(size)/(1<<20)*float64(busyEachMB))
}

// start keeps the start of what is written to it.
type start struct {
	bytes.Buffer
	limit int
}

func (s *start) Write(p []byte) (int, error) {
	s.Buffer.Write(p[:min(len(p), max(0, s.limit-s.Len()))])
	return len(p), nil
}

// load reads what the worker wrote: the end first, since it tells whether the
// rest counts.
func (p *passages) load(out *os.File) error {
	size, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	if size > maxAnswer {
		return fmt.Errorf("%w: more than %d MB of text", ErrLimit, maxAnswer>>20)
	}
	last, rest, err := lastLine(out, size)
	if err != nil {
		return err
	}
	if last.Error != "" {
		return last.failure()
	}
	if last.Facts == nil {
		return fmt.Errorf("%w: its reader broke off", ErrDamaged)
	}
	p.facts = *last.Facts
	p.more = passagesIn(out.Name(), rest)
	if rest > inline {
		return nil
	}
	for one, err := range p.more {
		if err != nil {
			return err
		}
		p.list = append(p.list, one)
	}
	p.more = nil
	return nil
}

func (s said) failure() error {
	for _, n := range names {
		if n.name == s.Error {
			return fmt.Errorf("%w%s", n.err, strings.TrimPrefix(s.Details, n.err.Error()))
		}
	}
	return errors.New(s.Details)
}

// lastLine returns the last line of an answer and where it begins.
func lastLine(out *os.File, size int64) (s said, at int64, err error) {
	tail := make([]byte, min(size, 64<<10))
	if _, err := out.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return s, 0, fmt.Errorf("ingest: %w", err)
	}
	from := bytes.LastIndexByte(bytes.TrimSuffix(tail, []byte("\n")), '\n') + 1
	if err := json.Unmarshal(tail[from:], &s); err != nil {
		return said{}, 0, fmt.Errorf("%w: its reader broke off", ErrDamaged)
	}
	return s, size - int64(len(tail)-from), nil
}

// passagesIn reads the passages in the first bytes of a file, each time anew.
func passagesIn(name string, size int64) iter.Seq2[stores.Passage, error] {
	return func(yield func(stores.Passage, error) bool) {
		f, err := os.Open(name)
		if err != nil {
			yield(stores.Passage{}, fmt.Errorf("ingest: %w", err))
			return
		}
		defer f.Close()
		dec := json.NewDecoder(io.NewSectionReader(f, 0, size))
		for n := 0; ; n++ {
			var s said
			err := dec.Decode(&s)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				err = fmt.Errorf("ingest: the passages of a document are broken: %w", err)
			}
			if !yield(stores.Passage{Ordinal: n, Heading: s.Heading, Text: s.Text, Tokens: s.Tokens}, err) || err != nil {
				return
			}
		}
	}
}
