package textindex_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"strata/stores"
	"strata/stores/textindex"
)

// randomVectors are n vectors of length 1, the same for the same seed.
func randomVectors(n, dims int, seed uint64) []stores.Vector {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]stores.Vector, n)
	for i := range out {
		v, sum := make([]float32, dims), 0.0
		for j := range v {
			v[j] = float32(r.NormFloat64())
			sum += float64(v[j]) * float64(v[j])
		}
		for j := range v {
			v[j] /= float32(math.Sqrt(sum))
		}
		out[i] = stores.Vector{Passage: fmt.Sprint("p", i), Values: v}
	}
	return out
}

func space(dims int) stores.Space { return stores.Space{ID: "s1", Dims: dims} }

func putVectors(t testing.TB, x *textindex.Index, tenant string, vectors []stores.Vector) {
	t.Helper()
	if err := x.PutVectors(t.Context(), tenant, space(len(vectors[0].Values)), vectors); err != nil {
		t.Fatal(err)
	}
}

func nearest(t testing.TB, x *textindex.Index, tenant string, vector []float32, limit int) []string {
	t.Helper()
	hits, err := x.Nearest(t.Context(), tenant, "s1", vector, limit)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// byHand is what Nearest must find: every cosine, sorted.
func byHand(vectors map[string][]float32, vector []float32, limit int) []string {
	type scored struct {
		id    string
		score float64
	}
	var all []scored
	for id, v := range vectors {
		sum := 0.0
		for i := range v {
			sum += float64(v[i]) * float64(vector[i])
		}
		all = append(all, scored{id, sum})
	}
	slices.SortFunc(all, func(a, b scored) int {
		if a.score > b.score {
			return -1
		}
		return 1
	})
	var ids []string
	for _, s := range all[:min(limit, len(all))] {
		ids = append(ids, s.id)
	}
	return ids
}

// Whatever is put, replaced and removed, by this process and by another one
// that has the file open, the nearest are those of all that are there.
func TestNearestAfterAnyHistory(t *testing.T) {
	const dims, rounds = 37, 120
	path := filepath.Join(t.TempDir(), "index.db")
	both := []*textindex.Index{open(t, path), open(t, path)}
	r := rand.New(rand.NewPCG(7, 7))
	pool := randomVectors(400, dims, 3)
	there := map[string][]float32{}
	for round := range rounds {
		x := both[r.IntN(2)]
		var ids []string
		switch {
		case round == rounds/2: // so many removals that they are not kept
			for range 30 {
				putVectors(t, x, "T", pool[:100])
			}
			for _, v := range pool[:100] {
				there[v.Passage] = v.Values
			}
		case r.IntN(3) == 0:
			for range r.IntN(150) {
				ids = append(ids, fmt.Sprint("p", r.IntN(len(pool))))
			}
			if err := x.Remove(t.Context(), "T", ids); err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				delete(there, id)
			}
		default:
			var some []stores.Vector
			for range 1 + r.IntN(60) {
				v := pool[r.IntN(len(pool))]
				v.Passage = fmt.Sprint("p", r.IntN(len(pool)))
				some = append(some, v)
				there[v.Passage] = v.Values
			}
			putVectors(t, x, "T", some)
		}
		question := randomVectors(1, dims, uint64(100+round))[0].Values
		for i, x := range both {
			// Some passages share a vector, so ids may change places; scores not.
			hits, err := x.Nearest(t.Context(), "T", "s1", question, 20)
			if err != nil {
				t.Fatal(err)
			}
			want := byHand(there, question, 20)
			if len(hits) != len(want) {
				t.Fatalf("round %d, process %d: %d hits, want %d", round, i, len(hits), len(want))
			}
			for n, h := range hits {
				v, ok := there[h.ID]
				if !ok || math.Abs(cosine(v, question)-h.Score) > 1e-5 || math.Abs(cosine(there[want[n]], question)-h.Score) > 1e-5 {
					t.Fatalf("round %d, process %d: hit %d is %+v, want %s", round, i, n, h, want[n])
				}
			}
		}
	}
}

func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// A tenant that was dropped and comes back has nothing of before, though nobody
// has asked in between.
func TestNearestAfterADrop(t *testing.T) {
	x := inTemp(t)
	v := randomVectors(30, 8, 6)
	putVectors(t, x, "T", v[:10])
	nearest(t, x, "T", v[0].Values, 1)
	if err := x.DropTenant(t.Context(), "T"); err != nil {
		t.Fatal(err)
	}
	putVectors(t, x, "T", v[10:])
	if got := nearest(t, x, "T", v[0].Values, 100); len(got) != 20 {
		t.Errorf("%d are found, want 20", len(got))
	}
	if got := nearest(t, x, "T", v[15].Values, 1); !slices.Equal(got, []string{"p15"}) {
		t.Errorf("found %v", got)
	}
}

// Many are compared by several processors; the answer is the same.
func TestNearestOfMany(t *testing.T) {
	const dims = 9
	x := inTemp(t)
	all := randomVectors(40_000, dims, 5)
	putVectors(t, x, "T", all)
	there := map[string][]float32{}
	for _, v := range all {
		there[v.Passage] = v.Values
	}
	for seed := range uint64(5) {
		q := randomVectors(1, dims, 900+seed)[0].Values
		if got, want := nearest(t, x, "T", q, 50), byHand(there, q, 50); !slices.Equal(got[:5], want[:5]) || len(got) != 50 {
			t.Errorf("%v, want %v", got[:5], want[:5])
		}
	}
}

// Vectors stay when text is cut in another way, and a file of a program that
// knew none takes them.
func TestVectorsOverVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.db")
	x := open(t, path)
	v := randomVectors(3, 4, 1)
	put(t, x, "T", stores.Passage{ID: "p1", Text: "text"})
	putVectors(t, x, "T", v)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, path, `UPDATE format SET analyzer = 'terms 0'`)
	y := open(t, path)
	count(t, y, "T", 0)
	if got := nearest(t, y, "T", v[2].Values, 1); !slices.Equal(got, []string{"p2"}) {
		t.Errorf("found %v", got)
	}
	if err := y.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, path, `DROP TABLE vector; DROP TABLE vector_set`)
	z := open(t, path)
	if got := nearest(t, z, "T", v[2].Values, 1); len(got) != 0 {
		t.Errorf("found %v", got)
	}
	putVectors(t, z, "T", v)
	if got := nearest(t, z, "T", v[1].Values, 1); !slices.Equal(got, []string{"p1"}) {
		t.Errorf("found %v", got)
	}
}

func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(statement)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// A vector says much of its text. What is removed is not in the file any more.
func TestRemovedVectorsAreOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.db")
	x := open(t, path)
	all := randomVectors(20, 64, 8)
	putVectors(t, x, "T", all)
	if err := x.Remove(t.Context(), "T", []string{"p3"}); err != nil {
		t.Fatal(err)
	}
	if err := x.PutVectors(t.Context(), "T", stores.Space{ID: "s2", Dims: 64}, all[5:6]); err != nil {
		t.Fatal(err)
	}
	other := all[5].Values
	if err := x.KeepSpace(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	if err := x.Remove(t.Context(), "T", []string{"p5"}); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	holds := func(values []float32) bool {
		var b []byte
		for _, v := range values[:8] {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		return bytes.Contains(file, b)
	}
	if !holds(all[4].Values) {
		t.Fatal("the test does not see vectors in the file")
	}
	if holds(all[3].Values) || holds(other) {
		t.Error("a removed vector is still in the file")
	}
}

// A tenant's vectors must fit into memory; when others' do not fit beside them,
// those that were used longest ago go.
func TestVectorMemory(t *testing.T) {
	const each = 4*16 + 16 + 20 + 8 // numbers, code, what is known of it, what it is called
	path := filepath.Join(t.TempDir(), "index.db")
	x, err := textindex.New(t.Context(), textindex.Config{Path: path, VectorBytes: 100*each + 4*16})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	v := randomVectors(101, 16, 2)
	putVectors(t, x, "A", v[:60])
	putVectors(t, x, "B", v[:60])
	putVectors(t, x, "C", v)
	for range 3 {
		for _, tenant := range []string{"A", "B"} {
			if got := nearest(t, x, tenant, v[7].Values, 1); !slices.Equal(got, []string{"p7"}) {
				t.Errorf("%s: %v", tenant, got)
			}
			if got := x.VectorsInMemory(); got != 60*each+4*16 {
				t.Errorf("%d bytes in memory, want %d", got, 60*each+4*16)
			}
		}
	}
	if _, err := x.Nearest(t.Context(), "C", "s1", v[7].Values, 1); !errors.Is(err, textindex.ErrVectorMemory) {
		t.Errorf("one that is too large: %v", err)
	}
	if _, err := x.Nearest(t.Context(), "none", "s1", v[7].Values, 1); err != nil {
		t.Error(err)
	}
}

// What nobody asks for leaves memory, and comes back when somebody does.
func TestIdleVectorsLeaveMemory(t *testing.T) {
	var now atomic.Int64
	x, err := textindex.New(t.Context(), textindex.Config{Path: filepath.Join(t.TempDir(), "index.db"), VectorIdle: 20 * time.Millisecond,
		Clock: func() time.Time { return time.Unix(now.Load(), 0) }})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	v := randomVectors(10, 16, 2)
	putVectors(t, x, "T", v)
	nearest(t, x, "T", v[1].Values, 1)
	if x.VectorsInMemory() == 0 {
		t.Fatal("nothing is kept")
	}
	now.Store(60)
	for end := time.Now().Add(5 * time.Second); x.VectorsInMemory() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("still in memory")
		}
	}
	if got := nearest(t, x, "T", v[1].Values, 1); !slices.Equal(got, []string{"p1"}) {
		t.Errorf("found %v", got)
	}
}

// Whoever asks first and does not wait leaves the reading to the next one.
func TestReadingOutlivesTheQuestion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.db")
	x := open(t, path)
	v := randomVectors(20_000, 32, 2)
	putVectors(t, x, "T", v)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := x.Nearest(ctx, "T", "s1", v[1].Values, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Skipf("read within a millisecond: %v", err)
	}
	for end := time.Now().Add(10 * time.Second); x.VectorsInMemory() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never read")
		}
	}
}

func BenchmarkNearest(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := withVectors(b, n)
			began := time.Now()
			nearest(b, x, "T", randomVectors(1, benchDims, 76)[0].Values, 50)
			first := time.Since(began)
			benchNearest(b, x)
			b.ReportMetric(float64(first.Microseconds())/1000, "first-ms")
			b.ReportMetric(float64(x.VectorsInMemory())/(1<<20), "MiB")
		})
	}
	b.Run("10000/beside a writer", func(b *testing.B) {
		x := withVectors(b, 10_000)
		ctx, cancel := context.WithCancel(b.Context())
		var writer sync.WaitGroup
		defer writer.Wait()
		defer cancel()
		writer.Go(func() {
			for seed := uint64(0); ctx.Err() == nil; seed++ {
				_ = x.PutVectors(ctx, "T", space(benchDims), randomVectors(64, benchDims, seed))
			}
		})
		benchNearest(b, x)
	})
}

const benchDims = 384

func withVectors(b *testing.B, n int) *textindex.Index {
	x := inTemp(b)
	for i, part := range slices.Collect(slices.Chunk(randomVectors(n, benchDims, 4), 10_000)) {
		for j := range part {
			part[j].Passage = fmt.Sprint("p", i, "-", j)
		}
		putVectors(b, x, "T", part)
	}
	return x
}

func benchNearest(b *testing.B, x *textindex.Index) {
	questions := randomVectors(50, benchDims, 77)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		nearest(b, x, "T", questions[len(took)%len(questions)].Values, 50)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
