package weaviate

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weaviate/weaviate/entities/models"
)

// tenants are those of this ledger that are in the server's memory, and when
// each was used last. The server takes one in by itself when it is used.
type tenants struct {
	mu   sync.Mutex
	used map[place]time.Time
}

// touch notes a use and returns how many there are.
func (t *tenants) touch(at place, now time.Time) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used[at] = now
	return len(t.used)
}

func (t *tenants) drop(at place) {
	t.mu.Lock()
	delete(t.used, at)
	t.mu.Unlock()
}

// idle takes out those that were not used since before, and of the others those
// that were not used for longest where there are more than most (below 0 = any
// number). It returns them by their collections.
func (t *tenants) idle(before time.Time, most int) map[string][]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	byUse := slices.SortedFunc(maps.Keys(t.used), func(a, b place) int { return t.used[a].Compare(t.used[b]) })
	names := map[string][]string{}
	for i, at := range byUse {
		if !t.used[at].Before(before) && (most < 0 || len(byUse)-i <= most) {
			break
		}
		names[at.collection] = append(names[at.collection], at.tenant)
		delete(t.used, at)
	}
	return names
}

// use notes that a tenant is used. Where far too many are, some go at once.
func (x *Index) use(at place) {
	n := x.tenants.touch(at, x.clock())
	if x.hot >= 0 && n > x.hot+x.hot/8 {
		select {
		case x.crowded <- struct{}{}:
		default:
		}
	}
}

// adopt takes those over that are in memory from earlier, as if used now: of
// passages, which are given, and of vectors.
func (x *Index) adopt(ctx context.Context, passages []models.Tenant) error {
	hot := func(collection string, all []models.Tenant) {
		for _, t := range all {
			if isHot(t) {
				x.use(place{collection, t.Name})
			}
		}
	}
	hot(collection, passages)
	for _, c := range x.spaces.names() {
		all, err := x.server.tenants(ctx, c, x.prefix)
		if err != nil {
			return err
		}
		hot(c, all)
	}
	return nil
}

// coolBatch is how many tenants one request takes out of memory.
const coolBatch = 100

// coolEvery is how often tenants are looked over, or four times in the time that
// one may be idle.
const coolEvery = 15 * time.Second

// cool takes tenants out of the server's memory that have been idle for long
// enough, or are too many.
func (x *Index) cool(ctx context.Context) {
	tick := time.NewTicker(max(min(x.idle/4, coolEvery), 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-x.crowded:
		}
		if !x.open.Load() {
			continue
		}
		idle := x.tenants.idle(x.clock().Add(-x.idle), x.hot)
		for _, c := range slices.Sorted(maps.Keys(idle)) {
			for names := range slices.Chunk(slices.Sorted(slices.Values(idle[c])), coolBatch) {
				x.coolSome(ctx, c, names)
			}
		}
	}
}

// coolSome takes some out of memory. One that is gone fails all; the rest is
// then tried again later.
func (x *Index) coolSome(ctx context.Context, collection string, names []string) {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	err := x.server.coolTenants(ctx, collection, names)
	if err == nil {
		return
	}
	x.log.Debug("idle tenants stay in the index's memory", "error", err)
	for _, name := range names {
		at := place{collection, name}
		if there, err := x.server.hasTenant(ctx, at); err != nil || there {
			x.tenants.touch(at, x.clock())
		}
	}
}
