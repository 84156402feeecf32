package storestest

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"strata/stores"
)

// Index is a full-text index of passages.
type Index interface {
	Close() error
	Put(ctx context.Context, tenant string, passages []stores.Passage) error
	Remove(ctx context.Context, tenant string, ids []string) error
	Search(ctx context.Context, tenant, query string, limit int) ([]stores.Hit, error)
	Count(ctx context.Context, tenant string) (int, error)
	DropTenant(ctx context.Context, tenant string) error
	NeedsRebuild() bool
	Rebuilt(ctx context.Context) error
}

// IndexOpener opens the index of this name, an empty one the first time in a
// test. The same name later in the same test is the same index.
type IndexOpener func(t testing.TB, name string) Index

//go:embed testdata
var testdata embed.FS

// RunIndex holds an index to the whole contract.
func RunIndex(t *testing.T, open IndexOpener) {
	for _, c := range []struct {
		name string
		test func(*testing.T, func() indexTest)
	}{
		{"ChineseWords", indexChineseWords},
		{"GluedWords", indexGluedWords},
		{"OtherTenant", indexOtherTenant},
		{"Replace", indexReplace},
		{"History", indexHistory},
		{"TitleAndHeading", indexTitleAndHeading},
		{"Limits", indexLimits},
		{"ScopeAndIDs", indexScopeAndIDs},
		{"ExactIDs", indexExactIDs},
		{"OddText", indexOddText},
		{"EndedContext", indexEndedContext},
		{"ReadersBesideAWriter", indexReadersBesideAWriter},
		{"Rebuild", indexRebuild},
		{"Closed", indexClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.test(t, func() indexTest { return indexTest{t, open(t, "index")} })
		})
	}
}

// indexTest is an index with what tests do to it.
type indexTest struct {
	t *testing.T
	Index
}

func (x indexTest) close() {
	x.t.Helper()
	if err := errors.Join(x.Close(), x.Close()); err != nil {
		x.t.Error(err)
	}
}

func (x indexTest) put(tenant string, passages ...stores.Passage) {
	x.t.Helper()
	if err := x.Put(x.t.Context(), tenant, passages); err != nil {
		x.t.Fatal(err)
	}
}

func (x indexTest) search(tenant, query string, limit int) []stores.Hit {
	x.t.Helper()
	hits, err := x.Search(x.t.Context(), tenant, query, limit)
	if err != nil {
		x.t.Fatalf("%q: %v", query, err)
	}
	for _, h := range hits {
		if h.Cover < 0 || h.Cover > 1 || h.Score <= 0 || h.Spread <= 0 || h.Spread != hits[0].Spread {
			x.t.Errorf("%q: %+v", query, h)
		}
	}
	return hits
}

func (x indexTest) find(tenant, query string, limit int) []string {
	x.t.Helper()
	return hitIDs(x.search(tenant, query, limit))
}

func (x indexTest) count(tenant string, want int) {
	x.t.Helper()
	if n, err := x.Count(x.t.Context(), tenant); err != nil || n != want {
		x.t.Errorf("%d passages (%v), want %d", n, err, want)
	}
}

func hitIDs(hits []stores.Hit) (ids []string) {
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return ids
}

func textOf(t testing.TB, file string) string {
	t.Helper()
	b, err := testdata.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sectionsOf cuts a file of testdata at its headings.
func sectionsOf(t testing.TB, file string) (out []stores.Passage) {
	t.Helper()
	for i, part := range strings.Split(textOf(t, file), "\n## ")[1:] {
		heading, text, _ := strings.Cut(part, "\n")
		out = append(out, stores.Passage{ID: fmt.Sprint(i + 1), Title: "手册", Heading: heading, Text: text})
	}
	return out
}

// C098: words of one and two Chinese characters inside sentences.
func indexChineseWords(t *testing.T, open func() indexTest) {
	x := open()
	defer x.close()
	x.put("T1", sectionsOf(t, "C098.md")...)
	for query, first := range map[string]string{
		"部署": "1", "部署方案": "1", "谁负责值守": "2", "静默发布怎么回滚？": "3", "營造": "4",
		"rollback": "3", "ROLLBACK 脚本": "3", "ｒｏｌｌｂａｃｋ": "3", "部": "1", "台北市": "4", "预算是多少": "1",
	} {
		hits := x.search("T1", query, 3)
		if len(hits) == 0 || hits[0].ID != first {
			t.Errorf("%s: %v, want %s first", query, hits, first)
		} else if hits[0].Cover < 0.3 {
			t.Errorf("%s: cover %.2f", query, hits[0].Cover)
		} else if want := query == "ROLLBACK 脚本"; hits[0].Named != want {
			t.Errorf("%s: named %v", query, !want)
		}
	}
	for _, query := range []string{"", "？", "《》", "zebra", "\x00\xff", `"; DROP TABLE posting; --`, "* NEAR -"} {
		if hits := x.search("T1", query, 3); len(hits) > 0 {
			t.Errorf("%q finds %v", query, hits)
		}
	}
}

// C115: another tenant's five hundred better passages neither appear, nor
// crowd out, nor move a score.
func indexOtherTenant(t *testing.T, open func() indexTest) {
	x := open()
	defer x.close()
	mine := []stores.Passage{
		{ID: "contacts", Title: "contacts.md", Text: "值班电话：111000，机房在一楼。"},
		{ID: "tea", Title: "茶水间", Text: "咖啡机坏了请打电话给前台。"},
		{ID: "rota", Title: "排班", Text: "值班表每周一更新。"},
	}
	x.put("T1", mine...)
	const query = "值班电话是多少？"
	alone := x.search("T1", query, 3)
	if len(alone) != 3 || alone[0].ID != "contacts" {
		t.Fatalf("alone: %v", alone)
	}
	theirs := []stores.Passage{{ID: "contacts", Title: "contacts.md", Text: "值班电话：222000"}}
	for i := range 500 {
		theirs = append(theirs, stores.Passage{ID: fmt.Sprint("their", i), Title: "值班电话", Text: "值班电话是多少？值班电话是 222000。"})
	}
	x.put("T2", theirs...)
	if got := x.search("T1", query, 3); !slices.Equal(got, alone) {
		t.Errorf("with another tenant: %v\nalone: %v", got, alone)
	}
	if err := x.Remove(t.Context(), "T1", []string{"contacts"}); err != nil {
		t.Fatal(err)
	}
	if got := x.find("T1", query, 3); slices.Contains(got, "contacts") || len(got) != 2 {
		t.Errorf("after the delete: %v", got)
	}
	x.count("T1", 2)
	x.count("T2", 501)
	for range 2 {
		if err := x.DropTenant(t.Context(), "T2"); err != nil {
			t.Fatal(err)
		}
	}
	x.count("T2", 0)
	x.count("T1", 2)
	for _, gone := range []string{"T2", "T3", "t1"} {
		if got := x.find(gone, query, 3); len(got) > 0 {
			t.Errorf("of %s: %v", gone, got)
		}
	}
}

// C095: the new version of a passage replaces the old one, also when it is put
// again, and after a restart.
func indexReplace(t *testing.T, open func() indexTest) {
	x := open()
	version := func(file string) stores.Passage {
		return stores.Passage{ID: "contacts#0", Title: "contacts.md", Text: textOf(t, file)}
	}
	x.put("T1", version("C095v1.md"))
	if got := x.find("T1", "000000", 5); len(got) != 1 {
		t.Fatalf("before: %v", got)
	}
	for range 2 {
		x.put("T1", version("C095v2.md"))
		if got := x.find("T1", "000000 待定", 5); len(got) != 0 {
			t.Errorf("the old text finds %v", got)
		}
		if got := x.find("T1", "114514", 5); len(got) != 1 {
			t.Errorf("the new text finds %v", got)
		}
		x.count("T1", 1)
	}
	x.close()
	y := open()
	defer y.close()
	if got := y.find("T1", "值班电话是多少？", 5); len(got) != 1 || len(y.find("T1", "000000", 5)) != 0 {
		t.Errorf("after a restart: %v", got)
	}
}

// What is found is what was put last, whatever was put, replaced and removed on
// the way.
func indexHistory(t *testing.T, open func() indexTest) {
	x := open()
	defer x.close()
	const n, versions = 300, 3
	for version := range versions {
		var all []stores.Passage
		var even []string
		for i := range n {
			all = append(all, stores.Passage{ID: fmt.Sprint(i), Title: fmt.Sprint("Rule ", i),
				Text: fmt.Sprintf("版本%d：第%d条 release %d requires approval of team%d 审批流程", version, i, version, i%7)})
			if i%2 == 0 {
				even = append(even, fmt.Sprint(i))
			}
		}
		x.put("T", all...)
		for range 2 { // once more is no error
			if err := x.Remove(t.Context(), "T", even); err != nil {
				t.Fatal(err)
			}
		}
	}
	x.count("T", n/2)
	if got := x.find("T", "审批流程", 1000); len(got) != n/2 {
		t.Errorf("%d passages are found, want %d", len(got), n/2)
	}
	if got := x.find("T", "rule 151", 1000); len(got) == 0 || got[0] != "151" {
		t.Errorf("of one rule: %v", got[:min(3, len(got))])
	}
	for id := range slices.Values(x.find("T", "rule 150", 1000)) {
		if id == "150" {
			t.Error("a removed passage is found")
		}
	}
}

func indexTitleAndHeading(t *testing.T, open func() indexTest) {
	x := open()
	defer x.close()
	x.put("T",
		stores.Passage{ID: "title", Title: "Travel expenses", Text: "Send the form within thirty days."},
		stores.Passage{ID: "heading", Heading: "Rules > 差旅住宿", Text: "每晚不超过五百元。"},
		stores.Passage{ID: "other", Title: "Parking", Text: "Spaces are limited."})
	for query, want := range map[string]string{"travel expense": "title", "住宿标准": "heading"} {
		if got := x.find("T", query, 3); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v", query, got)
		}
	}
}

func indexLimits(t *testing.T, open func() indexTest) {
	x := open()
	defer x.close()
	var many []stores.Passage
	for i := range 250 {
		many = append(many, stores.Passage{ID: fmt.Sprint(i), Text: "same words everywhere"})
	}
	x.put("T", many...)
	for limit, want := range map[int]int{-1: 0, 0: 0, 1: 1, 7: 7, 250: 250, 1 << 30: 250} {
		if got := x.find("T", "same words", limit); len(got) != want {
			t.Errorf("limit %d: %d hits", limit, len(got))
		}
	}
	x.find("T", strings.Repeat("all other things, and so on, 以及其他；", 5000)+" same", 5) // answers at all
}

func indexScopeAndIDs(t *testing.T, open func() indexTest) {
	x, ctx := open(), t.Context()
	defer x.close()
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
	x.put("T", stores.Passage{ID: "p", Text: "first"}, stores.Passage{ID: "p", Text: "second"})
	x.count("T", 1)
	if len(x.find("T", "first", 1)) != 0 || len(x.find("T", "second", 1)) != 1 {
		t.Error("of two with one id, the last does not count")
	}
	if err := errors.Join(x.Put(ctx, "T", nil), x.Remove(ctx, "T", []string{"gone"}), x.Remove(ctx, "new", []string{"gone"})); err != nil {
		t.Error(err)
	}
}

// C100: names that are alike, or cut into the same words, are different ones, of
// tenants and of passages.
func indexExactIDs(t *testing.T, open func() indexTest) {
	x := open()
	defer x.close()
	names := []string{"1-1", "1-12", "2-1", "team a", "team a b", "ERP", "erp", "erp_System"}
	for i, tenant := range names {
		for j, id := range names {
			x.put(tenant, stores.Passage{ID: id, Text: fmt.Sprintf("marker%dx%d same words", i, j)})
		}
	}
	gone := []string{"1-1", "team a", "erp"}
	for _, tenant := range gone {
		if err := x.Remove(t.Context(), tenant, gone); err != nil {
			t.Fatal(err)
		}
	}
	for i, tenant := range names {
		for j, id := range names {
			want := []string{id}
			if slices.Contains(gone, tenant) && slices.Contains(gone, id) {
				want = nil
			}
			if got := x.find(tenant, fmt.Sprintf("marker%dx%d", i, j), 20); !slices.Equal(got, want) {
				t.Errorf("%q of %q finds %q", id, tenant, got)
			}
		}
	}
}

// Whatever a text, a question, an id or a tenant's name holds, it is neither an
// error nor another one's.
func indexOddText(t *testing.T, open func() indexTest) {
	x := open()
	defer x.close()
	var odd strings.Builder
	for r := range rune(0x300) {
		odd.WriteRune(r)
	}
	odd.WriteString("\xff\xfe \U000e0001\U0001f600\U00010400\u2028\u2029\ufeff\ufffd {}\"\\ \\u0041 %s ${x} 'OR''='")
	names := []string{"a@b.example", "A@b.example", "租户", strings.Repeat("x", 300), "../t", "a b", "\x00"}
	for i, tenant := range names {
		id := fmt.Sprint("id \"", i, "\n\x00 号")
		x.put(tenant, stores.Passage{ID: id, Title: odd.String(), Heading: odd.String(), Text: odd.String() + fmt.Sprint(" tenant", i)})
		if got := x.find(tenant, odd.String()+fmt.Sprint(" tenant", i), 5); len(got) != 1 || got[0] != id {
			t.Errorf("%q: %q, want %q", tenant, got, id)
		}
	}
	for i, tenant := range names {
		if got := x.find(tenant, fmt.Sprint("tenant", (i+1)%len(names)), 5); len(got) != 0 {
			t.Errorf("%q finds another tenant's %q", tenant, got)
		}
		x.count(tenant, 1)
	}
}

func indexEndedContext(t *testing.T, open func() indexTest) {
	x := open()
	defer x.close()
	x.put("T", stores.Passage{ID: "p", Text: "word"})
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := x.Search(ended, "T", "word", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("search: %v", err)
	}
	if err := x.Put(ended, "T", []stores.Passage{{ID: "q", Text: "word"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v", err)
	}
	if got := x.find("T", "word", 5); !slices.Equal(got, []string{"p"}) {
		t.Errorf("afterwards: %v", got)
	}
}

// Searches run while passages are replaced, and what Put has returned for is
// found at once.
func indexReadersBesideAWriter(t *testing.T, open func() indexTest) {
	x := open()
	defer x.close()
	const passages, rounds = 40, 6
	version := func(v int) (out []stores.Passage) {
		for i := range passages {
			out = append(out, stores.Passage{ID: fmt.Sprint(i), Text: fmt.Sprintf("common 共同 version%d number%d", v, i)})
		}
		return out
	}
	x.put("T", version(0)...)
	done := make(chan struct{})
	var readers sync.WaitGroup
	defer readers.Wait()
	defer close(done)
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if hits, err := x.Search(context.Background(), "T", "common 共同", 100); err != nil || len(hits) > passages {
					t.Errorf("%d hits of %d: %v", len(hits), passages, err)
					return
				}
			}
		})
	}
	for v := 1; v <= rounds; v++ {
		x.put("T", version(v)...)
		if got := x.find("T", fmt.Sprint("version", v), 100); len(got) != passages {
			t.Errorf("version %d: %d of %d right after it was put", v, len(got), passages)
		}
		if got := x.find("T", fmt.Sprint("version", v-1), 100); len(got) != 0 {
			t.Errorf("version %d is still found: %v", v-1, got)
		}
	}
}

// A new index asks to be filled until somebody has done it, over restarts too.
func indexRebuild(t *testing.T, open func() indexTest) {
	for range 2 {
		x := open()
		if !x.NeedsRebuild() {
			t.Error("needs no rebuild")
		}
		x.put("T", stores.Passage{ID: "p", Text: "part"})
		x.close()
	}
	x := open()
	if !x.NeedsRebuild() {
		t.Error("needs no rebuild")
	}
	if err := x.Rebuilt(t.Context()); err != nil || x.NeedsRebuild() {
		t.Errorf("rebuilt: %v", err)
	}
	x.close()
	y := open()
	defer y.close()
	if y.NeedsRebuild() {
		t.Error("needs a rebuild although it was filled")
	}
	if got := y.find("T", "part", 5); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}

func indexClosed(t *testing.T, open func() indexTest) {
	x, ctx := open(), t.Context()
	x.close()
	_, searched := x.Search(ctx, "T", "a", 1)
	_, counted := x.Count(ctx, "T")
	for name, err := range map[string]error{
		"search": searched, "count": counted, "put": x.Put(ctx, "T", []stores.Passage{{ID: "p", Text: "a"}}), "remove": x.Remove(ctx, "T", []string{"p"}),
		"drop": x.DropTenant(ctx, "T"), "rebuilt": x.Rebuilt(ctx),
	} {
		if !errors.Is(err, stores.ErrClosed) {
			t.Errorf("%s: %v, want %v", name, err, stores.ErrClosed)
		}
	}
}
