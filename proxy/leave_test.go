package proxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"strata/internal/upstreamtest"
	"strata/proxy"
)

const chatHead = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

func chatRequest(body string) string {
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", chatHead, len(body), body)
}

// A client that leaves ends its upstream request, whatever was going on, and
// however it left.
func TestClientLeaves(t *testing.T) {
	events := upstreamtest.Stream()
	for i := range 3 {
		events.Write(fmt.Appendf(nil, "data: tok-%d\n\n", i))
	}
	for phase, script := range map[string]*upstreamtest.Script{
		"before the head":       upstreamtest.Hang(),
		"in a silent stream":    events.Silence(),
		"after the head":        upstreamtest.Stream().SendHead().Silence(),
		"in a body with length": upstreamtest.Respond(200).Frame(upstreamtest.None).Header("Content-Length", "100").Write([]byte("x")).Silence(),
	} {
		for how, leave := range map[string]func(*net.TCPConn){
			"FIN":        func(c *net.TCPConn) { _ = c.Close() },
			"RST":        func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() },
			"half-close": func(c *net.TCPConn) { _ = c.CloseWrite() },
		} {
			t.Run(phase+" by "+how, func(t *testing.T) {
				up := upstreamtest.New(t, upstreamtest.Always(script))
				s := start(t, up.URL(), nil)
				c := dial(t, s.addr).(*net.TCPConn)
				if _, err := io.WriteString(c, chatRequest(chatBody)); err != nil {
					t.Fatal(err)
				}
				r := lastRequest(t, up, 1)
				if phase == "in a silent stream" {
					br := bufio.NewReader(c)
					readHead(t, br)
					for line := ""; line != "data: tok-2\n"; {
						var err error
						if line, err = br.ReadString('\n'); err != nil {
							t.Fatal(err)
						}
					}
				}
				leave(c)
				within(t, 2*time.Second, r.Left(), "upstream's connection closed")
				if phase == "before the head" {
					return
				}
				up.SetHandler(upstreamtest.Always(upstreamtest.JSON(200, chatAnswer)))
				if _, body := post(t, client(t), s.url+"/v1/chat/completions", []byte(chatBody)); string(body) != chatAnswer {
					t.Errorf("the next request got %q", body)
				}
			})
		}
	}
}

// A client that leaves while it waits for a free connection never reaches
// upstream.
func TestClientLeavesTheQueue(t *testing.T) {
	done := make(chan struct{})
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Stream().SendHead().Wait(done)))
	s := start(t, up.URL(), func(c *proxy.Config) { c.MaxConnections = 1; c.QueueWait = time.Minute })
	first := dial(t, s.addr)
	_, _ = io.WriteString(first, chatRequest(chatBody))
	lastRequest(t, up, 1)
	second := dial(t, s.addr)
	_, _ = io.WriteString(second, chatRequest(chatBody))
	waitFor(t, "the second request in the queue", func() bool { return s.counter(t, "strata_requests_in_flight") == 2 })
	second.Close()
	waitFor(t, "the second request given up", func() bool { return s.counter(t, "strata_requests_in_flight") == 1 })
	close(done)
	waitFor(t, "the first request ended", func() bool { return s.counter(t, "strata_requests_in_flight") == 0 })
	if up.Calls() != 1 {
		t.Errorf("%d calls upstream", up.Calls())
	}
}

// Leaving clients leave nothing behind.
func TestLeavingLeavesNothing(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Stream().Write([]byte("data: 1\n\n")).Silence()))
	s := start(t, up.URL(), nil)
	before := runtime.NumGoroutine()
	for round := range 4 {
		var conns []net.Conn
		for range 50 {
			c := dial(t, s.addr)
			_, _ = io.WriteString(c, chatRequest(chatBody))
			conns = append(conns, c)
		}
		lastRequest(t, up, (round+1)*50)
		for _, c := range conns {
			c.Close()
		}
		waitFor(t, "all requests ended", func() bool { return s.counter(t, "strata_requests_in_flight") == 0 })
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := up.WaitOpenConns(ctx, 0); err != nil {
		t.Errorf("upstream still has %d connections: %v", up.OpenConns(), err)
	}
	// fasthttp keeps workers for a while; they are one per connection at most.
	waitFor(t, "goroutines back to the start", func() bool { return runtime.NumGoroutine() < before+60 })
}

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 10 s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Over the limit requests wait a while, then get a clear answer.
func TestConnectionLimit(t *testing.T) {
	release := make(chan struct{})
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		if r.Get("X-Hold") != "" {
			return upstreamtest.Stream().Write([]byte("data: 1\n\n")).Wait(release)
		}
		return upstreamtest.JSON(200, chatAnswer)
	})
	s := start(t, up.URL(), func(c *proxy.Config) { c.MaxConnections = 5; c.QueueWait = 300 * time.Millisecond })
	for range 5 {
		c := dial(t, s.addr)
		_, _ = io.WriteString(c, chatHead+fmt.Sprintf("X-Hold: 1\r\nContent-Length: %d\r\n\r\n%s", len(chatBody), chatBody))
	}
	lastRequest(t, up, 5)
	resp, body := post(t, client(t), s.url+"/v1/chat/completions", []byte(chatBody))
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || resp.Header.Get("X-Strata-Error") != "upstream_busy" ||
		!strings.Contains(string(body), `"type":"server_error"`) {
		t.Errorf("over the limit: %d %v %s", resp.StatusCode, resp.Header, body)
	}
	answered := make(chan int, 5)
	for range 5 {
		go func() {
			resp, err := http.Post(s.url+"/v1/chat/completions", "application/json", strings.NewReader(chatBody))
			if err != nil {
				answered <- 0
				return
			}
			resp.Body.Close()
			answered <- resp.StatusCode
		}()
	}
	waitFor(t, "five more waiting", func() bool { return s.counter(t, "strata_requests_in_flight") == 10 })
	close(release)
	for range 5 {
		if code := <-answered; code != 200 {
			t.Errorf("a waiting request got %d", code)
		}
	}
}

// Upstreams that do not answer.
func TestNoAnswer(t *testing.T) {
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused.Close()
	for _, c := range []struct {
		name   string
		script *upstreamtest.Script
		status int
		code   string
	}{
		{"nobody listens", nil, 502, "upstream_unreachable"},
		{"closed", upstreamtest.NoAnswer(), 502, "upstream_closed"},
		{"not HTTP", upstreamtest.RawAnswer().Raw([]byte("SSH-2.0-x\r\n\r\n")), 502, "upstream_bad_answer"},
		{"two lengths", upstreamtest.RawAnswer().Raw([]byte("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")), 502, "upstream_bad_answer"},
		{"huge head", upstreamtest.Respond(200).Header("X", strings.Repeat("x", 20_000)), 502, "upstream_bad_answer"},
		{"half a head", upstreamtest.RawAnswer().Raw([]byte("HTTP/1.1 200 OK\r\nX: 1\r\n")).CloseNow(), 502, "upstream_bad_answer"},
		{"silent", upstreamtest.Hang(), 504, "upstream_timeout"},
	} {
		url := "http://" + refused.Addr().String()
		var up *upstreamtest.Server
		if c.script != nil {
			up = upstreamtest.New(t, upstreamtest.Always(c.script))
			url = up.URL()
		}
		s := start(t, url, func(c *proxy.Config) { c.FirstByteTimeout = 300 * time.Millisecond })
		resp, body := post(t, client(t), s.url+"/v1/chat/completions", []byte(chatBody))
		if resp.StatusCode != c.status || !strings.Contains(string(body), `"code":"`+c.code+`"`) || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, body)
		}
		if up != nil && up.Calls() != 1 {
			t.Errorf("%s: %d calls, want 1", c.name, up.Calls())
		}
	}
}

// A kept connection that upstream closed is not used; one that it closes
// while a request is under way fails once and is never sent twice if it may
// have been read.
func TestKeptConnections(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.JSON(200, chatAnswer)), upstreamtest.IdleClose(30*time.Millisecond))
	s := start(t, up.URL(), nil)
	c := client(t)
	failed := 0
	for i := range 200 {
		resp, _ := post(t, c, s.url+"/v1/chat/completions", []byte(chatBody))
		if resp.StatusCode != 200 {
			failed++
		}
		time.Sleep(time.Duration(25+i%10) * time.Millisecond) // around the limit, which is the point
	}
	if failed > 1 {
		t.Errorf("%d of 200 requests failed", failed)
	}
	if n := up.Calls(); n > 200 {
		t.Errorf("upstream counted %d calls", n)
	}

	first := true
	twice := upstreamtest.New(t, func(*upstreamtest.Request) *upstreamtest.Script {
		if first {
			first = false
			return upstreamtest.JSON(200, chatAnswer)
		}
		return upstreamtest.NoAnswer()
	})
	s = start(t, twice.URL(), nil)
	post(t, c, s.url+"/v1/chat/completions", []byte(chatBody))
	resp, _ := post(t, c, s.url+"/v1/chat/completions", []byte(chatBody))
	if resp.StatusCode != 502 || twice.Calls() != 2 || twice.Accepted() != 1 {
		t.Errorf("read and closed on a kept connection: %d, %d calls on %d connections", resp.StatusCode, twice.Calls(), twice.Accepted())
	}
}

// Long silences within a stream pass, up to the limit set.
func TestSilence(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Stream().Write([]byte("data: 1\n\n")).
		Pause(300*time.Millisecond).Write([]byte("data: 2\n\n"))))
	s := start(t, up.URL(), func(c *proxy.Config) { c.IdleTimeout = time.Second; c.FirstByteTimeout = 100 * time.Millisecond })
	if _, b := post(t, client(t), s.url+"/v1/chat/completions", []byte(chatBody)); string(b) != "data: 1\n\ndata: 2\n\n" {
		t.Errorf("%q", b)
	}
	s = start(t, up.URL(), func(c *proxy.Config) { c.IdleTimeout = 100 * time.Millisecond })
	resp, err := client(t).Post(s.url+"/v1/chat/completions", "application/json", strings.NewReader(chatBody))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("silent for too long, yet complete: %q", b)
	}
}

// Shutdown lets streams end; what is left at its deadline is cut visibly.
func TestShutdown(t *testing.T) {
	release := make(chan struct{})
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		if r.Path() == "/forever" {
			return upstreamtest.Stream().Write([]byte("data: 1\n\n")).Silence()
		}
		return upstreamtest.Stream().Write([]byte("data: 1\n\n")).Wait(release).Write([]byte("data: 2\n\n"))
	})
	s := start(t, up.URL(), nil)
	get := func(path string) *http.Response {
		resp, err := client(t).Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	ends, forever := get("/ends"), get("/forever")
	ctx, cancel := context.WithTimeout(context.Background(), 700*time.Millisecond)
	defer cancel()
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(ctx) }()
	waitFor(t, "listener closed", func() bool {
		c, err := net.Dial("tcp", s.addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	close(release)
	if b, err := io.ReadAll(ends.Body); err != nil || string(b) != "data: 1\n\ndata: 2\n\n" {
		t.Errorf("the stream in flight: %q %v", b, err)
	}
	if err := <-down; err != context.DeadlineExceeded {
		t.Errorf("Shutdown: %v", err)
	}
	if b, err := io.ReadAll(forever.Body); err == nil {
		t.Errorf("a cut stream ended well: %q", b)
	}
}
