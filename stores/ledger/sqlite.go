package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"strata/stores"
)

// What only SQLite needs stands in this file and in the migrations.

// packed begins an expression that joins values to one text, in which no value
// but the last may hold the separator: each column of a row costs as much as
// finding it.
const (
	packed    = "concat_ws(char(31), "
	separator = "\x1f"
)

// beginWrite takes the write lock at once: a transaction that reads first and
// writes later is refused when another process wrote in between.
const beginWrite = "BEGIN IMMEDIATE"

const (
	writerOptions = "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=secure_delete(1)" +
		"&_pragma=wal_autocheckpoint(0)&_pragma=journal_size_limit(16777216)&_pragma=cache_size(-16384)&_txlock=immediate&_dqs=0"
	readerOptions  = "_pragma=busy_timeout(5000)&_pragma=query_only(1)&_pragma=cache_size(-8192)&_dqs=0"
	inspectOptions = "mode=ro&_pragma=busy_timeout(5000)"
)

// dataSource names the file as the driver wants it.
func dataSource(path, options string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	abs = filepath.ToSlash(abs)
	if !strings.HasPrefix(abs, "/") {
		abs = "/" + abs // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: abs, RawQuery: options}).String(), nil
}

func openFile(path, options string) (*sql.DB, error) {
	name, err := dataSource(path, options)
	if err != nil {
		return nil, err
	}
	return sql.Open("sqlite", name)
}

// openConn opens the file past database/sql.
func openConn(path, options string) (driver.Conn, error) {
	name, err := dataSource(path, options)
	if err != nil {
		return nil, err
	}
	return new(sqlite.Driver).Open(name)
}

// classify turns the driver's errors into those of stores.
func classify(err error) error {
	var e *sqlite.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		switch e.Code() & 0xff {
		case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
			return errors.Join(stores.ErrUnreadable, err)
		case lib.SQLITE_CONSTRAINT:
			return errors.Join(stores.ErrConflict, err)
		}
	case errors.Is(err, sql.ErrConnDone), strings.Contains(err.Error(), "database is closed"), strings.Contains(err.Error(), "statement is closed"):
		return stores.ErrClosed
	}
	return err
}

// heldUp reports that a statement has waited in vain for another process.
func heldUp(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// Checkpoints copy the journal into the file. They run beside the commits, by
// volume or after a while; only when readers have kept them from finishing for
// long, one runs between two commits, so that the journal can start anew.
const (
	checkpointExecs = 4000             // changed rows, about
	checkpointAfter = 10 * time.Second // of the first commit since
	maxJournal      = 16384            // pages, 64 MB
)

func (l *Ledger) checkpoints() {
	db, err := openFile(l.path, "_pragma=busy_timeout(0)&_pragma=wal_autocheckpoint(0)&_pragma=synchronous(NORMAL)")
	if err != nil {
		l.log.Error("ledger: no checkpoints", "err", err)
		return
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	var due <-chan time.Time
	for {
		select {
		case <-l.stop:
			return
		case <-l.writer.dirty:
			if l.writer.execs.Load() < checkpointExecs {
				if due == nil && l.writer.execs.Load() > 0 {
					due = time.After(checkpointAfter)
				}
				continue
			}
		case <-due:
		}
		due = nil
		l.writer.execs.Store(0)
		l.checkpoint(db)
	}
}

func (l *Ledger) checkpoint(db *sql.DB) {
	const passive = "PRAGMA wal_checkpoint(PASSIVE)"
	var busy, journal, copied int
	if err := db.QueryRow(passive).Scan(&busy, &journal, &copied); err != nil {
		l.log.Warn("ledger: checkpoint", "err", err)
		return
	}
	if journal < maxJournal {
		return
	}
	err := l.writer.do(&op{ctx: context.Background(), outside: true, run: func(t *tx) error {
		_, err := t.first(passive, nil, []any{&busy, &journal, &copied})
		return err
	}})
	if err != nil && !errors.Is(err, stores.ErrClosed) {
		l.log.Warn("ledger: checkpoint", "err", err)
	}
}

// prepare makes the folder and the file, or looks at the file that is there
// without changing it.
func prepare(ctx context.Context, path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if name := networkFileSystem(dir); name != "" {
		return errors.New("the folder is on a network file system (" + name + "), where locks do not hold; name a local one")
	}
	size := func(name string) int64 {
		if info, err := os.Stat(name); err == nil {
			return info.Size()
		}
		return 0
	}
	if n := size(path); n > 0 || size(path+"-wal") > 0 {
		if err := inspect(ctx, path, n); err != nil {
			return err
		}
		return os.Chmod(path, 0o600)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// checkedSize is up to which size, in bytes, every page is looked at when the
// store is opened.
const checkedSize = 32 << 20

// inspect refuses what this program must not write to.
func inspect(ctx context.Context, path string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	head := make([]byte, 16)
	_, err = f.Read(head)
	f.Close()
	if err != nil || string(head) != "SQLite format 3\x00" {
		return errors.Join(stores.ErrUnreadable, err)
	}
	db, err := openFile(path, inspectOptions)
	if err != nil {
		return err
	}
	defer db.Close()
	return inspectSchema(ctx, db, size <= checkedSize)
}

func inspectSchema(ctx context.Context, db *sql.DB, deep bool) error {
	var application, tables int
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return err
	}
	if tables == 0 {
		return nil // made, and ended before its first table
	}
	if application != applicationID {
		// The table of migrations comes before the first of them.
		var ours int
		err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE tbl_name NOT IN ($1, 'sqlite_sequence')", migrationsTable).Scan(&ours)
		if err != nil || ours > 0 {
			return errors.Join(stores.ErrUnreadable, err)
		}
		return nil
	}
	if deep {
		var verdict string
		if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
			return err
		}
		if verdict != "ok" {
			return errors.Join(stores.ErrUnreadable, errors.New(verdict))
		}
	}
	return inspectVersion(ctx, db)
}
