package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"strata/intent"
)

// The figures of the plan table. Floors are shares of a query's rarity that
// the best passage must cover.
const (
	planChatBudget = 800 // tokens
	planRAGBudget  = 2500
	planDataBudget = 1500

	planChatDeadline = 50 * time.Millisecond
	planRAGDeadline  = 150 * time.Millisecond
	planRAGRemote    = 400 * time.Millisecond // with an embedder behind a network
	planDataDeadline = 100 * time.Millisecond

	planRAGFloor   = 0.28
	planProbeFloor = 0.45 // where only the probe says that it is a question for the documents
)

// Bounds of what a configuration may set.
const (
	planMaxBudget   = 100_000
	planMinDeadline = time.Millisecond
	planMaxDeadline = 10 * time.Second
	planMaxItems    = 100
)

// roomLeast is the fewest tokens worth inserting.
const roomLeast = 100

// Row is what one intent reads.
type Row struct {
	Layers     []LayerPlan // highest authority first
	Budget     int         // tokens of the whole block
	Deadline   time.Duration
	Remote     time.Duration // the deadline with a remote embedder; 0 = Deadline
	Floor      float64
	ProbeFloor float64 // the floor of verdicts of stage probe; 0 = Floor
}

// Table is what each intent reads. It is data: nothing changes a table once
// it is made.
type Table map[intent.Intent]Row

// DefaultTable returns the table that stands without a configuration. Items
// of the memory layer count similar memories; standing statements are not
// searched and not counted. Items of the recent layer are turns. Shares are
// each layer's for sure, the rest goes to whoever needs it.
func DefaultTable() Table {
	return Table{
		intent.Chat: {Budget: planChatBudget, Deadline: planChatDeadline, Layers: []LayerPlan{
			{LayerMemory, 3, 0.4}, {LayerSummary, 1, 0.2}, {LayerRecent, 10, 0.4},
		}},
		intent.RAG: {Budget: planRAGBudget, Deadline: planRAGDeadline, Remote: planRAGRemote,
			Floor: planRAGFloor, ProbeFloor: planProbeFloor, Layers: []LayerPlan{
				{LayerKnowledge, 10, 0.7}, {LayerMemory, 3, 0.1}, {LayerSummary, 1, 0.05}, {LayerRecent, 4, 0.15},
			}},
		intent.Data: {Budget: planDataBudget, Deadline: planDataDeadline, Layers: []LayerPlan{
			{LayerState, 1, 0.35}, {LayerTool, 4, 0.25}, {LayerMemory, 3, 0.15}, {LayerSummary, 1, 0.1}, {LayerRecent, 4, 0.15},
		}},
	}
}

// RowChange is what a configuration sets of a row; zero leaves a figure as it
// is. Items of 0 turn a layer off.
type RowChange struct {
	Budget   int           // tokens
	Deadline time.Duration // stands for both kinds of embedder
	Items    map[Layer]int
}

// With returns the table with changes made. An error names the key, as in
// plan.rag.budget.
func (t Table) With(changes map[intent.Intent]RowChange) (Table, error) {
	out := maps.Clone(t)
	var errs []error
	for _, in := range slices.Sorted(maps.Keys(changes)) {
		row, ok := out[in]
		if !ok {
			errs = append(errs, fmt.Errorf("plan.%s: no such intent; there are chat, rag and data", in))
			continue
		}
		errs = append(errs, row.change("plan."+string(in), changes[in]))
		out[in] = row
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

func (r *Row) change(key string, c RowChange) error {
	var errs []error
	if c.Budget < 0 || c.Budget > planMaxBudget {
		errs = append(errs, fmt.Errorf("%s.budget: %d is not between 1 and %d tokens", key, c.Budget, planMaxBudget))
	} else if c.Budget > 0 {
		r.Budget = c.Budget
	}
	if c.Deadline != 0 && (c.Deadline < planMinDeadline || c.Deadline > planMaxDeadline) {
		errs = append(errs, fmt.Errorf("%s.deadline: %s is not between %s and %s", key, c.Deadline, planMinDeadline, planMaxDeadline))
	} else if c.Deadline > 0 {
		r.Deadline, r.Remote = c.Deadline, 0
	}
	r.Layers = slices.Clone(r.Layers)
	for _, layer := range slices.Sorted(maps.Keys(c.Items)) {
		n := c.Items[layer]
		at := slices.IndexFunc(r.Layers, func(l LayerPlan) bool { return l.Layer == layer })
		switch {
		case at < 0:
			errs = append(errs, fmt.Errorf("%s.items.%s: this intent does not read that layer", key, layer))
		case n < 0 || n > planMaxItems:
			errs = append(errs, fmt.Errorf("%s.items.%s: %d is not between 0 and %d", key, layer, n, planMaxItems))
		case n == 0:
			r.Layers = slices.Delete(r.Layers, at, at+1)
		default:
			r.Layers[at].Items = n
		}
	}
	return errors.Join(errs...)
}

// WithRemoteEmbedder returns the table with the deadlines that an embedder
// behind a network needs.
func (t Table) WithRemoteEmbedder() Table {
	out := maps.Clone(t)
	for in, row := range out {
		if row.Remote > 0 {
			row.Deadline = row.Remote
			out[in] = row
		}
	}
	return out
}

// PlanFor says what is read for a caller's request and what becomes of it.
// Layers belongs to the table. Record false with Read true asks for the
// receipt alone; all four false (off, helper calls, no tenant) for nothing.
func (t Table) PlanFor(c Caller, v intent.Verdict) Plan {
	row, ok := t[v.Intent]
	if !ok {
		v.Intent = intent.Chat
		row = t[intent.Chat]
	}
	p := Plan{Intent: v.Intent, Layers: row.Layers, Budget: row.Budget, Deadline: row.Deadline, Floor: row.Floor}
	if v.Stage == "probe" && row.ProbeFloor > 0 {
		p.Floor, p.Strict = row.ProbeFloor, true
	}
	if c.Tenant == "" || c.Task != "" {
		p.Layers = nil
		return p
	}
	p.Read, p.Inject, p.Record, p.Learn = planMode(c.Mode).and(planStage(c.Stage)).fields()
	if c.User == "" || c.NoLearn {
		p.Record, p.Learn = false, false
	}
	p.Layers = planLayers(p, c)
	return p
}

// deeds are what may be done with a request.
type deeds struct{ read, inject, record, learn bool }

func (a deeds) and(b deeds) deeds {
	return deeds{a.read && b.read, a.inject && b.inject, a.record && b.record, a.learn && b.learn}
}

func (a deeds) fields() (read, inject, record, learn bool) {
	return a.read, a.inject, a.record, a.learn
}

func planMode(m Mode) deeds {
	switch m {
	case On:
		return deeds{true, true, true, true}
	case Observe:
		return deeds{read: true, record: true}
	case ReadOnly:
		return deeds{read: true, inject: true}
	case WriteOnly:
		return deeds{record: true, learn: true}
	}
	return deeds{}
}

func planStage(s Stage) deeds {
	switch s {
	case Summary:
		return deeds{record: true}
	case Write:
		return deeds{record: true, learn: true}
	case Recall:
		return deeds{true, true, true, true}
	}
	return deeds{} // route: classify, no more
}

// planPersonal are the layers that are one person's: their statements, and
// what their conversations hold.
var planPersonal = []Layer{LayerMemory, LayerRecent, LayerSummary}

// planLayers leaves out what this caller may not be served: without a user
// all but knowledge, in a place that others see what is personal.
func planLayers(p Plan, c Caller) []LayerPlan {
	if !p.Read {
		return nil
	}
	if c.User != "" && c.Private {
		return p.Layers
	}
	var out []LayerPlan
	for _, l := range p.Layers {
		if l.Layer == LayerKnowledge || c.User != "" && !slices.Contains(planPersonal, l.Layer) {
			out = append(out, l)
		}
	}
	return out
}

// Room is how many tokens a block may have in a model's window beside the
// request (estimate) and the answer (maxTokens, 0 = not limited); -1 when the
// window is unknown, 0 when there is too little room to insert anything.
func Room(window, estimate, maxTokens int) int {
	if window <= 0 {
		return -1
	}
	left := window - min(max(estimate, 0), window)
	left -= min(max(maxTokens, 0), left)
	if left < roomLeast {
		return 0
	}
	return left
}
