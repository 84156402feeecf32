package weaviate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weaviate/weaviate/entities/models"

	"strata/internal/weaviateserver"
	"strata/stores"
)

// Hot tells whether a tenant is in the server's memory.
func Hot(t *testing.T, x *Index, tenant string) bool {
	t.Helper()
	names, err := x.server.hotTenants(t.Context(), x.prefix)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Contains(names, x.tenant(tenant))
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
		"ObjectWithoutTenant": wayObjectWithoutTenant, "FailedAndYetStored": wayFailedAndYetStored, "NoVectors": wayNoVectors,
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
	if _, err := refused.hasCollection(t.Context()); !errors.Is(err, ErrRefused) {
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
	name := x.tenant("without")
	err := x.putObjects(t.Context(), name, []*models.Object{object(name, stores.Passage{ID: "a", Text: "word"}), object("", stores.Passage{ID: "b", Text: "word"})})
	if !answered(err) {
		t.Errorf("%v", err)
	}
}

// An object that the server calls failed may be stored all the same: it is an
// error of Put, and what is put or removed afterwards holds.
func wayFailedAndYetStored(t *testing.T, x *Index) {
	const class = "Vectors"
	err := x.server.schema.ClassCreator().WithClass(&models.Class{Class: class, Vectorizer: "none"}).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	put := func(id string, dims int) error {
		return x.putObjects(t.Context(), "", []*models.Object{{Class: class, ID: objectID(id), Vector: make([]float32, dims)}})
	}
	if err := put("three", 3); err != nil {
		t.Fatal(err)
	}
	// The first vector fixes the size for ever, which is why vectors will have
	// a collection of their own for each embedder.
	err = put("four", 4)
	if !answered(err) || !strings.Contains(err.Error(), "1 of 1") {
		t.Errorf("an object that failed within a good answer: %v", err)
	}
	if there, err := x.server.has(t.Context(), fmt.Sprintf("/objects/%s/%s", class, objectID("four"))); err != nil || !there {
		t.Logf("what failed was not stored: %v, %v", there, err)
	}
}

// Passages go in without vectors, so none is there to be of a wrong size.
func wayNoVectors(t *testing.T, x *Index) {
	name := x.tenant("vectors")
	if o := object(name, stores.Passage{ID: "p", Text: "word"}); o.Vector != nil || len(o.Vectors) > 0 {
		t.Error("a passage has a vector")
	}
	class, err := x.server.schema.ClassGetter().WithClassName(collection).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if class.Vectorizer != "none" || class.MultiTenancyConfig == nil || !class.MultiTenancyConfig.Enabled {
		t.Errorf("the collection is %+v", class)
	}
}

// Several processes may make the collection and a tenant at once.
func wayMadeTwice(t *testing.T, x *Index) {
	for range 2 {
		if err := errors.Join(x.server.createCollection(t.Context()), x.server.createTenant(t.Context(), x.tenant("twice"), true)); err != nil {
			t.Error(err)
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
