package assemble

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"strata/intent"
	"strata/stores"
)

// fakeVectors finds what a query's table says; a query that is in none finds
// the further passages.
type fakeVectors struct {
	cosines map[string]map[string]float64 // by query
	noise   map[string]stores.Noise
	err     error
	hold    func(context.Context, string) error
	asked   [][]string
	calls   atomic.Int32
}

func (v *fakeVectors) Nearest(ctx context.Context, _ string, queries []string, limit int) (Near, error) {
	v.calls.Add(1)
	if v.hold != nil {
		if err := v.hold(ctx, "vectors"); err != nil {
			return Near{}, err
		}
	} else {
		v.asked = append(v.asked, queries)
	}
	near := Near{Noise: v.noise}
	for _, q := range queries {
		var hits []stores.Hit
		for id, cos := range v.cosines[q] {
			hits = append(hits, stores.Hit{ID: id, Score: cos})
		}
		slices.SortFunc(hits, func(a, b stores.Hit) int {
			if a.Score != b.Score {
				return int(1e6*b.Score) - int(1e6*a.Score)
			}
			return strings.Compare(a.ID, b.ID)
		})
		near.Hits = append(near.Hits, hits[:min(limit, len(hits))])
	}
	return near, v.err
}

// noise as embedders have it: unrelated texts are a little alike.
var noise = map[string]stores.Noise{"en": {Mean: 0.2, SD: 0.1}, "zh": {Mean: 0.25, SD: 0.1}}

func travel() *fakeLedger {
	return &fakeLedger{passages: []stores.Passage{
		passage("rail", "Travel", "Trains", "Second class is booked for trips below six hours."),
		passage("hotel", "Travel", "Hotels", "A night costs at most 180 euros in Berlin."),
		passage("board", "Board", "Deals", "The purchase of Harbour is kept secret until May."),
	}, groups: map[string]string{"board": "board"}}
}

// What a question does not share a word with is found by what it means, also
// in another language; what is no nearer than unrelated texts is not.
func TestFoundByVectorsAlone(t *testing.T) {
	for name, test := range map[string]struct {
		words   string
		cosines map[string]float64
		want    []string
	}{
		"no word in common":   {"budget for sleeping away from home", map[string]float64{"hotel": 0.75, "rail": 0.31, "board": 0.1}, []string{"hotel"}},
		"another language":    {"在柏林住一晚最多多少钱？", map[string]float64{"hotel": 0.8, "rail": 0.3}, []string{"hotel"}},
		"and what is near it": {"在柏林住一晚最多多少钱？", map[string]float64{"hotel": 0.8, "rail": 0.6}, []string{"hotel", "rail"}},
		"not near enough":     {"在柏林住一晚最多多少钱？", map[string]float64{"hotel": 0.6, "rail": 0.5}, nil},
		"nobody's to see":     {"budget for sleeping away from home", map[string]float64{"board": 0.9, "hotel": 0.4}, nil},
	} {
		l := travel()
		v := &fakeVectors{cosines: map[string]map[string]float64{test.words: test.cosines}, noise: noise}
		a := New(Config{Ledger: l, Index: &fakeIndex{passages: l.passages}, Vectors: v})
		r := a.Assemble(t.Context(), ask(test.words), planOf(intent.RAG), openingOf(l))
		if !slices.Equal(r.Items, test.want) {
			t.Errorf("%s: %v, want %v; %v", name, r.Items, test.want, r.Skipped)
		}
		for _, s := range r.Skipped {
			if s.ID == "board" {
				t.Errorf("%s: the receipt names a passage that the caller may not see", name)
			}
		}
		if len(r.Items) > 0 && (r.Context != "full" || len(r.Layers) == 0 || len(r.Layers[0].Cosines) != len(r.Items) || r.Layers[0].Cosines[0] != test.cosines["hotel"]) {
			t.Errorf("%s: %s, %+v", name, r.Context, r.Layers)
		}
	}
}

// Both legs decide on the order: what words and vectors agree on comes first,
// and vectors that tell the passages hardly apart change nothing.
func TestLegsAreFusedByRank(t *testing.T) {
	l := &fakeLedger{}
	var hits fixedHits
	near, flat := map[string]float64{}, map[string]float64{}
	for i := range 60 {
		id := fmt.Sprintf("p%02d", i)
		l.passages = append(l.passages, passage(id, "Handbook "+id, "", fmt.Sprintf("rule of branch %d about matter %d", i, i*i)))
		if i < depths[0] {
			hits = append(hits, stores.Hit{ID: id, Score: 20 - float64(i)/10, Cover: 0.6})
		}
		near[id], flat[id] = 0.3, 0.5+float64(i)/1e4
	}
	near["p03"], near["p59"] = 0.9, 0.85 // the second was not found by words
	for name, test := range map[string]struct {
		cosines map[string]float64
		want    []string
	}{
		"vectors that tell apart": {near, []string{"p03", "p00", "p01", "p59"}},
		"vectors that do not":     {flat, []string{"p00", "p01", "p02", "p03"}},
	} {
		q := ask("which rule")
		a := New(Config{Ledger: l, Index: hits, Vectors: &fakeVectors{cosines: map[string]map[string]float64{q.Words: test.cosines}, noise: noise}})
		r := a.Assemble(t.Context(), q, planOf(intent.RAG), openingOf(l))
		if len(r.Items) < 4 || !slices.Equal(r.Items[:4], test.want) {
			t.Errorf("%s: %v, want %v", name, r.Items, test.want)
		}
	}
}

// A follow-up is embedded as it is searched for: with the turn before, and
// alone. No secret of it leaves.
func TestQueriesOfVectors(t *testing.T) {
	l := travel()
	v := &fakeVectors{noise: noise}
	q := ask("and with password = \"Tr0ub4dor&3xyz\" for trains?")
	q.Before, q.FollowUp = "what may a hotel cost?", true
	New(Config{Ledger: l, Index: &fakeIndex{passages: l.passages}, Vectors: v}).Assemble(t.Context(), q, planOf(intent.RAG), openingOf(l))
	if len(v.asked) != 1 || len(v.asked[0]) != 2 || !strings.HasSuffix(v.asked[0][0], "\nwhat may a hotel cost?") || !strings.HasSuffix(v.asked[0][1], "for trains?") {
		t.Errorf("asked %q", v.asked)
	}
	if s := fmt.Sprint(v.asked); strings.Contains(s, "Tr0ub4dor") {
		t.Errorf("a secret was sent: %s", s)
	}
}

// Late, broken, panicking, wrong or useless vectors cost nothing but
// themselves.
func TestVectorsThatFail(t *testing.T) {
	broken := func(context.Context, string) error { return errBroken }
	panics := func(context.Context, string) error { panic("embedder") }
	word := map[string]string{"vectors_late": "late", "vectors_failed": "store_unavailable"}
	for name, test := range map[string]struct {
		vectors *fakeVectors
		reason  string
		waits   bool
	}{
		"late":                      {&fakeVectors{hold: hang("vectors", nil)}, "vectors_late", true},
		"broken":                    {&fakeVectors{hold: broken}, "vectors_failed", false},
		"panics":                    {&fakeVectors{hold: panics}, "vectors_failed", false},
		"a language it cannot read": {&fakeVectors{noise: map[string]stores.Noise{"zh": noise["zh"]}}, "", false},
		"no space yet":              {&fakeVectors{}, "", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := travel()
			a := New(Config{Ledger: l, Index: &fakeIndex{passages: l.passages}, Vectors: test.vectors})
			begun := time.Now()
			r := a.Assemble(t.Context(), ask("what may a hotel cost a night in Berlin"), planOf(intent.RAG), openingOf(l))
			took := time.Since(begun)
			if !slices.Equal(r.Items, []string{"hotel"}) || took >= 150*time.Millisecond || (took > 0) != test.waits {
				t.Errorf("%s: %v after %v; %v", name, r.Items, took, r.Skipped)
			}
			said := slices.Contains(r.Skipped, Skipped{Name: "knowledge", Reason: test.reason})
			if said != (test.reason != "") || (r.Context == "full") != (test.reason == "") || r.Reason != word[test.reason] {
				t.Errorf("%s: %s %q %v", name, r.Context, r.Reason, r.Skipped)
			}
		})
	}
}

// A caller who may see few of the nearest gets the next ones.
func TestVectorsLookDeeper(t *testing.T) {
	l := &fakeLedger{groups: map[string]string{}}
	q := ask("Wie viele Tage Urlaub?")
	cosines := map[string]float64{}
	for i := range 130 {
		id := fmt.Sprintf("p%03d", i)
		l.passages = append(l.passages, passage(id, "Handbook "+id, "", fmt.Sprintf("leave of branch %d is %d days", i, i*i)))
		cosines[id] = 0.95 - float64(i)/1000
		if i >= 2 && i < 120 {
			l.groups[id] = "board"
		}
	}
	v := &fakeVectors{cosines: map[string]map[string]float64{q.Words: cosines}, noise: noise}
	plan := planOf(intent.RAG)
	plan.Deadline = time.Minute // what is found counts, not how fast these fakes are
	r := New(Config{Ledger: l, Index: &fakeIndex{passages: l.passages}, Vectors: v}).Assemble(t.Context(), q, plan, openingOf(l))
	if len(r.Items) != 6 || r.Items[0] != "p000" || r.Items[2] != "p120" || v.calls.Load() != 2 {
		t.Errorf("%v after %d searches", r.Items, v.calls.Load())
	}
}
