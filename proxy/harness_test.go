package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"strata/internal/upstreamtest"
	"strata/proxy"
)

// strata is a running data plane.
type strata struct {
	*proxy.Server
	addr    string
	url     string
	metrics *prometheus.Registry
}

// start runs a data plane in front of upstream (a base URL). change may alter
// the configuration.
func start(t testing.TB, upstream string, change func(*proxy.Config)) *strata {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	cfg := proxy.Config{
		Upstream: u, MaxConnections: 1024, QueueWait: 2 * time.Second, ConnectTimeout: 5 * time.Second,
		FirstByteTimeout: time.Minute, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, MaxBodyBytes: 100 << 20, EnrichMaxBodyBytes: 16 << 20, EnrichBufferBytes: 256 << 20,
		ReadHeaderTimeout: 30 * time.Second, Mode: "on", Loopback: true,
		Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil)), Metrics: reg,
	}
	if change != nil {
		change(&cfg)
	}
	s, err := proxy.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		_ = s.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &strata{Server: s, addr: ln.Addr().String(), url: "http://" + ln.Addr().String(), metrics: reg}
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", bytes.TrimSpace(p))
	return len(p), nil
}

// counter reads a metric; labels are name=value pairs.
func (s *strata) counter(t testing.TB, name string, labels ...string) float64 {
	t.Helper()
	families, err := s.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			have := map[string]string{}
			for _, l := range m.GetLabel() {
				have[l.GetName()] = l.GetValue()
			}
			match := true
			for i := 0; i < len(labels); i += 2 {
				match = match && have[labels[i]] == labels[i+1]
			}
			if match {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// caseFile reads a recorded case.
func caseFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// client has connections of its own, so that tests do not share any.
func client(t testing.TB) *http.Client {
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// post sends a chat request and returns the answer with its body read.
func post(t testing.TB, c *http.Client, url string, body []byte, headers ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequest("POST", url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, b
}

// raw sends bytes on a new connection and returns all that comes back until
// the other side closes; the connection's sending side stays open.
func raw(t testing.TB, addr, request string) string {
	t.Helper()
	c := dial(t, addr)
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	b, err := io.ReadAll(c)
	if err != nil {
		return string(b) + fmt.Sprintf("<%v>", err)
	}
	return string(b)
}

func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// readHead reads one head from a raw connection.
func readHead(t testing.TB, br *bufio.Reader) string {
	t.Helper()
	var b strings.Builder
	for !strings.HasSuffix(b.String(), "\r\n\r\n") {
		c, err := br.ReadByte()
		if err != nil {
			t.Fatalf("after %q: %v", b.String(), err)
		}
		b.WriteByte(c)
	}
	return b.String()
}

// lastRequest waits until upstream had n calls and returns the last.
func lastRequest(t testing.TB, up *upstreamtest.Server, n int) *upstreamtest.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := up.WaitCalls(ctx, n); err != nil {
		t.Fatal(err)
	}
	rs := up.Requests()
	return rs[len(rs)-1]
}

// within fails the test unless ch is closed in time.
func within(t testing.TB, d time.Duration, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(d):
		t.Fatalf("%s: not within %v", what, d)
	}
}

const chatBody = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`

const chatAnswer = `{"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6,"prompt_tokens_details":{"cached_tokens":3}}}`

func tlsRoots(up *upstreamtest.Server) *tls.Config {
	return &tls.Config{RootCAs: up.CertPool(), MinVersion: tls.VersionTLS12}
}
