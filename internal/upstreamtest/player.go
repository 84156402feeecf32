package upstreamtest

import (
	"net"
	"slices"
	"strconv"
)

// player runs one script on one connection.
type player struct {
	c        *conn
	r        *Request
	s        *Script
	headSent bool
	bodiless bool
}

// play runs the steps and reports whether the connection may serve another
// request.
func (p *player) play() bool {
	last := p.lastOutput()
	for i := range p.s.steps {
		if i == last {
			p.r.finish()
		}
		st := &p.s.steps[i]
		if st.kind.terminal() {
			return p.end(st)
		}
		if !p.step(st) {
			return false
		}
	}
	p.r.finish()
	return p.end(&step{kind: stepEnd})
}

// lastOutput is the index of the step after whose bytes the peer has all there
// will be; the number of steps when it has all only at the end.
func (p *player) lastOutput() int {
	end := len(p.s.steps)
	for i := range p.s.steps {
		if p.s.steps[i].kind.terminal() {
			end = i
			break
		}
	}
	ends := end == len(p.s.steps) || p.s.steps[end].kind == stepEnd
	if ends && (p.s.framing == Chunked || p.s.framing == CloseDelimited) {
		return end
	}
	for i := end - 1; i >= 0; i-- {
		kind := p.s.steps[i].kind
		if kind.waits() {
			return i + 1
		}
		if kind == stepHead || kind == stepRaw || kind == stepWrite && !p.bodiless {
			return i
		}
	}
	return end
}

// step runs one step that is not the end; false stops the script.
func (p *player) step(st *step) bool {
	switch st.kind {
	case stepWrite:
		return p.write(st.data)
	case stepRaw:
		return p.raw(st.data)
	case stepInterim:
		_, err := p.c.nc.Write(st.data)
		return err == nil
	case stepHead:
		return p.head()
	case stepDo:
		st.do()
		return true
	default:
		return p.wait(st)
	}
}

func (p *player) write(data []byte) bool {
	if p.bodiless {
		return true
	}
	var out []byte
	switch {
	case p.s.framing == Chunked:
		out = p.start(len(data) + 16)
		out = strconv.AppendInt(out, int64(len(data)), 16)
		out = append(out, crlf...)
		out = append(out, data...)
		out = append(out, crlf...)
	case p.pendingHead():
		out = append(p.start(len(data)), data...)
	default:
		out = data
	}
	p.r.writing()
	if !p.put(out) {
		return false
	}
	p.r.wrote()
	return true
}

func (p *player) raw(data []byte) bool {
	if p.pendingHead() {
		data = append(p.start(len(data)), data...)
	}
	return p.put(data)
}

func (p *player) head() bool {
	if !p.pendingHead() {
		return true
	}
	return p.put(p.start(0))
}

// pendingHead says that a head has to go out before the next bytes.
func (p *player) pendingHead() bool { return !p.headSent && p.s.status != 0 }

// start returns the buffer of the connection, with the head in it when it is
// due and room for extra bytes.
func (p *player) start(extra int) []byte {
	out := p.c.out[:0]
	if p.pendingHead() {
		out = p.s.appendHead(out)
	}
	p.c.out = slices.Grow(out, extra)
	return p.c.out
}

// put is the one place where an answer meets the socket: one write.
func (p *player) put(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	p.headSent = true
	_, err := p.c.nc.Write(b)
	return err == nil
}

// wait runs a step that waits. Silence ends the script in any case.
func (p *player) wait(st *step) bool {
	left := p.r.left
	if p.s.stubborn && st.kind != stepSilence {
		left = nil
	}
	if st.kind == stepPause {
		return p.c.sleep(st.pause, left)
	}
	select {
	case <-st.ch: // nil, and so for ever, when silent
		return true
	case <-left:
	case <-p.c.server.closed:
	}
	return false
}

// end runs the last step and reports whether the connection can be kept.
func (p *player) end(st *step) bool {
	switch st.kind {
	case stepReset:
		p.c.reset()
		return false
	case stepClose:
		return false
	case stepTakeOver:
		p.c.stopWatching()
		st.take(&takenConn{Conn: p.c.nc, c: p.c})
		return false
	}
	out := p.start(0)
	if p.s.framing == Chunked && !p.bodiless {
		out = append(out, "0\r\n"...)
		for _, line := range p.s.trailers {
			out = append(out, line...)
			out = append(out, crlf...)
		}
		out = append(out, crlf...)
	}
	return p.put(out) && p.s.framing != CloseDelimited
}

// takenConn is a connection after TakeOver: bytes read ahead come first.
type takenConn struct {
	net.Conn
	c *conn
}

func (t *takenConn) Read(b []byte) (int, error) {
	if in := t.c.pending(); len(in) > 0 {
		n := copy(b, in)
		t.c.r += n
		return n, nil
	}
	return t.Conn.Read(b)
}

// Upgrade answers 101 with the given header lines and then sends every byte
// back until the peer closes.
func Upgrade(headerLines ...string) *Script {
	return Respond(101).Frame(None).HeaderLines(headerLines...).TakeOver(echo)
}

func echo(nc net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := nc.Read(buf)
		if n > 0 {
			if _, werr := nc.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
