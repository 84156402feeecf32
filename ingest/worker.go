package ingest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"strata/ingest/extract"
	"strata/internal/tokens"
	"strata/stores"
)

// workVariable holds what a worker is asked for. Its environment has little
// else: a file that takes a reader over finds no keys there.
const workVariable = "STRATA_DOCUMENT"

// work is what a worker is asked for. The document is its standard input.
type work struct {
	Format  format
	Charset string
	Tmp     string
	Busy    time.Duration
	Memory  int64 // bytes
	Text    int64 // bytes of all passages
	Limits  extract.Limits
}

// said is one line of a worker's answer: a passage, or how it ended.
type said struct {
	Heading string `json:"h,omitempty"`
	Text    string `json:"t,omitempty"`
	Tokens  int    `json:"n,omitempty"`

	Facts   *facts `json:"facts,omitempty"`
	Error   string `json:"error,omitempty"` // a name of names
	Details string `json:"details,omitempty"`
}

// names are the errors that a worker can tell of.
var names = []struct {
	name string
	err  error
}{
	{"empty", ErrEmpty}, {"encoding", ErrEncoding}, {"media_type", ErrMediaType}, {"too_large", ErrTooLarge},
	{"front", ErrFront}, {"damaged", ErrDamaged}, {"protected", ErrProtected}, {"limit", ErrLimit},
}

// named makes the errors of extract those of ingest.
func named(err error) error {
	for _, n := range []struct{ from, to error }{
		{extract.ErrZip, ErrLimit}, {extract.ErrTooLarge, ErrTooLarge}, {extract.ErrEncrypted, ErrProtected}, {extract.ErrChunk, ErrProtected}, {extract.ErrDamaged, ErrDamaged},
	} {
		if errors.Is(err, n.from) {
			return fmt.Errorf("%w: %w", n.to, err)
		}
	}
	return err
}

// Exit codes of a worker that ends itself for what it takes: memory, and time of
// processors.
const (
	memoryExit = 86
	busyExit   = 87
)

// Work is the other end of Put: it reads one document, which is in, and
// writes its passages to out. It is meant for a process of its own, which it
// puts limits on, and returns that one's exit code.
func Work(in *os.File, out io.Writer, getenv func(string) string) int {
	var w work
	if err := json.Unmarshal([]byte(getenv(workVariable)), &w); err != nil {
		fmt.Fprintln(os.Stderr, "this command is a part of ingesting and not to be run by hand")
		return 2
	}
	if err := limitSelf(w.Memory, w.Busy); err != nil {
		fmt.Fprintln(os.Stderr, "limits cannot be set:", err)
		return 2
	}
	buffered := bufio.NewWriterSize(out, 64<<10)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	var written int64
	f, err := w.read(in, func(p stores.Passage) error {
		if written += int64(len(p.Heading) + len(p.Text)); written > w.Text {
			return fmt.Errorf("%w: more than %d MB of text", ErrLimit, w.Text>>20)
		}
		return enc.Encode(said{Heading: p.Heading, Text: p.Text, Tokens: p.Tokens})
	})
	last := said{Facts: &f}
	if err != nil {
		last = said{Error: "other", Details: err.Error()}
		for _, n := range names {
			if errors.Is(err, n.err) {
				last.Error = n.name
			}
		}
	}
	if err := errors.Join(enc.Encode(last), buffered.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, "the passages cannot be written:", err)
		return 1
	}
	return 0
}

func (w work) read(in *os.File, put func(stores.Passage) error) (facts, error) {
	info, err := in.Stat()
	if err != nil {
		return facts{}, err
	}
	r := reading{format: w.Format, charset: w.Charset, body: in, size: info.Size(), tmp: w.Tmp, limits: w.Limits, count: tokens.Count}
	return r.read(context.Background(), put)
}

// limitSelf makes the collector work for a limit in bytes, and has the system
// refuse memory far beyond it. It ends the process when the limit is broken all
// the same, when the process has kept processors busy for too long, and when
// nobody waits for it any more.
func limitSelf(limit int64, busy time.Duration) error {
	debug.SetMemoryLimit(limit * 6 / 10)
	debug.SetGCPercent(50)
	parent := os.Getppid()
	go func() {
		for {
			if memoryInUse() > limit {
				fmt.Fprintln(os.Stderr, "more memory than "+strconv.FormatInt(limit>>20, 10)+" MB")
				os.Exit(memoryExit)
			}
			if busyFor() > busy {
				os.Exit(busyExit)
			}
			if os.Getppid() != parent {
				os.Exit(1)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	return limitAddresses(limit)
}
