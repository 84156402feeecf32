// Package watch says when it is time to look at files again. It decides how
// changes are noticed and how long quiet must last; it must not know what the
// files hold or what becomes of them. It tells that something changed and not
// what: whoever looks compares for himself, so that no notice that a system
// drops, joins or reorders can lose a change.
package watch

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Config says what is watched, and how. Zero durations are the defaults.
type Config struct {
	Paths  []string      // files, and folders with everything below them
	Quiet  time.Duration // how long nothing may change before it is time; 400 ms
	Most   time.Duration // after the first change it is time at the latest; 5 s
	Poll   time.Duration // between looks where the system gives no notice; 2 s
	Sweep  time.Duration // between looks where it does, as network file systems lose some; 1 min
	Silent bool          // do not ask the system for notice, poll
	Logger *slog.Logger  // nil = none
}

// Changes returns a channel that holds a note whenever it is time to look. It
// is closed when ctx ends. Watching goes on by polling where the system's
// notice cannot be had, which is logged.
func Changes(ctx context.Context, cfg Config) <-chan struct{} {
	for _, d := range []struct {
		at       *time.Duration
		standard time.Duration
	}{{&cfg.Quiet, 400 * time.Millisecond}, {&cfg.Most, 5 * time.Second}, {&cfg.Poll, 2 * time.Second}, {&cfg.Sweep, time.Minute}} {
		if *d.at <= 0 {
			*d.at = d.standard
		}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	w := &watcher{cfg: cfg, out: make(chan struct{}, 1), held: map[string]bool{}}
	if !cfg.Silent {
		n, err := fsnotify.NewWatcher()
		if err != nil {
			cfg.Logger.Warn("the system gives no notice of changes; files are looked at every so often", "every", cfg.Poll, "error", err)
		} else {
			w.notify = n
			w.hold()
		}
	}
	go w.run(ctx)
	return w.out
}

type watcher struct {
	cfg    Config
	notify *fsnotify.Watcher // nil = poll
	held   map[string]bool   // folders that notice is given of
	out    chan struct{}
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.out)
	defer w.stopNotify()
	var first time.Time // of the changes that wait, zero = none
	timer := time.NewTimer(w.idle())
	defer timer.Stop()
	for {
		var events chan fsnotify.Event
		var failures chan error
		if w.notify != nil {
			events, failures = w.notify.Events, w.notify.Errors
		}
		select {
		case <-ctx.Done():
			return
		case e, open := <-events:
			if !open || !matters(e) {
				continue
			}
			if first.IsZero() {
				first = time.Now()
			}
			timer.Reset(max(0, min(w.cfg.Quiet, w.cfg.Most-time.Since(first))))
		case err := <-failures:
			// Mostly a queue that ran over: what was lost shows when one looks.
			w.cfg.Logger.Warn("notices of changes were lost; everything is looked at", "error", err)
			timer.Reset(w.cfg.Quiet)
		case <-timer.C:
			first = time.Time{}
			w.hold() // new folders among the changes
			select {
			case w.out <- struct{}{}:
			default:
			}
			timer.Reset(w.idle())
		}
	}
}

// matters leaves out what changes no content, such as the times that reading
// leaves behind.
func matters(e fsnotify.Event) bool { return e.Op != fsnotify.Chmod }

func (w *watcher) idle() time.Duration {
	if w.notify == nil {
		return w.cfg.Poll
	}
	return w.cfg.Sweep
}

func (w *watcher) stopNotify() {
	if w.notify != nil {
		_ = w.notify.Close()
		w.notify = nil
	}
}

// hold asks for notice of every folder that is not held yet. Of a file its
// folder is held: editors put a new file in the old one's place.
func (w *watcher) hold() {
	if w.notify == nil {
		return
	}
	for dir := range w.held { // one that was removed is gone from the system's list too
		if _, err := os.Stat(dir); err != nil {
			delete(w.held, dir)
		}
	}
	for _, p := range w.cfg.Paths {
		info, err := os.Stat(p)
		if err != nil || !info.IsDir() {
			w.add(filepath.Dir(p))
			continue
		}
		_ = filepath.WalkDir(p, func(at string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || w.notify == nil:
				return fs.SkipDir
			case d.Type()&fs.ModeSymlink != 0: // a folder behind a link is looked at, but its inside gives no notice
				if info, err := os.Stat(at); err == nil && info.IsDir() {
					w.add(at)
				}
				return nil
			case !d.IsDir():
				return nil
			case at != p && strings.HasPrefix(d.Name(), "."):
				return fs.SkipDir
			}
			w.add(at)
			return nil
		})
	}
}

func (w *watcher) add(dir string) {
	if w.notify == nil || w.held[dir] {
		return
	}
	err := w.notify.Add(dir)
	switch {
	case err == nil:
		w.held[dir] = true
	case os.IsNotExist(err): // gone meanwhile
	default:
		w.cfg.Logger.Warn("the system gives no notice of this folder; files are looked at every so often", "folder", dir, "every", w.cfg.Poll, "error", err)
		w.stopNotify()
	}
}
