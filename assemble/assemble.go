// Package assemble decides what of a user's memories, a tenant's knowledge and
// a session's turns goes into one request, and how it is worded. It reads the
// layers of a plan side by side and never lasts longer than the plan allows.
// It must not know where requests come from, how texts are inserted, or how
// anything is stored.
package assemble

import (
	"context"
	"time"

	"strata/policy"
	"strata/stores"
)

// Ledger is where texts come from. What it does not return is not served.
type Ledger interface {
	Memories(context.Context, stores.Scope) ([]stores.Memory, error)
	Passages(ctx context.Context, scope stores.Scope, ids []string) ([]stores.Passage, error)
	Recent(ctx context.Context, scope stores.Scope, n int) ([]stores.Turn, error)
}

// Index finds passages by their words.
type Index interface {
	Search(ctx context.Context, tenant, query string, limit int) ([]stores.Hit, error)
}

// Vectors finds passages by what they mean. It is asked beside the index, and
// what it has not answered by the layer's deadline is gone without.
type Vectors interface {
	// Nearest returns one list of hits a query, in the queries' order; a hit's
	// score is its cosine.
	Nearest(ctx context.Context, tenant string, queries []string, limit int) (Near, error)
}

// Near is what vectors find, and by what a cosine is judged.
type Near struct {
	Hits  [][]stores.Hit          // one list a query, best first
	Noise map[string]stores.Noise // by language of the query; one that is missing is not searched by vectors
}

// Rerank says how well each text answers a query. The scores are in the order
// of the texts and comparable within one call only.
type Rerank func(ctx context.Context, query string, texts []string) ([]float64, error)

// Cache may hold memories that were read before, under the generations that
// the request's opening told. stores/cached is one, over Prepare.
type Cache interface {
	Held(scope stores.Scope, userGen, kbGen int64) (*Rows, bool) // without waiting
	Memories(ctx context.Context, scope stores.Scope, userGen, kbGen int64) (*Rows, error)
}

// Config says what an assembler reads.
type Config struct {
	Ledger   Ledger
	Index    Index            // nil: no knowledge
	Vectors  Vectors          // nil: passages are found by their words alone
	Rerank   Rerank           // nil: passages stay in the order in which they were found
	Cache    Cache            // nil: memories are read from the ledger each time
	Clock    func() time.Time // nil = time.Now; used where a query names no time
	InFlight int              // reads of one layer under way at a time, above it the layer is skipped; 0 = 128
	Probe    time.Duration    // longest that a probe takes; 0 = 20 ms
	// Filling tells that passages of a tenant are not in the index yet, since it
	// was lost and is filled again. It is asked at each search; nil: never.
	Filling func(ctx context.Context, tenant string) bool
}

// Query is what is asked, and by whom. A read that is late may outlast the
// request, so no string may lie in a buffer that is used again.
type Query struct {
	Scope    stores.Scope
	Words    string                 // the user's own words
	Before   string                 // those of the user turn before
	FollowUp bool                   // the words lean on the turn before
	Request  func(text string) bool // whether the client's messages hold this text; nil: unknown
	Thin     bool                   // the client sends one message and relies on the recorded turns
	ToolLoop bool                   // only assistant and tool messages follow the user's
	Recall   bool                   // "what do you remember about me"
	Forget   bool                   // this turn asks to forget: no memory, and no turn that may quote it
	Room     int                    // tokens that may be added; below 0 = unknown
	Zone     *time.Location         // of the user, nil = UTC
	Now      time.Time              // zero = the clock
	Private  bool                   // personal memory may be served
}

// LayerUse is what one layer gave.
type LayerUse struct {
	Name   string    `json:"name"`
	IDs    []string  `json:"ids"`
	Scores []float64 `json:"scores,omitempty"` // of passages: the share of the question that their words cover
	// Cosines of passages, where vectors were looked through; 0 where they did
	// not find one.
	Cosines []float64 `json:"cosines,omitempty"`
	Tokens  int       `json:"tokens"`
	Millis  float64   `json:"ms"`
}

// Skipped is a layer, or with an id one candidate, that was left out. Layers:
// late, error, busy; of knowledge also what it was read without:
// vectors_late, vectors_failed, rerank_late, rerank_failed, and filling, where
// the index does not have everything yet. Candidates: floor, budget, duplicate,
// visible, clash, expired.
type Skipped struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	ID     string `json:"id,omitempty"`
}

// Source is where passages of the volatile block are from.
type Source struct {
	Document string `json:"document"` // id
	Title    string `json:"title,omitempty"`
	Section  string `json:"section,omitempty"` // path of headings, pages or rows at its end
}

// Result is the context of one request and how it came about.
type Result struct {
	Stable    string   // for the end of the leading system message
	Volatile  string   // for the end of the last user message
	StableIDs []string // in their order in Stable
	Chosen    bool     // the stable block could be chosen, be it empty: it stands for the session
	Items     []string // in their order in Volatile
	Sources   []Source // of the passages in Volatile, in their order
	Context   string   // full, partial, none
	Reason    string   // no_match, late, ledger, store_unavailable, window, no_user, or ""
	Tokens    int      // of both texts, by the counts made when their parts were written
	Layers    []LayerUse
	Skipped   []Skipped
}

const (
	leastRoom       = 100 // tokens; below it nothing is worth adding
	defaultInFlight = 128
	defaultProbe    = 20 * time.Millisecond
	defaultDeadline = 150 * time.Millisecond
	maxSkipped      = 10 // candidates of one layer and reason that a receipt names
)

// Assembler assembles. Make it with New; it is safe for concurrent use.
type Assembler struct {
	cfg                                     Config
	memory, knowledge, recent, near, rerank gate
	measured                                measured
}

// New returns an assembler.
func New(cfg Config) *Assembler {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.InFlight <= 0 {
		cfg.InFlight = defaultInFlight
	}
	if cfg.Probe <= 0 {
		cfg.Probe = defaultProbe
	}
	a := &Assembler{cfg: cfg, measured: measured{gate: make(gate, measuring)}}
	for _, g := range []*gate{&a.memory, &a.knowledge, &a.recent, &a.near, &a.rerank} {
		*g = make(gate, cfg.InFlight)
	}
	return a
}

// Assemble reads the plan's layers and words them. It never fails and never
// outlasts the plan's deadline: what is late or broken is in Skipped.
func (a *Assembler) Assemble(ctx context.Context, q Query, plan policy.Plan, open stores.Opening) Result {
	if !plan.Read {
		return Result{Context: "none"}
	}
	if q.Room >= 0 && q.Room < leastRoom {
		return Result{Context: "none", Reason: "window"}
	}
	w := newWalk(a, ctx, q, plan, open)
	defer w.end()
	if q.ToolLoop && open.Turn != nil {
		w.again()
	} else {
		w.read()
		w.choose()
	}
	return w.finish()
}

// walk is one call of Assemble. Only the caller's goroutine touches it: a
// read that is still under way when the deadline ends knows nothing of it.
type walk struct {
	a     *Assembler
	outer context.Context
	q     Query
	plan  policy.Plan
	open  stores.Opening
	begun time.Time

	personal stores.Scope // to read memories with

	ctx    context.Context // made when the first read needs it
	cancel context.CancelFunc

	rows  *Rows
	found []found
	near  bool // vectors were looked through
	turns []stores.Turn

	stable   []*row
	stableAt int // tokens of stable
	chosen   bool
	offers   []offer
	millis   []layerMillis
	skipped  []Skipped
	repeated bool   // a tool loop: ranks were made before
	reason   string // of the first broken layer
}

func newWalk(a *Assembler, ctx context.Context, q Query, plan policy.Plan, open stores.Opening) *walk {
	if q.Now.IsZero() {
		q.Now = a.cfg.Clock()
	}
	if q.Zone == nil {
		q.Zone = time.UTC
	}
	if q.Scope.Session == "" {
		q.Scope.Session = open.Session
	}
	if plan.Deadline <= 0 {
		plan.Deadline = defaultDeadline
	}
	w := &walk{a: a, outer: ctx, q: q, plan: plan, open: open, begun: time.Now()}
	w.personal = w.personalScope()
	return w
}

// layerMillis is how long a layer's read took.
type layerMillis struct {
	layer  policy.Layer
	millis float64
}

func (w *walk) note(l policy.Layer, ms float64) { w.millis = append(w.millis, layerMillis{l, ms}) }

// readTime returns how long a layer's read took, false if it gave nothing.
func (w *walk) readTime(l policy.Layer) (float64, bool) {
	for _, m := range w.millis {
		if m.layer == l {
			return m.millis, true
		}
	}
	return 0, false
}

// bounded is the context of reads. A walk that finds everything at hand needs
// none.
func (w *walk) bounded() context.Context {
	if w.ctx == nil {
		w.ctx, w.cancel = context.WithDeadline(w.outer, w.begun.Add(w.plan.Deadline))
	}
	return w.ctx
}

func (w *walk) end() {
	if w.cancel != nil {
		w.cancel()
	}
}

func (w *walk) layer(l policy.Layer) (policy.LayerPlan, bool) {
	for _, p := range w.plan.Layers {
		if p.Layer == l {
			return p, true
		}
	}
	return policy.LayerPlan{}, false
}

// skip notes a candidate that was left out. Receipts name the first few.
func (w *walk) skip(l policy.Layer, reason, id string) {
	same := 0
	for i := range w.skipped {
		if w.skipped[i].Reason == reason && w.skipped[i].Name == string(l) {
			same++
		}
	}
	if same < maxSkipped {
		w.skipped = append(w.skipped, Skipped{Name: string(l), Reason: reason, ID: id})
	}
}

// broke notes a layer that gave nothing because of err.
func (w *walk) broke(l policy.Layer, err error) {
	reason, word := "error", "ledger"
	if l == policy.LayerKnowledge {
		word = "store_unavailable"
	}
	switch {
	case late(err):
		reason, word = "late", "late"
	case err == errBusy:
		reason, word = "busy", "late"
	}
	w.skipped = append(w.skipped, Skipped{Name: string(l), Reason: reason})
	if w.reason == "" {
		w.reason = word
	}
}
