package proxy

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"strconv"

	"github.com/valyala/fasthttp"
)

// What can end an exchange without upstream's answer.
var (
	errGone     = errors.New("the client left")
	errBusy     = errors.New("no upstream connection came free in time")
	errTooLarge = errors.New("the request body is larger than limits.body")
	errSlowBody = errors.New("the request body did not arrive in time")
	errBody     = errors.New("the request body is broken")
	errConnect  = errors.New("upstream cannot be reached")
	errClosed   = errors.New("upstream closed the connection without an answer")
	errAnswer   = errors.New("upstream's answer is not HTTP, or its head is larger than limits.header")
	errSilent   = errors.New("upstream did not begin its answer within upstream.first_byte_timeout")
)

// refusal is an answer of our own, in OpenAI's error shape.
type refusal struct {
	status  int
	typ     string
	code    string
	message string
	retry   bool // adds Retry-After: 1
}

// refusals turns the errors of an exchange into answers.
var refusals = []struct {
	err error
	refusal
}{
	{errBusy, refusal{503, "server_error", "upstream_busy", "Strata: all upstream connections are in use; try again, or raise upstream.max_connections.", true}},
	{errTooLarge, refusal{413, "invalid_request_error", "body_too_large", "Strata: the request body is larger than limits.body allows.", false}},
	{errSlowBody, refusal{408, "invalid_request_error", "request_timeout", "Strata: the request did not arrive in time.", false}},
	{errBody, refusal{400, "invalid_request_error", "bad_request_body", "Strata: the request body is cut off or wrongly framed.", false}},
	{errConnect, refusal{502, "server_error", "upstream_unreachable", "Strata: upstream cannot be reached; check upstream.base_url and the network.", false}},
	{errClosed, refusal{502, "server_error", "upstream_closed", "Strata: upstream closed the connection without an answer.", false}},
	{errAnswer, refusal{502, "server_error", "upstream_bad_answer", "Strata: upstream's answer is not HTTP, or its head is larger than limits.header.", false}},
	{errSilent, refusal{504, "server_error", "upstream_timeout", "Strata: upstream did not begin to answer within upstream.first_byte_timeout.", false}},
}

var (
	refusedHost    = refusal{403, "invalid_request_error", "host_not_allowed", "Strata: this Host name is not allowed on a loopback listener; add it to allow_hosts.", false}
	refusedOrigin  = refusal{403, "invalid_request_error", "origin_not_allowed", "Strata: a browser page of this origin may not use upstream.api_key; add it to allow_origins.", false}
	refusedConnect = refusal{405, "invalid_request_error", "method_not_allowed", "Strata is not a forward proxy; CONNECT is not served.", false}
	refusedPanic   = refusal{500, "server_error", "internal_error", "Strata: internal error; the log has the details.", false}
	refusedHead    = refusal{431, "invalid_request_error", "header_too_large", "Strata: the request head is larger than limits.header allows.", false}
	refusedSlow    = refusal{408, "invalid_request_error", "request_timeout", "Strata: the request did not arrive in time.", false}
	refusedHTTP    = refusal{400, "invalid_request_error", "bad_request", "Strata: this is not a valid HTTP request.", false}
)

// refusalFor finds the answer to err.
func refusalFor(err error) refusal {
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return r.refusal
		}
	}
	return refusedPanic
}

func (r refusal) body() []byte {
	type shape struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	b, err := json.Marshal(struct {
		Error shape `json:"error"`
	}{shape{r.message, r.typ, nil, r.code}})
	if err != nil {
		panic("BUG: an error of ours does not encode: " + err.Error())
	}
	return b
}

// appendTo appends the whole answer. A connection that goes on carries no
// Connection header.
func (r refusal) appendTo(dst []byte, requestID string, withBody, close bool) []byte {
	body := r.body()
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(r.status), 10)
	dst = append(dst, ' ')
	dst = append(dst, fasthttp.StatusMessage(r.status)...)
	dst = append(dst, "\r\nContent-Type: application/json\r\nX-Strata-Error: "...)
	dst = append(dst, r.code...)
	if requestID != "" {
		dst = append(dst, "\r\nX-Strata-Request-Id: "...)
		dst = append(dst, requestID...)
	}
	if r.retry {
		dst = append(dst, "\r\nRetry-After: 1"...)
	}
	if close {
		dst = append(dst, "\r\nConnection: close"...)
	}
	dst = append(dst, "\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(body)), 10)
	dst = append(dst, "\r\n\r\n"...)
	if withBody {
		dst = append(dst, body...)
	}
	return dst
}

// refuseUnparsed answers what fasthttp could not read as a request. fasthttp
// closes the connection afterwards.
func (s *Server) refuseUnparsed(ctx *fasthttp.RequestCtx, err error) {
	r := refusedHTTP
	var small *fasthttp.ErrSmallBuffer
	switch {
	case errors.As(err, &small):
		r = refusedHead
	case isTimeout(err):
		r = refusedSlow
	}
	s.log.Warn("request refused", "code", r.code, "remote", ctx.RemoteAddr())
	s.metrics.refused.WithLabelValues(r.code).Inc()
	ctx.Response.Header.DisableNormalizing()
	ctx.SetStatusCode(r.status)
	ctx.SetContentType("application/json")
	ctx.Response.Header.Set("X-Strata-Error", r.code)
	ctx.SetBody(r.body())
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || (errors.As(err, &ne) && ne.Timeout())
}
