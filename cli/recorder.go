package cli

import (
	"context"
	"sync/atomic"

	"strata/learn"
	"strata/stores"
	"strata/stores/ledger"
)

// recorder is the ledger as the data plane writes to it. It tells it what need
// not wait for the learner, and counts what was given up waiting for, so that
// the end of the process can tell what is lost.
type recorder struct {
	*ledger.Ledger
	learner *learn.Learner
	late    atomic.Int64 // since the last exchange that was seen written
}

// Record is the ledger's. As that writes in the order in which it is told, one
// exchange that is written says that those before it are done with.
func (r *recorder) Record(ctx context.Context, e stores.Exchange) error {
	if e.Scope.User != "" && !e.ReceiptOnly {
		e.Settled = r.learner.Settled(&e)
	}
	err := r.Ledger.Record(ctx, e)
	switch {
	case ctx.Err() != nil && err != nil:
		r.late.Add(1)
	case err == nil && !e.ReceiptOnly && r.late.Load() > 0: // receipts alone are not waited for
		r.late.Store(0)
	}
	return err
}
