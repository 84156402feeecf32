package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"strata/ingest/watch"
)

// goneFor is how long a file must be gone before its document goes: editors
// take a file away for a moment and put a new one in its place.
const goneFor = time.Second

// watching is what a watch knows of the files.
type watching struct {
	u     *upload // the flags; of each look a copy is used
	files map[string]*watched

	refused bool // by the questions, when it was looked last
	unsure  bool // told of front matter that cannot be read
	warned  bool // told of files that are gone all at once
}

// watched is a file that was taken in.
type watched struct {
	id    string
	stamp stamp
	sum   string    // of what was sent
	gone  time.Time // since when it is not there, zero = it is
}

// stamp tells that a file was written. A file of the same size and time is
// taken for the same; a minute's sweep costs no more than a look at each.
type stamp struct {
	size    int64
	written time.Time
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime()}
}

// ingestWatch takes everything in once, and then what changes until ctx ends.
// What fails later is told and tried again.
func (p *program) ingestWatch(ctx context.Context, u *upload) error {
	// Watching begins first, so that no change falls in between.
	changes := watch.Changes(ctx, watch.Config{Paths: u.paths, Silent: u.in.poll > 0, Poll: u.in.poll, Logger: slog.New(slog.NewTextHandler(p.stderr, nil))})
	w := &watching{u: u, files: map[string]*watched{}}
	first := *u
	if err := p.ingest(ctx, &first); err != nil {
		_, away := errors.AsType[*awayError](err)
		if _, wrong := errors.AsType[usageError](err); wrong || away || len(first.files) == 0 || ctx.Err() != nil {
			return err
		}
		w.refused = len(first.sums) == 0
		fmt.Fprintln(p.stderr, "strata:", err)
	}
	w.remember(&first)
	fmt.Fprintln(p.stdout, "watching; Ctrl-C ends it")
	again := time.NewTimer(w.next(nil))
	defer again.Stop()
	for {
		select {
		case _, open := <-changes:
			if !open {
				fmt.Fprintln(p.stdout, "stopped")
				return nil
			}
		case <-again.C:
		}
		err := p.lookAgain(ctx, w)
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(p.stderr, "strata:", err)
		}
		again.Reset(w.next(err))
	}
}

// next is when to look again without notice: soon where a file is gone or the
// last look failed.
func (w *watching) next(err error) time.Duration {
	next := time.Hour
	if err != nil && !w.refused {
		next = 5 * time.Second
	}
	for _, f := range w.files {
		if left := goneFor - time.Since(f.gone); !f.gone.IsZero() && left > 0 {
			next = min(next, left)
		}
	}
	return next
}

// remember keeps what a look has taken in. What it did not come to has no sum.
func (w *watching) remember(u *upload) {
	for _, f := range u.files {
		w.files[f.path] = &watched{id: f.id, stamp: u.before[f.path], sum: u.sums[f.path]}
	}
}

// lookAgain takes in what has changed, and deletes what moved or, with --sync,
// is gone.
func (p *program) lookAgain(ctx context.Context, w *watching) error {
	look := *w.u
	quiet := *p
	quiet.stdout = io.Discard // of files that have not changed
	if err := quiet.collect(ctx, &look); err != nil {
		return err // a folder that is not there: its documents stay
	}
	if look.unsure && !w.unsure {
		fmt.Fprintf(p.stderr, "strata: the front matter of %s cannot be read; `strata ingest` tells the line\n", strings.Join(look.failed, ", "))
	}
	w.unsure, look.failed, look.skipped = look.unsure, nil, 0
	moved, gone := w.missing(&look)
	all := look.files
	var waiting []incoming
	look.files = nil
	for _, f := range all {
		switch k := w.files[f.path]; {
		case k == nil, k.stamp != look.before[f.path]:
			look.files = append(look.files, f)
		case k.id != f.id:
			look.files = append(look.files, f)
		case k.sum == "":
			waiting = append(waiting, f)
		}
	}
	// What the questions refused is tried again with the next change.
	if len(look.files) > 0 || !w.refused {
		look.files = append(look.files, waiting...)
	}
	if len(look.files)+len(moved)+len(gone) == 0 {
		return nil
	}
	return p.takeChanges(ctx, w, &look, append(moved, w.allowed(p, gone)...))
}

func (p *program) takeChanges(ctx context.Context, w *watching, look *upload, drop []string) error {
	w.refused = false
	if look.questions != nil {
		if err := p.preflight(ctx, look, drop); err != nil {
			w.refused = true
			w.remember(look)
			return err
		}
	}
	err := p.ingestFiles(ctx, look)
	w.remember(look)
	if err == nil {
		err = p.drop(look, drop)
	}
	if err != nil {
		return err
	}
	for path, f := range w.files {
		if !f.gone.IsZero() && time.Since(f.gone) >= goneFor {
			delete(w.files, path)
		}
	}
	return nil
}

// missing are the documents of files that have been gone for a while: moved
// ones, whose content is there under another name or whose file says another
// id now, and with --sync all others.
func (w *watching) missing(look *upload) (moved, gone []string) {
	if look.unsure {
		return nil, nil
	}
	still := map[string]bool{}
	for _, id := range look.found {
		still[id] = true
	}
	for _, f := range look.files {
		if k := w.files[f.path]; k != nil && k.id != f.id && !still[k.id] {
			moved = append(moved, k.id)
		}
	}
	for path, f := range w.files {
		switch {
		case look.there(path):
			f.gone = time.Time{}
		case f.gone.IsZero():
			f.gone = time.Now()
		case time.Since(f.gone) < goneFor || still[f.id]:
		case w.elsewhere(path, f.sum, look):
			moved = append(moved, f.id)
		case w.u.in.sync:
			gone = append(gone, f.id)
		}
	}
	return moved, gone
}

// there tells whether a path was come by, or is in a folder that could not be
// read.
func (u *upload) there(path string) bool {
	if u.seen[path] {
		return true
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if u.unread[dir] {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// elsewhere tells whether the same content is in another file that is there.
func (w *watching) elsewhere(path, sum string, look *upload) bool {
	for other, f := range w.files {
		if other != path && look.seen[other] && f.sum == sum && sum != "" {
			return true
		}
	}
	return false
}

// allowed keeps a watch from emptying the documents when the files are gone
// all at once.
func (w *watching) allowed(p *program, gone []string) []string {
	if w.u.in.force || 2*len(gone) <= len(w.files) {
		return gone
	}
	if !w.warned {
		fmt.Fprintf(p.stderr, "strata: nothing is deleted: %d of %d files are gone, which is more than half; if that is meant, start it with --force\n", len(gone), len(w.files))
	}
	w.warned = true
	return nil
}
