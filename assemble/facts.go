package assemble

import (
	"slices"

	"strata/internal/tokens"
	"strata/policy"
)

// offerKnowledge offers passages in their rank, without those that the
// request holds already or that repeat a better one.
func (w *walk) offerKnowledge(p policy.LayerPlan) {
	want := p.Items
	if want <= 0 {
		want = usualFacts
	}
	o := offer{layer: policy.LayerKnowledge, share: p.Share}
	var prints []*fingerprint
	for i := range w.found {
		f := &w.found[i]
		if w.q.Request != nil && w.q.Request(f.passage.Text) {
			w.skip(policy.LayerKnowledge, "visible", f.passage.ID)
			continue
		}
		fp := f.print
		if fp == nil {
			fp = fingerprintOf(f.passage.Text)
		}
		if slices.ContainsFunc(prints, fp.repeats) {
			w.skip(policy.LayerKnowledge, "duplicate", f.passage.ID)
			continue
		}
		if len(o.items) == want {
			w.skip(policy.LayerKnowledge, "budget", f.passage.ID)
			continue
		}
		prints = append(prints, fp)
		o.items = append(o.items, passageItem(f))
	}
	w.offers = append(w.offers, o)
}

func passageItem(f *found) item {
	p := f.passage
	n := p.Tokens
	if n <= 0 {
		n = tokens.Estimate(p.Text)
	}
	return item{id: p.ID, score: f.cover, cosine: f.cosine, passage: p, tokens: n + tokens.Estimate(p.Title) + tokens.Estimate(p.Heading) + passageTokens}
}
