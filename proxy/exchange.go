package proxy

import (
	"context"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"strata/chat"
	"strata/internal/ids"
)

// exchange is one request and its answer. It lives as long as the handler
// and is pooled; nothing of it may be kept longer.
type exchange struct {
	s      *Server
	ctx    *fasthttp.RequestCtx
	client *clientConn

	// Cancelled when the client leaves.
	context context.Context
	cancel  context.CancelFunc
	mu      sync.Mutex
	up      *upstreamConn // closed when the client leaves
	left    bool

	head   requestHead
	target []byte // origin-form target at upstream
	id     string // X-Strata-Request-Id

	// Request body: what is held, and what is still to be read (nil when
	// body is all of it). size is the whole length, -1 when chunked, -2 when
	// the request has no body.
	body     []byte
	held     int64 // of the server's buffer budget
	rest     *bodyReader
	size     int
	plain    bool // body replaces a compressed one
	arriving bodyReader

	// The walk.
	parts        *Context // what it works with, as of its beginning; nil = without context
	walked       bool
	result       string // X-Strata-Context
	reason       string
	d            decision
	original     []byte // the client's body, where context was inserted
	originalSize int
	spare        []byte // room for the next enriched body
	req          *chat.Request
	collector    *chat.Collector
	said         chat.Answer // once heard
	heard        bool

	out      []byte                   // bytes for upstream, then for the client
	answer   *fasthttp.ResponseHeader // of upstream
	answered bool                     // the first byte of an answer went to the client
	close    bool                     // the client's connection ends with this exchange
	hijacked bool

	began, sent, head1 time.Time
	writeLimit         time.Time // the client's write deadline
}

// keepBuffer bounds the buffers that a pooled exchange carries along.
const keepBuffer = 64 << 10

func (x *exchange) begin(ctx *fasthttp.RequestCtx) {
	x.ctx = ctx
	x.client = ctx.Conn().(*clientConn)
	x.began = time.Now()
	x.context, x.cancel = context.WithCancel(context.Background())
	x.client.attach(x.leave)
	x.s.metrics.inFlight.Inc()
}

// leave cancels everything that waits on the client's behalf.
func (x *exchange) leave() {
	x.cancel()
	x.mu.Lock()
	x.left = true
	if x.up != nil {
		_ = x.up.Conn.Close()
	}
	x.mu.Unlock()
}

// hold makes leave close c as well, or says that the client is gone.
func (x *exchange) hold(c *upstreamConn) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.up = c
	return !x.left
}

func (x *exchange) gone() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.left
}

// end runs whatever happened. A panic ends the one request: with a 500 when
// nothing was sent yet, else as a broken answer.
func (x *exchange) end() {
	if p := recover(); p != nil {
		x.s.log.Error("panic", "request", x.id, "panic", p, "stack", string(debug.Stack()))
		x.refuse(refusedPanic)
	}
	x.client.detach()
	if x.up != nil {
		_ = x.up.Close()
	}
	if x.gone() {
		x.s.metrics.cut.Inc()
		x.close = true
	}
	x.cancel()
	if !x.hijacked {
		x.placeholder()
	}
	x.s.buffered.Add(-x.held)
	x.s.metrics.inFlight.Dec()
	x.reset()
	x.s.exchanges.Put(x)
}

// placeholder lets fasthttp go on with the next request without a word to the
// client: its own empty answer is flushed at once and dropped by clientConn.
func (x *exchange) placeholder() {
	resp := &x.ctx.Response
	resp.SetBodyStream(noBody{}, 0)
	resp.SkipBody = true
	resp.ImmediateHeaderFlush = true
	if x.close {
		resp.SetConnectionClose()
	}
	x.client.placeholder = true
}

type noBody struct{}

func (noBody) Read([]byte) (int, error) { return 0, net.ErrClosed }

func newExchange(s *Server) *exchange {
	x := &exchange{s: s, req: new(chat.Request), collector: new(chat.Collector), answer: new(fasthttp.ResponseHeader)}
	x.answer.DisableNormalizing()
	return x
}

// reset keeps only what is worth reusing.
func (x *exchange) reset() {
	body, out, spare := kept(x.body), kept(x.out), x.spare
	if x.original != nil {
		body, spare = kept(x.original), body
	}
	identity := x.head.identity
	clear(identity)
	*x = exchange{s: x.s, body: body, out: out, spare: spare, target: x.target[:0], answer: x.answer, req: x.req, collector: x.collector}
	x.head.identity = identity[:0]
}

// kept is an emptied buffer, none if it has grown too large to carry along.
func kept(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

// refuse answers with an error of our own. After a first byte of another
// answer only breaking the connection is honest.
func (x *exchange) refuse(r refusal) {
	x.close = x.close || x.rest != nil || x.s.draining.Load()
	if x.answered {
		x.abort()
		return
	}
	x.s.metrics.refused.WithLabelValues(r.code).Inc()
	if x.id == "" {
		x.id = ids.NewAt("req", x.began)
	}
	if !x.ctx.Request.Header.IsHTTP11() {
		x.close = true
	}
	x.out = r.appendTo(x.out[:0], x.id, !x.ctx.IsHead(), x.close)
	x.write(x.out)
	if x.rest != nil {
		x.rest.drain()
	}
}

// fail ends an exchange that got no answer from upstream.
func (x *exchange) fail(err error) {
	if x.gone() {
		x.close = true
		return
	}
	r := refusalFor(err)
	x.s.log.Warn("request failed", "request", x.id, "code", r.code, "error", err)
	x.refuse(r)
}

// write sends p to the client. A failed write means that the client left.
func (x *exchange) write(p []byte) bool {
	if len(p) == 0 {
		return true
	}
	// Renewed now and then only: it bounds a client that stops reading.
	if now := time.Now(); x.writeLimit.Sub(now) < x.s.cfg.IdleTimeout/2 {
		x.writeLimit = now.Add(x.s.cfg.IdleTimeout)
		_ = x.client.Conn.SetWriteDeadline(x.writeLimit)
	}
	x.answered = true
	if _, err := x.client.Conn.Write(p); err != nil {
		x.leave()
		return false
	}
	return true
}

// abort breaks the client's connection, so that a cut answer cannot pass for
// a complete one: where the end of the connection is the end of the body, by
// a reset.
func (x *exchange) abort() {
	x.close = true
	if tcp, ok := x.client.Conn.(*net.TCPConn); ok && !x.ctx.Request.Header.IsHTTP11() {
		_ = tcp.SetLinger(0)
	}
	_ = x.client.Conn.Close()
}
