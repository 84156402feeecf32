package proxy

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// neverRead tells whether none of the last size bytes sent on a connection
// that failed was acknowledged by the peer's system. Then no upstream can
// have seen the request, and sending it again cannot run it twice.
func neverRead(raw syscall.RawConn, size int) bool {
	if raw == nil {
		return false
	}
	never := false
	err := raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			return
		}
		// bytes_acked counts the SYN as one.
		sent := int64(info.Bytes_sent) - int64(info.Bytes_retrans)
		acked := int64(info.Bytes_acked) - 1
		never = sent-acked >= int64(size)
	})
	return err == nil && never
}
