package assemble

import (
	"slices"
	"testing"

	"strata/intent"
	"strata/stores"
)

// Whether the documents speak of a question at all shows at the best passage;
// what comes with it may cover half as much.
func TestFloorOfTheBest(t *testing.T) {
	l := &fakeLedger{passages: []stores.Passage{
		passage("a", "Travel", "Hotels", "A night costs at most 180 euros in Berlin."),
		passage("b", "Travel", "Trains", "Second class is booked for trips below six hours."),
		passage("c", "差旅", "住宿", "一线城市每晚不超过六百元，须附发票。"),
	}}
	for name, test := range map[string]struct {
		words  string
		covers [3]float64
		want   []string
	}{
		"the best is over it":          {"what may a hotel cost", [3]float64{0.40, 0.16, 0.13}, []string{"a", "b"}},
		"none is":                      {"what may a hotel cost", [3]float64{0.27, 0.26, 0.20}, nil},
		"a Chinese question asks less": {"住酒店最多能花多少钱", [3]float64{0.22, 0.12, 0.09}, []string{"a", "b"}},
		"and yet something":            {"住酒店最多能花多少钱", [3]float64{0.18, 0.18, 0.02}, nil},
	} {
		var hits fixedHits
		for i, p := range l.passages {
			hits = append(hits, stores.Hit{ID: p.ID, Score: float64(9 - i), Cover: test.covers[i]})
		}
		plan := planOf(intent.RAG)
		plan.Floor = 0.28
		r := New(Config{Ledger: l, Index: hits}).Assemble(t.Context(), ask(test.words), plan, openingOf(l))
		if !slices.Equal(r.Items, test.want) {
			t.Errorf("%s: %v, want %v", name, r.Items, test.want)
		}
		under := 0
		for _, s := range r.Skipped {
			if s.Reason == "floor" {
				under++
			}
		}
		if under != len(l.passages)-len(test.want) {
			t.Errorf("%s: %d are named as under the floor: %v", name, under, r.Skipped)
		}
	}
}

// What a caller may not see is not named in a receipt either.
func TestNothingHiddenUnderTheFloor(t *testing.T) {
	l := &fakeLedger{passages: []stores.Passage{
		passage("a", "Travel", "Hotels", "A night costs at most 180 euros in Berlin."),
		passage("b", "Board", "Deals", "The purchase of Harbour is kept secret until May."),
		passage("c", "Travel", "Trains", "Second class is booked for trips below six hours."),
	}, groups: map[string]string{"b": "board"}}
	hits := fixedHits{{ID: "a", Score: 9, Cover: .5}, {ID: "b", Score: 8, Cover: .05}, {ID: "c", Score: 7, Cover: .04}}
	plan := planOf(intent.RAG)
	plan.Floor = .28
	r := New(Config{Ledger: l, Index: hits}).Assemble(t.Context(), ask("what may a hotel cost"), plan, openingOf(l))
	var under []string
	for _, s := range r.Skipped {
		if s.Reason == "floor" {
			under = append(under, s.ID)
		}
	}
	if !slices.Equal(under, []string{"c"}) {
		t.Errorf("named as under the floor: %v, want c alone", under)
	}
}

// A passage that the caller may not see does not vouch for those that they may.
func TestHiddenPassagesDoNotPass(t *testing.T) {
	l := &fakeLedger{passages: []stores.Passage{
		passage("a", "Travel", "Hotels", "A night costs at most 180 euros in Berlin."),
		passage("b", "Board", "Deals", "The purchase of Harbour is kept secret until May."),
	}, groups: map[string]string{"b": "board"}}
	hits := fixedHits{{ID: "b", Score: 9, Cover: .9}, {ID: "a", Score: 3, Cover: .16}}
	plan := planOf(intent.RAG)
	plan.Floor = .28
	q := ask("which purchase of Harbour is secret")
	a := New(Config{Ledger: l, Index: hits})
	if r := a.Assemble(t.Context(), q, plan, openingOf(l)); len(r.Items) > 0 {
		t.Errorf("given: %v", r.Items)
	}
	q.Scope.Groups = []string{"board"}
	if r := a.Assemble(t.Context(), q, plan, openingOf(l)); !slices.Equal(r.Items, []string{"b", "a"}) {
		t.Errorf("to who may see both: %v", r.Items)
	}
}
