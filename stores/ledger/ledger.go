// Package ledger is the system of record over SQL: sessions, exchanges,
// memories, documents and what was deleted. It decides what is kept together
// in one transaction, which session and turn a request belongs to, which row
// may be served at this moment, and when a write is safe. It must not know
// what a memory is worth, what a prompt looks like or how text is searched.
//
// Every write goes through one goroutine that commits what is waiting at once;
// reads run beside it and see everything that was answered before they began.
package ledger

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	stdhash "hash"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"strata/stores"
)

// Config says where the ledger is.
type Config struct {
	Path   string           // of the file; its folder is made when it is missing
	Clock  func() time.Time // nil = time.Now
	Logger *slog.Logger     // nil = none
}

// Ledger is an open store. Make it with New; it is safe for concurrent use.
type Ledger struct {
	clock  func() time.Time
	log    *slog.Logger
	path   string
	secret []byte
	macs   sync.Pool // of HMACs keyed with secret

	read    *sql.DB
	reads   sync.Map // SQL text -> *sql.Stmt of read
	direct  *direct
	writer  *writer
	leases  leases
	closed  atomic.Bool
	settled sync.WaitGroup // the checkpoints' goroutine
	stop    chan struct{}
}

// New opens the store at cfg.Path, makes it when there is none, and brings an
// older one to this schema. It returns stores.ErrNewer or
// stores.ErrUnreadable, and has changed nothing then.
func New(ctx context.Context, cfg Config) (*Ledger, error) {
	l := &Ledger{clock: cfg.Clock, log: cfg.Logger, path: cfg.Path, leases: leases{held: map[talk]*held{}}, stop: make(chan struct{})}
	if l.clock == nil {
		l.clock = time.Now
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if err := l.open(ctx); err != nil {
		l.closeFiles()
		return nil, fmt.Errorf("ledger: open %s: %w", cfg.Path, classify(err))
	}
	return l, nil
}

func (l *Ledger) open(ctx context.Context) (err error) {
	if err := prepare(ctx, l.path); err != nil {
		return err
	}
	if err := l.bring(ctx); err != nil {
		return err
	}
	if l.read, err = openFile(l.path, readerOptions); err != nil {
		return err
	}
	l.read.SetMaxOpenConns(readers)
	l.read.SetMaxIdleConns(readers)
	conn, err := newLink(l.path, writerOptions)
	if err != nil {
		return err
	}
	if l.direct, err = newDirect(l.path); err != nil {
		return errors.Join(err, conn.close())
	}
	l.writer = newWriter(conn, l.log)
	l.settled.Go(l.checkpoints)
	return nil
}

// bring makes the file one of this schema and reads its secret.
func (l *Ledger) bring(ctx context.Context) error {
	db, err := openFile(l.path, writerOptions)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if err = migrate(ctx, db); err == nil {
		l.secret, err = readSecret(ctx, db)
	}
	return errors.Join(err, db.Close())
}

// readers is how many reads run at once; more wait for their turn.
const readers = 8

// Close writes out what is queued and folds the journal into the file. Writes
// that come later get stores.ErrClosed.
func (l *Ledger) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	close(l.stop)
	l.settled.Wait()
	err := l.direct.close()
	err = errors.Join(err, l.writer.close())
	return errors.Join(err, l.closeFiles())
}

func (l *Ledger) closeFiles() (err error) {
	l.reads.Range(func(_, stmt any) bool { err = errors.Join(err, stmt.(*sql.Stmt).Close()); return true })
	if l.read != nil {
		err = errors.Join(err, l.read.Close())
	}
	return err
}

// Secret is 32 random bytes that were made with the store and key its digests.
// It must not be changed.
func (l *Ledger) Secret() []byte { return l.secret }

func (l *Ledger) now() int64 { return micros(l.clock()) }

// digest names something without telling what. Parts are told apart by their
// lengths.
func (l *Ledger) digest(parts ...string) string {
	mac, ok := l.macs.Get().(stdhash.Hash)
	if !ok {
		mac = hmac.New(sha256.New, l.secret)
	}
	mac.Reset()
	var b []byte
	for _, p := range parts {
		b = append(append(strconv.AppendInt(b, int64(len(p)), 10), ':'), p...)
	}
	mac.Write(b)
	sum := mac.Sum(b[:0])
	l.macs.Put(mac)
	return hex.EncodeToString(sum[:16])
}

// userKey names a user in tombstones.
func (l *Ledger) userKey(tenant, user string) string { return l.digest("user", tenant, user) }

// source is where statements run: a reader, or the transaction of the writer.
type source interface {
	// rows calls do for every row of a query.
	rows(query string, args []any, do func(scan func(...any) error) error) error
	// first scans the first row of a query; false = there is none.
	first(query string, args, into []any) (bool, error)
	context() context.Context
}

type reader struct {
	ctx context.Context
	l   *Ledger
}

func (l *Ledger) reader(ctx context.Context) reader { return reader{ctx, l} }

func (r reader) context() context.Context { return r.ctx }

func (r reader) stmt(query string) (*sql.Stmt, error) {
	if s, ok := r.l.reads.Load(query); ok {
		return s.(*sql.Stmt), nil
	}
	if r.l.closed.Load() {
		return nil, stores.ErrClosed
	}
	s, err := r.l.read.PrepareContext(r.ctx, query)
	if err != nil {
		return nil, err
	}
	if first, loaded := r.l.reads.LoadOrStore(query, s); loaded {
		s.Close()
		return first.(*sql.Stmt), nil
	}
	return s, nil
}

func (r reader) first(query string, args, into []any) (bool, error) {
	stmt, err := r.stmt(query)
	if err != nil {
		return false, err
	}
	err = stmt.QueryRowContext(r.ctx, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (r reader) rows(query string, args []any, do func(scan func(...any) error) error) error {
	stmt, err := r.stmt(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(r.ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// one scans the first row of a query; false = there is none.
func one(s source, query string, args []any, into ...any) (bool, error) {
	found, err := s.first(query, args, into)
	return found, fault(s, err)
}

// each calls row for every row of a query.
func each(s source, query string, args []any, row func(scan func(...any) error) error) error {
	return fault(s, s.rows(query, args, row))
}

// fault says why a statement failed: the caller's end first, whatever the
// driver makes of it.
func fault(s source, err error) error {
	if err == nil {
		return nil
	}
	if ended := s.context().Err(); ended != nil {
		return ended
	}
	return classify(err)
}
