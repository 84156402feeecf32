package storestest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"strata/stores"
)

// VectorIndex is an index that keeps vectors of its passages too.
type VectorIndex interface {
	Index
	PutVectors(ctx context.Context, tenant string, space stores.Space, vectors []stores.Vector) error
	Nearest(ctx context.Context, tenant, space string, vector []float32, limit int) ([]stores.Hit, error)
	KeepSpace(ctx context.Context, id string) error
	// Missing returns those of the passages that have no vector in a space, in
	// the order of ids: it saves embedding them twice.
	Missing(ctx context.Context, tenant, space string, ids []string) ([]string, error)
}

// VectorIndexOpener opens the index of this name, as IndexOpener does. Indexes
// of different names are those of different ledgers.
type VectorIndexOpener func(t testing.TB, name string) VectorIndex

// RunVectorIndex holds an index to the contract of vectors.
func RunVectorIndex(t *testing.T, open VectorIndexOpener) {
	for _, c := range []struct {
		name string
		test func(*testing.T, func(name string) vectorTest)
	}{
		{"Order", vectorsOrder},
		{"Apart", vectorsApart},
		{"Repeated", vectorsRepeated},
		{"Refused", vectorsRefused},
		{"Remove", vectorsRemove},
		{"TextLeavesThem", vectorsTextLeavesThem},
		{"KeepSpace", vectorsKeepSpace},
		{"OtherLedger", vectorsOtherLedger},
		{"Missing", vectorsMissing},
		{"Restart", vectorsRestart},
		{"ReadersBesideAWriter", vectorsReadersBesideAWriter},
		{"EndedAndClosed", vectorsEndedAndClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.test(t, func(name string) vectorTest {
				x := open(t, name)
				return vectorTest{indexTest{t, x}, x}
			})
		})
	}
}

// vectorTest is an index with what tests do to it.
type vectorTest struct {
	indexTest
	vectors VectorIndex
}

// spaceOf is a space in which angles are laid out in a plane.
func spaceOf(id string) stores.Space { return stores.Space{ID: id, Model: "m", Dims: 4} }

// at is the unit vector that has this angle, in degrees, to that of 0.
func at(degrees float64) []float32 {
	s, c := math.Sincos(degrees * math.Pi / 180)
	return []float32{float32(c), float32(s), 0, 0}
}

// putAt puts passages named after the angles of their vectors.
func (x vectorTest) putAt(tenant, space string, degrees ...float64) {
	x.t.Helper()
	var texts []stores.Passage
	var vectors []stores.Vector
	for _, d := range degrees {
		texts = append(texts, stores.Passage{ID: fmt.Sprint(d), Text: fmt.Sprint("text ", d)})
		vectors = append(vectors, stores.Vector{Passage: fmt.Sprint(d), Values: at(d)})
	}
	x.put(tenant, texts...)
	x.putVectors(tenant, space, vectors...)
}

func (x vectorTest) putVectors(tenant, space string, vectors ...stores.Vector) {
	x.t.Helper()
	if err := x.vectors.PutVectors(x.t.Context(), tenant, spaceOf(space), vectors); err != nil {
		x.t.Fatal(err)
	}
}

func (x vectorTest) nearest(tenant, space string, degrees float64, limit int) []stores.Hit {
	x.t.Helper()
	hits, err := x.vectors.Nearest(x.t.Context(), tenant, space, at(degrees), limit)
	if err != nil {
		x.t.Fatal(err)
	}
	return hits
}

func (x vectorTest) want(tenant, space string, degrees float64, ids ...string) {
	x.t.Helper()
	if got := hitIDs(x.nearest(tenant, space, degrees, 100)); !slices.Equal(got, ids) {
		x.t.Errorf("%s in %s near %v: %v, want %v", tenant, space, degrees, got, ids)
	}
}

// The nearest come first, with the cosine as their score, as many as were asked
// for.
func vectorsOrder(t *testing.T, open func(string) vectorTest) {
	x := open("index")
	defer x.close()
	x.putAt("T", "s1", 40, 10, 90, 170, 20)
	x.want("T", "s1", 0, "10", "20", "40", "90", "170")
	x.want("T", "s1", 100, "90", "40", "170", "20", "10")
	for _, h := range x.nearest("T", "s1", 0, 5) {
		var degrees float64
		if _, err := fmt.Sscan(h.ID, &degrees); err != nil {
			t.Fatal(err)
		}
		if want := math.Cos(degrees * math.Pi / 180); math.Abs(h.Score-want) > 1e-3 || h.Cover != 0 {
			t.Errorf("%+v, want the score %.4f", h, want)
		}
	}
	for limit, want := range map[int]int{-1: 0, 0: 0, 1: 1, 3: 3, 5: 5, 1 << 30: 5} {
		if got := x.nearest("T", "s1", 15, limit); len(got) != want {
			t.Errorf("limit %d: %d hits", limit, len(got))
		}
	}
	x.count("T", 5)
}

// Neither another tenant's vectors are found nor those of another space.
func vectorsApart(t *testing.T, open func(string) vectorTest) {
	x := open("index")
	defer x.close()
	for _, tenant := range []string{"T", "U"} {
		for _, space := range []string{"s1", "s2"} {
			x.want(tenant, space, 0)
		}
	}
	x.putAt("T", "s1", 10, 20)
	x.putAt("U", "s1", 30)
	x.putAt("T", "s2", 50)
	x.want("T", "s1", 0, "10", "20")
	x.want("U", "s1", 0, "30")
	x.want("T", "s2", 0, "50")
	x.want("U", "s2", 0)
	x.want("t", "s1", 0)
	if err := x.DropTenant(t.Context(), "T"); err != nil {
		t.Fatal(err)
	}
	x.want("T", "s1", 0)
	x.want("T", "s2", 0)
	x.want("U", "s1", 0, "30")
	x.putAt("T", "s1", 60)
	x.want("T", "s1", 0, "60")
}

// Vectors may be put again, and the last one counts.
func vectorsRepeated(t *testing.T, open func(string) vectorTest) {
	x := open("index")
	defer x.close()
	for range 3 {
		x.putAt("T", "s1", 10, 20)
		x.want("T", "s1", 0, "10", "20")
	}
	x.putVectors("T", "s1", stores.Vector{Passage: "10", Values: at(30)})
	x.want("T", "s1", 0, "20", "10")
	x.putVectors("T", "s1", stores.Vector{Passage: "20", Values: at(5)}, stores.Vector{Passage: "20", Values: at(50)})
	x.want("T", "s1", 0, "10", "20")
	x.putVectors("T", "s1")
	x.count("T", 2)
}

// What cannot be compared is refused whole, and so is an empty tenant.
func vectorsRefused(t *testing.T, open func(string) vectorTest) {
	x, ctx := open("index"), t.Context()
	defer x.close()
	x.putAt("T", "s1", 10, 20)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, values := range map[string][]float32{
		"none": nil, "short": {1}, "long": {1, 0, 0, 0, 0}, "zero": {0, 0, 0, 0}, "not a number": {nan, 0, 0, 0},
		"infinite": {inf, 0, 0, 0}, "not of length 1": {2, 0, 0, 0},
	} {
		err := x.vectors.PutVectors(ctx, "T", spaceOf("s1"), []stores.Vector{{Passage: "10", Values: at(90)}, {Passage: "20", Values: values}})
		if err == nil {
			t.Errorf("%s: put", name)
		}
		if _, err := x.vectors.Nearest(ctx, "T", "s1", values, 5); err == nil {
			t.Errorf("%s: asked for", name)
		}
	}
	if err := x.vectors.PutVectors(ctx, "T", spaceOf("s1"), []stores.Vector{{Values: at(1)}}); err == nil {
		t.Error("a vector without passage is put")
	}
	if err := x.vectors.PutVectors(ctx, "T", stores.Space{Dims: 4}, []stores.Vector{{Passage: "10", Values: at(1)}}); err == nil {
		t.Error("a vector without space is put")
	}
	// The size of a space does not change.
	if err := x.vectors.PutVectors(ctx, "T", stores.Space{ID: "s1", Dims: 2}, []stores.Vector{{Passage: "10", Values: []float32{1, 0}}}); err == nil {
		t.Error("a space takes vectors of two sizes")
	}
	x.want("T", "s1", 0, "10", "20")
	_, asked := x.vectors.Nearest(ctx, "", "s1", at(0), 5)
	for name, err := range map[string]error{"put": x.vectors.PutVectors(ctx, "", spaceOf("s1"), nil), "nearest": asked} {
		if !errors.Is(err, stores.ErrScope) {
			t.Errorf("%s without tenant: %v", name, err)
		}
	}
}

// A passage that is removed takes its vectors of all spaces along.
func vectorsRemove(t *testing.T, open func(string) vectorTest) {
	x := open("index")
	defer x.close()
	x.putAt("T", "s1", 10, 20, 30)
	x.putAt("T", "s2", 10, 20, 30)
	x.putAt("U", "s1", 20)
	for range 2 {
		if err := x.Remove(t.Context(), "T", []string{"20", "unknown"}); err != nil {
			t.Fatal(err)
		}
		x.want("T", "s1", 0, "10", "30")
		x.want("T", "s2", 0, "10", "30")
		x.want("U", "s1", 0, "20")
	}
	x.putAt("T", "s1", 20)
	x.want("T", "s1", 0, "10", "20", "30")
	x.want("T", "s2", 0, "10", "30")
}

// Text that is put again leaves the vectors of its passages alone.
func vectorsTextLeavesThem(t *testing.T, open func(string) vectorTest) {
	x := open("index")
	defer x.close()
	x.putAt("T", "s1", 10, 20)
	for range 2 {
		x.put("T", stores.Passage{ID: "10", Text: "text 10"}, stores.Passage{ID: "new", Text: "has no vector yet"})
		x.want("T", "s1", 0, "10", "20")
	}
	x.count("T", 3)
	if got := x.find("T", "vector", 5); !slices.Equal(got, []string{"new"}) {
		t.Errorf("by text: %v", got)
	}
}

// Only the space that is kept has vectors afterwards; texts stay.
func vectorsKeepSpace(t *testing.T, open func(string) vectorTest) {
	x := open("index")
	defer x.close()
	keep := func(id string) {
		t.Helper()
		for range 2 {
			if err := x.vectors.KeepSpace(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	keep("s1") // of nothing
	for _, tenant := range []string{"T", "U"} {
		x.putAt(tenant, "s1", 10)
		x.putAt(tenant, "s2", 20)
		x.putAt(tenant, "s3", 30)
	}
	keep("s2")
	for _, tenant := range []string{"T", "U"} {
		x.want(tenant, "s1", 0)
		x.want(tenant, "s2", 0, "20")
		x.want(tenant, "s3", 0)
		x.count(tenant, 3)
	}
	x.putAt("T", "s1", 40) // a space may come back, empty
	x.want("T", "s1", 0, "40")
	keep("")
	for _, space := range []string{"s1", "s2", "s3"} {
		x.want("T", space, 0)
	}
	x.putAt("T", "s2", 50)
	x.want("T", "s2", 0, "50")
}

// What one ledger keeps and removes is nothing to another's index.
func vectorsOtherLedger(t *testing.T, open func(string) vectorTest) {
	x, y := open("index"), open("other")
	defer x.close()
	defer y.close()
	x.putAt("T", "s1", 10)
	y.putAt("T", "s1", 20)
	x.want("T", "s1", 0, "10")
	y.want("T", "s1", 0, "20")
	if err := x.vectors.KeepSpace(t.Context(), "s2"); err != nil {
		t.Fatal(err)
	}
	x.want("T", "s1", 0)
	y.want("T", "s1", 0, "20")
}

// Which vectors are there is known for a tenant and a space, and is no matter
// of texts.
func vectorsMissing(t *testing.T, open func(string) vectorTest) {
	x := open("index")
	defer x.close()
	missing := func(tenant, space string, want ...string) {
		t.Helper()
		got, err := x.vectors.Missing(t.Context(), tenant, space, []string{"30", "10", "text", "20"})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("of %s in %s: %v (%v), want %v", tenant, space, got, err, want)
		}
	}
	missing("T", "s1", "30", "10", "text", "20")
	x.putAt("T", "s1", 10, 20)
	x.putAt("T", "s2", 30)
	x.putAt("U", "s1", 30)
	x.put("T", stores.Passage{ID: "text", Text: "has no vector"})
	missing("T", "s1", "30", "text")
	missing("T", "s2", "10", "text", "20")
	missing("U", "s1", "10", "text", "20")
	if err := x.Remove(t.Context(), "T", []string{"20"}); err != nil {
		t.Fatal(err)
	}
	missing("T", "s1", "30", "text", "20")
	var many []string
	for i := range 1500 {
		many = append(many, fmt.Sprint("p", i))
	}
	if got, err := x.vectors.Missing(t.Context(), "T", "s1", many); err != nil || !slices.Equal(got, many) {
		t.Errorf("of many: %d (%v)", len(got), err)
	}
	if got, err := x.vectors.Missing(t.Context(), "T", "s1", nil); err != nil || len(got) != 0 {
		t.Errorf("of none: %v (%v)", got, err)
	}
	if _, err := x.vectors.Missing(t.Context(), "", "s1", nil); !errors.Is(err, stores.ErrScope) {
		t.Errorf("without tenant: %v", err)
	}
}

func vectorsRestart(t *testing.T, open func(string) vectorTest) {
	x := open("index")
	x.putAt("T", "s1", 10, 20, 30)
	if err := x.Remove(t.Context(), "T", []string{"20"}); err != nil {
		t.Fatal(err)
	}
	x.close()
	y := open("index")
	defer y.close()
	y.want("T", "s1", 0, "10", "30")
	y.putAt("T", "s1", 20)
	y.want("T", "s1", 0, "10", "20", "30")
}

// Questions run while vectors are put and removed, and what a call has returned
// for is found, or gone, at once.
func vectorsReadersBesideAWriter(t *testing.T, open func(string) vectorTest) {
	x := open("index")
	defer x.close()
	const stay, rounds = 30, 8
	var degrees []float64
	for i := range stay {
		degrees = append(degrees, float64(90+i))
	}
	x.putAt("T", "s1", degrees...)
	done := make(chan struct{})
	var readers sync.WaitGroup
	defer readers.Wait()
	defer close(done)
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				hits, err := x.vectors.Nearest(context.Background(), "T", "s1", at(100), 100)
				if err != nil || len(hits) < stay || len(hits) > stay+2 {
					t.Errorf("%d hits: %v", len(hits), err)
					return
				}
			}
		})
	}
	for i := range rounds {
		x.putAt("T", "s1", float64(i), float64(i)+0.5)
		if got := hitIDs(x.nearest("T", "s1", 0, 2)); !slices.Equal(got, []string{fmt.Sprint(i), fmt.Sprint(float64(i) + 0.5)}) {
			t.Errorf("round %d: %v right after they were put", i, got)
		}
		if err := x.Remove(t.Context(), "T", []string{fmt.Sprint(i), fmt.Sprint(float64(i) + 0.5)}); err != nil {
			t.Fatal(err)
		}
		if got := hitIDs(x.nearest("T", "s1", 0, 1)); !slices.Equal(got, []string{"90"}) {
			t.Errorf("round %d: %v right after they were removed", i, got)
		}
	}
}

func vectorsEndedAndClosed(t *testing.T, open func(string) vectorTest) {
	x := open("index")
	x.putAt("T", "s1", 10)
	ended, end := context.WithCancel(t.Context())
	end()
	calls := func(ctx context.Context) map[string]error {
		_, asked := x.vectors.Nearest(ctx, "T", "s1", at(0), 1)
		return map[string]error{"nearest": asked, "keep": x.vectors.KeepSpace(ctx, "s2"),
			"put": x.vectors.PutVectors(ctx, "T", spaceOf("s1"), []stores.Vector{{Passage: "20", Values: at(20)}})}
	}
	for name, err := range calls(ended) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	x.want("T", "s1", 0, "10")
	x.close()
	for name, err := range calls(t.Context()) {
		if !errors.Is(err, stores.ErrClosed) {
			t.Errorf("%s: %v, want %v", name, err, stores.ErrClosed)
		}
	}
}
