package watch_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"strata/ingest/watch"
)

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(time.Now().String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func note(t *testing.T, what string, notes <-chan struct{}) {
	t.Helper()
	select {
	case _, open := <-notes:
		if !open {
			t.Fatalf("%s: closed", what)
		}
	case <-time.After(5 * time.Second):
		t.Fatalf("%s: no notice", what)
	}
}

func TestChanges(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.md"))
	single := filepath.Join(t.TempDir(), "one.md")
	write(t, single)
	ctx, cancel := context.WithCancel(t.Context())
	notes := watch.Changes(ctx, watch.Config{Paths: []string{dir, single}, Quiet: 20 * time.Millisecond, Sweep: time.Hour})
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"written in place", func() error { write(t, filepath.Join(dir, "a.md")); return nil }},
		{"an editor's new file in the old one's place", func() error {
			write(t, filepath.Join(dir, ".a.md.swp"))
			return os.Rename(filepath.Join(dir, ".a.md.swp"), filepath.Join(dir, "a.md"))
		}},
		{"after that", func() error { write(t, filepath.Join(dir, "a.md")); return nil }},
		{"a single file replaced", func() error {
			write(t, single+"~")
			return os.Rename(single+"~", single)
		}},
		{"a new folder", func() error { return os.Mkdir(filepath.Join(dir, "hr"), 0o755) }},
		{"a file in it", func() error { write(t, filepath.Join(dir, "hr", "b.md")); return nil }},
		{"the folder renamed", func() error { return os.Rename(filepath.Join(dir, "hr"), filepath.Join(dir, "people")) }},
		{"a file in it again", func() error { write(t, filepath.Join(dir, "people", "b.md")); return nil }},
		{"removed", func() error { return os.RemoveAll(filepath.Join(dir, "people")) }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		note(t, step.what, notes)
		for quiet := false; !quiet; { // what else came of the step
			select {
			case <-notes:
			case <-time.After(100 * time.Millisecond):
				quiet = true
			}
		}
	}
	cancel()
	select {
	case _, open := <-notes:
		if open {
			<-notes
		}
	case <-time.After(5 * time.Second):
		t.Error("not closed at the end")
	}
}

// TestTogether: many changes in a row are one notice, and a stream of them
// does not put it off for ever.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	notes := watch.Changes(t.Context(), watch.Config{Paths: []string{dir}, Quiet: 200 * time.Millisecond, Most: time.Second, Sweep: time.Hour})
	came := 0
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		write(t, filepath.Join(dir, "a.md"))
		select {
		case <-notes:
			came++
		default:
		}
	}
	if came != 1 {
		t.Errorf("%d notices within 1.5 s of changes, want 1", came)
	}
}

// TestPolling: where no notice is given.
func TestPolling(t *testing.T) {
	notes := watch.Changes(t.Context(), watch.Config{Paths: []string{t.TempDir()}, Silent: true, Poll: 20 * time.Millisecond})
	note(t, "first", notes)
	note(t, "second", notes)
}
