package eval_test

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/internal/eval"
)

// written makes a folder with a set's three files.
func written(t *testing.T, corpus, queries, qrels string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"corpus.jsonl": corpus, "queries.jsonl": queries, "qrels.jsonl": qrels} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoad(t *testing.T) {
	long := strings.Repeat("长", 50_000) // a line far above a scanner's limit
	dir := written(t,
		`{"_id":"a","title":"Leave","text":"`+long+`","lang":"zh","document":1}`+"\n\n"+`{"_id":"b","heading":"Pay > Bonus","text":"Paid in May."}`,
		`{"_id":"q1","text":"假期","lang":"zh"}`+"\n",
		`{"query_id":"q1","doc_id":"a","score":2}`+"\n"+`{"query_id":"q1","doc_id":"b","score":0}`+"\n")
	set, err := eval.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if set.Name != "tiny" || len(set.Passages) != 2 || set.Passages[0].Text != long || set.Passages[0].Title != "Leave" || set.Passages[1].Heading != "Pay > Bonus" {
		t.Errorf("passages: %d, name %q", len(set.Passages), set.Name)
	}
	if len(set.Queries) != 1 || set.Queries[0] != (eval.Query{ID: "q1", Text: "假期", Lang: "zh"}) {
		t.Errorf("queries: %v", set.Queries)
	}
	if len(set.Relevant["q1"]) != 1 || set.Relevant["q1"]["a"] != 2 {
		t.Errorf("relevant: %v", set.Relevant)
	}
	all, err := eval.LoadAll(filepath.Dir(dir))
	if err != nil || len(all) != 1 || all[0].Name != "tiny" {
		t.Errorf("all: %d sets, %v", len(all), err)
	}
}

func TestLoadErrors(t *testing.T) {
	const row = `{"_id":"a"}`
	for name, tt := range map[string]struct{ corpus, queries, qrels, want string }{
		"cut off":       {row + "\n" + `{"_id":"b"`, row, "", "corpus.jsonl, row 2"},
		"passage no id": {`{"text":"x"}`, row, "", "corpus.jsonl, row 1"},
		"query no id":   {row, `{"text":"x"}`, "", "queries.jsonl, row 1"},
		"wrong type":    {row, row, `{"query_id":1}`, "qrels.jsonl, row 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := eval.Load(written(t, tt.corpus, tt.queries, tt.qrels))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	if _, err := eval.Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := eval.LoadAll(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no sets: %v", err)
	}
}

// The figures of two answerable questions, computed by hand; the third has no
// answer and does not count.
func TestRetrieval(t *testing.T) {
	set := eval.Set{
		Queries: []eval.Query{{ID: "q1", Text: "one"}, {ID: "q2", Text: "two"}, {ID: "q3", Text: "three"}},
		Relevant: map[string]map[string]int{
			"q1": {"a": 1, "b": 1},
			"q2": {"c": 2, "d": 1},
		},
	}
	answers := map[string][]string{
		"one": {"x", "a", "a", "y", "z", "v", "b"},                               // a at 2 (once), b at 6
		"two": {"1", "2", "3", "4", "5", "6", "7", "8", "9", "c", "d", "e", "f"}, // c at 10, d too far
	}
	got, err := eval.Retrieval(t.Context(), set, func(_ context.Context, query string, limit int) ([]string, error) {
		if limit != eval.Depth {
			t.Errorf("limit %d", limit)
		}
		return answers[query], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	log := math.Log2
	want := eval.Figures{
		Queries: 2, Recall5: 0.25, Recall10: 0.75, Hit5: 0.5, MRR10: (1.0/2 + 1.0/10) / 2,
		NDCG10: ((1/log(3)+1/log(7))/(1+1/log(3)) + 2/log(11)/(2+1/log(3))) / 2,
	}
	for name, pair := range map[string][2]float64{
		"queries": {float64(got.Queries), float64(want.Queries)}, "recall@5": {got.Recall5, want.Recall5}, "recall@10": {got.Recall10, want.Recall10},
		"hit@5": {got.Hit5, want.Hit5}, "mrr@10": {got.MRR10, want.MRR10}, "ndcg@10": {got.NDCG10, want.NDCG10},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-12 {
			t.Errorf("%s %v, want %v", name, pair[0], pair[1])
		}
	}
}

func TestRetrievalOfNothing(t *testing.T) {
	got, err := eval.Retrieval(t.Context(), eval.Set{}, nil)
	if err != nil || got != (eval.Figures{}) {
		t.Errorf("%+v, %v", got, err)
	}
	broken := errors.New("broken")
	set := eval.Set{Name: "s", Queries: []eval.Query{{ID: "q"}}, Relevant: map[string]map[string]int{"q": {"a": 1}}}
	_, err = eval.Retrieval(t.Context(), set, func(context.Context, string, int) ([]string, error) { return nil, broken })
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "query q") {
		t.Errorf("%v", err)
	}
}

func TestMillis(t *testing.T) {
	var took []time.Duration
	for i := range 100 {
		took = append(took, time.Duration(i+1)*time.Millisecond)
	}
	for q, want := range map[float64]float64{0: 1, 0.5: 50, 0.95: 95, 0.99: 99, 1: 100} {
		if got := eval.Millis(took, q); got != want {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
	if eval.Millis(nil, 0.5) != 0 {
		t.Error("quantile of nothing")
	}
}
