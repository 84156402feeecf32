package assemble

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"strata/policy"
	"strata/stores"
)

var (
	errBusy  = errors.New("assemble: too many reads of this layer under way")
	errPanic = errors.New("assemble: a store panicked")
)

// gate bounds the reads of one layer that are under way. A store that never
// answers can hold that many goroutines and no more.
type gate chan struct{}

type outcome[T any] struct {
	value  T
	err    error
	millis float64
}

// pending is a read under way. The zero value is none.
type pending[T any] struct{ out <-chan outcome[T] }

// start begins a read in its own goroutine, or returns errBusy.
func start[T any](ctx context.Context, g gate, read func(context.Context) (T, error)) (pending[T], error) {
	select {
	case g <- struct{}{}:
	default:
		return pending[T]{}, errBusy
	}
	out := make(chan outcome[T], 1)
	go func() {
		defer func() { <-g }()
		begun := time.Now()
		v, err := guarded(ctx, read)
		out <- outcome[T]{v, err, millis(begun)}
	}()
	return pending[T]{out}, nil
}

// guarded keeps a broken store from ending the process.
func guarded[T any](ctx context.Context, read func(context.Context) (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	return read(ctx)
}

// wait returns what the read gave, or ctx's error when that ends first.
func (p pending[T]) wait(ctx context.Context) outcome[T] {
	select {
	case o := <-p.out:
		return o
	case <-ctx.Done():
	}
	select {
	case o := <-p.out: // both were ready
		return o
	default:
		return outcome[T]{err: ctx.Err()}
	}
}

func late(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func millis(since time.Time) float64 {
	return float64(time.Since(since).Microseconds()) / 1000
}

// need says which layers are worth a read.
func (w *walk) need() (memory, knowledge, recent bool) {
	_, memory = w.layer(policy.LayerMemory)
	_, knowledge = w.layer(policy.LayerKnowledge)
	_, recent = w.layer(policy.LayerRecent)
	memory = memory && w.open.Memories > 0 && !w.q.Forget
	knowledge = knowledge && w.open.Documents > 0 && w.a.cfg.Index != nil && !w.q.Recall && strings.TrimSpace(w.q.Words) != ""
	recent = recent && w.q.Thin && w.open.Turns > 0 && !w.q.Forget
	return memory, knowledge, recent
}

// read fetches the layers side by side and takes what comes in time. Only a
// search that leans on a recorded turn waits for that.
func (w *walk) read() {
	memory, knowledge, recent := w.need()
	var facts pending[knowledgeRead]
	var turns pending[[]stores.Turn]
	if recent {
		turns = begin(w, policy.LayerRecent, w.a.recent, w.recentReader(w.turnsWanted()))
		w.lookBefore(&turns)
	}
	if knowledge {
		facts = begin(w, policy.LayerKnowledge, w.a.knowledge, w.knowledgeReader())
	}
	if memory {
		w.readRows()
	}
	if facts.out != nil {
		if o := facts.wait(w.bounded()); w.took(policy.LayerKnowledge, o.err, o.millis) {
			w.tookFacts(&o.value)
		}
	}
	if turns.out != nil {
		if o := turns.wait(w.bounded()); w.took(policy.LayerRecent, o.err, o.millis) {
			w.turns = o.value
		}
	}
}

// shareOfBefore is how much of the time a search waits for the turn that its
// words lean on: a read of the ledger is there long before, and one that hangs
// must leave time to search without it.
const shareOfBefore = 0.25

// lookBefore takes what the user said in the turn before from the recorded
// turns, where the words lean on it and the client has not sent it.
func (w *walk) lookBefore(turns *pending[[]stores.Turn]) {
	if !w.q.FollowUp || w.q.Before != "" || turns.out == nil {
		return
	}
	ctx, cancel := shareOf(w.bounded(), shareOfBefore)
	defer cancel()
	o := turns.wait(ctx)
	if late(o.err) {
		return // it is waited for with the others
	}
	*turns = pending[[]stores.Turn]{}
	if !w.took(policy.LayerRecent, o.err, o.millis) {
		return
	}
	w.turns = o.value
	for i := len(w.turns) - 1; i >= 0 && w.q.Before == ""; i-- {
		if w.turns[i].Role == "user" {
			w.q.Before = w.turns[i].Content
		}
	}
}

// tookFacts takes what was found, and notes what was found without.
func (w *walk) tookFacts(r *knowledgeRead) {
	w.found, w.near = r.found, r.near
	for _, id := range r.under {
		w.skip(policy.LayerKnowledge, "floor", id)
	}
	for _, id := range r.copies {
		w.skip(policy.LayerKnowledge, "duplicate", id)
	}
	for _, what := range r.left {
		w.skipped = append(w.skipped, Skipped{Name: string(policy.LayerKnowledge), Reason: what})
		if w.reason == "" {
			w.reason = "store_unavailable"
			if strings.HasSuffix(what, "_late") {
				w.reason = "late"
			}
		}
	}
}

// begin starts a read of the walk; where it is refused the layer is skipped.
func begin[T any](w *walk, l policy.Layer, g gate, read func(context.Context) (T, error)) pending[T] {
	p, err := start(w.bounded(), g, read)
	if err != nil {
		w.broke(l, err)
	}
	return p
}

func (w *walk) took(l policy.Layer, err error, ms float64) bool {
	if err != nil {
		w.broke(l, err)
		return false
	}
	w.note(l, ms)
	return true
}

// personalScope is the scope to read memories with: where private ones may not
// be served they are not even read. A session without memories of its own is
// not named, so that what is cached of its user serves all such sessions.
func (w *walk) personalScope() stores.Scope {
	scope := w.q.Scope
	if w.open.OfSession == 0 {
		scope.Session = ""
	}
	if !w.q.Private {
		scope.User, scope.Session = "", ""
	}
	return scope
}

// readRows takes the memories from the cache, else reads them.
func (w *walk) readRows() {
	scope, begun := w.personal, time.Now()
	cache, ledger, userGen, kbGen := w.a.cfg.Cache, w.a.cfg.Ledger, w.open.UserGen, w.open.KBGen
	if cache != nil {
		if rows, ok := cache.Held(scope, userGen, kbGen); ok {
			w.rows = rows
			w.note(policy.LayerMemory, millis(begun))
			return
		}
	}
	p := begin(w, policy.LayerMemory, w.a.memory, func(ctx context.Context) (*Rows, error) {
		if cache != nil {
			return cache.Memories(ctx, scope, userGen, kbGen)
		}
		rows, err := ledger.Memories(ctx, scope)
		if err != nil {
			return nil, err
		}
		return Prepare(rows), nil
	})
	if p.out == nil {
		return
	}
	if o := p.wait(w.bounded()); w.took(policy.LayerMemory, o.err, o.millis) {
		w.rows = o.value
	}
}

func (w *walk) turnsWanted() int {
	if p, _ := w.layer(policy.LayerRecent); p.Items > 0 {
		return p.Items
	}
	return recentTurns
}

func (w *walk) recentReader(n int) func(context.Context) ([]stores.Turn, error) {
	ledger, scope := w.a.cfg.Ledger, w.q.Scope
	return func(ctx context.Context) ([]stores.Turn, error) { return ledger.Recent(ctx, scope, n) }
}

// again reads exactly what the turn's first request was given, as far as it
// is still valid: in a tool loop the same bytes go up each time.
func (w *walk) again() {
	turn := w.open.Turn
	var passages, turns []string
	for _, id := range turn.Items {
		if isTurnID(id) {
			turns = append(turns, id)
		} else {
			passages = append(passages, id) // or memories, which are no passages and so not returned
		}
	}
	var facts pending[[]stores.Passage]
	var said pending[[]stores.Turn]
	if len(passages) > 0 && w.open.Documents > 0 {
		ledger, scope := w.a.cfg.Ledger, w.q.Scope
		facts = begin(w, policy.LayerKnowledge, w.a.knowledge, func(ctx context.Context) ([]stores.Passage, error) {
			return ledger.Passages(ctx, scope, passages)
		})
	}
	if len(turns) > 0 {
		said = begin(w, policy.LayerRecent, w.a.recent, w.recentReader(w.turnsWanted()+len(turns)))
	}
	if len(turn.Stable)+len(passages) > 0 && w.open.Memories > 0 && !w.q.Forget {
		w.readRows()
	}
	if facts.out != nil {
		if o := facts.wait(w.bounded()); w.took(policy.LayerKnowledge, o.err, o.millis) {
			for i := range o.value {
				w.found = append(w.found, found{passage: &o.value[i]})
			}
		}
	}
	if said.out != nil {
		if o := said.wait(w.bounded()); w.took(policy.LayerRecent, o.err, o.millis) {
			w.turns = o.value
		}
	}
	w.repeat()
}
