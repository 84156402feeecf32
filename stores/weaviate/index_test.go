package weaviate_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"strata/internal/weaviateserver"
	"strata/stores/storestest"
	"strata/stores/weaviate"
)

// shared is the server of all tests that do not stop it.
var shared struct {
	once   sync.Once
	server *weaviateserver.Server
	err    error
	dir    string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.server != nil {
		_ = shared.server.Kill()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// server is the shared one. Tests on it keep apart by their namespaces.
func server(t testing.TB) *weaviateserver.Server {
	t.Helper()
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "strata-weaviate-"); shared.err != nil {
			return
		}
		if shared.server, shared.err = weaviateserver.New(weaviateserver.Config{Dir: shared.dir}); shared.err == nil {
			shared.err = shared.server.Start(t.Context())
		}
	})
	switch {
	case errors.Is(shared.err, weaviateserver.ErrMissing) && os.Getenv("STRATA_E2E_REQUIRE") != "1":
		t.Skipf("skipped: %v", shared.err)
	case shared.err != nil:
		t.Fatal(shared.err)
	}
	return shared.server
}

func config(s *weaviateserver.Server, namespace string) weaviate.Config {
	return weaviate.Config{URL: s.URL(), APIKey: weaviateserver.Key, Namespace: []byte(namespace)}
}

func open(t testing.TB, c weaviate.Config) *weaviate.Index {
	t.Helper()
	x, err := weaviate.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func TestContract(t *testing.T) {
	s := server(t)
	storestest.RunIndex(t, func(t testing.TB, name string) storestest.Index {
		return open(t, config(s, fmt.Sprint(t.Name(), "/", name)))
	})
}
