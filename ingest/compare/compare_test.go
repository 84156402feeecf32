package compare_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"strata/ingest/compare"
)

// texts are kept in memory.
type texts struct {
	b    []byte
	fail error // of reading
}

func (t *texts) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	return len(b), nil
}

func (t *texts) ReadAt(b []byte, at int64) (int, error) {
	if t.fail != nil {
		return 0, t.fail
	}
	return bytes.NewReader(t.b).ReadAt(b, at)
}

func version(t testing.TB, passages []compare.Passage) *compare.Version {
	t.Helper()
	v := compare.NewVersion(&texts{})
	for _, p := range passages {
		if err := v.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func versions(t testing.TB, before, after []compare.Passage) (all []compare.Section) {
	t.Helper()
	for s, err := range compare.Versions(version(t, before), version(t, after)) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

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
	if got := versions(t, before, after); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := versions(t, before, before); got != nil {
		t.Errorf("the same version: %q", got)
	}
	if got := versions(t, nil, before[:1]); len(got) != 1 || got[0].Status != compare.Added {
		t.Errorf("from nothing: %q", got)
	}
	// Sections that changed places did not change.
	if got := versions(t, []compare.Passage{{"A", "a"}, {"B", "b"}}, []compare.Passage{{"B", "b"}, {"A", "a"}}); got != nil {
		t.Errorf("in another order: %q", got)
	}
}

// A section whose passages stand apart is one text.
func TestScattered(t *testing.T) {
	before := []compare.Passage{{"A", "1\n2"}, {"B", "x"}, {"A", "3"}, {"B", "y"}, {"A", "4\n5\n6\n7\n8"}}
	after := []compare.Passage{{"A", "1\n2\n3"}, {"B", "x\ny"}, {"A", "4\n5\n6\nseven\n8"}}
	want := []compare.Section{{"A", compare.Changed, "@@ -4,5 +4,5 @@\n 4\n 5\n 6\n-7\n+seven\n 8\n"}}
	if got := versions(t, before, after); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// What is cut off before two texts are compared shows nowhere: with lines that
// are unique the diff is that of the whole texts.
func TestLongSections(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 60 {
		var old []string
		for i := range 1 + random.IntN(6000) {
			old = append(old, fmt.Sprint("line ", i, strings.Repeat(" and more", random.IntN(9)), "\n"))
		}
		now := append([]string{}, old...)
		for n := range random.IntN(4) {
			switch at := random.IntN(len(now)); random.IntN(3) {
			case 0:
				now[at] = fmt.Sprint("changed ", n, "\n")
			case 1:
				now = append(now[:at:at], append([]string{fmt.Sprint("new ", n, "\n")}, now[at:]...)...)
			case 2:
				if len(now) > 1 {
					now = append(now[:at:at], now[at+1:]...)
				}
			}
		}
		before, after := strings.Join(old, ""), strings.Join(now, "")
		_, want, _ := strings.Cut(string(diff.Diff("a", []byte(before), "b", []byte(after))), "+++ b\n")
		got := ""
		for _, s := range versions(t, []compare.Passage{{"", before}}, []compare.Passage{{"", after}}) {
			got += s.Lines
		}
		if got != want {
			t.Fatalf("round %d, %d lines: got\n%.2000s\nwant\n%.2000s", round, len(old), got, want)
		}
	}
}

func TestUnreadable(t *testing.T) {
	broken := errors.New("disk")
	file := &texts{fail: broken}
	v := compare.NewVersion(file)
	_ = v.Add(compare.Passage{Text: "a"})
	told := 0
	for _, err := range compare.Versions(version(t, []compare.Passage{{"", "a"}}), v) {
		told++
		if !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

// apply makes the new text of the old one.
func apply(old []string, lines string) (now []string, ok bool) {
	at := 0
	for line := range strings.Lines(lines) {
		var from, size, to, n int
		if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@\n", &from, &size, &to, &n); err == nil {
			from, to = from-min(1, size), to-min(1, n)
			if from < at || from > len(old) {
				return nil, false
			}
			if now = append(now, old[at:from]...); len(now) != to {
				return nil, false
			}
			at = from
			continue
		}
		text := line[1:]
		if line[0] != '+' {
			if at >= len(old) || old[at] != text {
				return nil, false
			}
			at++
		}
		if line[0] != '-' {
			now = append(now, text)
		}
	}
	return append(now, old[at:]...), true
}

// FuzzVersions: every line of both versions is accounted for, where it was.
func FuzzVersions(f *testing.F) {
	f.Add("a\nb\nc", "a\nc\nd")
	f.Add("", "x")
	f.Add("a\n\n\na", "a\n\na\n")
	f.Add("a\nb\nc\nd\ne\nf\ng\nh\ni", "a\nb\nc\nd\ne\nx\nf\ng\nh\ni")
	f.Add("a\na\na\na\na\na\na\na", "a\na\na\na\na\na\na")
	f.Add(strings.Repeat("a\n", 40), strings.Repeat("a\n", 30)) // begin and end overlap
	f.Fuzz(func(t *testing.T, old, new string) {
		count := map[string]int{}
		for _, s := range versions(t, []compare.Passage{{"", old}}, []compare.Passage{{"", new}}) {
			for line := range strings.SplitAfterSeq(s.Lines, "\n") {
				if line != "" && !strings.HasPrefix(line, "@@ ") {
					count[line[:1]]++
				}
			}
		}
		split := func(s string) []string { return strings.SplitAfter(strings.TrimRight(s, "\n"), "\n") }
		all := versions(t, []compare.Passage{{"", old}}, []compare.Passage{{"", new}})
		if len(all) > 0 {
			x, y := split(old), split(new)
			x[len(x)-1] += "\n"
			y[len(y)-1] += "\n"
			if got, ok := apply(x, all[0].Lines); !ok || !reflect.DeepEqual(got, y) {
				t.Errorf("%q\nmakes %q\nof    %q", all[0].Lines, got, x)
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
