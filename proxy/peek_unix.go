//go:build unix

package proxy

import (
	"net"
	"syscall"
)

// peekClosed waits until the peer closed c or sent something, and tells
// whether it closed. A read deadline in the past ends the wait.
func peekClosed(c net.Conn) bool {
	raw := rawConn(c)
	if raw == nil {
		return false
	}
	var b [1]byte
	closed := false
	err := raw.Read(func(fd uintptr) bool {
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if err == syscall.EAGAIN || err == syscall.EINTR {
			return false
		}
		closed = n == 0 || err != nil
		return true
	})
	return err == nil && closed
}

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
