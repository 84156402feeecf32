package ledger_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"strata/stores"
	"strata/stores/ledger"
)

const benchMemories, benchExchanges = 20, 50

func benchScope(user int) stores.Scope {
	return stores.Scope{Tenant: "acme", User: fmt.Sprint("user-", user, "@example.org"), Session: fmt.Sprint("chat-", user)}
}

func benchExchange(user, n int, id string) stores.Exchange {
	return stores.Exchange{
		ID: id, Scope: benchScope(user), Links: stores.Links{Turn: fmt.Sprintf("%032d-%s", user, id)}, PairKey: fmt.Sprintf("pair-%032d-%d", user, n),
		Asked: "Which of the two drafts did we choose for the spring brochure, and why?", Answer: string(make([]byte, 600)),
		AnswerID: "chatcmpl-" + id, Model: "gpt-4o", Status: stores.Complete, Finished: true, Learn: true, Intent: "chat",
		Items: []string{"mem_000000000000000000000000"}, Receipt: make([]byte, 400), At: time.Unix(1_700_000_000+int64(n), 0),
	}
}

// filled is a store of users with 20 memories and 50 exchanges each.
func filled(b *testing.B, users int) *ledger.Ledger {
	b.Helper()
	l, err := ledger.New(context.Background(), ledger.Config{Path: filepath.Join(b.TempDir(), "ledger.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	var wg sync.WaitGroup
	for worker := range 64 {
		wg.Go(func() {
			for user := worker; user < users; user += 64 {
				for i := range benchMemories {
					m := stores.Memory{Type: stores.Preference, Summary: "prefers short answers with a table at the end", Slot: fmt.Sprint("slot", i), Tokens: 9}
					if _, err := l.AddMemory(context.Background(), benchScope(user), m); err != nil {
						b.Error(err)
					}
				}
				for i := range benchExchanges {
					if err := l.Record(context.Background(), benchExchange(user, i, fmt.Sprint("r", user, ".", i))); err != nil {
						b.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	return l
}

// timed runs f and reports the middle and the slow end, in microseconds.
func timed(b *testing.B, f func(i int) error) {
	var took []time.Duration
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		if err := f(i); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-us")
}

func BenchmarkLedger(b *testing.B) {
	users := 1000
	if testing.Short() {
		users = 100
	}
	l := filled(b, users)
	ctx := context.Background()
	b.Run("Open/named", func(b *testing.B) {
		timed(b, func(i int) error {
			o, err := l.Open(ctx, benchScope(i*7919%users), stores.Links{Turn: "a new turn"})
			if err == nil && (o.Memories != benchMemories || !o.Known) {
				err = fmt.Errorf("opening %+v", o)
			}
			return err
		})
	})
	b.Run("Open/linked", func(b *testing.B) {
		timed(b, func(i int) error {
			user := i * 7919 % users
			scope := benchScope(user)
			want := scope.Session
			scope.Session = ""
			links := stores.Links{Turn: "a new turn"}
			for n := range 4 {
				links.Pairs = append(links.Pairs, benchExchange(user, benchExchanges-1-n, "").PairKey)
			}
			o, err := l.Open(ctx, scope, links)
			if err == nil && o.Session != want {
				err = fmt.Errorf("opening %+v", o)
			}
			return err
		})
	})
	b.Run("Memories", func(b *testing.B) {
		timed(b, func(i int) error {
			list, err := l.Memories(ctx, benchScope(i*7919%users))
			if err == nil && len(list) != benchMemories {
				err = fmt.Errorf("%d memories", len(list))
			}
			return err
		})
	})
	var n atomic.Int64
	record := func() error {
		i := int(n.Add(1))
		return l.Record(ctx, benchExchange(i*7919%users, benchExchanges+i, fmt.Sprint("bench", i)))
	}
	b.Run("Record/1", func(b *testing.B) { timed(b, func(int) error { return record() }) })
	b.Run("Record/32", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := record(); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
