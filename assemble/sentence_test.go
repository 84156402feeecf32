package assemble

import (
	"slices"
	"strings"
	"testing"

	"strata/intent"
	"strata/stores"
)

func TestAskedAtLast(t *testing.T) {
	story, 故事 := strings.Repeat("My colleague told me another thing in the kitchen. ", 6), strings.Repeat("同事在茶水间说的又不一样。", 9)
	for words, want := range map[string]string{
		"What does parking cost?":                                  "",
		story:                                                      "",
		story + "What does parking cost?":                          "What does parking cost",
		"What does parking cost? " + story:                         "What does parking cost",
		story + "Why? What does parking cost?\n" + story:           "What does parking cost",
		故事 + "请问加班费怎么算？" + 故事:                                      "请问加班费怎么算",
		story + "See http://example.com/a?b=c for what I mean":     "",
		story + "ok?":                                              "",
		"Is it true that " + strings.Repeat("very ", 60) + "late?": "",
	} {
		if got := askedAtLast(words); got != want {
			t.Errorf("%q: asks %q, want %q", words, got, want)
		}
	}
}

// A long message is on a subject if what it asks is. One that fits as a whole is
// searched for as a whole alone.
func TestLongMessageIsSearchedByItsQuestion(t *testing.T) {
	index := indexFunc(func(query string) []stores.Hit {
		if query == "What does parking cost" {
			return []stores.Hit{{ID: "psg_parking", Score: 3, Cover: 0.8}}
		}
		return []stores.Hit{{ID: "psg_parking", Score: 3, Cover: 0.05}}
	})
	l := &fakeLedger{passages: []stores.Passage{{ID: "psg_parking", Title: "Parking", Text: "Parking costs 40 euros.", Tokens: 9}}}
	plan := planOf(intent.RAG)
	asked := 0
	q := ask(strings.Repeat("My colleague told me another thing in the kitchen. ", 6) + "What does parking cost?")
	if r := New(Config{Ledger: l, Index: index}).Assemble(t.Context(), q, plan, openingOf(l)); !slices.Equal(r.Items, []string{"psg_parking"}) {
		t.Errorf("given %v, left out %v", r.Items, r.Skipped)
	}
	fits := indexFunc(func(string) []stores.Hit {
		asked++
		return []stores.Hit{{ID: "psg_parking", Score: 3, Cover: 0.8}}
	})
	if r := New(Config{Ledger: l, Index: fits}).Assemble(t.Context(), q, plan, openingOf(l)); len(r.Items) != 1 || asked != 1 {
		t.Errorf("given %v after %d searches", r.Items, asked)
	}
}
