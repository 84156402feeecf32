//go:build unix

package proxy

import (
	"net"
	"syscall"
)

// idleUsable tells whether an idle upstream connection may carry another
// request: it is still open and holds no unasked-for bytes.
func idleUsable(raw syscall.RawConn) bool {
	if raw == nil {
		return false
	}
	var b [1]byte
	usable := false
	err := raw.Control(func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		usable = err == syscall.EAGAIN || err == syscall.EINTR
	})
	return err == nil && usable
}

func rawConn(c net.Conn) syscall.RawConn {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
