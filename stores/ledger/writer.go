package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"strata/stores"
)

const (
	maxBatch = 256 // writes that one commit takes at most
	// What nobody waits for is written with the next write that somebody does,
	// or by number, or after a while. More than maxIdle are waited for.
	idleBatch = 128
	idleAfter = 100 * time.Millisecond
	maxIdle   = 4096
	// While another process holds the store, so many writes wait for it.
	maxWaiting = 8192
)

// writer is the only one who writes. Whoever is waiting when it comes round is
// committed together, so that a burst costs one sync of the journal.
type writer struct {
	tx  tx
	log *slog.Logger

	mu     sync.Mutex
	some   sync.Cond // there is something to write, or closed
	queue  []*op
	idle   []*op // that nobody waits for
	due    bool  // idle has waited long enough
	closed bool
	done   chan struct{}

	execs atomic.Int64  // statements since the last checkpoint
	dirty chan struct{} // told after commits
}

// op is one write. It is run twice when another one of its batch has failed.
type op struct {
	ctx     context.Context
	run     func(*tx) error
	outside bool // not in a transaction, alone
	err     error
	done    chan struct{}
}

// tx is the transaction that an op runs in.
type tx struct {
	*link
	execs int
}

func newWriter(conn *link, log *slog.Logger) *writer {
	w := &writer{
		tx:    tx{link: conn},
		log:   log,
		done:  make(chan struct{}),
		dirty: make(chan struct{}, 1),
	}
	w.some.L = &w.mu
	go w.loop()
	return w
}

// update runs f in the writer's transaction and returns when it is committed.
// When ctx ends while it waits its turn, f is still carried out: whoever waits
// for the record of an answer only gives up waiting.
func update[T any](ctx context.Context, l *Ledger, f func(*tx) (T, error)) (T, error) {
	var out, none T
	err := l.writer.do(&op{ctx: ctx, run: func(t *tx) (err error) { out, err = f(t); return err }})
	if err != nil {
		return none, err
	}
	return out, nil
}

// change is update for writes that answer nothing.
func (l *Ledger) change(ctx context.Context, f func(*tx) error) error {
	return l.writer.do(&op{ctx: ctx, run: f})
}

// later carries out f some time, within idleAfter where the disk can follow.
func (w *writer) later(f func(*tx) error) error {
	o := &op{ctx: context.Background(), run: f}
	w.mu.Lock()
	n := len(w.idle)
	if w.closed {
		w.mu.Unlock()
		return stores.ErrClosed
	}
	if n >= maxIdle {
		w.mu.Unlock()
		return w.do(o)
	}
	o.done = make(chan struct{})
	w.idle = append(w.idle, o)
	w.mu.Unlock()
	switch n + 1 {
	case 1:
		time.AfterFunc(idleAfter, w.wake)
	case idleBatch:
		w.wake()
	}
	return nil
}

// wake has what is idle written now.
func (w *writer) wake() {
	w.mu.Lock()
	w.due = len(w.idle) > 0
	w.mu.Unlock()
	w.some.Signal()
}

func (w *writer) do(o *op) error {
	if err := o.ctx.Err(); err != nil {
		return err
	}
	return w.put(o)
}

// put is do for what must be written although nobody waits for it any more.
func (w *writer) put(o *op) error {
	o.done = make(chan struct{})
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return stores.ErrClosed
	}
	w.queue = append(w.queue, o)
	w.mu.Unlock()
	w.some.Signal()
	select {
	case <-o.done:
		return o.err
	case <-o.ctx.Done():
		return o.ctx.Err()
	}
}

func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.some.Signal()
	<-w.done
	return errors.Join(w.tx.control("PRAGMA wal_checkpoint(TRUNCATE)"), w.tx.close())
}

func (w *writer) loop() {
	defer close(w.done)
	for {
		batch := w.take()
		if len(batch) == 0 {
			return
		}
		if batch[0].outside {
			batch[0].err = w.attempt(batch[0])
		} else {
			w.commit(batch)
		}
		for _, o := range batch {
			close(o.done)
		}
		w.execs.Add(int64(w.tx.execs))
		w.tx.execs = 0
		select {
		case w.dirty <- struct{}{}:
		default:
		}
	}
}

// take waits for writes; none means that the writer is closed. An op outside
// of transactions comes alone.
func (w *writer) take() []*op {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 && !w.due && !w.closed {
		w.some.Wait()
	}
	if len(w.queue) > 0 && w.queue[0].outside {
		return w.cut(&w.queue, 1)
	}
	batch := w.cut(&w.idle, maxBatch)
	w.due = len(w.idle) > 0
	n := slices.IndexFunc(w.queue, func(o *op) bool { return o.outside })
	if n < 0 {
		n = len(w.queue)
	}
	return append(batch, w.cut(&w.queue, min(n, maxBatch-len(batch)))...)
}

// cut takes at most n ops from the head of a queue.
func (w *writer) cut(queue *[]*op, n int) []*op {
	n = min(n, len(*queue))
	head := (*queue)[:n:n]
	if *queue = (*queue)[n:]; len(*queue) == 0 {
		*queue = nil
	}
	return head
}

// errApart is the error of a batch that one op of it has spoiled.
var errApart = errors.New("ledger: an op failed")

// commit carries out a batch in one transaction. An op that fails is taken
// back alone: as that is rare, they are marked off from each other only when
// it happens, at a second try.
func (w *writer) commit(batch []*op) {
	err := w.try(batch)
	for heldUp(err) && w.mayWait() {
		w.log.Warn("ledger: another process holds the store; the commit is tried again", "writes", len(batch), "err", err)
		err = w.try(batch)
	}
	if err == nil {
		return
	}
	w.log.Error("ledger: a commit failed", "writes", len(batch), "err", err)
	for _, o := range batch {
		o.err = classify(err)
	}
}

func (w *writer) try(batch []*op) error {
	err := w.together(batch)
	if err == errApart {
		err = w.apart(batch)
	}
	return err
}

// mayWait tells whether writes can wait for a store that another process
// holds: not at the end, and not when too many are waiting already.
func (w *writer) mayWait() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.closed && len(w.queue)+len(w.idle) < maxWaiting
}

func (w *writer) together(batch []*op) error {
	return w.transaction(func() error {
		for _, o := range batch {
			if o.err = w.attempt(o); o.err != nil {
				return errApart
			}
		}
		return nil
	})
}

func (w *writer) apart(batch []*op) error {
	if len(batch) == 1 {
		return nil // it has its error
	}
	return w.transaction(func() error {
		for _, o := range batch {
			if err := w.tx.control("SAVEPOINT op"); err != nil {
				return err
			}
			if o.err = w.attempt(o); o.err != nil {
				if err := w.tx.control("ROLLBACK TO op"); err != nil {
					return err
				}
			}
			if err := w.tx.control("RELEASE op"); err != nil {
				return err
			}
		}
		return nil
	})
}

// transaction commits what f does, or nothing of it.
func (w *writer) transaction(f func() error) error {
	err := w.tx.control(beginWrite)
	if err != nil {
		return err
	}
	if err = f(); err == nil {
		if err = w.tx.control("COMMIT"); err == nil {
			return nil
		}
	}
	// A transaction that the engine ended by itself has nothing to roll back.
	_ = w.tx.control("ROLLBACK")
	return err
}

// attempt runs an op and survives its panic: others wait for this goroutine.
func (w *writer) attempt(o *op) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.log.Error("ledger: a write panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("ledger: a write panicked: %v", p)
		}
	}()
	return o.run(&w.tx)
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int, error) {
	t.execs++
	n, err := t.link.exec(query, args)
	return n, classify(err)
}

func (t *tx) control(query string) error {
	_, err := t.link.exec(query, nil)
	return err
}
