package assemble

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"strata/policy"
	"strata/stores"
)

const (
	usualFacts = 6   // passages, where the plan does not say
	spare      = 4   // passages read beyond those, as some repeat each other
	maxRead    = 200 // passages read at a time, where few of them may be served
	maxQuery   = 3000
)

// depths are how many hits are asked for: the first number, and the further
// ones where the caller's groups leave too few of those.
var depths = [...]int{50, 400, 4000}

// found is a passage that may be served, and how well it fits.
type found struct {
	passage *stores.Passage
	cover   float64
	cosine  float64      // 0 where vectors did not find it
	print   *fingerprint // nil: not made yet
}

type knowledgeRead struct {
	found  []found  // best first
	under  []string // ids of the best that do not fit well enough
	copies []string // ids of the best that say what a better one does
	near   bool     // vectors were looked through
	left   []string // what was done without: vectors_late, rerank_failed, filling
}

// questions are what is searched for. A follow-up leans on the turn before and
// yet asks for something else ("and sick leave?"): it is searched for together
// with that turn, and alone.
func (w *walk) questions() []string {
	alone := strings.Clone(shorten(w.q.Words, maxQuery))
	if w.leans() {
		return []string{w.question(), alone}
	}
	return []string{alone}
}

// question is the first of questions. It may be part of the request.
func (w *walk) question() string {
	if w.leans() {
		return shorten(w.q.Words+"\n"+w.q.Before, maxQuery)
	}
	return shorten(w.q.Words, maxQuery)
}

func (w *walk) leans() bool { return w.q.FollowUp && w.q.Before != "" }

func (w *walk) knowledgeReader() func(context.Context) (knowledgeRead, error) {
	p, _ := w.layer(policy.LayerKnowledge)
	want := p.Items
	if want <= 0 {
		want = usualFacts
	}
	r := knowledgeReader{
		a: w.a, ledger: w.a.cfg.Ledger, vectors: w.a.cfg.Vectors, scope: w.q.Scope, queries: w.questions(), want: want,
		documents: w.open.Documents, bar: barOf(w.plan.Floor, w.language()), at: map[string]int{},
	}
	r.bar.strict = w.plan.Strict
	if asked := askedAtLast(w.q.Words); asked != "" && !w.leans() {
		return r.orElse(strings.Clone(shorten(asked, maxQuery)))
	}
	return r.read
}

// knowledgeReader searches, and gets the texts by a statement that returns
// only what this caller may see today.
type knowledgeReader struct {
	a         *Assembler
	ledger    Ledger
	vectors   Vectors // nil: none, or they were late
	scope     stores.Scope
	queries   []string
	want      int
	documents int
	bar       bar

	all  []candidate // in the order in which they were found first
	at   map[string]int
	best []int // of all, the passages nearest by vectors
	full bool  // the index had as many hits as were asked for
	lost int   // hits that may not be served

	filling bool // the index does not have everything yet
	knowledgeRead
}

func (r knowledgeReader) read(ctx context.Context) (knowledgeRead, error) {
	// Asked before the search: what comes into the index afterwards may be missed.
	if filling := r.a.cfg.Filling; filling != nil && filling(ctx, r.scope.Tenant) {
		r.filling, r.left = true, []string{"filling"}
	}
	if err := r.gather(ctx); err != nil {
		return knowledgeRead{}, err
	}
	under := r.readable(ctx, r.take())
	if len(r.found) > 0 && !r.onSubject() {
		var ids []string
		for _, f := range r.found {
			ids = append(ids, f.passage.ID)
		}
		r.found, r.copies, under = nil, nil, append(ids, under...)
	}
	r.under = under[:min(len(under), maxSkipped)]
	r.rerank(ctx)
	return r.knowledgeRead, nil
}

// onSubject tells whether anything that may be served is on the question's
// subject.
func (r *knowledgeReader) onSubject() bool {
	var best candidate
	for i := range r.all {
		if c := &r.all[i]; c.passage != nil {
			best.cover, best.fit = max(best.cover, c.cover), max(best.fit, c.fit)
			best.cosine = max(best.cosine, c.cosine)
			best.named = best.named || c.named && c.cover >= r.bar.floor
		}
	}
	return r.bar.passes(&best)
}

// gather reads what may be served and fits well enough should it not be the
// best.
func (r *knowledgeReader) gather(ctx context.Context) error {
	for i, limit := range depths {
		err := r.look(ctx, limit, i > 0)
		served, copies := r.served()
		crowded := copies > 0 && served+copies >= r.want // by copies
		switch {
		case err != nil && served > 0:
			return nil // no time to look deeper
		case err != nil:
			return err
		case served >= r.want || r.lost == 0 && !crowded || !r.full:
			return nil
		}
	}
	return nil
}

// look searches by words and by vectors, side by side, and reads what the
// search before did not give. A deeper one ends early enough that what was
// found until then is in time.
func (r *knowledgeReader) look(ctx context.Context, limit int, deeper bool) error {
	if until, ok := ctx.Deadline(); ok && deeper {
		bounded, cancel := context.WithTimeout(ctx, time.Until(until)*3/4)
		defer cancel()
		ctx = bounded
	}
	near := r.startNear(ctx, limit)
	defer near.cancel()
	hits, err := r.search(ctx, limit)
	if err != nil {
		return err
	}
	r.takeWords(hits, len(hits) >= limit)
	if r.bar.floor > 0 && !r.filling && (r.full || r.documents >= fewDocuments) {
		r.bar.unrelated = r.a.unrelated(ctx, r.scope.Tenant, r.bar.language, r.documents)
	}
	// What the words alone would give is at hand before vectors are waited for.
	if err := r.texts(ctx); err != nil || near.out == nil {
		return err
	}
	if r.takeNear(near, limit) {
		// Without the texts that only vectors found there are still the others.
		_ = r.texts(ctx)
	}
	return nil
}

// search asks the index each question. Of several, each passage has the best
// of its covers, and the ranks decide together (reciprocal rank fusion), as
// scores of different questions cannot be compared.
func (r *knowledgeReader) search(ctx context.Context, limit int) ([]wordHit, error) {
	index := r.a.cfg.Index
	var out []wordHit
	at := map[string]int{}
	for _, q := range r.queries {
		hits, err := index.Search(ctx, r.scope.Tenant, q, limit)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = make([]wordHit, 0, len(hits))
		}
		for rank, h := range hits {
			i, there := len(out), false
			if len(r.queries) > 1 {
				i, there = place(at, h.ID, i)
			}
			if !there {
				out = append(out, wordHit{id: h.ID})
			}
			out[i].take(h, rank)
		}
	}
	if len(r.queries) > 1 {
		slices.SortStableFunc(out, func(a, b wordHit) int { return cmp.Compare(b.fused, a.fused) })
	}
	return out, nil
}

// place is where id stands, next where it does not yet.
func place(at map[string]int, id string, next int) (i int, there bool) {
	if i, there = at[id]; !there {
		at[id], i = next, next
	}
	return i, there
}

// texts reads the best that fit until there are enough, some at a time: the spare
// ones make up for a few that say what a better one does, and where there are more
// of these it goes on.
func (r *knowledgeReader) texts(ctx context.Context) error {
	order, kept := r.order(), r.newUnlike()
	enough := r.want + spare
	for n := enough; ; n = min(2*n, maxRead) {
		var some []int
		for _, i := range r.best {
			if !r.all[i].asked {
				some = append(some, i)
			}
		}
		served, different := 0, 0
		for _, i := range order {
			if served >= enough && different >= r.want || len(some) >= n {
				break
			}
			switch c := &r.all[i]; {
			case !r.bar.clears(c) || slices.Contains(r.best, i) && !c.asked:
			case !c.asked:
				some = append(some, i)
			case c.passage != nil:
				if served++; kept.take(i) {
					different++
				}
			}
		}
		if len(some) == 0 {
			return nil
		}
		if err := r.join(ctx, some); err != nil {
			return err
		}
	}
}

func (r *knowledgeReader) join(ctx context.Context, some []int) error {
	ids := make([]string, len(some))
	for n, i := range some {
		ids[n] = r.all[i].id
	}
	passages, err := r.ledger.Passages(ctx, r.scope, ids)
	if err != nil {
		return err
	}
	for _, i := range some {
		r.all[i].asked = true
	}
	r.lost += len(ids) - len(passages)
	for i := range passages {
		if at, ok := r.at[passages[i].ID]; ok {
			r.all[at].passage = &passages[i]
		}
	}
	return nil
}

// readable are those of ids that this caller may see. A receipt names no
// others, not even as what did not fit.
func (r *knowledgeReader) readable(ctx context.Context, ids []string) (out []string) {
	if len(ids) == 0 {
		return nil
	}
	passages, err := r.ledger.Passages(ctx, r.scope, ids)
	if err != nil {
		return nil
	}
	for _, id := range ids {
		if slices.ContainsFunc(passages, func(p stores.Passage) bool { return p.ID == id }) {
			out = append(out, id)
		}
	}
	return out
}
