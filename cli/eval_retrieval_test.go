package cli_test

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/internal/upstreamtest"
	"strata/internal/weaviateserver"
)

// retrievalSet writes a set of three passages, two questions with an answer
// and one without.
func retrievalSet(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "corpus.jsonl", `{"_id":"leave","title":"Leave","text":"Annual leave is thirty days for everybody.","lang":"en"}
{"_id":"travel","title":"Travel","heading":"Hotels","text":"Hotels are paid up to 140 euro a night.","lang":"en"}
{"_id":"值班","title":"值班制度","text":"夜间值班电话是 8103，周末由安保部接听。","lang":"zh"}
`)
	write(t, dir, "queries.jsonl", `{"_id":"q1","text":"How many days of annual leave does everybody have?"}
{"_id":"q2","text":"夜间值班电话是多少？"}
{"_id":"q3","text":"Which colour has the moon?"}
`)
	write(t, dir, "qrels.jsonl", `{"query_id":"q1","doc_id":"leave","score":1}
{"query_id":"q2","doc_id":"值班","score":1}
{"query_id":"q2","doc_id":"travel","score":1}
`)
	return dir
}

// The figures that scripts rely on, and nothing is left behind.
func TestEvalRetrieval(t *testing.T) {
	set, temp := retrievalSet(t), t.TempDir()
	code, stdout, stderr := run(t, t.TempDir(), []string{"TMPDIR=" + temp}, "eval", "retrieval", set, "--json")
	var r map[string]any
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil {
		t.Fatalf("%d %v %s\n%s", code, err, stderr, stdout)
	}
	for key, want := range map[string]float64{"queries": 2, "passages": 3, "recall@5": 0.75, "recall@10": 0.75, "hit@5": 1, "mrr@10": 1, "ndcg@10": (1 + 1/(1+1/math.Log2(3))) / 2, "block_share": 1} {
		if got, ok := r[key].(float64); !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", key, r[key], want)
		}
	}
	if _, there := r["all"]; there || r["foreign"] != nil || r["floor_cost"] != 0.0 {
		t.Errorf("nothing but words, and no other set: %v", r)
	}
	for _, key := range []string{"p50_ms", "p95_ms", "block_tokens", "ingest_s"} {
		if got, ok := r[key].(float64); !ok || got <= 0 {
			t.Errorf("%s: %v", key, r[key])
		}
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "strata-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	code, stdout, _ = run(t, t.TempDir(), nil, "eval", "retrieval", set)
	if code != 0 || !strings.Contains(stdout, "RECALL@5") || !strings.Contains(stdout, "0.750") {
		t.Errorf("as a table: %d\n%s", code, stdout)
	}
}

// What an embedder adds, and what questions of another set are given.
func TestEvalRetrievalWithAnEmbedder(t *testing.T) {
	set, other := retrievalSet(t), filepath.Join(t.TempDir(), "cooking")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, other, "corpus.jsonl", `{"_id":"soup","text":"Boil the leeks."}`+"\n")
	write(t, other, "queries.jsonl", `{"_id":"q1","text":"How long do leeks boil?"}`+"\n"+`{"_id":"q2","text":"How many days of annual leave?"}`+"\n")
	write(t, other, "qrels.jsonl", `{"query_id":"q1","doc_id":"soup","score":1}`+"\n")
	models := upstreamtest.New(t, upstreamtest.OpenAI())
	env := []string{"STRATA_EMBEDDER_BASE_URL=" + models.URL() + "/v1", "STRATA_EMBEDDER_MODEL=text-embedding-3-small"}
	code, stdout, stderr := run(t, t.TempDir(), env, "eval", "retrieval", set, "--foreign", other, "--json")
	var r struct {
		Recall float64 `json:"recall@5"`
		All    struct {
			Queries int
			Recall  float64 `json:"recall@5"`
		}
		Foreign map[string]float64
	}
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil {
		t.Fatalf("%d %v %s\n%s", code, err, stderr, stdout)
	}
	if r.Recall != 0.75 || r.All.Queries != 2 || r.All.Recall < 0.75 || r.Foreign["cooking"] != 0.5 {
		t.Errorf("%+v", r)
	}
	code, stdout, _ = run(t, t.TempDir(), env, "eval", "retrieval", set, "--foreign", other)
	if code != 0 || !strings.Contains(stdout, "\nall together  ") || !strings.Contains(stdout, "\ncooking") || !strings.Contains(stdout, "50.0 %") {
		t.Errorf("as a table: %d\n%s", code, stdout)
	}
	if code, _, stderr := run(t, t.TempDir(), nil, "eval", "retrieval", set, "--foreign", t.TempDir()); code != 2 || !strings.Contains(stderr, "corpus.jsonl") {
		t.Errorf("no other set: %d %s", code, stderr)
	}
}

// On a server the same is found, and nothing of it stays there.
func TestEvalRetrievalOnAServer(t *testing.T) {
	s := weaviateserver.ForTest(t)
	server := []string{"STRATA_INDEX_URL=" + s.URL(), "STRATA_INDEX_API_KEY=" + weaviateserver.Key}
	code, stdout, stderr := run(t, t.TempDir(), server, "eval", "retrieval", retrievalSet(t), "--json", "--on-server")
	var r struct {
		Queries int
		Recall  float64 `json:"recall@5"`
		MRR     float64 `json:"mrr@10"`
		Share   float64 `json:"block_share"`
	}
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil || r.Queries != 2 || r.Recall != 0.75 || r.MRR != 1 || r.Share != 1 {
		t.Fatalf("%d %v %s\n%s", code, err, stderr, stdout)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/v1/schema", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+weaviateserver.Key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if left, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || strings.Contains(string(left), "Strata") {
		t.Errorf("left on the server: %s %s, %v", resp.Status, left, err)
	}
	for want, env := range map[string][]string{
		"--on-server: index.url names no server": {"STRATA_INDEX_URL=index.db"},
		"check index.api_key":                    server[:1],
	} {
		if code, _, stderr := run(t, t.TempDir(), env, "eval", "retrieval", retrievalSet(t), "--on-server"); code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%v: %d %s", env, code, stderr)
		}
	}
}

func TestEvalRetrievalMistakes(t *testing.T) {
	none := retrievalSet(t)
	if err := os.WriteFile(filepath.Join(none, "qrels.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := retrievalSet(t)
	write(t, broken, "queries.jsonl", `{"text":"x"}`)
	for want, dir := range map[string]string{"corpus.jsonl": t.TempDir(), "nothing to score": none, "queries.jsonl, row 1": broken} {
		if code, stdout, stderr := run(t, t.TempDir(), nil, "eval", "retrieval", dir); code != 2 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d %q %q", want, code, stdout, stderr)
		}
	}
}
