package proxy

import (
	"errors"
	"io"
	"time"
)

const (
	// minBodyRate is how slow a client may send its body, in bytes a second,
	// after a start of limits.header_timeout.
	minBodyRate = 4 << 10
	// smallBody is held by a plain pass-through too: one write, and a body
	// that can be sent again where section "stale connection" allows it.
	smallBody = 32 << 10
	// drainBody bounds what is read of a refused body, so that the client
	// sees the answer instead of a reset.
	drainBody = 8 << 20
	drainTime = 5 * time.Second
)

// bodyReader reads a request's body from the client under a limit of size and
// a deadline that moves with what has arrived.
type bodyReader struct {
	x       *exchange
	r       io.Reader
	read    int
	limit   int
	start   time.Time
	allowed int // seconds granted by the deadline set last, 0 before the first
	err     error
}

func (b *bodyReader) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.read >= fasthttpPrefetch { // up to there it is in memory
		if allowed := 1 + b.read/minBodyRate; allowed != b.allowed {
			b.allowed = allowed
			_ = b.x.client.SetReadDeadline(b.start.Add(b.x.s.cfg.ReadHeaderTimeout + time.Duration(allowed)*time.Second))
		}
	}
	n, err := b.r.Read(p)
	b.read += n
	switch {
	case b.read > b.limit:
		err = errTooLarge
	case err == nil || err == io.EOF:
	case isTimeout(err):
		err = errSlowBody
	default:
		err = errBody
	}
	b.err = err
	return n, err
}

// drain reads on for a while after a refusal.
func (b *bodyReader) drain() {
	_ = b.x.client.SetReadDeadline(time.Now().Add(drainTime))
	if tcp, ok := b.x.client.Conn.(interface{ CloseWrite() error }); ok {
		_ = tcp.CloseWrite()
	}
	_, _ = io.CopyN(io.Discard, b.r, drainBody)
}

// fasthttpPrefetch is what fasthttp reads of a body before the handler runs.
const fasthttpPrefetch = 8 << 10

// openBody finds out how the request's body is framed. errTooLarge comes
// before a byte is read where the length says so.
func (x *exchange) openBody() error {
	stream := x.ctx.RequestBodyStream()
	x.size = x.ctx.Request.Header.ContentLength()
	if x.size == -2 || stream == nil {
		x.size = -2
		if x.head.length {
			x.size = 0
		}
		return nil
	}
	x.arriving = bodyReader{x: x, r: stream, limit: x.s.cfg.MaxBodyBytes, start: x.began}
	x.rest = &x.arriving
	if x.size > x.s.cfg.MaxBodyBytes {
		return errTooLarge
	}
	return nil
}

// holdBody reads the body into memory, as far as limit and the budget for all
// bodies allow. Memory follows what has arrived, not what was announced. When
// more is to come x.rest stays set, and nothing is lost.
func (x *exchange) holdBody(limit int) error {
	if x.rest == nil || x.size > limit {
		return nil
	}
	for {
		if len(x.body) == cap(x.body) && !x.grow(limit) {
			return nil
		}
		n, err := x.rest.Read(x.body[len(x.body):cap(x.body)])
		x.body = x.body[:len(x.body)+n]
		if err == io.EOF {
			x.rest = nil
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// grow doubles the room for the body, or says that limit or budget is reached.
func (x *exchange) grow(limit int) bool {
	size := max(2*cap(x.body), 4<<10)
	if x.size >= 0 {
		size = min(size, x.size+1) // one more byte, to see the end
	}
	size = min(size, limit+1)
	if size <= cap(x.body) {
		return false
	}
	more := int64(size) - x.held
	if x.s.buffered.Add(more) > int64(x.s.cfg.EnrichBufferBytes) {
		x.s.buffered.Add(-more)
		return false
	}
	x.held += more
	body := make([]byte, len(x.body), size)
	copy(body, x.body)
	x.body = body
	return true
}

var errUpstreamWrite = errors.New("writing the request to upstream failed")

// sendRest streams what was not held. The error is errUpstreamWrite or the
// client's.
func (x *exchange) sendRest(c *upstreamConn) error {
	buf := x.s.frames.Get().(*frame)
	defer x.s.frames.Put(buf)
	for {
		n, err := x.rest.Read(buf.room())
		data := buf.data(n)
		if x.size == -1 {
			data = buf.chunk(n, false)
		}
		if n > 0 {
			if _, werr := c.Write(data); werr != nil {
				return errUpstreamWrite
			}
		}
		if err == io.EOF {
			x.rest = nil
			break
		}
		if err != nil {
			return err
		}
	}
	if x.size == -1 {
		if _, err := c.Write([]byte("0\r\n\r\n")); err != nil {
			return errUpstreamWrite
		}
	}
	return nil
}
