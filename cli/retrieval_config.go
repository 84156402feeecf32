package cli

import (
	"net"
	"net/url"
	"strings"
	"time"

	"strata/llm"
	"strata/proxy"
)

const (
	// questionTimeout is for one embedding of a question, or one reranking. A
	// request waits no longer than its own deadline, which comes sooner.
	questionTimeout = 2 * time.Second
	// maxDimensions is as many as an answer of the embedder has room for.
	maxDimensions = 8192
)

// validateRetrieval checks the embedder and the reranker.
func (c *Config) validateRetrieval() error {
	e, r := &c.Embedder, &c.Reranker
	for _, key := range []struct {
		name, group, base, example string
		set                        bool
	}{
		{"model", "embedder", e.BaseURL, "https://api.openai.com/v1", e.Model != ""},
		{"api_key", "embedder", e.BaseURL, "https://api.openai.com/v1", e.APIKey != ""},
		{"dimensions", "embedder", e.BaseURL, "https://api.openai.com/v1", e.Dimensions != 0},
		{"model", "reranker", r.BaseURL, "https://api.jina.ai/v1", r.Model != ""},
		{"api_key", "reranker", r.BaseURL, "https://api.jina.ai/v1", r.APIKey != ""},
	} {
		if key.set && key.base == "" {
			return bad(key.group+"."+key.name, "is set, and %s.base_url names no API; write that like %s", key.group, key.example)
		}
	}
	if e.BaseURL != "" {
		if err := c.validateAPI("embedder", e.BaseURL, "https://api.openai.com/v1", ""); err != nil {
			return err
		}
		if strings.TrimSpace(e.Model) == "" {
			return bad("embedder.model", "empty; name a model of embedder.base_url, such as text-embedding-3-small")
		}
	}
	if e.Dimensions < 0 || e.Dimensions > maxDimensions {
		return bad("embedder.dimensions", "must be from 1 to %d, or 0 for what the model gives", maxDimensions)
	}
	if r.BaseURL != "" {
		return c.validateAPI("reranker", r.BaseURL, "https://api.jina.ai/v1 or http://localhost:8082", "")
	}
	return nil
}

// embedder is the configured one; false when there is none.
func (c *Config) embedder() (*llm.Embedder, bool) {
	e := &c.Embedder
	if e.BaseURL == "" {
		return nil, false
	}
	u, err := url.Parse(e.BaseURL)
	if err != nil {
		panic("BUG: embedder.base_url was not validated: " + err.Error())
	}
	return llm.NewEmbedder(llm.EmbedderConfig{BaseURL: proxy.APIBase(u), APIKey: e.APIKey, Model: e.Model, Dimensions: e.Dimensions, Timeout: questionTimeout}), true
}

// reranker is the configured one; false when there is none.
func (c *Config) reranker() (*llm.Reranker, bool) {
	r := &c.Reranker
	if r.BaseURL == "" {
		return nil, false
	}
	return llm.NewReranker(llm.RerankerConfig{BaseURL: r.BaseURL, APIKey: r.APIKey, Model: r.Model, Timeout: questionTimeout}), true
}

// asksNetwork tells whether a question waits for an embedder or reranker on
// another machine.
func (c *Config) asksNetwork() bool {
	for _, base := range []string{c.Embedder.BaseURL, c.Reranker.BaseURL} {
		if u, err := url.Parse(base); err == nil && base != "" && !isLoopback(net.JoinHostPort(u.Hostname(), "1")) {
			return true
		}
	}
	return false
}
