package weaviate

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"strata/internal/weaviateserver"
	"strata/stores"
)

func TestVectorCollection(t *testing.T) {
	for _, tt := range []struct {
		space string
		dims  int
		want  string // "" = refused
	}{
		{"s1", 384, "StrataVectors_s1_384"},
		{"0123456789abcdef", 1, "StrataVectors_0123456789abcdef_1"},
		{"aB", 4, "StrataVectors_a_b_4"}, // the server takes aB and ab for the same
		{"ab", 4, "StrataVectors_ab_4"},
		{"", 4, ""}, {"0123456789abcdef0", 4, ""}, {"a_b", 4, ""}, {"a b", 4, ""}, {"é", 4, ""}, {`x){y`, 4, ""}, {"s1", 0, ""}, {"s1", -1, ""},
	} {
		got, err := vectorCollection(tt.space, tt.dims)
		if tt.want == "" {
			if err == nil {
				t.Errorf("%q, %d: %s", tt.space, tt.dims, got)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("%q, %d: %s, %v", tt.space, tt.dims, got, err)
		}
		marked, dims, ok := spaceOf(got)
		if want, _ := markedSpace(tt.space); !ok || marked != want || dims != tt.dims {
			t.Errorf("%s is taken for %s, %d", got, marked, dims)
		}
	}
	for _, other := range []string{"StrataVectors_", "StrataVectors_x", "StrataVectors_x_", "StrataVectors_x_0", "StrataVectors__4x", "StrataVectorsx_4", "StrataKnowledge_x_4", ""} {
		if marked, dims, ok := spaceOf(other); ok {
			t.Errorf("%s is taken for the space %s, %d", other, marked, dims)
		}
	}
}

func TestSpaces(t *testing.T) {
	var s spaces
	s.add("b", 2)
	s.add("a", 1)
	if got := s.names(); !slices.Equal(got, []string{"StrataVectors_a_1", "StrataVectors_b_2"}) || s.size("b") != 2 || s.size("c") != 0 {
		t.Errorf("%v", got)
	}
	s.forget("b")
	if got := s.names(); !slices.Equal(got, []string{"StrataVectors_a_1"}) {
		t.Errorf("%v", got)
	}
	if got := s.set(maps.Keys(map[string]int{"StrataVectors_c_3": 0, collection: 0, "StrataVectors_d": 0})); !slices.Equal(got, []string{"StrataVectors_c_3"}) || s.size("a") != 0 {
		t.Errorf("%v", got)
	}
}

// tenantsOf are this ledger's tenants in a collection.
func tenantsOf(t *testing.T, x *Index, collection string) (names []string) {
	t.Helper()
	all, err := x.server.tenants(t.Context(), collection)
	if err != nil {
		t.Fatal(err)
	}
	for _, tenant := range all {
		if strings.HasPrefix(tenant.Name, x.prefix) {
			names = append(names, tenant.Name)
		}
	}
	return names
}

var east = []float32{1, 0}

// Who loses vectors loses the note that they are there, whoever else has some.
func TestNeedsVectors(t *testing.T) {
	s, ctx := weaviateserver.ForTest(t), t.Context()
	x, y := internal(t, s, "x"), internal(t, s, "y")
	space := stores.Space{ID: "s1", Dims: 2}
	needs := func(x *Index, want bool) {
		t.Helper()
		if got, err := x.NeedsVectors(ctx, space.ID); err != nil || got != want {
			t.Errorf("vectors are missing: %v, %v, want %v", got, err, want)
		}
	}
	put := func(x *Index) {
		t.Helper()
		if err := x.PutVectors(ctx, "T", space, []stores.Vector{{Passage: "p", Values: east}}); err != nil {
			t.Fatal(err)
		}
	}
	needs(x, true)
	put(x)
	needs(x, true) // somebody who stopped before all was queued
	for range 2 {
		if err := x.VectorsQueued(ctx, space); err != nil {
			t.Fatal(err)
		}
		needs(x, false)
	}
	needs(y, true)
	_ = x.Close()
	x = internal(t, s, "x")
	needs(x, false) // after a restart

	// The server loses the collection and nothing else.
	if err := x.server.dropCollection(ctx, vectorsPrefix+"s1_2"); err != nil {
		t.Fatal(err)
	}
	needs(x, true)
	if hits, err := x.Nearest(ctx, "T", space.ID, east, 5); err != nil || len(hits) > 0 {
		t.Errorf("of a lost collection: %v, %v", hits, err)
	}
	if err := x.Remove(ctx, "T", []string{"p"}); err != nil {
		t.Errorf("a removal with a lost collection: %v", err)
	}
	// What is put is refused until the loss is noticed, and then goes in.
	var err error
	for range 100 {
		if err = x.PutVectors(ctx, "T", space, []stores.Vector{{Passage: "p", Values: east}}); err == nil {
			break
		}
		pausePoll()
	}
	if err != nil {
		t.Fatal(err)
	}
	needs(x, true)
	if x.NeedsRebuild() != true {
		t.Error("the passages were never said to be there")
	}
}

// A space that is not kept goes with its collection, unless another ledger has
// vectors there.
func TestKeepSpaceOnTheServer(t *testing.T) {
	s, ctx := weaviateserver.ForTest(t), t.Context()
	x, y := internal(t, s, "x"), internal(t, s, "y")
	put := func(x *Index, id string) {
		t.Helper()
		for _, tenant := range []string{"T", "U"} {
			if err := x.PutVectors(ctx, tenant, stores.Space{ID: id, Dims: 2}, []stores.Vector{{Passage: "p", Values: east}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.VectorsQueued(ctx, stores.Space{ID: id, Dims: 2}); err != nil {
			t.Fatal(err)
		}
	}
	put(x, "old")
	put(x, "both")
	put(x, "new")
	put(y, "both")
	if err := x.KeepSpace(ctx, "new"); err != nil {
		t.Fatal(err)
	}
	if got := Collections(t, x); !slices.Equal(got, []string{collection, "StrataVectors_both_2", "StrataVectors_new_2"}) {
		t.Errorf("left: %v", got)
	}
	if mine, theirs := tenantsOf(t, x, "StrataVectors_both_2"), tenantsOf(t, y, "StrataVectors_both_2"); len(mine) > 0 || len(theirs) != 3 {
		t.Errorf("left are %v of the one that does not keep it, %v of the other", mine, theirs)
	}
	if hits, err := y.Nearest(ctx, "T", "both", east, 5); err != nil || len(hits) != 1 {
		t.Errorf("of the other ledger: %v, %v", hits, err)
	}
	if needs, err := x.NeedsVectors(ctx, "both"); err != nil || !needs {
		t.Errorf("the note has outlived its vectors: %v", err)
	}
	// All of a ledger that is temporary goes, and nothing of the other's.
	x.leave = true
	if err := errors.Join(x.Put(ctx, "T", []stores.Passage{{ID: "p", Text: "word"}}), x.Close(), x.Close()); err != nil {
		t.Fatal(err)
	}
	if got := Collections(t, y); !slices.Equal(got, []string{"StrataVectors_both_2"}) {
		t.Errorf("left: %v", got)
	}
	if hits, err := y.Nearest(ctx, "T", "both", east, 5); err != nil || len(hits) != 1 {
		t.Errorf("of the other ledger: %v, %v", hits, err)
	}
}
