package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sashabaranov/go-openai"
)

// EmbedderConfig says where the embedder is.
type EmbedderConfig struct {
	BaseURL    string // with its version segment
	APIKey     string // sent as Bearer, never shown; empty = none
	Model      string
	Dimensions int              // asked for and expected; 0 = what the model gives
	Timeout    time.Duration    // of Embed; 0 = 10 s
	Clock      func() time.Time // nil = time.Now
}

const (
	// maxVectors is how much of an answer is read, in bytes: batchTexts vectors
	// of 8,192 numbers, each as long as a number gets, are 13 MB.
	maxVectors = 16 << 20
	// queryRunes is what Embed sends of a text. More says no more of what is
	// asked, and takes longer than a request can wait.
	queryRunes = 2000
)

// wrongAnswer is an answer that holds no usable vectors.
type wrongAnswer struct{ why string }

func (e *wrongAnswer) Error() string { return e.why }

// dimsError is an answer with vectors of another length than before. That is
// made no better by asking again or by asking for less.
type dimsError struct{ got, want int64 }

func (e *dimsError) Error() string {
	return fmt.Sprintf("llm: the API answered with vectors of other dimensions: %d, not %d", e.got, e.want)
}
func (e *dimsError) Unwrap() error { return ErrOther }

// Embedder makes vectors of texts. Make it with NewEmbedder; it is safe for
// concurrent use.
type Embedder struct {
	cfg    EmbedderConfig
	api    *openai.Client
	caller               // of Embed alone: what holds up ingest must not end queries
	dims   atomic.Int64  // what the first answer had, 0 before it
	base64 atomic.Bool   // the API answers so unasked
	most   atomic.Int64  // texts of a batch that the API takes
	single atomic.Bool   // the API takes no two texts
	names  names         // of the model in answers
	limit  time.Duration // of one call of EmbedAll
	pause  func(context.Context, time.Duration) error
}

// NewEmbedder makes an embedder; it opens no connection.
func NewEmbedder(cfg EmbedderConfig) *Embedder {
	e := &Embedder{
		cfg:    cfg,
		api:    newAPI(cfg.BaseURL, cfg.APIKey, newKeptTransport(maxVectors)),
		caller: newCaller(cfg.APIKey, cfg.Timeout, cfg.Clock),
		limit:  batchTimeout, pause: sleep,
	}
	e.dims.Store(int64(cfg.Dimensions))
	e.most.Store(batchTexts)
	return e
}

// Embed returns the vector of each text, of length 1, while a request waits:
// one try, ErrTimeout after Config.Timeout, and after several failures in a
// row ErrPaused at once for a while. Of a text the first 2,000 characters
// count. An answer with another number of vectors than texts, with numbers
// that are none or with a vector of zeros is an error; one with other dimensions
// than before, or by a model of a name that neither the first answer nor one of
// EmbedAll's had, is ErrOther. No error holds the key or what the API wrote.
func (e *Embedder) Embed(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	short := make([]string, len(texts))
	for i, text := range texts {
		short[i] = firstRunes(text, queryRunes)
	}
	err = e.once(ctx, func(ctx context.Context) error {
		var name string
		vectors, name, err = e.ask(ctx, short)
		if err == nil && !e.names.knows(name) {
			return ErrOther
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return vectors, nil
}

// ask makes one call and checks its answer. It also returns what the answer
// calls the model.
func (e *Embedder) ask(ctx context.Context, texts []string) ([][]float32, string, error) {
	request := openai.EmbeddingRequest{Model: openai.EmbeddingModel(e.cfg.Model), Dimensions: e.cfg.Dimensions}
	input := make([]string, len(texts))
	for i, text := range texts {
		if input[i] = text; strings.TrimSpace(text) == "" {
			input[i] = "." // most APIs refuse an empty text
		}
	}
	request.Input = input
	answer, err := e.send(ctx, request)
	if err != nil {
		return nil, "", err
	}
	vectors, err := inOrder(answer.Data, len(texts))
	if err != nil {
		return nil, "", err
	}
	for _, v := range vectors {
		if err := e.settle(v); err != nil {
			return nil, "", err
		}
	}
	return vectors, string(answer.Model), nil
}

// send asks in the form that the API answers in. The format is not named at
// first, since some servers refuse the name of what they do anyway.
func (e *Embedder) send(ctx context.Context, request openai.EmbeddingRequest) (openai.EmbeddingResponse, error) {
	if !e.base64.Load() {
		answer, err := e.api.CreateEmbeddings(ctx, request)
		if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok || mismatch.Value != "string" || mismatch.Type != reflect.TypeFor[[]float32]() {
			return answer, err
		}
		e.base64.Store(true)
	}
	request.EncodingFormat = openai.EmbeddingEncodingFormatBase64
	return e.api.CreateEmbeddings(ctx, request)
}

// inOrder puts an answer's vectors where their texts were.
func inOrder(data []openai.Embedding, texts int) ([][]float32, error) {
	if len(data) != texts {
		return nil, &wrongAnswer{fmt.Sprintf("the API answered with %d vectors for %d texts", len(data), texts)}
	}
	vectors := make([][]float32, texts)
	for _, d := range data {
		if d.Index < 0 || d.Index >= texts || vectors[d.Index] != nil {
			return nil, &wrongAnswer{"the API's vectors have no text each"}
		}
		if !unit(d.Embedding) {
			return nil, &wrongAnswer{"the API answered with a vector without direction"}
		}
		vectors[d.Index] = d.Embedding
	}
	return vectors, nil
}

// settle takes down how many dimensions vectors have, and refuses any other
// number afterwards.
func (e *Embedder) settle(v []float32) error {
	e.dims.CompareAndSwap(0, int64(len(v)))
	if want := e.dims.Load(); int64(len(v)) != want {
		return &dimsError{int64(len(v)), want}
	}
	return nil
}

// unit gives v the length 1. It fails for zeros and for what is no number.
func unit(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return false
	}
	norm := 1 / math.Sqrt(sum)
	for i := range v {
		v[i] = float32(float64(v[i]) * norm)
	}
	return true
}

// firstRunes cuts text after n characters.
func firstRunes(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}
