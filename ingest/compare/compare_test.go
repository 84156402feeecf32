package compare_test

import (
	"reflect"
	"strings"
	"testing"

	"strata/ingest/compare"
)

func TestVersions(t *testing.T) {
	before := []compare.Passage{
		{"", "Preface."}, {"Leave", "Everybody has 20 days.\nAsk your manager."}, {"Leave > Old", "Gone."}, {"Travel", "Trains first."}, {"Hotel", "140 euro."}, {"Hotel", "Breakfast is not paid."},
	}
	after := []compare.Passage{
		{"", "Preface."}, {"Leave", "Everybody has 30 days.\nAsk your manager."}, {"Leave > New", "Fresh."}, {"Travel", "Trains first."}, {"Hotel", "140 euro.\nBreakfast is not paid."},
	}
	want := []compare.Section{
		{"Leave", compare.Changed, "@@ -1,2 +1,2 @@\n-Everybody has 20 days.\n+Everybody has 30 days.\n Ask your manager.\n"},
		{"Leave > New", compare.Added, "@@ -0,0 +1,1 @@\n+Fresh.\n"},
		{"Leave > Old", compare.Removed, "@@ -1,1 +0,0 @@\n-Gone.\n"},
	}
	if got := compare.Versions(before, after); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := compare.Versions(before, before); got != nil {
		t.Errorf("the same version: %q", got)
	}
	if got := compare.Versions(nil, before[:1]); len(got) != 1 || got[0].Status != compare.Added {
		t.Errorf("from nothing: %q", got)
	}
	// Sections that changed places did not change.
	if got := compare.Versions([]compare.Passage{{"A", "a"}, {"B", "b"}}, []compare.Passage{{"B", "b"}, {"A", "a"}}); got != nil {
		t.Errorf("in another order: %q", got)
	}
}

// FuzzVersions: every line of both versions is accounted for.
func FuzzVersions(f *testing.F) {
	f.Add("a\nb\nc", "a\nc\nd")
	f.Add("", "x")
	f.Add("a\n\n\na", "a\n\na\n")
	f.Fuzz(func(t *testing.T, old, new string) {
		count := map[string]int{}
		for _, s := range compare.Versions([]compare.Passage{{"", old}}, []compare.Passage{{"", new}}) {
			for line := range strings.SplitAfterSeq(s.Lines, "\n") {
				if line != "" && !strings.HasPrefix(line, "@@ ") {
					count[line[:1]]++
				}
			}
		}
		lines := func(s string) int { return strings.Count(strings.TrimRight(s, "\n"), "\n") + 1 }
		if d := count["+"] - count["-"]; d != lines(new)-lines(old) {
			t.Errorf("%d lines more, want %d", d, lines(new)-lines(old))
		}
		for sign := range count {
			if sign != "+" && sign != "-" && sign != " " {
				t.Errorf("a line begins with %q", sign)
			}
		}
	})
}
