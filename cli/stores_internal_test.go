package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The figures come in time although the store hangs and does not hear of the
// context's end.
func TestGaugeOfAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var reads atomic.Int32
		answer := func() (int, error) { return 7, nil }
		gauge := bounded(time.Second, func(context.Context) (int, error) {
			reads.Add(1)
			<-hang
			return answer()
		})
		for i := range 3 {
			begun := time.Now()
			if v := gauge(); v != -1 {
				t.Errorf("%d: %v, want -1", i, v)
			}
			if took := time.Since(begun); took > time.Second {
				t.Errorf("%d took %v", i, took)
			}
		}
		if n := reads.Load(); n != 1 {
			t.Errorf("%d reads under way, want 1", n)
		}
		close(hang)
		synctest.Wait()
		if v := gauge(); v != 7 {
			t.Errorf("%v, want 7", v)
		}
		answer = func() (int, error) { return 7, errors.New("broken") }
		if v := gauge(); v != -1 {
			t.Errorf("%v for a failed read, want -1", v)
		}
	})
}

// Only what may be otherwise later is tried again: not a store that is damaged,
// another program's or of a newer version.
func TestWhatMayHeal(t *testing.T) {
	newer, err := os.ReadFile("../e2e/testdata/newer.db")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file    string // in the data folder; "" = in its place
		content []byte // nil = a folder
		heals   bool
		says    string
	}{
		"a damaged ledger":        {"ledger.db", []byte("no ledger at all"), false, "damaged or not a store"},
		"a newer ledger":          {"ledger.db", newer, false, "newer version"},
		"another program's index": {"index.db", newer, false, "damaged or not a store"},
		"a file for the folder":   {"", []byte("x"), true, "ledger.url"},
		"a folder for the index":  {"index.db", nil, true, "index.url"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := defaults(func(string) string { return "" })
			cfg.DataDir = filepath.Join(t.TempDir(), "data")
			path := filepath.Join(cfg.DataDir, c.file)
			err := os.MkdirAll(filepath.Dir(path), 0o700)
			if err == nil && c.content == nil {
				err = os.Mkdir(path, 0o700)
			} else if err == nil {
				err = os.WriteFile(path, c.content, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			b, err := newServer(&cfg, slog.New(slog.DiscardHandler)).openBackends(t.Context())
			if err == nil {
				_ = b.closeAll(t.Context())
				t.Fatal("opened")
			}
			if mayHeal(err) != c.heals || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: heals %v, want %v and %q in one line", err, mayHeal(err), c.heals, c.says)
			}
		})
	}
	if mayHeal(nil) {
		t.Error("what has not failed is tried again")
	}
}
