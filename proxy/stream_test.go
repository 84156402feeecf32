package proxy_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

// Recorded streams come back byte for byte, in one call.
func TestStreamBytes(t *testing.T) {
	var body []byte
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		switch r.Get("X-Play") {
		case "bytes":
			return upstreamtest.Bytes(body, 0)
		case "cuts":
			return upstreamtest.SSE(body, intLines(t, caseFile(t, "C012.cuts")), time.Millisecond)
		case "close":
			return upstreamtest.Pieces(upstreamtest.Respond(200).Header("Content-Type", "text/event-stream").
				Frame(upstreamtest.CloseDelimited), upstreamtest.SplitEvents(body), 0)
		}
		return upstreamtest.SSE(body, nil, 0)
	})
	s := start(t, up.URL(), nil)
	c := client(t)
	n := 0
	for _, name := range []string{"C001.sse", "C002.sse", "C003.sse", "C006a.sse", "C006b.sse", "C009.sse", "C011.sse", "C012.sse",
		"C013.sse", "C021.sse", "C022.sse", "C040a.sse", "C040b.sse", "C040c.sse"} {
		body = caseFile(t, name)
		for _, play := range []string{"events", "bytes", "close", "cuts"} {
			if (play == "cuts" && name != "C012.sse") || (play == "bytes" && len(body) > 10_000) {
				continue
			}
			resp, got := post(t, c, s.url+"/v1/chat/completions", []byte(chatBody), "X-Play", play)
			n++
			if !bytes.Equal(got, body) || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
				t.Errorf("%s, %s: got %d bytes, want %d", name, play, len(got), len(body))
			}
		}
	}
	if up.Calls() != n {
		t.Errorf("%d calls upstream, want %d", up.Calls(), n)
	}
}

// Data lines of megabytes pass, and memory does not follow them.
func TestLongLines(t *testing.T) {
	up := upstreamtest.New(t, nil)
	s := start(t, up.URL(), nil)
	for _, n := range []int{22_000, 500_000, 2_000_000} {
		body := []byte(`data: {"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("龙", n) + `END-OF-BIG"}}]}` + "\n\ndata: [DONE]\n\n")
		up.SetHandler(upstreamtest.Always(upstreamtest.SSE(body, nil, 0)))
		if _, got := post(t, client(t), s.url+"/v1/chat/completions", []byte(chatBody)); !bytes.Equal(got, body) {
			t.Errorf("%d characters: got %d bytes, want %d", n, len(got), len(body))
		}
	}
}

// Headers come when upstream sends them, each event when it comes.
func TestStreamIsNotHeldBack(t *testing.T) {
	steps := make([]chan struct{}, 4)
	for i := range steps {
		steps[i] = make(chan struct{})
	}
	script := upstreamtest.Stream().Header("X-Accel-Buffering", "no").SendHead()
	for i, step := range steps {
		script.Wait(step).Write(fmt.Appendf(nil, "data: %d\n\n", i))
	}
	up := upstreamtest.New(t, upstreamtest.Always(script))
	s := start(t, up.URL(), nil)
	resp, err := client(t).Post(s.url+"/v1/chat/completions", "application/json", strings.NewReader(chatBody))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("headers %v", resp.Header)
	}
	for i, step := range steps {
		close(step)
		buf := make([]byte, 100)
		n, err := resp.Body.Read(buf)
		if err != nil && err != io.EOF || string(buf[:n]) != fmt.Sprintf("data: %d\n\n", i) {
			t.Fatalf("event %d: %q %v", i, buf[:n], err)
		}
	}
}

// The same for a body with a length: its first half is there before the rest.
func TestSlowLengthBody(t *testing.T) {
	more := make(chan struct{})
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Respond(200).Write([]byte("first")).Wait(more).Write([]byte("second"))))
	s := start(t, up.URL(), nil)
	resp, err := client(t).Get(s.url + "/v1/files/f/content")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "first" {
		t.Fatalf("%q %v", first, err)
	}
	close(more)
	if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "second" {
		t.Fatalf("%q %v", rest, err)
	}
}

// A compressed stream is neither unpacked nor held back.
func TestCompressedStream(t *testing.T) {
	body := caseFile(t, "C044.sse.gz")
	more := make(chan struct{})
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		if r.Get("Accept-Encoding") != "gzip, br" {
			t.Errorf("Accept-Encoding %q", r.Get("Accept-Encoding"))
		}
		return upstreamtest.Stream().Header("Content-Encoding", "gzip").Write(body[:50]).Wait(more).Write(body[50:])
	})
	s := start(t, up.URL(), nil)
	req, _ := http.NewRequest("POST", s.url+"/v1/chat/completions", strings.NewReader(chatBody))
	req.Header.Set("Accept-Encoding", "gzip, br")
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 50)
	if _, err := io.ReadFull(resp.Body, first); err != nil {
		t.Fatal(err)
	}
	close(more)
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(append(first, rest...), body) || resp.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%v %v", err, resp.Header)
	}
}

// A broken upstream is a broken answer, however the body is framed and
// wherever it breaks.
func TestBrokenAnswers(t *testing.T) {
	for name, script := range map[string]*upstreamtest.Script{
		"chunked, reset":   upstreamtest.Stream().Write([]byte("data: a\n\n")).Reset(),
		"chunked, closed":  upstreamtest.Stream().Write([]byte("data: a\n\n")).CloseNow(),
		"chunked, garbage": upstreamtest.Stream().Write([]byte("data: a\n\n")).Raw([]byte("zz\r\n")).CloseNow(),
		"length, closed":   upstreamtest.Respond(200).Frame(upstreamtest.None).Header("Content-Length", "50").Write([]byte("part")).CloseNow(),
		"length, reset":    upstreamtest.Respond(200).Frame(upstreamtest.None).Header("Content-Length", "50").Write([]byte("part")).Reset(),
		"trailer, closed":  upstreamtest.Stream().Write([]byte("data: a\n\n")).Raw([]byte("0\r\n")).CloseNow(),
		"before a byte":    upstreamtest.Stream().SendHead().CloseNow(),
	} {
		up := upstreamtest.New(t, upstreamtest.Always(script))
		s := start(t, up.URL(), nil)
		resp, err := client(t).Post(s.url+"/v1/chat/completions", "application/json", strings.NewReader(chatBody))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil {
			t.Errorf("%s: the client saw a complete answer %q", name, b)
		}
		if up.Calls() != 1 {
			t.Errorf("%s: %d calls", name, up.Calls())
		}
	}
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Stream().Write([]byte("data: a\n\n")).CloseNow()))
	s := start(t, up.URL(), nil)
	if got := raw(t, s.addr, "POST /v1/chat/completions HTTP/1.0\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"); !strings.Contains(got, "reset") {
		t.Errorf("HTTP/1.0: a cut answer ended like a whole one: %q", got)
	}
}

// Generated traffic, directly and through Strata: status, headers, bytes and
// their order are the same.
func TestDifferential(t *testing.T) {
	bodies, streams := 2000, 500
	if testing.Short() {
		bodies, streams = 200, 50
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var answer *upstreamtest.Script
	up := upstreamtest.New(t, func(*upstreamtest.Request) *upstreamtest.Script { return answer })
	s := start(t, up.URL()+"/v1", nil)
	direct, through := client(t), client(t)
	for i := range bodies + streams {
		if i < bodies {
			answer = upstreamtest.Respond(200+rng.IntN(3)*100).Header("Content-Type", "application/json").
				Header("x-n", strconv.Itoa(i)).Frame(upstreamtest.Framing(rng.IntN(3))).Write(randomBytes(rng, 3000))
		} else {
			body := randomStream(rng)
			var cuts []int
			for at := rng.IntN(40); at < len(body); at += 1 + rng.IntN(40) {
				if at > 0 {
					cuts = append(cuts, at)
				}
			}
			answer = upstreamtest.SSE(body, cuts, 0).Header("x-n", strconv.Itoa(i))
		}
		body := randomChat(rng)
		a, abytes := post(t, direct, up.URL()+"/v1/chat/completions", body)
		b, bbytes := post(t, through, s.url+"/v1/chat/completions", body)
		rs := up.Requests()
		ra, rb := rs[len(rs)-2], rs[len(rs)-1]
		if a.StatusCode != b.StatusCode || !bytes.Equal(abytes, bbytes) {
			t.Fatalf("%d: answers differ: %d of %d bytes, %d of %d bytes", i, a.StatusCode, len(abytes), b.StatusCode, len(bbytes))
		}
		for name, values := range a.Header {
			if fmt.Sprint(b.Header[name]) != fmt.Sprint(values) {
				t.Fatalf("%d: header %s: %v, directly %v", i, name, b.Header[name], values)
			}
		}
		if !bytes.Equal(ra.Body, rb.Body) || len(ra.Headers) != len(rb.Headers) {
			t.Fatalf("%d: requests differ:\n%s\n%s", i, ra.Head, rb.Head)
		}
		for j := range ra.Headers {
			if ra.Headers[j] != rb.Headers[j] && ra.Headers[j].Name != "Host" {
				t.Fatalf("%d: header line %d: %v, directly %v", i, j, rb.Headers[j], ra.Headers[j])
			}
		}
		up.Forget()
	}
}

func randomBytes(rng *rand.Rand, limit int) []byte {
	b := make([]byte, 1+rng.IntN(limit))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// randomChat makes a body that is a chat request more often than not.
func randomChat(rng *rand.Rand) []byte {
	texts := []string{"hi", "你好，世界", `\u4f60\ud83d\ude00`, "<b>&amp;</b>", `\/\n\t\"`, "\u2028", strings.Repeat("x", rng.IntN(9000))}
	var b bytes.Buffer
	b.WriteString(`{ "model" :"m","seed":9007199254740993,`)
	if rng.IntN(2) == 0 {
		b.WriteString(`"stream":true, "x-vendor" : {"a":[1,2.50,1e-7,null]},`)
	}
	b.WriteString(`"messages":[`)
	for i := range 1 + rng.IntN(6) {
		if i > 0 {
			b.WriteByte(',')
		}
		text := texts[rng.IntN(len(texts))]
		switch rng.IntN(4) {
		case 0:
			fmt.Fprintf(&b, `{"role":"system","content":"%s"}`, text)
		case 1:
			fmt.Fprintf(&b, `{"content":[{"type":"text","text":"%s"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}],"role":"user"}`, text)
		case 2:
			fmt.Fprintf(&b, `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`)
		default:
			fmt.Fprintf(&b, `{"role":"user","content":"%s"}`, text)
		}
	}
	b.WriteString(`],"messages_note":1}`)
	out := b.Bytes()
	if rng.IntN(5) == 0 {
		out[rng.IntN(len(out))] ^= byte(1 + rng.IntN(255))
	}
	return out
}

func randomStream(rng *rand.Rand) []byte {
	var b bytes.Buffer
	ends := []string{"\n", "\r\n", "\r"}
	end := ends[rng.IntN(3)]
	for range 1 + rng.IntN(12) {
		switch rng.IntN(5) {
		case 0:
			b.WriteString(": ping" + end + end)
		case 1:
			b.WriteString("event:x" + end + "data:{}" + end + end)
		default:
			fmt.Fprintf(&b, `data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}%s%s`, strings.Repeat("字", rng.IntN(200)), end, end)
		}
	}
	if rng.IntN(2) == 0 {
		b.WriteString("data: [DONE]" + end + end)
	}
	return b.Bytes()
}

func intLines(t testing.TB, b []byte) []int {
	var out []int
	for sc := bufio.NewScanner(bytes.NewReader(b)); sc.Scan(); {
		n, err := strconv.Atoi(strings.TrimSpace(sc.Text()))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}
