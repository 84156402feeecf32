package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"strata/stores"
)

// A failing write must not take its neighbours along, nor the writer.
func TestNeighboursOfAFailingWrite(t *testing.T) {
	l, err := New(t.Context(), Config{Path: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	broken := errors.New("broken")
	var batch []*op
	for i := range 30 {
		batch = append(batch, &op{ctx: t.Context(), done: make(chan struct{}), run: func(tx *tx) error {
			if err := insertUser(tx, "acme", string(rune('a'+i)), ""); err != nil {
				return err
			}
			switch i % 3 {
			case 1:
				return broken
			case 2:
				_, err := tx.exec("INSERT INTO users (tenant, user_id) VALUES ('acme', 'a')")
				return err
			}
			return nil
		}})
	}
	l.writer.mu.Lock()
	l.writer.queue = append(l.writer.queue, batch...)
	l.writer.mu.Unlock()
	l.writer.some.Signal()
	for i, o := range batch {
		<-o.done
		if want := []error{nil, broken, stores.ErrConflict}[i%3]; !errors.Is(o.err, want) {
			t.Errorf("%d: error %v, want %v", i, o.err, want)
		}
	}
	users, _, err := l.Users(t.Context(), "acme", "", 100)
	if err != nil || len(users) != 10 {
		t.Errorf("%d users, want 10: %v", len(users), err)
	}
}

// Who gives up waiting has not lost what was to be written.
func TestLateRecord(t *testing.T) {
	l, err := New(t.Context(), Config{Path: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	busy, free := make(chan struct{}), make(chan struct{})
	go l.change(context.Background(), func(*tx) error { close(busy); <-free; return nil })
	<-busy
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	scope := stores.Scope{Tenant: "acme", User: "anna", Session: "s"}
	e := stores.Exchange{ID: "r", Scope: scope, Asked: "hi", Answer: "hello", Status: stores.Complete, Finished: true}
	if err := l.Record(ctx, e); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline's", err)
	}
	close(free)
	// A later write is behind it in the queue.
	if err := l.change(t.Context(), func(*tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if turns, err := l.Recent(t.Context(), scope, 1); err != nil || len(turns) != 2 {
		t.Errorf("turns %v, %v", turns, err)
	}
}

// A backup or a shell that holds the store for longer than a statement waits
// costs time and no writes. The end does not wait for it.
func TestStoreHeldByAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, err := New(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	impatient := &op{ctx: t.Context(), outside: true, run: func(tx *tx) error { return tx.control("PRAGMA busy_timeout = 20") }}
	if err := l.writer.do(impatient); err != nil {
		t.Fatal(err)
	}
	other, err := openFile(path, writerOptions)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	hold := func() *sql.Tx {
		tx, err := other.Begin()
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	held := hold()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	scope := stores.Scope{Tenant: "acme", User: "anna", Session: "s"}
	e := stores.Exchange{ID: "r", Scope: scope, Asked: "hi", Answer: "hello", Status: stores.Complete, Finished: true}
	if err := l.Record(ctx, e); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline's", err)
	}
	if err := held.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := l.change(t.Context(), func(*tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if turns, err := l.Recent(t.Context(), scope, 1); err != nil || len(turns) != 2 {
		t.Errorf("turns %v, %v", turns, err)
	}

	held = hold()
	defer held.Rollback()
	failed := make(chan error, 1)
	go func() { failed <- l.Record(context.WithoutCancel(t.Context()), e) }()
	for { // until the writer has it
		l.writer.mu.Lock()
		taken := len(l.writer.queue) == 0
		l.writer.mu.Unlock()
		if taken {
			break
		}
	}
	_ = l.Close()
	if err := <-failed; err == nil {
		t.Error("a write that the end cut off says that it was made")
	}
}

// What was deleted is not in the file either once it is closed.
func TestDeletedTextLeavesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, err := New(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	scope := stores.Scope{Tenant: "acme", User: "anna", Session: "s"}
	m, err := l.AddMemory(t.Context(), scope, stores.Memory{Summary: "the code is ZEBRA-41", Slot: "code=zebra-41"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Record(t.Context(), stores.Exchange{ID: "r", Scope: scope, Asked: "my code is ZEBRA-41", Status: stores.Complete}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.DeleteMemory(t.Context(), scope, m.ID), l.DeleteSession(t.Context(), "acme", "anna", "s"), l.Close()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"ZEBRA-41", "zebra-41"} {
		if bytes.Contains(b, []byte(text)) {
			t.Errorf("%s is still in the file", text)
		}
	}
}

func TestJournalStartsAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, err := New(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	scope := stores.Scope{Tenant: "acme", User: "anna", Session: "s"}
	if err := l.Record(t.Context(), stores.Exchange{ID: "r", Scope: scope, Asked: "hi", Status: stores.Complete}); err != nil {
		t.Fatal(err)
	}
	db, err := openFile(path, writerOptions)
	if err != nil {
		t.Fatal(err)
	}
	l.checkpoint(db)
	if err := errors.Join(db.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		t.Errorf("%d bytes of journal are left", info.Size())
	}
}

// A process that was killed holds no lease: its work is handed out at once.
// Should it still run, an exchange is learned once all the same.
func TestLeasesEndWithTheirProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	scope := stores.Scope{Tenant: "acme", User: "anna", Session: "s"}
	open := func() (*Ledger, []stores.Work) {
		l, err := New(t.Context(), Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Record(t.Context(), stores.Exchange{ID: "x", Scope: scope, Asked: "q", Status: stores.Complete, Finished: true, Learn: true}); err != nil {
			t.Fatal(err)
		}
		work, err := l.Lease(t.Context(), "w", 8)
		if err != nil || len(work) != 1 {
			t.Fatalf("%+v, %v", work, err)
		}
		return l, work
	}
	old, held := open()
	defer old.Close()
	l, work := open()
	defer l.Close()
	lesson := func(w stores.Work) stores.Lesson {
		return stores.Lesson{Scope: scope, Lease: w.Lease, Learned: []stores.Redaction{{ID: "x", Asked: "q"}}}
	}
	if err := l.Learn(t.Context(), lesson(work[0])); err != nil {
		t.Error(err)
	}
	if err := old.Learn(t.Context(), lesson(held[0])); !errors.Is(err, stores.ErrConflict) {
		t.Errorf("with the old lease: %v, want ErrConflict", err)
	}
}
