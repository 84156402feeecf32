package cached

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"strata/stores"
)

// book is a ledger whose user has numbered memories, one for each generation.
type book struct {
	gen   atomic.Int64
	reads atomic.Int64
	until time.Time
	err   error
}

func (b *book) Memories(_ context.Context, scope stores.Scope) ([]stores.Memory, error) {
	b.reads.Add(1)
	if b.err != nil {
		return nil, b.err
	}
	return []stores.Memory{{ID: fmt.Sprint(b.gen.Load()), User: scope.User, Session: scope.Session, ExpiresAt: b.until}}, nil
}

type rows = []stores.Memory

func config(max int64) Config[rows] {
	return Config[rows]{MaxBytes: max,
		Prepare: func(list []stores.Memory) rows { return slices.Clone(list) },
		Bytes:   func(list rows) int64 { return int64(200 * len(list)) }}
}

func open(t testing.TB, b *book, cfg Config[rows]) *Cache[rows] {
	t.Helper()
	c, err := New(b, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (c *Cache[V]) settle() {
	if c.held != nil {
		c.held.Wait()
	}
}

var mine = stores.Scope{Tenant: "T1", User: "U1", Session: "S1"}

func TestHeldUntilTheGenerationChanges(t *testing.T) {
	b := &book{}
	c := open(t, b, config(0))
	read := func(scope stores.Scope, userGen, kbGen, reads int64) {
		t.Helper()
		got, err := c.Memories(t.Context(), scope, userGen, kbGen)
		c.settle()
		if err != nil || got[0].User != scope.User || got[0].Session != scope.Session || b.reads.Load() != reads {
			t.Errorf("%v %v, %d reads, want %d", got, err, b.reads.Load(), reads)
		}
	}
	read(mine, 1, 1, 1)
	read(mine, 1, 1, 1)
	read(mine, 2, 1, 2)
	read(mine, 2, 2, 3)
	read(mine, 1, 1, 3)
	for i, other := range []stores.Scope{{Tenant: "T2", User: "U1", Session: "S1"}, {Tenant: "T1", User: "U1 ", Session: "S1"}, {Tenant: "T1", User: "U1", Session: "S2"}, {Tenant: "T1U", User: "1", Session: "S1"}, {Tenant: "T1"}} {
		read(other, 1, 1, int64(4+i))
	}
	if _, ok := c.Held(mine, 1, 1); !ok {
		t.Error("not at hand")
	}
	if _, ok := c.Held(mine, 3, 1); ok {
		t.Error("at hand under a generation that nobody read")
	}
}

func TestNoTenantIsNoRead(t *testing.T) {
	b := &book{}
	c := open(t, b, config(0))
	if _, err := c.Memories(t.Context(), stores.Scope{User: "U1"}, 1, 1); !errors.Is(err, stores.ErrScope) || b.reads.Load() > 0 {
		t.Error(err)
	}
	if _, ok := c.Held(stores.Scope{User: "U1"}, 1, 1); ok {
		t.Error("held")
	}
}

func TestErrorsAreNotKept(t *testing.T) {
	b := &book{err: stores.ErrClosed}
	c := open(t, b, config(0))
	if _, err := c.Memories(t.Context(), mine, 1, 1); !errors.Is(err, stores.ErrClosed) {
		t.Error(err)
	}
	c.settle()
	b.err = nil
	if got, err := c.Memories(t.Context(), mine, 1, 1); err != nil || len(got) != 1 {
		t.Error(got, err)
	}
}

// What expires while it is held is read again, by the clock of each read.
func TestExpiryIsLookedAtOnEveryRead(t *testing.T) {
	now := time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)
	b := &book{until: now.Add(time.Minute)}
	cfg := config(0)
	cfg.Clock = func() time.Time { return now }
	c := open(t, b, cfg)
	for _, step := range []struct {
		on    time.Duration
		reads int64
	}{{0, 1}, {59 * time.Second, 1}, {time.Second, 2}, {time.Hour, 3}} {
		now = now.Add(step.on)
		if _, err := c.Memories(t.Context(), mine, 1, 1); err != nil || b.reads.Load() != step.reads {
			t.Errorf("%v: %v, %d reads", step.on, err, b.reads.Load())
		}
		c.settle()
	}
}

// Everything is right when nothing is kept: switched off, too small for any
// entry, or closed.
func TestNothingKept(t *testing.T) {
	small, closed := config(1), config(0)
	for name, cfg := range map[string]Config[rows]{"off": config(-1), "small": small, "closed": closed} {
		b := &book{}
		c := open(t, b, cfg)
		if name == "closed" {
			c.Close()
		}
		for i := range 5 {
			got, err := c.Memories(t.Context(), mine, 1, 1)
			c.settle()
			if err != nil || len(got) != 1 || b.reads.Load() != int64(i+1) {
				t.Errorf("%s: %v %v, %d reads", name, got, err, b.reads.Load())
			}
		}
	}
}

// C126: a read that began after a write ended never finds older rows.
func TestNoReadAfterAWriteIsOlder(t *testing.T) {
	b := &book{}
	c := open(t, b, config(1<<16))
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 300 {
				gen := b.gen.Add(1) // committed
				got, err := c.Memories(t.Context(), mine, gen, 1)
				var seen int64
				if _, scanErr := fmt.Sscan(got[0].ID, &seen); err != nil || scanErr != nil || seen < gen {
					t.Errorf("generation %d read %d, %v %v", gen, seen, err, scanErr)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestEntriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		c, err := New(b, config(0))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Memories(t.Context(), mine, 1, 1); err != nil {
			t.Fatal(err)
		}
		c.settle()
		time.Sleep(keep + time.Second)
		if _, ok := c.Held(mine, 1, 1); ok {
			t.Error("still held")
		}
	})
}

func TestAnEmptyCacheIsSmall(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := open(t, &book{}, config(0))
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("an empty cache of 32 MB takes %d KB", grown>>10)
	if grown > 3<<20 {
		t.Errorf("%d bytes", grown)
	}
	runtime.KeepAlive(c)
}

func BenchmarkHeld(b *testing.B) {
	c := open(b, &book{}, config(0))
	if _, err := c.Memories(b.Context(), mine, 1, 1); err != nil {
		b.Fatal(err)
	}
	c.settle()
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := c.Held(mine, 1, 1); !ok {
			b.Fatal("gone")
		}
	}
}
