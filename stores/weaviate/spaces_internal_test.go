package weaviate

import (
	"errors"
	"maps"
	"regexp"
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
	s.add("StrataVectors_b_2")
	s.add("StrataVectors_a_1")
	if got := s.names(); !slices.Equal(got, []string{"StrataVectors_a_1", "StrataVectors_b_2"}) || s.size("b") != 2 || s.size("c") != 0 {
		t.Errorf("%v", got)
	}
	s.forget("StrataVectors_b_2")
	s.leave("StrataVectors_b_2")
	if got := s.names(); !slices.Equal(got, []string{"StrataVectors_a_1"}) || s.isNoted("StrataVectors_b_2") || !s.isNoted("StrataVectors_a_1") {
		t.Errorf("%v", got)
	}
	s.set(maps.Keys(map[string]int{"StrataVectors_c_3": 0, collection: 0, "StrataVectors_d": 0}))
	s.note(nil)
	if got := s.names(); !slices.Equal(got, []string{"StrataVectors_c_3"}) || s.size("a") != 0 || s.isNoted("StrataVectors_a_1") {
		t.Errorf("%v", got)
	}
}

// tenantsOf are this ledger's tenants in a collection.
func tenantsOf(t *testing.T, x *Index, collection string) (names []string) {
	t.Helper()
	all, err := x.server.tenants(t.Context(), collection, x.prefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, tenant := range all {
		names = append(names, tenant.Name)
	}
	return names
}

var east = []float32{1, 0}

// A server that loses vectors and keeps the passages is to be filled again, once,
// whoever else has vectors there, and also when that is found out at a start.
func TestLostVectors(t *testing.T) {
	s, ctx := weaviateserver.ForTest(t), t.Context()
	x, y := internal(t, s, "x"), internal(t, s, "y")
	space := stores.Space{ID: "s1", Dims: 2}
	put := func(x *Index) error {
		return x.PutVectors(ctx, "T", space, []stores.Vector{{Passage: "p", Values: east}})
	}
	needs := func(what string, want bool) {
		t.Helper()
		if got := x.NeedsRebuild(); got != want {
			t.Errorf("%s: to be filled: %v", what, got)
		}
	}
	again := func() {
		t.Helper()
		_ = x.Close()
		x = internal(t, s, "x")
	}
	rebuilt := func() {
		t.Helper()
		x.NeedsRebuild()
		if err := errors.Join(put(x), x.Rebuilt(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	lose := func() {
		t.Helper()
		if err := x.server.dropCollection(ctx, "StrataVectors_s1_2"); err != nil {
			t.Fatal(err)
		}
	}
	rebuilt()
	if err := put(y); err != nil {
		t.Fatal(err)
	}
	again()
	needs("after a restart", false)

	// While it is in use: nothing is found and nothing goes wrong, and the first
	// question lets the loss be noticed.
	lose()
	if hits, err := x.Nearest(ctx, "T", space.ID, east, 5); err != nil || len(hits) > 0 {
		t.Errorf("of a lost collection: %v, %v", hits, err)
	}
	if err := x.Remove(ctx, "T", []string{"p"}); err != nil {
		t.Errorf("a removal with a lost collection: %v", err)
	}
	Until(t, "the loss is noticed", x.NeedsRebuild)
	if err := put(x); err != nil {
		t.Errorf("after it was: %v", err)
	}
	needs("after a loss", true)
	again()
	needs("after a loss and a restart", true)
	rebuilt()
	needs("after it was filled again", false)

	// Before a start, with another ledger's vectors there.
	lose()
	Until(t, "another one's vectors go in", func() bool { return put(y) == nil })
	again()
	needs("after a loss before the start", true)
	again()
	needs("after two starts", true)
	x.NeedsRebuild()
	if err := x.Rebuilt(ctx); err != nil { // nobody embeds any more
		t.Fatal(err)
	}
	again()
	needs("without an embedder", false)

	// Vectors that are removed are not lost.
	rebuilt()
	if err := x.KeepSpace(ctx, "other"); err != nil {
		t.Fatal(err)
	}
	again()
	needs("after they were removed", false)
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
	if got := tenantsOf(t, x, collection); !slices.Equal(got, []string{x.vectorsNote("StrataVectors_new_2")}) {
		t.Errorf("noted: %v", got)
	}
	// All of a ledger that is temporary goes, and nothing of the other's.
	x.temporary = true
	if err := errors.Join(x.Put(ctx, "T", []stores.Passage{{ID: "p", Text: "word"}}), x.Close(), x.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range Collections(t, y) {
		if got := tenantsOf(t, x, c); len(got) > 0 {
			t.Errorf("left in %s: %v", c, got)
		}
	}
	if got := Collections(t, y); !slices.Equal(got, []string{collection, "StrataVectors_both_2"}) { // the other's note, and vectors
		t.Errorf("left: %v", got)
	}
	if hits, err := y.Nearest(ctx, "T", "both", east, 5); err != nil || len(hits) != 1 {
		t.Errorf("of the other ledger: %v, %v", hits, err)
	}
}

// Names of tenants are of the few characters and the length that the server
// takes, and none is taken for another one's note.
func TestNames(t *testing.T) {
	x, other := &Index{prefix: "0123456789ab", space: []byte("n")}, &Index{prefix: "ba9876543210"}
	longest, err := vectorCollection("ABCDEFGHIJKLMNOP", 65535)
	if err != nil {
		t.Fatal(err)
	}
	good := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	for _, c := range []string{"StrataVectors_s1_2", longest} {
		note := x.vectorsNote(c)
		if got, ok := x.readNote(note); !ok || got != c || !good.MatchString(note) {
			t.Errorf("%s: %q, %v", note, got, ok)
		}
	}
	for _, name := range []string{x.mark(), x.tenant("T"), x.tenant("a@b.example"), x.tenant("租户"), x.tenant(strings.Repeat("x", 300)), x.tenant("../t"), x.tenant("StrataVectors_s1_2")} {
		if got, ok := x.readNote(name); ok || !good.MatchString(name) {
			t.Errorf("%q is taken for a note of %s", name, got)
		}
	}
	for _, name := range []string{other.vectorsNote("StrataVectors_s1_2"), x.prefix + "-", x.prefix + "-v-", x.prefix + "-v-s1", ""} {
		if got, ok := x.readNote(name); ok {
			t.Errorf("%q is taken for a note of %s", name, got)
		}
	}
	if x.tenant("T") == x.tenant("t") {
		t.Error("tenants differ by the case of their letters alone")
	}
}
