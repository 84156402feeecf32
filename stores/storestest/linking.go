package storestest

import (
	"testing"
	"time"

	"strata/stores"
)

// Linking checks how a request without a named session finds its own.
func Linking(t *testing.T, open Opener) {
	t.Run("nothing is known", func(t *testing.T) {
		f := start(t, open)
		o := f.opening(anna, stores.Links{Turn: "t", Pairs: []string{"p"}})
		f.same("opening", o, stores.Opening{})
		o = f.opening(in(anna, "named"), stores.Links{Turn: "t"})
		f.same("opening", o, stores.Opening{Session: "named"})
	})

	t.Run("longest run", func(t *testing.T) {
		f := start(t, open)
		short, long := in(anna, "short"), in(anna, "long")
		f.say(long, "l1", "hi", "hello")
		f.say(long, "l2", "more", "ok")
		f.say(short, "s2", "more", "ok")
		links := stores.Links{Turn: "new", Pairs: []string{"pair:more/ok", "pair:hi/hello"}}
		f.same("session", f.opening(anna, links).Session, "long")
		// A hole ends the run: what lies behind it does not count.
		links.Pairs = []string{"pair:more/ok", "pair:unknown", "pair:hi/hello"}
		f.same("session", f.opening(anna, links).Session, "short")
		links.Pairs = []string{"pair:unknown", "pair:more/ok"}
		f.same("session", f.opening(anna, links).Session, "")
	})

	t.Run("the tip, then the latest", func(t *testing.T) {
		f := start(t, open)
		a, b := in(anna, "a"), in(anna, "b")
		f.say(a, "a1", "hi", "hello")
		f.say(b, "b1", "hi", "hello")
		f.say(b, "b2", "go on", "so")
		links := stores.Links{Turn: "new", Pairs: []string{"pair:hi/hello"}}
		f.same("tip", f.opening(anna, links).Session, "a")
		f.say(a, "a2", "go on", "so")
		f.same("neither is the tip", f.opening(anna, links).Session, "a")
		f.say(b, "b3", "more", "yes")
		f.same("latest", f.opening(anna, links).Session, "b")
	})

	t.Run("a turn belongs to its session", func(t *testing.T) {
		f := start(t, open)
		f.say(in(anna, "a"), "a1", "hi", "hello")
		call := f.exchange(in(anna, "b"), "t2", "weather?", "")
		call.Finished, call.Items, call.Stable, call.Intent = false, []string{"m1"}, []string{"m2"}, "data"
		f.record(call)
		o := f.opening(anna, stores.Links{Turn: "t2", Pairs: []string{"pair:hi/hello"}})
		f.same("session", o.Session, "b")
		if o.Turn == nil {
			t.Fatal("the turn is not found")
		}
		f.same("turn", *o.Turn, stores.OpenTurn{ID: call.ID, Items: call.Items, Stable: call.Stable, Intent: "data", At: call.At})
	})

	t.Run("the same first words", func(t *testing.T) {
		f := start(t, open)
		first := f.exchange(in(anna, "a"), "t1", "hi", "hello")
		f.record(first)
		links := stores.Links{Turn: "t1"}
		f.same("soon after: another answer to them", f.opening(anna, links).Session, "a")
		f.clock.Advance(11 * time.Minute)
		f.same("later: another conversation", f.opening(anna, links).Session, "")
		again := f.exchange(in(anna, "b"), "t1", "hi", "hello")
		again.Learn = true
		f.record(again)
		f.same("its turns", f.opening(in(anna, "b"), stores.Links{Turn: "t2"}).Turns, 1)
		links.Pairs = []string{first.PairKey}
		f.same("with history", f.opening(anna, links).Session, "b")
	})

	t.Run("named sessions do not link", func(t *testing.T) {
		f := start(t, open)
		e := f.exchange(in(anna, "named"), "t1", "hi", "hello")
		e.Named = true
		f.record(e)
		links := stores.Links{Turn: "t1", Pairs: []string{e.PairKey}}
		f.same("without a name", f.opening(anna, links).Session, "")
		o := f.opening(in(anna, "named"), links)
		f.same("by its name", []any{o.Session, o.Known, o.Turns, o.Turn != nil}, []any{"named", true, 1, true})
		f.same("another name", f.opening(in(anna, "second"), links).Turn == nil, true)
	})

	t.Run("never another's", func(t *testing.T) {
		f := start(t, open)
		e := f.say(in(anna, "s"), "t1", "hi", "hello")
		links := stores.Links{Turn: "t1", Pairs: []string{e.PairKey}}
		for _, scope := range []stores.Scope{bela, other} {
			f.same("opening of "+scope.Tenant+"/"+scope.User, f.opening(scope, links), stores.Opening{})
			f.same("named", f.opening(in(scope, "s"), links).Known, false)
		}
	})

	t.Run("what the session knows", func(t *testing.T) {
		f := start(t, open)
		s := in(anna, "s")
		e := f.exchange(s, "t1", "hi", "hello")
		e.Intent, e.History, e.Stable, e.StableGen, e.Pin = "rag", true, []string{"m1"}, 2, true
		f.record(e)
		o := f.opening(s, stores.Links{})
		f.same("session", []any{o.LastIntent, o.LastHistory, o.Pinned, o.PinnedGen, o.Turns}, []any{"rag", true, []string{"m1"}, 2, 1})

		f.clock.Advance(time.Minute)
		e = f.exchange(s, "t2", "and", "so")
		e.Intent, e.Stable, e.StableGen, e.Pin = "chat", []string{"m1", "m2"}, 2, true
		f.record(e)
		o = f.opening(s, stores.Links{})
		f.same("pins wait for the next epoch", []any{o.LastIntent, o.LastHistory, o.Pinned, o.PinnedGen}, []any{"chat", false, []string{"m1"}, 2})

		e = f.exchange(s, "t3", "and", "then")
		e.Stable, e.StableGen = []string{"m1"}, 3
		f.record(e)
		f.same("what was not chosen is not pinned", f.opening(s, stores.Links{}).PinnedGen, 2)
		e = f.exchange(s, "t4", "and", "now")
		e.Stable, e.StableGen, e.Pin = []string{"m2"}, 3, true
		f.record(e)
		o = f.opening(s, stores.Links{})
		f.same("pins of the next epoch", []any{o.Pinned, o.PinnedGen}, []any{[]string{"m2"}, 3})
		e = f.exchange(s, "t0", "late", "one")
		e.Stable, e.StableGen, e.Pin = []string{"m1"}, 2, true
		f.record(e)
		f.same("pins do not go back", f.opening(s, stores.Links{}).PinnedGen, 3)

		// No stable block can be chosen too.
		other := in(anna, "other")
		f.record(f.exchange(other, "t1", "hi", "hello"))
		f.same("nothing is chosen", f.opening(other, stores.Links{}).Fixed, false)
		e = f.exchange(other, "t2", "and", "so")
		e.Pin = true
		f.record(e)
		e = f.exchange(other, "t3", "and", "now")
		e.Stable, e.Pin = []string{"m1"}, true
		f.record(e)
		o = f.opening(other, stores.Links{})
		f.same("nothing is pinned", []any{o.Fixed, len(o.Pinned), o.PinnedGen}, []any{true, 0, 0})
	})
}
