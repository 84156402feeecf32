package ingest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"strata/ingest"
)

// tree makes files below a new folder; a name ending in "/" is a folder, a
// content beginning with "->" a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		at := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, "->"); ok {
			err = os.Symlink(target, at)
		} else if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(at, 0o700)
		} else {
			err = os.WriteFile(at, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func walk(t *testing.T, paths ...string) (taken, skipped []string, tally ingest.Tally) {
	t.Helper()
	tally, err := ingest.Walk(t.Context(), paths, func(f ingest.Found) error {
		if f.Skipped == "" {
			taken = append(taken, f.ID)
		} else {
			skipped = append(skipped, f.ID+": "+f.Skipped)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return taken, skipped, tally
}

func TestWalk(t *testing.T) {
	root := tree(t, map[string]string{
		"a.md": "x", "hr/leave.MARKDOWN": "x", "hr/old/b.txt": "x", "c.text": "\xff\xfex\x00",
		"d.docx": "PK\x03\x04", "e.PDF": "%PDF-1.7", "f.csv": "a,b", "g.html": "\x89PNG",
		".git/x.md": "x", ".hidden.md": "x", "pic.png": "x", "README": "x", "empty.md": "", "bin.txt": "x\x00y",
		"hr/loop": "->..", "link.md": "->a.md", "broken.md": "->nowhere", "z": "->hr/old",
	})
	taken, skipped, tally := walk(t, root)
	if want := []string{"a.md", "c.text", "d.docx", "e.PDF", "f.csv", "hr/leave.MARKDOWN", "hr/old/b.txt", "link.md"}; !slices.Equal(taken, want) {
		t.Errorf("taken %q, want %q", taken, want)
	}
	want := []string{
		".git: hidden", ".hidden.md: hidden", "README: unknown type without an ending", "bin.txt: cannot be read: binary content",
		"broken.md: cannot be read: no such file or directory", "empty.md: empty",
		"g.html: cannot be read: binary content",
		"hr/loop/: the same folder as " + root, "pic.png: unknown type .png", "z/: the same folder as " + filepath.Join(root, "hr", "old"),
	}
	if !slices.Equal(skipped, want) {
		t.Errorf("skipped\n%s\nwant\n%s", strings.Join(skipped, "\n"), strings.Join(want, "\n"))
	}
	if tally != (ingest.Tally{Taken: 8, Skipped: 10, Unreadable: 3}) {
		t.Errorf("tally %+v", tally)
	}
}

func TestWalkOfFiles(t *testing.T) {
	root := tree(t, map[string]string{"x/a.md": "x", "y/a.md": "x", "x/.b.md": "x"})
	taken, skipped, _ := walk(t, filepath.Join(root, "x", "a.md"), filepath.Join(root, "y"), filepath.Join(root, "x", ".b.md"))
	if !slices.Equal(taken, []string{"a.md", ".b.md"}) || len(skipped) != 1 || !strings.HasPrefix(skipped[0], "a.md: has the same id as ") {
		t.Errorf("taken %q, skipped %q", taken, skipped)
	}
	if _, err := ingest.Walk(t.Context(), []string{filepath.Join(root, "none")}, func(ingest.Found) error { return nil }); err == nil {
		t.Error("a path that does not exist says nothing")
	}
	stop := errors.New("stop")
	if _, err := ingest.Walk(t.Context(), []string{root}, func(ingest.Found) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ingest.Walk(ctx, []string{root}, func(ingest.Found) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestWalkUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	root := tree(t, map[string]string{"a.md": "x", "d/b.md": "x"})
	for _, name := range []string{"a.md", "d"} {
		if err := os.Chmod(filepath.Join(root, name), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, name), 0o700) })
	}
	_, skipped, tally := walk(t, root)
	if tally.Unreadable != 2 || !slices.Equal(skipped, []string{"a.md: cannot be read: permission denied", "d/: cannot be read: permission denied"}) {
		t.Errorf("skipped %q, %+v", skipped, tally)
	}
}

func TestMissing(t *testing.T) {
	have := []string{"a.md", "hr/a.md", "hr/b.md", "hr2/a.md", "hr/x/c.md"}
	for name, c := range map[string]struct {
		found  []string
		prefix string
		want   []string
	}{
		"all there":           {have, "", nil},
		"one gone":            {[]string{"a.md", "hr/a.md", "hr2/a.md", "hr/x/c.md"}, "", []string{"hr/b.md"}},
		"below a prefix":      {[]string{"hr/a.md"}, "hr", []string{"hr/b.md", "hr/x/c.md"}},
		"a slash at its end":  {[]string{"hr/a.md"}, "hr/", []string{"hr/b.md", "hr/x/c.md"}},
		"nothing found":       {nil, "hr2", []string{"hr2/a.md"}},
		"a folder unreadable": {[]string{"a.md", "hr/"}, "", []string{"hr2/a.md"}},
		"the whole unread":    {[]string{"/"}, "", nil},
	} {
		if got := ingest.Missing(have, c.found, c.prefix); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
