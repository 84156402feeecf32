package proxy

import (
	"io"
	"time"
)

// refusesContext tells whether a status may mean that upstream could not take
// what was inserted: too long, or an order of messages it does not like.
func refusesContext(status int) bool {
	return status == 400 || status == 413 || status == 422
}

// drainRefusal bounds how much of a refused answer is read to keep its
// connection.
const drainRefusal = 64 << 10

// sendOriginal sends the client's own request after upstream refused the
// enriched one, and returns that answer. When it is taken, the context was at
// fault, which is remembered for the model.
func (x *exchange) sendOriginal(c *upstreamConn) (*upstreamConn, []byte, error) {
	x.discard(c)
	x.body, x.size, x.plain, x.original = x.original, x.originalSize, false, nil
	x.drop("refused")
	x.d.result.Chosen = false
	next, block, err := x.roundTrip()
	if err == nil && x.answer.StatusCode() < 400 {
		x.s.refusing.add(x.req.Model, time.Now())
		x.s.log.Warn("upstream refused a request with context and took it without", "request", x.id, "model", x.req.Model)
	}
	return next, block, err
}

// discard reads the rest of an answer that nobody gets, so that its
// connection can be used again, or closes it.
func (x *exchange) discard(c *upstreamConn) {
	body := x.answerBody(c)
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	n, err := io.Copy(io.Discard, io.LimitReader(&body, drainRefusal))
	whole := err == nil && n < drainRefusal && body.framing != byClose && body.ended() && c.br.Buffered() == 0
	if x.hold(nil); whole && !x.answer.ConnectionClose() && !x.gone() {
		x.s.upstream.keep(c, time.Now())
		return
	}
	_ = c.Close()
}
