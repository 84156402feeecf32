package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"strata/internal/upstreamtest"
)

// What is configured is what is called, with the key that was given for it and
// no other.
func TestRetrievalModels(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.OpenAI())
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("sk-reranker\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := mustLoad(t, "upstream: {api_key: sk-upstream}\nembedder:\n  base_url: "+up.URL()+"\n  model: small\n  dimensions: 8\n", map[string]string{
		"STRATA_EMBEDDER_API_KEY": "sk-embedder", "STRATA_RERANKER_BASE_URL": up.URL() + "/v2", "STRATA_RERANKER_MODEL": "ranks",
		"STRATA_RERANKER_API_KEY_FILE": key,
	})
	e, ok := l.embedder()
	if !ok {
		t.Fatal("no embedder")
	}
	vectors, err := e.Embed(t.Context(), []string{"annual leave"})
	if err != nil || len(vectors) != 1 || len(vectors[0]) != 8 {
		t.Fatalf("%v, %v", vectors, err)
	}
	r, ok := l.reranker()
	if !ok {
		t.Fatal("no reranker")
	}
	scores, err := r.Rerank(t.Context(), "annual leave", []string{"lunch", "annual leave"})
	if err != nil || len(scores) != 2 || scores[1] <= scores[0] {
		t.Fatalf("%v, %v", scores, err)
	}
	for i, want := range []struct{ target, key, model string }{
		{"/v1/embeddings", "Bearer sk-embedder", "small"}, {"/v2/rerank", "Bearer sk-reranker", "ranks"},
	} {
		sent := up.Requests()[i]
		var body struct{ Model string }
		if err := json.Unmarshal(sent.Body, &body); err != nil || sent.Target != want.target || sent.Get("Authorization") != want.key || body.Model != want.model {
			t.Errorf("sent to %s with %s: %s", sent.Target, sent.Get("Authorization"), sent.Body)
		}
	}
}

// Without their keys there are none, and an embedder's key is not made of
// others.
func TestNoRetrievalModels(t *testing.T) {
	l := mustLoad(t, "upstream: {api_key: sk-upstream}\n", nil)
	if _, ok := l.embedder(); ok || l.Embedder.Rebuild != "manual" || l.Citations != "off" {
		t.Errorf("an embedder by default: %+v", l.Embedder)
	}
	if _, ok := l.reranker(); ok {
		t.Error("a reranker by default")
	}
	up := upstreamtest.New(t, upstreamtest.OpenAI())
	l = mustLoad(t, "upstream: {api_key: sk-upstream}\nembedder: {base_url: '"+up.URL()+"/api/v3', model: m, rebuild: auto}\ncitations: header\n", nil)
	e, _ := l.embedder()
	if _, err := e.Embed(t.Context(), []string{"a"}); err == nil { // the stand-in has no such version
		t.Error("answered")
	}
	if sent := up.Requests()[0]; sent.Target != "/api/v3/embeddings" || sent.Get("Authorization") != "" {
		t.Errorf("sent to %s with %q", sent.Target, sent.Get("Authorization"))
	}
	if l.Embedder.Rebuild != "auto" || l.Citations != "header" {
		t.Errorf("%+v, %s", l.Embedder, l.Citations)
	}
}

// An embedder or reranker on this machine gets no more time than the index.
func TestAsksNetwork(t *testing.T) {
	for _, c := range []struct {
		embedder, reranker string
		want               bool
	}{
		{"", "", false},
		{"http://localhost:11434", "http://127.0.0.1:8082", false},
		{"http://[::1]:1/v1", "", false},
		{"https://api.openai.com/v1", "", true},
		{"http://localhost:11434", "http://tei:8082", true},
	} {
		var cfg Config
		cfg.Embedder.BaseURL, cfg.Reranker.BaseURL = c.embedder, c.reranker
		if got := cfg.asksNetwork(); got != c.want {
			t.Errorf("%q, %q: %v", c.embedder, c.reranker, got)
		}
	}
}
