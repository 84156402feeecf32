package weaviate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"strata/internal/lexical"
	"strata/stores"
)

const (
	// maxHits is how many hits one search gives at most.
	maxHits = 4000
	// searchLimit bounds a search whose context has no end.
	searchLimit = 10 * time.Second
	// A question that has so many terms is asked without those that more than
	// one of commonIn passages hold.
	fewTerms = 6
	commonIn = 4
	// steps are how fine the weights of a question's terms are: the server
	// counts a term as often as the question names it.
	steps = 3
)

// Search returns the limit passages of tenant that fit query best, best first:
// BM25 over title, heading and text together. Only those are returned that
// hold a term of the query.
func (x *Index) Search(ctx context.Context, tenant, query string, limit int) ([]stores.Hit, error) {
	if tenant == "" {
		return nil, stores.ErrScope
	}
	q := lexical.NewQuestion(query)
	if q == nil || limit <= 0 {
		return nil, nil
	}
	return x.guarded(ctx, &x.byText, owner{tenant: tenant}, place{collection, x.tenant(tenant)}, func(ctx context.Context, at place) ([]stores.Hit, error) {
		return x.search(ctx, at.tenant, q, min(limit, maxHits))
	})
}

// guarded runs a search in a tenant, unless the last ones have failed. In a
// tenant that is not there nothing is found; one that should be is ErrLost.
func (x *Index) guarded(outer context.Context, b *breaker, of owner, at place, search func(context.Context, place) ([]stores.Hit, error)) ([]stores.Hit, error) {
	ctx, done, err := x.begin(outer, searchLimit)
	if err != nil {
		return nil, err
	}
	defer done()
	if !b.allow() {
		return nil, fmt.Errorf("%w: the last searches have failed", ErrUnavailable)
	}
	begun := x.clock()
	x.use(at)
	hits, err := search(ctx, at)
	lost := false
	if err != nil && x.missing(ctx, at, err) {
		hits, err = nil, nil
		lost = x.lost(ctx, of, at)
	}
	b.note(err, x.clock().Sub(begun))
	switch {
	case lost:
		return nil, ErrLost
	case err == nil:
		return hits, nil
	case outer.Err() != nil:
		return nil, outer.Err()
	}
	return nil, x.failed("search", err)
}

// candidate is a passage that was found.
type candidate struct {
	id    string
	holds sketch
}

func (x *Index) search(ctx context.Context, tenant string, q *lexical.Question, limit int) ([]stores.Hit, error) {
	known := x.rarity.peek(tenant)
	type counted struct {
		s   *sample
		err error
	}
	counts := make(chan counted, 1)
	go func() { // beside the search, where it is not at hand
		s, err := x.sampleOf(ctx, tenant)
		counts <- counted{s, err}
	}()
	found, err := x.candidates(ctx, tenant, wording(q, known), limit)
	c := <-counts
	if err = errors.Join(err, c.err); err != nil || len(found) == 0 {
		return nil, err
	}
	c.s.weigh(q, found)
	return rank(q, found, c.s.scale()), nil
}

// rank orders what the server has found by the scores of the embedded index. The
// server's own count terms as often as they are named, in whole steps, and know
// no title.
func rank(q *lexical.Question, found []candidate, scale *lexical.Scale) []stores.Hit {
	hits := make([]stores.Hit, len(found))
	for i, f := range found {
		var mask lexical.Mask
		var score float32
		for _, t := range q.Terms {
			counts := f.holds.counts(t.Hash)
			if t.Bit < 0 || counts == 0 {
				continue
			}
			mask.Set(t.Bit)
			score += scale.Score(float32(t.Weight), counts, f.holds.length)
		}
		hits[i] = stores.Hit{ID: f.id, Score: float64(score), Cover: q.Cover(mask), Named: q.Named(mask), Spread: q.Spread}
	}
	// One that holds nothing but terms beyond what is counted was asked for
	// before it was known which these are.
	hits = slices.DeleteFunc(hits, func(h stores.Hit) bool { return h.Score == 0 })
	slices.SortStableFunc(hits, func(a, b stores.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits
}

// wording is a question as the server is asked it: its most telling terms, each
// as often as it weighs. Terms that too many passages hold are left out, where
// that is known and others remain: they tell next to nothing and are most of
// the server's work.
func wording(q *lexical.Question, known *sample) string {
	telling := slices.DeleteFunc(slices.Clone(q.Terms), func(t lexical.Asked) bool { return known.common(t.Hash) })
	terms := telling
	if len(telling) < fewTerms {
		terms = slices.Clone(q.Terms)
	}
	slices.SortStableFunc(terms, func(a, b lexical.Asked) int {
		switch {
		case a.Weight > b.Weight:
			return -1
		case a.Weight < b.Weight:
			return 1
		}
		return 0
	})
	var words strings.Builder
	for _, t := range terms[:min(len(terms), lexical.MaxTerms)] {
		for range max(1, int(math.Round(steps*t.Weight))) * t.Repeat {
			words.WriteString(t.Token())
			words.WriteByte(' ')
		}
	}
	return words.String()
}

// found is an object in an answer of the server.
type found struct {
	Passage    string `json:"passage"`
	Sketch     string `json:"sketch"`
	Additional struct {
		ID       string   `json:"id"`
		Distance *float64 `json:"distance"` // 0-2, of one by vector
	} `json:"_additional"`
}

type foundAnswer struct {
	Get map[string][]found
}

// candidates are the passages that rank best.
func (x *Index) candidates(ctx context.Context, tenant, words string, limit int) ([]candidate, error) {
	query := fmt.Sprintf(`{Get{%s(tenant:%s,limit:%d,bm25:{query:%s,properties:[%q]}){%s %s}}}`,
		collection, quote(tenant), limit, quote(words), propWords, propPassage, propSketch)
	var got foundAnswer
	if err := x.server.query(ctx, query, &got); err != nil {
		return nil, err
	}
	out := make([]candidate, 0, len(got.Get[collection]))
	for _, f := range got.Get[collection] {
		holds, err := readSketch(f.Sketch)
		if err != nil {
			return nil, fmt.Errorf("the sketch of passage %s is broken: %w", f.Passage, err)
		}
		out = append(out, candidate{f.Passage, holds})
	}
	return out, nil
}

// quote makes a GraphQL string of any text: JSON's escapes are GraphQL's. The
// client's own way of quoting is Go's, which is not.
func quote(s string) string {
	b, err := json.Marshal(strings.ToValidUTF8(s, ""))
	if err != nil {
		panic("BUG: a string cannot be marshalled: " + err.Error())
	}
	return string(b)
}

// Count returns the number of passages of tenant.
func (x *Index) Count(ctx context.Context, tenant string) (int, error) {
	if tenant == "" {
		return 0, stores.ErrScope
	}
	ctx, done, err := x.begin(ctx, searchLimit)
	if err != nil {
		return 0, err
	}
	defer done()
	at := place{collection, x.tenant(tenant)}
	x.use(at)
	n, err := x.count(ctx, at.tenant)
	if err != nil && x.missing(ctx, at, err) {
		return 0, nil
	}
	if err != nil {
		return 0, x.failed("count", err)
	}
	return n, nil
}

func (x *Index) count(ctx context.Context, tenant string) (int, error) {
	var got struct {
		Aggregate map[string][]struct{ Meta struct{ Count int } }
	}
	err := x.server.query(ctx, fmt.Sprintf(`{Aggregate{%s(tenant:%s){meta{count}}}}`, collection, quote(tenant)), &got)
	if err != nil {
		return 0, err
	}
	if len(got.Aggregate[collection]) != 1 {
		return 0, errors.New("the server does not say how many passages there are")
	}
	return got.Aggregate[collection][0].Meta.Count, nil
}
