package assemble

import (
	"cmp"
	"math"
	"slices"

	"strata/intent"
	"strata/policy"
	"strata/stores"
)

const (
	// memoryFloor is the least share of a question's rarity that a memory
	// covers. On raw chat turns, twenty a user, it lets 0.6-0.7 of the answers
	// through and finds something among a stranger's in 4 to 9 % of the
	// questions; memories are shorter than turns and so meet fewer words.
	memoryFloor  = 0.22
	nearMiss     = 0.15 // from here on a receipt names a memory below the floor
	usualSimilar = 5    // memories, where the plan does not say
	chatSimilar  = 3
	// priorRows are rows that nobody wrote: among a handful of memories a
	// term's rarity says little, and a question's unknown words would
	// outweigh all that fit.
	priorRows  = 20
	kindBoost  = 1.1  // for the kind of memory that answers this kind of question
	focusBoost = 0.05 // at most, for memories that are about nothing else
	// askedShare is the least share of a memory whose topic the question asks
	// for, in whatever words and language.
	askedShare = 0.5
)

// decay is how fast memories fade, per day. Preferences and agreements stay.
var decay = map[stores.MemoryType]float64{
	stores.Preference: 0, stores.Agreement: 0, stores.Goal: 0.02, stores.Conclusion: 0.01, stores.Summary: 0.01,
}

const otherDecay = 0.05

// taste is how much an intent cares for a type; what is missing counts whole.
var taste = map[intent.Intent]map[stores.MemoryType]float64{
	intent.RAG:  {stores.Agreement: 0.9, stores.Goal: 0.8},
	intent.Data: {stores.Goal: 0.8, stores.Summary: 0.9},
}

// mayServe checks again what the ledger has checked: whose row it is, and
// that it is in force.
func (w *walk) mayServe(m *stores.Memory) bool {
	scope := &w.personal
	if m.Status != "" && m.Status != stores.Active {
		return false
	}
	switch m.Scope {
	case stores.WorkspaceScope:
	case stores.SessionScope:
		if scope.User == "" || m.Session != scope.Session {
			return false
		}
	default:
		if scope.User == "" {
			return false
		}
	}
	if m.Scope != stores.WorkspaceScope && m.User != "" && m.User != scope.User {
		return false
	}
	return m.ExpiresAt.IsZero() || w.q.Now.Before(m.ExpiresAt)
}

// standing chooses the stable block: what was pinned for the session as far
// as it is valid, or at the start of an epoch all standing statements.
func (w *walk) standing(limit int) {
	if w.rows == nil {
		return
	}
	if w.open.Fixed && w.open.PinnedGen == w.open.StableGen {
		w.pin(w.open.Pinned)
		return
	}
	list := make([]*row, 0, len(w.rows.standing))
	for _, m := range w.rows.standing {
		if w.mayServe(m.Memory) {
			list = append(list, m)
		}
	}
	for _, m := range list {
		w.stableAt += m.cost
	}
	for len(list) > 0 && w.stableAt+stableFrame > limit {
		least := slices.MinFunc(list, func(a, b *row) int { return cmp.Compare(a.Importance, b.Importance) })
		w.stableAt -= least.cost
		w.skip(stableLayer, "budget", least.ID)
		list = slices.DeleteFunc(list, func(m *row) bool { return m == least })
	}
	w.stable = list
	if len(list) > 0 {
		w.stableAt += stableFrame
	}
}

// pin takes the statements of ids that are still valid, in this order.
func (w *walk) pin(ids []string) {
	for _, id := range ids {
		if m := w.rows.with(id); m != nil && m.Standing && w.mayServe(m.Memory) {
			w.stable = append(w.stable, m)
			w.stableAt += m.cost
		}
	}
	if len(w.stable) > 0 {
		w.stableAt += stableFrame
	}
	if w.q.Room >= 0 && w.stableAt > w.q.Room {
		for _, m := range w.stable {
			w.skip(stableLayer, "budget", m.ID)
		}
		w.stable, w.stableAt = nil, 0
	}
}

// ranked is a memory and how well it fits.
type ranked struct {
	*row
	score float64
}

// offerMemory offers the memories that fit the question best.
func (w *walk) offerMemory(p policy.LayerPlan) {
	if w.rows == nil {
		return
	}
	o := offer{layer: policy.LayerMemory, share: p.Share}
	want := p.Items
	list := w.everything
	if !w.q.Recall {
		list = w.similar
		if want <= 0 {
			want = usualSimilar
		}
		if w.plan.Intent == intent.Chat {
			want = min(want, chatSimilar)
		}
	} else {
		want = math.MaxInt
	}
	fit := list()
	visible := w.visible(fit[:min(len(fit), want)])
	for _, m := range fit {
		switch {
		case len(o.items) == want:
			w.skip(policy.LayerMemory, "budget", m.ID)
		case visible(m.Memory):
			w.skip(policy.LayerMemory, "visible", m.ID)
		case w.clash(m.Memory):
			w.skip(policy.LayerMemory, "clash", m.ID)
		default:
			o.items = append(o.items, item{id: m.ID, score: m.score, memory: m.row, tokens: m.cost})
		}
	}
	w.offers = append(w.offers, o)
}

// everything is what is remembered, the weightiest first.
func (w *walk) everything() []ranked {
	var out []ranked
	for i := range w.rows.list {
		m := &w.rows.list[i]
		if w.mayServe(m.Memory) && !slices.Contains(w.stable, m) {
			out = append(out, ranked{m, 1})
		}
	}
	slices.SortFunc(out, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.Importance, a.Importance), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// similar ranks the memories that cover enough of the question.
func (w *walk) similar() []ranked {
	var room [usualTopics]topic
	question := appendTopics(room[:0], w.question())
	asked := policy.TopicsAsked(w.q.Words)
	if len(question)+len(asked) == 0 {
		return nil
	}
	share, held := w.rows.cover(question)
	if len(asked) > 0 {
		for i := range w.rows.list {
			if slices.Contains(asked, w.rows.list[i].Topic) {
				share[i] = max(share[i], askedShare)
			}
		}
	}
	kind, tastes := kindAsked(w.q.Words), taste[w.plan.Intent]
	var out []ranked
	for i := range w.rows.list {
		m := &w.rows.list[i]
		switch {
		case share[i] == 0 || slices.Contains(w.stable, m):
			continue
		case !w.mayServe(m.Memory):
			if !m.ExpiresAt.IsZero() && !w.q.Now.Before(m.ExpiresAt) {
				w.skip(policy.LayerMemory, "expired", m.ID)
			}
			continue
		case share[i] < memoryFloor:
			if share[i] >= nearMiss {
				w.skip(policy.LayerMemory, "floor", m.ID)
			}
			continue
		}
		score := share[i] * w.fade(m.Memory) * (1 + focusBoost*float64(held[i])/float64(max(1, m.terms)))
		if t, ok := tastes[m.Type]; ok {
			score *= t
		}
		if kind != "" && m.Kind == kind {
			score *= kindBoost
		}
		out = append(out, ranked{m, score})
	}
	slices.SortFunc(out, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// fade is what age leaves of a memory. Days are whole, so that a minute
// changes nothing.
func (w *walk) fade(m *stores.Memory) float64 {
	lambda, ok := decay[m.Type]
	if !ok {
		lambda = otherDecay
	}
	if lambda == 0 {
		return 1
	}
	at := m.UpdatedAt
	if at.IsZero() {
		at = m.CreatedAt
	}
	days := math.Floor(w.q.Now.Sub(at).Hours() / 24)
	if at.IsZero() || days <= 0 {
		return 1
	}
	return math.Exp(-lambda * days)
}

// visible returns what tells the memories that the client's own messages say
// already: in the memory's words, or in the words it was made from. Those are
// read only where one of the best is of this very session.
func (w *walk) visible(best []ranked) func(*stores.Memory) bool {
	if w.q.Request == nil || w.q.Recall {
		return func(*stores.Memory) bool { return false }
	}
	said := map[string]string{}
	if w.spokenHere(best) {
		// Where this read fails the memory is shown twice; no layer is missing.
		if p, err := start(w.bounded(), w.a.recent, w.recentReader(sourceTurns)); err == nil {
			for _, t := range p.wait(w.bounded()).value {
				if t.Role == "user" {
					said[t.Exchange] = t.Content
				}
			}
		}
	}
	return func(m *stores.Memory) bool {
		return w.q.Request(m.Summary) ||
			slices.ContainsFunc(m.Sources, func(id string) bool { return said[id] != "" && w.q.Request(said[id]) })
	}
}

// spokenHere reports whether a memory comes from this very session and its
// words may be among the client's messages.
func (w *walk) spokenHere(list []ranked) bool {
	if w.q.Thin || w.open.Turns == 0 || w.q.Scope.Session == "" {
		return false
	}
	return slices.ContainsFunc(list, func(m ranked) bool {
		return m.Session == w.q.Scope.Session && len(m.Sources) > 0
	})
}
