package ledger_test

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"strata/stores/ledger"
	"strata/stores/storestest"
)

// places gives each store of a test its file.
type places struct {
	mu   sync.Mutex
	dirs map[string]string
}

func (p *places) path(t testing.TB, name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := t.Name() + "/" + name
	if p.dirs[key] == "" {
		if p.dirs == nil {
			p.dirs = map[string]string{}
		}
		p.dirs[key] = t.TempDir()
	}
	return filepath.Join(p.dirs[key], "data", name+".db")
}

func opener(prepare func(t testing.TB, path string)) storestest.Opener {
	var p places
	return func(t testing.TB, name string, clock func() time.Time) storestest.Store {
		t.Helper()
		path := p.path(t, name)
		if prepare != nil {
			prepare(t, path)
		}
		l, err := ledger.New(t.Context(), ledger.Config{Path: path, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}

func TestContract(t *testing.T) { storestest.Run(t, opener(nil)) }

// A store that the next program has made is read and written by this one.
func TestContractOneSchemaAhead(t *testing.T) { storestest.Run(t, opener(ledger.Next)) }
