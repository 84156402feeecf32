package proxy_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/internal/upstreamtest"
	"strata/proxy"
)

// What is not a proper request gets a 4xx in OpenAI's shape or is forwarded;
// the next connection works.
func TestBadRequests(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.JSON(200, "{}")))
	s := start(t, up.URL(), func(c *proxy.Config) { c.MaxBodyBytes = 1 << 20 })
	for _, c := range []struct{ name, request, status string }{
		{"garbage", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", "400"},
		{"no path", "GET\r\n\r\n", "400"},
		{"two lengths", chatHead + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x", "400"},
		{"negative length", chatHead + "Content-Length: -2\r\n\r\n{}", "400"},
		{"length is a word", chatHead + "Content-Length: two\r\n\r\n{}", "400"},
		{"unknown coding", chatHead + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "400"},
		{"no host", "GET /v1/models HTTP/1.1\r\n\r\n", "400"},
		{"huge header", "GET /v1/models HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 40_000) + "\r\n\r\n", "431"},
		{"connect", "CONNECT example.test:443 HTTP/1.1\r\nHost: example.test:443\r\nConnection: close\r\n\r\n", "405"},
		{"bad chunk", chatHead + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", "400"},
		{"announced too large", chatHead + "Content-Length: 99999999\r\nConnection: close\r\n\r\n" + strings.Repeat("x", 9000), "413"},
		{"too large in chunks", chatHead + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" +
			strings.Repeat("10000\r\n"+strings.Repeat("x", 0x10000)+"\r\n", 20) + "0\r\n\r\n", "413"},
	} {
		got := raw(t, s.addr, c.request)
		if !strings.HasPrefix(got, "HTTP/1.1 "+c.status+" ") || !strings.Contains(got, `{"error":{"message":`) || !strings.Contains(got, "X-Strata-Error: ") {
			t.Errorf("%s: %.300q", c.name, got)
		}
	}
	if up.Calls() != 0 && len(up.Malformed()) != 0 {
		t.Errorf("%d calls, malformed %q", up.Calls(), up.Malformed())
	}
	if resp, _ := post(t, client(t), s.url+"/v1/chat/completions", []byte(chatBody)); resp.StatusCode != 200 {
		t.Errorf("afterwards: %d", resp.StatusCode)
	}
	// A length beside chunks: the chunks are the body, and upstream sees one framing.
	raw(t, s.addr, chatHead+"Content-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
	rs := up.Requests()
	if r := rs[len(rs)-1]; string(r.Body) != "{}" || (r.Get("Content-Length") != "" && r.Get("Transfer-Encoding") != "") {
		t.Errorf("length beside chunks: upstream got %s%q", r.Head, r.Body)
	}
}

// Heads of many kilobytes pass both ways.
func TestLongHeaders(t *testing.T) {
	script := upstreamtest.Respond(200).Write([]byte("{}"))
	for i := range 40 {
		script.Header(fmt.Sprintf("x-ratelimit-%d", i), strings.Repeat("v", 300))
	}
	up := upstreamtest.New(t, upstreamtest.Always(script))
	s := start(t, up.URL(), nil)
	auth, cookie := "Bearer "+strings.Repeat("a", 6000), strings.Repeat("c", 5000)
	resp, _ := post(t, client(t), s.url+"/v1/chat/completions", []byte(chatBody), "Authorization", auth, "Cookie", cookie)
	r := lastRequest(t, up, 1)
	if resp.StatusCode != 200 || r.Get("Authorization") != auth || r.Get("Cookie") != cookie || len(resp.Header.Get("x-ratelimit-39")) != 300 {
		t.Errorf("%d, %d header lines", resp.StatusCode, len(resp.Header))
	}
}

// Slow senders are closed after a while; slow but honest ones are served.
func TestSlowSenders(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.JSON(200, "{}")))
	s := start(t, up.URL(), func(c *proxy.Config) { c.ReadHeaderTimeout = 500 * time.Millisecond })
	closedIn := func(first string, drip string) (time.Duration, string) {
		c := dial(t, s.addr)
		begin := time.Now()
		_, _ = io.WriteString(c, first)
		go func() {
			for {
				time.Sleep(50 * time.Millisecond) // the slow sender itself
				if _, err := io.WriteString(c, drip); err != nil {
					return
				}
			}
		}()
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		b, _ := io.ReadAll(c)
		return time.Since(begin), string(b)
	}
	for name, c := range map[string][2]string{
		"header":      {"POST /v1/x HTTP/1.1\r\nHost: x\r\nX: ", "x"},
		"body":        {chatHead + "Content-Length: 20000000\r\n\r\n", "x"},
		"other body":  {"POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n" + strings.Repeat("x", 9000), "x"},
		"chunked":     {chatHead + "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"},
		"after 8 KiB": {chatHead + "Content-Length: 20000000\r\n\r\n" + strings.Repeat("x", 9000), "x"},
	} {
		if d, got := closedIn(c[0], c[1]); d > 6*time.Second || !strings.Contains(got, "408") {
			t.Errorf("%s: closed after %v with %.100q", name, d, got)
		}
	}
	up.Forget()
	// 400 KB in 40 pieces over 0.8 s, above the limit of the head alone.
	pr, pw := io.Pipe()
	go func() {
		for range 40 {
			_, _ = pw.Write(bytes.Repeat([]byte("y"), 10_000))
			time.Sleep(20 * time.Millisecond) // an honest client on a slow line
		}
		pw.Close()
	}()
	req, _ := http.NewRequest("POST", s.url+"/v1/files", pr)
	req.ContentLength = 400_000
	resp, err := client(t).Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("honest upload: %v %v", resp, err)
	}
	resp.Body.Close()
}

// Announced bodies cost no memory until they arrive; a body over the budget
// for held ones streams through.
func TestBufferBudget(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.JSON(200, "{}")))
	s := start(t, up.URL(), func(c *proxy.Config) { c.EnrichBufferBytes = 64 << 10; c.EnrichMaxBodyBytes = 1 << 20 })
	for i, size := range []int{1000, 300_000, 3_000_000} {
		body := []byte(`{"messages":[{"role":"user","content":"` + strings.Repeat("x", size) + `"}]}`)
		want := "none"
		if size > 1000 {
			want = "bypassed; tokens=0; reason=too_large"
		}
		for j, chunked := range []bool{false, true} {
			req, _ := http.NewRequest("POST", s.url+"/v1/chat/completions", io.MultiReader(bytes.NewReader(body)))
			if !chunked {
				req.ContentLength = int64(len(body))
			}
			resp, err := client(t).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := resp.Header.Get("X-Strata-Context"); !strings.HasPrefix(got, want) {
				t.Errorf("%d bytes, chunked %v: %s", size, chunked, got)
			}
			if r := lastRequest(t, up, 2*i+j+1); !bytes.Equal(r.Body, body) {
				t.Errorf("%d bytes, chunked %v: upstream got %d", size, chunked, len(r.Body))
			}
		}
	}
}

// An answer that comes before the body was sent reaches the client.
func TestEarlyAnswer(t *testing.T) {
	up := upstreamtest.New(t, nil, upstreamtest.OnHead(upstreamtest.Always(upstreamtest.JSON(401, `{"error":{"message":"no"}}`))))
	s := start(t, up.URL(), nil)
	c := dial(t, s.addr)
	_, _ = io.WriteString(c, "POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n"+strings.Repeat("x", 100_000))
	go func() { _, _ = io.WriteString(c, strings.Repeat("y", 100_000)) }()
	head := readHead(t, bufio.NewReader(c))
	if !strings.HasPrefix(head, "HTTP/1.1 401") {
		t.Errorf("%s", head)
	}
}

func TestExpectContinue(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.JSON(200, "{}")))
	s := start(t, up.URL(), nil)
	c := dial(t, s.addr)
	br := bufio.NewReader(c)
	_, _ = io.WriteString(c, chatHead+"Expect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n")
	if head := readHead(t, br); !strings.HasPrefix(head, "HTTP/1.1 100 ") {
		t.Fatalf("%q", head)
	}
	_, _ = io.WriteString(c, "{}")
	if head := readHead(t, br); !strings.HasPrefix(head, "HTTP/1.1 200 ") {
		t.Fatalf("%q", head)
	}
	if r := lastRequest(t, up, 1); r.Get("Expect") != "" || string(r.Body) != "{}" {
		t.Errorf("%s", r.Head)
	}
}

// Nothing of one request shows up in another one on the same connection.
func TestRequestsDoNotMix(t *testing.T) {
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		if strings.Count(string(r.Body), r.Get("X-Letter")) < 2000 || strings.Trim(string(r.Body), r.Get("X-Letter")) != "" {
			return upstreamtest.JSON(500, "mixed")
		}
		return upstreamtest.JSON(200, r.Get("X-Letter"))
	})
	s := start(t, up.URL(), nil)
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c := client(t)
			for i := range 100 {
				letter := string(rune('A' + (g+i)%26))
				resp, b := post(t, c, s.url+"/v1/chat/completions", []byte(strings.Repeat(letter, 2000)), "X-Letter", letter)
				if resp.StatusCode != 200 || string(b) != letter {
					t.Errorf("%d %s, want %s", resp.StatusCode, b, letter)
					return
				}
			}
		}()
	}
	wg.Wait()
}

// An upgraded connection is raw bytes both ways.
func TestUpgrade(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Upgrade("Upgrade: websocket", "Connection: Upgrade", "sec-websocket-accept: abc")))
	s := start(t, up.URL()+"/v1", nil)
	c := dial(t, s.addr).(*net.TCPConn)
	br := bufio.NewReader(c)
	_, _ = io.WriteString(c, "GET /v1/realtime?model=m HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\nearly")
	head := readHead(t, br)
	if !strings.HasPrefix(head, "HTTP/1.1 101 ") || !strings.Contains(head, "Upgrade: websocket\r\n") || !strings.Contains(head, "sec-websocket-accept: abc\r\n") {
		t.Fatalf("%s", head)
	}
	r := lastRequest(t, up, 1)
	if r.Target != "/v1/realtime?model=m" || r.Get("Upgrade") != "websocket" || r.Get("Connection") == "" {
		t.Errorf("upstream got %s", r.Head)
	}
	for i := range 1000 {
		message := "early"
		if i > 0 {
			message = fmt.Sprintf("message %d\n", i)
			_, _ = io.WriteString(c, message)
		}
		got := make([]byte, len(message))
		if _, err := io.ReadFull(br, got); err != nil || string(got) != message {
			t.Fatalf("%d: %q %v", i, got, err)
		}
	}
	_ = c.CloseWrite()
	if b, err := io.ReadAll(br); err != nil || len(b) != 0 {
		t.Errorf("after the close: %q %v", b, err)
	}
	refused := upstreamtest.New(t, upstreamtest.Always(upstreamtest.JSON(426, "{}")))
	s = start(t, refused.URL(), nil)
	if got := raw(t, s.addr, "GET /v1/realtime HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 426") {
		t.Errorf("refused upgrade: %s", got)
	}
}

// Upstream over TLS, with its certificate checked.
func TestTLS(t *testing.T) {
	up := upstreamtest.NewTLS(t, upstreamtest.Always(upstreamtest.JSON(200, chatAnswer)))
	s := start(t, up.URL(), func(c *proxy.Config) { c.UpstreamTLS = tlsRoots(up) })
	c := client(t)
	for range 20 {
		if resp, b := post(t, c, s.url+"/v1/chat/completions", []byte(chatBody)); resp.StatusCode != 200 || string(b) != chatAnswer {
			t.Fatalf("%d %s", resp.StatusCode, b)
		}
	}
	if up.Accepted() != 1 {
		t.Errorf("%d connections for 20 requests in a row", up.Accepted())
	}
	s = start(t, up.URL(), nil)
	if resp, _ := post(t, c, s.url+"/v1/chat/completions", []byte(chatBody)); resp.StatusCode != 502 {
		t.Errorf("an unknown certificate was accepted: %d", resp.StatusCode)
	}
}

// The environment's proxy is used, by CONNECT.
func TestEnvironmentProxy(t *testing.T) {
	up := upstreamtest.NewTLS(t, upstreamtest.Always(upstreamtest.JSON(200, chatAnswer)))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	seen := make(chan string, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		req, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		seen <- req.Method + " " + req.Host + " " + req.Header.Get("Proxy-Authorization")
		to, err := net.Dial("tcp", up.Addr())
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() { _, _ = io.Copy(to, c) }()
		_, _ = io.Copy(c, to)
	}()
	t.Setenv("HTTPS_PROXY", "http://u:p@"+ln.Addr().String())
	t.Setenv("NO_PROXY", "")
	// Loopback addresses are never sent to a proxy, so upstream gets a name.
	_, port, _ := net.SplitHostPort(up.Addr())
	s := start(t, "https://upstream.test:"+port, func(c *proxy.Config) { c.UpstreamTLS = tlsRoots(up); c.UpstreamTLS.InsecureSkipVerify = true })
	if resp, b := post(t, client(t), s.url+"/v1/chat/completions", []byte(chatBody)); resp.StatusCode != 200 || string(b) != chatAnswer {
		t.Errorf("%d %s", resp.StatusCode, b)
	}
	if got := <-seen; got != "CONNECT upstream.test:"+port+" Basic dTpw" {
		t.Errorf("the proxy saw %q", got)
	}
}

// X-Strata-Mode: off and signed requests are not looked at.
func TestBypass(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.JSON(200, chatAnswer)))
	s := start(t, up.URL(), nil)
	for _, c := range []struct{ name, value, want string }{
		{"X-Strata-Mode", "off", "bypassed; tokens=0; reason=off"},
		{"x-strata-mode", "on", "none; tokens=0; reason=no_match"},
		{"Content-Digest", "sha-256=:x:", "bypassed; tokens=0; reason=signed"},
		{"Authorization", "AWS4-HMAC-SHA256 Credential=x", "bypassed; tokens=0; reason=signed"},
	} {
		resp, _ := post(t, client(t), s.url+"/v1/chat/completions", []byte(chatBody), c.name, c.value)
		if got := resp.Header.Get("X-Strata-Context"); got != c.want {
			t.Errorf("%s: %s: %q, want %q", c.name, c.value, got, c.want)
		}
		if resp.Header.Get("Server-Timing") == "" {
			t.Errorf("%s: no Server-Timing", c.name)
		}
	}
	off := start(t, up.URL(), func(c *proxy.Config) { c.Mode = "off" })
	resp, _ := post(t, client(t), off.url+"/v1/chat/completions", []byte(chatBody))
	if got := resp.Header.Get("X-Strata-Context"); got != "bypassed; tokens=0; reason=off" {
		t.Errorf("mode off in the config: %q", got)
	}
}
