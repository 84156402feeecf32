package proxy

import (
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"strata/chat"
	"strata/internal/hostcheck"
)

// handle serves one request. fasthttp calls it; everything the client gets is
// written from here.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	x := s.exchanges.Get().(*exchange)
	x.begin(ctx)
	defer x.end()

	x.head.read(&ctx.Request.Header)
	x.target = s.upstream.join(x.target[:0], ctx.Request.Header.RequestURI())
	if r, refused := s.admit(x); refused {
		x.refuse(r)
		return
	}
	if err := x.openBody(); err != nil {
		x.fail(err)
		return
	}
	switch {
	case x.preflight():
	case x.head.upgrade:
		x.tunnel()
	case ctx.IsPost() && isChat(x.target):
		x.id = newID()
		x.walk()
	default:
		x.pass(smallBody)
	}
}

// admit refuses what a browser page could do behind the user's back: reach a
// loopback listener by a name it controls, or use a key that Strata supplies.
func (s *Server) admit(x *exchange) (refusal, bool) {
	if string(x.ctx.Method()) == http.MethodConnect {
		return refusedConnect, true
	}
	if s.cfg.Loopback && !hostcheck.Allowed(string(x.ctx.Request.Header.Host()), s.cfg.AllowHosts) {
		return refusedHost, true
	}
	browser := len(x.head.origin) > 0 || len(x.head.fetchSite) > 0
	if browser && s.cfg.UpstreamAPIKey != "" && !x.ctx.IsOptions() &&
		!hostcheck.OriginAllowed(string(x.head.origin), s.cfg.AllowOrigins) {
		return refusedOrigin, true
	}
	return refusal{}, false
}

// walk is a chat request's way: hold the body, read it, insert the context,
// send it, pass the answer back and take note of it.
func (x *exchange) walk() {
	if reason := x.bypass(); reason != "" {
		x.note("bypassed", reason)
		x.pass(smallBody)
		return
	}
	if err := x.holdBody(x.s.cfg.EnrichMaxBodyBytes); err != nil {
		x.fail(err)
		return
	}
	if x.rest != nil {
		x.note("bypassed", "too_large")
		x.pass(0)
		return
	}
	if reason := x.enrich(); reason != "" {
		x.note("bypassed", reason)
		x.pass(0)
		return
	}
	x.walked = true
	x.pass(0)
}

// bypass says why a chat request is not even looked at.
func (x *exchange) bypass() string {
	mode := x.s.cfg.Mode
	if len(x.head.mode) > 0 {
		mode = string(x.head.mode)
	}
	switch {
	case mode == "off":
		return "off"
	case x.head.signed:
		return "signed"
	}
	return ""
}

// enrich reads the held body and inserts the context. What cannot be read is
// forwarded untouched; the reason says why.
func (x *exchange) enrich() (reason string) {
	body := x.body
	encoded := len(x.head.contentEncoding) > 0
	if encoded {
		var err error
		body, err = chat.Decode(string(x.head.contentEncoding), body, x.s.cfg.EnrichMaxBodyBytes)
		if err == chat.ErrTooLarge {
			return "too_large"
		}
		if err != nil {
			return "unparseable"
		}
	}
	if err := chat.ParseInto(x.req, body); err != nil {
		return "unparseable"
	}
	enriched, inserted := x.req.Inject("", "")
	if len(inserted) == 0 {
		x.note("none", "no_match")
		return ""
	}
	x.body, x.plain = enriched, encoded
	if x.size >= 0 {
		x.size = len(enriched)
	}
	x.note("full", "")
	return ""
}

// note keeps what X-Strata-Context will say.
func (x *exchange) note(result, reason string) {
	x.result, x.reason = result, reason
	if reason == "no_match" {
		x.s.metrics.noMatch.Inc()
		return
	}
	x.s.metrics.context.WithLabelValues(result, reason).Inc()
}

// pass sends the request and relays the answer. Of a body not held yet up to
// hold bytes are read first, so that the usual request is one write.
func (x *exchange) pass(hold int) {
	if err := x.holdBody(hold); err != nil {
		x.fail(err)
		return
	}
	if x.id == "" {
		x.id = newID()
	}
	if err := x.acquire(); err != nil {
		x.fail(err)
		return
	}
	defer x.s.upstream.leave()
	c, block, err := x.roundTrip()
	if err != nil {
		x.fail(err)
		return
	}
	x.s.metrics.overhead.Observe(x.sent.Sub(x.began).Seconds())
	x.s.metrics.ttft.Observe(x.head1.Sub(x.sent).Seconds())
	if x.walked {
		x.collector.Reset(string(x.answer.ContentType()), string(x.answer.ContentEncoding()))
	}
	x.relay(c, block)
}

// acquire waits for a place at upstream, with an eye on the client.
func (x *exchange) acquire() error {
	if x.rest == nil {
		x.client.bodyRead()
	}
	return x.s.upstream.acquire(x.context)
}

// appendOwnHeaders appends what Strata says about a chat request. Other calls
// come back as upstream answered them.
func (x *exchange) appendOwnHeaders(dst []byte) []byte {
	if x.result == "" {
		return dst
	}
	dst = append(dst, "X-Strata-Request-Id: "...)
	dst = append(dst, x.id...)
	dst = append(dst, "\r\nX-Strata-Context: "...)
	dst = append(dst, x.result...)
	dst = append(dst, "; tokens=0"...)
	if x.reason != "" {
		dst = append(dst, "; reason="...)
		dst = append(dst, x.reason...)
	}
	dst = append(dst, "\r\nServer-Timing: strata;dur="...)
	dst = strconv.AppendFloat(dst, float64(x.sent.Sub(x.began))/float64(time.Millisecond), 'f', 3, 64)
	return append(dst, "\r\n"...)
}

// finish takes note of the answer once it is over.
func (x *exchange) finish(whole bool) {
	if !x.walked {
		return
	}
	answer := x.collector.Answer(whole)
	outcome := answer.Outcome
	if x.answer.StatusCode() >= 400 {
		outcome = chat.Failed
	}
	if outcome == chat.Complete {
		x.s.metrics.complete.Inc()
	} else {
		x.s.metrics.answers.WithLabelValues(outcome.String()).Inc()
	}
	if n := answer.Usage.CachedTokens; n > 0 {
		x.s.metrics.cached.Add(float64(n))
	}
}
