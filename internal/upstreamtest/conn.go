package upstreamtest

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"slices"
	"time"
)

const (
	readSize = 4 << 10
	// drainTime bounds the reading after an answer to a body that was not read:
	// closing with bytes unread would reset the connection and lose the answer.
	drainTime = 2 * time.Second
)

// conn is one accepted connection. Only the goroutine of serve touches it,
// except that while the peer is watched the read side (nc.Read, buf, w) belongs
// to the watcher.
type conn struct {
	server *Server
	tcp    *net.TCPConn
	nc     net.Conn // tcp, or TLS over it
	number int
	remote string

	buf  []byte // buf[r:w] has been read and not been used
	r, w int

	headers []Header // reused without records
	body    []byte   // reused without records
	out     []byte   // one write is put together here
	timer   *time.Timer
	watch   chan struct{} // closed by the watcher at its end; nil = not watched
}

func (c *conn) serve() {
	defer c.server.gone(c)
	defer func() {
		if c.timer != nil {
			c.timer.Stop()
		}
		c.nc.Close()
	}()
	if c.server.opts.neverRead {
		<-c.server.closed
		return
	}
	for n := 1; ; n++ {
		r, err := c.readRequest(n)
		if err != nil {
			c.refuse(err)
			return
		}
		if !c.exchange(r) {
			return
		}
		if limit := c.server.opts.maxRequests; limit > 0 && n >= limit {
			return
		}
	}
}

// exchange reads the body, asks the handler and runs its script. It reports
// whether the connection stays open.
func (c *conn) exchange(r *Request) bool {
	defer close(r.done)
	if h := c.server.opts.onHead; h != nil {
		if s := h(r); s != nil {
			r.HeadOnly, r.At = true, time.Now()
			c.server.record(r)
			c.play(r, s) // unwatched: a watcher would read the body
			c.drain()
			return false
		}
	}
	if hasToken(r.Get("Expect"), "100-continue") && len(c.pending()) == 0 {
		if _, err := c.nc.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n")); err != nil {
			return false
		}
	}
	if err := c.readBody(r); err != nil {
		c.server.refused(r.Head + string(r.RawBody))
		c.refuse(err)
		return false
	}
	r.At = time.Now()
	c.server.record(r)
	return c.perform(r, *c.server.handler.Load())
}

// perform asks the handler and runs its script while the peer is watched.
// Without records nobody can see that it left, so that only scripts that wait
// are worth a watcher.
func (c *conn) perform(r *Request, handler Handler) bool {
	if !c.server.opts.noRecord {
		c.watchPeer(r)
	}
	defer c.stopWatching()
	s := handler(r)
	if s == nil {
		return false
	}
	if c.watch == nil && s.waits() {
		c.watchPeer(r)
	}
	return c.play(r, s)
}

func (c *conn) play(r *Request, s *Script) bool {
	p := player{c: c, r: r, s: s, bodiless: bodiless(r, s)}
	return p.play() && !s.closeAfter && r.keepAlive() && !r.hasLeft()
}

// watchPeer reads ahead on a goroutine of its own, which is the only way to see
// at once that the peer has gone while nothing is written. Bytes of a next
// request are kept.
func (c *conn) watchPeer(r *Request) {
	done := make(chan struct{})
	c.watch = done
	go func() {
		defer close(done)
		for {
			err := c.fill()
			switch {
			case err == nil:
			case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
				return // stopped, or closed from this side
			default:
				r.markLeft()
				return
			}
		}
	}()
}

func (c *conn) stopWatching() {
	if c.watch == nil {
		return
	}
	c.nc.SetReadDeadline(time.Unix(1, 0))
	<-c.watch
	c.watch = nil
	c.nc.SetReadDeadline(time.Time{})
}

// refuse answers what cannot be read as a request; a peer that went away
// between requests gets nothing.
func (c *conn) refuse(err error) {
	if errors.Is(err, errMalformed) {
		c.nc.Write([]byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
		c.drain()
	}
}

// drain sends FIN and reads on until the peer has closed too.
func (c *conn) drain() {
	if t, ok := c.nc.(*tls.Conn); ok {
		t.CloseWrite()
	}
	if err := c.tcp.CloseWrite(); err != nil {
		return
	}
	c.tcp.SetReadDeadline(time.Now().Add(drainTime))
	var sink [readSize]byte
	for {
		if _, err := c.tcp.Read(sink[:]); err != nil {
			return
		}
	}
}

// reset makes the close that follows send RST instead of FIN.
func (c *conn) reset() {
	c.tcp.SetLinger(0)
	c.tcp.Close()
}

// sleep waits for d. It reports false when the server closed or left was closed
// meanwhile.
func (c *conn) sleep(d time.Duration, left <-chan struct{}) bool {
	if c.timer == nil {
		c.timer = time.NewTimer(d)
	} else {
		c.timer.Reset(d)
	}
	select {
	case <-c.timer.C:
		return true
	case <-left:
	case <-c.server.closed:
	}
	c.timer.Stop()
	return false
}

func (c *conn) pending() []byte { return c.buf[c.r:c.w] }

// fill reads what is there, at least one byte.
func (c *conn) fill() error { return c.fillUpTo(readSize) }

func (c *conn) fillUpTo(n int) error {
	if c.r == c.w {
		c.r, c.w = 0, 0
	}
	if len(c.buf)-c.w < n {
		copy(c.buf, c.buf[c.r:c.w])
		c.r, c.w = 0, c.w-c.r
		c.buf = slices.Grow(c.buf[:c.w], n)
		c.buf = c.buf[:cap(c.buf)]
	}
	limit := len(c.buf)
	if n < readSize {
		limit = c.w + n
	}
	got, err := c.nc.Read(c.buf[c.w:limit])
	c.w += got
	if got > 0 {
		return nil
	}
	return err
}
