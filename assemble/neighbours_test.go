package assemble

import (
	"slices"
	"strings"
	"testing"

	"strata/intent"
	"strata/stores"
)

func part(id, document string, ordinal int, heading, text string) *stores.Passage {
	return &stores.Passage{ID: id, Document: document, Title: "Leave policy", Version: 2, Ordinal: ordinal, Heading: heading, Text: text, Tokens: 20}
}

func idsOf(list []*stores.Passage) (out []string) {
	for _, p := range list {
		out = append(out, p.ID)
	}
	return out
}

func TestReadingOrder(t *testing.T) {
	old := part("old", "a", 3, "", "")
	old.Version = 1
	nobody := part("nobody", "", 4, "", "")
	list := []*stores.Passage{part("a4", "a", 4, "", ""), part("b1", "b", 1, "", ""), old, part("a2", "a", 2, "", ""), part("a3", "a", 3, "", ""), nobody, part("a9", "a", 9, "", ""), part("b0", "b", 0, "", "")}
	want := []string{"a2", "a3", "a4", "b0", "b1", "old", "nobody", "a9"}
	got := inReadingOrder(list)
	if !slices.Equal(idsOf(got), want) {
		t.Errorf("%v, want %v", idsOf(got), want)
	}
	if again := inReadingOrder(got); !slices.Equal(idsOf(again), want) {
		t.Errorf("a second time: %v", idsOf(again))
	}
}

func TestJoined(t *testing.T) {
	for name, test := range map[string]struct {
		a, b          *stores.Passage
		heading, text string // "" = they stay apart
	}{
		"under one heading": {part("1", "d", 0, "A", "One.\n"), part("2", "d", 1, "A", "\nTwo."), "A", "One.\nTwo."},
		"of two pages":      {part("1", "d", 0, "A > page 3", "One."), part("2", "d", 1, "A > page 4", "Two."), "A > pages 3-4", "One.\nTwo."},
		"of many pages":     {part("1", "d", 0, "pages 3-4", "One."), part("2", "d", 1, "pages 4-6", "Two."), "pages 3-6", "One.\nTwo."},
		"of one page":       {part("1", "d", 0, "page 3", "One."), part("2", "d", 1, "page 3", "Two."), "page 3", "One.\nTwo."},
		"of a sheet": {part("1", "d", 4, "S > rows 2-20", "| a | b |\n| --- | --- |\n| 1 | 2 |\n"), part("2", "d", 5, "S > rows 21-40", "| a | b |\n| --- | --- |\n| 3 | 4 |\n"),
			"S > rows 2-40", "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n"},
		"code": {part("1", "d", 0, "A", "Run:\n```sh\nmake\n```"), part("2", "d", 1, "A", "```sh\nmake install\n```"), "A", "Run:\n```sh\nmake\nmake install\n```"},
		"overlapping": {part("1", "d", 0, "A", "Leave is asked for in writing. It is granted within a week."), part("2", "d", 1, "A", "It is granted within a week. It ends in March."),
			"A", "Leave is asked for in writing. It is granted within a week. It ends in March."},
		"with a gap":            {a: part("1", "d", 0, "A", "One."), b: part("2", "d", 2, "A", "Two.")},
		"in another order":      {a: part("1", "d", 1, "A", "One."), b: part("2", "d", 0, "A", "Two.")},
		"of two sections":       {a: part("1", "d", 0, "A", "One."), b: part("2", "d", 1, "B", "Two.")},
		"of two sheets":         {a: part("1", "d", 0, "S > rows 2-20", "One."), b: part("2", "d", 1, "T > rows 21-30", "Two.")},
		"with pages left out":   {a: part("1", "d", 0, "page 3", "One."), b: part("2", "d", 1, "page 7", "Two.")},
		"of two documents":      {a: part("1", "d", 0, "A", "One."), b: part("2", "e", 1, "A", "Two.")},
		"of headings in pages?": {a: part("1", "d", 0, "pages 3", "One."), b: part("2", "d", 1, "pages 4", "Two.")},
	} {
		got := joined([]*stores.Passage{test.a, test.b})
		if test.text == "" {
			if len(got) != 2 {
				t.Errorf("%s: joined as %q", name, got[0].Text)
			}
			continue
		}
		if len(got) != 1 || got[0].Heading != test.heading || got[0].Text != test.text {
			t.Errorf("%s: %d, %q under %q, want %q under %q", name, len(got), got[0].Text, got[0].Heading, test.text, test.heading)
		}
	}
}

// Three neighbours, found in another order, are one document in the block; a
// tool loop gets the same bytes from the ids alone.
func TestNeighboursAreOneInTheBlock(t *testing.T) {
	l := &fakeLedger{passages: []stores.Passage{
		*part("p2", "leave", 2, "Annual leave", "Annual leave that is not taken ends in March."), *part("px", "travel", 7, "Hotels", "Annual leave does not pay for hotels."),
		*part("p0", "leave", 0, "Annual leave", "Annual leave is thirty days."), *part("p1", "leave", 1, "Annual leave", "Annual leave is asked for in writing."),
	}}
	var hits fixedHits
	for i, p := range l.passages {
		hits = append(hits, stores.Hit{ID: p.ID, Score: float64(9 - i), Cover: 0.9})
	}
	a := New(Config{Ledger: l, Index: hits})
	q := ask("how much annual leave is there")
	r := a.Assemble(t.Context(), q, planOf(intent.RAG), openingOf(l))
	if want := []string{"p0", "p1", "p2", "px"}; !slices.Equal(r.Items, want) {
		t.Errorf("%v, want %v", r.Items, want)
	}
	if strings.Count(r.Volatile, "<document ") != 2 || !strings.Contains(r.Volatile, "thirty days.\nAnnual leave is asked for in writing.\nAnnual leave that") {
		t.Error(r.Volatile)
	}
	q.ToolLoop = true
	open := openingOf(l)
	open.Turn = &stores.OpenTurn{ID: "t", Items: r.Items, Stable: r.StableIDs}
	if again := a.Assemble(t.Context(), q, planOf(intent.RAG), open); again.Volatile != r.Volatile {
		t.Errorf("again:\n%s\nfirst:\n%s", again.Volatile, r.Volatile)
	}
}
