package assemble

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"strata/policy"
)

const (
	reranked    = 20   // passages that are put into order
	rerankText  = 2000 // bytes of each that are read for it
	rerankShare = 0.85 // of the time left
)

// rerank puts the best passages into the order that the cross-encoder gives
// them. Where it is late or broken they stay as they are.
func (r *knowledgeReader) rerank(ctx context.Context) {
	rerank := r.a.cfg.Rerank
	if rerank == nil || len(r.found) < 2 {
		return
	}
	best := r.found[:min(reranked, len(r.found))]
	texts := make([]string, len(best))
	for i := range best {
		p := best[i].passage
		texts[i], _ = policy.Redact(shorten(titled(p.Title, p.Heading, p.Text), rerankText))
	}
	query, _ := policy.Redact(r.queries[0])
	ctx, cancel := shareOf(ctx, rerankShare)
	defer cancel()
	scores, err := r.scores(ctx, func(ctx context.Context) ([]float64, error) { return rerank(ctx, query, texts) }, len(best))
	if err != nil {
		r.doWithout("rerank", err)
		return
	}
	order := make([]int, len(best))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	sorted := make([]found, len(best))
	for i, from := range order {
		sorted[i] = best[from]
	}
	copy(best, sorted)
}

func (r *knowledgeReader) scores(ctx context.Context, ask func(context.Context) ([]float64, error), want int) ([]float64, error) {
	p, err := start(ctx, r.a.rerank, ask)
	if err != nil {
		return nil, err
	}
	o := p.wait(ctx)
	if o.err == nil && (len(o.value) != want || slices.ContainsFunc(o.value, math.IsNaN)) {
		o.err = fmt.Errorf("assemble: %d usable scores for %d texts", len(o.value), want)
	}
	return o.value, o.err
}

// titled is a passage's text with what it stands under.
func titled(title, heading, text string) string {
	if title != "" {
		title += "\n"
	}
	if heading != "" && heading+"\n" != title {
		title += heading + "\n"
	}
	return title + text
}
