package proxy

import (
	"net"
	"sync"
)

// listener hands accepted connections to the watcher that notices clients
// leaving, and to fasthttp as clientConn.
type listener struct {
	net.Listener
	gone *goneWatcher
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	cc := &clientConn{Conn: c}
	l.gone.add(cc)
	cc.watcher = l.gone
	return cc, nil
}

// clientConn is a client's connection. The handler writes answers to Conn by
// itself, byte for byte as upstream sent them, since fasthttp's Response
// reorders and respells header lines. What fasthttp then writes for the same
// request is one empty placeholder, dropped in Write.
type clientConn struct {
	net.Conn
	watcher *goneWatcher
	watch   watchState // platform's handle

	mu    sync.Mutex
	gone  bool   // the client closed its sending side or reset
	leave func() // cancels the exchange in flight

	placeholder bool // the next write is fasthttp's placeholder
}

// Write is called by fasthttp only: for 100 Continue, for answers to requests
// it could not parse, and for the placeholder.
func (c *clientConn) Write(p []byte) (int, error) {
	if c.placeholder {
		c.placeholder = false
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *clientConn) Close() error {
	c.watcher.remove(c)
	return c.Conn.Close()
}

// attach makes leave run once the client is gone, at once if it already is.
func (c *clientConn) attach(leave func()) {
	c.mu.Lock()
	c.leave = leave
	gone := c.gone
	c.mu.Unlock()
	if gone {
		leave()
	}
}

// bodyRead tells that nothing more of this request is to be read.
func (c *clientConn) bodyRead() { c.watcher.start(c) }

// detach ends attach. After it returned leave neither runs nor starts.
func (c *clientConn) detach() {
	c.watcher.stop(c)
	c.mu.Lock()
	c.leave = nil
	c.mu.Unlock()
}

// left is called by the watcher. leave runs under the lock, so that detach
// can wait for it; it only closes a connection and a channel.
func (c *clientConn) left() {
	c.mu.Lock()
	c.gone = true
	if c.leave != nil {
		c.leave()
	}
	c.mu.Unlock()
}
