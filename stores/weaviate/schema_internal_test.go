package weaviate

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weaviate/weaviate/entities/models"

	"strata/internal/weaviateserver"
	"strata/stores"
)

func internal(t *testing.T, s *weaviateserver.Server, namespace string) *Index {
	t.Helper()
	x, err := New(t.Context(), Config{URL: s.URL(), APIKey: weaviateserver.Key, Namespace: []byte(namespace)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// Until waits until something is done, for ten seconds at most.
func Until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited until %s", what)
		}
	}
}

// asMade is a collection as a server that made it shows it.
func asMade(t *testing.T, class *models.Class) *form {
	t.Helper()
	b, err := json.Marshal(class)
	if err != nil {
		t.Fatal(err)
	}
	f := &form{}
	if err := json.Unmarshal(b, f); err != nil {
		t.Fatal(err)
	}
	return f
}

// A collection of our name that was made in another way is told by what is
// wrong with it.
func TestFits(t *testing.T) {
	space := vectors(vectorsPrefix + "x_2")
	for _, tt := range []struct {
		name   string
		want   *models.Class
		change func(*form)
		says   string // "" = fits
	}{
		{"passages", passages(), func(*form) {}, ""},
		{"vectors", space, func(*form) {}, ""},
		{"a further property", passages(), func(f *form) {
			f.Properties = append(f.Properties, struct{ Name, Tokenization string }{"more", "word"})
		}, ""},
		{"no tenants", passages(), func(f *form) { f.MultiTenancyConfig.Enabled = false }, "no tenants"},
		{"tenants to be made by hand", passages(), func(f *form) { f.MultiTenancyConfig.AutoTenantCreation = false }, "made and woken"},
		{"tenants to be woken by hand", space, func(f *form) { f.MultiTenancyConfig.AutoTenantActivation = false }, "made and woken"},
		{"ids in words", passages(), func(f *form) { f.Properties[0].Tokenization = "word" }, "property passage"},
		{"terms in words", passages(), func(f *form) { f.Properties[1].Tokenization = "word" }, "property words"},
		{"no sketches", passages(), func(f *form) { f.Properties = f.Properties[:2] }, "property sketch"},
		{"another distance", space, func(f *form) { f.VectorIndexConfig.Distance = "dot" }, "cosine"},
	} {
		f := asMade(t, tt.want)
		tt.change(f)
		err := f.fits(tt.want)
		if tt.says == "" && err != nil || tt.says != "" && (!errors.Is(err, errForm) || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), tt.want.Class)) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// C100, C103: a collection whose ids are cut into words, or without tenants, is
// refused, of passages at the start and of vectors when they are put.
func TestForeignCollection(t *testing.T) {
	s, ctx := weaviateserver.ForTest(t), t.Context()
	x := internal(t, s, "maker")
	wrongIDs, noTenants := passages(), passages()
	wrongIDs.Properties[0].Tokenization = models.PropertyTokenizationWord
	noTenants.MultiTenancyConfig = nil
	for name, class := range map[string]*models.Class{"ids in words": wrongIDs, "no tenants": noTenants} {
		if err := x.server.dropCollection(ctx, collection); err != nil {
			t.Fatal(err)
		}
		if err := x.server.schema.ClassCreator().WithClass(class).Do(ctx); err != nil {
			t.Fatal(err)
		}
		y, err := New(ctx, Config{URL: s.URL(), APIKey: weaviateserver.Key, Namespace: []byte("finder")})
		if err == nil {
			_ = y.Close()
		}
		if !errors.Is(err, errForm) || !strings.Contains(err.Error(), collection) {
			t.Errorf("%s: %v", name, err)
		}
	}
	far := vectors(vectorsPrefix + "far_2")
	far.VectorIndexConfig = map[string]any{"distance": "l2-squared"}
	if err := x.server.schema.ClassCreator().WithClass(far).Do(ctx); err != nil {
		t.Fatal(err)
	}
	err := x.PutVectors(ctx, "T", stores.Space{ID: "far", Dims: 2}, []stores.Vector{{Passage: "p", Values: east}})
	if !errors.Is(err, errForm) {
		t.Errorf("vectors of another distance: %v", err)
	}
}

// C103: a tenant is made by what is put, never by a read or a removal; one that
// an operator has deleted is empty, and there again with the next passage.
func TestTenantsAreMadeByWrites(t *testing.T) {
	s, ctx := weaviateserver.ForTest(t), t.Context()
	x := internal(t, s, "tenants")
	space := stores.Space{ID: "s1", Dims: 2}
	put := func(tenant string) {
		t.Helper()
		if err := errors.Join(x.Put(ctx, tenant, []stores.Passage{{ID: "p", Text: "word"}}),
			x.PutVectors(ctx, tenant, space, []stores.Vector{{Passage: "p", Values: east}})); err != nil {
			t.Fatal(err)
		}
	}
	put("T9")
	read := func(tenant string, want int) {
		t.Helper()
		texts, err := x.Search(ctx, tenant, "word", 5)
		near, err2 := x.Nearest(ctx, tenant, "s1", east, 5)
		n, err3 := x.Count(ctx, tenant)
		if err := errors.Join(err, err2, err3); err != nil || len(texts) != want || len(near) != want || n != want {
			t.Errorf("%s: %v, %v, %d, %v; want %d", tenant, texts, near, n, err, want)
		}
	}
	read("T9", 1)
	read("T10", 0)
	if err := x.Remove(ctx, "T10", []string{"p"}); err != nil {
		t.Error(err)
	}
	for at := range x.tenants.used {
		if at.tenant == x.tenant("T10") {
			t.Errorf("one that is not there is taken for one in memory: %v", at)
		}
	}
	for _, c := range []string{collection, "StrataVectors_s1_2"} {
		if got := tenantsOf(t, x, c); !slices.Contains(got, x.tenant("T9")) || slices.Contains(got, x.tenant("T10")) {
			t.Errorf("%s has the tenants %v", c, got)
		}
		if err := x.server.dropTenants(ctx, c, x.tenant("T9")); err != nil {
			t.Fatal(err)
		}
	}
	read("T9", 0)
	put("T9")
	read("T9", 1)
}

// Passages that an earlier program has cut in its own way go when those of this
// one are there.
func TestEarlierPassagesGo(t *testing.T) {
	s, ctx := weaviateserver.ForTest(t), t.Context()
	x := internal(t, s, "x")
	earlier := passages()
	earlier.Class = passagesPrefix + "Earlier"
	if _, err := x.server.createCollection(ctx, earlier); err != nil {
		t.Fatal(err)
	}
	if err := x.server.createTenant(ctx, place{earlier.Class, x.tenant("T")}); err != nil {
		t.Fatal(err)
	}
	if !x.NeedsRebuild() || !slices.Contains(Collections(t, x), earlier.Class) {
		t.Fatal("there is nothing to go")
	}
	if err := x.Rebuilt(ctx); err != nil {
		t.Fatal(err)
	}
	if got := Collections(t, x); !slices.Equal(got, []string{collection}) {
		t.Errorf("left: %v", got)
	}
}

// A server that loses its passages while they are put is not noted as filled,
// whenever it does.
func TestLostWhileRebuilt(t *testing.T) {
	s, ctx := weaviateserver.ForTest(t), t.Context()
	x := internal(t, s, "x")
	if !x.NeedsRebuild() {
		t.Fatal("a new server is filled")
	}
	if err := x.server.dropCollection(ctx, collection); err != nil {
		t.Fatal(err)
	}
	if err := x.setUp(ctx); err != nil {
		t.Fatal(err)
	}
	if err := x.Rebuilt(ctx); err == nil {
		t.Error("an empty collection is said to be filled")
	}
	_ = x.Close()
	if y := internal(t, s, "x"); !y.NeedsRebuild() {
		t.Error("it is taken for filled after a restart")
	}
}

// The loss may come in the very moment in which it is noted.
func TestLostWhileNoted(t *testing.T) {
	f := newFake(t, "1.35.2")
	x, err := New(t.Context(), Config{URL: f.URL, Namespace: []byte("n")})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	f.noted = func() { x.made.Add(1) }
	if !x.NeedsRebuild() || x.Rebuilt(t.Context()) == nil || !x.NeedsRebuild() {
		t.Error("an empty collection is said to be filled")
	}
	if f.marks.Load() != 0 {
		t.Error("and noted as that")
	}
	f.noted = func() {}
	if x.NeedsRebuild(); x.Rebuilt(t.Context()) != nil || x.NeedsRebuild() || f.marks.Load() != 1 {
		t.Error("what was filled is not noted")
	}
}
