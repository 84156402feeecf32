package ingest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"strata/stores"
)

const (
	pageSize   = 32  // outbox entries read at a time
	batchSize  = 512 // passages written at a time, so that an end of ctx is soon seen
	firstPause = 200 * time.Millisecond
	maxPause   = 30 * time.Second
	pollEvery  = 15 * time.Second // for entries that others wrote
	maxPage    = 256              // texts of some 16,000 passages
)

// hold keeps a failed entry from being tried again at once.
type hold struct {
	until time.Time
	pause time.Duration
}

type version struct {
	tenant, document string
	number           int
}

// workOff works on the outbox until no entry of want is in it, and returns
// the error that keeps one there. indexed is called after each entry of want,
// step after each page.
func (g *Ingester) workOff(ctx context.Context, want version, indexed func(passages int), step func()) error {
	if err := g.take(ctx); err != nil {
		return err
	}
	defer g.release()
	for limit := pageSize; ; {
		page, err := g.ledger.Outbox(ctx, limit)
		if err != nil {
			return err
		}
		progress, err := g.workPage(ctx, page, want, indexed)
		if err != nil {
			return err
		}
		step()
		switch {
		case len(page) < limit && !progress:
			return nil
		case !progress && limit >= maxPage:
			return errBacklog
		case !progress: // nothing but held entries: look behind them
			limit = min(4*limit, maxPage)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// workPage does a page of entries and reports whether any was done. An error is
// that of an entry of want.
func (g *Ingester) workPage(ctx context.Context, page []stores.OutboxEntry, want version, indexed func(passages int)) (progress bool, err error) {
	mine := func(e stores.OutboxEntry) bool {
		return want == version{e.Tenant, e.Document, e.Version} && e.Op == stores.OutboxPut
	}
	waits := func(e stores.OutboxEntry) bool {
		h, ok := g.held[e.Seq]
		return ok && !mine(e) && g.clock().Before(h.until)
	}
	for alone := false; len(page) > 0; {
		if waits(page[0]) {
			page = page[1:]
			continue
		}
		n := 1
		for passages := len(page[0].Passages); !alone && n < len(page) && joins(page[0], page[n]) && !waits(page[n]); n++ {
			if passages += len(page[n].Passages); passages > batchSize {
				break
			}
		}
		err := g.do(ctx, page[:n]...)
		if err != nil && n > 1 { // whose fault it is shows one by one
			alone = true
			continue
		}
		for _, e := range page[:n] {
			switch {
			case mine(e) && err != nil:
				return progress, err
			case mine(e):
				indexed(len(e.Passages))
			}
		}
		progress, page = progress || err == nil, page[n:]
	}
	return progress, nil
}

// joins tells whether the index may take two puts as one: what is written for
// each costs most of what it takes.
func joins(a, b stores.OutboxEntry) bool {
	return a.Op == stores.OutboxPut && b.Op == stores.OutboxPut && a.Tenant == b.Tenant
}

// do makes one change to the index and takes its entry out. The order makes a
// crash in between harmless: the change is made once more.
// Several entries are puts that join, and are not held when that fails.
func (g *Ingester) do(ctx context.Context, entries ...stores.OutboxEntry) error {
	e := entries[0]
	seqs := []int64{e.Seq}
	for _, more := range entries[1:] {
		e.Passages, seqs = slices.Concat(e.Passages, more.Passages), append(seqs, more.Seq)
	}
	err := g.apply(ctx, e)
	if err == nil {
		err = g.ledger.OutboxDone(ctx, seqs)
	}
	if err == nil {
		for _, seq := range seqs {
			delete(g.held, seq)
		}
		if e.Op == stores.OutboxPut {
			note(g.searchable)
		}
		return nil
	}
	if ctx.Err() != nil || len(entries) > 1 { // the caller's end says nothing about the index
		return err
	}
	h := g.held[e.Seq]
	h.pause = min(max(2*h.pause, firstPause), maxPause)
	h.until = g.clock().Add(h.pause)
	g.held[e.Seq] = h
	g.log.Warn("an index write failed and is repeated", "op", string(e.Op), "document", e.Document, "version", e.Version, "again_in", h.pause, "error", err)
	return err
}

func (g *Ingester) apply(ctx context.Context, e stores.OutboxEntry) error {
	for from := 0; from < len(e.Passages); from += batchSize {
		if err := ctx.Err(); err != nil {
			return err
		}
		batch := e.Passages[from:min(from+batchSize, len(e.Passages))]
		var err error
		if e.Op == stores.OutboxRemove {
			ids := make([]string, len(batch))
			for i, p := range batch {
				ids[i] = p.ID
			}
			err = g.index.Remove(ctx, e.Tenant, ids)
		} else {
			err = g.index.Put(ctx, e.Tenant, batch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *Ingester) take(ctx context.Context) error {
	select {
	case g.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *Ingester) release() { <-g.turn }

// Run works the outbox off until ctx ends: at the start, after every Put and
// Delete, and every 15 s. What fails is tried again after 200 ms, doubling up
// to 30 s, without keeping others waiting.
func (g *Ingester) Run(ctx context.Context) {
	pause := time.Duration(0)
	for ctx.Err() == nil {
		err := g.workOff(ctx, version{}, nil, func() {})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			pause = min(max(2*pause, firstPause), maxPause)
			g.log.Warn("the outbox cannot be worked off", "again_in", pause, "error", err)
		default:
			pause = 0
		}
		timer := time.NewTimer(g.nextTry(ctx, pause))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-g.wake:
		}
		timer.Stop()
	}
}

// nextTry is how long Run waits without being woken.
func (g *Ingester) nextTry(ctx context.Context, pause time.Duration) time.Duration {
	if pause > 0 || g.take(ctx) != nil {
		return pause
	}
	defer g.release()
	wait := pollEvery
	for seq, h := range g.held {
		left := h.until.Sub(g.clock())
		if left < -time.Minute { // gone from the outbox: deleted, or done elsewhere
			delete(g.held, seq)
			continue
		}
		wait = min(wait, max(left, firstPause/2))
	}
	return wait
}

// Rebuild fills the index, which the caller has emptied, from the ledger, and
// returns the number of document versions. progress, if not nil, is told after
// each step how many outbox entries are left. Puts and deletes may go on
// meanwhile. After an error what is left is done by the next Run.
func (g *Ingester) Rebuild(ctx context.Context, progress func(left int)) (versions int, err error) {
	if versions, err = g.ledger.Requeue(ctx); err != nil {
		return 0, err
	}
	err = g.workOff(ctx, version{}, nil, func() {
		if left, err := g.ledger.OutboxRows(ctx); err == nil && progress != nil {
			progress(left)
		}
	})
	if err != nil {
		return versions, err
	}
	if left, err := g.ledger.OutboxRows(ctx); err != nil || left > 0 {
		return versions, cmp.Or(err, fmt.Errorf("%w: %d are left", errBacklog, left))
	}
	return versions, nil
}
