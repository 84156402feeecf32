package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// lossCounts counts the walks over a tenant's documents.
type lossCounts struct {
	walks atomic.Int64
	fails atomic.Bool
}

func (l *lossCounts) Indexed(_ context.Context, tenant, _ string) (bool, error) {
	return tenant == "T", nil
}

func (l *lossCounts) RequeueTenant(context.Context, string, string) (int, error) {
	if l.fails.Load() {
		return 0, errors.New("locked")
	}
	if l.walks.Add(1) == 1 {
		return 3, nil
	}
	return 0, nil // all waits already
}

// However often a loss is told, a tenant's documents are walked over once, and
// once in a while as long as they wait, and never for a tenant that has none.
func TestLossesAreQueuedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lossCounts{}
		x := newLosses(l, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		notes := 0
		go x.run(ctx, func() { notes++ })
		tell := func(tenant string, want bool) {
			t.Helper()
			for range 1000 {
				if x.tell(ctx, tenant, "", false) != want {
					t.Fatal(fmt.Sprint(tenant, " ", !want))
				}
			}
			synctest.Wait()
		}
		tell("unknown", false)
		if n := l.walks.Load(); n != 0 {
			t.Errorf("%d walks for a tenant without documents", n)
		}
		l.fails.Store(true)
		tell("T", true)
		l.fails.Store(false)
		tell("T", true)
		x.tell(ctx, "T", "s1", false) // its vectors are another loss
		synctest.Wait()
		if n := l.walks.Load(); n != 3 || notes != 1 {
			t.Errorf("%d walks, %d notes", n, notes)
		}
		x.tell(ctx, "T", "", true) // nobody can tell that again
		synctest.Wait()
		if n := l.walks.Load(); n != 4 {
			t.Errorf("%d walks before a put", n)
		}
		time.Sleep(lossPause)
		tell("T", true)
		if n := l.walks.Load(); n != 5 {
			t.Errorf("%d walks after a while", n)
		}
	})
}
