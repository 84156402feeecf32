package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

// RerankerConfig says where the reranker is.
type RerankerConfig struct {
	// BaseURL is what comes before /rerank. With a version segment it is an API
	// as Cohere and Jina have it, without one as Hugging Face's Text Embeddings
	// Inference has it. Where that is refused the other is tried.
	BaseURL string
	APIKey  string           // sent as Bearer, never shown; empty = none
	Model   string           // empty = the server's only one
	Timeout time.Duration    // 0 = 10 s
	Clock   func() time.Time // nil = time.Now
}

const (
	// maxScores is how much of an answer is read, in bytes. Some APIs repeat
	// the texts.
	maxScores = 4 << 20
	// teiTexts is how many texts Text Embeddings Inference takes at a time,
	// unless it was started with another limit.
	teiTexts = 32
)

// shape is how a reranker is asked.
type shape int32

const (
	cohere shape = iota // {model, query, documents}
	tei                 // {query, texts}
)

// Reranker scores texts by how well they answer a question. Make it with
// NewReranker; it is safe for concurrent use.
type Reranker struct {
	caller
	model string
	url   string
	http  *http.Client
	shape atomic.Int32
	known atomic.Bool // that the API takes this shape
}

var version = regexp.MustCompile(`/v[0-9]+[a-z0-9]*(/|$)`)

// NewReranker makes a reranker; it opens no connection.
func NewReranker(cfg RerankerConfig) *Reranker {
	base := strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/rerank")
	r := &Reranker{
		caller: newCaller(cfg.APIKey, cfg.Timeout, cfg.Clock),
		model:  cfg.Model, url: base + "/rerank",
		http: &http.Client{Transport: newKeptTransport(maxScores)},
	}
	if u, err := url.Parse(base); err == nil && !version.MatchString(u.Path) {
		r.shape.Store(int32(tei))
	}
	return r
}

// Rerank returns a score for each text, higher for a better answer to query;
// their scale is the model's own. One try, ErrTimeout after Config.Timeout,
// and after several failures in a row ErrPaused at once for a while. An answer
// without a score for each text is an error. No error holds the key or what
// the API wrote.
func (r *Reranker) Rerank(ctx context.Context, query string, texts []string) (scores []float64, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	err = r.once(ctx, func(ctx context.Context) error {
		scores, err = r.ask(ctx, query, texts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return scores, nil
}

// ask asks in the shape that is known or likely, and in the other one while
// none is known and the first is refused.
func (r *Reranker) ask(ctx context.Context, query string, texts []string) ([]float64, error) {
	likely := shape(r.shape.Load())
	scores, err := r.askAs(ctx, likely, query, texts)
	if err != nil && refused(err) && !r.known.Load() {
		other := cohere + tei - likely
		again, errOther := r.askAs(ctx, other, query, texts)
		if errOther != nil {
			return nil, err
		}
		r.shape.Store(int32(other))
		scores, err = again, nil
	}
	if err == nil {
		r.known.Store(true)
	}
	return scores, err
}

func (r *Reranker) askAs(ctx context.Context, as shape, query string, texts []string) ([]float64, error) {
	if as == cohere {
		return r.post(ctx, map[string]any{"model": r.model, "query": query, "documents": texts}, len(texts))
	}
	var scores []float64
	for len(texts) > 0 {
		n := min(teiTexts, len(texts))
		some, err := r.post(ctx, map[string]any{"query": query, "texts": texts[:n], "truncate": true}, n)
		if err != nil {
			return nil, err
		}
		scores, texts = append(scores, some...), texts[n:]
	}
	return scores, nil
}

// post makes one call about n texts.
func (r *Reranker) post(ctx context.Context, question map[string]any, n int) ([]float64, error) {
	if question["model"] == "" {
		delete(question, "model")
	}
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address is no URL")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if r.key != "" {
		request.Header.Set("Authorization", "Bearer "+r.key)
	}
	answer, err := r.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var all ranking
	if err := json.NewDecoder(answer.Body).Decode(&all); err != nil {
		return nil, err
	}
	return all.scores(n)
}

// ranking is an answer in any of the shapes.
type ranking []ranked

type ranked struct {
	Index     *int     `json:"index"`
	Relevance *float64 `json:"relevance_score"` // Cohere, Jina
	Score     *float64 `json:"score"`           // Text Embeddings Inference
}

// UnmarshalJSON reads a list, or an object that holds one as its results.
func (all *ranking) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) {
		return json.Unmarshal(b, (*[]ranked)(all))
	}
	var object struct{ Results []ranked }
	err := json.Unmarshal(b, &object)
	*all = object.Results
	return err
}

// scores puts the scores where their texts were.
func (all ranking) scores(n int) ([]float64, error) {
	if len(all) != n {
		return nil, fmt.Errorf("the API answered with %d scores for %d texts", len(all), n)
	}
	scores, seen := make([]float64, n), make([]bool, n)
	for _, e := range all {
		score := e.Relevance
		if score == nil {
			score = e.Score
		}
		if score == nil || e.Index == nil || *e.Index < 0 || *e.Index >= n || seen[*e.Index] {
			return nil, errors.New("the API's scores have no text each")
		}
		scores[*e.Index], seen[*e.Index] = *score, true
	}
	return scores, nil
}
