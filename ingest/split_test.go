package ingest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"strata/ingest"
	"strata/internal/tokens"
	"strata/stores"
)

const maxTokens = 500

func parse(t testing.TB, id, text string) stores.Draft {
	t.Helper()
	d, err := ingest.Parse(context.Background(), ingest.Source{ID: id, Body: []byte(text)}, tokens.Count)
	if err != nil {
		t.Fatal(err)
	}
	checkPassages(t, d)
	return d
}

func checkPassages(t testing.TB, d stores.Draft) {
	t.Helper()
	for i, p := range d.Passages {
		if p.Tokens > maxTokens || p.Tokens != tokens.Count(p.Text) {
			t.Fatalf("passage %d says %d tokens and has %d; at most %d", i, p.Tokens, tokens.Count(p.Text), maxTokens)
		}
		if p.Ordinal != i || strings.TrimSpace(p.Text) == "" {
			t.Fatalf("passage %d: ordinal %d, text %q", i, p.Ordinal, p.Text)
		}
	}
}

func show(d stores.Draft) []string {
	var out []string
	for _, p := range d.Passages {
		out = append(out, p.Heading+" | "+p.Text)
	}
	return out
}

func TestStructure(t *testing.T) {
	for name, c := range map[string]struct {
		id, text string
		want     []string
	}{
		"sections":                    {"a.md", "# 手册\n\n## 休假\n年假十天。\n\n## Travel\nBook early.\n", []string{"手册 > 休假 | 年假十天。", "手册 > Travel | Book early."}},
		"setext":                      {"a.md", "Guide\n=====\n\nPart\n----\nIt works.\n", []string{"Guide > Part | It works."}},
		"a skipped level":             {"a.md", "# A\n### B\nOne.\n## C\nTwo.\n", []string{"A > B | One.", "A > C | Two."}},
		"no heading":                  {"a.md", "Just one line.\n", []string{" | Just one line."}},
		"headings alone":              {"a.md", "# A\n## B\n", []string{"A > B | ## B"}},
		"a heading without text":      {"a.md", "# A\n# B\nText is here.\n", []string{"B | # A\n# B\nText is here."}},
		"fragments":                   {"a.md", "# Server\n## Port\n4470\n## Host\nlocalhost\n## Notes\nIt listens on loopback only.\n", []string{"Server | ## Port\n4470\n## Host\nlocalhost", "Server > Notes | It listens on loopback only."}},
		"markup in a heading":         {"a.md", "# **A** [b](http://x)\nText is here.\n", []string{"A b | # **A** [b](http://x)\nText is here."}},
		"a fence hides headings":      {"a.md", "# A\n```\n# not a heading\n```\n", []string{"A | ```\n# not a heading\n```"}},
		"no heading in a list":        {"a.md", "# A\n- # x\n- y\n", []string{"A | - # x\n- y"}},
		"link definitions stay":       {"a.md", "# A\n[x]: http://y\n\nSee [x].\n", []string{"A | [x]: http://y\n\nSee [x]."}},
		"indented code keeps indents": {"a.md", "# A\n\n    a := 1\n      b\n", []string{"A |     a := 1\n      b"}},
		"windows lines":               {"a.md", "# A\r\nOne.\r\n\r\n# B\r\nTwo.\r\n", []string{"A | One.", "B | Two."}},
		"chapters":                    {"法规.txt", "差旅办法\n\n第一章　总则\n第一条　为规范差旅，制定本办法。\n第二条　适用于全体员工。\n第二章 标准\n第三条 住宿每晚六百元。\n", []string{"差旅办法 > 第一章　总则 > 第一条 | 为规范差旅，制定本办法。", "差旅办法 > 第一章　总则 > 第二条 | 适用于全体员工。", "差旅办法 > 第二章 标准 > 第三条 | 住宿每晚六百元。"}},
		"paragraph signs":             {"a.txt", "§ 12 Urlaub\n\nDer Anspruch ist gesetzlich.\n\n§ 13 (1) Wer verreist, legt alle Belege innerhalb von dreißig Tagen vor, sonst verfällt der Anspruch.\n", []string{"§ 12 Urlaub | Der Anspruch ist gesetzlich.", "§ 13 | (1) Wer verreist, legt alle Belege innerhalb von dreißig Tagen vor, sonst verfällt der Anspruch."}},
		"numbers":                     {"a.txt", "1. Setup\n\nInstall it first.\n\n1.2 Options\n\nThere are two of them.\n", []string{"1. Setup | Install it first.", "1. Setup > 1.2 Options | There are two of them."}},
		"han numbers":                 {"a.txt", "一、目的\n统一口径。\n二、范围\n全公司适用。\n", []string{"一、目的 | 统一口径。", "二、范围 | 全公司适用。"}},
		"no headings in prose":        {"a.txt", "We sold\n1.2 million of them in\n2024 and it was\n第三条规定的数量。\n", []string{" | We sold\n1.2 million of them in\n2024 and it was\n第三条规定的数量。"}},
		"a list is no outline":        {"a.txt", "Buy:\n1. milk\n2. bread\n", []string{" | Buy:\n1. milk\n2. bread"}},
		"C095":                        {"contacts.md", "# 联系方式\n\n值班电话：1100\n\n地址：某路 1 号\n", []string{"联系方式 | 值班电话：1100\n\n地址：某路 1 号"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := show(parse(t, c.id, c.text)); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestTitle(t *testing.T) {
	for name, c := range map[string]struct {
		src  ingest.Source
		want string
	}{
		"given":              {ingest.Source{ID: "a.md", Title: " The  title ", Body: []byte("---\ntitle: T\n---\n# H\nx")}, "The title"},
		"front matter":       {ingest.Source{ID: "a.md", Body: []byte("---\ntitle: \"差旅: 制度\"\ntags:\n  - a\n---\n# H\nx")}, "差旅: 制度"},
		"heading":            {ingest.Source{ID: "a.md", Body: []byte("text\n\n## H\nx")}, "H"},
		"id":                 {ingest.Source{ID: "hr/leave.md", Body: []byte("text")}, "leave"},
		"id of another kind": {ingest.Source{ID: "v1.2", Body: []byte("text")}, "v1.2"},
		"first line":         {ingest.Source{ID: "a.txt", Body: []byte("员工手册\n\n欢迎加入。")}, "员工手册"},
		"a number is none":   {ingest.Source{ID: "a.txt", Body: []byte("第一章 总则\n欢迎加入。")}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := ingest.Parse(context.Background(), c.src, tokens.Count)
			if err != nil || d.Title != c.want {
				t.Errorf("title %q, want %q (%v)", d.Title, c.want, err)
			}
		})
	}
}

func TestFrontMatter(t *testing.T) {
	d := parse(t, "a.md", "---\ntitle: T\neffective: 2026-03-01\nexpires: 2026-12-31\n---\nText.\n")
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	if !d.Effective.Equal(day) || !d.Expires.Equal(day.AddDate(0, 10, 0)) || d.Passages[0].Text != "Text." {
		t.Errorf("effective %v, expires %v, text %q", d.Effective, d.Expires, d.Passages[0].Text)
	}
	d = parse(t, "a.md", "---\nThis is: no front matter at all\n---\nText.\n")
	if !strings.Contains(d.Passages[0].Heading, "no front matter") || !d.Effective.IsZero() {
		t.Errorf("text that looks like front matter is lost: %q", d.Passages[0].Text)
	}
}

// TestLongSection: cut between sentences, into even parts near the target.
func TestLongSection(t *testing.T) {
	zh, en := strings.Builder{}, strings.Builder{}
	for i := range 120 {
		fmt.Fprintf(&zh, "第%d项规定要求各部门在月底之前提交报销单据，逾期不予受理。", i)
		fmt.Fprintf(&en, "Rule %d asks every team to hand in the v%d.2 report before the end of the month, e.g. by mail. ", i, i)
	}
	for id, text := range map[string]string{"zh.md": zh.String(), "en.md": en.String()} {
		d := parse(t, id, "# A\n"+text)
		for i, p := range d.Passages {
			if p.Tokens < 220 || p.Tokens > 400 {
				t.Errorf("%s: passage %d has %d tokens", id, i, p.Tokens)
			}
			if !strings.HasSuffix(p.Text, "。") && !strings.HasSuffix(p.Text, "mail.") {
				t.Errorf("%s: passage %d is cut inside a sentence: …%q", id, i, p.Text[max(0, len(p.Text)-30):])
			}
			if p.Heading != "A" {
				t.Errorf("%s: heading %q", id, p.Heading)
			}
		}
	}
}

// TestC106: rows stay whole and each piece repeats the head.
func TestC106(t *testing.T) {
	head := "| 型号 | 保修 |\n|---|---|\n"
	var b strings.Builder
	b.WriteString("# 质保表\n\n表 1：各型号\n\n" + head)
	for i := range 120 {
		fmt.Fprintf(&b, "| RTX-%03d | %d 个月，含 \\| 号 |\n", i, i)
	}
	b.WriteString("\n结束。\n")
	d := parse(t, "t.md", b.String())
	if len(d.Passages) < 3 {
		t.Fatalf("%d passages", len(d.Passages))
	}
	rows := 0
	for i, p := range d.Passages {
		if strings.Count(p.Text, head) != 1 || p.Heading != "质保表" {
			t.Errorf("passage %d (%s) does not have the head once: %q", i, p.Heading, p.Text)
		}
		for line := range strings.Lines(p.Text) {
			if strings.HasPrefix(line, "| RTX") {
				if rows++; !strings.HasSuffix(strings.TrimSpace(line), "号 |") {
					t.Errorf("a row is cut: %q", line)
				}
			}
		}
	}
	if rows != 120 {
		t.Errorf("%d rows", rows)
	}
}

func TestListsAndCodeStayWhole(t *testing.T) {
	filler := strings.Repeat("这一句话只是为了让这一节变长。", 20)
	for name, piece := range map[string]string{
		"list": "- " + strings.Repeat("alpha beta\n- ", 40) + "end",
		"code": "```go\n" + strings.Repeat("x := call(y)\n", 40) + "```",
	} {
		d := parse(t, "a.md", "# A\n"+filler+"\n\n"+piece+"\n\n"+filler+"\n")
		if !slices.ContainsFunc(d.Passages, func(p stores.Passage) bool { return strings.Contains(p.Text, piece) }) {
			t.Errorf("the %s was cut: %q", name, show(d))
		}
	}
	d := parse(t, "a.md", "```sh\n"+strings.Repeat("echo some words\n", 300)+"```\n")
	for i, p := range d.Passages {
		if !strings.HasPrefix(p.Text, "```sh\n") || !strings.HasSuffix(p.Text, "\n```") || strings.Count(p.Text, "```") != 2 {
			t.Errorf("passage %d of the code has no fences of its own: %q", i, p.Text)
		}
	}
}

// letters is what must not be lost: all but space and what marks headings and
// rules in Markdown.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune("-*_=#|>~`", r) {
			return -1
		}
		return r
	}, s)
}

// inOrder tells whether all of want's runes appear in got in their order.
func inOrder(got, want string) bool {
	rest := []rune(got)
	for _, r := range want {
		i := slices.Index(rest, r)
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
	}
	return true
}

// FuzzSplit: whatever the text, all of it appears in order, in passages within
// the limit. A name in the path is on the path of the next passages too, so
// texts are compared as sequences.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		"# A\n\ntext。more\n\n| a | b |\n|--|--|\n| 1 | 2 |\n", "第一章 总则\n第一条 内容。\n1.1 Title\n\ntext", "---\ntitle: x\n---\n\n- a\n  - b\n", "```\ncode\n~~~\n# x\n",
		"> > > a\n\n* * *\nA\n===\n", strings.Repeat("字", 3000), strings.Repeat("xq", 4000), strings.Repeat("| a ", 900) + "\n" + strings.Repeat("|-", 900) + "\n| b\n",
		"[a]: b\n# \n#\n####### x\n# x #\n", strings.Repeat("# a\n", 50), "- - - - - - - - - - - - - - x\n# y\n", strings.Repeat("😀", 900), "a\u0000b", "x\f\v\u2028\u00a0y",
		"# A\n## B\n# C", "# A\n## B\n### C\n## D\n# E\ntext",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, md bool) {
		id := "a.txt"
		if md {
			id = "a.md"
		}
		d, err := ingest.Parse(context.Background(), ingest.Source{ID: id, Body: []byte(text)}, tokens.Count)
		if err != nil {
			return
		}
		checkPassages(t, d)
		if strings.HasPrefix(strings.ReplaceAll(text, "\r", "\n"), "---\n") {
			return // perhaps with front matter
		}
		var all strings.Builder
		for _, p := range d.Passages {
			all.WriteString(p.Heading + p.Text)
		}
		if text = strings.TrimPrefix(text, "\ufeff"); strings.ToValidUTF8(text, "") != text {
			return
		}
		if got, want := letters(all.String()), letters(text); !inOrder(got, want) {
			t.Errorf("text is lost\nwant %q\ngot  %q", want, got)
		}
	})
}

// hugeTexts are texts that a careless splitter chokes on.
func hugeTexts(size int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	numbered := strings.Builder{}
	for i := 0; numbered.Len() < size; i++ {
		fmt.Fprintf(&numbered, "第%d行 口令 K%05d\n", i, i*7%100000)
	}
	return map[string]string{
		"lines.txt":         numbered.String(),
		"lines.md":          numbered.String(),
		"line.txt":          fill("数据"),
		"line.md":           fill("abcdefgh"),
		"dots.txt":          fill("a."),
		"prose.md":          fill("# A\n\nThe quick brown fox jumps over the lazy dog. 快速的棕色狐狸跳过懒狗。\n\n"),
		"headings.md":       fill("# a\n"),
		"table.md":          "|a|b|\n|-|-|\n" + fill("|some cell|another|\n"),
		"wide table.md":     strings.Repeat("|a", 100000) + "\n" + strings.Repeat("|-", 100000) + "\n" + fill("|x\n"),
		"quotes.md":         fill(">"),
		"nested list.md":    fill("- "),
		"nested, blanks.md": strings.Repeat("- ", 100000) + "x" + fill("\n") + "y",
		"fence.md":          "```\n" + fill("x = 1\n"),
		"brackets.md":       fill("[a]("),
		"definitions.md":    fill("[a]: b\n"),
		"stairs.md":         fill(strings.Repeat(" ", 38) + "- x\n\n\n"),
	}
}

// TestHuge: half a MB of each is read in linear time (10 MB with STRATA_LONG).
// TestUnnamedPages: a web page, or a piece of one, is known by its start where
// the name says nothing.
func TestUnnamedPages(t *testing.T) {
	for _, start := range []string{"<table border=1>", "<?xml version=\"1.0\"?>\n<html xmlns=\"x\"><body><table>", "<META charset=utf-8><table>"} {
		d, err := ingest.Parse(t.Context(), ingest.Source{ID: "export.xls", Body: []byte(start + "<tr><td>City<td>Limit<tr><td>Bern<td>160</table>")}, tokens.Count)
		if err != nil || d.Passages[0].Text != "| City | Limit |\n|---|---|\n| Bern | 160 |" {
			t.Errorf("%s: %v, %q", start, err, d.Passages[0].Text)
		}
	}
	d, err := ingest.Parse(t.Context(), ingest.Source{ID: "a", Body: []byte("<tablecloth> is no tag\n")}, tokens.Count)
	if err != nil || d.Passages[0].Text != "<tablecloth> is no tag" {
		t.Errorf("text: %v, %q", err, d.Passages[0].Text)
	}
}

// TestApart: what follows a table is not in its last row.
func TestApart(t *testing.T) {
	d, err := ingest.Parse(t.Context(), ingest.Source{ID: "a.csv", Body: []byte("a,b\n1,2\n\nRemark: x\n\nc,d\n3,4\n\ne,f\n5,6\n")}, tokens.Count)
	const want = "| a | b |\n| --- | --- |\n| 1 | 2 |\n\nRemark: x\n\n| c | d |\n| --- | --- |\n| 3 | 4 |\n\n| e | f |\n| --- | --- |\n| 5 | 6 |"
	if err != nil || len(d.Passages) != 1 || d.Passages[0].Text != want {
		t.Errorf("%v, %q", err, d.Passages[0].Text)
	}
}

// TestWideRows: where a row is too long for a passage, no value is parted from
// the name of its column.
func TestWideRows(t *testing.T) {
	var names, values strings.Builder
	for i := range 200 {
		fmt.Fprintf(&names, "Kolumn %d with a rather long title,", i)
		fmt.Fprintf(&values, "v0_%d,", i)
	}
	d, err := ingest.Parse(t.Context(), ingest.Source{ID: "a.csv", Body: []byte(names.String() + "\n" + values.String() + "\n")}, tokens.Count)
	if err != nil || len(d.Passages) < 3 {
		t.Fatalf("%v, %d passages", err, len(d.Passages))
	}
	for _, p := range d.Passages {
		if !strings.HasPrefix(strings.TrimPrefix(p.Text, "- "), "Kolumn") || strings.HasSuffix(p.Text, ":") {
			t.Errorf("cut within a value: %q", p.Text)
		}
	}
}

func TestHuge(t *testing.T) {
	size := 512 << 10
	if os.Getenv("STRATA_LONG") != "" {
		size = 10 << 20
	}
	for name, text := range hugeTexts(size) {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			start := time.Now()
			d, err := ingest.Parse(context.Background(), ingest.Source{ID: name, Body: []byte(text)}, tokens.Count)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d passages in %v, %d MB allocated", len(d.Passages), took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20)
			if took > time.Minute { // quadratic would be far above, a busy machine is not
				t.Errorf("took %v", took)
			}
			for _, p := range d.Passages {
				if p.Tokens > maxTokens {
					t.Fatalf("a passage of %d tokens", p.Tokens)
				}
			}
		})
	}
}

func TestParseEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := ingest.Parse(ctx, ingest.Source{ID: "a.txt", Body: []byte("text")}, tokens.Count)
	if err != context.Canceled {
		t.Errorf("error %v", err)
	}
}

// TestEval cuts the evaluation corpora, which are real text.
func TestEval(t *testing.T) {
	dir := os.Getenv("STRATA_EVAL")
	if dir == "" {
		t.Skip("STRATA_EVAL names no folder")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "retrieval", "*", "corpus.jsonl"))
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d := parse(t, "corpus.txt", string(b))
		t.Logf("%s: %d passages", file, len(d.Passages))
	}
}
