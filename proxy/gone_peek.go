//go:build !linux || peekwatch

package proxy

import (
	"sync"
	"time"
)

// goneWatcher notices clients that leave while their request is in progress.
// Here a goroutine per request looks at the socket without consuming
// anything (where the system lets it, see peekClosed). When pipelined bytes
// arrive the watch ends: a client that then leaves is noticed at the next
// write.
type goneWatcher struct {
	mu    sync.Mutex
	conns map[*clientConn]struct{}
}

// watchState holds the goroutine of the request in progress.
type watchState struct{ done chan struct{} }

func newGoneWatcher() (*goneWatcher, error) {
	return &goneWatcher{conns: make(map[*clientConn]struct{})}, nil
}

func (w *goneWatcher) add(c *clientConn) {
	w.mu.Lock()
	w.conns[c] = struct{}{}
	w.mu.Unlock()
}

func (w *goneWatcher) remove(c *clientConn) {
	w.mu.Lock()
	delete(w.conns, c)
	w.mu.Unlock()
}

// start runs once the body has been read: a look at the socket holds its read
// lock, so that earlier the handler could not read the body.
func (w *goneWatcher) start(c *clientConn) {
	_ = c.Conn.SetReadDeadline(time.Time{})
	done := make(chan struct{})
	c.watch.done = done
	go func() {
		defer close(done)
		if peekClosed(c.Conn) {
			c.left()
		}
	}()
}

func (w *goneWatcher) stop(c *clientConn) {
	if c.watch.done == nil {
		return
	}
	_ = c.Conn.SetReadDeadline(time.Unix(1, 0))
	<-c.watch.done
	c.watch.done = nil
	_ = c.Conn.SetReadDeadline(time.Time{})
}

// each calls f for every open client connection.
func (w *goneWatcher) each(f func(*clientConn)) {
	w.mu.Lock()
	conns := make([]*clientConn, 0, len(w.conns))
	for c := range w.conns {
		conns = append(conns, c)
	}
	w.mu.Unlock()
	for _, c := range conns {
		f(c)
	}
}

func (w *goneWatcher) close() {}
