package textindex

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"strata/internal/lexical"
	"strata/stores"
)

// format is the version of the tables below and of the postings in them.
const format = 2

// application marks the file as an index of ours ("STXI").
const application = 0x53545849

// SQLite's primary result codes for a statement that does not fit the tables,
// for a broken file and for one that is no database.
const (
	sqliteError   = 1
	sqliteCorrupt = 11
	sqliteNotADB  = 26
)

// The tables. A passage has a number that is used once within its tenant; its
// key is the tenant's id, which is never used again, and the number. Those below
// settled have postings, whose key is made of the tenant's id, a bucket of terms
// and a block of numbers. A passage that was removed has no id; its postings are
// taken out later, and until then the bits of gone say which numbers of a block
// do not count.
const schema = `
CREATE TABLE format (analyzer TEXT NOT NULL, filled INTEGER NOT NULL);
CREATE TABLE tenant (
	id INTEGER PRIMARY KEY AUTOINCREMENT, name BLOB NOT NULL UNIQUE,
	passages INTEGER NOT NULL, length INTEGER NOT NULL, gone INTEGER NOT NULL,
	next INTEGER NOT NULL, settled INTEGER NOT NULL);
CREATE TABLE passage (
	key INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, id TEXT, length INTEGER NOT NULL, terms BLOB NOT NULL);
CREATE UNIQUE INDEX passage_id ON passage (tenant, id);
CREATE TABLE gone (
	tenant INTEGER NOT NULL, block INTEGER NOT NULL, bits BLOB NOT NULL, PRIMARY KEY (tenant, block)) WITHOUT ROWID;
CREATE TABLE posting (key INTEGER PRIMARY KEY, data BLOB NOT NULL);
`

// numberBits are the low bits of a passage's key that hold its number.
const numberBits = 40

// blockBits are the low bits of the key of postings that hold the block.
const blockBits = numberBits - (lexical.HashBits - restBits)

// open makes or opens the file and its connections.
func (x *Index) open(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(x.path), 0o700); err != nil {
		return err
	}
	// SQLite gives its two other files the rights of this one.
	f, err := os.OpenFile(x.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o600), ours(f), f.Close()); err != nil {
		return err
	}
	x.db = open(x.path, "immediate", "synchronous(FULL)", "secure_delete(ON)", "wal_autocheckpoint(0)", "cache_size(-32000)")
	x.db.SetMaxOpenConns(2) // the writer and the checkpointer
	if err := x.prepareFile(ctx); err != nil {
		return err
	}
	x.vectors = open(x.path, "deferred", "query_only(ON)", "cache_size(-2000)") // vectors are read once
	n := readerCount()
	x.vectors.SetMaxOpenConns(n)
	x.reads = open(x.path, "deferred", "query_only(ON)", "cache_size(-16000)")
	x.reads.SetMaxOpenConns(n)
	x.readers = make(chan *reader, n)
	for range n {
		r, err := newReader(ctx, x.reads)
		if err != nil {
			return err
		}
		x.all = append(x.all, r)
		x.readers <- r
	}
	return nil
}

// ours refuses what SQLite would take for an empty database and write over.
func ours(f *os.File) error {
	const magic = "SQLite format 3\x00"
	head := make([]byte, 100)
	n, err := io.ReadFull(f, head)
	if n == 0 && errors.Is(err, io.EOF) {
		return nil // made just now, or before a first start that did not end
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if err != nil || !bytes.HasPrefix(head, []byte(magic)) {
		return fmt.Errorf("%w: no database", stores.ErrUnreadable)
	}
	return nil
}

func open(path, lock string, pragmas ...string) *sql.DB {
	v := url.Values{"_txlock": {lock}, "_pragma": append([]string{"busy_timeout(5000)"}, pragmas...)}
	path = filepath.ToSlash(path)
	if filepath.VolumeName(path) != "" {
		path = "/" + path
	}
	dsn := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: v.Encode()}
	db, _ := sql.Open("sqlite", dsn.String()) // fails for unknown drivers only
	return db
}

// prepareFile checks whose file it is before anything is written to it, and
// makes the tables where they are missing or of an earlier version.
func (x *Index) prepareFile(ctx context.Context) error {
	var app, version, tables int
	err := x.db.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`).Scan(&app, &version, &tables)
	if err != nil {
		return err
	}
	switch {
	case tables > 0 && app != application:
		return fmt.Errorf("%w: %w", stores.ErrUnreadable, ErrForeign)
	case tables > 0 && version > format:
		return fmt.Errorf("%w: format %d, this program knows %d", stores.ErrNewer, version, format)
	}
	if tables > 0 && version == format {
		if err := x.sound(ctx); err != nil {
			return err
		}
	}
	if _, err := x.db.ExecContext(ctx, `PRAGMA journal_mode = WAL`); err != nil {
		return err
	}
	analyzer, filled := "", false
	if tables > 0 && version == format {
		err := x.db.QueryRowContext(ctx, `SELECT analyzer, filled FROM format`).Scan(&analyzer, &filled)
		var e *sqlite.Error
		if errors.As(err, &e) && e.Code()&0xff == sqliteError {
			return fmt.Errorf("%w: %w", stores.ErrUnreadable, err)
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	if analyzer == analysis() {
		x.rebuild.Store(!filled)
		_, err := x.db.ExecContext(ctx, vectorSchema) // missing in files of earlier programs
		return err
	}
	if tables > 0 {
		x.log.WarnContext(ctx, "index emptied: made by another version", "format", version, "analyzer", analyzer)
	}
	x.rebuild.Store(true)
	return x.empty(ctx)
}

// analysis names all that decides which terms a passage has.
func analysis() string { return lexical.Version }

// sound reads the whole of a small file: damage is found at the start, not by
// the first question that meets it. Large files are checked as they are read.
func (x *Index) sound(ctx context.Context) error {
	info, err := os.Stat(x.path)
	if err != nil || info.Size() > 64<<20 {
		return err
	}
	var verdict string
	if err := x.db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", stores.ErrUnreadable, verdict)
	}
	return nil
}

// empty drops every table of text and makes those of this version. What a
// passage says stays the same however it is cut, so vectors stay.
func (x *Index) empty(ctx context.Context) error {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, table := range []string{"format", "tenant", "passage", "gone", "posting"} {
		if _, err := tx.ExecContext(ctx, `DROP TABLE IF EXISTS `+table); err != nil {
			return err
		}
	}
	marks := fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d;`, application, format)
	if _, err := tx.ExecContext(ctx, schema+vectorSchema+marks); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO format (analyzer, filled) VALUES (?, 0)`, analysis()); err != nil {
		return err
	}
	return tx.Commit()
}

// The log is moved into the file from the first size on, and cut from the
// second, which writers that never pause reach. In bytes.
const (
	moveLog = 4 << 20
	cutLog  = 64 << 20
)

// checkpoints moves what commits have written to the log into the file, beside
// readers and writers, so that no commit has to. Only a log that has become
// long makes writers wait until it is cut.
func (x *Index) checkpoints(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.wrote:
		}
		err := x.checkpoint(ctx, moveLog, `PRAGMA wal_checkpoint(PASSIVE)`)
		if err == nil && x.logSize() >= cutLog {
			select {
			case <-ctx.Done():
				return
			case <-x.writing:
			}
			err = x.checkpoint(ctx, cutLog, `PRAGMA wal_checkpoint(TRUNCATE)`)
			x.writing <- struct{}{}
		}
		if err != nil && ctx.Err() == nil {
			x.log.WarnContext(ctx, "index checkpoint", "err", err)
		}
	}
}

func (x *Index) checkpoint(ctx context.Context, from int64, pragma string) error {
	if x.logSize() < from {
		return nil
	}
	_, err := x.db.ExecContext(ctx, pragma)
	return err
}

// logSize is 0 when there is no log.
func (x *Index) logSize() int64 {
	info, err := os.Stat(x.path + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
}

// readable turns SQLite's word for a broken file into ours.
func readable(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && (e.Code()&0xff == sqliteCorrupt || e.Code()&0xff == sqliteNotADB) {
		return fmt.Errorf("%w: %w", stores.ErrUnreadable, err)
	}
	return err
}
