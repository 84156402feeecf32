// Package cached keeps what may vanish at any moment: a user's memories, made
// ready for reading, and the vectors of questions. It decides how long they are
// good and how many bytes they take; it must not know what they are used for,
// and nothing is true because it is in here. Every read is right when the cache
// holds nothing at all.
//
// Passages are not kept: a version that was published ahead of its day comes
// into force by the clock, without a new generation, so only the ledger's own
// statement can tell which text may be served.
package cached

import (
	"context"
	"hash/maphash"
	"time"

	"github.com/dgraph-io/ristretto/v2"

	"strata/stores"
)

const (
	defaultBytes = 32 << 20
	// usualBytes is what one user's memories take, with their terms. Counters
	// are ten for each entry that fits, as ristretto advises.
	usualBytes = 8 << 10
	// keep lets entries of ended sessions and old generations go.
	keep = 10 * time.Minute
	// entryBytes is what an entry takes besides its value.
	entryBytes = 200
)

// Ledger is where the memories come from.
type Ledger interface {
	Memories(context.Context, stores.Scope) ([]stores.Memory, error)
}

// Config says what is kept.
type Config[V any] struct {
	MaxBytes int64            // of all entries; 0 = 32 MB, below 0 = keep nothing
	Clock    func() time.Time // nil = time.Now

	// Prepare makes of the rows what readers want. Its result is shared by
	// all of them and must never be changed.
	Prepare func([]stores.Memory) V
	Bytes   func(V) int64 // what V takes in memory
}

// Cache reads memories through. Make it with New; it is safe for concurrent
// use.
type Cache[V any] struct {
	ledger Ledger
	cfg    Config[V]
	seed   maphash.Seed
	held   *ristretto.Cache[uint64, *entry[V]] // nil: nothing is kept
}

// identity is whose rows an entry holds, and as of which changes. The table
// is keyed by its hash alone, so it is compared again on every read.
type identity struct {
	tenant, user, session string
	userGen, kbGen        int64
}

// entry is never changed once it is in the table.
type entry[V any] struct {
	of    identity
	until time.Time // when the first of the rows expires, zero if none does
	value V
}

// New returns a cache over ledger. Close it.
func New[V any](ledger Ledger, cfg Config[V]) (*Cache[V], error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = defaultBytes
	}
	c := &Cache[V]{ledger: ledger, cfg: cfg, seed: maphash.MakeSeed()}
	if cfg.MaxBytes < 0 {
		return c, nil
	}
	held, err := ristretto.NewCache(&ristretto.Config[uint64, *entry[V]]{
		NumCounters: max(1000, 10*cfg.MaxBytes/usualBytes),
		MaxCost:     cfg.MaxBytes,
		BufferItems: 64,
	})
	if err != nil {
		return nil, err
	}
	c.held = held
	return c, nil
}

// Close ends the cache's goroutine. Reads still work and keep nothing.
func (c *Cache[V]) Close() {
	if c.held != nil {
		c.held.Close()
	}
}

// Held returns the memories that scope may read if they are at hand, without
// waiting. The generations are those of the opening of this very request.
func (c *Cache[V]) Held(scope stores.Scope, userGen, kbGen int64) (v V, ok bool) {
	if c.held == nil || scope.Tenant == "" {
		return v, false
	}
	of := identity{scope.Tenant, scope.User, scope.Session, userGen, kbGen}
	e, ok := c.held.Get(maphash.Comparable(c.seed, of))
	if !ok || e.of != of {
		return v, false
	}
	if !e.until.IsZero() && !c.cfg.Clock().Before(e.until) {
		return v, false
	}
	return e.value, true
}

// Memories is Held, else what the ledger holds. What is read under a
// generation is at least as new as that generation.
func (c *Cache[V]) Memories(ctx context.Context, scope stores.Scope, userGen, kbGen int64) (v V, err error) {
	if err := scope.CheckTenant(); err != nil {
		return v, err
	}
	if v, ok := c.Held(scope, userGen, kbGen); ok {
		return v, nil
	}
	rows, err := c.ledger.Memories(ctx, scope)
	if err != nil {
		return v, err
	}
	v = c.cfg.Prepare(rows)
	if c.held != nil {
		c.put(identity{scope.Tenant, scope.User, scope.Session, userGen, kbGen}, firstExpiry(rows), v)
	}
	return v, nil
}

func (c *Cache[V]) put(of identity, until time.Time, v V) {
	e := &entry[V]{of: of, until: until, value: v}
	cost := c.cfg.Bytes(v) + entryBytes + int64(len(of.tenant)+len(of.user)+len(of.session))
	c.held.SetWithTTL(maphash.Comparable(c.seed, of), e, cost, keep) // may be dropped
}

func firstExpiry(rows []stores.Memory) time.Time {
	var first time.Time
	for i := range rows {
		if at := rows[i].ExpiresAt; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}
