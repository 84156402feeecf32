package textindex_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/internal/eval"
	"strata/stores"
	"strata/stores/textindex"
)

// judged are the figures that each judged set must reach.
var judged = []struct {
	set         string
	recall, mrr float64
}{
	{"stard_civil", 0.59, 0.57},
	{"obliqa_dev", 0.73, 0.705},
	{"cmrc2018_dev", 0.996, 0.982},
	{"dureader_demo", 0.974, 0.665},
}

// sets loads the judged sets, which are not part of this repository.
func sets(t testing.TB) map[string]eval.Set {
	t.Helper()
	dir := os.Getenv("STRATA_EVAL")
	if dir == "" {
		t.Skip("STRATA_EVAL is not set")
	}
	all, err := eval.LoadAll(filepath.Join(dir, "retrieval"))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]eval.Set{}
	for _, s := range all {
		byName[s.Name] = s
	}
	return byName
}

func searcher(x *textindex.Index, tenant string) eval.Search {
	return func(ctx context.Context, query string, limit int) ([]string, error) {
		hits, err := x.Search(ctx, tenant, query, limit)
		ids := make([]string, len(hits))
		for i, h := range hits {
			ids[i] = h.ID
		}
		return ids, err
	}
}

// The judged sets, each a tenant of one index, so that none helps or hurts
// another.
func TestJudgedSets(t *testing.T) {
	all := sets(t)
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	for _, j := range judged {
		put(t, x, j.set, all[j.set].Passages...)
	}
	for _, j := range judged {
		t.Run(j.set, func(t *testing.T) {
			f, err := eval.Retrieval(t.Context(), all[j.set], searcher(x, j.set))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("recall@5 %.3f recall@10 %.3f hit@5 %.3f mrr@10 %.3f ndcg@10 %.3f; %.2f ms p50, %.2f ms p99",
				f.Recall5, f.Recall10, f.Hit5, f.MRR10, f.NDCG10, f.P50, f.P99)
			if f.Recall5 < j.recall || f.MRR10 < j.mrr {
				t.Errorf("recall@5 %.3f, mrr@10 %.3f; want %.3f, %.3f", f.Recall5, f.MRR10, j.recall, j.mrr)
			}
		})
	}
}

// floors are shares of the question's rarity from which an answer might count
// as one. The test prints what each lets through.
var floors = []float64{0.25, 0.3, 0.35, 0.4}

// Cover tells questions that a corpus answers from those of other sets.
func TestCoverSeparates(t *testing.T) {
	all := sets(t)
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	for _, j := range judged {
		put(t, x, j.set, all[j.set].Passages...)
	}
	for _, tt := range []struct {
		corpus, foreign string
		auc             float64
	}{
		{"cmrc2018_dev", "stard_civil", 0.98},
		{"cmrc2018_dev", "dureader_demo", 0.97},
		{"dureader_demo", "cmrc2018_dev", 0.99},
		{"dureader_demo", "stard_civil", 0.99},
		{"stard_civil", "cmrc2018_dev", 0.91},
		{"stard_civil", "dureader_demo", 0.89},
		{"obliqa_dev", "", 0.98},
	} {
		t.Run(tt.corpus+"/"+tt.foreign, func(t *testing.T) {
			foreign := all[tt.foreign].Queries
			for _, q := range everydayEnglish {
				if tt.foreign == "" {
					foreign = append(foreign, eval.Query{Text: q})
				}
			}
			own, other := covers(t, x, tt.corpus, all[tt.corpus].Queries), covers(t, x, tt.corpus, foreign)
			area := auc(own, other)
			t.Logf("own %s; others %s; AUC %.3f", spread(own), spread(other), area)
			for _, floor := range floors {
				t.Logf("from %.2f: own %.2f, others %.2f", floor, above(own, floor), above(other, floor))
			}
			if area < tt.auc {
				t.Errorf("AUC %.3f, want %.3f", area, tt.auc)
			}
		})
	}
}

var everydayEnglish = []string{
	"How long should I boil eggs so that the yolk stays soft?", "What is the best way to get red wine out of a carpet?",
	"Who painted the ceiling of the Sistine Chapel?", "My flight was delayed, can I still catch the last train?",
	"Write a birthday poem for my sister", "Which team won the league last season?", "Why is the sky blue in the morning?",
	"Recommend a hiking trail near the lake", "How do I change the battery of a smoke detector?",
	"What should I cook for six people tonight?", "Translate good morning into Spanish", "Is it going to rain in Oslo tomorrow?",
}

// covers is the highest cover among the five best of each question.
func covers(t *testing.T, x *textindex.Index, tenant string, queries []eval.Query) []float64 {
	t.Helper()
	var out []float64
	for _, q := range queries {
		hits, err := x.Search(t.Context(), tenant, q.Text, 5)
		if err != nil {
			t.Fatal(err)
		}
		best := 0.0
		for _, h := range hits {
			best = max(best, h.Cover)
		}
		out = append(out, best)
	}
	slices.Sort(out)
	return out
}

func spread(sorted []float64) string {
	var s []string
	for _, q := range []float64{0.05, 0.25, 0.5, 0.75, 0.95} {
		s = append(s, fmt.Sprintf("%.2f", sorted[int(q*float64(len(sorted)-1))]))
	}
	return strings.Join(s, " ")
}

func above(sorted []float64, floor float64) float64 {
	i, _ := slices.BinarySearch(sorted, floor)
	return 1 - float64(i)/float64(len(sorted))
}

// auc is the chance that one of own is above one of others.
func auc(own, others []float64) float64 {
	sum := 0.0
	for _, v := range own {
		below, _ := slices.BinarySearch(others, v)
		upTo, _ := slices.BinarySearch(others, v+1e-12)
		sum += (float64(below) + float64(upTo)) / 2
	}
	return sum / float64(len(own)*len(others))
}

// TestSpeed searches 10,000 passages of Chinese and of English.
func TestSpeed(t *testing.T) {
	if testing.Short() {
		t.Skip("fills 20,000 passages")
	}
	all := sets(t)
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	for _, tt := range []struct {
		lang string
		from []string
		size int // runes of a passage
	}{
		{"zh", []string{"cmrc2018_dev", "dureader_demo", "stard_civil"}, 240},
		{"en", []string{"obliqa_dev"}, 900},
	} {
		var source []rune
		var queries []eval.Query
		for _, name := range tt.from {
			for _, p := range all[name].Passages {
				source = append(source, []rune(p.Text)...)
			}
			queries = append(queries, all[name].Queries...)
		}
		begin := time.Now()
		put(t, x, tt.lang, sections(source, tt.size, 10000)...)
		filled := time.Since(begin)
		var took []time.Duration
		for i := range 600 {
			start := time.Now()
			if _, err := x.Search(t.Context(), tt.lang, queries[i*7%len(queries)].Text, 20); err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		p50, p99 := eval.Millis(took, 0.5), eval.Millis(took, 0.99)
		t.Logf("%s: filled in %v; search %.2f ms p50, %.2f ms p99", tt.lang, filled.Round(time.Millisecond), p50, p99)
		if p50 > 10 || p99 > 50 { // five times the aim (2 and 10): the machine may be busy
			t.Errorf("search takes %.2f ms p50, %.2f ms p99", p50, p99)
		}
	}
}

// sections makes n passages of size runes; the source is read again and again,
// from another place each time.
func sections(source []rune, size, n int) []stores.Passage {
	var out []stores.Passage
	for i := range n {
		at := i * size * 7 / 5 % (len(source) - size)
		out = append(out, stores.Passage{ID: fmt.Sprint("p", i), Title: "Source", Text: string(source[at : at+size])})
	}
	return out
}
