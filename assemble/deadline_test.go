package assemble

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"strata/intent"
	"strata/stores"
)

var errBroken = errors.New("broken")

func fullLedger() *fakeLedger {
	return &fakeLedger{passages: policies(), memories: []stores.Memory{memory("mem_1", stores.Agreement, "hotel limit was agreed", 3)},
		turns: []stores.Turn{{Exchange: "req_0", Role: "user", Content: "hi"}, {Exchange: "req_0", Role: "assistant", Content: "hello"}}}
}

// hang answers only when the context ends, or not even then.
func hang(which string, stubborn <-chan struct{}) func(context.Context, string) error {
	return func(ctx context.Context, what string) error {
		if what != which && which != "all" {
			return nil
		}
		if stubborn != nil {
			<-stubborn
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
}

func TestSlowAndBrokenStores(t *testing.T) {
	fail := func(which string) func(context.Context, string) error {
		return func(_ context.Context, what string) error {
			if what == which || which == "all" {
				return errBroken
			}
			return nil
		}
	}
	panics := func(_ context.Context, what string) error {
		if what == "search" {
			panic("store")
		}
		return nil
	}
	type want struct {
		context, reason string
		skipped         []string // layer:reason
		waits           bool     // until the deadline
	}
	for name, test := range map[string]struct {
		hold func(context.Context, string) error
		want want
	}{
		"memories hang":   {hang("memories", nil), want{"partial", "late", []string{"memory:late"}, true}},
		"search hangs":    {hang("search", nil), want{"partial", "late", []string{"knowledge:late"}, true}},
		"passages hang":   {hang("passages", nil), want{"partial", "late", []string{"knowledge:late"}, true}},
		"recent hangs":    {hang("recent", nil), want{"partial", "late", []string{"recent:late"}, true}},
		"all hang":        {hang("all", nil), want{"none", "late", []string{"knowledge:late", "memory:late", "recent:late"}, true}},
		"memories broken": {fail("memories"), want{"partial", "ledger", []string{"memory:error"}, false}},
		"search broken":   {fail("search"), want{"partial", "store_unavailable", []string{"knowledge:error"}, false}},
		"search panics":   {panics, want{"partial", "store_unavailable", []string{"knowledge:error"}, false}},
		"all broken":      {fail("all"), want{"none", "ledger", []string{"knowledge:error", "memory:error", "recent:error"}, false}},
		"nothing":         {nil, want{"full", "", nil, false}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := fullLedger()
			l.hold = test.hold
			a := New(Config{Ledger: l, Index: &fakeIndex{passages: l.passages, hold: test.hold}})
			q := ask("what is the hotel limit")
			q.Thin = true
			begun := time.Now()
			r := a.Assemble(t.Context(), q, planOf(intent.RAG), openingOf(l))
			took := time.Since(begun)
			var skipped []string
			for _, s := range r.Skipped {
				if s.ID == "" {
					skipped = append(skipped, s.Name+":"+s.Reason)
				}
			}
			slices.Sort(skipped)
			if r.Context != test.want.context || r.Reason != test.want.reason || !slices.Equal(skipped, test.want.skipped) {
				t.Errorf("%s: %s %q %v", name, r.Context, r.Reason, skipped)
			}
			if took > 150*time.Millisecond || (took > 0) != test.want.waits {
				t.Errorf("%s: took %v", name, took)
			}
		})
	}
}

// C104: a store that never answers holds a bounded number of goroutines, and
// each request lasts no longer than its deadline.
func TestStoreThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		l := fullLedger()
		l.hold = hang("all", end)
		a := New(Config{Ledger: l, Index: &fakeIndex{passages: l.passages, hold: l.hold}, InFlight: 16})
		before := runtime.NumGoroutine()
		busy := 0
		q := ask("what is the hotel limit")
		q.Thin = true
		for range 200 {
			begun := time.Now()
			r := a.Assemble(t.Context(), q, planOf(intent.RAG), openingOf(l))
			if took := time.Since(begun); took > 150*time.Millisecond {
				t.Fatal("took", took)
			}
			if r.Context != "none" || r.Reason != "late" {
				t.Fatal(r.Context, r.Reason)
			}
			if slices.Contains(r.Skipped, Skipped{Name: "memory", Reason: "busy"}) {
				busy++
			}
		}
		if n := runtime.NumGoroutine() - before; n > 3*16 {
			t.Errorf("%d goroutines more", n)
		}
		if busy != 200-16 {
			t.Errorf("%d busy", busy)
		}
		close(end)
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n > 3 { // the runtime has some of its own now and then
			t.Errorf("%d goroutines stay", n)
		}
		l.hold = nil
		a.cfg.Index.(*fakeIndex).hold = nil
		if r := a.Assemble(t.Context(), q, planOf(intent.RAG), openingOf(l)); r.Context != "full" {
			t.Error("it is back and not used:", r.Context, r.Skipped)
		}
	})
}

func TestProbeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		l := fullLedger()
		a := New(Config{Ledger: l, Index: &fakeIndex{passages: l.passages, hold: hang("search", end)}})
		begun := time.Now()
		if _, _, _, ok := a.Probe(t.Context(), stores.Scope{Tenant: "T1"}, "hotel limit"); ok || time.Since(begun) > defaultProbe {
			t.Error(ok, time.Since(begun))
		}
		close(end)
	})
}

// A client that leaves ends the walk.
func TestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fullLedger()
		l.hold = hang("all", nil)
		a := New(Config{Ledger: l, Index: &fakeIndex{passages: l.passages, hold: l.hold}})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		begun := time.Now()
		a.Assemble(ctx, ask("hotel limit"), planOf(intent.RAG), openingOf(l))
		if took := time.Since(begun); took > 5*time.Millisecond {
			t.Error(took)
		}
		synctest.Wait()
	})
}
