// Package textindex is the embedded index of knowledge passages, by text and by
// vectors: one SQLite file that can be deleted at any time and filled again. It
// decides how a passage is cut, kept and ranked, which vectors are in memory,
// and answers with ids and scores. It holds
// no text, and knows no version, group or date: who may read a passage and
// whether it is in force is the ledger's to say.
//
// Every tenant has postings, frequencies and lengths of its own, so nothing
// that another tenant writes can appear in an answer or move a rank.
package textindex

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"strata/stores"
)

// Config says where an index is.
type Config struct {
	// Path is the index file. It and its folder are made when missing, for the
	// owner alone. SQLite keeps two more files beside it.
	Path string
	// VectorBytes is how much memory vectors may take: 5 bytes a number and 28
	// more a vector, of the tenants in use. Of a tenant that takes more alone
	// none are compared. 0 = 1 GiB.
	VectorBytes int64
	// VectorIdle is how long the vectors of a tenant that nobody asks for stay
	// in memory. 0 = 30 min.
	VectorIdle time.Duration
	// Logger gets what happens out of sight; nil drops it.
	Logger *slog.Logger
	// Clock is time.Now where it is nil.
	Clock func() time.Time
}

// Index is an open index. Its methods may be called from many goroutines:
// searches run beside each other and beside one writer.
type Index struct {
	path    string
	log     *slog.Logger
	db      *sql.DB      // writes
	reads   *sql.DB      // searches
	vectors *sql.DB      // reads vectors
	readers chan *reader // idle ones
	all     []*reader
	writing chan struct{} // holds a token while nobody writes
	rebuild atomic.Bool
	closed  atomic.Bool

	clock      func() time.Time
	keeper     keeper
	freshes    freshes
	unsettled  chan int64      // tenants for which something is due, 0: there was a change
	background context.Context // ends with stop
	wrote      chan struct{}   // wakes the checkpointer
	stop       context.CancelFunc
	gate       sync.Mutex // held while idle gets one more, and while Close shuts that out
	idle       sync.WaitGroup
}

// ErrForeign is that of a file that is whole and another program's database. It
// comes with stores.ErrUnreadable.
var ErrForeign = errors.New("another program's database")

// New opens the index of c, or makes it. A file that is damaged or not an
// index is stores.ErrUnreadable, one that a newer program wrote
// stores.ErrNewer, and both stay as they are. An index that was cut by another
// way of cutting text, or written in an earlier format, is emptied.
func New(ctx context.Context, c Config) (*Index, error) {
	if c.Path == "" {
		return nil, errors.New("textindex: no path")
	}
	x := &Index{path: c.Path, log: c.Logger, clock: c.Clock, writing: make(chan struct{}, 1), wrote: make(chan struct{}, 1),
		keeper:  keeper{limit: cmp.Or(c.VectorBytes, defaultVectorBytes), kept: map[shelf]*keptMatrix{}},
		freshes: freshes{byTenant: map[int64]*fresh{}}, unsettled: make(chan int64, 64)}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	if x.clock == nil {
		x.clock = time.Now
	}
	if err := x.open(ctx); err != nil {
		x.closeFiles()
		return nil, fmt.Errorf("textindex: open %s: %w", c.Path, readable(err))
	}
	x.writing <- struct{}{}
	x.background, x.stop = context.WithCancel(context.Background())
	x.idle.Go(func() { x.checkpoints(x.background) })
	x.idle.Go(func() { x.settler(x.background) })
	x.idle.Go(func() { x.letGo(x.background, cmp.Or(c.VectorIdle, defaultVectorIdle)) })
	return x, nil
}

// NeedsRebuild reports whether passages may be missing because the file was
// made new or emptied. It stays so, over restarts too, until Rebuilt is called.
func (x *Index) NeedsRebuild() bool { return x.rebuild.Load() }

// Rebuilt notes that all passages have been put since the index was made.
func (x *Index) Rebuilt(ctx context.Context) error {
	return x.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE format SET filled = 1`)
		return err
	}, func() { x.rebuild.Store(false) })
}

// Count returns the number of passages of tenant.
func (x *Index) Count(ctx context.Context, tenant string) (int, error) {
	if tenant == "" {
		return 0, stores.ErrScope
	}
	n := 0
	err := x.read(ctx, func(r *reader) error {
		t, err := r.tenant(ctx, tenant)
		n = t.passages
		return err
	})
	return n, err
}

// Close ends the index after the calls that are running. Later calls return
// stores.ErrClosed.
func (x *Index) Close() error {
	x.gate.Lock()
	first := x.closed.CompareAndSwap(false, true)
	x.gate.Unlock()
	if !first {
		return nil
	}
	x.stop()
	x.idle.Wait()
	<-x.writing
	for range x.all {
		<-x.readers
	}
	// Takes what the log holds into the file, so that one file is left.
	_, err := x.db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	x.closeFiles()
	close(x.writing)
	close(x.readers)
	return readable(err)
}

func (x *Index) closeFiles() {
	for _, r := range x.all {
		r.close()
	}
	for _, db := range []*sql.DB{x.reads, x.vectors} {
		if db != nil {
			db.Close()
		}
	}
	if x.db != nil {
		x.db.Close()
	}
}

// write runs f in a transaction, alone, and then, when it is committed.
func (x *Index) write(ctx context.Context, f func(*sql.Tx) error, then func()) error {
	select {
	case _, ok := <-x.writing:
		if !ok {
			return stores.ErrClosed
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { x.writing <- struct{}{} }()
	if x.closed.Load() {
		return stores.ErrClosed
	}
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return fail("write", err)
	}
	if err := f(tx); err != nil {
		return fail("write", errors.Join(err, undo(tx)))
	}
	if err := tx.Commit(); err != nil {
		return fail("write", err)
	}
	if then != nil {
		then()
	}
	select {
	case x.wrote <- struct{}{}:
	default:
	}
	return nil
}

// undo rolls back what the end of its context has not rolled back already.
func undo(tx *sql.Tx) error {
	if err := tx.Rollback(); !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

// read runs f on an idle reader, in one snapshot.
func (x *Index) read(ctx context.Context, f func(*reader) error) error {
	if x.closed.Load() {
		return stores.ErrClosed
	}
	select {
	case r, ok := <-x.readers:
		if !ok {
			return stores.ErrClosed
		}
		defer func() { x.readers <- r }()
		return fail("read", r.snapshot(ctx, func() error { return f(r) }))
	case <-ctx.Done():
		return ctx.Err()
	}
}

func fail(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("textindex: %s: %w", doing, readable(err))
}

// tenantKey stands for a tenant in the file.
func tenantKey(tenant string) []byte {
	sum := sha256.Sum256([]byte(tenant))
	return sum[:16]
}

// readerCount is how many searches run at a time.
func readerCount() int { return max(2, min(8, runtime.GOMAXPROCS(0))) }
