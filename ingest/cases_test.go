package ingest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"strata/ingest"
	"strata/internal/tokens"
	"strata/stores"
	"strata/stores/ledger"
	"strata/stores/textindex"
)

// knowledge is the real ledger and index, with a clock that a test sets.
type knowledge struct {
	t *testing.T
	*ingest.Ingester
	ledger *ledger.Ledger
	index  *textindex.Index
	now    time.Time
}

func newKnowledge(t *testing.T) *knowledge {
	k := &knowledge{t: t, now: date(2026, 3, 1)}
	var err error
	clock := func() time.Time { return k.now }
	if k.ledger, err = ledger.New(t.Context(), ledger.Config{Path: filepath.Join(t.TempDir(), "ledger.db"), Clock: clock}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.ledger.Close() })
	if k.index, err = textindex.New(t.Context(), textindex.Config{Path: filepath.Join(t.TempDir(), "index.db")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.index.Close() })
	k.Ingester = ingest.New(ingest.Config{Ledger: k.ledger, Index: k.index, Clock: clock})
	return k
}

func (k *knowledge) put(id, text string) ingest.Result {
	k.t.Helper()
	r, err := k.Put(k.t.Context(), "t1", ingest.Source{ID: id, Body: []byte(text)})
	if err != nil {
		k.t.Fatalf("%s: %v", id, err)
	}
	return r
}

// found are the texts that a question finds and groups may read now.
func (k *knowledge) found(question string, groups ...string) string {
	k.t.Helper()
	hits, err := k.index.Search(k.t.Context(), "t1", question, 10)
	if err != nil {
		k.t.Fatal(err)
	}
	var ids []string
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	passages, err := k.ledger.Passages(k.t.Context(), stores.Scope{Tenant: "t1", Groups: groups}, ids)
	if err != nil {
		k.t.Fatal(err)
	}
	var texts []string
	for _, p := range passages {
		texts = append(texts, p.Heading+"\n"+p.Text)
	}
	return strings.Join(texts, "\n")
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestInForce: a version is found from its day on until a later one's or its
// own end, whatever was worked off meanwhile. Dates and groups are the front
// matter's.
func TestInForce(t *testing.T) {
	k := newKnowledge(t)
	version := func(head, days string) string {
		return "---\n" + head + "\n---\n# Annual leave\n\nAnnual leave is " + days + " days.\n"
	}
	at := func(now time.Time, want string) {
		t.Helper()
		k.now = now
		for range 2 { // before and after what time has done is written down
			if got := k.found("annual leave"); (want == "") != (got == "") || !strings.Contains(got, want) {
				t.Errorf("on %s: %q, want %q", now.Format(time.DateTime), got, want)
			}
			if _, err := k.ledger.Expire(t.Context()); err != nil {
				t.Fatal(err)
			}
			k.Notify()
		}
	}
	if r := k.put("leave.md", version("effective: 2026-01-01", "twenty")); r.Status != ingest.StatusPublished {
		t.Errorf("in force: %+v", r)
	}
	if r := k.put("leave.md", version("effective: 2026-04-01\nexpires: 2026-12-31", "thirty")); r.Status != ingest.StatusScheduled {
		t.Errorf("scheduled: %+v", r)
	}
	at(date(2026, 3, 1), "twenty")
	at(date(2026, 4, 1).Add(-time.Second), "twenty")
	at(date(2026, 4, 1), "thirty")
	at(date(2027, 1, 1).Add(-time.Second), "thirty")
	at(date(2027, 1, 1), "") // and not the one before it again
	if r := k.put("leave.md", version("expires: 2026-06-30", "forty")); r.Status != ingest.StatusExpired {
		t.Errorf("expired when it came: %+v", r)
	}
	at(date(2027, 1, 2), "")
	if r := k.put("leave.md", version("groups: [hr]", "fifty")); r.Status != ingest.StatusPublished {
		t.Errorf("for a group: %+v", r)
	}
	at(date(2027, 1, 3), "")
	if got := k.found("annual leave", "sales", "hr"); !strings.Contains(got, "fifty") {
		t.Errorf("for its group: %q", got)
	}
}

// TestC095Files: with the case's own files.
func TestC095Files(t *testing.T) {
	k := newKnowledge(t)
	k.put("contacts.md", testdata(t, "C095v1.md"))
	if got := k.found("值班电话是多少？"); !strings.Contains(got, "000000") {
		t.Errorf("the first version: %q", got)
	}
	for round := range 2 {
		if r := k.put("contacts.md", testdata(t, "C095v2.md")); r.Version != 2 || r.Unchanged != (round == 1) {
			t.Errorf("round %d: %+v", round, r)
		}
		if got := k.found("值班电话是多少？"); !strings.Contains(got, "114514") || strings.Contains(got, "000000") {
			t.Errorf("round %d: %q", round, got)
		}
	}
}

// TestC106File: the row of a table longer than a passage, with its columns and
// heading.
func TestC106File(t *testing.T) {
	k := newKnowledge(t)
	text := testdata(t, "C106.md")
	head := regexp.MustCompile(`(?m)^\|.*\|\n\|[-| :]+\|\n`).FindString(text)
	d, err := ingest.Parse(context.Background(), ingest.Source{ID: "C106.md", Body: []byte(text)}, tokens.Count)
	if err != nil || head == "" || len(d.Passages) < 2 {
		t.Fatalf("%d passages, head %q, %v", len(d.Passages), head, err)
	}
	rows := 0
	for _, p := range d.Passages {
		if strings.Count(p.Text, head) != 1 || strings.Index(p.Text, "| RTX") < strings.Index(p.Text, head) || !strings.Contains(p.Heading, "质保表") {
			t.Errorf("a piece without head or heading: %q, %q", p.Heading, p.Text[:min(80, len(p.Text))])
		}
		for line := range strings.Lines(p.Text) {
			if strings.HasPrefix(line, "| RTX") {
				rows++
				if !strings.Contains(text, "\n"+strings.TrimSpace(line)+"\n") && !strings.HasSuffix(strings.TrimSpace(text), strings.TrimSpace(line)) {
					t.Errorf("a row is cut: %q", line)
				}
			}
		}
	}
	if rows != 120 {
		t.Errorf("%d rows, want 120", rows)
	}
	k.put("C106.md", text)
	if got := k.found("RTX-077 的保修期"); !strings.Contains(got, "RTX-077") || !strings.Contains(got, "37 个月") || !strings.Contains(got, strings.TrimSpace(strings.SplitN(head, "\n", 2)[0])) {
		t.Errorf("found %q", got)
	}
}

// kept takes a case's file in and returns all of its text. A kind of file that
// is not read must be refused as a whole; the case's further wants are skipped
// then.
func kept(t *testing.T, name string) string {
	t.Helper()
	d, err := ingest.Parse(context.Background(), ingest.Source{ID: name, Body: []byte(testdata(t, name))}, tokens.Count)
	if errors.Is(err, ingest.ErrMediaType) {
		t.Skipf("%s is refused, nothing of it is kept: %v", name, err)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var all []string
	for _, p := range d.Passages {
		all = append(all, p.Heading+"\n"+p.Text)
	}
	text := strings.Join(all, "\n")
	if strings.ContainsRune(text, '\uFFFD') || strings.Contains(text, "(cid:") {
		t.Errorf("%s: rubbish is kept: %q", name, text)
	}
	return text
}

func wants(t *testing.T, text string, there, never []string) {
	t.Helper()
	for _, w := range there {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in %q", w, text)
		}
	}
	for _, n := range never {
		if strings.Contains(text, n) {
			t.Errorf("%q in %q", n, text)
		}
	}
}

// TestC105: a Chinese line in a predefined encoding without a map.
func TestC105(t *testing.T) {
	wants(t, kept(t, "C105.pdf"), []string{"Duty desk"}, []string{"7KHGDQFHUV"})
}

// TestC111: the text as it stands with all tracked changes accepted.
func TestC111(t *testing.T) {
	wants(t, kept(t, "C111.docx"), []string{"单笔上限为 8000 元。", "第一行", "第二行", "右"}, []string{"5000", "HYPERLINK", "第一行第二行"})
}

// TestC112: rows of a table stay on their lines, also of one in a cell.
func TestC112(t *testing.T) {
	text := kept(t, "C112.docx")
	wants(t, text, []string{"机房", "8100", "8102", "采购制度"}, nil)
	for number, name := range map[string]string{"8001": "前台", "8103": "夜班"} {
		if !regexp.MustCompile(`(?m)^.*` + name + `.*` + number + `.*$`).MatchString(text) {
			t.Errorf("%s is not on a line with %s: %q", number, name, text)
		}
	}
}

// TestC113: tables as Excel saves them.
func TestC113(t *testing.T) {
	wants(t, kept(t, "C113a.csv"), []string{"姓名", "欧阳若曦", "6033"}, nil)
	text := kept(t, "C113b.csv")
	wants(t, text, []string{"姓名", "市场部", "财务,二部"}, []string{"\ufeff"})
	d, err := ingest.Parse(context.Background(), ingest.Source{ID: "C113c.csv", Body: []byte(testdata(t, "C113c.csv"))}, tokens.Count)
	if !errors.Is(err, ingest.ErrEncoding) && (err != nil || !strings.Contains(d.Passages[0].Text, "Zoé")) {
		t.Errorf("neither read nor refused: %v", err)
	}
}
