// Package storestest is the contract of a ledger as tests: what every backend
// does, whatever it is built on. It decides what a backend must answer; it
// must not know how one is built or opened.
package storestest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"strata/stores"
)

// Store is a ledger.
type Store interface {
	Close() error
	Secret() []byte

	Open(ctx context.Context, scope stores.Scope, links stores.Links) (stores.Opening, error)
	Record(ctx context.Context, e stores.Exchange) error
	SetIntent(ctx context.Context, scope stores.Scope, exchange, intent string) error
	Memories(ctx context.Context, scope stores.Scope) ([]stores.Memory, error)
	Passages(ctx context.Context, scope stores.Scope, ids []string) ([]stores.Passage, error)
	Recent(ctx context.Context, scope stores.Scope, n int) ([]stores.Turn, error)

	Lease(ctx context.Context, worker string, limit int) ([]stores.Work, error)
	Learn(ctx context.Context, lesson stores.Lesson) error
	UserMemories(ctx context.Context, scope stores.Scope) ([]stores.Memory, int64, error)
	Unlearned(ctx context.Context) (int, error)
	Unredacted(ctx context.Context, limit int) ([]stores.Exchange, error)
	Redact(ctx context.Context, tenant string, texts []stores.Redaction) error
	Expire(ctx context.Context) (int, error)

	PutDocument(ctx context.Context, tenant string, d stores.Draft) (stores.PutResult, error)
	Outbox(ctx context.Context, limit int) ([]stores.OutboxEntry, error)
	OutboxDone(ctx context.Context, seqs []int64) error
	OutboxRows(ctx context.Context) (int, error)
	Waits(ctx context.Context, tenant string) (bool, error)
	Requeue(ctx context.Context) (int, error)
	Indexed(ctx context.Context, tenant, space string) (bool, error)
	RequeueTenant(ctx context.Context, tenant, space string) (int, error)
	Space(ctx context.Context) (stores.Space, bool, error)
	SetSpace(ctx context.Context, s stores.Space) (int, error)
	EmbedQueue(ctx context.Context, limit int) ([]stores.OutboxEntry, error)
	EmbedDone(ctx context.Context, seqs []int64) error
	EmbedRows(ctx context.Context) (int, error)
	Rebuild(ctx context.Context) (stores.RebuildState, error)
	MoveRebuild(ctx context.Context, from, to stores.RebuildState) (bool, error)
	DeleteDocument(ctx context.Context, tenant, id string) error
	Documents(ctx context.Context, tenant, cursor string, limit int) ([]stores.Document, string, error)
	Document(ctx context.Context, tenant, id string) (stores.Document, []stores.Version, error)
	DocumentPassages(ctx context.Context, tenant, id string, version, first int) ([]stores.Passage, error)

	Examples(ctx context.Context, tenant string) ([]stores.IntentExample, error)
	ListExamples(ctx context.Context, tenant, user, cursor string, limit int) ([]stores.IntentExample, string, error)
	AddExample(ctx context.Context, scope stores.Scope, e stores.IntentExample) (stores.IntentExample, error)
	FixIntent(ctx context.Context, scope stores.Scope, id, intent string, words func(asked string) (string, error)) (stores.IntentExample, error)
	DeleteExample(ctx context.Context, tenant, user, id string) error

	AddMemory(ctx context.Context, scope stores.Scope, m stores.Memory) (stores.Memory, error)
	Memory(ctx context.Context, tenant, user, id string) (stores.Memory, error)
	PatchMemory(ctx context.Context, scope stores.Scope, id string, edit func(*stores.Memory) error) (stores.Memory, error)
	DeleteMemory(ctx context.Context, scope stores.Scope, id string) error
	ListMemories(ctx context.Context, tenant string, f stores.MemoryFilter) ([]stores.Memory, string, error)
	RejectedOf(ctx context.Context, tenant, user string, limit int) ([]stores.Rejected, error)
	Sessions(ctx context.Context, tenant, user, cursor string, limit int) ([]stores.SessionInfo, string, error)
	Session(ctx context.Context, tenant, user, id string) (stores.SessionInfo, []stores.Turn, error)
	DeleteSession(ctx context.Context, tenant, user, id string) error
	CloseSession(ctx context.Context, tenant, user, id string) error
	Receipt(ctx context.Context, tenant, user, id string) ([]byte, error)
	LastReceipt(ctx context.Context, tenant, user string) ([]byte, error)
	Users(ctx context.Context, tenant, cursor string, limit int) ([]stores.UserInfo, string, error)
	ExportUser(ctx context.Context, tenant, user string) (stores.UserExport, error)
	EraseUser(ctx context.Context, tenant, user string) (map[string]int, error)
	Stats(ctx context.Context, tenant string) (stores.Stats, error)
}

// Opener opens the store of this name, an empty one the first time in a test.
// The same name later in the same test is the same store.
type Opener func(t testing.TB, name string, clock func() time.Time) Store

// Run holds a backend to the whole contract.
func Run(t *testing.T, open Opener) {
	for name, suite := range map[string]func(*testing.T, Opener){
		"Linking":     Linking,
		"Recording":   Recording,
		"Judged":      Judged,
		"Memories":    Memories,
		"Learning":    Learning,
		"Documents":   Documents,
		"Embeds":      Embeds,
		"Examples":    Examples,
		"Listings":    Listings,
		"Scopes":      Scopes,
		"Concurrency": Concurrency,
		"Model":       Model,
	} {
		t.Run(name, func(t *testing.T) { suite(t, open) })
	}
}

// Clock is a time that stands still until it is moved.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows a day in spring.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)} }

// Now is what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fixture is one store under test. Its shorthands end the test on an error.
type fixture struct {
	*testing.T
	Store
	clock *Clock
	ids   int
}

func start(t *testing.T, open Opener) *fixture {
	t.Helper()
	clock := NewClock()
	f := &fixture{T: t, Store: open(t, "store", clock.Now), clock: clock}
	t.Cleanup(func() { f.Store.Close() })
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) wants(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("error %v, want %v", err, want)
	}
}

// exchange returns a finished one that began now.
func (f *fixture) exchange(scope stores.Scope, turn, asked, answer string) stores.Exchange {
	f.ids++
	return stores.Exchange{
		ID: fmt.Sprintf("req_%d", f.ids), Scope: scope, Links: stores.Links{Turn: turn}, PairKey: "pair:" + asked + "/" + answer,
		Asked: asked, Answer: answer, AnswerID: fmt.Sprintf("answer_%d", f.ids), Status: stores.Complete, Finished: true, Learn: true,
		Receipt: fmt.Appendf(nil, `{"n":%d}`, f.ids), At: f.clock.Now(), Ended: f.clock.Now().Add(time.Second),
	}
}

// say records a finished exchange and moves on by a minute.
func (f *fixture) say(scope stores.Scope, turn, asked, answer string) stores.Exchange {
	f.Helper()
	e := f.exchange(scope, turn, asked, answer)
	f.record(e)
	f.clock.Advance(time.Minute)
	return e
}

func (f *fixture) record(e stores.Exchange) {
	f.Helper()
	f.must(f.Record(f.Context(), e))
}

func (f *fixture) opening(scope stores.Scope, links stores.Links) stores.Opening {
	f.Helper()
	o, err := f.Open(f.Context(), scope, links)
	f.must(err)
	return o
}

func (f *fixture) add(scope stores.Scope, slot, summary string) stores.Memory {
	f.Helper()
	m, err := f.AddMemory(f.Context(), scope, memory(slot, summary))
	f.must(err)
	return m
}

func memory(slot, summary string) stores.Memory {
	return stores.Memory{Type: stores.Preference, Kind: "semantic", Topic: "topic", Summary: summary, Slot: slot, Confidence: 0.5,
		Scores: stores.Scores{Reuse: 3, Irrecoverable: 1, Stability: 2, Impact: 3}, Importance: 9, Scorer: "admin", Source: "admin", Tokens: 3}
}

// summaries are what is served to a scope.
func (f *fixture) summaries(scope stores.Scope) []string {
	f.Helper()
	list, err := f.Memories(f.Context(), scope)
	f.must(err)
	var out []string
	for _, m := range list {
		out = append(out, m.Summary)
	}
	return out
}

func (f *fixture) same(what string, got, want any) {
	f.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		f.Errorf("%s: got %s, want %s", what, g, w)
	}
}

// texts are the contents of turns.
func texts(turns []stores.Turn) []string {
	var out []string
	for _, t := range turns {
		out = append(out, t.Content)
	}
	return out
}

func (f *fixture) session(scope stores.Scope) []string {
	f.Helper()
	_, turns, err := f.Session(f.Context(), scope.Tenant, scope.User, scope.Session)
	f.must(err)
	return texts(turns)
}

// lease takes the only session that is due.
func (f *fixture) lease() stores.Work {
	f.Helper()
	works, err := f.Lease(f.Context(), "worker", 10)
	f.must(err)
	if len(works) != 1 {
		f.Fatalf("%d sessions are due, want 1", len(works))
	}
	return works[0]
}

// lesson says that all of a work is learned; its memories are still to add.
func (f *fixture) lesson(w stores.Work) stores.Lesson {
	f.Helper()
	_, gen, err := f.UserMemories(f.Context(), w.Scope)
	f.must(err)
	l := stores.Lesson{Scope: w.Scope, Lease: w.Lease, UserGen: gen}
	for _, e := range w.Exchanges {
		l.Learned = append(l.Learned, stores.Redaction{ID: e.ID, Asked: e.Asked, Answer: e.Answer})
	}
	return l
}

// learned is a memory with evidence.
func learned(slot, summary string, evidence ...string) stores.Memory {
	m := memory(slot, summary)
	m.Scorer, m.Source, m.Sources = "rules", "rules", evidence
	return m
}

var (
	anna  = stores.Scope{Tenant: "acme", User: "anna"}
	bela  = stores.Scope{Tenant: "acme", User: "bela"}
	other = stores.Scope{Tenant: "umbrella", User: "anna"}
)

func in(scope stores.Scope, session string) stores.Scope {
	scope.Session = session
	return scope
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
