package cli

import (
	"context"
	"sync"
	"sync/atomic"
)

// filling knows whose passages are not yet in an index that is filled anew, so
// that a question is not told that nothing fits. The zero value is of an index
// that has everything.
type filling struct {
	state atomic.Int32
	in    atomic.Pointer[sync.Map] // tenants that have everything
}

// The states of filling.
const (
	filled    int32 = iota
	unqueued        // what is to be put is not in the outbox yet: nobody has anything
	fromQueue       // it is; who has nothing there has everything
)

func (f *filling) begin() {
	f.in.Store(new(sync.Map))
	f.state.Store(unqueued)
}

func (f *filling) queued() { f.state.CompareAndSwap(unqueued, fromQueue) }
func (f *filling) end()    { f.state.Store(filled) }

// of tells whether passages of a tenant are missing. Only while the index is
// filled, and until the tenant has everything, it asks waits, which tells
// whether something of it is in the outbox.
func (f *filling) of(ctx context.Context, tenant string, waits func(context.Context, string) (bool, error)) bool {
	switch f.state.Load() {
	case filled:
		return false
	case unqueued:
		return true
	}
	in := f.in.Load()
	if _, ok := in.Load(tenant); ok {
		return false
	}
	if left, err := waits(ctx, tenant); err != nil || left {
		return true
	}
	in.Store(tenant, nil)
	return false
}
