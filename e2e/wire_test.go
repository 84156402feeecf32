package e2e_test

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

// oddCall is a request of the mix and the answer upstream gives to it.
type oddCall struct {
	method, path, body string
	status             int
	answer             string
}

// oddCalls are count different pairs of method and path, the same in each run:
// known and unknown resources, versions, escapes, queries and methods.
func oddCalls(count int) []oddCall {
	methods := []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "PROPFIND", "REPORT", "QUERY", "BREW"}
	names := []string{
		"chat/completions", "responses", "models/gpt-5", "files/file-1/content", "realtime/sessions", "batches",
		"a%2Fb", "%E4%BD%A0%E5%A5%BD", "with%20space", "semi;colon=1", "dots/../up", "./here", "double//slash",
		"trailing/", "UPPER/Case", "tilde~(paren)'quote", "comma,dollar$", "plus+at@colon:", "x.y.z", "not_built_yet",
	}
	queries := []string{"", "?", "?limit=10&after=%7B%7D", "?q=a+b%20c&q=d", "?api-version=2024-10-21", "?x=%00%FF", "?a&b=&=c"}
	statuses := []int{200, 201, 202, 204, 400, 404, 409, 418, 429, 500, 503, 299, 599}
	random := rand.New(rand.NewPCG(4, 70))
	pick := func(n int) int { return random.IntN(n) }
	taken := make(map[string]bool)
	var calls []oddCall
	for len(calls) < count {
		path := "/v1/" + names[pick(len(names))]
		if pick(2) == 0 {
			path += fmt.Sprintf("/%d", pick(50))
		}
		c := oddCall{method: methods[pick(len(methods))], path: path + queries[pick(len(queries))], status: statuses[pick(len(statuses))]}
		if taken[c.method+c.path] {
			continue
		}
		taken[c.method+c.path] = true
		if c.method == "POST" || c.method == "PUT" || pick(4) == 0 && c.method != "HEAD" {
			c.body = strings.Repeat("\x00\xffbody ", pick(200))
		}
		if c.status != http.StatusNoContent && c.method != "HEAD" {
			c.answer = fmt.Sprintf("answer %d: %s", len(calls), strings.Repeat("\r\n\x00", pick(100)))
		}
		calls = append(calls, c)
	}
	return calls
}

func TestThousandPathsAndMethodsPass(t *testing.T) {
	calls := oddCalls(1000)
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		var n int
		_, _ = fmt.Sscan(r.Get("X-Call"), &n)
		return upstreamtest.Respond(calls[n].status).Header("X-Answer", r.Get("X-Call")).WriteString(calls[n].answer)
	})
	p := start(t, up.Addr())
	c := p.dial(t)
	in := bufio.NewReader(c)
	for i, call := range calls {
		request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nx-CALL: %d\r\nContent-Length: %d\r\n\r\n%s",
			call.method, call.path, p.addr, i, len(call.body), call.body)
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		resp, err := http.ReadResponse(in, &http.Request{Method: call.method})
		if err != nil {
			t.Fatalf("call %d (%s %s): %v", i, call.method, call.path, err)
		}
		answer, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != call.status || string(answer) != call.answer {
			t.Errorf("%s %s: answer %d %q (%v), want %d %q", call.method, call.path,
				resp.StatusCode, answer, err, call.status, call.answer)
		}
	}
	got := up.Requests()
	if len(got) != len(calls) {
		t.Fatalf("upstream got %d requests, want %d", len(got), len(calls))
	}
	for i, r := range got {
		if want := calls[i]; r.Method != want.method || r.Target != want.path || string(r.Body) != want.body {
			t.Errorf("call %d: upstream got %s %s with %d bytes, want %s %s with %d",
				i, r.Method, r.Target, len(r.Body), want.method, want.path, len(want.body))
		}
		if !strings.Contains(r.Head, "\r\nx-CALL: ") {
			t.Errorf("call %d: the header lost its spelling: %q", i, r.Head)
		}
	}
}

// pattern is a body of any length made while it is read.
type pattern struct {
	left int
	rand *rand.ChaCha8
}

func (p *pattern) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	n, _ := p.rand.Read(b[:min(len(b), p.left)]) // never fails
	p.left -= n
	return n, nil
}

func TestLargeUploadTakesLittleMemory(t *testing.T) {
	const size, bound = 60 << 20, 40 << 20
	for _, framing := range []struct {
		name   string
		length int64
	}{{"content length", size}, {"chunked", -1}} {
		t.Run(framing.name, func(t *testing.T) {
			up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.JSON(200, `{"id":"file-1"}`)))
			p := start(t, up.Addr())
			p.resetPeak(t)
			before := p.memory(t, "VmRSS")

			sum := sha256.New()
			body := io.TeeReader(&pattern{left: size, rand: rand.NewChaCha8([32]byte{1})}, sum)
			req, err := http.NewRequestWithContext(within(t), http.MethodPost, "http://"+p.addr+"/v1/files", body)
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = framing.length
			req.Header.Set("Content-Type", "application/octet-stream")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(answer) != `{"id":"file-1"}` {
				t.Errorf("answer %q, %v", answer, err)
			}
			arrived := sha256.Sum256(up.Requests()[0].Body)
			if got, want := hex.EncodeToString(arrived[:]), hex.EncodeToString(sum.Sum(nil)); got != want {
				t.Errorf("upstream got other bytes: sha256 %s, want %s", got, want)
			}
			growth := p.memory(t, "VmHWM") - before
			if growth >= bound {
				t.Errorf("%d MB of memory for an upload of %d MB, want less than %d MB", growth>>20, size>>20, bound>>20)
			}
			t.Logf("upload of %d MB: peak %.1f MB above the %.1f MB before", size>>20, mb(growth), mb(before))
		})
	}
}

func mb(n int) float64 { return float64(n) / (1 << 20) }

func TestIdleMemory(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.OpenAI())
	p := start(t, up.Addr())
	fresh := p.memory(t, "VmRSS")
	_, resp := p.chatCall(t, streamCall)
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	t.Logf("resident at rest: %.1f MB after the start, %.1f MB after one call; %d files, %d threads",
		mb(fresh), mb(p.memory(t, "VmRSS")), p.openFiles(t), p.status(t, "Threads"))
}

func TestWebSocketEchoesThroughTheBinary(t *testing.T) {
	const key = "c3RyYXRhLWUyZS1ub25jZQ=="
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	accept := base64.StdEncoding.EncodeToString(sum[:])
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Upgrade(
		"Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: "+accept, "Sec-WebSocket-Protocol: realtime")))
	p := start(t, up.Addr())
	c := p.dial(t)
	// The first message goes out with the handshake, as an eager client does.
	first := frame(0, []byte("early"))
	_, err := fmt.Fprintf(c, "GET /v1/realtime?model=gpt-realtime HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Protocol: realtime\r\n\r\n%s", p.addr, key, first)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"Sec-Websocket-Accept": accept, "Sec-Websocket-Protocol": "realtime", "Upgrade": "websocket"} {
		if got := resp.Header.Get(name); resp.StatusCode != http.StatusSwitchingProtocols || got != want {
			t.Errorf("handshake %d: %s is %q, want %q", resp.StatusCode, name, got, want)
		}
	}
	readSome(t, in, string(first))
	echoMessages(t, c, in, 1000)
	_ = c.Close()
	if err := up.WaitOpenConns(within(t), 0); err != nil {
		t.Errorf("the tunnel outlived its client: %v", err)
	}
}

// echoMessages sends count frames and wants each back before the next.
func echoMessages(t *testing.T, c net.Conn, in io.Reader, count int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	began := time.Now()
	for i := range count {
		message, err := json.Marshal(map[string]any{"n": i, "audio": strings.Repeat("A", random.IntN(4000))})
		if err != nil {
			t.Fatal(err)
		}
		sent := frame(random.Uint32(), message)
		if _, err := c.Write(sent); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(in, got); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if !bytes.Equal(got, sent) {
			t.Fatalf("message %d came back changed", i)
		}
	}
	t.Logf("%d messages there and back, %v each", count, time.Since(began)/time.Duration(count))
}

// frame is one masked text frame of RFC 6455, as clients send them.
func frame(mask uint32, payload []byte) []byte {
	out := []byte{0x81}
	switch n := len(payload); {
	case n < 126:
		out = append(out, 0x80|byte(n))
	default:
		out = binary.BigEndian.AppendUint16(append(out, 0x80|126), uint16(n))
	}
	out = binary.BigEndian.AppendUint32(out, mask)
	key := out[len(out)-4:]
	for i, b := range payload {
		out = append(out, b^key[i%4])
	}
	return out
}
