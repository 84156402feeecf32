package proxy_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"strata/internal/upstreamtest"
	"strata/proxy"
)

// Header lines go both ways with their spelling and order, less those of the
// connection and Strata's own.
func TestHeaderLines(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Respond(200).Reason("Fine").HeaderLines(
		"x-request-ID: r1", "set-cookie: a=1; Path=/", "content-TYPE: application/json", "SERVER: up",
		"Via: 1.1 a", "Connection: keep-alive, X-Hop", "X-Hop: 1", "Keep-Alive: timeout=5", "Via: 1.1 b",
		"Set-Cookie: a=2", "Date: Sun, 29 Nov 2026 00:00:00 GMT", "content-length: 2").Write([]byte("{}"))))
	s := start(t, up.URL()+"/v1", nil)
	got := raw(t, s.addr, "POST /v1/embeddings?x=%20y HTTP/1.1\r\nhost: "+s.addr+"\r\nopenai-organization: o1\r\nOpenAI-Beta: b1\r\n"+
		"X-DashScope-SSE: enable\r\nx-stainless-os: Linux\r\nAUTHORIZATION: Bearer k\r\ncontent-type: application/json\r\n"+
		"x-strata-user: u1\r\nX-Strata-Session: s\r\nTE: trailers\r\nCookie: a=b; c=d\r\nCONTENT-LENGTH: 2\r\nX-Drop: 1\r\n"+
		"Connection: close, x-drop\r\nX-Multi: 1\r\nX-Multi: 2\r\n\r\n{}")
	want := "HTTP/1.1 200 Fine\r\nx-request-ID: r1\r\nset-cookie: a=1; Path=/\r\ncontent-TYPE: application/json\r\nSERVER: up\r\n" +
		"Via: 1.1 a\r\nVia: 1.1 b\r\nSet-Cookie: a=2\r\nDate: Sun, 29 Nov 2026 00:00:00 GMT\r\ncontent-length: 2\r\nConnection: close\r\n\r\n{}"
	if got != want {
		t.Errorf("client got\n%s\nwant\n%s", got, want)
	}
	r := lastRequest(t, up, 1)
	wantHead := "POST /v1/embeddings?x=%20y HTTP/1.1\r\nhost: " + up.Addr() + "\r\nopenai-organization: o1\r\nOpenAI-Beta: b1\r\n" +
		"X-DashScope-SSE: enable\r\nx-stainless-os: Linux\r\nAUTHORIZATION: Bearer k\r\ncontent-type: application/json\r\n" +
		"Cookie: a=b; c=d\r\nCONTENT-LENGTH: 2\r\nX-Multi: 1\r\nX-Multi: 2\r\n\r\n"
	if r.Head != wantHead {
		t.Errorf("upstream got\n%s\nwant\n%s", r.Head, wantHead)
	}
}

// Calls that are not chat reach upstream byte for byte, and so do their answers.
func TestOtherCalls(t *testing.T) {
	blob := bytes.Repeat([]byte("\x00\xff\r\n--b"), 500_000)
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		return upstreamtest.Respond(201).Header("X-Echo", r.Method+" "+r.Target).
			Header("Content-Type", "application/octet-stream").Write(r.Body)
	})
	s := start(t, up.URL(), nil)
	c := client(t)
	n := 0
	for _, call := range []struct {
		method, target, contentType string
		body                        []byte
	}{
		{"GET", "/v1/models", "", nil},
		{"HEAD", "/v1/models", "", nil},
		{"POST", "/v1/embeddings", "application/json", caseFile(t, "C050a.json")},
		{"POST", "/v1/completions", "application/json", caseFile(t, "C050b.json")},
		{"POST", "/v1/audio/transcriptions", "multipart/form-data; boundary=b", blob},
		{"DELETE", "/v1/files/f-1", "", nil},
		{"PATCH", "/x/y?q=%2F", "text/plain", []byte("p")},
		{"PUT", "/v1/threads/a%2Fb", "application/json", []byte(`{"messages":[{"role":"user","content":"x"}]}`)},
		{"POST", "/v1/threads/runs", "application/json", []byte(`{"messages":[]}`)},
		{"PURGE", "/anything", "", nil},
		{"GET", "/v1/chat/completions", "", nil},
		{"GET", "/v1/chat/completions/chatcmpl-1?x=1", "", nil},
	} {
		req, _ := http.NewRequest(call.method, s.url+call.target, bytes.NewReader(call.body))
		if call.contentType != "" {
			req.Header.Set("Content-Type", call.contentType)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v", call.method, call.target, err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		n++
		if err != nil || resp.StatusCode != 201 || resp.Header.Get("X-Echo") != call.method+" "+call.target {
			t.Errorf("%s %s: %v %d %s", call.method, call.target, err, resp.StatusCode, resp.Header.Get("X-Echo"))
		}
		if call.method != "HEAD" && !bytes.Equal(got, call.body) {
			t.Errorf("%s %s: answer of %d bytes, want %d", call.method, call.target, len(got), len(call.body))
		}
		r := lastRequest(t, up, n)
		if !bytes.Equal(r.Body, call.body) || r.Get("Content-Type") != call.contentType {
			t.Errorf("%s %s: upstream got %d bytes of %q", call.method, call.target, len(r.Body), r.Get("Content-Type"))
		}
		for name := range resp.Header {
			if strings.HasPrefix(strings.ToLower(name), "x-strata") || name == "Server-Timing" {
				t.Errorf("%s %s: header %s on a call that is not chat", call.method, call.target, name)
			}
		}
	}
}

// Chat requests reach upstream byte for byte when there is nothing to inject,
// whatever they hold.
func TestChatBytes(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.JSON(200, chatAnswer)))
	s := start(t, up.URL()+"/v1", nil)
	c := client(t)
	bodies := map[string][]byte{
		"deep":      []byte(strings.Repeat("[", 2_000_000)),
		"empty":     {},
		"duplicate": []byte(`{"messages":[],"m\u0065ssages":[{"role":"user","content":"x"}]}`),
		"wrong":     []byte(`{"model":7,"messages":"x","stream":"yes"}`),
		"invalid":   []byte("{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}"),
		"large":     []byte(`{"messages":[{"role":"user","content":"` + strings.Repeat("长", 700_000) + `"}]}`),
	}
	for _, name := range []string{"C009.json", "C013.json", "C015.json", "C016.json", "C017.json", "C019.json", "C021.json", "C024.json",
		"C027.json", "C029.json", "C031a.json", "C031b.json", "C036.json", "C051.json", "C053.json", "C055.json", "C060.json", "C062.json"} {
		bodies[name] = caseFile(t, name)
	}
	n := 0
	for name, body := range bodies {
		for _, chunked := range []bool{false, true} {
			req, _ := http.NewRequest("POST", s.url+"/v1/chat/completions", io.MultiReader(bytes.NewReader(body)))
			if !chunked {
				req.ContentLength = int64(len(body))
			}
			if len(body) == 0 {
				req.Body, req.ContentLength = http.NoBody, 0
			}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			answer, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			n++
			if string(answer) != chatAnswer || resp.Header.Get("X-Strata-Context") == "" || resp.Header.Get("X-Strata-Request-Id") == "" {
				t.Errorf("%s: %d %v", name, resp.StatusCode, resp.Header)
			}
			if r := lastRequest(t, up, n); !bytes.Equal(r.Body, body) || r.Target != "/v1/chat/completions" {
				t.Errorf("%s: upstream got %d bytes at %s, want %d", name, len(r.Body), r.Target, len(body))
			}
		}
	}
}

// A compressed request stays as it is when nothing is inserted.
func TestCompressedRequest(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.JSON(200, chatAnswer)))
	s := start(t, up.URL(), nil)
	c := client(t)
	var bomb bytes.Buffer
	zw := gzip.NewWriter(&bomb)
	for range 64 {
		_, _ = zw.Write(make([]byte, 1<<20))
	}
	zw.Close()
	for i, call := range []struct {
		encoding string
		body     []byte
		context  string
	}{
		{"gzip", caseFile(t, "C032.json.gz"), "none"},
		{" GZIP ", caseFile(t, "C032.json.gz"), "none"},
		{"gzip", []byte("not gzip"), "bypassed"},
		{"x-new", []byte("??"), "bypassed"},
		{"gzip", bomb.Bytes(), "bypassed"},
	} {
		resp, _ := post(t, c, s.url+"/v1/chat/completions", call.body, "Content-Encoding", call.encoding)
		if got := resp.Header.Get("X-Strata-Context"); !strings.HasPrefix(got, call.context) {
			t.Errorf("%q: context %s, want %s", call.encoding, got, call.context)
		}
		r := lastRequest(t, up, i+1)
		if !bytes.Equal(r.Body, call.body) || r.Get("Content-Encoding") != strings.TrimSpace(call.encoding) {
			t.Errorf("%q: upstream got %d bytes, %q", call.encoding, len(r.Body), r.Get("Content-Encoding"))
		}
	}
}

// Upstream's errors come back with status, body and pacing headers, unretried.
func TestUpstreamError(t *testing.T) {
	body := caseFile(t, "C038.json")
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Respond(429).HeaderLines("Retry-After: 17", "retry-after-ms: 17000",
		"x-ratelimit-remaining-tokens: 0", "x-request-id: r-9", "Content-Type: application/json").Write(body)))
	s := start(t, up.URL(), nil)
	resp, got := post(t, client(t), s.url+"/v1/chat/completions", []byte(chatBody))
	if resp.StatusCode != 429 || !bytes.Equal(got, body) || up.Calls() != 1 {
		t.Errorf("%d %s, %d calls", resp.StatusCode, got, up.Calls())
	}
	for name, want := range map[string]string{"Retry-After": "17", "retry-after-ms": "17000", "x-ratelimit-remaining-tokens": "0", "x-request-id": "r-9"} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	// Counted once the last byte is out, so the client may be first.
	waitFor(t, "one failed answer counted", func() bool { return s.counter(t, "strata_answers_total", "outcome", "failed") == 1 })
}

func TestAzure(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.JSON(200, chatAnswer)))
	for _, base := range []string{"", "/v1", "/openai/v1"} {
		up.Forget()
		n := up.Calls()
		s := start(t, up.URL()+base, nil)
		target := "/openai/deployments/gpt-x/chat/completions?api-version=2024-10-21"
		resp, _ := post(t, client(t), s.url+target, caseFile(t, "C036.json"), "api-key", "k1")
		r := lastRequest(t, up, n+1)
		if r.Target != target || r.Get("api-key") != "k1" || r.Get("Authorization") != "" || !bytes.Equal(r.Body, caseFile(t, "C036.json")) {
			t.Errorf("base %q: upstream got %s", base, r.Head)
		}
		if resp.Header.Get("X-Strata-Context") == "" {
			t.Errorf("base %q: not seen as a chat call", base)
		}
	}
}

// The four ways to write a base URL, over the wire.
func TestBaseURL(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.JSON(200, "{}")))
	n := 0
	for base, want := range map[string]string{"": "/v1", "/": "/v1", "/v1": "/v1", "/v1/": "/v1", "/api/v1": "/api/v1",
		"/v1beta/openai/": "/v1beta/openai", "/compatible-mode/v1": "/compatible-mode/v1"} {
		s := start(t, up.URL()+base, nil)
		for _, tail := range []string{"/chat/completions", "/embeddings"} {
			post(t, client(t), s.url+"/v1"+tail, []byte(chatBody))
			n++
			if r := lastRequest(t, up, n); r.Target != want+tail {
				t.Errorf("base %q: %s, want %s", base, r.Target, want+tail)
			}
		}
	}
}

func TestPreflight(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Respond(204).Header("Access-Control-Allow-Origin", "from-upstream")))
	ask := func(s *strata, origin string) *http.Response {
		req, _ := http.NewRequest("OPTIONS", s.url+"/v1/chat/completions", nil)
		req.Header.Set("Origin", origin)
		req.Header.Set("Access-Control-Request-Method", "POST")
		req.Header.Set("Access-Control-Request-Headers", "authorization,content-type,x-stainless-os")
		resp, err := client(t).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	plain := start(t, up.URL(), func(c *proxy.Config) { c.UpstreamAPIKey = "sk" })
	if resp := ask(plain, "http://app.test"); resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != "from-upstream" {
		t.Errorf("without allow_origins: %d %v", resp.StatusCode, resp.Header)
	}
	cors := start(t, up.URL(), func(c *proxy.Config) { c.AllowOrigins = []string{"http://app.test"} })
	resp := ask(cors, "http://app.test")
	if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != "http://app.test" ||
		resp.Header.Get("Access-Control-Allow-Headers") != "authorization,content-type,x-stainless-os" {
		t.Errorf("with allow_origins: %d %v", resp.StatusCode, resp.Header)
	}
	if up.Calls() != 1 {
		t.Errorf("upstream saw %d calls, want 1", up.Calls())
	}
}

// A page of a foreign origin cannot use a key that Strata supplies, and a
// foreign name cannot reach a loopback listener.
func TestBrowserGuards(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.JSON(200, "{}")))
	keyed := start(t, up.URL(), func(c *proxy.Config) { c.UpstreamAPIKey = "sk-own"; c.AllowOrigins = []string{"https://ok.test"} })
	own := start(t, up.URL(), nil)
	for _, call := range []struct {
		s       *strata
		headers string
		status  string
	}{
		{keyed, "Origin: https://evil.test\r\n", "403"},
		{keyed, "Sec-Fetch-Site: cross-site\r\n", "403"},
		{keyed, "Origin: https://ok.test\r\n", "200"},
		{keyed, "Authorization: Bearer client\r\n", "200"},
		{own, "Origin: https://evil.test\r\nAuthorization: Bearer page\r\n", "200"},
	} {
		got := raw(t, call.s.addr, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+call.headers+
			fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(chatBody), chatBody))
		if !strings.HasPrefix(got, "HTTP/1.1 "+call.status) {
			t.Errorf("%q: %s", call.headers, got)
		}
	}
	for _, r := range up.Requests()[:2] {
		if r.Get("Authorization") != "Bearer sk-own" {
			t.Errorf("upstream.api_key not used: %s", r.Head)
		}
	}
	for host, status := range map[string]string{"evil.test": "403", "evil.test:4470": "403", "127.0.0.1:4470": "200", "localhost:1": "200",
		"strata": "200", "host.docker.internal:4470": "200", "[::1]:4470": "200"} {
		got := raw(t, own.addr, "GET /v1/models HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 "+status) {
			t.Errorf("Host %s: %s", host, got)
		}
	}
}

// An older client without chunks, and bodiless answers.
func TestFraming(t *testing.T) {
	answers := map[string]*upstreamtest.Script{
		"/length":  upstreamtest.Respond(200).Write([]byte("abc")),
		"/chunked": upstreamtest.Stream().Write([]byte("abc")).Write([]byte("def")),
		"/close":   upstreamtest.Respond(200).Frame(upstreamtest.CloseDelimited).Write([]byte("abcdef")),
		"/trailer": upstreamtest.Stream().HeaderLines("Trailer: X-Sum").Trailers("X-Sum: 42").Write([]byte("abc")),
		"/204":     upstreamtest.Respond(204),
		"/304":     upstreamtest.Respond(304).HeaderLines("ETag: x", "Content-Length: 9").Frame(upstreamtest.None),
		"/both":    upstreamtest.RawAnswer().Raw([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")),
		"/interim": upstreamtest.Respond(200).Interim([]byte("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")).Write([]byte("abc")),
	}
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script { return answers[r.Path()] })
	s := start(t, up.URL(), nil)
	for _, c := range []struct{ proto, path, wantEnd string }{
		{"1.1", "/length", "Content-Length: 3\r\nConnection: close\r\n\r\nabc"},
		{"1.1", "/chunked", "\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"},
		{"1.1", "/close", "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n"},
		{"1.1", "/trailer", "\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 42\r\n\r\n"},
		{"1.1", "/both", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
		{"1.1", "/204", "Connection: close\r\n\r\n"},
		{"1.1", "/304", "ETag: x\r\nContent-Length: 9\r\nConnection: close\r\n\r\n"},
		{"1.1", "/interim", "\r\n\r\nabc"},
		{"1.0", "/length", "\r\n\r\nabc"},
		{"1.0", "/chunked", "Connection: close\r\n\r\nabcdef"},
		{"1.0", "/close", "Connection: close\r\n\r\nabcdef"},
	} {
		got := raw(t, s.addr, "GET "+c.path+" HTTP/"+c.proto+"\r\nHost: x\r\nConnection: close\r\n\r\n")
		if joined := strings.ReplaceAll(got, "3\r\nabc\r\n3\r\ndef\r\n", "6\r\nabcdef\r\n"); !strings.HasSuffix(got, c.wantEnd) &&
			!strings.HasSuffix(joined, strings.ReplaceAll(c.wantEnd, "3\r\nabc\r\n3\r\ndef\r\n", "6\r\nabcdef\r\n")) {
			t.Errorf("HTTP/%s %s: got %q, want end %q", c.proto, c.path, got, c.wantEnd)
		}
	}
}

// Pipelined requests are answered in order on one connection.
func TestPipelined(t *testing.T) {
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		return upstreamtest.Respond(200).Write([]byte("<" + r.Target + ">"))
	})
	s := start(t, up.URL(), nil)
	var req strings.Builder
	for i := range 5 {
		fmt.Fprintf(&req, "POST /p%d HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n%d", i, i)
	}
	req.WriteString("GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	got := raw(t, s.addr, req.String())
	at := 0
	for _, want := range []string{"</p0>", "</p1>", "</p2>", "</p3>", "</p4>", "</last>"} {
		i := strings.Index(got[at:], want)
		if i < 0 {
			t.Fatalf("%s missing or out of order in %q", want, got)
		}
		at += i
	}
	if strings.Count(got, "HTTP/1.1 200") != 6 {
		t.Errorf("%d answers, want 6: %q", strings.Count(got, "HTTP/1.1 200"), got)
	}
}

// An older client does not wait for the end behind the last chunk; the
// connection that still owes it carries no other request.
func TestOldClientLeavesNoRest(t *testing.T) {
	more := make(chan struct{})
	up := upstreamtest.New(t, upstreamtest.InTurn(
		upstreamtest.RawAnswer().Raw([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n")).Wait(more).Raw([]byte("\r\n")),
		upstreamtest.JSON(200, "{}")))
	s := start(t, up.URL(), nil)
	if got := raw(t, s.addr, "GET /a HTTP/1.0\r\nHost: x\r\n\r\n"); !strings.HasSuffix(got, "\r\n\r\nabc") {
		t.Errorf("%q", got)
	}
	if resp, body := post(t, client(t), s.url+"/v1/embeddings", []byte("{}")); resp.StatusCode != 200 || string(body) != "{}" || up.Accepted() != 2 {
		t.Errorf("%d %s on %d connections", resp.StatusCode, body, up.Accepted())
	}
	close(more)
}
