package upstreamtest_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

// BenchmarkStatic prints what one connection costs with a client as cheap as
// possible: the time is that of server and client together.
func BenchmarkStatic(b *testing.B) {
	for name, opts := range map[string][]upstreamtest.Option{
		"NoRecord": {upstreamtest.NoRecord()},
		"Record":   nil,
	} {
		b.Run(name, func(b *testing.B) {
			body := []byte(`{"text":"` + strings.Repeat("x", 1000) + `"}`)
			s := upstreamtest.New(b, upstreamtest.Static(200, []string{"Content-Type: application/json"}, body), opts...)
			request := []byte("POST /v1/chat/completions HTTP/1.1\r\nHost: up\r\nAuthorization: Bearer k\r\n" +
				"Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"messages\":[{},{}]}")
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				nc, err := net.Dial("tcp", s.Addr())
				if err != nil {
					b.Error(err)
					return
				}
				defer nc.Close()
				buf := make([]byte, 4096)
				for pb.Next() {
					if _, err := nc.Write(request); err != nil {
						b.Error(err)
						return
					}
					for !bytes.HasSuffix(buf[:readSome(b, nc, buf)], []byte("}")) {
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
		})
	}
}

func readSome(b *testing.B, nc net.Conn, buf []byte) int {
	n, err := nc.Read(buf)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkStream runs streams of 20 chunks with 1 ms between them.
func BenchmarkStream(b *testing.B) {
	tokens := make([]string, 18)
	for i := range tokens {
		tokens[i] = "token "
	}
	s := upstreamtest.New(b, upstreamtest.Always(upstreamtest.ChatStream(tokens, time.Millisecond)), upstreamtest.NoRecord())
	b.ReportAllocs()
	b.SetParallelism(50)
	b.RunParallel(func(pb *testing.PB) {
		nc, err := net.Dial("tcp", s.Addr())
		if err != nil {
			b.Error(err)
			return
		}
		defer nc.Close()
		br := bufio.NewReader(nc)
		for pb.Next() {
			if _, err := io.WriteString(nc, plainGet); err != nil {
				b.Error(err)
				return
			}
			for {
				line, err := br.ReadSlice('\n')
				if err != nil {
					b.Error(err)
					return
				}
				if string(line) == "0\r\n" {
					br.Discard(2)
					break
				}
			}
		}
	})
}
