package upstreamtest_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

func TestRequestIsRecordedAsSent(t *testing.T) {
	const head = "POST /v1/chat/completions?api-version=2024-10-21 HTTP/1.1\r\n" +
		"openai-organization: o1\r\nOpenAI-Beta:b1\r\nX-DashScope-SSE:  enable \r\n" +
		"AUTHORIZATION: Bearer k\r\nx-twice: 1\r\nX-Twice: 2\r\n"
	const chunks = "4;ext=1\r\n{\"a\"\r\n3\r\n:1}\r\n0\r\nX-Sum: 7\r\n\r\n"
	tests := []struct {
		name, framing, wire, body string
	}{
		{"length", "CONTENT-LENGTH: 7\r\n\r\n", `{"a":1}`, `{"a":1}`},
		{"chunked", "transfer-encoding: chunked\r\n\r\n", chunks, `{"a":1}`},
		{"no body", "\r\n", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Respond(204)))
			nc := dial(t, s, "")
			for _, b := range []byte(head + tt.framing + tt.wire) { // cut everywhere
				send(t, nc, string(b))
			}
			expect(t, nc, "HTTP/1.1 204 No Content\r\n\r\n")
			r := onlyRequest(t, s)
			if r.Head != head+tt.framing {
				t.Errorf("head %q\nwant %q", r.Head, head+tt.framing)
			}
			if string(r.RawBody) != tt.wire || string(r.Body) != tt.body {
				t.Errorf("raw body %q, body %q", r.RawBody, r.Body)
			}
			if r.Method != "POST" || r.Target != "/v1/chat/completions?api-version=2024-10-21" ||
				r.Path() != "/v1/chat/completions" || r.Proto != "HTTP/1.1" {
				t.Errorf("start line read as %q %q %q", r.Method, r.Target, r.Proto)
			}
			if h := r.Headers[2]; h.Name != "X-DashScope-SSE" || h.Value != "enable" {
				t.Errorf("third header %q", h)
			}
			if r.Get("authorization") != "Bearer k" || r.Get("openai-beta") != "b1" || r.Get("none") != "" {
				t.Error("headers are not found in another spelling")
			}
			if got := strings.Join(r.Values("x-TWICE"), ","); got != "1,2" {
				t.Errorf("values %q, want both in order", got)
			}
			if r.RemoteAddr != nc.LocalAddr().String() || r.Conn != 1 || r.Number != 1 {
				t.Errorf("from %s, connection %d, request %d", r.RemoteAddr, r.Conn, r.Number)
			}
		})
	}
}

func TestPipelinedRequestsStayInOrder(t *testing.T) {
	s := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		return upstreamtest.Respond(200).WriteString(r.Target)
	})
	nc := dial(t, s, "GET /a HTTP/1.1\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 3\r\n\r\nxyzGET /c HTTP/1.1\r\n\r\n")
	for _, target := range []string{"/a", "/b", "/c"} {
		expect(t, nc, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"+target)
	}
	for i, r := range s.Requests() {
		if r.Conn != 1 || r.Number != i+1 {
			t.Errorf("request %d recorded as connection %d, number %d", i+1, r.Conn, r.Number)
		}
	}
}

func TestMalformedRequests(t *testing.T) {
	for _, raw := range []string{
		"GET / HTTP/2.0\r\n\r\n",
		"GET\r\n\r\n",
		"GET / HTTP/1.1\r\nno colon\r\n\r\n",
		"GET / HTTP/1.1\r\nHost : up\r\n\r\n",
		"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
	} {
		s := upstreamtest.New(t, upstreamtest.OpenAI())
		nc := dial(t, s, raw)
		nc.CloseWrite()
		answer, err := io.ReadAll(nc)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
			t.Errorf("%q answered with %q, %v", raw, answer, err)
		}
		if s.Calls() != 0 || len(s.Malformed()) != 1 {
			t.Errorf("%q: %d calls, malformed %q", raw, s.Calls(), s.Malformed())
		}
	}
}

// A peer that leaves is seen at once, in every state of an answer.
func TestPeerLeaves(t *testing.T) {
	reset := func(nc *net.TCPConn) { nc.SetLinger(0); nc.Close() }
	fin := func(nc *net.TCPConn) { nc.Close() }
	tests := []struct {
		name   string
		script func() *upstreamtest.Script
		leave  func(*net.TCPConn)
		read   string
		writes int
	}{
		{"silent before the head, FIN", upstreamtest.Hang, fin, "", 0},
		{"silent before the head, RST", upstreamtest.Hang, reset, "", 0},
		{"silent after two events", func() *upstreamtest.Script {
			return upstreamtest.Stream().WriteString("a").WriteString("b").Silence()
		}, fin, "1\r\na\r\n1\r\nb\r\n", 2},
		{"in a pause", func() *upstreamtest.Script {
			return upstreamtest.Stream().WriteString("a").Pause(time.Hour).WriteString("b")
		}, reset, "1\r\na\r\n", 1},
		{"waiting for the test", func() *upstreamtest.Script {
			return upstreamtest.Stream().WriteString("a").Wait(make(chan struct{})).WriteString("b")
		}, fin, "1\r\na\r\n", 1},
		{"body complete by length, but the answer goes on", func() *upstreamtest.Script {
			return upstreamtest.Respond(200).WriteString("ab").Silence()
		}, fin, "ab", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := upstreamtest.New(t, upstreamtest.Always(tt.script()))
			nc := dial(t, s, plainGet)
			r := onlyRequest(t, s)
			br := bufio.NewReader(nc)
			if tt.read != "" {
				for line := ""; line != "\r\n"; {
					line, _ = br.ReadString('\n')
				}
				expect(t, br, tt.read)
			}
			if r.LeftAfter() != -1 || !r.LeftAt().IsZero() {
				t.Fatal("left before it left")
			}
			before := time.Now()
			tt.leave(nc)
			await(t, "Left", r.Left())
			await(t, "the end of the script", r.Done())
			if r.LeftAfter() != tt.writes || r.Writes() != tt.writes {
				t.Errorf("left after %d writes, %d in all; want %d", r.LeftAfter(), r.Writes(), tt.writes)
			}
			if r.LeftAt().Before(before) {
				t.Error("LeftAt is before the peer left")
			}
			if err := s.WaitOpenConns(within(t), 0); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPeerLeavesWhileTheHandlerThinks(t *testing.T) {
	s := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		<-r.Left()
		return nil
	})
	nc := dial(t, s, plainGet)
	r := onlyRequest(t, s)
	nc.Close()
	await(t, "the end", r.Done())
}

// Closing after the last byte is no leaving, however quick it is.
func TestPeerDoneIsNotLeft(t *testing.T) {
	for name, script := range map[string]*upstreamtest.Script{
		"length":  upstreamtest.JSON(200, `{"a":1}`),
		"chunked": upstreamtest.Stream().WriteString("a").WriteString("b"),
		"close":   upstreamtest.Stream().Frame(upstreamtest.CloseDelimited).WriteString("a"),
		"head":    upstreamtest.Respond(200).SendHead(),
	} {
		t.Run(name, func(t *testing.T) {
			s := upstreamtest.New(t, upstreamtest.Always(script))
			for range 200 {
				transport := &http.Transport{DisableKeepAlives: true}
				resp, err := (&http.Client{Transport: transport}).Get(s.URL())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadAll(resp.Body); err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
			}
			for i, r := range s.Requests() {
				await(t, "the end", r.Done())
				if r.LeftAfter() != -1 {
					t.Fatalf("request %d: left after %d writes", i, r.LeftAfter())
				}
			}
		})
	}
}

func TestIgnoreLeftGoesOn(t *testing.T) {
	next := make(chan struct{})
	s := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Stream().WriteString("a").
		Wait(next).WriteString("b").IgnoreLeft()))
	nc := dial(t, s, plainGet)
	r := onlyRequest(t, s)
	br := bufio.NewReader(nc)
	for line := ""; line != "\r\n"; {
		line, _ = br.ReadString('\n')
	}
	expect(t, br, "1\r\na\r\n")
	nc.CloseWrite()
	await(t, "Left", r.Left())
	close(next)
	answer, err := io.ReadAll(br)
	if err != nil || string(answer) != "1\r\nb\r\n0\r\n\r\n" {
		t.Errorf("got %q, %v; want the rest of the stream", answer, err)
	}
	await(t, "the end of the script", r.Done())
	if r.LeftAfter() != 1 {
		t.Errorf("left after %d writes, want 1", r.LeftAfter())
	}
}

func TestIdleClose(t *testing.T) {
	const idle = 50 * time.Millisecond
	s := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Respond(204)), upstreamtest.IdleClose(idle))
	nc := dial(t, s, plainGet)
	expect(t, nc, "HTTP/1.1 204 No Content\r\n\r\n")
	send(t, nc, plainGet) // in time
	expect(t, nc, "HTTP/1.1 204 No Content\r\n\r\n")
	answered := time.Now()
	expectEOF(t, nc)
	if took := time.Since(answered); took < idle*9/10 || took > idle+time.Second {
		t.Errorf("closed %v after the answer, want %v", took, idle)
	}
}

func TestMaxRequests(t *testing.T) {
	s := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Respond(204)), upstreamtest.MaxRequests(2))
	nc := dial(t, s, plainGet+plainGet)
	expect(t, nc, "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n")
	expectEOF(t, nc)
}

// flood writes until the peer takes no more and reports how much it took.
func flood(nc *net.TCPConn, limit int) int {
	block := make([]byte, 64<<10)
	sent := 0
	for sent < limit {
		nc.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		n, err := nc.Write(block)
		if sent += n; err != nil {
			break
		}
	}
	return sent
}

func TestUnreadRequests(t *testing.T) {
	const size = 64 << 20
	post := "POST / HTTP/1.1\r\nContent-Length: 67108864\r\n\r\n"
	for name, opt := range map[string]upstreamtest.Option{
		"never read": upstreamtest.NeverRead(),
		"read late":  upstreamtest.ReadDelay(time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			s := upstreamtest.New(t, upstreamtest.OpenAI(), opt)
			if sent := flood(dial(t, s, post), size); sent == size {
				t.Error("the whole body was taken")
			}
			if s.Calls() != 0 || s.Accepted() != 1 || s.OpenConns() != 1 {
				t.Errorf("%d calls, %d accepted, %d open", s.Calls(), s.Accepted(), s.OpenConns())
			}
		})
	}
}

func TestReadDelayPasses(t *testing.T) {
	const delay = 30 * time.Millisecond
	s := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Respond(204)), upstreamtest.ReadDelay(delay))
	start := time.Now()
	nc := dial(t, s, plainGet)
	expect(t, nc, "HTTP/1.1 204 No Content\r\n\r\n")
	if took := time.Since(start); took < delay {
		t.Errorf("answered after %v, want at least %v", took, delay)
	}
}

func TestOnHeadAnswersBeforeTheBody(t *testing.T) {
	s := upstreamtest.New(t, upstreamtest.OpenAI(), upstreamtest.OnHead(
		func(r *upstreamtest.Request) *upstreamtest.Script {
			if r.Get("Authorization") == "" {
				return upstreamtest.JSON(401, "{}")
			}
			return nil
		}))
	nc := dial(t, s, "POST /v1/files HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"+strings.Repeat("a", 100_000))
	expect(t, nc, "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	expectEOF(t, nc) // FIN and not RST, although the body was not read
	if r := onlyRequest(t, s); !r.HeadOnly || len(r.RawBody) > 0 {
		t.Errorf("head only %v, body %q", r.HeadOnly, r.RawBody)
	}
	nc = dial(t, s, "GET /v1/models HTTP/1.1\r\nAuthorization: k\r\n\r\n")
	expect(t, nc, "HTTP/1.1 200 OK\r\n")
}

func TestExpectContinue(t *testing.T) {
	s := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Respond(204)))
	nc := dial(t, s, "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
	expect(t, nc, "HTTP/1.1 100 Continue\r\n\r\n")
	send(t, nc, "ab")
	expect(t, nc, "HTTP/1.1 204 No Content\r\n\r\n")
}

func TestUpgradeEchoes(t *testing.T) {
	s := upstreamtest.New(t, upstreamtest.Always(
		upstreamtest.Upgrade("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: x")))
	nc := dial(t, s, "GET /v1/realtime HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x00early")
	expect(t, nc, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Accept: x\r\n\r\n\x81\x00early")
	send(t, nc, "later\x00\xff")
	expect(t, nc, "later\x00\xff")
	nc.CloseWrite()
	expectEOF(t, nc)
}

func TestTLS(t *testing.T) {
	s := upstreamtest.NewTLS(t, upstreamtest.OpenAI())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.CertPool()}}}
	defer client.CloseIdleConnections()
	for range 3 {
		resp, err := client.Get(s.URL() + "/v1/models")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 {
			t.Fatalf("status %d, %v", resp.StatusCode, err)
		}
		resp.Body.Close()
	}
	if s.Accepted() != 1 || s.Calls() != 3 {
		t.Errorf("%d connections for %d calls; keep-alive over TLS is lost", s.Accepted(), s.Calls())
	}
	if _, err := http.Get(s.URL()); err == nil {
		t.Error("a client without the certificate got an answer")
	}
}

func TestPeerLeavesOverTLS(t *testing.T) {
	s := upstreamtest.NewTLS(t, upstreamtest.Always(upstreamtest.Hang()))
	nc, err := tls.Dial("tcp", s.Addr(), &tls.Config{RootCAs: s.CertPool()})
	if err != nil {
		t.Fatal(err)
	}
	send(t, nc, plainGet)
	r := onlyRequest(t, s)
	nc.Close()
	await(t, "Left", r.Left())
}

func TestCloseEndsEverything(t *testing.T) {
	s, err := upstreamtest.Start("127.0.0.1:0", upstreamtest.Always(upstreamtest.Hang()))
	if err != nil {
		t.Fatal(err)
	}
	nc := dial(t, s, plainGet)
	idle := dial(t, s, "")
	r := onlyRequest(t, s)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "the end of the script", r.Done())
	if r.LeftAfter() != -1 || s.OpenConns() != 0 {
		t.Errorf("left after %d, %d open", r.LeftAfter(), s.OpenConns())
	}
	expectEOF(t, nc)
	expectEOF(t, idle)
	again, err := upstreamtest.Start(s.Addr(), upstreamtest.OpenAI())
	if err != nil {
		t.Fatalf("the address is not free again: %v", err)
	}
	again.Close()
}

// The server's own closing is no peer that left, even while a handler runs.
func TestCloseIsNotLeft(t *testing.T) {
	release := make(chan struct{})
	s := upstreamtest.New(t, func(*upstreamtest.Request) *upstreamtest.Script {
		<-release
		return nil
	})
	nc := dial(t, s, plainGet)
	r := onlyRequest(t, s)
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	expectEOF(t, nc)
	close(release)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if r.LeftAfter() != -1 {
		t.Errorf("left after %d writes", r.LeftAfter())
	}
}

func TestWaitCallsGivesUp(t *testing.T) {
	s := upstreamtest.New(t, upstreamtest.OpenAI())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.WaitCalls(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestHandlersInTurn(t *testing.T) {
	s := upstreamtest.New(t, upstreamtest.InTurn(upstreamtest.Respond(429), upstreamtest.Respond(503), upstreamtest.Respond(204)))
	for _, want := range []int{429, 503, 204, 204} {
		if resp, _ := call(t, s, "GET", "/", ""); resp.StatusCode != want {
			t.Errorf("status %d, want %d", resp.StatusCode, want)
		}
	}
	s.SetHandler(upstreamtest.Always(upstreamtest.Respond(418)))
	if resp, _ := call(t, s, "GET", "/", ""); resp.StatusCode != 418 {
		t.Errorf("status %d after the handler was replaced", resp.StatusCode)
	}
	s.Forget()
	if s.Calls() != 0 || len(s.Requests()) != 0 {
		t.Error("records are not forgotten")
	}
}

func TestNoRecordCountsAndForgetsNothingElse(t *testing.T) {
	s := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		return upstreamtest.Respond(200).WriteString(r.Get("x-id") + string(r.Body))
	}, upstreamtest.NoRecord())
	var wg sync.WaitGroup
	for _, letter := range []string{"a", "b", "c", "d"} {
		nc := dial(t, s, "")
		wg.Go(func() {
			for i := range 100 {
				body := strings.Repeat(letter, i%7+1)
				size := string(rune('0' + len(body)))
				if _, err := io.WriteString(nc, "POST / HTTP/1.1\r\nX-Id: "+letter+"\r\nContent-Length: "+size+"\r\n\r\n"+body); err != nil {
					t.Error(err)
					return
				}
				resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := io.ReadAll(resp.Body); string(got) != letter+body {
					t.Errorf("got %q, %v; want %q", got, err, letter+body)
				}
			}
		})
	}
	wg.Wait()
	if err := s.WaitCalls(within(t), 400); err != nil || len(s.Requests()) != 0 {
		t.Errorf("%v; %d requests recorded", err, len(s.Requests()))
	}
}

// call sends one request with net/http and reads the whole answer.
func call(t *testing.T, s *upstreamtest.Server, method, path, body string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t), method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, got
}
