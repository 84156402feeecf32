package ingest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

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

// TestSameAgain: a source that is put again changes nothing, whether its
// version is in force, will be, or was.
func TestSameAgain(t *testing.T) {
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
	defer x.Close()
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
	ctx, dir := b.Context(), b.TempDir()
	l, err := ledger.New(ctx, ledger.Config{Path: filepath.Join(dir, "ledger.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	x, err := textindex.New(ctx, textindex.Config{Path: filepath.Join(dir, "index.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
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
