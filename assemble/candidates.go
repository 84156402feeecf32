package assemble

import (
	"cmp"
	"math"
	"slices"

	"strata/stores"
)

const (
	// damping is how much the places of a list differ: the first is worth twice
	// the place damping+1. Lists of one question differ more than the 60 that is
	// usual, so that the first places of either leg stay in front.
	damping = 5
	// questionDamping is for the lists of several questions, of which nobody
	// knows which one is meant.
	questionDamping = 60
	// standsOut is how far a cosine has to be above those of the further
	// passages, in deviations of unrelated texts, to count as much as a place
	// among the words' hits. An embedder that hardly tells a tenant's passages
	// apart then changes little.
	standsOut = 5
	// nearestRead is how many of the passages nearest by vectors are read in any
	// case: by them it shows whether anything is on the subject.
	nearestRead = 3
)

// wordHit is what a search by words says of a passage, over all questions.
type wordHit struct {
	id    string
	fused float64
	cover float64
	fit   float64
	named bool
}

func (h *wordHit) take(hit stores.Hit, rank int) {
	h.fused += 1 / float64(questionDamping+rank)
	h.cover = max(h.cover, hit.Cover)
	h.named = h.named || hit.Named
	h.fit = max(h.fit, fitOfHit(hit))
}

// fitOfHit is how much a passage has of a question beside what is found of such
// a question by chance: a long one finds much in any passage, and a short one of
// common words little in the right one. Of an index that does not tell, share
// and amount stand for it.
func fitOfHit(h stores.Hit) float64 {
	score := max(h.Score, 0)
	if h.Spread > 0 {
		return score / h.Spread
	}
	return h.Cover * math.Sqrt(score)
}

// candidate is a passage that was found, before and after it is read.
type candidate struct {
	id      string
	cover   float64
	fit     float64
	named   bool    // it holds a rare name of the question
	cosine  float64 // 0 = vectors did not find it
	words   float64 // of its place among the words' hits
	near    float64 // of its place among the vectors' hits
	asked   bool    // the ledger was
	passage *stores.Passage
	print   *fingerprint // nil: not made yet
}

func (r *knowledgeReader) candidate(id string) *candidate {
	i, there := place(r.at, id, len(r.all))
	if !there {
		r.all = append(r.all, candidate{id: id})
	}
	return &r.all[i]
}

// takeWords takes what a search by words has found. A deeper one finds the same
// again, and more.
func (r *knowledgeReader) takeWords(hits []wordHit, full bool) {
	r.full = full
	if r.all == nil {
		r.all = make([]candidate, 0, len(hits))
	}
	for rank, h := range hits {
		c := r.candidate(h.id)
		c.cover, c.fit, c.named, c.words = h.cover, h.fit, h.named, 1/float64(damping+rank)
	}
}

// order are the candidates, best first.
func (r *knowledgeReader) order() []int {
	order := make([]int, len(r.all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(r.all[b].words+r.all[b].near, r.all[a].words+r.all[a].near)
	})
	return order
}
