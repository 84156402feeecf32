package weaviate

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// tenants are those of this ledger that are in the server's memory, and when
// each was used last. The server takes one in by itself when it is used.
type tenants struct {
	mu   sync.Mutex
	used map[place]time.Time
}

func (t *tenants) touch(at place, now time.Time) {
	t.mu.Lock()
	t.used[at] = now
	t.mu.Unlock()
}

func (t *tenants) drop(at place) {
	t.mu.Lock()
	delete(t.used, at)
	t.mu.Unlock()
}

// idle takes out those that were not used since before, by their collections.
func (t *tenants) idle(before time.Time) map[string][]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := map[string][]string{}
	for at, used := range t.used {
		if used.Before(before) {
			names[at.collection] = append(names[at.collection], at.tenant)
			delete(t.used, at)
		}
	}
	return names
}

// adopt takes those over that are in memory from earlier, as if used now.
func (x *Index) adopt(ctx context.Context, collections []string) error {
	if x.idle < 0 {
		return nil
	}
	for _, c := range collections {
		names, err := x.server.hotTenants(ctx, c, x.prefix+"-")
		if err != nil {
			return err
		}
		for _, name := range names {
			x.tenants.touch(place{c, name}, x.clock())
		}
	}
	return nil
}

// coolBatch is how many tenants one request takes out of memory.
const coolBatch = 100

// cool takes tenants out of the server's memory that have been idle for long
// enough.
func (x *Index) cool(ctx context.Context) {
	if x.idle < 0 {
		return
	}
	tick := time.NewTicker(max(min(x.idle/4, time.Minute), 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !x.open.Load() {
			continue
		}
		idle := x.tenants.idle(x.clock().Add(-x.idle))
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
