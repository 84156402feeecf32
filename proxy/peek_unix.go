//go:build unix

package proxy

import "syscall"

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
