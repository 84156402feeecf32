package storestest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"strata/stores"
)

// Model drives a store and a plain picture of it with the same random
// operations and compares all that is read. Every text names its owner and is
// said once, so that a foreign or dead one is seen.
func Model(t *testing.T, open Opener) {
	steps := 12_000
	if testing.Short() {
		steps = 2_000
	}
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			m := &model{fixture: start(t, open), rand: rand.New(rand.NewPCG(seed, 1)), removed: map[string]time.Time{},
				exchanges: map[string]*modelExchange{}, passages: map[string]*modelVersion{}, versions: map[string]*modelVersion{},
				examples: map[string]*modelExample{}, gens: map[string]int64{}}
			for i := range steps / 2 {
				m.step()
				if t.Failed() {
					t.Fatalf("at step %d", i)
				}
			}
		})
	}
}

type model struct {
	*fixture
	rand *rand.Rand
	n    int // of the last text

	memories  []*modelMemory
	exchanges map[string]*modelExchange // recorded, by id
	flying    []stores.Exchange         // begun, not yet recorded
	removed   map[string]time.Time      // when sessions, users and slots were, by name
	gens      map[string]int64

	examples map[string]*modelExample // by id
	versions map[string]*modelVersion // by tenant, document and number
	passages map[string]*modelVersion // by id, of every version ever put
}

type modelMemory struct {
	stores.Memory
	tenant string
	active bool
	old    *modelMemory // that it superseded
}

type modelExchange struct {
	stores.Exchange
	waiting  bool
	unserved bool // a memory that rested on it was deleted
}

type modelVersion struct {
	tenant, document string
	number           int
	draft            stores.Draft
	published, gone  bool
}

func (m *model) pick(n int) int         { return m.rand.IntN(n) }
func (m *model) chance(of float64) bool { return m.rand.Float64() < of }

func (m *model) scope() stores.Scope {
	return stores.Scope{Tenant: []string{"acme", "umbrella"}[m.pick(2)], User: []string{"anna", "bela", "用户"}[m.pick(3)],
		Session: []string{"s1", "s2", "s3"}[m.pick(3)], Groups: [][]string{nil, {"hr"}, {"it", "hr"}}[m.pick(3)]}
}

func (m *model) text(s stores.Scope) string {
	m.n++
	return fmt.Sprint(s.Tenant, "/", s.User, " says ", m.n)
}

func (m *model) step() {
	m.clock.Advance(time.Duration(1+m.pick(2000)) * time.Millisecond)
	switch p := m.pick(100); {
	case p < 20:
		m.speak()
	case p < 30:
		m.learn()
	case p < 40:
		m.addOne()
	case p < 45:
		m.deleteOne()
	case p < 48:
		m.patchOne()
	case p < 52:
		m.putOne()
	case p < 57:
		m.carryOut()
	case p < 58:
		m.deleteDocument()
	case p < 59:
		m.deleteSession()
	case p < 60 && m.chance(0.3):
		m.erase()
	case p < 62:
		_, err := m.Expire(m.Context())
		m.must(err)
	case p < 66:
		m.fixOne()
	case p < 68:
		m.unfixOne()
	default:
		m.look()
	}
}

// speak begins an exchange, or ends one that began before.
func (m *model) speak() {
	if len(m.flying) < 5 && m.chance(0.5) {
		s := m.scope()
		e := m.exchange(s, m.text(s), m.text(s), m.text(s))
		e.Named = true
		m.flying = append(m.flying, e)
		return
	}
	if len(m.flying) == 0 {
		return
	}
	i := m.pick(len(m.flying))
	e := m.flying[i]
	m.flying = slices.Delete(m.flying, i, i+1)
	m.record(e)
	if m.chance(0.1) {
		m.record(e)
	}
	if e.At.After(m.removed[key("session", e.Scope, e.Scope.Session)]) && e.At.After(m.removed[key("user", e.Scope, "")]) {
		m.exchanges[e.ID] = &modelExchange{Exchange: e, waiting: true}
	}
}

func key(kind string, s stores.Scope, name string) string {
	return fmt.Sprintf("%s %q %q %q", kind, s.Tenant, s.User, name)
}

func slotKey(tenant string, x stores.Memory) string {
	owner := x.User
	if x.Scope == stores.SessionScope {
		owner = x.Session
	}
	return key(fmt.Sprintf("slot %s %q", x.Scope, owner), stores.Scope{Tenant: tenant, User: x.User}, x.Slot)
}

// holder is the active memory of x's slot.
func (m *model) holder(tenant string, x stores.Memory) *modelMemory {
	for _, o := range m.memories {
		if o.active && o.tenant == tenant && slotKey(tenant, o.Memory) == slotKey(tenant, x) && !m.expired(o) {
			return o
		}
	}
	return nil
}

func (m *model) expired(o *modelMemory) bool {
	return !o.ExpiresAt.IsZero() && !o.ExpiresAt.After(m.clock.Now())
}

// draw is a memory of s in one of few slots.
func (m *model) draw(s stores.Scope) stores.Memory {
	x := memory([]string{"office", "tone", "city"}[m.pick(3)], m.text(s))
	x.User, x.Scope = s.User, stores.UserScope
	if m.chance(0.3) {
		x.Scope, x.Session = stores.SessionScope, s.Session
	}
	if m.chance(0.2) {
		x.ExpiresAt = m.clock.Now().Add(time.Duration(1+m.pick(60)) * time.Second)
	}
	return x
}

func (m *model) addOne() {
	s := m.scope()
	x := m.draw(s)
	if m.chance(0.1) {
		x.Scope, x.User, x.Session = stores.WorkspaceScope, "", ""
	}
	added, err := m.AddMemory(m.Context(), s, x)
	m.must(err)
	m.insert(s.Tenant, added, m.holder(s.Tenant, x))
}

func (m *model) insert(tenant string, x stores.Memory, old *modelMemory) {
	if old != nil {
		old.active = false
	}
	m.memories = append(m.memories, &modelMemory{x, tenant, true, old})
}

func (m *model) someMemory() *modelMemory {
	active := slices.DeleteFunc(slices.Clone(m.memories), func(o *modelMemory) bool { return !o.active || m.expired(o) })
	if len(active) == 0 {
		return nil
	}
	return active[m.pick(len(active))]
}

// forget takes a memory out with all that it superseded.
func (m *model) forget(o *modelMemory, at time.Time) {
	for ; o != nil; o = o.old {
		if k := slotKey(o.tenant, o.Memory); o.User != "" && at.After(m.removed[k]) {
			m.removed[k] = at
		}
		m.drop(o)
	}
}

func (m *model) drop(o *modelMemory) {
	for _, id := range o.Sources {
		if e := m.exchanges[id]; e != nil {
			e.unserved = true
		}
	}
	m.memories = slices.DeleteFunc(m.memories, func(x *modelMemory) bool { return x == o })
}

func (m *model) deleteOne() {
	if o := m.someMemory(); o != nil {
		m.must(m.DeleteMemory(m.Context(), stores.Scope{Tenant: o.tenant, User: o.User}, o.ID))
		m.forget(o, m.clock.Now())
	}
}

func (m *model) patchOne() {
	if o := m.someMemory(); o != nil {
		s := stores.Scope{Tenant: o.tenant, User: o.User}
		text := m.text(s)
		_, err := m.PatchMemory(m.Context(), s, o.ID, func(x *stores.Memory) error { x.Summary = text; return nil })
		m.must(err)
		o.Summary = text
	}
}

// learn decides at random on all that waits.
func (m *model) learn() {
	works, err := m.Lease(m.Context(), "w", 3)
	m.must(err)
	for _, w := range works {
		l := m.lesson(w)
		var last time.Time
		for _, e := range w.Exchanges {
			x := m.exchanges[e.ID]
			if x == nil || !x.waiting {
				m.Errorf("%s is learned twice, or is gone", e.ID)
				return
			}
			last = maxTime(last, e.At)
			if m.chance(0.6) {
				a := m.draw(w.Scope)
				a.Sources = []string{e.ID}
				l.Add = append(l.Add, a)
			}
		}
		m.teach(l, last)
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (m *model) teach(l stores.Lesson, last time.Time) {
	tenant := l.Scope.Tenant
	var forgotten *modelMemory
	if m.chance(0.2) {
		if o := m.someMemory(); o != nil && o.tenant == tenant && o.User == l.Scope.User {
			forgotten = o
			l.Delete = []string{o.ID}
		}
	}
	conflict := false
	taken := map[string]bool{}
	var kept []stores.Memory
	var olds []*modelMemory
	for i, a := range l.Add {
		if m.undead(tenant, a) {
			continue
		}
		old := m.holder(tenant, a)
		if old != nil && old != forgotten && m.chance(0.9) {
			l.Add[i].Supersedes = old.ID
		}
		k := slotKey(tenant, a)
		conflict = conflict || taken[k] || old != nil && old != forgotten && l.Add[i].Supersedes == ""
		// What the lesson itself forgets cannot be superseded by it as well.
		taken[k] = true
		if old == forgotten {
			old = nil
		}
		kept, olds = append(kept, l.Add[i]), append(olds, old)
	}
	err := m.Learn(m.Context(), l)
	if conflict {
		m.wants(err, stores.ErrConflict)
		l.Add, l.Delete, kept, forgotten = nil, nil, nil, nil
		err = m.Learn(m.Context(), l)
	}
	m.must(err)
	if forgotten != nil {
		m.forget(forgotten, last)
	}
	for i, a := range kept {
		m.insert(tenant, a, olds[i])
	}
	m.adopt(l.Scope)
	for _, r := range l.Learned {
		m.exchanges[r.ID].waiting = false
	}
}

// adopt takes over the ids that the store has given.
func (m *model) adopt(s stores.Scope) {
	all, _, err := m.UserMemories(m.Context(), s)
	m.must(err)
	for _, x := range all {
		for _, o := range m.memories {
			if o.ID == "" && o.Summary == x.Summary {
				o.ID = x.ID
			}
		}
	}
	m.memories = slices.DeleteFunc(m.memories, func(o *modelMemory) bool { return o.ID == "" && m.expired(o) })
}

// undead tells whether the slot was deleted after the memory's evidence.
func (m *model) undead(tenant string, a stores.Memory) bool {
	t, buried := m.removed[slotKey(tenant, a)]
	return buried && !m.exchanges[a.Sources[0]].At.After(t)
}

func (m *model) deleteSession() {
	s := m.scope()
	known := m.opening(s, stores.Links{}).Known
	err := m.DeleteSession(m.Context(), s.Tenant, s.User, s.Session)
	if !known {
		m.wants(err, stores.ErrNotFound)
		return
	}
	m.must(err)
	m.removed[key("session", s, s.Session)] = m.clock.Now()
	for _, o := range slices.Clone(m.memories) {
		if o.tenant == s.Tenant && o.User == s.User && (o.Scope == stores.SessionScope && o.Session == s.Session || m.restsOn(o, s)) {
			m.drop(o)
		}
	}
	m.dropExchanges(func(e *modelExchange) bool { return e.Scope.Session == s.Session && sameUser(e.Scope, s) })
	m.dropExamples(func(x *modelExample) bool { return x.Session == s.Session && x.of(s) })
}

func sameUser(a, b stores.Scope) bool { return a.Tenant == b.Tenant && a.User == b.User }

func (m *model) restsOn(o *modelMemory, s stores.Scope) bool {
	return len(o.Sources) > 0 && !slices.ContainsFunc(o.Sources, func(id string) bool {
		e := m.exchanges[id]
		return e == nil || e.Scope.Session != s.Session
	})
}

func (m *model) dropExchanges(which func(*modelExchange) bool) {
	for id, e := range m.exchanges {
		if which(e) {
			delete(m.exchanges, id)
		}
	}
}

func (m *model) erase() {
	s := m.scope()
	_, err := m.EraseUser(m.Context(), s.Tenant, s.User)
	m.must(err)
	for k := range m.removed {
		if contains(k, s) {
			delete(m.removed, k)
		}
	}
	m.removed[key("user", s, "")] = m.clock.Now()
	m.memories = slices.DeleteFunc(m.memories, func(o *modelMemory) bool { return o.tenant == s.Tenant && o.User == s.User })
	m.dropExchanges(func(e *modelExchange) bool { return sameUser(e.Scope, s) })
	m.dropExamples(func(x *modelExample) bool { return x.of(s) })
}

// look reads all there is for one scope.
func (m *model) look() {
	s := m.scope()
	var want []string
	for _, o := range m.memories {
		mine := o.tenant == s.Tenant && o.active &&
			(o.Scope == stores.WorkspaceScope || o.User == s.User && (o.Scope == stores.UserScope || o.Session == s.Session))
		if mine && !m.expired(o) {
			want = append(want, o.Summary)
		}
	}
	m.same("memories", sorted(m.summaries(s)), sorted(want))
	o := m.opening(s, stores.Links{})
	if o.Memories < len(want) {
		m.Errorf("the opening counts %d memories, %d are served", o.Memories, len(want))
	}
	for k, gen := range map[string]int64{key("user", s, ""): o.UserGen, key("tenant", s, s.Tenant): o.KBGen} {
		// An erased user is at 0 until something is kept again.
		if gen < m.gens[k] && gen != 0 {
			m.Errorf("generation %s went from %d to %d", k, m.gens[k], gen)
		}
		m.gens[k] = max(gen, m.gens[k])
	}
	m.lookBack(s)
	m.lookUp(s)
	m.lookAtExamples(s, o)
}

func (m *model) lookBack(s stores.Scope) {
	var said []*modelExchange
	for _, e := range m.exchanges {
		if sameUser(e.Scope, s) && e.Scope.Session == s.Session && !e.unserved {
			said = append(said, e)
		}
	}
	slices.SortFunc(said, func(a, b *modelExchange) int { return a.At.Compare(b.At) })
	var want []string
	for _, e := range said[max(0, len(said)-3):] {
		want = append(want, e.Asked, e.Answer)
	}
	recent, err := m.Recent(m.Context(), s, 3)
	m.must(err)
	m.same("recent", texts(recent), want)
}
