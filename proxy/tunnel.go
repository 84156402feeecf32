package proxy

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// tunnelGrace is how long one direction of an upgraded connection may go on
// after the other ended.
const tunnelGrace = 5 * time.Second

// tunnel passes an upgrade through: the handshake like any request, then raw
// bytes both ways.
func (x *exchange) tunnel() {
	if err := x.holdBody(smallBody); err != nil {
		x.fail(err)
		return
	}
	if err := x.acquire(); err != nil {
		x.fail(err)
		return
	}
	release := x.s.upstream.leave
	defer func() {
		if !x.hijacked {
			release()
		}
	}()
	c, block, err := x.roundTrip()
	if err != nil {
		x.fail(err)
		return
	}
	if x.answer.StatusCode() != fasthttp.StatusSwitchingProtocols {
		x.relay(c, block)
		return
	}
	x.out = append(x.appendAnswerHead(x.out[:0], block, false, true), "\r\n"...)
	if !x.flush() || !x.hold(nil) {
		_ = c.Close()
		return
	}
	x.client.detach()
	_ = x.client.Conn.SetDeadline(time.Time{})
	_ = c.SetDeadline(time.Time{})
	x.hijacked = true
	x.s.tunnels.Add(1)
	x.ctx.HijackSetNoResponse(true)
	socket, tunnels := x.client.Conn, &x.s.tunnels
	x.ctx.Hijack(func(client net.Conn) {
		defer tunnels.Done()
		defer release()
		pipe(client, socket, c)
	})
}

// pipe copies until both directions ended, or the second did not end soon
// after the first. client reads what fasthttp had buffered, too.
func pipe(client, socket net.Conn, c *upstreamConn) {
	done := make(chan struct{}, 2)
	go func() {
		_, _ = io.Copy(c.Conn, onlyReader{client})
		closeWrite(c.Conn)
		done <- struct{}{}
	}()
	go func() {
		_, _ = io.Copy(socket, onlyReader{c.br})
		closeWrite(socket)
		done <- struct{}{}
	}()
	<-done
	timer := time.NewTimer(tunnelGrace)
	defer timer.Stop()
	ended := false
	select {
	case <-done:
		ended = true
	case <-timer.C:
	}
	_ = c.Close()
	_ = socket.Close()
	if !ended {
		<-done
	}
}

// onlyReader hides WriteTo, which would copy through buffers of its own
// making.
type onlyReader struct{ io.Reader }

func closeWrite(c net.Conn) {
	if cw, ok := c.(interface{ CloseWrite() error }); ok {
		if err := cw.CloseWrite(); err == nil || errors.Is(err, net.ErrClosed) {
			return
		}
	}
	_ = c.Close()
}
