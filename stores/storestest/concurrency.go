package storestest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"strata/stores"
)

// together runs f n times at once and fails with the first error.
func together(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := f(i); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

// Concurrency checks that what runs at once neither loses nor doubles.
func Concurrency(t *testing.T, open Opener) {
	t.Run("C071 the same fact at the same moment", func(t *testing.T) {
		f := start(t, open)
		ctx := f.Context()
		for i := range 20 {
			f.record(f.exchange(in(anna, fmt.Sprint("s", i)), fmt.Sprint("t", i), "my project code is ZEBRA-41", "noted"))
		}
		works, err := f.Lease(ctx, "w", 100)
		f.must(err)
		f.same("works", len(works), 20)
		together(t, len(works), func(i int) error { return learnOnce(ctx, f.Store, works[i], "code", "ZEBRA-41") })
		f.same("served", f.summaries(anna), []string{"ZEBRA-41"})
		list, err := f.Memories(ctx, anna)
		f.must(err)
		f.same("evidence", len(list[0].Sources), 20)
		f.same("unlearned", f.unlearned(), 0)
	})

	t.Run("C086 two turns of one session", func(t *testing.T) {
		f := start(t, open)
		s := in(anna, "s")
		var exchanges []stores.Exchange
		for i := range 100 {
			e := f.exchange(s, fmt.Sprint("t", i), fmt.Sprint("A-", i), fmt.Sprint("ans-A-", i))
			e.At = e.At.Add(time.Duration(i) * 10 * time.Millisecond)
			exchanges = append(exchanges, e)
		}
		together(t, len(exchanges), func(i int) error { return f.Record(f.Context(), exchanges[i]) })
		turns := f.session(s)
		f.same("messages", len(turns), 200)
		for i := 0; i+1 < len(turns); i += 2 {
			f.same("pair", turns[i]+" "+turns[i+1], fmt.Sprintf("A-%d ans-A-%d", i/2, i/2))
		}
		f.same("turns", f.opening(s, stores.Links{}).Turns, 100)
	})

	t.Run("C093 under load", func(t *testing.T) { underLoad(t, open) })
	t.Run("C126 read after write", func(t *testing.T) { readAfterWrite(t, open) })

	t.Run("the end of the caller", func(t *testing.T) {
		f := start(t, open)
		ctx, cancel := context.WithCancel(f.Context())
		cancel()
		_, err := f.Open(ctx, anna, stores.Links{})
		f.wants(err, context.Canceled)
		_, err = f.Memories(ctx, anna)
		f.wants(err, context.Canceled)
		f.wants(f.Record(ctx, f.exchange(in(anna, "s"), "t", "a", "b")), context.Canceled)
		// An answer is recorded although nobody waits for it any more; reading
		// a receipt does.
		_, err = f.LastReceipt(f.Context(), "acme", "anna")
		f.must(err)
		f.same("recorded nevertheless", f.opening(in(anna, "s"), stores.Links{}).Known, true)
	})
}

// learnOnce decides like a learner: the fact is added, or strengthened when it
// is there, and decided anew when something has changed.
func learnOnce(ctx context.Context, s Store, w stores.Work, slot, summary string) error {
	for {
		memories, gen, err := s.UserMemories(ctx, w.Scope)
		if err != nil {
			return err
		}
		l := stores.Lesson{Scope: w.Scope, Lease: w.Lease, UserGen: gen}
		for _, e := range w.Exchanges {
			l.Learned = append(l.Learned, stores.Redaction{ID: e.ID, Asked: e.Asked, Answer: e.Answer})
			if len(memories) == 0 {
				l.Add = []stores.Memory{learned(slot, summary, e.ID)}
			} else {
				l.Evidence = append(l.Evidence, stores.Evidence{MemoryID: memories[0].ID, ExchangeID: e.ID})
			}
		}
		if err := s.Learn(ctx, l); !errors.Is(err, stores.ErrConflict) {
			return err
		}
	}
}

func underLoad(t *testing.T, open Opener) {
	sessions, turns, chunks := 200, 10, 2000
	if testing.Short() {
		sessions, turns, chunks = 50, 4, 300
	}
	f := start(t, open)
	ctx := f.Context()
	var recorded atomic.Int64
	done := make(chan struct{})
	var aside sync.WaitGroup
	aside.Go(func() {
		for range 4 {
			if _, err := f.PutDocument(ctx, "acme", draft("doc", fmt.Sprint("text ", recorded.Load()), chunks/4)); err != nil {
				t.Errorf("put: %v", err)
			}
		}
	})
	aside.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if _, err := f.Memories(ctx, anna); err != nil {
					t.Errorf("memories: %v", err)
				}
			}
		}
	})
	together(t, sessions, func(i int) error {
		s := in(stores.Scope{Tenant: "acme", User: fmt.Sprint("u", i%20)}, fmt.Sprint("s", i))
		for j := range turns {
			links := stores.Links{Turn: fmt.Sprint("t", i, ".", j)}
			if _, err := f.Open(ctx, s, links); err != nil {
				return err
			}
			e := stores.Exchange{ID: fmt.Sprint("r", i, ".", j), Scope: s, Links: links, Asked: "q", Answer: "a", Status: stores.Complete, Finished: true,
				Learn: true, At: f.clock.Now()}
			if err := f.Record(ctx, e); err != nil {
				return err
			}
			recorded.Add(1)
		}
		return nil
	})
	close(done)
	aside.Wait()
	stats, err := f.Stats(ctx, "acme")
	f.must(err)
	f.same("turns", []int{stats.Exchanges, int(recorded.Load())}, []int{sessions * turns, sessions * turns})
}

func readAfterWrite(t *testing.T, open Opener) {
	f := start(t, open)
	ctx := f.Context()
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	together(t, 64, func(i int) error {
		s := in(stores.Scope{Tenant: "acme", User: fmt.Sprint("u", i)}, "s")
		for j := range rounds {
			turn := fmt.Sprint("t", j)
			e := stores.Exchange{ID: fmt.Sprint("r", i, ".", j), Scope: s, Links: stores.Links{Turn: turn}, Asked: turn, Answer: "a",
				Status: stores.Complete, Finished: true, At: f.clock.Now()}
			if err := f.Record(ctx, e); err != nil {
				return err
			}
			recent, err := f.Recent(ctx, s, 1)
			if err != nil {
				return err
			}
			if len(recent) != 2 || recent[0].Content != turn {
				return fmt.Errorf("turn %d is not read after it was written: %v", j, recent)
			}
			m, err := f.AddMemory(ctx, s, memory("slot", turn))
			if err != nil {
				return err
			}
			list, err := f.Memories(ctx, s)
			if err != nil || len(list) != 1 || list[0].Summary != turn {
				return fmt.Errorf("memory %d is not read after it was written: %v, %v", j, list, err)
			}
			if err := f.DeleteMemory(ctx, s, m.ID); err != nil {
				return err
			}
			if list, err = f.Memories(ctx, s); err != nil || len(list) != 0 {
				return fmt.Errorf("memory %d is read after its delete: %v, %v", j, list, err)
			}
		}
		return nil
	})
}
