package storestest

import (
	"testing"
	"time"

	"strata/stores"
)

// Judged checks what becomes of an intent that is put right after the event.
func Judged(t *testing.T, open Opener) {
	s := in(anna, "s")
	said := func(f *fixture, scope stores.Scope, turn, intent string) stores.Exchange {
		e := f.exchange(scope, turn, "hi "+turn, "hello")
		e.Intent = intent
		f.record(e)
		f.clock.Advance(time.Minute)
		return e
	}
	last := func(f *fixture, scope stores.Scope) string { return f.opening(scope, stores.Links{}).LastIntent }
	turn := func(f *fixture, key string) string {
		f.Helper()
		o := f.opening(s, stores.Links{Turn: key})
		if o.Turn == nil {
			f.Fatalf("no turn %s", key)
		}
		return o.Turn.Intent
	}

	t.Run("the latest", func(t *testing.T) {
		f := start(t, open)
		said(f, s, "t1", "rag")
		e := said(f, s, "t2", "chat")
		f.must(f.SetIntent(f.Context(), s, e.ID, "data"))
		f.same("session", last(f, s), "data")
		f.same("the exchange", turn(f, "t2"), "data")
		f.same("the one before", turn(f, "t1"), "rag")
	})

	t.Run("an earlier one", func(t *testing.T) {
		f := start(t, open)
		e := said(f, s, "t1", "chat")
		said(f, s, "t2", "rag")
		f.must(f.SetIntent(f.Context(), s, e.ID, "data"))
		f.same("session", last(f, s), "rag")
		f.same("the exchange", turn(f, "t1"), "data")
	})

	t.Run("another's", func(t *testing.T) {
		f := start(t, open)
		e := said(f, s, "t1", "chat")
		said(f, in(anna, "x"), "t1", "chat")
		said(f, in(bela, "s"), "t1", "chat")
		said(f, in(other, "s"), "t1", "chat")
		for _, scope := range []stores.Scope{in(anna, "x"), in(bela, "s"), in(stores.Scope{Tenant: "initech", User: "anna"}, "s")} {
			f.wants(f.SetIntent(f.Context(), scope, e.ID, "data"), stores.ErrNotFound)
		}
		for _, scope := range []stores.Scope{s, in(anna, "x"), in(bela, "s"), in(other, "s")} {
			f.same("session", last(f, scope), "chat")
		}
		for _, scope := range []stores.Scope{{Tenant: "acme"}, {User: "anna"}} {
			f.wants(f.SetIntent(f.Context(), scope, e.ID, "data"), stores.ErrScope)
		}
	})

	t.Run("what is gone", func(t *testing.T) {
		f := start(t, open)
		receipt := f.exchange(s, "t0", "hi", "hello")
		receipt.ReceiptOnly = true
		f.record(receipt)
		e := said(f, s, "t1", "chat")
		f.wants(f.SetIntent(f.Context(), s, receipt.ID, "data"), stores.ErrNotFound)
		f.must(f.DeleteSession(f.Context(), "acme", "anna", "s"))
		f.wants(f.SetIntent(f.Context(), s, e.ID, "data"), stores.ErrNotFound)
		f.wants(f.SetIntent(f.Context(), s, "", "data"), stores.ErrNotFound)
	})

	t.Run("a try that was replaced", func(t *testing.T) {
		f := start(t, open)
		cut := f.exchange(s, "t1", "hi", "hel")
		cut.Status, cut.Finished, cut.Intent = stores.Aborted, false, "chat"
		f.record(cut)
		f.clock.Advance(time.Second)
		said(f, s, "t1", "rag")
		f.wants(f.SetIntent(f.Context(), s, cut.ID, "data"), stores.ErrNotFound)
		f.same("session", last(f, s), "rag")
	})
}
