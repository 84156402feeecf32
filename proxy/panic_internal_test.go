package proxy

import (
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A panic ends one request with a 500 in OpenAI's shape; the connection and
// the server go on.
func TestPanicEndsOneRequest(t *testing.T) {
	s, err := New(Config{Upstream: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, MaxConnections: 1, ConnectTimeout: time.Second,
		MaxHeaderBytes: 16 << 10, MaxBodyBytes: 1 << 20, IdleTimeout: time.Minute, ReadHeaderTimeout: time.Minute,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.gone.close()
	s.upstream.close()
	s.upstream = nil // whatever touches it panics
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(ln) }()
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	b, err := io.ReadAll(c)
	if got := string(b); err != nil || strings.Count(got, "HTTP/1.1 500 ") != 2 || strings.Count(got, `"code":"internal_error"`) != 2 {
		t.Errorf("%v %q", err, got)
	}
}
