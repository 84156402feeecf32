package storestest

import (
	"testing"
	"time"

	"strata/stores"
)

// Learning checks the way from an exchange to a memory, and what must not
// come back.
func Learning(t *testing.T, open Opener) {
	s := in(anna, "s")
	t.Run("order and leases", func(t *testing.T) {
		f := start(t, open)
		a := f.say(s, "t1", "one", "1")
		b := f.say(s, "t2", "two", "2")
		f.say(in(bela, "s"), "t3", "three", "3")
		works, err := f.Lease(f.Context(), "w1", 1)
		f.must(err)
		if len(works) != 1 || len(works[0].Exchanges) != 2 {
			t.Fatalf("works %+v, want both exchanges of the session that waits longest", works)
		}
		w := works[0]
		f.same("scope", w.Scope, s)
		f.same("order", []string{w.Exchanges[0].ID, w.Exchanges[1].ID}, []string{a.ID, b.ID})
		f.same("exchange", []any{w.Exchanges[0].Asked, w.Exchanges[0].Answer, w.Exchanges[0].At, w.Exchanges[0].Scope, w.Exchanges[0].Learn}, []any{"one", "1", a.At, s, true})
		works, err = f.Lease(f.Context(), "w2", 10)
		f.must(err)
		if len(works) != 1 || works[0].Scope.User != "bela" {
			t.Fatalf("works %+v, want the other session alone", works)
		}

		f.clock.Advance(61 * time.Second)
		works, err = f.Lease(f.Context(), "w2", 10)
		f.must(err)
		f.same("after a minute", len(works), 2)
		f.wants(f.Learn(f.Context(), f.lesson(w)), stores.ErrConflict)
		f.same("unlearned", f.unlearned(), 3)
		for _, w := range works {
			f.must(f.Learn(f.Context(), f.lesson(w)))
			f.wants(f.Learn(f.Context(), f.lesson(w)), stores.ErrConflict)
		}
		f.same("unlearned", f.unlearned(), 0)
		works, err = f.Lease(f.Context(), "w2", 10)
		f.must(err)
		f.same("nothing is due", len(works), 0)
		f.say(s, "t4", "four", "4")
		f.same("a new exchange is due at once", f.lease().Exchanges[0].Asked, "four")
	})

	t.Run("one by one", func(t *testing.T) {
		f := start(t, open)
		f.say(s, "t1", "one", "1")
		f.say(s, "t2", "two", "2")
		w := f.lease()
		first, second := f.lesson(w), f.lesson(w)
		first.Learned, second.Learned, second.Failed = first.Learned[:1], nil, []string{w.Exchanges[1].ID}
		first.Learned[0].Asked = "[redacted]"
		f.must(f.Learn(f.Context(), first))
		f.clock.Advance(50 * time.Second)
		works, err := f.Lease(f.Context(), "w2", 10)
		f.must(err)
		f.same("still held", len(works), 0)
		f.must(f.Learn(f.Context(), second))
		f.same("unlearned", f.unlearned(), 0)
		f.same("texts", f.session(s), []string{"[redacted]", "1", "two", "2"})
	})

	t.Run("all or nothing", func(t *testing.T) {
		f := start(t, open)
		e := f.say(s, "t1", "office in 3", "ok")
		taken := f.add(anna, "office", "building 1")
		w := f.lease()
		l := f.lesson(w)
		l.Add = []stores.Memory{learned("city", "Prague", e.ID), learned("office", "building 3", e.ID)}
		f.wants(f.Learn(f.Context(), l), stores.ErrConflict)
		f.same("served", f.summaries(anna), []string{"building 1"})
		f.same("unlearned", f.unlearned(), 1)

		l.Add[1].Supersedes = taken.ID
		l.Standing, l.Rejected = true, []stores.Rejected{{ID: "r1", Exchange: e.ID, Text: "ok", Reason: "acknowledgement"}}
		before := f.opening(anna, stores.Links{})
		f.must(f.Learn(f.Context(), l))
		f.same("served", sorted(f.summaries(anna)), []string{"Prague", "building 3"})
		after := f.opening(anna, stores.Links{})
		f.same("generations", []int64{after.UserGen, after.StableGen, int64(after.Memories)}, []int64{before.UserGen + 1, before.StableGen + 1, 2})
		old, err := f.Memory(f.Context(), "acme", "anna", taken.ID)
		f.must(err)
		f.same("status", old.Status, stores.Superseded)
		rejected, err := f.RejectedOf(f.Context(), "acme", "anna", 10)
		f.must(err)
		if len(rejected) != 1 || rejected[0].Reason != "acknowledgement" || rejected[0].User != "anna" {
			t.Errorf("rejected %+v", rejected)
		}
	})

	t.Run("decided on what has changed", func(t *testing.T) {
		f := start(t, open)
		e := f.say(s, "t1", "office in 3", "ok")
		l := f.lesson(f.lease())
		l.Add = []stores.Memory{learned("office", "building 3", e.ID)}
		f.add(anna, "city", "Prague")
		f.wants(f.Learn(f.Context(), l), stores.ErrConflict)
		f.same("served", f.summaries(anna), []string{"Prague"})
	})

	t.Run("evidence", func(t *testing.T) {
		f := start(t, open)
		e := f.say(s, "t1", "office in 3", "ok")
		m := f.add(anna, "office", "building 3")
		theirs := f.add(bela, "office", "building 3")
		l := f.lesson(f.lease())
		l.Evidence = []stores.Evidence{{MemoryID: m.ID, ExchangeID: e.ID}, {MemoryID: m.ID, ExchangeID: e.ID}, {MemoryID: theirs.ID, ExchangeID: e.ID}}
		f.must(f.Learn(f.Context(), l))
		list, err := f.Memories(f.Context(), anna)
		f.must(err)
		f.same("sources", list[0].Sources, []string{e.ID})
		f.same("as new as what was said last", list[0].UpdatedAt, m.UpdatedAt)
		list, err = f.Memories(f.Context(), bela)
		f.must(err)
		f.same("sources of another", list[0].Sources, []string(nil))
	})

	t.Run("nobody learns for another", func(t *testing.T) {
		f := start(t, open)
		e := f.say(s, "t1", "forget it", "ok")
		theirs := f.add(bela, "office", "building 3")
		for _, add := range [][]stores.Memory{nil, {{Scope: stores.WorkspaceScope, Summary: "for all", Sources: []string{e.ID}}}} {
			l := f.lesson(stores.Work{Scope: s})
			l.Delete, l.Add = []string{theirs.ID}, add
			if f.Learn(f.Context(), l) == nil {
				t.Error("a lesson that reaches beyond its user is taken")
			}
		}
		f.same("served", f.summaries(bela), []string{"building 3"})
		closing := learned("office", "building 4", e.ID)
		closing.Supersedes = theirs.ID
		l := f.lesson(stores.Work{Scope: s})
		l.Add = []stores.Memory{closing}
		f.wants(f.Learn(f.Context(), l), stores.ErrConflict)
	})

	t.Run("old turns do not bring back what was deleted", func(t *testing.T) {
		f := start(t, open)
		early := f.say(s, "t1", "my code is ZEBRA-41", "noted")
		m := f.add(anna, "code", "ZEBRA-41")
		f.must(f.DeleteMemory(f.Context(), anna, m.ID))
		l := f.lesson(f.lease())
		l.Add = []stores.Memory{learned("code", "ZEBRA-41", early.ID), learned("city", "Prague", early.ID)}
		f.must(f.Learn(f.Context(), l))
		f.same("served", f.summaries(anna), []string{"Prague"})
		f.clock.Advance(time.Minute)
		late := f.say(s, "t2", "my code is ZEBRA-42", "noted")
		l = f.lesson(f.lease())
		l.Add = []stores.Memory{learned("code", "ZEBRA-42", early.ID, late.ID)}
		f.must(f.Learn(f.Context(), l))
		f.same("served", sorted(f.summaries(anna)), []string{"Prague", "ZEBRA-42"})
	})

	t.Run("forgetting by talking reaches back from there", func(t *testing.T) {
		f := start(t, open)
		m := f.add(anna, "code", "ZEBRA-41")
		old := f.say(in(anna, "other"), "t0", "my code is ZEBRA-41", "noted")
		f.say(s, "t1", "forget my code", "done")
		since := f.say(in(anna, "third"), "t2", "my code is ZEBRA-43", "noted")
		works, err := f.Lease(f.Context(), "w", 10)
		f.must(err)
		for _, w := range works {
			l := f.lesson(w)
			if w.Scope.Session == "s" {
				l.Delete = []string{m.ID}
				f.must(f.Learn(f.Context(), l))
			}
		}
		for _, w := range works {
			l := f.lesson(w)
			switch w.Scope.Session {
			case "other":
				l.Add = []stores.Memory{learned("code", "ZEBRA-41", old.ID)}
			case "third":
				l.Add = []stores.Memory{learned("code", "ZEBRA-43", since.ID)}
			default:
				continue
			}
			f.must(f.Learn(f.Context(), l))
		}
		f.same("served", f.summaries(anna), []string{"ZEBRA-43"})
	})

	t.Run("turns that repeat what does not hold", func(t *testing.T) { repeatedTurns(t, open) })
	t.Run("a deleted session", func(t *testing.T) { deletedSession(t, open) })
	t.Run("an erased user", func(t *testing.T) { erasedUser(t, open) })
}

func deletedSession(t *testing.T, open Opener) {
	f := start(t, open)
	s, s2 := in(anna, "s"), in(anna, "s2")
	e := f.say(s, "t1", "office in 3, I like tea", "ok")
	l := f.lesson(f.lease())
	here := learned("draft", "working on the draft", e.ID)
	here.Scope = stores.SessionScope
	l.Add = []stores.Memory{learned("office", "building 3", e.ID), learned("tea", "likes tea", e.ID), here}
	f.must(f.Learn(f.Context(), l))
	f.add(anna, "city", "Prague")
	f.same("served", len(f.summaries(s)), 4)

	e2 := f.say(s2, "t2", "tea, please", "ok")
	w := f.lease()
	all, _, err := f.UserMemories(f.Context(), anna)
	f.must(err)
	l = f.lesson(w)
	for _, m := range all {
		if m.Summary == "likes tea" {
			l.Evidence = []stores.Evidence{{MemoryID: m.ID, ExchangeID: e2.ID}}
		}
	}
	f.must(f.Learn(f.Context(), l))
	f.say(in(bela, "s"), "t1", "hi", "hello")

	late := f.exchange(s, "t9", "I was late", "ok")
	f.clock.Advance(time.Second)
	waiting := f.say(s, "t8", "office in 9", "ok")
	held := f.lesson(f.leaseOf(s))
	held.Add = []stores.Memory{learned("office", "building 9", waiting.ID)}
	gen := f.opening(anna, stores.Links{}).UserGen
	f.must(f.DeleteSession(f.Context(), "acme", "anna", "s"))

	f.same("generation", f.opening(anna, stores.Links{}).UserGen, gen+1)
	f.wants(f.Learn(f.Context(), held), stores.ErrConflict)
	_, held.UserGen, err = f.UserMemories(f.Context(), anna)
	f.must(err)
	f.wants(f.Learn(f.Context(), held), stores.ErrConflict)
	f.same("served", sorted(f.summaries(s)), []string{"Prague", "likes tea"})
	list, err := f.Memories(f.Context(), anna)
	f.must(err)
	for _, m := range list {
		if m.Summary == "likes tea" {
			f.same("sources", m.Sources, []string{e2.ID})
		}
	}
	f.record(late)
	_, _, err = f.Session(f.Context(), "acme", "anna", "s")
	f.wants(err, stores.ErrNotFound)
	f.wants(f.DeleteSession(f.Context(), "acme", "anna", "s"), stores.ErrNotFound)
	f.same("another's session of that name", f.session(in(bela, "s")), []string{"hi", "hello"})
	f.same("opening", f.opening(s, stores.Links{Turn: "t1"}).Known, false)
	f.clock.Advance(time.Minute)
	f.say(s, "t1", "a new start", "ok")
	f.same("said since", f.session(s), []string{"a new start", "ok"})
}

// leaseOf takes all that is due and returns the work of one session.
func (f *fixture) leaseOf(scope stores.Scope) stores.Work {
	f.Helper()
	works, err := f.Lease(f.Context(), "worker", 100)
	f.must(err)
	for _, w := range works {
		if w.Scope.Tenant == scope.Tenant && w.Scope.User == scope.User && w.Scope.Session == scope.Session {
			return w
		}
	}
	f.Fatal("the session is not due")
	return stores.Work{}
}

func erasedUser(t *testing.T, open Opener) {
	f := start(t, open)
	s := in(anna, "s")
	e := f.say(s, "t1", "office in 3", "ok")
	l := f.lesson(f.lease())
	l.Add = []stores.Memory{learned("office", "building 3", e.ID)}
	l.Rejected = []stores.Rejected{{ID: "r", Text: "x"}}
	f.must(f.Learn(f.Context(), l))
	f.add(bela, "office", "building 4")
	gone := f.add(anna, "city", "Prague")
	f.must(f.DeleteMemory(f.Context(), anna, gone.ID))
	late := f.exchange(s, "t2", "late", "late")
	gen := f.opening(anna, stores.Links{}).UserGen
	f.clock.Advance(time.Second)

	rows, err := f.EraseUser(f.Context(), "acme", "anna")
	f.must(err)
	f.same("rows", []int{rows["memories"], rows["exchanges"], rows["sessions"], rows["rejected"], rows["users"], rows["evidence"]}, []int{2, 1, 1, 1, 1, 1})
	f.record(late)
	f.same("opening", f.opening(s, stores.Links{Turn: "t1"}), stores.Opening{Session: "s"})
	_, err = f.ExportUser(f.Context(), "acme", "anna")
	f.wants(err, stores.ErrNotFound)
	for _, id := range []string{e.ID, late.ID} {
		_, err = f.Receipt(f.Context(), "acme", "", id)
		f.wants(err, stores.ErrNotFound)
	}
	f.same("another user", f.summaries(bela), []string{"building 4"})
	f.clock.Advance(time.Minute)
	f.add(anna, "office", "building 7")
	if o := f.opening(anna, stores.Links{}); o.UserGen <= gen || o.Memories != 1 {
		t.Errorf("generation %d after %d: what was cached then would be taken for new", o.UserGen, gen)
	}
	again, err := f.EraseUser(f.Context(), "acme", "nobody")
	f.must(err)
	f.same("nobody", again["memories"], 0)
	unknown := f.exchange(in(stores.Scope{Tenant: "acme", User: "nobody"}, "s"), "t", "first", "words")
	f.record(unknown)
	_, err = f.Receipt(f.Context(), "acme", "", unknown.ID)
	f.wants(err, stores.ErrNotFound)
}
