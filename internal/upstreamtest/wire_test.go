package upstreamtest_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

const plainGet = "GET /v1/models HTTP/1.1\r\nHost: up\r\n\r\n"

// patience is the longest that any step of a test may take.
const patience = 10 * time.Second

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func await(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-within(t).Done():
		t.Fatalf("%s did not happen", what)
	}
}

func dial(t *testing.T, s *upstreamtest.Server, request string) *net.TCPConn {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(patience))
	send(t, nc, request)
	return nc.(*net.TCPConn)
}

func send(t *testing.T, nc net.Conn, request string) {
	t.Helper()
	if _, err := io.WriteString(nc, request); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Fatalf("got %q (%v)\nwant %q", got[:n], err, want)
	}
}

func expectEOF(t *testing.T, r io.Reader) {
	t.Helper()
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Fatalf("got %q, %v; want the end of the connection", rest, err)
	}
}

func onlyRequest(t *testing.T, s *upstreamtest.Server) *upstreamtest.Request {
	t.Helper()
	if err := s.WaitCalls(within(t), 1); err != nil {
		t.Fatal(err)
	}
	rs := s.Requests()
	if len(rs) != 1 {
		t.Fatalf("%d requests recorded, want 1", len(rs))
	}
	return rs[0]
}

func TestFramingOnTheWire(t *testing.T) {
	tests := []struct {
		name    string
		script  *upstreamtest.Script
		request string
		want    string
		closes  bool
	}{
		{
			name:   "length counts all writes",
			script: upstreamtest.Respond(200).Header("x-request-ID", "r1").WriteString("ab").WriteString("c"),
			want:   "HTTP/1.1 200 OK\r\nx-request-ID: r1\r\nContent-Length: 3\r\n\r\nabc",
		},
		{
			name:   "one chunk for each write",
			script: upstreamtest.Respond(200).Frame(upstreamtest.Chunked).WriteString("ab").WriteString("0123456789abcdef"),
			want:   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n",
		},
		{
			name: "trailers after the last chunk",
			script: upstreamtest.Respond(200).Frame(upstreamtest.Chunked).Header("Trailer", "X-Sum").
				WriteString("ab").Trailers("X-Sum: 1"),
			want: "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX-Sum: 1\r\n\r\n",
		},
		{
			name:   "close ends the body",
			script: upstreamtest.Respond(200).Frame(upstreamtest.CloseDelimited).WriteString("ab"),
			want:   "HTTP/1.1 200 OK\r\n\r\nab",
			closes: true,
		},
		{
			name:   "given framing header is not added again",
			script: upstreamtest.Respond(200).HeaderLines("content-LENGTH:2", "b: 1", "b: 2").WriteString("ab"),
			want:   "HTTP/1.1 200 OK\r\ncontent-LENGTH:2\r\nb: 1\r\nb: 2\r\n\r\nab",
		},
		{
			name:   "given chunked header keeps its spelling",
			script: upstreamtest.Respond(200).HeaderLines("transfer-encoding: chunked").Frame(upstreamtest.Chunked).WriteString("a"),
			want:   "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		},
		{
			name:   "promised more than sent, then FIN",
			script: upstreamtest.Respond(200).Frame(upstreamtest.None).Header("Content-Length", "9").WriteString("ab").CloseNow(),
			want:   "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
			closes: true,
		},
		{
			name:   "chunked cut off has no last chunk",
			script: upstreamtest.Respond(200).Frame(upstreamtest.Chunked).WriteString("ab").CloseNow(),
			want:   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
			closes: true,
		},
		{
			name:   "raw bytes inside a chunked body",
			script: upstreamtest.Respond(200).Frame(upstreamtest.Chunked).Raw([]byte("5;x=y\r\nhello\r\n")),
			want:   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\n\r\n",
		},
		{
			name:   "interim response before the final one",
			script: upstreamtest.Respond(200).Interim([]byte("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n")).WriteString("a"),
			want:   "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
		},
		{
			name:   "own reason phrase and unknown status",
			script: upstreamtest.Respond(599).Reason("Very Odd"),
			want:   "HTTP/1.1 599 Very Odd\r\nContent-Length: 0\r\n\r\n",
		},
		{
			name:   "204 has no framing",
			script: upstreamtest.Respond(204).WriteString("not sent"),
			want:   "HTTP/1.1 204 No Content\r\n\r\n",
		},
		{
			name:    "HEAD gets the head alone",
			script:  upstreamtest.Respond(200).WriteString("abc"),
			request: "HEAD / HTTP/1.1\r\nHost: up\r\n\r\n",
			want:    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
		},
		{
			name:    "HEAD of a chunked answer has no last chunk",
			script:  upstreamtest.Respond(200).Frame(upstreamtest.Chunked).WriteString("abc"),
			request: "HEAD / HTTP/1.1\r\nHost: up\r\n\r\n",
			want:    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		},
		{
			name:   "answer made of raw bytes",
			script: upstreamtest.RawAnswer().Raw([]byte("HTTP/1.1 200\r\nX\r\n\r\n")).CloseNow(),
			want:   "HTTP/1.1 200\r\nX\r\n\r\n",
			closes: true,
		},
		{
			name:    "the request asks to close",
			script:  upstreamtest.JSON(200, "{}"),
			request: "GET / HTTP/1.1\r\nHost: up\r\nConnection: Foo, Close\r\n\r\n",
			want:    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
			closes:  true,
		},
		{
			name:    "HTTP/1.0 closes",
			script:  upstreamtest.JSON(200, "{}"),
			request: "GET / HTTP/1.0\r\n\r\n",
			want:    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
			closes:  true,
		},
		{
			name:   "closes after the answer without a word",
			script: upstreamtest.JSON(200, "{}").CloseAfter(),
			want:   "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
			closes: true,
		},
		{name: "read fully and closed without an answer", script: upstreamtest.NoAnswer(), closes: true},
		{name: "no script", script: nil, closes: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := upstreamtest.New(t, upstreamtest.Always(tt.script))
			request := tt.request
			if request == "" {
				request = plainGet
			}
			nc := dial(t, s, request)
			expect(t, nc, tt.want)
			if tt.closes {
				expectEOF(t, nc)
			} else {
				send(t, nc, request)
				expect(t, nc, tt.want)
			}
			want := 2
			if tt.closes {
				want = 1
			}
			if s.Calls() != want {
				t.Errorf("%d calls, want %d", s.Calls(), want)
			}
		})
	}
}

// A read at the peer returns at most what one write sent, as long as the next
// write waits for the peer.
func TestEachStepIsOneWrite(t *testing.T) {
	next := make(chan struct{})
	s := upstreamtest.New(t, upstreamtest.Always(
		upstreamtest.Respond(200).Frame(upstreamtest.Chunked).SendHead().Wait(next).
			WriteString("one").Wait(next).Raw([]byte("3\r\ntwo\r\n")).Wait(next)))
	nc := dial(t, s, plainGet)
	buf := make([]byte, 4096)
	for _, want := range []string{
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"3\r\none\r\n",
		"3\r\ntwo\r\n",
		"0\r\n\r\n",
	} {
		n, err := nc.Read(buf)
		if err != nil || string(buf[:n]) != want {
			t.Fatalf("read %q, %v; want %q", buf[:n], err, want)
		}
		if want != "0\r\n\r\n" {
			next <- struct{}{}
		}
	}
	if r := onlyRequest(t, s); r.Writes() != 1 {
		t.Errorf("%d body writes counted, want 1", r.Writes())
	}
}

func TestHeadGoesWithTheFirstBodyWrite(t *testing.T) {
	next := make(chan struct{})
	s := upstreamtest.New(t, upstreamtest.Always(
		upstreamtest.Respond(200).Frame(upstreamtest.Chunked).WriteString("one").Wait(next)))
	nc := dial(t, s, plainGet)
	buf := make([]byte, 4096)
	n, err := nc.Read(buf)
	want := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n"
	if err != nil || string(buf[:n]) != want {
		t.Fatalf("read %q, %v; want %q", buf[:n], err, want)
	}
	close(next)
	expect(t, nc, "0\r\n\r\n")
}

func TestReset(t *testing.T) {
	got := make(chan struct{})
	s := upstreamtest.New(t, upstreamtest.Always(
		upstreamtest.Respond(200).Frame(upstreamtest.Chunked).WriteString("a").Wait(got).Reset()))
	nc := dial(t, s, plainGet)
	expect(t, nc, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
	close(got)
	if _, err := io.ReadAll(nc); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read error %v, want a reset", err)
	}
	r := onlyRequest(t, s)
	await(t, "the end of the script", r.Done())
	if !r.LeftAt().IsZero() {
		t.Error("the upstream's own reset counts as a peer that left")
	}
}

func TestPauseTakesItsTime(t *testing.T) {
	const gap = 30 * time.Millisecond
	s := upstreamtest.New(t, upstreamtest.Always(upstreamtest.SSE([]byte("data: a\n\ndata: b\n\n"), nil, gap)))
	start := time.Now()
	nc := dial(t, s, plainGet)
	br := bufio.NewReader(nc)
	for {
		line, err := br.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "data: b\n" {
			break
		}
	}
	if took := time.Since(start); took < gap {
		t.Errorf("second event after %v, want at least %v", took, gap)
	}
}

func TestSplitEvents(t *testing.T) {
	crlf, err := os.ReadFile("testdata/C001.sse")
	if err != nil {
		t.Fatal(err)
	}
	fileEvents := strings.SplitAfter(string(crlf), "\r\n\r\n") // and an empty rest
	tests := []struct {
		name, body string
		want       []string
	}{
		{"LF", "data: a\n\ndata: b\n\n", []string{"data: a\n\n", "data: b\n\n"}},
		{"CRLF", "data: a\r\n\r\nid: 1\r\ndata: b\r\n\r\n", []string{"data: a\r\n\r\n", "id: 1\r\ndata: b\r\n\r\n"}},
		{"rest without a blank line", "data: a\n\ndata: b\n", []string{"data: a\n\n", "data: b\n"}},
		{"rest without a line end", "data: a\n\ndata: b", []string{"data: a\n\n", "data: b"}},
		{"empty", "", nil},
		{"file", string(crlf), fileEvents[:len(fileEvents)-1]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, piece := range upstreamtest.SplitEvents([]byte(tt.body)) {
				got = append(got, string(piece))
			}
			if strings.Join(got, "|") != strings.Join(tt.want, "|") {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestPiecesAreChunks(t *testing.T) {
	body, err := os.ReadFile("testdata/C012.sse")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/C012.cuts")
	if err != nil {
		t.Fatal(err)
	}
	var cuts []int
	for field := range strings.FieldsSeq(string(text)) {
		cut, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		cuts = append(cuts, cut)
	}
	tests := []struct {
		name   string
		script *upstreamtest.Script
		chunks int
	}{
		{"cuts", upstreamtest.SSE(body, cuts, 0), len(cuts) + 1},
		{"one byte a write", upstreamtest.Bytes(body, 0), len(body)},
		{"no cuts", upstreamtest.SSE(body, []int{}, 0), 1},
		{"events", upstreamtest.SSE(body, nil, 0), bytes.Count(body, []byte("\n\n"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := upstreamtest.New(t, upstreamtest.Always(tt.script))
			br := bufio.NewReader(dial(t, s, plainGet))
			for line := ""; line != "\r\n"; {
				if line, err = br.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			var got []byte
			for chunks := 0; ; chunks++ {
				size, err := br.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				n, err := strconv.ParseInt(strings.TrimSpace(size), 16, 32)
				if err != nil {
					t.Fatal(err)
				}
				piece := make([]byte, n+2)
				if _, err := io.ReadFull(br, piece); err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					if chunks != tt.chunks {
						t.Errorf("%d chunks, want %d", chunks, tt.chunks)
					}
					break
				}
				got = append(got, piece[:n]...)
			}
			if !bytes.Equal(got, body) {
				t.Errorf("got %q\nwant %q", got, body)
			}
		})
	}
}
