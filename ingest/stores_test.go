package ingest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/ingest"
	"strata/stores"
	"strata/stores/ledger"
	"strata/stores/textindex"
)

// TestWithStores takes documents into the real ledger and index: what was put
// is found at once, what was replaced or deleted is not, also after a rebuild
// (C095, C097, C098).
func TestWithStores(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	l, err := ledger.New(ctx, ledger.Config{Path: filepath.Join(dir, "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	x, err := textindex.New(ctx, textindex.Config{Path: filepath.Join(dir, "index.db")})
	if err != nil {
		t.Fatal(err)
	}
	g := ingest.New(ingest.Config{Ledger: l, Index: x})
	put := func(id, text string) {
		t.Helper()
		if r, err := g.Put(ctx, "t1", ingest.Source{ID: id, Body: []byte(text)}); err != nil || r.Status != ingest.StatusPublished {
			t.Fatalf("%s: %+v, %v", id, r, err)
		}
	}
	first := func(query string) stores.Passage {
		t.Helper()
		hits, err := x.Search(ctx, "t1", query, 5)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, h := range hits {
			ids = append(ids, h.ID)
		}
		found, err := l.Passages(ctx, stores.Scope{Tenant: "t1"}, ids)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			return stores.Passage{}
		}
		return found[0]
	}
	put("notes.md", "# 笔记\n\n## 甲\n昨天开会讨论了部署方案。\n\n## 乙\n假期由小周负责值守。\n\n## 丙\n静默发布失败时运行 rollback 脚本。\n")
	put("contacts.md", "# 联系\n\n值班电话：000000\n")
	put("contacts.md", "# 联系\n\n值班电话：114514\n")
	put("gone.md", "The maintenance window is on Sunday.")
	if err := g.Delete(ctx, "t1", "gone.md"); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		for query, want := range map[string]string{"部署": "甲", "谁负责值守": "乙", "静默发布怎么回滚": "丙", "rollback": "丙"} {
			if got := first(query); !strings.HasSuffix(got.Heading, want) {
				t.Errorf("%s finds %q, want %s", query, got.Heading, want)
			}
		}
		if got := first("值班电话是多少"); got.Text != "值班电话：114514" || got.Version != 2 {
			t.Errorf("the number is %+v", got)
		}
		if got := first("maintenance window"); got.ID != "" {
			t.Errorf("deleted, but found: %+v", got)
		}
	}
	check()
	_ = x.Close()
	if x, err = textindex.New(ctx, textindex.Config{Path: filepath.Join(dir, "again.db")}); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	g = ingest.New(ingest.Config{Ledger: l, Index: x})
	if n, err := g.Rebuild(ctx, nil); err != nil || n != 2 {
		t.Errorf("%d versions rebuilt, %v", n, err)
	}
	check()
}

// TestVectorsWithStores embeds into the real ledger and index. An index that is
// emptied because text is cut in another way keeps its vectors; one that is
// lost gets them again.
func TestVectorsWithStores(t *testing.T) {
	dir := t.TempDir()
	l, err := ledger.New(t.Context(), ledger.Config{Path: filepath.Join(dir, "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e := &fakeEmbedder{}
	space := stores.Space{ID: "s1", Dims: 16}
	if _, err := l.SetSpace(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	// with opens an index, fills it if it asks for that, and embeds what waits.
	with := func(path string, work func(*ingest.Ingester)) {
		t.Helper()
		x, err := textindex.New(t.Context(), textindex.Config{Path: filepath.Join(dir, path)})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		g := ingest.New(ingest.Config{Ledger: l, Index: x, Vectors: x, Embed: e.inSpace})
		if x.NeedsRebuild() {
			if _, err := g.Rebuild(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if err := x.Rebuilt(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if work != nil {
			work(g)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go g.RunVectors(ctx)
		for left := 1; left > 0; time.Sleep(time.Millisecond) {
			if left, err = l.EmbedRows(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		_, versions, err := l.Document(t.Context(), "t1", "a.md")
		if err != nil || versions[0].Vectors != "ready" {
			t.Errorf("%+v, %v", versions, err)
		}
		text := e.texts()[7]
		hits, err := x.Nearest(t.Context(), "t1", space.ID, hashed(strings.Fields(text)...), 200)
		if err != nil || len(hits) != 130 || hits[0].Score < 0.999 {
			t.Errorf("%d are near, first %v, %v", len(hits), hits[:min(1, len(hits))], err)
		}
	}
	with("index.db", func(g *ingest.Ingester) {
		if _, err := g.Put(t.Context(), "t1", ingest.Source{ID: "a.md", Body: []byte(longText(130))}); err != nil {
			t.Fatal(err)
		}
	})
	if n := len(e.texts()); n != 130 {
		t.Fatalf("%d texts were embedded", n)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "index.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`UPDATE format SET analyzer = 'terms 0'`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	with("index.db", nil)
	if n := len(e.texts()); n != 130 {
		t.Errorf("%d texts were embedded after text was cut in another way", n)
	}
	with("new.db", nil)
	if n := len(e.texts()); n != 260 {
		t.Errorf("%d texts were embedded, want all of them once more", n)
	}
}

// openStores opens a ledger and an index in dir until the test ends.
func openStores(t testing.TB, dir string) (*ledger.Ledger, *textindex.Index) {
	t.Helper()
	l, err := ledger.New(t.Context(), ledger.Config{Path: filepath.Join(dir, "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	x, err := textindex.New(t.Context(), textindex.Config{Path: filepath.Join(dir, "index.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return l, x
}

// TestSameAgain: a source that is put again changes nothing, whether its
// version is in force, will be, or was.
func TestSameAgain(t *testing.T) {
	ctx := t.Context()
	l, x := openStores(t, t.TempDir())
	g := ingest.New(ingest.Config{Ledger: l, Index: x})
	for status, front := range map[string]string{ingest.StatusPublished: "title: a", ingest.StatusScheduled: "effective: 2999-01-01", ingest.StatusExpired: "expires: 2020-01-01"} {
		for again := range 3 {
			r, err := g.Put(ctx, "t1", ingest.Source{ID: status + ".md", Body: []byte("---\n" + front + "\n---\nText.\n")})
			if err != nil || r.Status != status || r.Version != 1 || r.Unchanged != (again > 0) {
				t.Errorf("%s, time %d: %+v, %v", status, again+1, r, err)
			}
		}
	}
}

// BenchmarkPut takes documents of 18 KB, in English and Chinese by turns, into
// the real ledger and index.
func BenchmarkPut(b *testing.B) {
	ctx := b.Context()
	l, x := openStores(b, b.TempDir())
	g := ingest.New(ingest.Config{Ledger: l, Index: x})
	words := [][]string{strings.Fields("the of and to in is for on that with by must may each which form office manager approval budget travel cost days week month year limit"),
		strings.Fields("申请 审批 部门 员工 经理 预算 出差 费用 标准 规定 应当 不得 可以 以及 如果 之前 之后 每月 每年 合同 供应商 订单 交付 库存")}
	document := func(n int) []byte {
		var t strings.Builder
		for section := range 20 {
			fmt.Fprintf(&t, "# Rule %d.%d\n\n", n, section)
			for i := range 150 {
				t.WriteString(words[n%2][(i*i+7*n+section)%len(words[n%2])])
				t.WriteString([2]string{" ", ""}[n%2])
				if i%15 == 14 {
					t.WriteString([2]string{". ", "。"}[n%2])
				}
			}
			t.WriteString("\n\n")
		}
		return []byte(t.String())
	}
	size := 0
	for n := 0; b.Loop(); n++ {
		text := document(n)
		size += len(text)
		if _, err := g.Put(ctx, "t1", ingest.Source{ID: fmt.Sprintf("%d.md", n), Body: text}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(size / b.N))
}
