package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// answerLimit bounds one exchange; a proxy that hangs must not hang the bench.
const answerLimit = 30 * time.Second

// client is one keep-alive connection that sends the same request again and
// again. It understands just enough HTTP to know where an answer ends.
type client struct {
	nc      net.Conn
	request []byte
	next    func() []byte // makes the request of each exchange; nil: always the same
	buf     []byte        // the answer so far
	reads   int           // that were needed, since the beginning
}

func dial(ctx context.Context, addr string, request []byte) (*client, error) {
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{nc: nc, request: request, buf: make([]byte, 0, 16<<10)}, nil
}

// send starts an exchange.
func (c *client) send() error {
	c.buf = c.buf[:0]
	if c.next != nil {
		c.request = c.next()
	}
	_, err := c.nc.Write(c.request)
	return err
}

// more reads what is there and returns it.
func (c *client) more() ([]byte, error) {
	if len(c.buf) == cap(c.buf) {
		return nil, fmt.Errorf("an answer of more than %d bytes", cap(c.buf))
	}
	n, err := c.nc.Read(c.buf[len(c.buf):cap(c.buf)])
	c.reads++
	c.buf = c.buf[:len(c.buf)+n]
	if n > 0 {
		return c.buf[len(c.buf)-n:], nil
	}
	return nil, err
}

// exchange sends the request and reads an answer with a Content-Length.
func (c *client) exchange() error {
	if err := c.send(); err != nil {
		return err
	}
	total := -1
	for total < 0 || len(c.buf) < total {
		if _, err := c.more(); err != nil {
			return err
		}
		if total >= 0 {
			continue
		}
		var err error
		if total, err = answerLength(c.buf); err != nil {
			return err
		}
	}
	if len(c.buf) > total {
		return errors.New("bytes behind the end of the answer")
	}
	return nil
}

var blankLine = []byte("\r\n\r\n")

// answerLength is the length of head and body together, or -1 while the head
// is not complete.
func answerLength(b []byte) (int, error) {
	end := bytes.Index(b, blankLine)
	if end < 0 {
		return -1, nil
	}
	if err := checkStatus(b); err != nil {
		return 0, err
	}
	const name = "content-length:"
	for line := range bytes.Lines(b[:end+2]) {
		if len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) {
			n, err := strconv.Atoi(string(bytes.TrimSpace(line[len(name):])))
			return end + len(blankLine) + n, err
		}
	}
	return 0, fmt.Errorf("an answer without Content-Length: %q", b[:end])
}

func checkStatus(b []byte) error {
	if len(b) >= 12 && string(b[8:12]) != " 200" {
		return fmt.Errorf("answered %.200q", b)
	}
	return nil
}

var streamEnd = []byte("data: [DONE]\n\n\r\n0\r\n\r\n")

// stream sends the request and reads a chunked event stream to its end. seen,
// if not nil, gets the time of each read and what it brought.
func (c *client) stream(seen func(at time.Time, p []byte)) error {
	if err := c.send(); err != nil {
		return err
	}
	for {
		p, err := c.more()
		if err != nil {
			return err
		}
		if seen != nil {
			seen(time.Now(), p)
		}
		if len(p) == len(c.buf) {
			if err := checkStatus(p); err != nil {
				return err
			}
		}
		if bytes.HasSuffix(c.buf, streamEnd) {
			return nil
		}
	}
}

// firstChunk sends the request and reads up to the first chunk.
func (c *client) firstChunk() error {
	if err := c.send(); err != nil {
		return err
	}
	for !bytes.Contains(c.buf, []byte(stampMark)) {
		if _, err := c.more(); err != nil {
			return err
		}
		if err := checkStatus(c.buf); err != nil {
			return err
		}
	}
	return nil
}

// stamps returns the send times found in b.
func stamps(b []byte) []time.Time {
	var out []time.Time
	for {
		_, rest, ok := bytes.Cut(b, []byte(stampMark))
		if !ok || len(rest) < stampDigits {
			return out
		}
		if ns, err := strconv.ParseInt(string(rest[:stampDigits]), 10, 64); err == nil {
			out = append(out, time.Unix(0, ns))
		}
		b = rest[stampDigits:]
	}
}

// pool is a number of clients of one target.
type pool []*client

func dialPool(ctx context.Context, addr string, n int, request []byte) (pool, error) {
	p := make(pool, 0, n)
	for range n {
		c, err := dial(ctx, addr, request)
		if err != nil {
			p.close()
			return nil, err
		}
		p = append(p, c)
	}
	return p, nil
}

func (p pool) close() {
	for _, c := range p {
		_ = c.nc.Close()
	}
}

func (p pool) reads() int {
	n := 0
	for _, c := range p {
		n += c.reads
	}
	return n
}

// run lets every client do exchanges one after the other for d (0: one each)
// and returns how many there were. All that began are over when it returns.
func (p pool) run(ctx context.Context, d time.Duration, exchange func(*client) error) (int, error) {
	var (
		wg    sync.WaitGroup
		count atomic.Int64
		first = make(chan error, 1)
		end   = time.Now().Add(d)
	)
	// Closing is what gets a client out of a read.
	defer context.AfterFunc(ctx, p.close)()
	for _, c := range p {
		_ = c.nc.SetDeadline(end.Add(answerLimit))
		wg.Go(func() {
			n := 0
			defer func() { count.Add(int64(n)) }()
			for n == 0 || time.Now().Before(end) {
				if err := exchange(c); err != nil {
					select {
					case first <- err:
					default:
					}
					return
				}
				n++
			}
		})
	}
	wg.Wait()
	select {
	case err := <-first:
		return 0, err
	default:
		return int(count.Load()), nil
	}
}
