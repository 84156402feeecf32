package weaviate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"strata/internal/weaviateserver"
	"strata/stores"
)

// A tenant that an operator has deleted is told of by whoever comes first: a
// search, a put before it makes the tenant anew, or the look for vectors that
// are missing. One that nothing was ever put in is asked about, and is empty.
func TestLostTenants(t *testing.T) {
	s, ctx := weaviateserver.ForTest(t), t.Context()
	holds := map[string]bool{}
	var told []string
	x, err := New(ctx, Config{URL: s.URL(), APIKey: weaviateserver.Key, Namespace: []byte("lost"), Lost: func(_ context.Context, tenant, space string, put bool) bool {
		told = append(told, strings.Join(strings.Fields(tenant+" "+space+" "+map[bool]string{true: "put"}[put]), " "))
		return holds[tenant]
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	x.NeedsRebuild()
	if err := x.Rebuilt(ctx); err != nil {
		t.Fatal(err)
	}
	space := stores.Space{ID: "s1", Dims: 2}
	put := func(id string) {
		t.Helper()
		if err := x.Put(ctx, "T", []stores.Passage{{ID: id, Text: "word"}}); err != nil {
			t.Fatal(err)
		}
	}
	wantTold := func(what string, want ...string) {
		t.Helper()
		if !slices.Equal(told, want) {
			t.Errorf("%s: told of %q, want %q", what, told, want)
		}
		told = nil
	}
	lose := func(collection string) {
		t.Helper()
		if err := x.server.dropTenants(ctx, collection, x.tenant("T")); err != nil {
			t.Fatal(err)
		}
	}
	vectors, err := vectorCollection(space.ID, space.Dims)
	if err != nil {
		t.Fatal(err)
	}
	put("p1")
	wantTold("the first passage", "T put")
	holds["T"] = true
	put("p2")
	if err := x.PutVectors(ctx, "T", space, []stores.Vector{{Passage: "p1", Values: east}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if hits, err := x.Search(ctx, "nobody", "word", 5); err != nil || len(hits) > 0 {
			t.Errorf("of nobody: %v, %v", hits, err)
		}
	}
	wantTold("a tenant without anything", "nobody", "nobody")

	lose(collection)
	if hits, err := x.Search(ctx, "T", "word", 5); !errors.Is(err, ErrLost) {
		t.Errorf("%v, %v", hits, err)
	}
	wantTold("a search", "T")
	put("p3")
	wantTold("a put", "T put")
	if hits, err := x.Search(ctx, "T", "word", 5); err != nil || len(hits) != 1 {
		t.Errorf("%v, %v", hits, err)
	}
	lose(vectors)
	if hits, err := x.Nearest(ctx, "T", space.ID, east, 5); !errors.Is(err, ErrLost) {
		t.Errorf("%v, %v", hits, err)
	}
	wantTold("a search by vector", "T s1")
	if missing, err := x.Missing(ctx, "T", space.ID, []string{"p1"}); err != nil || fmt.Sprint(missing) != "[p1]" {
		t.Errorf("%v, %v", missing, err)
	}
	wantTold("before vectors are put", "T s1 put")

	lose(collection)
	x.rebuild.Store(true) // all is put again anyway
	if _, err := x.Search(ctx, "T", "word", 5); err != nil {
		t.Error(err)
	}
	wantTold("while all is put again")
}
