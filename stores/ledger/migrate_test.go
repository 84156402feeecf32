package ledger

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"

	"strata/stores"
)

// withMigrations opens a file with the given migrations applied, and no more.
func withMigrations(t testing.TB, path string, dir fs.FS) *sql.DB {
	t.Helper()
	if err := prepare(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db, err := openFile(path, writerOptions)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if err := migrateWith(t.Context(), db, dir); err != nil {
		t.Fatal(err)
	}
	return db
}

// only copies the first n migrations and adds more.
func only(t testing.TB, n int, more map[string]string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(files) != schema {
		t.Fatalf("%d migrations, the schema is %d: %v", len(files), schema, err)
	}
	for _, file := range files[:n] {
		b, err := migrations.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(file)] = &fstest.MapFile{Data: b}
	}
	for name, text := range more {
		out[name] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + text)}
	}
	return out
}

// Next makes the store that the next program will have: a column and a table
// more.
func Next(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	db := withMigrations(t, path, only(t, schema, map[string]string{
		"9998_next.sql": "ALTER TABLE memories ADD COLUMN note TEXT;\nALTER TABLE exchanges ADD COLUMN note TEXT;\nCREATE TABLE notes (id TEXT PRIMARY KEY);",
	}))
	if _, err := db.Exec("UPDATE "+migrationsTable+" SET version_id = $1 WHERE version_id = 9998", schema+1); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func hash(t *testing.T, path string) [32]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(b)
}

func TestOlderStoreIsMigrated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	db := withMigrations(t, path, only(t, schema-1, nil))
	if _, err := db.Exec("INSERT INTO users (tenant, user_id, user_gen) VALUES ('acme', 'anna', 7); INSERT INTO tenants (tenant, kb_gen) VALUES ('acme', 5)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := New(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if n, err := l.SetSpace(t.Context(), stores.Space{ID: "s1"}); err != nil || n != 0 {
		t.Errorf("%d versions, %v", n, err)
	}
	if _, err := l.PutDocument(t.Context(), "acme", stores.Draft{ID: "a", Passages: []stores.Passage{{Text: "x"}}}); err != nil {
		t.Error(err)
	}
	if _, err := l.AddExample(t.Context(), stores.Scope{Tenant: "acme"}, stores.IntentExample{Text: "x", Intent: "rag"}); err != nil {
		t.Error(err)
	}
	if o, err := l.Open(t.Context(), stores.Scope{Tenant: "acme", User: "anna"}, stores.Links{}); err != nil || o.UserGen != 7 || o.KBGen < 6 || o.Examples != 1 {
		t.Errorf("opening %+v, %v", o, err)
	}
}

// A program of the schema before knows no vectors. What it has put gets them
// when the space is kept again.
func TestVersionsOfAProgramWithoutVectors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	put := func(id string, more ...string) {
		t.Helper()
		l, err := New(t.Context(), Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if n, err := l.SetSpace(t.Context(), stores.Space{ID: "s1"}); err != nil || n != len(more) {
			t.Errorf("%d versions lack vectors, want %v: %v", n, more, err)
		}
		if _, err := l.PutDocument(t.Context(), "acme", stores.Draft{ID: id, Passages: []stores.Passage{{Text: "x"}}}); err != nil {
			t.Error(err)
		}
	}
	put("a")
	put("b")
	db, err := openFile(path, writerOptions)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("UPDATE versions SET vectors = 'none' WHERE document = 'b'; DELETE FROM embeds WHERE document = 'b'")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	put("c", "b")
}

func TestRefusedStoresStayAsTheyAre(t *testing.T) {
	cases := map[string]struct {
		want error
		make func(t *testing.T, path string)
	}{
		"two schemas newer": {stores.ErrNewer, func(t *testing.T, path string) {
			Next(t, path)
			db, err := openFile(path, writerOptions)
			if err != nil {
				t.Fatal(err)
			}
			_, err = db.Exec("INSERT INTO "+migrationsTable+" (version_id, is_applied) VALUES ($1, 1)", schema+2)
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
		}},
		"text": {stores.ErrUnreadable, func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("listen: 127.0.0.1:4470\n# not a store\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}},
		"another program's": {stores.ErrUnreadable, func(t *testing.T, path string) {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = db.Exec("CREATE TABLE places (url TEXT)")
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
		}},
		"cut": {stores.ErrUnreadable, func(t *testing.T, path string) {
			damage(t, path, func(b []byte) []byte { return b[:len(b)/2] })
		}},
		"overwritten": {stores.ErrUnreadable, func(t *testing.T, path string) {
			damage(t, path, func(b []byte) []byte {
				for i := 3 * 4096; i < 12*4096; i++ {
					b[i] = 0xA5
				}
				return b
			})
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			c.make(t, path)
			before := hash(t, path)
			l, err := New(t.Context(), Config{Path: path})
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if err == nil {
				l.Close()
			}
			if hash(t, path) != before {
				t.Error("the file was changed")
			}
		})
	}
}

func damage(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	l, err := New(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if _, err := l.AddMemory(t.Context(), stores.Scope{Tenant: "acme", User: "anna"}, stores.Memory{Summary: "a summary of some length, said again and again"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreTheOwners(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	path := filepath.Join(t.TempDir(), "a folder, new?", "ledger 50%.db")
	l, err := New(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.AddMemory(t.Context(), stores.Scope{Tenant: "acme", User: "anna"}, stores.Memory{Summary: "x"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != want {
			t.Errorf("%s: mode %o, want %o", name, info.Mode().Perm(), want)
		}
	}
}
