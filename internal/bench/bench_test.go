package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

// serve runs upstream and the bare forwarder in this process and returns their
// addresses.
func serve(t *testing.T) (upstream, bare string) {
	t.Helper()
	up := upstreamtest.New(t, upstreamHandler(), upstreamtest.NoRecord())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newBare(up.Addr())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
	})
	return up.Addr(), ln.Addr().String()
}

func onlyClient(t *testing.T, addr string, request []byte) *client {
	t.Helper()
	c, err := dial(t.Context(), addr, request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.nc.Close() })
	_ = c.nc.SetDeadline(time.Now().Add(answerLimit))
	return c
}

func TestRequestsAndAnswersHaveTheSizesTheTableNames(t *testing.T) {
	for name, tc := range map[string]struct {
		body []byte
		size int
	}{
		"chat":              {chatBody("bench", false), 4096},
		"stream":            {chatBody(modelHeld, true), 4096},
		"embeddings":        {embeddingsRequest()[bytes.Index(embeddingsRequest(), blankLine)+4:], 4096},
		"chat answer":       {chatAnswer(), 1024},
		"embeddings answer": {embeddingsAnswer(), 1024},
	} {
		t.Run(name, func(t *testing.T) {
			if len(tc.body) != tc.size {
				t.Errorf("%d bytes, want %d", len(tc.body), tc.size)
			}
			if !json.Valid(tc.body) {
				t.Errorf("not JSON: %s", tc.body)
			}
		})
	}
}

func TestExchangesGetTheWholeAnswerOnOneConnection(t *testing.T) {
	upstream, bare := serve(t)
	for way, addr := range map[string]string{"direct": upstream, "bare": bare} {
		for what, tc := range map[string]struct{ request, want []byte }{
			"chat":       {chatRequest("X-Strata-Mode: off"), chatAnswer()},
			"embeddings": {embeddingsRequest(), embeddingsAnswer()},
		} {
			t.Run(way+" "+what, func(t *testing.T) {
				c := onlyClient(t, addr, tc.request)
				for range 3 {
					if err := c.exchange(); err != nil {
						t.Fatal(err)
					}
					if _, body, _ := bytes.Cut(c.buf, blankLine); !bytes.Equal(body, tc.want) {
						t.Fatalf("answer %q, want %q", body, tc.want)
					}
				}
			})
		}
	}
}

func TestStreamsArriveChunkByChunkWithTheirStamps(t *testing.T) {
	upstream, bare := serve(t)
	for way, addr := range map[string]string{"direct": upstream, "bare": bare} {
		t.Run(way, func(t *testing.T) {
			c := onlyClient(t, addr, streamRequest("bench"))
			for range 2 {
				var sent []time.Time
				start, reads := time.Now(), c.reads
				err := c.stream(func(at time.Time, p []byte) {
					for _, s := range stamps(p) {
						if s.After(at) || s.Before(start.Add(-time.Second)) {
							t.Errorf("a chunk received at %s was stamped %s", at, s)
						}
						sent = append(sent, s)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				if len(sent) != streamChunks {
					t.Fatalf("%d stamps, want %d", len(sent), streamChunks)
				}
				if took, least := sent[len(sent)-1].Sub(sent[0]), (streamChunks-1)*chunkGap; took < least {
					t.Errorf("sent within %s, want at least %s", took, least)
				}
				if c.reads-reads < streamChunks/2 {
					t.Errorf("%d chunks came in %d reads", streamChunks, c.reads-reads)
				}
			}
		})
	}
}

func TestHeldStreamsStaySilentAfterTheFirstChunk(t *testing.T) {
	_, bare := serve(t)
	c := onlyClient(t, bare, streamRequest(modelHeld))
	if err := c.firstChunk(); err != nil {
		t.Fatal(err)
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if p, err := c.more(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("then came %q, %v", p, err)
	}
}

func TestWrongAnswersEndARun(t *testing.T) {
	stream := func(c *client) error { return c.stream(nil) }
	for name, tc := range map[string]struct {
		script   *upstreamtest.Script
		exchange func(*client) error
		want     string
	}{
		"status 502":               {upstreamtest.JSON(502, `{"error":{}}`), (*client).exchange, "502"},
		"status 502 to a stream":   {upstreamtest.JSON(502, `{"error":{}}`), stream, "502"},
		"no length":                {upstreamtest.Stream().WriteString("data: 1\n\n"), (*client).exchange, "without Content-Length"},
		"cut before the end":       {upstreamtest.Stream().WriteString("data: 1\n\n").CloseNow(), stream, "EOF"},
		"more than was announced":  {upstreamtest.RawAnswer().Raw([]byte("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab")), (*client).exchange, "behind the end"},
		"closed without an answer": {upstreamtest.NoAnswer(), (*client).exchange, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			up := upstreamtest.New(t, upstreamtest.Always(tc.script), upstreamtest.NoRecord())
			p, err := dialPool(t.Context(), up.Addr(), 2, chatRequest())
			if err != nil {
				t.Fatal(err)
			}
			defer p.close()
			if n, err := p.run(t.Context(), 0, tc.exchange); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%d exchanges, error %v, want one with %q", n, err, tc.want)
			}
		})
	}
}

func TestRunCountsEveryExchange(t *testing.T) {
	upstream, _ := serve(t)
	p, err := dialPool(t.Context(), upstream, 5, chatRequest())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	n, err := p.run(t.Context(), 50*time.Millisecond, (*client).exchange)
	if err != nil {
		t.Fatal(err)
	}
	if n <= 5 || p.reads() < n {
		t.Errorf("%d exchanges with %d reads by 5 clients in 50 ms", n, p.reads())
	}
}
