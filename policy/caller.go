// Package policy holds the pure decisions: who asks, which session and turn a
// request belongs to, what each intent may read, what is worth keeping, what is
// never kept. It must not read or write anything.
package policy

import (
	"time"

	"strata/intent"
	"strata/stores"
)

// Mode says what happens to a chat request.
type Mode string

// The modes.
const (
	On        Mode = "on"
	Observe   Mode = "observe"    // decide and record, inject nothing, learn nothing
	ReadOnly  Mode = "read-only"  // inject, store nothing but the receipt
	WriteOnly Mode = "write-only" // record and learn, inject nothing
	Off       Mode = "off"        // bytes only
)

// ParseMode reads a mode.
func ParseMode(s string) (Mode, bool) {
	switch m := Mode(s); m {
	case On, Observe, ReadOnly, WriteOnly, Off:
		return m, true
	}
	return "", false
}

// Stage is how much of Strata is rolled out; each includes the one before.
type Stage string

// The stages.
const (
	Route   Stage = "route"   // classify
	Summary Stage = "summary" // and record, summarise
	Write   Stage = "write"   // and learn
	Recall  Stage = "recall"  // and inject
)

// ParseStage reads a stage.
func ParseStage(s string) (Stage, bool) {
	switch st := Stage(s); st {
	case Route, Summary, Write, Recall:
		return st, true
	}
	return "", false
}

// Caller is who asks and how.
type Caller struct {
	Tenant, User, Session string
	Named                 bool // the session came by header
	Groups                []string
	Timezone              string // IANA name, "" = the configured zone
	Mode                  Mode
	Stage                 Stage
	Forced                string // X-Strata-Intent
	Task                  string // X-Strata-Task: a helper call of a front end
	Private               bool   // personal memory may be served here
	NoLearn               bool   // temporary chats and channels: no text is recorded, nothing learned
	NoUser                string // the fix where there is no user: fix=identity[; cause=copies|list|control|length|encoding|placeholder]
}

// Scope is whose rows this caller's are.
func (c Caller) Scope() stores.Scope {
	return stores.Scope{Tenant: c.Tenant, User: c.User, Session: c.Session, Groups: c.Groups}
}

// Layer is one source of context.
type Layer string

// The layers.
const (
	LayerRecent    Layer = "recent"
	LayerSummary   Layer = "summary"
	LayerMemory    Layer = "memory"
	LayerKnowledge Layer = "knowledge"
	LayerTool      Layer = "tool"
	LayerState     Layer = "state"
)

// LayerPlan is how much of one layer a plan takes.
type LayerPlan struct {
	Layer Layer
	Items int     // at most
	Share float64 // of the budget that is this layer's for sure
}

// Plan is what is read, in which order and how much of it.
type Plan struct {
	Intent   intent.Intent
	Layers   []LayerPlan // highest authority first
	Budget   int         // tokens of the whole block
	Deadline time.Duration
	Floor    float64 // share of a query's rarity that the best passage must cover, while nothing tells more
	Strict   bool    // it must cover that whatever else tells that it is on the subject

	Read   bool // fetch and assemble
	Inject bool
	Record bool
	Learn  bool
}
