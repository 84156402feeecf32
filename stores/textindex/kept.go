package textindex

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"strata/stores"
)

const (
	defaultVectorBytes = 1 << 30
	defaultVectorIdle  = 30 * time.Minute
)

// ErrVectorMemory is that of a tenant whose vectors alone take more memory than
// Config.VectorBytes.
var ErrVectorMemory = errors.New("the tenant's vectors do not fit into memory")

// shelf names a set as callers do.
type shelf struct{ tenant, space string }

// keeper holds the sets that are in use.
type keeper struct {
	limit int64 // bytes of all
	mu    sync.Mutex
	kept  map[shelf]*keptMatrix
}

// keptMatrix is a set in memory.
type keptMatrix struct {
	turn chan struct{} // held by whoever brings it up to date
	// Both are guarded by the keeper.
	m    *matrix // nil until it is read
	used time.Time
}

// matrix returns a set as it is in the file now, nil if there is none.
func (x *Index) matrix(ctx context.Context, at shelf) (*matrix, error) {
	if err := ctx.Err(); err != nil && !x.closed.Load() {
		return nil, err
	}
	k := x.keeper.get(at, x.clock())
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var m *matrix
	var err error
	read := make(chan struct{})
	// Reading ends with the index, not with who asked first.
	begun := x.begin(func() {
		defer func() { <-k.turn; close(read) }()
		m, err = readMatrix(x.background, x.vectors, at, x.keeper.matrixOf(k), func(bytes int64) error { return x.keeper.makeRoom(at, bytes) })
		if err == nil {
			x.keeper.set(at, k, m)
		}
	})
	if !begun {
		<-k.turn
		return nil, stores.ErrClosed
	}
	select {
	case <-read:
		return m, x.failVectors(ctx, err)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin runs work beside, which Close waits for. It reports whether the index
// is open.
func (x *Index) begin(work func()) bool {
	x.gate.Lock()
	defer x.gate.Unlock()
	if x.closed.Load() {
		return false
	}
	x.idle.Go(work)
	return true
}

// letGo takes sets, and fresh postings, out of memory that nobody has asked for
// in a while.
func (x *Index) letGo(ctx context.Context, idle time.Duration) {
	tick := time.NewTicker(max(min(idle/4, time.Minute), 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			x.keeper.letGo(x.clock().Add(-idle))
			x.freshes.letGo(x.clock().Add(-idle))
		}
	}
}

func (k *keeper) get(at shelf, now time.Time) *keptMatrix {
	k.mu.Lock()
	defer k.mu.Unlock()
	km := k.kept[at]
	if km == nil {
		km = &keptMatrix{turn: make(chan struct{}, 1)}
		k.kept[at] = km
	}
	km.used = now
	return km
}

func (k *keeper) matrixOf(km *keptMatrix) *matrix {
	k.mu.Lock()
	defer k.mu.Unlock()
	return km.m
}

// set keeps what was read. Where there is no set, nothing is kept, so that
// asking for what is not there takes no memory.
func (k *keeper) set(at shelf, km *keptMatrix, m *matrix) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.kept[at] != km: // let go meanwhile
	case m == nil || m.bytes() > k.limit:
		delete(k.kept, at)
	default:
		km.m = m
		k.evict(at, k.limit)
	}
}

// makeRoom takes others out until so many bytes fit in beside the rest.
func (k *keeper) makeRoom(at shelf, bytes int64) error {
	if bytes > k.limit {
		return fmt.Errorf("%w: %d MiB, all may take %d", ErrVectorMemory, bytes>>20, k.limit>>20)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if km := k.kept[at]; km != nil {
		km.m = nil
	}
	k.evict(at, k.limit-bytes)
	return nil
}

// evict takes those out that were used longest ago, but for one, until the rest
// is within limit.
func (k *keeper) evict(except shelf, limit int64) {
	for {
		var bytes int64
		var oldest shelf
		var found *keptMatrix
		for at, km := range k.kept {
			if km.m == nil {
				continue
			}
			bytes += km.m.bytes()
			if at != except && (found == nil || km.used.Before(found.used)) {
				oldest, found = at, km
			}
		}
		if bytes <= limit || found == nil {
			return
		}
		delete(k.kept, oldest)
	}
}

// letGo takes out what was not used since before.
func (k *keeper) letGo(before time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for at, km := range k.kept {
		if km.used.Before(before) {
			delete(k.kept, at)
		}
	}
}
