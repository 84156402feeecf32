package assemble

import (
	"math"
	"slices"

	"strata/policy"
	"strata/stores"
)

// What wording costs beside the texts, in tokens.
const (
	volatileFrame = 90
	stableFrame   = 75
	passageTokens = 24
	memoryTokens  = 14
	turnTokens    = 6

	stableLimit = 300 // of the stable block
)

// stableLayer names the stable block in receipts.
const stableLayer policy.Layer = "stable"

// item is one thing that may be put into the block: a passage, a memory or a
// turn.
type item struct {
	id      string
	score   float64
	cosine  float64
	tokens  int
	passage *stores.Passage
	memory  *row
	turn    *stores.Turn
}

// offer is what one layer would give, best first.
type offer struct {
	layer       policy.Layer
	share       float64 // of the budget that is the layer's for sure
	items       []item
	newestFirst bool // room goes to the last items first, without gaps
}

func (o *offer) tokens() int {
	n := 0
	for i := range o.items {
		n += o.items[i].tokens
	}
	return n
}

// budget is what both blocks may take together.
func (w *walk) budget() int {
	b := w.plan.Budget
	if b <= 0 {
		b = math.MaxInt32
	}
	if w.q.Room >= 0 {
		b = min(b, w.q.Room)
	}
	return b
}

// choose decides what is offered, in the plan's order, and fits it into the
// budget.
func (w *walk) choose() {
	budget := w.budget()
	w.standing(min(stableLimit, budget))
	_, asked := w.layer(policy.LayerMemory)
	w.chosen = asked && (w.rows != nil || w.open.Memories == 0)
	for _, p := range w.plan.Layers {
		if p.Layer == policy.LayerKnowledge {
			w.offerKnowledge(p) // first: earlier findings are held against it
		}
	}
	for _, p := range w.plan.Layers {
		switch p.Layer {
		case policy.LayerMemory:
			w.offerMemory(p)
		case policy.LayerRecent:
			w.offerRecent(p)
		}
	}
	w.inPlanOrder()
	w.fit(budget - w.stableAt - volatileFrame)
}

func (w *walk) inPlanOrder() {
	rank := func(o offer) int {
		if w.q.Recall && o.layer == policy.LayerMemory {
			return -1
		}
		return slices.IndexFunc(w.plan.Layers, func(p policy.LayerPlan) bool { return p.Layer == o.layer })
	}
	slices.SortStableFunc(w.offers, func(a, b offer) int { return rank(a) - rank(b) })
	if w.q.Recall && len(w.offers) > 0 {
		for i := range w.offers[1:] {
			w.offers[i+1].share = 0 // the list comes before everything
		}
	}
}

// fit gives room by authority; what a lower layer is sure of is kept back, as
// far as it has use for it.
func (w *walk) fit(room int) {
	whole := room
	for i := range w.offers {
		o, free := &w.offers[i], room
		for j := range w.offers[i+1:] {
			below := &w.offers[i+1+j]
			free -= min(int(below.share*float64(whole)), below.tokens())
		}
		room -= w.take(o, free)
	}
}

// take keeps of an offer what fits into free tokens.
func (w *walk) take(o *offer, free int) (used int) {
	kept := make([]bool, len(o.items))
	for n := range o.items {
		i := n
		if o.newestFirst {
			i = len(o.items) - 1 - n
		}
		if used+o.items[i].tokens > free {
			if o.newestFirst {
				break
			}
			continue
		}
		used += o.items[i].tokens
		kept[i] = true
	}
	fit := o.items[:0:0]
	for i := range o.items {
		if kept[i] {
			fit = append(fit, o.items[i])
		} else {
			w.skip(o.layer, "budget", o.items[i].id)
		}
	}
	o.items = fit
	return used
}

// repeat offers exactly the items that the turn was given before, in their
// order, as far as they are still valid.
func (w *walk) repeat() {
	w.repeated = true
	if w.rows != nil {
		w.pin(w.open.Turn.Stable)
	}
	facts := offer{layer: policy.LayerKnowledge}
	mine := offer{layer: policy.LayerMemory}
	said := offer{layer: policy.LayerRecent, newestFirst: true}
	for _, id := range w.open.Turn.Items {
		if m := w.rows.with(id); m != nil && w.mayServe(m.Memory) {
			mine.items = append(mine.items, item{id: id, memory: m, tokens: m.cost})
		} else if i := slices.IndexFunc(w.found, func(f found) bool { return f.passage.ID == id }); i >= 0 {
			facts.items = append(facts.items, passageItem(&w.found[i]))
		} else if i := slices.IndexFunc(w.turns, func(t stores.Turn) bool { return turnID(&t) == id }); i >= 0 {
			said.items = append(said.items, turnItem(&w.turns[i]))
		}
	}
	w.offers = []offer{facts, mine, said}
	room := math.MaxInt32
	if w.q.Room >= 0 {
		room = w.q.Room - w.stableAt - volatileFrame
	}
	w.fit(room)
}
