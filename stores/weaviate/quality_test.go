package weaviate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"strata/internal/eval"
	"strata/internal/weaviateserver"
	"strata/stores"
)

// The judged sets must be answered about as well as the embedded index answers
// them, whose terms and weights these are.
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
		"stard_civil": {0.58, 0.56}, "obliqa_dev": {0.72, 0.69}, "cmrc2018_dev": {0.99, 0.975}, "dureader_demo": {0.965, 0.65},
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

// TestSpeed searches 10,000 passages of Chinese and of English.
func TestSpeed(t *testing.T) {
	dir := os.Getenv("STRATA_EVAL")
	if dir == "" || testing.Short() {
		t.Skip("STRATA_EVAL is not set, or -short is")
	}
	all, err := eval.LoadAll(filepath.Join(dir, "retrieval"))
	if err != nil {
		t.Fatal(err)
	}
	s := weaviateserver.ForTest(t)
	x := open(t, config(s, t.Name()))
	for _, tt := range []struct {
		lang string
		size int // runes of a passage
	}{{"zh", 240}, {"en", 900}} {
		var source []rune
		var queries []eval.Query
		for _, set := range all {
			if (set.Name == "obliqa_dev") == (tt.lang == "en") {
				queries = append(queries, set.Queries...)
				for _, p := range set.Passages {
					source = append(source, []rune(p.Text)...)
				}
			}
		}
		passages := make([]stores.Passage, 10000)
		for i := range passages {
			at := i * tt.size * 7 / 5 % (len(source) - tt.size)
			passages[i] = stores.Passage{ID: fmt.Sprint("p", i), Title: "Source", Text: string(source[at : at+tt.size])}
		}
		begun := time.Now()
		if err := x.Put(t.Context(), tt.lang, passages); err != nil {
			t.Fatal(err)
		}
		filled := time.Since(begun)
		measure := func(n int) []time.Duration {
			var took []time.Duration
			for i := range n {
				start := time.Now()
				if _, err := x.Search(t.Context(), tt.lang, queries[i*7%len(queries)].Text, 20); err != nil {
					t.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			return took
		}
		// As it is once the server has written down what was put, which it does
		// when nothing comes for a minute.
		fresh := measure(100)
		time.Sleep(70 * time.Second)
		measure(20)
		took := measure(600)
		p50, p99 := eval.Millis(took, 0.5), eval.Millis(took, 0.99)
		t.Logf("%s: filled in %v; right after that %.1f ms p50; then %.1f ms p50, %.1f ms p99", tt.lang, filled.Round(time.Millisecond), eval.Millis(fresh, 0.5), p50, p99)
		if p50 > 100 { // five times the aim: the machine may be busy
			t.Errorf("search takes %.1f ms p50", p50)
		}
	}
}
