package proxy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"strata/assemble"
)

func cited(t *testing.T, sources []assemble.Source) []assemble.Source {
	t.Helper()
	line := string(appendCitations(nil, sources))
	value, ok := strings.CutPrefix(line, "\r\nX-Strata-Citations: ")
	if !ok || len(line) > 4000+2 { // as documented
		t.Fatalf("%d bytes: %q", len(line), line)
	}
	for _, c := range []byte(value) {
		if c < ' ' || c > '~' {
			t.Fatalf("byte %#x in %q", c, value)
		}
	}
	var got []assemble.Source
	if err := json.Unmarshal([]byte(value), &got); err != nil {
		t.Fatalf("%v: %s", err, value)
	}
	return got
}

func TestCitations(t *testing.T) {
	for _, s := range []assemble.Source{
		{Document: "hr/leave.md", Title: "Leave", Section: "Annual > Carry-over"},
		{Document: "制度.pdf", Title: "差旅制度", Section: "住宿 > page 3"},
		{Document: "a\"b\\c", Title: "line\r\nX-Evil: 1\x00\x7f\u2028", Section: "🛰 satellites"},
		{Document: "bare"},
	} {
		if got := cited(t, []assemble.Source{s, {Document: "next"}}); len(got) != 2 || got[0] != s || got[1].Document != "next" {
			t.Errorf("%+v, want %+v", got, s)
		}
	}
	if b := appendCitations([]byte("x"), nil); string(b) != "x" {
		t.Errorf("of nothing: %q", b)
	}
}

func TestCitationsAreBounded(t *testing.T) {
	var many []assemble.Source
	for i := range 60 {
		many = append(many, assemble.Source{Document: fmt.Sprint("d", i), Title: strings.Repeat("长", 500), Section: "s"})
	}
	got := cited(t, many)
	if len(got) < 4 || len(got) == len(many) || !strings.HasSuffix(got[0].Title, "长…") {
		t.Errorf("%d sources, the first one %+v", len(got), got[0])
	}
	if b := appendCitations(nil, []assemble.Source{{Document: strings.Repeat("d", 2*maxCitations)}}); len(b) != 0 {
		t.Errorf("one that does not fit: %d bytes", len(b))
	}
}

func FuzzCitations(f *testing.F) {
	f.Add("d", "t\xff", "s")
	f.Fuzz(func(t *testing.T, document, title, section string) {
		if len(document) > 400 {
			return
		}
		cited(t, []assemble.Source{{Document: document, Title: title, Section: section}})
	})
}
