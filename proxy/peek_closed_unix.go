//go:build unix && (!linux || peekwatch)

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
