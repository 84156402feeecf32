package textindex_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"strata/stores"
	"strata/stores/textindex"
)

// rows counts in the file of an index.
func rows(t *testing.T, path, query string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func settleAll(t *testing.T, x *textindex.Index) {
	t.Helper()
	if err := x.SettleAll(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// What a process has put and not made postings of is found by the next one.
func TestReopenUnsettled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.db")
	for n := range 3 {
		x, err := textindex.New(t.Context(), textindex.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			settleAll(t, x)
		}
		put(t, x, "T", stores.Passage{ID: fmt.Sprint(n), Text: "kept 保留"})
		if n == 2 {
			if err := x.Remove(t.Context(), "T", []string{"0"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	x := open(t, path)
	count(t, x, "T", 2)
	for range 2 {
		if got := fmt.Sprint(find(t, x, "T", "保留", 5)); got != "[1 2]" {
			t.Errorf("found %s", got)
		}
		settleAll(t, x)
	}
}

// Of what is removed nothing stays: no passage, no posting, no mark.
func TestSettleForgets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.db")
	x := open(t, path)
	put(t, x, "T", stores.Passage{ID: "old", Text: "the old rule 旧规定"}, stores.Passage{ID: "kept", Text: "kept"})
	settleAll(t, x)
	kept := rows(t, path, `SELECT count(*) FROM posting`)
	put(t, x, "T", stores.Passage{ID: "new", Text: "never settled"})
	if err := x.Remove(t.Context(), "T", []string{"old", "new"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, query := range []string{"old rule", "旧规定", "never settled"} {
			if got := find(t, x, "T", query, 5); len(got) != 0 {
				t.Errorf("%s: found %v", query, got)
			}
		}
		settleAll(t, x)
	}
	for query, want := range map[string]int{
		`SELECT count(*) FROM passage`:                      1,
		`SELECT count(*) FROM gone`:                         0,
		`SELECT sum(gone) FROM tenant`:                      0,
		`SELECT count(*) FROM posting WHERE length(data)=0`: 0,
		`SELECT count(*) FROM posting`:                      1,
	} {
		if got := rows(t, path, query); got != want || kept <= want {
			t.Errorf("%s: %d of %d, want %d", query, got, kept, want)
		}
	}
	if err := x.Remove(t.Context(), "T", []string{"kept"}); err != nil {
		t.Fatal(err)
	}
	settleAll(t, x)
	if n := rows(t, path, `SELECT count(*) FROM posting`) + rows(t, path, `SELECT count(*) FROM passage`); n != 0 {
		t.Errorf("%d rows of nothing", n)
	}
}

// A tenant that comes again starts with nothing, in memory too.
func TestDroppedTenantComesAgain(t *testing.T) {
	for _, settled := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "index.db")
		x := open(t, path)
		put(t, x, "T", stores.Passage{ID: "a", Text: "secret 秘密"}, stores.Passage{ID: "b", Text: "secret 秘密"})
		if settled {
			settleAll(t, x)
			put(t, x, "T", stores.Passage{ID: "c", Text: "secret 秘密"})
		}
		if got := find(t, x, "T", "秘密", 5); len(got) < 2 {
			t.Errorf("found %v", got)
		}
		if err := x.DropTenant(t.Context(), "T"); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"tenant", "passage", "gone", "posting"} {
			if n := rows(t, path, `SELECT count(*) FROM `+table); n != 0 {
				t.Errorf("%d rows of %s", n, table)
			}
		}
		put(t, x, "T", stores.Passage{ID: "x", Text: "public"}, stores.Passage{ID: "y", Text: "public"})
		if got := find(t, x, "T", "秘密 secret", 5); len(got) != 0 {
			t.Errorf("found %v", got)
		}
	}
}

// Blocks that are full are settled while others are written, and one tenant's
// are not another's.
func TestManyBlocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.db")
	x := open(t, path)
	const passages = 9000
	sizes := map[string]int{"A": passages, "B": 900}
	for from := 0; from < passages; from += 900 {
		for tenant, size := range sizes {
			if from >= size {
				continue
			}
			var all []stores.Passage
			for i := from; i < from+900; i++ {
				all = append(all, stores.Passage{ID: fmt.Sprint(tenant, i), Text: fmt.Sprintf("shared 共同 number%d only%s", i, tenant)})
			}
			put(t, x, tenant, all...)
		}
	}
	for range 2 {
		for tenant, size := range sizes {
			for _, i := range []int{0, 899, 4095, 4096, 5000, 8191, 8192, passages - 1} {
				if i >= size {
					continue
				}
				if got := fmt.Sprint(find(t, x, tenant, fmt.Sprint("number", i), 3)); got != fmt.Sprintf("[%s%d]", tenant, i) {
					t.Errorf("%s %d: found %s", tenant, i, got)
				}
			}
			if got := len(find(t, x, tenant, "shared 共同", 4000)); got != min(size, 4000) {
				t.Errorf("%s: %d found", tenant, got)
			}
		}
		settleAll(t, x)
	}
	if got := find(t, x, "A", "onlyB", 1); len(got) != 0 {
		t.Errorf("found another tenant's: %v", got)
	}
	if n := rows(t, path, `SELECT count(*) FROM tenant WHERE settled < next`); n != 0 {
		t.Errorf("%d tenants are not settled", n)
	}
}

// Rows that are not whole are told, by searches and when postings are made.
func TestBrokenPostings(t *testing.T) {
	for name, change := range map[string]string{
		"cut":       `UPDATE posting SET data = substr(data, 1, length(data)-1)`,
		"no terms":  `UPDATE posting SET data = x'0102'`,
		"no steps":  `UPDATE posting SET data = substr(data, 1, length(data)-3) || x'000101'`,
		"long gone": `INSERT INTO gone SELECT id, 0, x'00' FROM tenant; UPDATE tenant SET gone = 1`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "index.db")
			x := open(t, path)
			put(t, x, "T", stores.Passage{ID: "p", Text: "word"})
			settleAll(t, x)
			execute(t, path, change)
			if _, err := x.Search(t.Context(), "T", "word", 1); !errors.Is(err, stores.ErrUnreadable) {
				t.Errorf("search: %v", err)
			}
			if err := x.Remove(t.Context(), "T", []string{"p"}); err == nil {
				err = x.SettleAll(t.Context())
				if !errors.Is(err, stores.ErrUnreadable) {
					t.Errorf("settle: %v", err)
				}
			} else if !errors.Is(err, stores.ErrUnreadable) {
				t.Errorf("remove: %v", err)
			}
		})
	}
}
