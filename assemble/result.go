package assemble

import (
	"math"
	"slices"
	"strata/policy"
	"strata/stores"
)

// finish words what was kept and says what it is.
func (w *walk) finish() Result {
	r := Result{Skipped: w.skipped, Tokens: w.stableAt, Chosen: w.chosen}
	r.Stable = renderStable(w.stable, w.q.Zone)
	layers := make([]LayerUse, 0, 1+len(w.offers))
	if len(w.stable) > 0 {
		r.StableIDs = make([]string, len(w.stable))
		for i, m := range w.stable {
			r.StableIDs[i] = m.ID
		}
		layers = append(layers, LayerUse{Name: string(stableLayer), IDs: r.StableIDs, Tokens: w.stableAt})
	}
	var c contents
	for i := range w.offers {
		c.add(&w.offers[i])
	}
	c.passages = inReadingOrder(c.passages)
	if !c.empty() {
		r.Volatile = renderVolatile(c, w.language(), w.q.Zone)
		r.Items, r.Sources = c.ids(), c.sources()
		r.Tokens += volatileFrame
	}
	for i := range w.offers {
		o := &w.offers[i]
		if _, read := w.readTime(o.layer); !read && len(o.items) == 0 {
			continue
		}
		use := w.use(o)
		r.Tokens += use.Tokens
		layers = append(layers, use)
	}
	if len(layers) > 0 {
		r.Layers = layers
	}
	w.judge(&r)
	return r
}

func (w *walk) use(o *offer) LayerUse {
	use := LayerUse{Name: string(o.layer), IDs: make([]string, 0, len(o.items)), Tokens: o.tokens()}
	use.Millis, _ = w.readTime(o.layer)
	scored := o.layer != policy.LayerRecent && !w.repeated
	if scored && len(o.items) > 0 {
		use.Scores = make([]float64, 0, len(o.items))
	}
	near := scored && w.near && o.layer == policy.LayerKnowledge
	for i := range o.items {
		use.IDs = append(use.IDs, o.items[i].id)
		if scored {
			use.Scores = append(use.Scores, thousandths(o.items[i].score))
		}
		if near {
			use.Cosines = append(use.Cosines, thousandths(o.items[i].cosine))
		}
	}
	return use
}

func thousandths(v float64) float64 { return math.Round(v*1000) / 1000 }

func (w *walk) language() string {
	for _, text := range [...]string{w.q.Words, w.q.Before} {
		if l := language(text); l != "" {
			return l
		}
	}
	return "en"
}

// judge names the result.
func (w *walk) judge(r *Result) {
	r.Reason = w.reason
	switch {
	case r.Stable == "" && r.Volatile == "":
		r.Context = "none"
		if r.Reason == "" && w.q.Room >= 0 && w.q.Room < w.plan.Budget && w.crowded() {
			r.Reason = "window"
		}
	case w.reason != "":
		r.Context = "partial"
	default:
		r.Context = "full"
	}
	if r.Reason == "" && w.q.Scope.User == "" {
		r.Reason = "no_user"
	}
	if r.Reason == "" && r.Context == "none" {
		r.Reason = "no_match"
	}
}

// crowded reports whether something would have been added had there been room.
func (w *walk) crowded() bool {
	for i := range w.skipped {
		if w.skipped[i].Reason == "budget" {
			return true
		}
	}
	return false
}

func (c *contents) add(o *offer) {
	for i := range o.items {
		switch it := &o.items[i]; {
		case it.passage != nil:
			c.passages = append(c.passages, it.passage)
		case it.turn != nil:
			c.turns = append(c.turns, it.turn)
		case it.memory.Type == stores.Conclusion || it.memory.Type == stores.Summary:
			c.findings = append(c.findings, it.memory)
		default:
			c.memories = append(c.memories, it.memory)
		}
	}
}

// sources are what the block names, each once.
func (c *contents) sources() (out []Source) {
	for _, p := range joined(c.passages) {
		s := Source{Document: p.Document, Title: p.Title, Section: p.Heading}
		if s.Section == s.Title {
			s.Section = ""
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// ids are in the order of the text.
func (c *contents) ids() []string {
	out := make([]string, 0, len(c.passages)+len(c.findings)+len(c.memories)+len(c.turns))
	for _, p := range c.passages {
		out = append(out, p.ID)
	}
	for _, m := range c.findings {
		out = append(out, m.ID)
	}
	for _, m := range c.memories {
		out = append(out, m.ID)
	}
	for _, t := range c.turns {
		out = append(out, turnID(t))
	}
	return out
}
