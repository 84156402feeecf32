//go:build linux && !peekwatch

package proxy

import (
	"os"
	"sync"
	"syscall"
)

// goneWatcher notices clients that leave while their request is in progress,
// also while nothing is read from or written to them. Each connection is
// registered once with an epoll of our own for "peer closed" alone, edge
// triggered: no system call and no goroutine per request. The epoll's
// descriptor itself sits in Go's poller, so that no thread blocks.
type goneWatcher struct {
	file *os.File
	fd   int

	mu    sync.Mutex
	conns map[int32]*clientConn // by descriptor
	gen   int32
}

// watchState finds a connection again; gen tells it from a later one that got
// the same descriptor.
type watchState struct{ fd, gen int32 }

func newGoneWatcher() (*goneWatcher, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		_ = syscall.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	w := &goneWatcher{file: os.NewFile(uintptr(fd), "epoll"), fd: fd, conns: make(map[int32]*clientConn)}
	raw, err := w.file.SyscallConn()
	if err != nil {
		_ = w.file.Close()
		return nil, err
	}
	go w.run(raw)
	return w, nil
}

// run ends when close closes the epoll.
func (w *goneWatcher) run(raw syscall.RawConn) {
	events := make([]syscall.EpollEvent, 64)
	for {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			var err error
			n, err = syscall.EpollWait(int(fd), events, 0)
			return n > 0 || (err != nil && err != syscall.EINTR)
		})
		if err != nil || n < 0 {
			return
		}
		for _, e := range events[:n] {
			w.mu.Lock()
			c := w.conns[e.Fd]
			w.mu.Unlock()
			if c != nil && c.watch.gen == e.Pad {
				c.left()
			}
		}
	}
}

func (w *goneWatcher) add(c *clientConn) {
	raw := rawConn(c.Conn)
	if raw == nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.gen++
		c.watch = watchState{fd: int32(fd), gen: w.gen}
		w.conns[c.watch.fd] = c
		const edge = 1 << 31 // EPOLLET, which package syscall has as a negative constant
		e := syscall.EpollEvent{Events: syscall.EPOLLRDHUP | edge, Fd: c.watch.fd, Pad: c.watch.gen}
		// Cannot fail for a socket just accepted; if it does, a leaving
		// client is noticed at the next write.
		_ = syscall.EpollCtl(w.fd, syscall.EPOLL_CTL_ADD, int(fd), &e)
	})
}

// remove forgets c; closing its descriptor takes it out of the epoll.
func (w *goneWatcher) remove(c *clientConn) {
	w.mu.Lock()
	if w.conns[c.watch.fd] == c {
		delete(w.conns, c.watch.fd)
	}
	w.mu.Unlock()
}

// start and stop bracket one request; there is nothing to do per request.
func (w *goneWatcher) start(*clientConn) {}
func (w *goneWatcher) stop(*clientConn)  {}

// each calls f for every open client connection.
func (w *goneWatcher) each(f func(*clientConn)) {
	w.mu.Lock()
	conns := make([]*clientConn, 0, len(w.conns))
	for _, c := range w.conns {
		conns = append(conns, c)
	}
	w.mu.Unlock()
	for _, c := range conns {
		f(c)
	}
}

func (w *goneWatcher) close() { _ = w.file.Close() }
