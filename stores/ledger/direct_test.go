package ledger

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"strata/stores"
)

func opened(t *testing.T) *Ledger {
	t.Helper()
	l, err := New(t.Context(), Config{Path: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// Reads that hang cost those who come after them their own patience, and
// nothing once they have ended.
func TestReadsThatHang(t *testing.T) {
	l := opened(t)
	var hang, ended sync.WaitGroup
	free := make(chan struct{})
	for range directs {
		hang.Add(1)
		ended.Go(func() {
			_, err := directly(t.Context(), l.direct, func(source) (int, error) { hang.Done(); <-free; return 0, nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	hang.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	scope := stores.Scope{Tenant: "acme", User: "anna", Session: "s"}
	if _, err := l.Open(ctx, scope, stores.Links{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline's", err)
	}
	close(free)
	ended.Wait()
	if o, err := l.Open(t.Context(), scope, stores.Links{}); err != nil || o.Session != "s" {
		t.Errorf("%+v, %v", o, err)
	}
}

// Who leaves a read that hangs does not wait for it, and a read that panics
// takes nobody along.
func TestReadsThatAreLeft(t *testing.T) {
	l := opened(t)
	ctx, cancel := context.WithCancel(t.Context())
	free := make(chan struct{})
	_, err := directly(ctx, l.direct, func(source) (int, error) { cancel(); <-free; return 0, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the cancellation's", err)
	}
	close(free)
	for range 2 * directs {
		if _, err := directly(t.Context(), l.direct, func(source) (int, error) { panic("broken") }); err == nil {
			t.Fatal("a panic is no error")
		}
	}
	if _, err := l.Memories(t.Context(), stores.Scope{Tenant: "acme", User: "anna"}); err != nil {
		t.Error(err)
	}
	l.Close()
	if _, err := l.Open(t.Context(), stores.Scope{Tenant: "acme"}, stores.Links{}); !errors.Is(err, stores.ErrClosed) {
		t.Errorf("error %v after the end", err)
	}
}

// What nobody waits for is written all the same: after a while, with the next
// write that somebody waits for, and before the store closes.
func TestWritesThatNobodyWaitsFor(t *testing.T) {
	l := opened(t)
	wrote := make(chan int, 3)
	idle := func(n int) {
		if err := l.writer.later(func(*tx) error { wrote <- n; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	idle(1)
	select {
	case <-wrote:
	case <-time.After(10 * time.Second):
		t.Fatal("never written")
	}
	idle(2)
	if err := l.change(t.Context(), func(*tx) error {
		if len(wrote) != 1 {
			t.Error("a later write came first")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	idle(3)
	l.Close()
	if len(wrote) != 2 {
		t.Errorf("%d of 2 were written before the end", len(wrote))
	}
}
