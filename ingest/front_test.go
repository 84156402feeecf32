package ingest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/ingest"
	"strata/internal/tokens"
)

func date(y, m, d int) time.Time { return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC) }

// TestFrontMatterSays: in Markdown and plain text, whatever the spelling.
func TestFrontMatterSays(t *testing.T) {
	for name, c := range map[string]struct {
		head       string
		title      string
		groups     []string
		begin, end time.Time
	}{
		"all of it":        {"id: hr/leave\ntitle: Leave\ngroups: [hr, managers]\neffective: 2026-03-01\nexpires: 2026-12-31\nversion: 7", "Leave", []string{"hr", "managers"}, date(2026, 3, 1), date(2027, 1, 1)},
		"groups by commas": {"groups: managers, hr，hr", "", []string{"hr", "managers"}, time.Time{}, time.Time{}},
		"groups below":     {"groups:\n- hr\n- 007 # of the old system\ntitle: '差旅: 制度'", "差旅: 制度", []string{"007", "hr"}, time.Time{}, time.Time{}},
		"over lines":       {"groups: [\nhr,\n  managers ]", "", []string{"hr", "managers"}, time.Time{}, time.Time{}},
		"quoted keys":      {"\"groups\" : hr\n'title': T", "T", []string{"hr"}, time.Time{}, time.Time{}},
		"others' keys":     {"layout: post\ntags: {a: [b]}\neffective_date: 2026/3/1\nexpiry: 2026-04-01T00:00:00+08:00", "", nil, date(2026, 3, 1), date(2026, 3, 31).Add(16 * time.Hour)},
		"empty values":     {"title:\ngroups: []\neffective: ~\nexpires: ''", "", nil, time.Time{}, time.Time{}},
		"folded":           {"title: >\n  Leave and\n  travel", "Leave and travel", nil, time.Time{}, time.Time{}},
		"comments first":   {"# of the people team\n\nTitle: T", "T", nil, time.Time{}, time.Time{}},
	} {
		for _, id := range []string{"doc.md", "doc.txt"} {
			d, err := ingest.Parse(context.Background(), ingest.Source{ID: id, Body: []byte("---\r\n" + c.head + "\r\n---\r\nText.\r\n")}, tokens.Count)
			if err != nil {
				t.Errorf("%s, %s: %v", name, id, err)
				continue
			}
			if c.title != "" && d.Title != c.title || !slices.Equal(d.Groups, c.groups) || !d.Effective.Equal(c.begin) || !d.Expires.Equal(c.end) || d.Passages[0].Text != "Text." {
				t.Errorf("%s, %s: title %q, groups %q, %v to %v, text %q", name, id, d.Title, d.Groups, d.Effective, d.Expires, d.Passages[0].Text)
			}
		}
	}
}

// TestFrontMatterMistakes: what is meant for Strata and cannot be read is said,
// never taken for text: a document whose groups are lost is everybody's.
func TestFrontMatterMistakes(t *testing.T) {
	for name, c := range map[string]struct{ head, says string }{
		"a date":             {"title: T\neffective: soon", `line 3: effective: "soon" is neither a date`},
		"a day that is none": {"expires: 2026-02-30", "line 2: expires"},
		"over at its start":  {"effective: 2026-03-01\nexpires: 2026-02-01", "expires is not after effective"},
		"groups with keys":   {"groups: {hr: true}", "line 2: groups: takes one value"},
		"an empty group":     {"groups: ['']", "line 2: groups"},
		"nothing but commas": {"groups: ', ,'", "line 2: groups: holds no name"},
		"a lone comma":       {"groups: ','", "line 2: groups: holds no name"},
		"no blank":           {"groups:hr", "it is not keys and values"},
		"no blank, and more": {"# ours\ngroups:hr\ntitle: T", "front matter"},
		"a full-width colon": {"groups：hr", "it is not keys and values"},
		"one further down":   {"tags: [a]\ngroups：[hr]", "front matter"},
		"a comma in a name":  {"groups: ['a,b']", "line 2: groups"},
		"an id":              {"id: \"a\\nb\"", "line 2: id: not 1 to 512 bytes"},
		"a list for a title": {"title: [a]", "line 2: title: takes one value"},
		"an alias":           {"a: &x hr\ngroups: *x", "line 3: groups: anchors"},
		"not YAML":           {"groups: hr\ntitle: Leave: how it works", "line 3: "},
		"twice":              {"groups: hr\ngroups: all", "line 3: "},
	} {
		_, err := ingest.Parse(context.Background(), ingest.Source{ID: "doc.md", Body: []byte("---\n" + c.head + "\n---\nText.\n")}, tokens.Count)
		if !errors.Is(err, ingest.ErrFront) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	_, err := ingest.Parse(context.Background(), ingest.Source{ID: "doc.md", Body: []byte("---\ngroups: hr\n\nText that goes on.\n")}, tokens.Count)
	if !errors.Is(err, ingest.ErrFront) || !strings.Contains(err.Error(), "not closed") {
		t.Errorf("not closed: %v", err)
	}
	src := ingest.Source{ID: "doc.md", Expires: date(2026, 1, 1), Body: []byte("---\neffective: 2026-02-01\n---\nText.\n")}
	if _, err := ingest.Parse(context.Background(), src, tokens.Count); !errors.Is(err, ingest.ErrFront) {
		t.Errorf("the flags' end before its own beginning: %v", err)
	}
}

// TestFrontMatterLoosely: blanks around the opening line and keys of other
// scripts must not make a restricted document everybody's.
func TestFrontMatterLoosely(t *testing.T) {
	for _, text := range []string{
		"--- \t\ngroups: [hr]\n---\nText.\n",
		"\n\n---\ngroups: [hr]\n---\nText.\n",
		"<!-- SPDX-License-Identifier: MIT -->\n\n<!--\nof the people team\n---\n-->\n---\ngroups: [hr]\n---\nText.\n",
		"---\n部门: 人事\ngroups: [hr]\n---\nText.\n",
		"---\nÉtat: final\n# of the people team\ngroups: [hr]\n---\nText.\n",
	} {
		d, err := ingest.Parse(context.Background(), ingest.Source{ID: "doc.md", Body: []byte(text)}, tokens.Count)
		if err != nil || !slices.Equal(d.Groups, []string{"hr"}) || d.Passages[0].Text != "Text." {
			t.Errorf("%q: %v, groups %q, %d passages", text, err, d.Groups, len(d.Passages))
		}
	}
	_, err := ingest.Parse(context.Background(), ingest.Source{ID: "doc.md", Body: []byte("\n---\ngroups: ['']\n---\nText.\n")}, tokens.Count)
	if !errors.Is(err, ingest.ErrFront) || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("the number of a line below a blank one: %v", err)
	}
}

// TestNoFrontMatter: dashes at the head of a text are not always front matter.
func TestNoFrontMatter(t *testing.T) {
	for _, text := range []string{
		"---\nThis is: no front matter at all\n---\nText.\n",
		"---\n\n---\nText.\n",
		"---\nhttp://example.com/a\n---\n",
		"---\nNote: a rule: of one line\n---\nText.\n", // no YAML, and nothing of ours
		"---\ntitle: it never ends\n",
		"----\ntitle: T\n---\n",
		"---\n注意: 明天放假\n---\n正文。\n", // a rule and a line of text
	} {
		d, err := ingest.Parse(context.Background(), ingest.Source{ID: "doc.txt", Body: []byte(text)}, tokens.Count)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		kept := ""
		for _, p := range d.Passages {
			kept += p.Heading + "\n" + p.Text + "\n"
		}
		for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }) {
			if strings.Trim(line, "-") != "" && !strings.Contains(kept, line) {
				t.Errorf("%q lost %q", text, line)
			}
		}
	}
}

// TestSourceBeforeFrontMatter: what the caller says counts.
func TestSourceBeforeFrontMatter(t *testing.T) {
	src := ingest.Source{ID: "doc.md", Title: "Given", Groups: []string{"all"}, Effective: date(2026, 1, 1), Expires: date(2026, 6, 1),
		Body: []byte("---\nid: other\ntitle: T\ngroups: hr\neffective: 2026-02-01\nexpires: 2026-03-01\n---\nText.\n")}
	d, err := ingest.Parse(context.Background(), src, tokens.Count)
	if err != nil || d.ID != "doc.md" || d.Title != "Given" || !slices.Equal(d.Groups, []string{"all"}) || !d.Effective.Equal(date(2026, 1, 1)) || !d.Expires.Equal(date(2026, 6, 1)) {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestReadFront(t *testing.T) {
	f, err := ingest.ReadFront([]byte("\ufeff---\r\nid: hr/leave\r\n---\r\n" + strings.Repeat("假期。", 9<<10)))
	if err != nil || f.ID != "hr/leave" {
		t.Errorf("%+v, %v", f, err)
	}
	for _, body := range []string{"", "text", "%PDF-1.7\n---\nid: x\n---\n", "---\xff\x00"} {
		if f, err := ingest.ReadFront([]byte(body)); err != nil || f.ID != "" {
			t.Errorf("%q: %+v, %v", body, f, err)
		}
	}
	if _, err := ingest.ReadFront([]byte("---\nid: [a]\n---\n")); !errors.Is(err, ingest.ErrFront) {
		t.Errorf("a list: %v", err)
	}
}

func FuzzFront(f *testing.F) {
	for _, s := range []string{"id: a\ntitle: T", "groups: [a, b]\nexpires: 2026-01-01", "a: &x [*x]\ngroups: *x", "title: >\n x", "{a: b}: c", "groups:\n- a\n-", "a: !!binary x"} {
		f.Add("---\n" + s + "\n---\nText.")
	}
	f.Fuzz(func(t *testing.T, text string) {
		front, err := ingest.ReadFront([]byte(text))
		if err != nil && !errors.Is(err, ingest.ErrFront) {
			t.Errorf("another kind of error: %v", err)
		}
		if slices.Contains(front.Groups, "") || strings.Contains(strings.Join(front.Groups, ""), ",") {
			t.Errorf("groups %q", front.Groups)
		}
	})
}
