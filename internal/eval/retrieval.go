package eval

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// Depth is how many passages a search is asked for.
const Depth = 10

// Search returns the ids of the limit best passages for a question, best first.
type Search func(ctx context.Context, query string, limit int) ([]string, error)

// Figures are means over the questions that have an answer, 0-1, and the time
// of one search in milliseconds.
type Figures struct {
	Queries  int     `json:"queries"`   // that have an answer in the corpus
	Recall5  float64 `json:"recall@5"`  // share of the relevant passages in the first 5
	Recall10 float64 `json:"recall@10"` // in the first 10
	Hit5     float64 `json:"hit@5"`     // a relevant one is in the first 5
	MRR10    float64 `json:"mrr@10"`    // 1 / rank of the first relevant one in the first 10
	NDCG10   float64 `json:"ndcg@10"`   // gain = grade, discount = log2(rank+1)
	P50      float64 `json:"p50_ms"`
	P95      float64 `json:"p95_ms"`
	P99      float64 `json:"p99_ms"`
}

// Retrieval asks every answerable question of set and scores what comes back.
// An id that is returned twice counts once, at its first rank. It stops at the
// first error of search.
func Retrieval(ctx context.Context, set Set, search Search) (Figures, error) {
	var sum Figures
	var took []time.Duration
	for _, q := range set.Queries {
		relevant := set.Relevant[q.ID]
		if len(relevant) == 0 {
			continue
		}
		start := time.Now()
		ids, err := search(ctx, q.Text, Depth)
		if err != nil {
			return Figures{}, fmt.Errorf("eval: %s, query %s: %w", set.Name, q.ID, err)
		}
		took = append(took, time.Since(start))
		sum.add(ids, relevant)
	}
	sum.average(took)
	return sum, nil
}

// add scores one answer.
func (f *Figures) add(ids []string, relevant map[string]int) {
	f.Queries++
	found, gain := 0, 0.0
	seen := make(map[string]bool, len(ids))
	rank := 0
	for _, id := range ids {
		if seen[id] || rank == Depth {
			continue
		}
		seen[id] = true
		rank++
		grade := relevant[id]
		if grade == 0 {
			continue
		}
		found++
		if found == 1 {
			f.MRR10 += 1 / float64(rank)
			if rank <= 5 {
				f.Hit5++
			}
		}
		if rank <= 5 {
			f.Recall5 += 1 / float64(len(relevant))
		}
		gain += float64(grade) / math.Log2(float64(rank+1))
	}
	f.Recall10 += float64(found) / float64(len(relevant))
	f.NDCG10 += gain / idealGain(relevant)
}

// idealGain is the gain of the best possible first ten.
func idealGain(relevant map[string]int) float64 {
	grades := make([]int, 0, len(relevant))
	for _, g := range relevant {
		grades = append(grades, g)
	}
	slices.Sort(grades)
	slices.Reverse(grades)
	gain := 0.0
	for i, g := range grades[:min(len(grades), Depth)] {
		gain += float64(g) / math.Log2(float64(i+2))
	}
	return gain
}

func (f *Figures) average(took []time.Duration) {
	if f.Queries == 0 {
		return
	}
	n := float64(f.Queries)
	for _, v := range []*float64{&f.Recall5, &f.Recall10, &f.Hit5, &f.MRR10, &f.NDCG10} {
		*v /= n
	}
	slices.Sort(took)
	f.P50, f.P95, f.P99 = Millis(took, 0.50), Millis(took, 0.95), Millis(took, 0.99)
}

// Millis is the q-quantile (0-1) of sorted durations, in milliseconds; 0 for none.
func Millis(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return float64(sorted[min(max(i, 0), len(sorted)-1)]) / float64(time.Millisecond)
}
