package main

import (
	"math"
	"math/rand/v2"

	"strata/intent"
)

const (
	epochs     = 24
	rate       = .08
	decayGrams = 1e-3 // of weights, a step
	decayDense = 2e-4
	bareShare  = .3 // of the rows are learned from their words alone
)

// leanWeights are of rows that rest on what was said (free, pointing, elliptic)
// while the words alone are learned: these are not what their label comes from.
var leanWeights = [...]float32{1, .25, .03}

// fit learns from rows, each message by itself.
func fit(rows []*row, seed uint64) *intent.Weights {
	places, features, _ := intent.Sizes()
	w := &intent.Weights{Grams: make([][3]float32, places), Dense: make([][3]float32, features), Spread: 1}
	squares := &intent.Weights{Grams: make([][3]float32, places), Dense: make([][3]float32, features)}
	sum := &intent.Weights{Grams: make([][3]float32, places), Dense: make([][3]float32, features)}
	count := map[string]int{}
	for _, r := range rows {
		count[r.group]++
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	order := rng.Perm(len(rows))
	averaged := 0
	for e := range epochs {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			r := rows[i]
			weight := float32(math.Min(1, 300/float64(count[r.group])))
			weight = max(weight, .6)
			if len(r.turns) > 1 {
				weight *= leanWeights[r.turns[len(r.turns)-1].Lean/4]
			}
			step(w, squares, &r.turns[len(r.turns)-1], r.label, weight, rng.Float64() < bareShare)
		}
		if e >= epochs/2 {
			averaged++
			add(sum, w)
		}
	}
	scale(sum, 1/float32(averaged))
	sum.Spread = 1
	return sum
}

// step moves the weights by one message (AdaGrad). A bare one shows its words
// only, so that these are learned beside the rules.
func step(w, squares *intent.Weights, s *intent.Sample, label int, weight float32, bare bool) {
	gramValue := float32(1 / math.Sqrt(float64(max(1, len(s.Grams)))))
	p := intent.Softmax(weigh(w, s, bare))
	var g [3]float32
	for k := range g {
		g[k] = float32(p[k]) * weight
	}
	g[label] -= weight
	move := func(v, sq *[3]float32, x, decay float32) {
		for k := range g {
			d := g[k]*x + decay*v[k]
			sq[k] += d * d
			v[k] -= rate * d / (float32(math.Sqrt(float64(sq[k]))) + 1e-4)
		}
	}
	move(&w.Bias, &squares.Bias, 1, 0)
	for _, at := range s.Grams {
		move(&w.Grams[at], &squares.Grams[at], gramValue, decayGrams)
	}
	if bare {
		return
	}
	for _, f := range s.Dense {
		move(&w.Dense[f.At], &squares.Dense[f.At], f.Value, decayDense)
	}
}

// weigh sums the weights of a message.
func weigh(w *intent.Weights, s *intent.Sample, bare bool) (sum [3]float32) {
	for _, at := range s.Grams {
		for k := range sum {
			sum[k] += w.Grams[at][k]
		}
	}
	scale := float32(1 / math.Sqrt(float64(max(1, len(s.Grams)))))
	for k := range sum {
		sum[k] = w.Bias[k] + sum[k]*scale
	}
	if bare {
		return sum
	}
	for _, f := range s.Dense {
		for k := range sum {
			sum[k] += w.Dense[f.At][k] * f.Value
		}
	}
	return sum
}

func add(sum, w *intent.Weights) {
	for i := range w.Grams {
		for k := range 3 {
			sum.Grams[i][k] += w.Grams[i][k]
		}
	}
	for i := range w.Dense {
		for k := range 3 {
			sum.Dense[i][k] += w.Dense[i][k]
		}
	}
	for k := range 3 {
		sum.Bias[k] += w.Bias[k]
	}
}

func scale(w *intent.Weights, by float32) {
	for i := range w.Grams {
		for k := range 3 {
			w.Grams[i][k] *= by
		}
	}
	for i := range w.Dense {
		for k := range 3 {
			w.Dense[i][k] *= by
		}
	}
	for k := range 3 {
		w.Bias[k] *= by
	}
}
