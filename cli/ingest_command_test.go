package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/admin"
	"strata/admin/admintest"
	"strata/cli"
	"strata/ingest"
)

// tree writes files below a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// scans tells of every document that pages of it have no text.
type scans struct{ *admintest.Store }

func (s scans) Put(ctx context.Context, tenant string, source ingest.Source) (ingest.Result, error) {
	source.Body, source.File = []byte("Text."), ""
	r, err := s.Store.Put(ctx, tenant, source)
	r.Textless, r.Pages = 9, 10
	return r, err
}

// TestIngestScans: pages without text are told of, of jobs too.
func TestIngestScans(t *testing.T) {
	store := admintest.New()
	cfg := store.Config()
	cfg.Ingester = scans{store}
	server := httptest.NewServer(admin.New(cfg))
	defer server.Close()
	dir := tree(t, map[string]string{"a.txt": "Text.", "large.txt": strings.Repeat("Text.\n", 2<<20)})
	const hint = "9 of 10 pages have no text (scanned?)"
	ok(t, server.URL, []string{"ingest", dir}, "published  a.txt: version 1, 1 passages; "+hint+"\n", "published  large.txt: version 1, 1 passages; "+hint+"\n")
	ok(t, server.URL, []string{"ingest", dir}, "unchanged  a.txt: "+hint+"\n")
	ok(t, server.URL, []string{"docs", "jobs"}, "NOTE", hint)
}

func TestIngestVerb(t *testing.T) {
	store, url := control(t)
	dir := tree(t, map[string]string{"leave.md": "# Leave\n\n30 days.", "sub/假期.txt": "三十天。", "logo.png": "\x89PNG", "empty.md": ""})
	out := ok(t, url, []string{"ingest", dir}, "published  leave.md: version 1, 2 passages", "published  sub/假期.txt: version 1, 1 passages", "skipped    "+filepath.Join(dir, "logo.png"), "2 stored, 0 unchanged, 2 skipped")
	if strings.Contains(out, "\x1b") || strings.Contains(out, "\r") {
		t.Errorf("not plain beside a terminal: %q", out)
	}
	ok(t, url, []string{"ingest", dir}, "unchanged  leave.md", "0 stored, 2 unchanged, 2 skipped")
	ok(t, url, []string{"ingest", filepath.Join(dir, "leave.md"), "--id", "hr/leave", "--groups", "hr,managers", "--title", "Leave", "--expires", "2030-12-31"}, "published  hr/leave: version 1")
	ok(t, url, []string{"docs", "ls"}, "hr/leave", "hr,managers", "sub/假期.txt", "PASSAGES")
	ok(t, url, []string{"docs", "show", "hr/leave"}, "title    Leave", "2030-12-31", "#1", "30 days.")
	if got := object(t, url, "docs", "show", "sub/假期.txt"); got["id"] != "sub/假期.txt" {
		t.Errorf("as JSON: %v", got)
	}
	ok(t, url, []string{"docs", "rm", "hr/leave", "leave.md"}, "deleted hr/leave\ndeleted leave.md\n")

	// A file that fails is named and counted; the others go on.
	store.Gate = func(_ context.Context, s ingest.Source) error {
		if s.ID == "leave.md" {
			return ingest.ErrEncoding
		}
		return nil
	}
	code, stdout, stderr := verb(t, url, "ingest", dir)
	if code != 1 || !strings.Contains(stdout, "failed     "+filepath.Join(dir, "leave.md")) || !strings.Contains(stdout, "unchanged  sub/假期.txt") || !strings.Contains(stderr, "1 failed: leave.md") {
		t.Errorf("a failure: %d\n%s%s", code, stdout, stderr)
	}
	store.Gate = func(context.Context, ingest.Source) error {
		return fmt.Errorf("%w: more than 256 MB of memory", ingest.ErrLimit)
	}
	if code, stdout, stderr := verb(t, url, "ingest", dir); code != 1 || !strings.Contains(stdout, "split it, or save it as text. (more than 256 MB of memory)") || !strings.Contains(stderr, "2 failed") {
		t.Errorf("a broken limit: %d\n%s%s", code, stdout, stderr)
	}
	store.Gate = nil
	if code, _, stderr := verb(t, url, "ingest", dir, "--effective", "soon"); code != 1 || !strings.Contains(stderr, "2 failed") {
		t.Errorf("a wrong date: %d %s", code, stderr)
	}
	if code, _, stderr := verb(t, "http://127.0.0.1:1", "ingest", dir); code != 1 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "not running") {
		t.Errorf("no server: %d %s", code, stderr)
	}
}

func TestIngestSync(t *testing.T) {
	_, url := control(t)
	dir := tree(t, map[string]string{"a.md": "a", "b.md": "b", "locked/c.md": "c"})
	other := tree(t, map[string]string{"x.md": "x"})
	ok(t, url, []string{"ingest", other, "--prefix", "other/"}, "published  other/x.md")
	ok(t, url, []string{"ingest", dir, "--prefix", "hand/book"}, "3 stored")
	if err := os.Remove(filepath.Join(dir, "a.md")); err != nil {
		t.Fatal(err)
	}
	ok(t, url, []string{"ingest", dir, "--prefix", "hand/book", "--sync"}, "deleted    hand/book/a.md", "0 stored, 2 unchanged, 0 skipped, 1 deleted")
	ok(t, url, []string{"docs", "ls"}, "other/x.md", "hand/book/b.md", "hand/book/locked/c.md")

	// Nothing found is taken for a mistake.
	if code, _, stderr := verb(t, url, "ingest", t.TempDir(), "--sync", "--prefix", "other"); code != 1 || !strings.Contains(stderr, "nothing is deleted") {
		t.Errorf("an empty folder: %d %s", code, stderr)
	}
	ok(t, url, []string{"docs", "ls"}, "other/x.md", "hand/book/b.md")
	// More than half of what was there is deleted only when that is meant.
	code, stdout, stderr := verb(t, url, "ingest", dir, "--sync")
	if code != 1 || !strings.Contains(stdout, "2 stored") || strings.Contains(stdout, "deleted  ") || !strings.Contains(stderr, "3 of 3 documents") || !strings.Contains(stderr, "--force") {
		t.Errorf("everything gone: %d %s%s", code, stdout, stderr)
	}
	ok(t, url, []string{"docs", "ls"}, "other/x.md", "hand/book/b.md")
	ok(t, url, []string{"ingest", dir, "--sync", "--force"}, "deleted    hand/book/b.md", "deleted    other/x.md", "3 deleted")
	ok(t, url, []string{"docs", "ls"}, "b.md", "locked/c.md")
}

// A file above the inline limit is waited for through its job.
func TestIngestLarge(t *testing.T) {
	store, url := control(t)
	dir := tree(t, map[string]string{"big.txt": "Big.\n\n" + strings.Repeat("x", 9<<20)})
	ok(t, url, []string{"ingest", dir}, "published  big.txt: version 1, 2 passages")
	ok(t, url, []string{"docs", "jobs"}, "big.txt", "done")
	store.Gate = func(context.Context, ingest.Source) error { return ingest.ErrEncoding }
	if code, stdout, _ := verb(t, url, "ingest", dir); code != 1 || !strings.Contains(stdout, "encoding") {
		t.Errorf("a job that fails: %d %s", code, stdout)
	}
}

// Front matter names the id, also for sync; what it says wrongly is told, and
// nothing is deleted while an id is not known.
func TestIngestFrontMatter(t *testing.T) {
	_, url := control(t)
	dir := tree(t, map[string]string{"a.md": "---\nid: leave\n---\nThirty days.", "b.txt": "---\nid: hr/travel\n---\nTrains first.", "c.md": "Plain.", "d.md": "---\nid: leave\n---\nAgain."})
	ok(t, url, []string{"ingest", dir, "--prefix", "book"}, "published  book/leave", "published  book/hr/travel", "published  book/c.md", "d.md: has the same id as "+filepath.Join(dir, "a.md"), "3 stored, 0 unchanged, 1 skipped")
	ok(t, url, []string{"ingest", dir, "--prefix", "book", "--sync"}, "3 unchanged, 1 skipped, 0 deleted")
	ok(t, url, []string{"ingest", filepath.Join(dir, "a.md"), "--id", "mine"}, "published  mine")
	if err := os.WriteFile(filepath.Join(dir, "b.txt"), []byte("---\nid: [a]\n---\nTrains first."), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := verb(t, url, "ingest", dir, "--prefix", "book", "--sync")
	if code != 1 || !strings.Contains(stdout, "b.txt: front matter: line 2: id: takes one value") || !strings.Contains(stderr, "nothing is deleted: the front matter") || !strings.Contains(stdout, "0 deleted") {
		t.Errorf("a wrong id: %d %s%s", code, stdout, stderr)
	}
	ok(t, url, []string{"docs", "ls"}, "book/hr/travel")
}

func TestIngestInput(t *testing.T) {
	_, url := control(t)
	input := func(text string, args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := cli.Main(append([]string{"ingest", "-", "--server", url, "--token", "t"}, args...), strings.NewReader(text), &out, &errs)
		return code, out.String(), errs.String()
	}
	if code, stdout, stderr := input("Thirty days.", "--id", "hr/leave", "--title", "Leave"); code != 0 || !strings.Contains(stdout, "published  hr/leave: version 1") {
		t.Errorf("%d %s%s", code, stdout, stderr)
	}
	ok(t, url, []string{"docs", "show", "hr/leave"}, "title    Leave", "Thirty days.")
	if code, stdout, _ := input("---\nid: travel\n---\nTrains first.", "--prefix", "hr"); code != 0 || !strings.Contains(stdout, "published  hr/travel") {
		t.Errorf("an id of its own: %d %s", code, stdout)
	}
	for want, args := range map[string][]string{"give --id": nil, "alone": {"--id", "a", "--watch"}, "name the folder": {"--id", "a", "--sync"}, "add --sync": {"--id", "a", "--force"}, "add --watch": {"--id", "a", "--poll", "2s"}} {
		if code, _, stderr := input("text", args...); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%v: %d %s", args, code, stderr)
		}
	}
	if code, _, stderr := input("---\nid: [a]\n---\nx", "--id", "a"); code != 1 || !strings.Contains(stderr, "line 2: id") {
		t.Errorf("wrong front matter: %d %s", code, stderr)
	}
}

// The process that documents are read in is a command of its own, which does
// nothing without being asked.
func TestReadDocument(t *testing.T) {
	code, _, stderr := run(t, t.TempDir(), nil, "read-document")
	if code != 2 || !strings.Contains(stderr, "not to be run by hand") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("%d %s", code, stderr)
	}
	if _, stdout, _ := run(t, t.TempDir(), nil, "--help"); strings.Contains(stdout, "read-document") {
		t.Error("it is listed")
	}
}
