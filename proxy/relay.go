package proxy

import (
	"bytes"
	"io"
	"net/http/httputil"
	"time"

	"github.com/valyala/fasthttp"
)

// framing is how the end of an answer's body is told.
type framing int

const (
	noBodyAtAll framing = iota
	byLength
	byChunks
	byClose
)

// answerBody reads the body of an answer and knows when a read cannot block.
type answerBody struct {
	c       *upstreamConn
	framing framing
	left    int // by length
	chunks  io.Reader
	wait    time.Time // read deadline set last
}

func (x *exchange) answerBody(c *upstreamConn) answerBody {
	b := answerBody{c: c}
	status := x.answer.StatusCode()
	length := x.answer.ContentLength()
	switch {
	case x.ctx.IsHead(), status == fasthttp.StatusNoContent, status == fasthttp.StatusNotModified:
		b.framing = noBodyAtAll
	case length >= 0:
		b.framing, b.left = byLength, length
	case length == -1:
		b.framing, b.chunks = byChunks, httputil.NewChunkedReader(c.br)
	default:
		b.framing = byClose
	}
	return b
}

// ready tells that at least one byte of the body, or its end, can be read
// without waiting.
func (b *answerBody) ready() bool {
	n := b.c.br.Buffered()
	switch b.framing {
	case noBodyAtAll:
		return true
	case byLength:
		return b.left == 0 || n > 0
	case byClose:
		return n > 0
	}
	// A size line and something behind it; a CR LF may come first, which
	// ends the chunk before.
	p, _ := b.c.br.Peek(n)
	p = bytes.TrimPrefix(p, []byte("\r\n"))
	i := bytes.IndexByte(p, '\n')
	return i >= 0 && len(p) > i+1
}

// await blocks until something arrives, for idle at most.
func (b *answerBody) await(idle time.Duration) error {
	if b.framing == noBodyAtAll || (b.framing == byLength && b.left == 0) || b.c.br.Buffered() > 0 {
		return nil
	}
	if now := time.Now(); b.wait.Sub(now) < idle*9/10 {
		b.wait = now.Add(idle)
		_ = b.c.SetReadDeadline(b.wait)
	}
	_, err := b.c.br.Peek(1)
	if err == io.EOF && b.framing != byClose {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (b *answerBody) Read(p []byte) (int, error) {
	switch b.framing {
	case noBodyAtAll:
		return 0, io.EOF
	case byChunks:
		return b.chunks.Read(p)
	case byClose:
		return b.c.br.Read(p)
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	n, err := b.c.br.Read(p[:min(len(p), b.left)])
	b.left -= n
	switch {
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	case err == nil && b.left == 0:
		err = io.EOF
	}
	return n, err
}

// ended tells, at the end of the body, that nothing of its framing is left.
// Behind the last chunk there is a blank line, after trailers if any.
func (b *answerBody) ended() bool {
	if b.framing != byChunks {
		return true
	}
	end, _ := b.c.br.Peek(min(2, b.c.br.Buffered()))
	if string(end) != "\r\n" {
		return false
	}
	_, _ = b.c.br.Discard(2)
	return true
}

// relay passes the answer to the client as it comes: the head at once, then
// what each read brings, in one write. Only whole answers end well for the
// client; whatever upstream breaks stays broken.
func (x *exchange) relay(c *upstreamConn, block []byte) {
	body := x.answerBody(c)
	http11 := x.ctx.Request.Header.IsHTTP11()
	chunked := http11 && (body.framing == byChunks || body.framing == byClose)
	// A client without chunks does not wait for what comes behind the last one.
	reusable := !x.answer.ConnectionClose() && body.framing != byClose && (chunked || body.framing != byChunks) && x.rest == nil
	x.close = x.close || !http11 || x.rest != nil || x.ctx.Request.Header.ConnectionClose() || x.s.draining.Load()

	x.out = x.appendAnswerHead(x.out[:0], block, chunked, false)
	x.out = x.appendOwnHeaders(x.out)
	if x.corsAllowed() && len(x.answer.Peek("Access-Control-Allow-Origin")) == 0 {
		x.out = x.appendCORS(x.out)
	}
	if x.close {
		x.out = append(x.out, "Connection: close\r\n"...)
	}
	x.out = append(x.out, "\r\n"...)

	err := x.copyBody(&body, chunked)
	whole := err == io.EOF
	if whole && reusable && c.br.Buffered() == 0 && !x.gone() {
		x.hold(nil)
		x.s.upstream.keep(c, time.Now())
	}
	x.s.metrics.upstream.Observe(time.Since(x.sent).Seconds())
	x.finish(whole)
	if !whole {
		if !x.gone() {
			x.s.log.Warn("answer broke off", "request", x.id, "error", err)
		}
		x.abort()
	}
}

// copyBody returns io.EOF when all of the body reached the client's socket.
func (x *exchange) copyBody(body *answerBody, chunked bool) error {
	for {
		if !body.ready() {
			if !x.flush() {
				return errGone
			}
			if err := body.await(x.s.cfg.IdleTimeout); err != nil && !(err == io.EOF && body.framing == byClose) {
				return err
			}
		}
		f := x.s.frames.Get().(*frame)
		n, err := body.Read(f.room())
		if x.walked {
			_, _ = x.collector.Write(f.data(n))
			if err == io.EOF || x.collector.Done() {
				x.record(err == io.EOF)
			}
		}
		ended := err == io.EOF && body.ended()
		p := f.data(n)
		if chunked {
			p = f.chunk(n, ended)
		}
		ok := x.forward(p)
		x.s.frames.Put(f)
		switch {
		case !ok:
			return errGone
		case err == io.EOF && chunked && !ended:
			return x.trailers(body)
		case err != nil:
			return err
		}
	}
}

// forward writes one piece of the body, and before it the head if that still
// waits.
func (x *exchange) forward(p []byte) bool {
	if len(x.out) == 0 {
		return x.write(p)
	}
	if len(x.out)+len(p) > frameSize {
		return x.flush() && x.write(p)
	}
	x.out = append(x.out, p...)
	return x.flush()
}

// trailers ends a chunked body whose end is still to come, with the trailers
// that come with it. It returns io.EOF when all of it reached the client.
func (x *exchange) trailers(body *answerBody) error {
	if err := x.answer.ReadTrailer(body.c.br); err != nil {
		return io.ErrUnexpectedEOF
	}
	if !x.write(append([]byte("0\r\n"), x.answer.TrailerHeader()...)) {
		return errGone
	}
	return io.EOF
}

// flush writes what waits in x.out.
func (x *exchange) flush() bool {
	ok := x.write(x.out)
	x.out = x.out[:0]
	return ok
}
