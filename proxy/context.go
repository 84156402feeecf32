package proxy

import (
	"context"
	"strings"
	"sync"
	"time"

	"strata/assemble"
	"strata/intent"
	"strata/policy"
	"strata/stores"
)

// Context is what the walk of a chat request works with.
type Context struct {
	Identity   *policy.Identity
	Keys       policy.Keys
	Classifier *intent.Classifier
	Plans      policy.Table
	Ledger     Ledger
	Assembler  Assembler
	Examples   Examples               // optional
	Window     func(model string) int // optional; tokens, 0 where it is not known
	Recorded   func()                 // optional; something was recorded that may be learned from
	Finished   func(Finished)         // optional; a walk has ended

	// DefaultIntent is where the words of a request decide nothing, by its model
	// and path; optional, "" = CHAT.
	DefaultIntent func(model, path string) intent.Intent
	Unsure        func(Unsure) // optional; an exchange was recorded whose intent was a near miss

	Citations bool // answers name the passages that were given, in a header

	headers []string // of a request's head that are read, in lower case
	known   *exampleCache
}

// headerNames are the lines that are read of a request's head.
func (c *Context) headerNames() []string {
	if c == nil {
		return ownNames
	}
	return c.headers
}

// Ledger is the system of record, as far as a walk needs it.
type Ledger interface {
	Open(ctx context.Context, scope stores.Scope, links stores.Links) (stores.Opening, error)
	// Record returns when the exchange is safe. When ctx ends first it
	// returns ctx's error, and the exchange is still written later.
	Record(ctx context.Context, e stores.Exchange) error
}

// Assembler gathers and words the context.
type Assembler interface {
	Assemble(ctx context.Context, q assemble.Query, plan policy.Plan, o stores.Opening) assemble.Result
	Probe(ctx context.Context, scope stores.Scope, query string) (cover float64, distinct int, title, ok bool)
}

// Finished is one walk in figures, without any text of it.
type Finished struct {
	At                    time.Time
	ID                    string
	Tenant, User, Session string
	Model                 string
	Intent, Stage         string
	Confidence            float64
	Context, Reason       string
	Tokens                int
	Layers                []string
	Millis                float64 // that Strata took before the request went upstream
	Status                string
}

// decision is what a walk has found out so far.
type decision struct {
	began    time.Time // the body was there
	caller   policy.Caller
	talk     policy.Conversation
	links    stores.Links
	opening  stores.Opening
	unopened bool // the ledger did not answer
	session  string
	verdict  intent.Verdict
	plan     policy.Plan
	result   assemble.Result

	recall, forget, offRecord bool // what the words ask of the memory itself

	texts    string // of all messages, once somebody asked for them
	recorded bool
}

// maxVisible bounds how much of a conversation is searched for texts that it
// holds already; the end of it is what counts.
const maxVisible = 256 << 10

// visible tells whether the client's own messages hold a text already.
func (x *exchange) visible(text string) bool {
	if len(x.req.Messages) < 2 {
		return false
	}
	if x.d.texts == "" {
		var all []string
		size := 0
		for i := len(x.req.Messages) - 1; i >= 0 && size < maxVisible; i-- {
			if i != x.d.talk.Last {
				all = append(all, x.req.Text(i))
				size += len(all[len(all)-1])
			}
		}
		x.d.texts = strings.Join(all, "\x00") + "\x00"
	}
	return strings.Contains(x.d.texts, text)
}

// refusing remembers for which models upstream refused requests with context
// and took them without.
type refusing struct {
	mu     sync.Mutex
	models map[string]*refusedModel
}

type refusedModel struct {
	at    [refusedTimes]time.Time // the latest ones, in a ring
	n     int
	until time.Time
}

const (
	refusedTimes  = 3
	refusedWithin = 10 * time.Minute
	refusedModels = 1000 // names come from clients
)

func (r *refusing) blocked(model string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.models[model]
	return m != nil && now.Before(m.until)
}

// add notes one refusal; the third within ten minutes ends injection for ten.
func (r *refusing) add(model string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.models == nil || len(r.models) > refusedModels {
		r.models = map[string]*refusedModel{}
	}
	m := r.models[model]
	if m == nil {
		m = new(refusedModel)
		r.models[model] = m
	}
	m.at[m.n%refusedTimes] = now
	m.n++
	if m.n >= refusedTimes && now.Sub(m.at[m.n%refusedTimes]) < refusedWithin {
		*m = refusedModel{until: now.Add(refusedWithin)}
	}
}
