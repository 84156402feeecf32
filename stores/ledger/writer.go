package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"strata/stores"
)

// maxBatch is how many writes one commit takes at most.
const maxBatch = 256

// writer is the only one who writes. Whoever is waiting when it comes round is
// committed together, so that a burst costs one sync of the journal.
type writer struct {
	tx  tx
	log *slog.Logger

	mu     sync.Mutex
	some   sync.Cond // there is something in queue, or closed
	queue  []*op
	closed bool
	done   chan struct{}

	execs atomic.Int64  // statements since the last checkpoint
	dirty chan struct{} // told after commits
}

// op is one write. It may be run twice, when a commit of several is broken.
type op struct {
	ctx     context.Context
	run     func(*tx) error
	outside bool // not in a transaction, alone
	err     error
	done    chan struct{}
}

// tx is the transaction that an op runs in.
type tx struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	execs int
}

func newWriter(conn *sql.Conn, log *slog.Logger) *writer {
	w := &writer{
		tx:    tx{conn: conn, stmts: map[string]*sql.Stmt{}},
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

func (w *writer) do(o *op) error {
	if err := o.ctx.Err(); err != nil {
		return err
	}
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
	_, err := w.tx.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	for _, s := range w.tx.stmts {
		s.Close()
	}
	if closing := w.tx.conn.Close(); err == nil {
		err = closing
	}
	return err
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
	for len(w.queue) == 0 && !w.closed {
		w.some.Wait()
	}
	n := min(len(w.queue), maxBatch)
	for i, o := range w.queue[:n] {
		if o.outside {
			n = max(i, 1)
			break
		}
	}
	batch := w.queue[:n:n]
	if w.queue = w.queue[n:]; len(w.queue) == 0 {
		w.queue = nil
	}
	return batch
}

// commit carries out a batch in one transaction. An op that fails is taken
// back alone.
func (w *writer) commit(batch []*op) {
	err := w.tx.control(beginWrite)
	if err == nil {
		for _, o := range batch {
			if err = w.step(o, len(batch) > 1); err != nil {
				break
			}
		}
		if err == nil {
			if err = w.tx.control("COMMIT"); err == nil {
				return
			}
		}
		// A transaction that the engine ended by itself has nothing to roll back.
		_ = w.tx.control("ROLLBACK")
	}
	w.log.Error("ledger: a commit failed", "writes", len(batch), "err", err)
	for _, o := range batch {
		o.err = classify(err)
	}
}

// step runs one op; an error is one of the whole transaction.
func (w *writer) step(o *op, shared bool) error {
	if !shared {
		// Alone, the transaction itself is what is taken back.
		if o.err = w.attempt(o); o.err != nil {
			if err := w.tx.control("ROLLBACK"); err != nil {
				return err
			}
			return w.tx.control(beginWrite)
		}
		return nil
	}
	if err := w.tx.control("SAVEPOINT op"); err != nil {
		return err
	}
	if o.err = w.attempt(o); o.err != nil {
		if err := w.tx.control("ROLLBACK TO op"); err != nil {
			return err
		}
	}
	return w.tx.control("RELEASE op")
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

// context is never ended: the transaction is shared.
func (t *tx) context() context.Context { return context.Background() }

func (t *tx) stmt(query string) (*sql.Stmt, error) {
	if s := t.stmts[query]; s != nil {
		return s, nil
	}
	s, err := t.conn.PrepareContext(context.Background(), query)
	if err == nil {
		t.stmts[query] = s
	}
	return s, err
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int, error) {
	stmt, err := t.stmt(query)
	if err != nil {
		return 0, classify(err)
	}
	t.execs++
	res, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, classify(err)
	}
	n, err := res.RowsAffected()
	return int(n), err
}

func (t *tx) control(query string) error {
	stmt, err := t.stmt(query)
	if err == nil {
		_, err = stmt.ExecContext(context.Background())
	}
	return err
}
