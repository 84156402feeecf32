//go:build !unix

package proxy

import (
	"net"
	"syscall"
)

// peekClosed: this system has no look at a socket that consumes nothing, so a
// leaving client is noticed at the next write.
func peekClosed(net.Conn) bool { return false }

// idleUsable cannot look either and trusts the idle limit.
func idleUsable(syscall.RawConn) bool { return true }

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
