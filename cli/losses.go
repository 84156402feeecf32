package cli

import (
	"context"
	"log/slog"
	"time"
)

const (
	// mostLosses wait at most. What is dropped is told again by the next search.
	mostLosses = 100
	// lossPause is how long a tenant is left alone all of which waits already:
	// its searches go on telling until something of it is back.
	lossPause = 10 * time.Second
)

// lossLedger says what an index must have.
type lossLedger interface {
	Indexed(ctx context.Context, tenant, space string) (bool, error)
	RequeueTenant(ctx context.Context, tenant, space string) (versions int, err error)
}

// loss is of a tenant's passages, or of its vectors in a space.
type loss struct{ tenant, space string }

// told is a loss; once is one that nobody may come to tell again.
type told struct {
	loss
	once bool
}

// losses has what an index has lost of single tenants put into it again.
type losses struct {
	ledger lossLedger
	log    *slog.Logger
	told   chan told
}

func newLosses(l lossLedger, log *slog.Logger) *losses {
	return &losses{ledger: l, log: log, told: make(chan told, mostLosses)}
}

// tell reports whether the index must have something of a tenant, which it has
// not. That is one row of the ledger, since anybody may ask for any tenant; the
// walk over its documents is left to run, and to those that have some.
func (x *losses) tell(ctx context.Context, tenant, space string, put bool) bool {
	must, err := x.ledger.Indexed(ctx, tenant, space)
	if err != nil || !must {
		return false
	}
	l := told{loss{tenant, space}, put}
	select {
	case x.told <- l:
		return true
	default:
	}
	if put {
		select {
		case x.told <- l:
		case <-ctx.Done():
		}
	}
	return true
}

// run queues what was lost, and calls notify, until ctx ends.
func (x *losses) run(ctx context.Context, notify func()) {
	waits := map[loss]time.Time{}
	for {
		var l told
		select {
		case <-ctx.Done():
			return
		case l = <-x.told:
		}
		now := time.Now()
		for other, at := range waits {
			if now.Sub(at) >= lossPause {
				delete(waits, other)
			}
		}
		if _, ok := waits[l.loss]; ok && !l.once {
			continue
		}
		n, err := x.ledger.RequeueTenant(ctx, l.tenant, l.space)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			x.log.Error("a tenant that the search index has lost cannot be queued; that is tried again with its next question", "error", err)
		case n == 0:
			waits[l.loss] = now
		default:
			x.log.Error("the search index has lost all that it had of a tenant, which is put again", "what", what(l.loss), "versions", n)
			notify()
		}
	}
}

func what(l loss) string {
	if l.space == "" {
		return "passages"
	}
	return "vectors"
}
