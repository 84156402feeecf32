package weaviate_test

import (
	"fmt"
	"os"
	"testing"

	"strata/internal/weaviateserver"
	"strata/stores"
	"strata/stores/storestest"
	"strata/stores/weaviate"
)

// shared is the server of all tests that leave it as it is. They keep apart by
// their namespaces.
var shared weaviateserver.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	shared.Close()
	os.Exit(code)
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
	s := shared.For(t)
	storestest.RunIndex(t, func(t testing.TB, name string) storestest.Index {
		return open(t, config(s, fmt.Sprint(t.Name(), "/", name)))
	})
}

func TestVectorContract(t *testing.T) {
	s := shared.For(t)
	storestest.RunVectorIndex(t, func(t testing.TB, name string) storestest.VectorIndex {
		return open(t, config(s, fmt.Sprint(t.Name(), "/", name)))
	})
}

// plane is a space of two dimensions.
var plane = stores.Space{ID: "plane", Model: "m", Dims: 2}
