package textindex_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"strata/stores"
	"strata/stores/textindex"
)

// filled makes an index with one passage and closes it.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "deep", "folder with ? and #", "index.db")
	x, err := textindex.New(t.Context(), textindex.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if !x.NeedsRebuild() {
		t.Error("a new file needs no rebuild")
	}
	put(t, x, "T", stores.Passage{ID: "p", Text: "保留 kept"})
	if err := x.Rebuilt(t.Context()); err != nil || x.NeedsRebuild() {
		t.Errorf("rebuilt: %v", err)
	}
	if err := errors.Join(x.Close(), x.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReopen(t *testing.T) {
	path := filled(t)
	x := open(t, path)
	if x.NeedsRebuild() {
		t.Error("a whole file needs a rebuild")
	}
	if got := find(t, x, "T", "保留", 1); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}

// A process that ends in the middle of filling the index says so at its next
// start.
func TestUnfinishedRebuild(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.db")
	for range 2 {
		x, err := textindex.New(t.Context(), textindex.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if !x.NeedsRebuild() {
			t.Error("needs no rebuild")
		}
		put(t, x, "T", stores.Passage{ID: "p", Text: "part"})
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestForTheOwnerAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such rights")
	}
	path := filepath.Join(t.TempDir(), "data", "index.db")
	x := open(t, path)
	put(t, x, "T", stores.Passage{ID: "p", Text: "secret"})
	for file, want := range map[string]os.FileMode{"": 0o700, "index.db": 0o600, "index.db-wal": 0o600, "index.db-shm": 0o600} {
		info, err := os.Stat(filepath.Join(filepath.Dir(path), file))
		if err != nil {
			t.Error(err)
		} else if got := info.Mode().Perm(); got != want {
			t.Errorf("%q: %o", file, got)
		}
	}
}

// An index of an earlier version, or of another way of cutting text, is emptied
// and asks to be filled again.
func TestOtherVersions(t *testing.T) {
	for name, change := range map[string]string{
		"other analyzer": `UPDATE format SET analyzer = 'terms 0'`,
		"older format":   `PRAGMA user_version = 0`,
	} {
		t.Run(name, func(t *testing.T) {
			x := open(t, changed(t, change))
			if !x.NeedsRebuild() {
				t.Error("needs no rebuild")
			}
			count(t, x, "T", 0)
			put(t, x, "T", stores.Passage{ID: "p", Text: "again"})
			if got := find(t, x, "T", "again", 1); len(got) != 1 {
				t.Errorf("found %v", got)
			}
		})
	}
}

// changed is the path of an index that a statement was carried out on.
func changed(t *testing.T, change string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "index.db")
	if err := os.Rename(filled(t), path); err != nil {
		t.Fatal(err)
	}
	execute(t, path, change)
	return path
}

// What a newer program wrote is left to it.
func TestNewerFormat(t *testing.T) {
	path := changed(t, `PRAGMA user_version = 99; DROP TABLE posting`)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	x, err := textindex.New(t.Context(), textindex.Config{Path: path})
	if !errors.Is(err, stores.ErrNewer) {
		t.Errorf("%v, want %v", err, stores.ErrNewer)
	}
	if err == nil {
		x.Close()
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file has changed (%v)", err)
	}
}

// Tables that are not there make a file one that cannot be read.
func TestWithoutItsTables(t *testing.T) {
	x, err := textindex.New(t.Context(), textindex.Config{Path: changed(t, `DROP TABLE format`)})
	if !errors.Is(err, stores.ErrUnreadable) || errors.Is(err, textindex.ErrForeign) {
		t.Errorf("%v, want %v", err, stores.ErrUnreadable)
	}
	if err == nil {
		x.Close()
	}
}

// What cannot be read is put aside whole, and never over what is there.
func TestSetAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.db")
	now := time.Date(2026, 3, 1, 12, 30, 15, 0, time.FixedZone("", 3600))
	content := map[string]string{}
	for n, want := range []string{"index.db.broken-20260301T113015Z", "index.db.broken-20260301T113015Z-2", "index.db.broken-20260301T113015Z-3"} {
		for _, beside := range []string{"", "-wal"} {
			content[want+beside] = fmt.Sprint(n, beside)
			if err := os.WriteFile(path+beside, []byte(content[want+beside]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if kept, err := textindex.SetAside(path, now); err != nil || filepath.Base(kept) != want {
			t.Errorf("%q, %v, want %q", kept, err, want)
		}
	}
	if _, err := textindex.SetAside(path, now); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing to put aside: %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != len(content) {
		t.Errorf("%v, %v, want %d files", entries, err, len(content))
	}
	for _, e := range entries {
		if b, err := os.ReadFile(filepath.Join(filepath.Dir(path), e.Name())); err != nil || string(b) != content[e.Name()] {
			t.Errorf("%s holds %q (%v), want %q", e.Name(), b, err, content[e.Name()])
		}
	}
}

// What cannot be read is left as it is.
func TestUnreadable(t *testing.T) {
	whole, err := os.ReadFile(filled(t))
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Clone(whole)
	for i := 4096; i < len(broken); i++ {
		broken[i] ^= 0x5A
	}
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	db, err := sql.Open("sqlite", foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE notes (text)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"no database":        []byte("these are the notes of the meeting on Monday, kept in a text file of some length, longer than a header has"),
		"short":              []byte("x"),
		"truncated":          whole[:len(whole)/2],
		"broken pages":       broken,
		"another program's":  other,
		"header and nothing": whole[:100],
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "index.db")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			x, err := textindex.New(t.Context(), textindex.Config{Path: path})
			if !errors.Is(err, stores.ErrUnreadable) || errors.Is(err, textindex.ErrForeign) != (name == "another program's") {
				t.Errorf("%v", err)
			}
			if err == nil {
				x.Close()
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(after, content) {
				t.Errorf("the file has changed (%v)", err)
			}
		})
	}
}

func TestClosed(t *testing.T) {
	x, err := textindex.New(t.Context(), textindex.Config{Path: filepath.Join(t.TempDir(), "index.db")})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	_, searched := x.Search(t.Context(), "T", "word", 1)
	for name, err := range map[string]error{
		"search": searched, "put": x.Put(t.Context(), "T", []stores.Passage{{ID: "p"}}), "drop": x.DropTenant(t.Context(), "T"), "rebuilt": x.Rebuilt(t.Context()),
	} {
		if !errors.Is(err, stores.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := textindex.New(t.Context(), textindex.Config{}); err == nil {
		t.Error("an index without a path")
	}
}
