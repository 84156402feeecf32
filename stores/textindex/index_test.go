package textindex_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"strata/stores"
	"strata/stores/storestest"
	"strata/stores/textindex"
)

func open(t testing.TB, path string) *textindex.Index {
	t.Helper()
	x, err := textindex.New(t.Context(), textindex.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// TestContract gives each index of a test a folder.
func TestContract(t *testing.T) {
	dirs := map[string]string{}
	open := func(t testing.TB, name string) *textindex.Index {
		key := t.Name() + "/" + name
		if dirs[key] == "" {
			dirs[key] = t.TempDir()
		}
		x, err := textindex.New(t.Context(), textindex.Config{Path: filepath.Join(dirs[key], name+".db")})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	storestest.RunIndex(t, func(t testing.TB, name string) storestest.Index { return open(t, name) })
	storestest.RunVectorIndex(t, func(t testing.TB, name string) storestest.VectorIndex { return open(t, name) })
}

func inTemp(t testing.TB) *textindex.Index { return open(t, filepath.Join(t.TempDir(), "index.db")) }

func put(t testing.TB, x *textindex.Index, tenant string, passages ...stores.Passage) {
	t.Helper()
	if err := x.Put(t.Context(), tenant, passages); err != nil {
		t.Fatal(err)
	}
}

func find(t testing.TB, x *textindex.Index, tenant, query string, limit int) []string {
	t.Helper()
	var ids []string
	for _, h := range search(t, x, tenant, query, limit) {
		ids = append(ids, h.ID)
	}
	return ids
}

func search(t testing.TB, x *textindex.Index, tenant, query string, limit int) []stores.Hit {
	t.Helper()
	hits, err := x.Search(t.Context(), tenant, query, limit)
	if err != nil {
		t.Fatalf("%q: %v", query, err)
	}
	return hits
}

func count(t testing.TB, x *textindex.Index, tenant string, want int) {
	t.Helper()
	if n, err := x.Count(t.Context(), tenant); err != nil || n != want {
		t.Errorf("%d passages (%v), want %d", n, err, want)
	}
}

// Ranks and covers are those of the passages that are there: what was put,
// replaced and removed on the way leaves nothing, whenever postings are made.
func TestHistoryLeavesNothing(t *testing.T) {
	const passages, versions = 1100, 4 // more than a block in all
	passage := func(i, version int) stores.Passage {
		return stores.Passage{ID: fmt.Sprint(i), Title: fmt.Sprint("Rule ", i),
			Text: fmt.Sprintf("版本%d：第%d条 release %d requires approval of team%d 审批流程", version, i, version, i%7)}
	}
	short := inTemp(t)
	for i := range passages {
		if i%2 == 1 || i >= 600 {
			put(t, short, "T", passage(i, versions-1))
		}
	}
	for name, settle := range map[string]func(x *textindex.Index, version int) error{
		"by themselves": func(*textindex.Index, int) error { return nil },
		"after each":    func(x *textindex.Index, _ int) error { return x.SettleAll(t.Context()) },
		"after some": func(x *textindex.Index, v int) error {
			return onlyIf(v == 1, func() error { return x.SettleAll(t.Context()) })
		},
		"after the last": func(x *textindex.Index, v int) error {
			return onlyIf(v == versions-1, func() error { return x.SettleAll(t.Context()) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			long := inTemp(t)
			for version := range versions {
				var all []stores.Passage
				for i := range passages {
					all = append(all, passage(i, version))
				}
				put(t, long, "T", all...)
				ids := make([]string, 300)
				for i := range ids {
					ids[i] = fmt.Sprint(i * 2)
				}
				for range 2 { // once more is no error
					if err := long.Remove(t.Context(), "T", ids); err != nil {
						t.Fatal(err)
					}
				}
				if err := settle(long, version); err != nil {
					t.Fatal(err)
				}
			}
			count(t, long, "T", passages-300)
			for _, query := range []string{"审批流程", "版本2", "release 3 approval", "team5 第45条", "rule 601"} {
				got, want := search(t, long, "T", query, passages), search(t, short, "T", query, passages)
				if !slices.Equal(got, want) {
					t.Errorf("%s: %d hits, first %v; want %d, first %v", query, len(got), got[:min(2, len(got))], len(want), want[:min(2, len(want))])
				}
			}
		})
	}
}

func onlyIf(is bool, f func() error) error {
	if !is {
		return nil
	}
	return f()
}

// Searches run while passages are replaced; each sees a whole state, and what
// Put has returned for is found at once.
func TestReadersBesideAWriter(t *testing.T) {
	x := inTemp(t)
	const passages, rounds = 40, 12
	version := func(v int) []stores.Passage {
		var out []stores.Passage
		for i := range passages {
			out = append(out, stores.Passage{ID: fmt.Sprint(i), Text: fmt.Sprintf("common 共同 version%d number%d", v, i)})
		}
		return out
	}
	put(t, x, "T", version(0)...)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 6 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				hits, err := x.Search(context.Background(), "T", "common 共同", 100)
				if err != nil || len(hits) != passages {
					t.Errorf("%d hits of %d: %v", len(hits), passages, err)
					return
				}
			}
		})
	}
	for v := 1; v <= rounds; v++ {
		put(t, x, "T", version(v)...)
		if v%3 == 0 {
			if err := x.SettleAll(t.Context()); err != nil {
				t.Error(err)
			}
		}
		put(t, x, fmt.Sprint("other", v), version(v)...)
		if got := find(t, x, "T", fmt.Sprint("version", v), 100); len(got) != passages {
			t.Errorf("version %d: %d of %d right after it was put", v, len(got), passages)
		}
		if got := find(t, x, "T", fmt.Sprint("version", v-1), 100); len(got) != 0 {
			t.Errorf("version %d is still found: %v", v-1, got)
		}
	}
	close(done)
	readers.Wait()
}
