package weaviate

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weaviate/weaviate/entities/models"

	"strata/internal/weaviateserver"
	"strata/stores"
)

// Hot tells whether a tenant's passages are in the server's memory, or its
// vectors in any space.
func Hot(t *testing.T, x *Index, tenant string) (texts, vectors bool) {
	t.Helper()
	for at := range hotPlaces(t, x) {
		if at.tenant == x.tenant(tenant) {
			texts, vectors = texts || at.collection == collection, vectors || at.collection != collection
		}
	}
	return texts, vectors
}

// HotTenants is how many tenants of this ledger are in the server's memory.
func HotTenants(t *testing.T, x *Index) (n int) {
	t.Helper()
	for range hotPlaces(t, x) {
		n++
	}
	return n
}

func hotPlaces(t *testing.T, x *Index) iter.Seq[place] {
	t.Helper()
	return func(yield func(place) bool) {
		for _, c := range append(x.spaces.names(), collection) {
			all, err := x.server.tenants(t.Context(), c, x.prefix)
			if err != nil {
				t.Fatal(err)
			}
			for _, tenant := range all {
				if isHot(tenant) && !yield(place{c, tenant.Name}) {
					return
				}
			}
		}
	}
}

// Collections are the names of those on the server that are this package's.
func Collections(t *testing.T, x *Index) []string {
	t.Helper()
	forms, err := x.server.forms(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(forms))
}

// What follows holds the server's ways that the code is built around; each
// would go wrong in silence.
func TestServersWays(t *testing.T) {
	s := weaviateserver.ForTest(t)
	x, err := New(t.Context(), Config{URL: s.URL(), APIKey: weaviateserver.Key, Namespace: []byte("ways")})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for name, test := range map[string]func(*testing.T, *Index){
		"ErrorInAGoodAnswer": wayErrorInAGoodAnswer, "StatusOfErrors": wayStatusOfErrors, "EndOfContext": wayEndOfContext,
		"ObjectWithoutTenant": wayObjectWithoutTenant, "FailedAndYetStored": wayFailedAndYetStored, "ZeroVector": wayZeroVector, "NoVectors": wayNoVectors,
		"MadeTwice": wayMadeTwice, "NoTenant": wayNoTenant, "EmptyList": wayEmptyList,
	} {
		t.Run(name, func(t *testing.T) { test(t, x) })
	}
}

// GraphQL's errors come with status 200.
func wayErrorInAGoodAnswer(t *testing.T, x *Index) {
	for _, query := range []string{`{Get{Nowhere{x}}}`, `{Get{` + collection + `(tenant:"none"){passage}}}`, `{`} {
		var got foundAnswer
		if err := x.server.query(t.Context(), query, &got); !answered(err) {
			t.Errorf("%s: %v, %+v", query, err, got)
		}
	}
}

// The client wraps statuses at several depths; what is missing has no message.
func wayStatusOfErrors(t *testing.T, x *Index) {
	_, err := x.server.schema.ClassGetter().WithClassName("Nowhere").Do(t.Context())
	var a *answer
	if !errors.As(told(err), &a) || a.status != 404 {
		t.Errorf("a missing collection: %v", told(err))
	}
	refused := newServer("http", x.host, "wrong")
	defer refused.close()
	if _, err := refused.hasCollection(t.Context(), collection); !errors.Is(err, ErrRefused) {
		t.Errorf("a refused key: %v; it must not count as a missing collection", err)
	}
	if err := refused.query(t.Context(), `{Get{X{y}}}`, nil); !errors.Is(err, ErrRefused) {
		t.Errorf("a refused query: %v", err)
	}
}

// The end of a context comes out as such, and not as an error of the client's.
func wayEndOfContext(t *testing.T, x *Index) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	_, err := x.server.schema.TenantsGetter().WithClassName(collection).Do(ctx)
	if !errors.Is(told(err), context.DeadlineExceeded) {
		t.Errorf("%v", told(err))
	}
}

// One object without a tenant fails the whole batch.
func wayObjectWithoutTenant(t *testing.T, x *Index) {
	at := place{collection, x.tenant("without")}
	err := x.putObjects(t.Context(), at, []*models.Object{object(at, stores.Passage{ID: "a", Text: "word"}), object(place{collection: collection}, stores.Passage{ID: "b", Text: "word"})})
	if !answered(err) {
		t.Errorf("%v", err)
	}
}

// A vector of another size than the first one's fails within a good answer, is
// stored or not as the server likes, and would fix the size where it came first:
// sizes are checked before, and part of the collection's name.
func wayFailedAndYetStored(t *testing.T, x *Index) {
	at := place{lay(t, x, stores.Space{ID: "sizes", Dims: 3}), x.tenant("sizes")}
	put := func(id string, dims int) error {
		values := make([]float32, dims)
		values[0] = 1
		return x.putObjects(t.Context(), at, []*models.Object{vectorObject(at, stores.Vector{Passage: id, Values: values})})
	}
	if err := put("three", 3); err != nil {
		t.Fatal(err)
	}
	err := put("four", 4)
	if !answered(err) || !strings.Contains(err.Error(), `1 of 1 passages failed: "four": `) {
		t.Errorf("an object that failed within a good answer: %v", err)
	}
	if err := x.PutVectors(t.Context(), "sizes", stores.Space{ID: "sizes", Dims: 4}, []stores.Vector{{Passage: "four", Values: []float32{1, 0, 0, 0}}}); err == nil {
		t.Error("a space takes vectors of two sizes")
	}
	// What is put and removed afterwards holds.
	if err := errors.Join(put("three", 3), x.Remove(t.Context(), "sizes", []string{"four"})); err != nil {
		t.Error(err)
	}
	if hits, err := x.Nearest(t.Context(), "sizes", "sizes", []float32{1, 0, 0}, 5); err != nil || len(hits) != 1 || hits[0].ID != "three" {
		t.Errorf("%v, %v", hits, err)
	}
}

func lay(t *testing.T, x *Index, space stores.Space) (name string) {
	t.Helper()
	name, err := vectorCollection(space.ID, space.Dims)
	if err = errors.Join(err, x.lay(t.Context(), space)); err != nil {
		t.Fatal(err)
	}
	return name
}

// The server takes a vector of zeros, which is near to nothing: it is refused
// here.
func wayZeroVector(t *testing.T, x *Index) {
	at := place{lay(t, x, stores.Space{ID: "zero", Dims: 3}), x.tenant("zero")}
	zero := stores.Vector{Passage: "zero", Values: make([]float32, 3)}
	if err := x.putObjects(t.Context(), at, []*models.Object{vectorObject(at, zero)}); err != nil {
		t.Errorf("the server refuses it itself: %v", err)
	}
	if err := x.PutVectors(t.Context(), "zero", stores.Space{ID: "zero", Dims: 3}, []stores.Vector{zero}); err == nil {
		t.Error("a vector of zeros is put")
	}
}

// Passages go in without vectors, so none is there to be of a wrong size.
func wayNoVectors(t *testing.T, x *Index) {
	if o := object(place{collection, x.tenant("vectors")}, stores.Passage{ID: "p", Text: "word"}); o.Vector != nil || len(o.Vectors) > 0 {
		t.Error("a passage has a vector")
	}
	f, err := x.server.form(t.Context(), collection)
	if err != nil || f.fits(passages()) != nil {
		t.Errorf("the collection is %+v, %v", f, err)
	}
}

// Several processes may make the collection and a tenant at once.
func wayMadeTwice(t *testing.T, x *Index) {
	for range 2 {
		f, err := x.server.createCollection(t.Context(), passages())
		if err = errors.Join(err, x.server.createTenant(t.Context(), place{collection, x.tenant("twice")})); err != nil || f == nil {
			t.Error(f, err)
		}
	}
}

// Without a tenant, or with one that never was, nothing is read: no wider search.
func wayNoTenant(t *testing.T, x *Index) {
	if err := x.Put(t.Context(), "somebody", []stores.Passage{{ID: "p", Text: "word"}}); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{"", "nobody", x.tenant("nobody"), strings.ToUpper(x.tenant("somebody"))} {
		if got, err := x.candidates(t.Context(), tenant, "word", 10); err == nil || len(got) > 0 {
			t.Errorf("%q: %v, %v", tenant, got, err)
		}
	}
}

// Removing nothing removes nothing: a filter without values must not be sent.
func wayEmptyList(t *testing.T, x *Index) {
	if err := x.Put(t.Context(), "list", []stores.Passage{{ID: "p", Text: "word"}}); err != nil {
		t.Fatal(err)
	}
	for _, ids := range [][]string{nil, {}} {
		if err := x.Remove(t.Context(), "list", ids); err != nil {
			t.Error(err)
		}
	}
	if n, err := x.Count(t.Context(), "list"); err != nil || n != 1 {
		t.Errorf("%d passages, %v", n, err)
	}
}
