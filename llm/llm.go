// Package llm is Strata's own calls of a language model, by the API that
// OpenAI has made common. It decides how long a call may take, what of a
// failure may be told, and when calling is given up for a while. It must not
// know what is asked or why.
package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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

const (
	defaultTimeout = 10 * time.Second
	// maxAnswer is how much of an answer is read, in bytes.
	maxAnswer = 1 << 20
)

// Errors of Ask, besides those of its context.
var (
	ErrPaused     = errors.New("llm: not asked, since the last calls have failed")
	ErrTimeout    = errors.New("llm: no answer in time")
	errRedirected = errors.New("the API answered with a redirect, which is not followed")
)

// Client asks models. Make it with New; it is safe for concurrent use.
type Client struct {
	api     *openai.Client
	key     string
	timeout time.Duration
	breaker breaker
}

// New makes a client; it opens no connection.
func New(cfg Config) *Client {
	c := &Client{key: cfg.APIKey, timeout: cfg.Timeout}
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	c.breaker = breaker{clock: cfg.Clock, trial: c.timeout}
	if c.breaker.clock == nil {
		c.breaker.clock = time.Now
	}
	api := openai.DefaultConfig(cfg.APIKey)
	api.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	api.HTTPClient = &http.Client{
		Transport:     newTransport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirected },
	}
	c.api = openai.NewClientWithConfig(api)
	return c
}

// Ask puts one question to a model and returns what it says. Nothing is sent
// a second time. After several failures in a row it returns ErrPaused at once
// for a while. Its errors hold neither the key nor what the API wrote.
func (c *Client) Ask(ctx context.Context, model, system, user string, maxTokens int) (string, error) {
	if !c.breaker.allow() {
		return "", ErrPaused
	}
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.api.CreateChatCompletion(limited, request(model, system, user, maxTokens))
	switch {
	case ctx.Err() != nil: // says nothing of the API
		return "", ctx.Err()
	case err == nil && len(answer.Choices) == 0:
		err = errors.New("llm: the API answered without a choice")
	case limited.Err() != nil && err != nil:
		err = ErrTimeout
	case err != nil:
		err = c.told(err)
	}
	c.breaker.note(err == nil)
	if err != nil {
		return "", err
	}
	return answer.Choices[0].Message.Content, nil
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

// told is a failure in words that may stand in a log: of an error answer the
// status alone, since its body may repeat the key or what was asked.
func (c *Client) told(err error) error {
	if e, ok := errors.AsType[*openai.APIError](err); ok {
		return fmt.Errorf("llm: the API answered with status %d", e.HTTPStatusCode)
	}
	if e, ok := errors.AsType[*openai.RequestError](err); ok {
		return fmt.Errorf("llm: the API answered with status %d", e.HTTPStatusCode)
	}
	if e, ok := errors.AsType[*url.Error](err); ok { // without the address, which may be a redirect's
		err = e.Err
	}
	text := err.Error()
	if c.key != "" {
		text = strings.ReplaceAll(text, c.key, "****")
	}
	return errors.New("llm: " + text)
}

// transport reads no more of an answer than maxAnswer.
type transport struct{ http.RoundTripper }

// newTransport makes one with a connection for each call: calls are rare, and
// a kept connection that has closed meanwhile would be a reason to send again.
func newTransport() transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives = true
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		proxy, err := http.ProxyFromEnvironment(r)
		if err != nil { // it repeats the address, with its password
			return nil, errors.New("the proxy that the environment names is no URL")
		}
		return proxy, nil
	}
	return transport{t}
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}
