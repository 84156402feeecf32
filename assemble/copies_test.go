package assemble

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"strata/intent"
)

const copiedRule = "Parental leave rule: whoever has a child may stay at home for up to three years, and tells the office two months before it begins, in writing. " +
	"Whoever comes back earlier says so four weeks ahead; the place at work is kept, and the team agrees on who stands in. " +
	"Grandparents who bring up a child may do the same while its parents study or serve, and adoptive parents from the first day. "

// A text that stands in any number of documents takes one place, so that what
// else fits is found, by a deeper search where the copies fill the first one.
func TestCopiesTakeOnePlace(t *testing.T) {
	for name, test := range map[string]struct {
		copies int
		differ bool // in a word
		limits []int
	}{
		"the same text":          {20, false, []int{50}},
		"all but the same":       {20, true, []int{50}},
		"more than a search":     {60, false, []int{50, 400}},
		"more, all but the same": {300, true, []int{50, 400}},
		"no end of them":         {5000, false, []int{50, 400, 4000}},
	} {
		l := &fakeLedger{}
		for i := range test.copies {
			text := copiedRule
			if test.differ {
				text += "Held by " + string(rune('a'+i%26)) + "."
			}
			l.passages = append(l.passages, passage(fmt.Sprint("p", i), fmt.Sprint("Handbook ", i), "", text))
		}
		l.passages = append(l.passages, passage("other", "Pay", "", "While on parental leave nobody is paid."))
		a, x := assembler(l)
		plan := planOf(intent.RAG)
		plan.Deadline = time.Minute // what is found counts, not how fast these fakes are
		r := a.Assemble(t.Context(), ask("parental leave rule"), plan, openingOf(l))
		want := []string{"p0", "other"}
		if test.copies > depths[len(depths)-1] {
			want = want[:1]
		}
		if !slices.Equal(r.Items, want) || !slices.Equal(x.limits, test.limits) {
			t.Errorf("%s: %v, want %v; searches of %v", name, r.Items, want, x.limits)
		}
		if got := reasonOf(r, "p1"); got != "duplicate" {
			t.Errorf("%s: a copy was left out as %q", name, got)
		}
	}
}

// What puts the best into order reads each text once.
func TestCopiesAreRankedOnce(t *testing.T) {
	l := &fakeLedger{}
	for i := range 30 {
		l.passages = append(l.passages, passage(fmt.Sprint("p", i), "Handbook", "", copiedRule))
	}
	l.passages = append(l.passages, passage("other", "Pay", "", "While on parental leave nobody is paid."))
	var read int
	a := New(Config{Ledger: l, Index: &fakeIndex{passages: l.passages}, Rerank: func(_ context.Context, _ string, texts []string) ([]float64, error) {
		read = len(texts)
		return []float64{0.1, 0.9}, nil
	}})
	r := a.Assemble(t.Context(), ask("parental leave rule"), planOf(intent.RAG), openingOf(l))
	if read != 2 || !slices.Equal(r.Items, []string{"other", "p0"}) {
		t.Errorf("%d texts put into order, given %v", read, r.Items)
	}
}
