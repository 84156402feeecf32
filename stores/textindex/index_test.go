package textindex_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"strata/stores"
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

// sectionsOf cuts a file of testdata at its headings.
func sectionsOf(t testing.TB, file string) []stores.Passage {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var out []stores.Passage
	for i, part := range strings.Split(string(b), "\n## ")[1:] {
		heading, text, _ := strings.Cut(part, "\n")
		out = append(out, stores.Passage{ID: fmt.Sprint(i + 1), Title: "手册", Heading: heading, Text: text})
	}
	return out
}

// C098: words of one and two Chinese characters inside sentences.
func TestChineseWords(t *testing.T) {
	x := inTemp(t)
	put(t, x, "T1", sectionsOf(t, "C098.md")...)
	for query, first := range map[string]string{
		"部署": "1", "部署方案": "1", "谁负责值守": "2", "静默发布怎么回滚？": "3", "營造": "4",
		"rollback": "3", "ROLLBACK 脚本": "3", "ｒｏｌｌｂａｃｋ": "3", "部": "1", "台北市": "4", "预算是多少": "1",
	} {
		hits := search(t, x, "T1", query, 3)
		if len(hits) == 0 || hits[0].ID != first {
			t.Errorf("%s: %v, want %s first", query, hits, first)
		} else if hits[0].Cover < 0.3 {
			t.Errorf("%s: cover %.2f", query, hits[0].Cover)
		}
	}
	for _, query := range []string{"", "？", "《》", "zebra", "\x00\xff", `"; DROP TABLE posting; --`, "* NEAR -"} {
		if hits := search(t, x, "T1", query, 3); len(hits) > 0 {
			t.Errorf("%q finds %v", query, hits)
		}
	}
}

// C115: another tenant's five hundred better passages neither appear, nor
// crowd out, nor move a score.
func TestOtherTenant(t *testing.T) {
	x := inTemp(t)
	mine := []stores.Passage{
		{ID: "contacts", Title: "contacts.md", Text: "值班电话：111000，机房在一楼。"},
		{ID: "tea", Title: "茶水间", Text: "咖啡机坏了请打电话给前台。"},
		{ID: "rota", Title: "排班", Text: "值班表每周一更新。"},
	}
	put(t, x, "T1", mine...)
	const query = "值班电话是多少？"
	alone := search(t, x, "T1", query, 3)
	if len(alone) != 3 || alone[0].ID != "contacts" {
		t.Fatalf("alone: %v", alone)
	}
	theirs := []stores.Passage{{ID: "contacts", Title: "contacts.md", Text: "值班电话：222000"}}
	for i := range 500 {
		theirs = append(theirs, stores.Passage{ID: fmt.Sprint("their", i), Title: "值班电话", Text: "值班电话是多少？值班电话是 222000。"})
	}
	put(t, x, "T2", theirs...)
	if got := search(t, x, "T1", query, 3); !slices.Equal(got, alone) {
		t.Errorf("with another tenant: %v\nalone: %v", got, alone)
	}
	if err := x.Remove(t.Context(), "T1", []string{"contacts"}); err != nil {
		t.Fatal(err)
	}
	if got := find(t, x, "T1", query, 3); slices.Contains(got, "contacts") || len(got) != 2 {
		t.Errorf("after the delete: %v", got)
	}
	count(t, x, "T1", 2)
	count(t, x, "T2", 501)
	if err := x.DropTenant(t.Context(), "T2"); err != nil {
		t.Fatal(err)
	}
	count(t, x, "T2", 0)
	count(t, x, "T1", 2)
	if got := find(t, x, "T2", query, 3); len(got) > 0 {
		t.Errorf("of a dropped tenant: %v", got)
	}
	if got := find(t, x, "T3", query, 3); len(got) > 0 {
		t.Errorf("of a tenant that never was: %v", got)
	}
}

// C095: the new version of a passage replaces the old one, also when it is put
// again, and after a restart.
func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.db")
	x, err := textindex.New(t.Context(), textindex.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	version := func(file string) stores.Passage {
		b, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		return stores.Passage{ID: "contacts#0", Title: "contacts.md", Text: string(b)}
	}
	put(t, x, "T1", version("C095v1.md"))
	if got := find(t, x, "T1", "000000", 5); len(got) != 1 {
		t.Fatalf("before: %v", got)
	}
	for range 2 {
		put(t, x, "T1", version("C095v2.md"))
		if got := find(t, x, "T1", "000000 待定", 5); len(got) != 0 {
			t.Errorf("the old text finds %v", got)
		}
		if got := find(t, x, "T1", "114514", 5); len(got) != 1 {
			t.Errorf("the new text finds %v", got)
		}
		count(t, x, "T1", 1)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	y := open(t, path)
	if got := find(t, y, "T1", "值班电话是多少？", 5); len(got) != 1 || len(find(t, y, "T1", "000000", 5)) != 0 {
		t.Errorf("after a restart: %v", got)
	}
}

// Ranks and covers are those of the passages that are there: what was put,
// replaced and removed on the way leaves nothing.
func TestHistoryLeavesNothing(t *testing.T) {
	passage := func(i, version int) stores.Passage {
		return stores.Passage{ID: fmt.Sprint(i), Title: fmt.Sprint("Rule ", i),
			Text: fmt.Sprintf("版本%d：第%d条 release %d requires approval of team%d 审批流程", version, i, version, i%7)}
	}
	long, short := inTemp(t), inTemp(t)
	for version := range 4 {
		var all []stores.Passage
		for i := range 900 {
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
	}
	for i := range 900 {
		if i%2 == 1 || i >= 600 {
			put(t, short, "T", passage(i, 3))
		}
	}
	count(t, long, "T", 600)
	for _, query := range []string{"审批流程", "版本2", "release 3 approval", "team5 第45条", "rule 601"} {
		got, want := search(t, long, "T", query, 1000), search(t, short, "T", query, 1000)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d hits, first %v; want %d, first %v", query, len(got), got[:min(2, len(got))], len(want), want[:min(2, len(want))])
		}
	}
}

func TestTitleAndHeadingAreSearched(t *testing.T) {
	x := inTemp(t)
	put(t, x, "T",
		stores.Passage{ID: "title", Title: "Travel expenses", Text: "Send the form within thirty days."},
		stores.Passage{ID: "heading", Heading: "Rules > 差旅住宿", Text: "每晚不超过五百元。"},
		stores.Passage{ID: "other", Title: "Parking", Text: "Spaces are limited."})
	for query, want := range map[string]string{"travel expense": "title", "住宿标准": "heading"} {
		if got := find(t, x, "T", query, 3); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v", query, got)
		}
	}
}

func TestLimits(t *testing.T) {
	x := inTemp(t)
	var many []stores.Passage
	for i := range 50 {
		many = append(many, stores.Passage{ID: fmt.Sprint(i), Text: "same words everywhere"})
	}
	put(t, x, "T", many...)
	for limit, want := range map[int]int{-1: 0, 0: 0, 1: 1, 7: 7, 50: 50, 1 << 30: 50} {
		if got := find(t, x, "T", "same words", limit); len(got) != want {
			t.Errorf("limit %d: %d hits", limit, len(got))
		}
	}
	if got := find(t, x, "T", strings.Repeat("all other things, and so on, 以及其他；", 5000)+" same", 5); len(got) != 0 {
		t.Logf("what is far down in a long question is not looked up: %v", got)
	}
}

func TestScopeAndIDs(t *testing.T) {
	x, ctx := inTemp(t), t.Context()
	_, searched := x.Search(ctx, "", "a", 1)
	_, counted := x.Count(ctx, "")
	for name, err := range map[string]error{
		"search": searched, "count": counted, "put": x.Put(ctx, "", nil), "remove": x.Remove(ctx, "", nil), "drop": x.DropTenant(ctx, ""),
	} {
		if !errors.Is(err, stores.ErrScope) {
			t.Errorf("%s without tenant: %v", name, err)
		}
	}
	if err := x.Put(ctx, "T", []stores.Passage{{Text: "no id"}}); err == nil {
		t.Error("a passage without id is put")
	}
	put(t, x, "T", stores.Passage{ID: "p", Text: "first"}, stores.Passage{ID: "p", Text: "second"})
	count(t, x, "T", 1)
	if len(find(t, x, "T", "first", 1)) != 0 || len(find(t, x, "T", "second", 1)) != 1 {
		t.Error("of two with one id, the last does not count")
	}
	if err := errors.Join(x.Put(ctx, "T", nil), x.Remove(ctx, "T", []string{"gone"}), x.Remove(ctx, "new", []string{"gone"})); err != nil {
		t.Error(err)
	}
}

func TestEndedContext(t *testing.T) {
	x := inTemp(t)
	put(t, x, "T", stores.Passage{ID: "p", Text: "word"})
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := x.Search(ended, "T", "word", 1)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("search: %v", err)
	}
	if err := x.Put(ended, "T", []stores.Passage{{ID: "q", Text: "word"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v", err)
	}
	if got := find(t, x, "T", "word", 5); !slices.Equal(got, []string{"p"}) {
		t.Errorf("afterwards: %v", got)
	}
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
