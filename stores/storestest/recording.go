package storestest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"strata/stores"
)

// Recording checks what an exchange is to the turn it belongs to.
func Recording(t *testing.T, open Opener) {
	s := in(anna, "s")

	t.Run("kept and found again", func(t *testing.T) {
		f := start(t, open)
		e := f.say(s, "t1", "现在几点？", "三点。")
		f.record(e) // the same id again
		f.same("session", f.session(s), []string{"现在几点？", "三点。"})
		for _, id := range []string{e.ID, e.AnswerID} {
			r, err := f.Receipt(f.Context(), "acme", "anna", id)
			f.must(err)
			f.same("receipt", string(r), string(e.Receipt))
		}
		secret := f.Secret()
		f.must(f.Close())
		_, err := f.Open(f.Context(), s, stores.Links{})
		f.wants(err, stores.ErrClosed)
		f.wants(f.Record(f.Context(), f.exchange(s, "t2", "a", "b")), stores.ErrClosed)
		f.Store = open(t, "store", f.clock.Now)
		f.same("after a restart", f.session(s), []string{"现在几点？", "三点。"})
		f.same("secret", fmt.Sprintf("%x %d", f.Secret(), len(secret)), fmt.Sprintf("%x 32", secret))
	})

	t.Run("receipts alone", func(t *testing.T) {
		f := start(t, open)
		e := f.exchange(s, "t1", "hi", "hello")
		e.ReceiptOnly = true
		f.record(e)
		nobody := f.exchange(stores.Scope{Tenant: "acme"}, "t1", "hi", "hello")
		f.record(nobody)
		f.same("opening", f.opening(s, stores.Links{Turn: "t1"}), stores.Opening{Session: "s"})
		_, _, err := f.Session(f.Context(), "acme", "anna", "s")
		f.wants(err, stores.ErrNotFound)
		if _, err := f.Receipt(f.Context(), "acme", "anna", e.AnswerID); err != nil {
			t.Error(err)
		}
		_, err = f.Receipt(f.Context(), "acme", "anna", nobody.ID)
		f.wants(err, stores.ErrNotFound)
		r, err := f.LastReceipt(f.Context(), "acme", "")
		f.must(err)
		f.same("last receipt", string(r), string(nobody.Receipt))
		f.same("unlearned", f.unlearned(), 0)
	})

	t.Run("C087 a retry is the same turn", func(t *testing.T) {
		f := start(t, open)
		var first stores.Exchange
		for i, status := range []stores.ExchangeStatus{stores.Failed, stores.Aborted, stores.Complete} {
			e := f.exchange(s, "t1", "hi", fmt.Sprint("answer ", i))
			e.Status, e.Finished = status, status == stores.Complete
			if i == 0 {
				first = e
			}
			f.record(e)
			f.clock.Advance(time.Minute)
		}
		f.same("session", f.session(s), []string{"hi", "answer 2"})
		o := f.opening(s, stores.Links{Turn: "t1"})
		f.same("turn", []any{o.Turn.ID, o.Turn.Finished, o.Turns}, []any{first.ID, true, 1})
		f.same("learnable", f.unlearned(), 1)
		if _, err := f.Receipt(f.Context(), "acme", "anna", first.ID); err != nil {
			t.Error("the receipt of the first try:", err)
		}
	})

	t.Run("C087 the cut try is recorded last", func(t *testing.T) {
		f := start(t, open)
		cut := f.exchange(in(anna, "first"), "t1", "hi", "hel")
		cut.Status, cut.Finished = stores.Aborted, false
		f.clock.Advance(2 * time.Second)
		f.say(in(anna, "second"), "t1", "hi", "hello")
		f.record(cut)
		list, _, err := f.Sessions(f.Context(), "acme", "anna", "", 10)
		f.must(err)
		f.same("sessions", len(list), 1)
		f.same("session", f.session(in(anna, "second")), []string{"hi", "hello"})
	})

	t.Run("two tries in two new sessions", func(t *testing.T) {
		f := start(t, open)
		cut := f.exchange(in(anna, "first"), "t1", "hi", "hel")
		cut.Status, cut.Finished = stores.Aborted, false
		f.record(cut)
		f.clock.Advance(time.Second)
		f.say(in(anna, "second"), "t1", "hi", "hello")
		list, _, err := f.Sessions(f.Context(), "acme", "anna", "", 10)
		f.must(err)
		if len(list) != 1 || list[0].ID != "second" {
			t.Errorf("sessions %+v, want the second alone", list)
		}
	})

	t.Run("a tool loop is one turn", func(t *testing.T) {
		f := start(t, open)
		for range 3 {
			call := f.exchange(s, "t1", "weather?", "")
			call.Finished = false
			f.record(call)
			f.clock.Advance(10 * time.Second)
		}
		f.say(s, "t1", "weather?", "rain")
		f.same("session", f.session(s), []string{"weather?", "rain"})
		f.same("turns", f.opening(s, stores.Links{}).Turns, 1)
		f.same("learnable", f.unlearned(), 1)
	})

	t.Run("a regenerate is a branch", func(t *testing.T) {
		f := start(t, open)
		e := f.say(s, "t1", "hi", "hello")
		f.say(s, "t2", "next", "one")
		f.say(s, "t1", "hi", "hey")
		f.same("session", f.session(s), []string{"hi", "hey", "next", "one"})
		f.same("learnable", f.unlearned(), 2)
		o := f.opening(anna, stores.Links{Turn: "x", Pairs: []string{e.PairKey}})
		f.same("both answers link", o.Session, "s")
		f.same("and the turns are two", o.Turns, 2)
		f.same("both answers link", f.opening(anna, stores.Links{Turn: "x", Pairs: []string{"pair:hi/hey"}}).Session, "s")

		stopped := f.exchange(s, "t1", "hi", "ho")
		stopped.Status, stopped.Finished = stores.Aborted, false
		f.record(stopped)
		f.same("a stopped one does not replace", f.session(s), []string{"hi", "hey", "next", "one"})
		f.clock.Advance(time.Minute)
		f.say(s, "t1", "hi", "hi there")
		f.same("the next does", f.session(s), []string{"hi", "hi there", "next", "one"})
		f.same("learnable", f.unlearned(), 2)
	})

	t.Run("seconds old is a retry", func(t *testing.T) {
		f := start(t, open)
		f.record(f.exchange(s, "t1", "hi", "hello"))
		f.clock.Advance(4 * time.Second)
		f.record(f.exchange(s, "t1", "hi", "hey"))
		f.same("session", f.session(s), []string{"hi", "hey"})
		f.same("learnable", f.unlearned(), 1)
		f.same("turns", f.opening(s, stores.Links{}).Turns, 1)
		f.same("the first does not link", f.opening(anna, stores.Links{Turn: "x", Pairs: []string{"pair:hi/hello"}}).Session, "")
	})

	t.Run("what was learned is not learned again", func(t *testing.T) {
		f := start(t, open)
		f.record(f.exchange(s, "t1", "hi", "hello"))
		f.must(f.Learn(f.Context(), f.lesson(f.lease())))
		f.clock.Advance(time.Second)
		f.record(f.exchange(s, "t1", "hi", "hey"))
		f.same("learnable", f.unlearned(), 0)
	})

	t.Run("nobody waits any more", func(t *testing.T) {
		f := start(t, open)
		ended, cancel := context.WithCancel(f.Context())
		cancel()
		e := f.exchange(s, "t1", "hi", "hello")
		if err := f.Record(ended, e); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		f.say(s, "t2", "and", "so")
		f.same("session", f.session(s), []string{"hi", "hello", "and", "so"})
	})

	t.Run("thin clients repeat themselves", func(t *testing.T) {
		f := start(t, open)
		for i := range 3 {
			e := f.exchange(s, "t", "go on", fmt.Sprint(i))
			e.Links.Thin = true
			f.record(e)
			f.clock.Advance(time.Second)
		}
		f.same("session", f.session(s), []string{"go on", "0", "go on", "1", "go on", "2"})
		f.same("learnable", f.unlearned(), 3)
		cut := f.exchange(s, "t", "go on", "3")
		cut.Links.Thin, cut.Status, cut.Finished = true, stores.Aborted, false
		f.record(cut)
		again := f.exchange(s, "t", "go on", "4")
		again.Links.Thin = true
		f.record(again)
		recent, err := f.Recent(f.Context(), s, 2)
		f.must(err)
		f.same("recent", texts(recent), []string{"go on", "2", "go on", "4"})
	})

	t.Run("recent is complete turns only", func(t *testing.T) {
		f := start(t, open)
		for i := range 5 {
			e := f.exchange(s, fmt.Sprint("t", i), fmt.Sprint("q", i), fmt.Sprint("a", i))
			if i == 3 {
				e.Status, e.Finished = stores.Aborted, false
			}
			f.record(e)
			f.clock.Advance(time.Minute)
		}
		recent, err := f.Recent(f.Context(), s, 3)
		f.must(err)
		f.same("recent", texts(recent), []string{"q1", "a1", "q2", "a2", "q4", "a4"})
		for _, scope := range []stores.Scope{in(bela, "s"), in(other, "s"), in(anna, "x"), anna} {
			recent, err := f.Recent(f.Context(), scope, 3)
			f.must(err)
			f.same("recent of others", recent, []stores.Turn(nil))
		}
	})

	t.Run("not to be learned", func(t *testing.T) {
		f := start(t, open)
		e := f.exchange(s, "t1", "my key is K", "ok")
		e.Learn = false
		f.record(e)
		f.same("learnable", f.unlearned(), 0)
		raw, err := f.Unredacted(f.Context(), 10)
		f.must(err)
		if len(raw) != 1 || raw[0].Asked != e.Asked || raw[0].Scope.User != "anna" {
			t.Fatalf("to redact: %+v", raw)
		}
		f.must(f.Redact(f.Context(), "umbrella", []stores.Redaction{{ID: e.ID, Asked: "wrong"}}))
		f.must(f.Redact(f.Context(), "acme", []stores.Redaction{{ID: e.ID, Asked: "my key is [redacted]", Answer: "ok"}}))
		f.same("session", f.session(s), []string{"my key is [redacted]", "ok"})
		raw, err = f.Unredacted(f.Context(), 10)
		f.must(err)
		f.same("to redact", len(raw), 0)
	})

	t.Run("settled", func(t *testing.T) {
		f := start(t, open)
		for turn, learn := range map[string]bool{"t1": true, "t2": false} {
			e := f.exchange(s, turn, "q", "a")
			e.Learn, e.Settled = learn, true
			f.record(e)
		}
		works, err := f.Lease(f.Context(), "w", 10)
		f.must(err)
		raw, err := f.Unredacted(f.Context(), 10)
		f.must(err)
		f.same("learnable, leased, to redact", []int{f.unlearned(), len(works), len(raw)}, []int{0, 0, 0})
		f.same("session", f.session(s), []string{"q", "a", "q", "a"})
		f.same("turns", f.opening(s, stores.Links{}).Turns, 2)

		// The same turn again is no other one.
		retry := f.exchange(s, "t1", "q", "a")
		f.record(retry)
		f.same("a retry of what was learned from", f.unlearned(), 0)
	})
}

func (f *fixture) unlearned() int {
	f.Helper()
	n, err := f.Unlearned(f.Context())
	f.must(err)
	return n
}
