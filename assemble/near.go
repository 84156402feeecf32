package assemble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"strata/policy"
	"strata/stores"
)

// nearLeg is a search by vectors under way. Without out there is none.
type nearLeg struct {
	pending[Near]
	ctx    context.Context
	cancel context.CancelFunc
}

// nearShare is the part of the time left that vectors may take: the texts that
// they find are still to be read, and put into order where somebody does that.
func (r *knowledgeReader) nearShare() float64 {
	if r.a.cfg.Rerank != nil {
		return 0.5
	}
	return 0.85
}

// startNear begins the search by vectors. What goes to an embedder holds no
// secrets.
func (r *knowledgeReader) startNear(ctx context.Context, limit int) nearLeg {
	if r.vectors == nil {
		return nearLeg{cancel: func() {}}
	}
	ctx, cancel := shareOf(ctx, r.nearShare())
	vectors, tenant := r.vectors, r.scope.Tenant
	queries := make([]string, len(r.queries))
	for i, q := range r.queries {
		queries[i], _ = policy.Redact(q)
	}
	p, err := start(ctx, r.a.near, func(ctx context.Context) (Near, error) { return vectors.Nearest(ctx, tenant, queries, limit) })
	if err != nil {
		r.doWithout("vectors", err)
		r.vectors = nil
	}
	return nearLeg{p, ctx, cancel}
}

// shareOf bounds ctx to a part of the time that it has left.
func shareOf(ctx context.Context, share float64) (context.Context, context.CancelFunc) {
	until, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(float64(time.Until(until))*share))
}

// takeNear waits for the vectors and takes what they found. It reports whether
// that is anything; where they are late or broken, words alone decide from then
// on.
func (r *knowledgeReader) takeNear(leg nearLeg, limit int) bool {
	o := leg.wait(leg.ctx)
	if o.err == nil && len(o.value.Hits) != 0 && len(o.value.Hits) != len(r.queries) {
		o.err = fmt.Errorf("assemble: %d lists of nearest passages for %d queries", len(o.value.Hits), len(r.queries))
	}
	if o.err != nil {
		r.doWithout("vectors", o.err)
		r.vectors = nil
		return false
	}
	noise, known := o.value.Noise[r.bar.language]
	if !known || noise.SD <= 0 {
		r.vectors = nil // this embedder does not tell texts of that language apart
		return false
	}
	r.near, r.bar.noise = true, noise
	for i := range r.all {
		r.all[i].near = 0
	}
	r.best = r.best[:0]
	for _, hits := range o.value.Hits {
		r.takeNearest(hits, limit)
	}
	return len(r.best) > 0
}

// takeNearest takes one question's nearest passages. Of several questions the
// better place counts.
func (r *knowledgeReader) takeNearest(hits []stores.Hit, limit int) {
	if len(hits) == 0 {
		return
	}
	r.full = r.full || len(hits) >= limit
	rest := r.bar.noise.Mean
	if len(hits) >= limit {
		rest = hits[len(hits)-1].Score
	}
	for rank, h := range hits {
		c := r.candidate(h.ID)
		weight := min(1, max(0, h.Score-rest)/r.bar.noise.SD/standsOut)
		c.near = max(c.near, weight/float64(damping+rank))
		c.cosine = max(c.cosine, h.Score)
		if rank < nearestRead {
			if i := r.at[h.ID]; !slices.Contains(r.best, i) {
				r.best = append(r.best, i)
			}
		}
	}
}

// doWithout notes what was late or broken and is done without.
func (r *knowledgeReader) doWithout(what string, err error) {
	how := "failed"
	if late(err) || errors.Is(err, errBusy) {
		how = "late"
	}
	if what += "_" + how; !slices.Contains(r.left, what) {
		r.left = append(r.left, what)
	}
}
