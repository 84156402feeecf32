// Package llm is Strata's own calls of models: a language model and an embedder
// by the API that OpenAI has made common, and a reranker. It decides how long a
// call may take, what of a failure may be told, when calling is tried again and
// when given up for a while, and which answers are no answers. It must not know
// what is asked or why.
package llm

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"
)

// Config says where the model is.
type Config struct {
	BaseURL string           // with its version segment
	APIKey  string           // sent as Bearer, never shown
	Timeout time.Duration    // of one call; 0 = 10 s
	Clock   func() time.Time // nil = time.Now
}

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 1 << 20

// Client asks models. Make it with New; it is safe for concurrent use.
type Client struct {
	api *openai.Client
	caller
}

// New makes a client; it opens no connection.
func New(cfg Config) *Client {
	return &Client{
		api:    newAPI(cfg.BaseURL, cfg.APIKey, newTransport(maxAnswer)),
		caller: newCaller(cfg.APIKey, cfg.Timeout, cfg.Clock),
	}
}

func newAPI(base, key string, t transport) *openai.Client {
	api := openai.DefaultConfig(key)
	api.BaseURL = strings.TrimRight(base, "/")
	api.HTTPClient = &http.Client{Transport: t}
	return openai.NewClientWithConfig(api)
}

// Ask puts one question to a model and returns what it says. Nothing is sent
// a second time. After several failures in a row it returns ErrPaused at once
// for a while. Its errors hold neither the key nor what the API wrote.
func (c *Client) Ask(ctx context.Context, model, system, user string, maxTokens int) (said string, err error) {
	err = c.once(ctx, func(ctx context.Context) error {
		answer, err := c.api.CreateChatCompletion(ctx, request(model, system, user, maxTokens))
		if err != nil {
			return err
		}
		if len(answer.Choices) == 0 {
			return errors.New("the API answered without a choice")
		}
		said = answer.Choices[0].Message.Content
		return nil
	})
	return said, err
}

// request names the limit as the model knows it: those that think refuse the
// older name, many other servers know no other or refuse the newer one.
func request(model, system, user string, maxTokens int) openai.ChatCompletionRequest {
	//lint:ignore SA1019 the older name is what most servers know
	r := openai.ChatCompletionRequest{Model: model, MaxTokens: maxTokens, Messages: []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: system},
		{Role: openai.ChatMessageRoleUser, Content: user},
	}}
	if errors.Is(openai.NewReasoningValidator().Validate(r), openai.ErrReasoningModelMaxTokensDeprecated) {
		//lint:ignore SA1019 taken back
		r.MaxTokens, r.MaxCompletionTokens = 0, maxTokens
	}
	return r
}
