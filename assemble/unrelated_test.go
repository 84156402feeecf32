package assemble

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"strata/intent"
	"strata/stores"
)

// wordy is an index in which every question finds something: unrelated ones
// hits of their own.
type wordy struct {
	hits      []stores.Hit
	unrelated stores.Hit
	fails     atomic.Bool
	hold      time.Duration
	measured  atomic.Int32
	mu        sync.Mutex
}

func (x *wordy) Search(ctx context.Context, _, query string, _ int) ([]stores.Hit, error) {
	if !isUnrelated(query) {
		return x.hits, nil
	}
	if x.measured.Add(1); x.hold > 0 {
		select {
		case <-time.After(x.hold):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if x.fails.Load() {
		return nil, errBroken
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.unrelated == (stores.Hit{}) {
		return nil, nil
	}
	return []stores.Hit{x.unrelated}, nil
}

func (x *wordy) find(unrelated stores.Hit) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.unrelated = unrelated
}

func handbook() *fakeLedger {
	l := &fakeLedger{}
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		l.passages = append(l.passages, passage(id, "Handbook "+id, "", "chapter "+id))
	}
	return l
}

// What questions about anything else find in the same documents is the bar for
// a question: the same hit is none among long texts that hold every word, and
// one among few words.
func TestFloorByUnrelatedQuestions(t *testing.T) {
	hit := stores.Hit{ID: "a", Score: 16, Cover: 0.3} // fit 1.2
	for name, test := range map[string]struct {
		hit, unrelated stores.Hit
		strict         bool
		want           bool
	}{
		"they find less":              {hit: hit, unrelated: stores.Hit{ID: "b", Score: 4, Cover: 0.2}, want: true},
		"they find as much":           {hit: hit, unrelated: stores.Hit{ID: "b", Score: 16, Cover: 0.28}},
		"they find nothing":           {hit: hit, want: true},
		"little covered, but much":    {hit: stores.Hit{ID: "a", Score: 100, Cover: 0.12}, unrelated: stores.Hit{ID: "b", Score: 4, Cover: 0.2}, want: true},
		"nearly nothing covered":      {hit: stores.Hit{ID: "a", Score: 900, Cover: 0.02}, unrelated: stores.Hit{ID: "b", Score: 4, Cover: 0.05}},
		"most of a short question":    {hit: stores.Hit{ID: "a", Score: 3, Cover: 0.75}, unrelated: stores.Hit{ID: "b", Score: 16, Cover: 0.3}, want: true},
		"less than by chance":         {hit: stores.Hit{ID: "a", Score: 60, Cover: 0.3, Spread: 30}, unrelated: stores.Hit{ID: "b", Score: 15, Cover: 0.1, Spread: 10}},
		"more than by chance":         {hit: stores.Hit{ID: "a", Score: 15, Cover: 0.1, Spread: 5}, unrelated: stores.Hit{ID: "b", Score: 15, Cover: 0.1, Spread: 10}, want: true},
		"more, yet nearly nothing":    {hit: stores.Hit{ID: "a", Score: 60, Cover: 0.02, Spread: 10}, unrelated: stores.Hit{ID: "b", Score: 15, Cover: 0.1, Spread: 10}},
		"a rare name":                 {hit: stores.Hit{ID: "a", Score: 4, Cover: 0.3, Named: true}, unrelated: stores.Hit{ID: "b", Score: 16, Cover: 0.28}, want: true},
		"a rare name, and no more":    {hit: stores.Hit{ID: "a", Score: 4, Cover: 0.2, Named: true}, unrelated: stores.Hit{ID: "b", Score: 16, Cover: 0.28}},
		"only the probe is for it":    {hit: stores.Hit{ID: "a", Score: 100, Cover: 0.3}, unrelated: stores.Hit{ID: "b", Score: 4, Cover: 0.2}, strict: true},
		"the probe, and much covered": {hit: stores.Hit{ID: "a", Score: 25, Cover: 0.5}, unrelated: stores.Hit{ID: "b", Score: 4, Cover: 0.2}, strict: true, want: true},
	} {
		l := handbook()
		a := New(Config{Ledger: l, Index: &wordy{hits: []stores.Hit{test.hit}, unrelated: test.unrelated}})
		plan := planOf(intent.RAG)
		if plan.Floor = 0.28; test.strict {
			plan.Floor, plan.Strict = 0.45, true
		}
		plan.Deadline = time.Minute
		r := a.Assemble(t.Context(), ask("what does the chapter say of it"), plan, openingOf(l))
		if (len(r.Items) > 0) != test.want {
			t.Errorf("%s: %v %v", name, r.Items, r.Skipped)
		}
	}
}

// A fit is told by what is found by chance where an index tells that.
func TestFitOfHit(t *testing.T) {
	for name, test := range map[string]struct {
		hit  stores.Hit
		want float64
	}{
		"twice what chance gives":     {stores.Hit{Score: 20, Cover: 0.1, Spread: 10}, 2},
		"the share does not matter":   {stores.Hit{Score: 20, Cover: 0.9, Spread: 10}, 2},
		"an index that does not tell": {stores.Hit{Score: 16, Cover: 0.5}, 2},
		"nothing":                     {stores.Hit{Spread: 10}, 0},
		"a score below nothing":       {stores.Hit{Score: -1, Cover: 0.5, Spread: 10}, 0},
	} {
		if got := fitOfHit(test.hit); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// Where vectors are looked through, they may let a weak find through or hold a
// better one back.
func TestFloorWithVectors(t *testing.T) {
	unrelated := stores.Hit{ID: "b", Score: 9, Cover: 0.2} // fit 0.6, the bar 0.92
	for name, test := range map[string]struct {
		hit    stores.Hit
		cosine float64
		want   bool
	}{
		"words alone would not do":  {stores.Hit{ID: "a", Score: 16, Cover: 0.21}, 0.62, true},
		"nor here":                  {stores.Hit{ID: "a", Score: 16, Cover: 0.21}, 0.3, false},
		"words alone would":         {stores.Hit{ID: "a", Score: 16, Cover: 0.26}, 0.2, false},
		"and do":                    {stores.Hit{ID: "a", Score: 25, Cover: 0.5}, 0.3, true},
		"much of nearly nothing":    {stores.Hit{ID: "a", Score: 9000, Cover: 0.01}, 0.55, false},
		"so near that it is enough": {stores.Hit{ID: "a", Score: 1, Cover: 0.01}, 0.9, true},
	} {
		l := handbook()
		q := ask("what does the chapter say of it")
		v := &fakeVectors{cosines: map[string]map[string]float64{q.Words: {"a": test.cosine}}, noise: noise}
		a := New(Config{Ledger: l, Index: &wordy{hits: []stores.Hit{test.hit}, unrelated: unrelated}, Vectors: v})
		plan := planOf(intent.RAG)
		plan.Floor, plan.Deadline = 0.28, time.Minute
		r := a.Assemble(t.Context(), q, plan, openingOf(l))
		if (len(r.Items) > 0) != test.want {
			t.Errorf("%s: %v %v", name, r.Items, r.Skipped)
		}
	}
}

// The figures are measured once and anew when the documents have changed much;
// a request does not wait long for them, and few documents are not measured.
func TestWhenUnrelatedQuestionsAreAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := handbook()
		x := &wordy{hits: []stores.Hit{{ID: "a", Score: 16, Cover: 0.3}}, unrelated: stores.Hit{ID: "b", Score: 4, Cover: 0.2}}
		a := New(Config{Ledger: l, Index: x})
		plan, open, all := planOf(intent.RAG), openingOf(l), int32(len(unrelatedQuestions["en"]))
		plan.Floor = 0.28
		given := func() bool {
			return len(a.Assemble(t.Context(), ask("what does the chapter say of it"), plan, open).Items) > 0
		}
		step := func(what string, wantGiven bool, wantAsked int32) {
			t.Helper()
			got := given()
			synctest.Wait()
			if asked := x.measured.Swap(0); got != wantGiven || asked != wantAsked {
				t.Errorf("%s: given %v, %d unrelated questions", what, got, asked)
			}
		}
		open.Documents = 3
		step("few documents", true, 0)
		open.Documents = 9
		step("first", true, all)
		x.find(stores.Hit{ID: "b", Score: 16, Cover: 0.3})
		time.Sleep(2 * time.Second)
		step("known", true, 0)
		open.Documents = 12
		step("more documents: by the former figures", true, all)
		step("by the new ones", false, 0)
		time.Sleep(measureAgain + time.Second)
		x.fails.Store(true)
		step("later, and it fails", false, 1)
		step("what was known stays", false, 0)
		x.fails.Store(false)
		time.Sleep(measureSoon + time.Second)
		step("tried again", false, all)
	})
	synctest.Test(t, func(t *testing.T) {
		l := handbook()
		x := &wordy{hits: []stores.Hit{{ID: "a", Score: 16, Cover: 0.3}}, unrelated: stores.Hit{ID: "b", Score: 16, Cover: 0.3}, hold: 20 * time.Millisecond}
		a := New(Config{Ledger: l, Index: x})
		plan := planOf(intent.RAG)
		plan.Floor = 0.28
		begun := time.Now()
		r := a.Assemble(t.Context(), ask("what does the chapter say of it"), plan, openingOf(l))
		if took := time.Since(begun); took >= 100*time.Millisecond || !slices.Equal(r.Items, []string{"a"}) {
			t.Errorf("a slow index: %v after %v", r.Items, took)
		}
		time.Sleep(time.Second)
		if r = a.Assemble(t.Context(), ask("what does the chapter say of it"), plan, openingOf(l)); len(r.Items) > 0 {
			t.Errorf("once it is known: %v", r.Items)
		}
	})
}

// Both languages have enough questions for a quarter of them to tell something,
// and none twice.
func TestUnrelatedQuestions(t *testing.T) {
	for lang, list := range unrelatedQuestions {
		if len(list) < 24 || len(slices.Compact(slices.Sorted(slices.Values(list)))) != len(list) {
			t.Errorf("%s: %d questions", lang, len(list))
		}
		for _, q := range list {
			if language(q) != lang {
				t.Errorf("%q is not %s", q, lang)
			}
		}
	}
}

// While the index is filled again, what is there already is given, and the
// answer says that there may be more; a question that finds nothing was not
// answered with "no match". What an index that is half full finds by chance says
// nothing, so it is not measured.
func TestFilling(t *testing.T) {
	for name, test := range map[string]struct {
		filling bool
		hits    []stores.Hit
		context string
		reason  string
		items   int
	}{
		"nothing there yet":   {true, nil, "none", "store_unavailable", 0},
		"some of it is there": {true, []stores.Hit{{ID: "a", Score: 9, Cover: 0.9}}, "partial", "store_unavailable", 1},
		"all of it is":        {false, nil, "none", "no_match", 0},
	} {
		l, x := handbook(), &wordy{hits: test.hits}
		tenants := ""
		a := New(Config{Ledger: l, Index: x, Filling: func(_ context.Context, tenant string) bool { tenants += tenant; return test.filling }})
		r := a.Assemble(t.Context(), ask("chapter of the handbook"), planOf(intent.RAG), openingOf(l))
		said := slices.Contains(r.Skipped, Skipped{Name: "knowledge", Reason: "filling"})
		if r.Context != test.context || r.Reason != test.reason || len(r.Items) != test.items || said != test.filling || tenants != "T1" {
			t.Errorf("%s: %s, %q, %v, skipped %v; asked for %q", name, r.Context, r.Reason, r.Items, r.Skipped, tenants)
		}
		if measured := x.measured.Load() > 0; measured == test.filling {
			t.Errorf("%s: measured %v", name, measured)
		}
	}
}
