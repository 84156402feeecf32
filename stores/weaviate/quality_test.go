package weaviate_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"strata/internal/eval"
)

// The judged sets must be answered as well as the embedded index answers them,
// whose terms and weights these are, and no worse than by plain BM25.
func TestJudgedSets(t *testing.T) {
	dir := os.Getenv("STRATA_EVAL")
	if dir == "" {
		t.Skip("STRATA_EVAL is not set")
	}
	all, err := eval.LoadAll(filepath.Join(dir, "retrieval"))
	if err != nil {
		t.Fatal(err)
	}
	least := map[string]struct{ recall, mrr float64 }{
		"stard_civil": {0.59, 0.57}, "obliqa_dev": {0.735, 0.705}, "cmrc2018_dev": {0.99, 0.985}, "dureader_demo": {0.985, 0.672},
	}
	x := open(t, config(shared.For(t), t.Name()))
	for _, set := range all {
		if err := x.Put(t.Context(), set.Name, set.Passages); err != nil {
			t.Fatal(err)
		}
	}
	for _, set := range all {
		t.Run(set.Name, func(t *testing.T) {
			f, err := eval.Retrieval(t.Context(), set, func(ctx context.Context, query string, limit int) (ids []string, err error) {
				hits, err := x.Search(ctx, set.Name, query, limit)
				for _, h := range hits {
					ids = append(ids, h.ID)
				}
				return ids, err
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d passages: recall@5 %.3f recall@10 %.3f hit@5 %.3f mrr@10 %.3f ndcg@10 %.3f; %.2f ms p50, %.2f ms p99",
				len(set.Passages), f.Recall5, f.Recall10, f.Hit5, f.MRR10, f.NDCG10, f.P50, f.P99)
			if want := least[set.Name]; f.Recall5 < want.recall || f.MRR10 < want.mrr {
				t.Errorf("recall@5 %.3f, mrr@10 %.3f; want %.3f, %.3f", f.Recall5, f.MRR10, want.recall, want.mrr)
			}
		})
	}
}
