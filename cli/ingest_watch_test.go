package cli_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/admin"
	"strata/admin/admintest"
)

// lockedBuffer is written by a process and read by a test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}
func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

// watching runs ingest --watch until end, which gives its exit code.
func watching(t *testing.T, url string, args ...string) (out *lockedBuffer, end func() int) {
	t.Helper()
	out = &lockedBuffer{}
	cmd := command(t, t.TempDir(), nil, append([]string{"ingest", "--server", url, "--token", "t", "--watch"}, args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	eventually(t, "it watches", func() bool { return strings.Contains(out.String(), "watching; Ctrl-C") })
	return out, func() int {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		defer time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() }).Stop()
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode()
	}
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestIngestWatch: changes in place, editors' new files in the old one's place,
// renames, and a clean end.
func TestIngestWatch(t *testing.T) {
	_, url := control(t)
	dir := tree(t, map[string]string{"a.md": "One.", "b.md": "Two.", "c.md": "Three.", "hr/d.md": "Four."})
	out, end := watching(t, url, dir)
	shows := func(what string, id, text string) {
		t.Helper()
		eventually(t, what, func() bool {
			code, stdout, _ := verb(t, url, "docs", "show", id)
			return text == "" && code == 1 || text != "" && code == 0 && strings.Contains(stdout, text)
		})
	}
	write(t, dir, "a.md", "One, changed.")
	shows("written in place", "a.md", "One, changed.")
	write(t, dir, "b.md~", "Two, changed.")
	move(t, filepath.Join(dir, "b.md~"), filepath.Join(dir, "b.md"))
	shows("an editor's new file", "b.md", "Two, changed.")
	// As vim does it: the old file goes away, and a new one comes in its place.
	move(t, filepath.Join(dir, "c.md"), filepath.Join(dir, "c.md.bak"))
	time.Sleep(600 * time.Millisecond)
	write(t, dir, "c.md", "Three, changed.")
	shows("a file that was away for a moment", "c.md", "Three, changed.")
	move(t, filepath.Join(dir, "hr"), filepath.Join(dir, "people"))
	shows("a folder renamed", "people/d.md", "Four.")
	shows("its former id", "hr/d.md", "")
	// Without --sync what is gone stays.
	if err := os.Remove(filepath.Join(dir, "a.md")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "e.md", "Five.")
	shows("another file", "e.md", "Five.")
	time.Sleep(1500 * time.Millisecond)
	shows("a file that is gone", "a.md", "One, changed.")
	if code := end(); code != 0 || !strings.HasSuffix(out.String(), "stopped\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if strings.Contains(out.String(), "deleted    c.md") {
		t.Errorf("a document was deleted while its file was written:\n%s", out)
	}
}

// TestIngestWatchSync: by looking every so often, what is gone is deleted, but
// not everything at once; a server that is away for a while misses nothing.
func TestIngestWatchSync(t *testing.T) {
	store := admintest.New()
	plane := admin.New(store.Config())
	var mu sync.Mutex
	away := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if away {
			panic(http.ErrAbortHandler)
		}
		plane.ServeHTTP(w, r)
	}))
	defer server.Close()
	dir := tree(t, map[string]string{"a.md": "One.", "b.md": "Two.", "c.md": "Three."})
	out, end := watching(t, server.URL, dir, "--sync", "--poll", "100ms")
	mu.Lock()
	away = true
	mu.Unlock()
	write(t, dir, "b.md", "Two, changed.")
	eventually(t, "the server is missed", func() bool { return strings.Contains(out.String(), "strata: http") })
	mu.Lock()
	away = false
	mu.Unlock()
	eventually(t, "it is taken in later", func() bool { return strings.Contains(out.String(), "published  b.md: version 2") })
	if err := os.Remove(filepath.Join(dir, "a.md")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "what is gone is deleted", func() bool { return strings.Contains(out.String(), "deleted    a.md") })
	move(t, dir, dir+"-elsewhere")
	eventually(t, "the folder is missed", func() bool { return strings.Contains(out.String(), "no such file or folder") })
	move(t, dir+"-elsewhere", dir)
	for _, name := range []string{"b.md", "c.md"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "it asks", func() bool {
		return strings.Contains(out.String(), "add --force") || strings.Contains(out.String(), "start it with --force")
	})
	ok(t, server.URL, []string{"docs", "ls"}, "b.md", "c.md")
	if code := end(); code != 0 {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
