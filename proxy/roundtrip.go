package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// roundTrip sends the request and reads the head of the answer into x.answer.
// block is that head as upstream sent it, valid until the next read. The
// caller holds a place of the upstream's.
//
// A request is sent a second time only when a kept connection turns out to
// have closed before upstream's system took any byte of it.
func (x *exchange) roundTrip() (c *upstreamConn, block []byte, err error) {
	for {
		c, err = x.s.upstream.connect(x.context, x.began)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", errConnect, err)
		}
		if !x.hold(c) {
			return nil, nil, errGone
		}
		whole := x.rest == nil
		x.out = x.appendRequestHead(x.out[:0])
		size := len(x.out) + len(x.body)
		x.sent = time.Now()
		if err = x.send(c); err == nil {
			block, err = x.readHead(c)
		}
		if err == nil {
			return c, block, nil
		}
		again := c.reused && whole && errors.Is(err, errClosed) && neverRead(c.raw, size) && !x.gone()
		x.hold(nil)
		_ = c.Close()
		if !again {
			return nil, nil, err
		}
		x.s.metrics.resent.Inc()
	}
}

// send writes the request. When upstream closes its side before it has all of
// the body there may be an answer already (a 401, a 413), so a failed write
// of the body is left for readHead to judge.
func (x *exchange) send(c *upstreamConn) error {
	switch {
	case x.size == -1 && len(x.body) > 0:
		x.out = fmt.Appendf(x.out, "%x\r\n", len(x.body))
		x.out = append(x.out, x.body...)
		x.out = append(x.out, "\r\n"...)
	case len(x.body) <= frameSize:
		x.out = append(x.out, x.body...)
	}
	pieces := net.Buffers{x.out}
	if x.size != -1 && len(x.body) > frameSize {
		pieces = append(pieces, x.body)
	}
	if x.size == -1 && x.rest == nil {
		pieces = append(pieces, []byte("0\r\n\r\n"))
	}
	var err error
	if len(pieces) == 1 {
		_, err = c.Write(x.out)
	} else {
		_, err = pieces.WriteTo(c.Conn)
	}
	if err == nil && x.rest != nil {
		if err = x.sendRest(c); err == nil {
			x.client.bodyRead()
		}
	}
	switch {
	case err == nil, errors.Is(err, errUpstreamWrite), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
		return nil
	case errors.Is(err, errTooLarge), errors.Is(err, errSlowBody), errors.Is(err, errBody):
		return err
	}
	return fmt.Errorf("%w: %w", errClosed, err)
}

// readHead waits for the head of the answer and checks it. Interim answers
// are passed over.
func (x *exchange) readHead(c *upstreamConn) (block []byte, err error) {
	_ = c.SetReadDeadline(time.Now().Add(x.s.cfg.FirstByteTimeout))
	for interim := 0; interim < 100; interim++ {
		block, err = peekHead(c.br)
		if err != nil {
			return nil, err
		}
		if err := x.answer.Read(c.br); err != nil {
			// The library's error quotes the head, which may hold secrets.
			return nil, errAnswer
		}
		status := x.answer.StatusCode()
		if status >= 200 || status == fasthttp.StatusSwitchingProtocols {
			x.head1 = time.Now()
			return block, nil
		}
	}
	return nil, errAnswer
}

// peekHead waits until a whole head is in the reader's buffer and returns it
// without taking it out.
func peekHead(br *bufio.Reader) ([]byte, error) {
	for n := 1; ; n = br.Buffered() + 1 {
		if n > br.Size() {
			return nil, errAnswer
		}
		_, err := br.Peek(n)
		block, _ := br.Peek(br.Buffered())
		if end := headEnd(block); end > 0 {
			return block[:end], nil
		}
		switch {
		case err == nil:
		case isTimeout(err):
			return nil, errSilent
		case len(block) == 0 && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
			return nil, errClosed
		case len(block) == 0:
			return nil, fmt.Errorf("%w: %w", errClosed, err)
		default:
			return nil, errAnswer
		}
	}
}

// headEnd returns the length of the head in b with its blank line, or 0.
func headEnd(b []byte) int {
	for i := 0; ; {
		j := bytes.IndexByte(b[i:], '\n')
		if j < 0 {
			return 0
		}
		i += j + 1
		rest := b[i:]
		if len(rest) > 0 && rest[0] == '\n' {
			return i + 1
		}
		if len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n' {
			return i + 2
		}
	}
}
