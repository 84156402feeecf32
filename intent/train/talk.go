package main

import "strata/intent"

// fold weighs a row's turns one after the other, each with what the one
// before it says.
func fold(w *intent.Weights, turns []intent.Sample) (sum [3]float32) {
	x := settled{leans: make([]int, len(turns))}
	for i := range turns {
		x.turns = append(x.turns, weigh(w, &turns[i], false))
		x.leans[i] = turns[i].Lean
	}
	sum, _ = x.sum(&talk{lean: w.Lean[:], own: w.Own[:], spread: w.Spread})
	return sum
}

// settled is a row whose turns were weighed by weights that it had no part in.
type settled struct {
	label int
	turns [][3]float32
	leans []int
}

// talk is how turns count for each other.
type talk struct {
	lean, own []float32 // by Sample.Lean: of the turns before, and of the message itself
	spread    float32
}

// sum weighs the last turn, and tells what those before it say.
func (x *settled) sum(t *talk) (sum, before [3]float32) {
	var sumBefore [3]float32
	for i, own := range x.turns {
		for k := range sum {
			sum[k] = own[k] / t.spread
		}
		if i > 0 {
			before = intent.Logs(sumBefore)
			sum = intent.LeanOn(before, sum, t.lean[x.leans[i]], t.own[x.leans[i]])
		}
		sumBefore = sum
	}
	return sum, before
}

// tune finds how far the turns before count and how sums become
// probabilities, on rows that were left out of training.
func tune(list []settled) *talk {
	_, _, kinds := intent.Sizes()
	t := &talk{lean: make([]float32, kinds), own: make([]float32, kinds), spread: 1}
	for i := range kinds {
		t.lean[i], t.own[i] = .5, 1
	}
	for range 200 {
		t.improve(list)
	}
	return t
}

// An elliptic message is what the turns before were. Rows that say otherwise
// are no more sure than those that do not, so the words get little say.
const (
	elliptic    = 2 // of Sample.Lean, in fours
	ellipticOwn = .1
)

// prior is how many rows hold what is hardly ever seen near the start.
const prior = 5

func (t *talk) improve(list []settled) {
	lean, own, count := make([]float64, len(t.lean)), make([]float64, len(t.lean)), make([]float64, len(t.lean))
	var spread float64
	for i := range list {
		x := &list[i]
		sum, before := x.sum(t)
		last := x.turns[len(x.turns)-1]
		kind := x.leans[len(x.leans)-1]
		for k, p := range intent.Softmax(sum) {
			if k == x.label {
				p--
			}
			if len(x.turns) > 1 {
				lean[kind] += p * float64(before[k])
				own[kind] += p * float64(last[k]/t.spread)
			} else {
				spread -= p * float64(last[k]/(t.spread*t.spread))
			}
		}
		if len(x.turns) > 1 {
			count[kind]++
		}
	}
	for k := range t.lean {
		t.lean[k] -= float32(.3 * (lean[k] + prior*float64(t.lean[k]-.5)) / (count[k] + prior))
		t.own[k] -= float32(.1 * (own[k] + prior*float64(t.own[k]-1)) / (count[k] + prior))
		t.own[k] = max(t.own[k], 0)
		if k/4 == elliptic {
			t.own[k] = min(t.own[k], ellipticOwn)
		}
	}
	t.spread -= float32(1.5 * spread / float64(len(list)))
	t.spread = max(.3, min(t.spread, 8))
}

// set writes what was found into the weights.
func (t *talk) set(w *intent.Weights) *intent.Weights {
	copy(w.Lean[:], t.lean)
	copy(w.Own[:], t.own)
	w.Spread = t.spread
	return w
}
