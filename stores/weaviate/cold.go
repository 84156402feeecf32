package weaviate

import (
	"context"
	"slices"
	"sync"
	"time"
)

// tenants are those of this ledger that are in the server's memory, and when
// each was used last. The server takes one in by itself when it is used.
type tenants struct {
	mu   sync.Mutex
	used map[string]time.Time
}

func (t *tenants) touch(name string, now time.Time) {
	t.mu.Lock()
	t.used[name] = now
	t.mu.Unlock()
}

func (t *tenants) drop(name string) {
	t.mu.Lock()
	delete(t.used, name)
	t.mu.Unlock()
}

// idle takes out those that were not used since before.
func (t *tenants) idle(before time.Time) (names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, used := range t.used {
		if used.Before(before) {
			names = append(names, name)
			delete(t.used, name)
		}
	}
	slices.Sort(names)
	return names
}

// adopt takes those over that are in memory from earlier, as if used now.
func (x *Index) adopt(ctx context.Context) error {
	if x.idle < 0 {
		return nil
	}
	names, err := x.server.hotTenants(ctx, x.prefix+"-")
	for _, name := range names {
		x.tenants.touch(name, x.clock())
	}
	return err
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
		for names := range slices.Chunk(x.tenants.idle(x.clock().Add(-x.idle)), coolBatch) {
			limited, cancel := context.WithTimeout(ctx, writeLimit)
			err := x.server.coolTenants(limited, names)
			cancel()
			if err == nil {
				continue
			}
			// One that is gone fails all; the rest may be tried again.
			x.log.Debug("idle tenants stay in the index's memory", "error", err)
			for _, name := range names {
				if there, err := x.server.hasTenant(ctx, name); err != nil || there {
					x.tenants.touch(name, x.clock())
				}
			}
		}
	}
}
