package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	defaultTimeout = 10 * time.Second
	// patient is how long a caller must have waited before it counts against
	// the API that the caller's own deadline came first.
	patient = 50 * time.Millisecond
	// kept is how long a connection may lie idle: less than what most servers
	// and balancers allow.
	kept = 50 * time.Second
	// longestError is what is told of a failure, in characters.
	longestError = 200
)

// Errors of the calls, besides those of their context.
var (
	ErrPaused  = errors.New("llm: not asked, since the last calls have failed")
	ErrTimeout = errors.New("llm: no answer in time")
	errTooLong = errors.New("the API's answer is longer than any right one")
)

// statusError is an answer that is no success. Its body is not read: it may
// repeat the key or what was asked.
type statusError struct {
	status int
	after  string // the Retry-After header
}

func (e *statusError) Error() string {
	if e.status >= 300 && e.status < 400 {
		return "the API answered with a redirect, which is not followed"
	}
	return fmt.Sprintf("the API answered with status %d", e.status)
}

// caller makes calls under a time limit and a breaker.
type caller struct {
	key     string
	timeout time.Duration
	breaker breaker
}

func newCaller(key string, timeout time.Duration, clock func() time.Time) caller {
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	if clock == nil {
		clock = time.Now
	}
	return caller{key: key, timeout: timeout, breaker: breaker{clock: clock, trial: timeout}}
}

// once runs do a single time, unless the last calls have failed. A caller that
// leaves says nothing of the API.
func (c *caller) once(ctx context.Context, do func(context.Context) error) error {
	if !c.breaker.allow() {
		return ErrPaused
	}
	began := c.breaker.clock()
	err := c.within(ctx, c.timeout, do)
	switch {
	case ctx.Err() != nil:
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && c.breaker.clock().Sub(began) >= patient {
			c.breaker.note(false)
		}
	default:
		c.breaker.note(err == nil)
	}
	return told(c.key, err)
}

// within runs do under a time limit, and gives its failures their names. They
// are not yet fit to be told.
func (c *caller) within(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := do(limited)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && limited.Err() != nil:
		return ErrTimeout
	}
	return err
}

// refused tells whether the API takes something else, but not this.
func refused(err error) bool {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status == http.StatusBadRequest || e.status == http.StatusRequestEntityTooLarge || e.status == http.StatusUnprocessableEntity
	}
	return false
}

// told is a failure in words that may stand in a log: neither the key nor what
// the API wrote nor an address, which may be a redirect's.
func told(key string, err error) error {
	switch {
	case err == nil, errors.Is(err, ErrTimeout), errors.Is(err, ErrOther), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	if e, ok := errors.AsType[*statusError](err); ok {
		return fmt.Errorf("llm: %w", e)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	text := err.Error()
	if key != "" {
		text = strings.ReplaceAll(text, key, "****")
	}
	// A number that does not fit is repeated, however long it is.
	return errors.New("llm: " + firstRunes(strings.TrimPrefix(text, "llm: "), longestError))
}

// transport turns answers that are no success into errors, redirects too, so
// that none is followed, and reads no more of an answer than longest bytes.
type transport struct {
	http.RoundTripper
	longest int64
	again   bool // whether a call may be sent again when a kept connection turns out to be closed
}

// newTransport makes one with a connection for each call: calls of a model are
// rare, and a kept connection that has closed meanwhile would be a reason to
// send again.
func newTransport(longest int64) transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives = true
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		proxy, err := http.ProxyFromEnvironment(r)
		if err != nil { // it repeats the address, with its password
			return nil, errors.New("the proxy that the environment names is no URL")
		}
		return proxy, nil
	}
	return transport{RoundTripper: t, longest: longest}
}

// newKeptTransport keeps connections, for calls that a request waits for and
// that change nothing. By HTTP/1.1, since one dead connection of HTTP/2 would
// hold up every call.
func newKeptTransport(longest int64) transport {
	t := newTransport(longest)
	h := t.RoundTripper.(*http.Transport)
	h.DisableKeepAlives = false
	h.IdleConnTimeout = kept
	h.MaxIdleConnsPerHost = 32
	h.Protocols = new(http.Protocols)
	h.Protocols.SetHTTP1(true)
	h.ForceAttemptHTTP2 = false
	t.again = true
	return t
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.again {
		r = r.Clone(r.Context())
		r.Header["Idempotency-Key"] = nil // for net/http alone; it is not sent
	}
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		resp.Body.Close()
		return nil, &statusError{resp.StatusCode, resp.Header.Get("Retry-After")}
	}
	resp.Body = &limitedBody{resp.Body, t.longest}
	return resp, nil
}

// limitedBody fails when more than left bytes come.
type limitedBody struct {
	io.ReadCloser
	left int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// retryAfter is what a Retry-After header asks for; 0 when it says nothing.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
