package textindex

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// likeModels are n vectors of length 1 as models give them, in several ways.
var likeModels = map[string]func(r *rand.Rand, v []float32){
	"anywhere": func(r *rand.Rand, v []float32) {},
	"one way":  func(r *rand.Rand, v []float32) { shift(v, func(int) float32 { return 3 }) },
	"a spike":  func(r *rand.Rand, v []float32) { v[len(v)/2] += float32(len(v)) },
	"clusters": func(r *rand.Rand, v []float32) {
		c := rand.New(rand.NewPCG(r.Uint64N(20), 5))
		shift(v, func(int) float32 { return 2 * float32(c.NormFloat64()) })
	},
	"nearly two": func(r *rand.Rand, v []float32) {
		sign := float32(1e6 * (1 - 2*int(r.Uint64N(2))))
		shift(v, func(i int) float32 { return sign * float32(i%3-1) })
	},
	"all the same": func(r *rand.Rand, v []float32) {
		for i := range v {
			v[i] = float32(i + 1)
		}
	},
	"few numbers": func(r *rand.Rand, v []float32) {
		for i := range v {
			if i%len(v) > 2 {
				v[i] = 0
			}
		}
	},
}

func shift(v []float32, by func(i int) float32) {
	for i := range v {
		v[i] += by(i)
	}
}

func vectorsLike(model string, n, dims int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 9))
	all := make([]float32, n*dims)
	for i := range n {
		v := all[i*dims : (i+1)*dims]
		for j := range v {
			v[j] = float32(r.NormFloat64())
		}
		likeModels[model](r, v)
		size := length(dot(v, v))
		for j := range v {
			v[j] /= size
		}
	}
	return all
}

// matrixOf reads values in steps, the first of one vector, and removes some.
func matrixOf(values []float32, dims int) *matrix {
	m := &matrix{dims: dims}
	for n := 1; len(m.nums) < len(values)/dims; n += 1 + n/2 {
		for len(m.nums) < min(n, len(values)/dims) {
			m.nums = append(m.nums, int64(len(m.nums)+1))
		}
		m.values = values[:len(m.nums)*dims]
		m.codes = m.codes.with(m.values, dims)
	}
	for num := int64(3); num < int64(len(m.nums)); num += 7 {
		m.remove(num)
	}
	return m
}

// exactly compares all by their numbers.
func exactly(m *matrix, vector []float32, limit int) (out []found) {
	for i, num := range m.nums {
		if num > 0 {
			out = append(out, found{num: num, score: dot(vector, m.vector(i))})
		}
	}
	slices.SortFunc(out, better)
	return out[:min(limit, len(out))]
}

// However vectors lie and whenever they came, none of the nearest is missed,
// and no bound is below what it bounds.
func TestNearestIsExact(t *testing.T) {
	for model := range likeModels {
		for _, dims := range []int{1, 3, 8, 383, 1536} {
			t.Run(fmt.Sprint(model, "/", dims), func(t *testing.T) {
				n := 100 + 200_000/(300+dims)
				all := vectorsLike(model, n+8, dims, 1)
				m := matrixOf(all[:n*dims], dims)
				if m.codes.taken == n {
					t.Fatalf("the mean is of %d of %d: nothing came after it", m.codes.taken, n)
				}
				questions := [][]float32{m.vector(5), vectorsLike("anywhere", 1, dims, 2)}
				for q := range slices.Chunk(all[n*dims:], dims) {
					questions = append(questions, q)
				}
				for _, q := range questions {
					for i, b := range m.bounds(q) {
						if cosine := dot(q, m.vector(i)); m.nums[i] > 0 && !(b >= cosine) {
							t.Fatalf("vector %d: cosine %v, bound %v", i, cosine, b)
						}
					}
					for _, limit := range []int{1, 10, 50, n + 5} {
						if got, want := m.nearest(q, limit), exactly(m, q, limit); !slices.Equal(got, want) {
							t.Fatalf("limit %d: %v, want %v", limit, got[:min(3, len(got))], want[:min(3, len(want))])
						}
					}
				}
			})
		}
	}
}

// Codes are there to leave most vectors alone, also where all point nearly the
// same way or one number is above all others.
func TestFewAreCompared(t *testing.T) {
	const n, dims, limit = 4000, 384, 10
	for _, model := range []string{"anywhere", "one way", "a spike", "clusters"} {
		all := vectorsLike(model, n+20, dims, 3)
		m := matrixOf(all[:n*dims], dims)
		near := 0
		for q := range slices.Chunk(all[n*dims:], dims) {
			last := m.nearest(q, limit)[limit-1].score
			for _, b := range m.bounds(q) {
				if b >= last {
					near++
				}
			}
		}
		if near/20 > n/20 {
			t.Errorf("%s: %d of %d could be among the nearest %d", model, near/20, n, limit)
		}
	}
}

// A vector in the file that is none hides no other.
func TestNearestBesideABrokenVector(t *testing.T) {
	const n, dims = 300, 16
	for _, broken := range []float32{float32(math.NaN()), float32(math.Inf(1)), 3e38} {
		all := vectorsLike("anywhere", n, dims, 4)
		all[20*dims+3] = broken
		m := matrixOf(all, dims)
		m.remove(21) // as far as what is to be found goes
		if got, want := m.nearest(m.vector(30), 20), exactly(m, m.vector(30), 20); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", broken, got, want)
		}
	}
}
