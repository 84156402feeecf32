package upstreamtest

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxHead   = 1 << 20 // bytes; far above any limit a test wants to cross
	growth    = 1 << 20 // bytes; a promised length is believed in steps of this
	crlf      = "\r\n"
	blankLine = "\r\n\r\n"
)

var (
	errMalformed = errors.New("malformed request")
	errIdle      = errors.New("idle or closed between requests")
)

// Header is one header line of a request, its name spelled as it was sent.
type Header struct {
	Name, Value string
}

// Request is one request as it came over the wire.
type Request struct {
	// Head is everything up to and including the blank line, exactly as received.
	Head string
	// RawBody is the body as it came, with chunk framing and trailers.
	RawBody []byte
	// Body is the body without chunk framing. It is not decompressed.
	Body []byte

	Method, Target, Proto string
	// Headers are in the order of the wire; values have no surrounding blanks.
	Headers []Header
	// HeadOnly says that OnHead answered, so that the body was not read.
	HeadOnly bool
	// Conn counts the connections of the server, Number the requests on this
	// connection; both start at 1.
	Conn, Number int
	RemoteAddr   string
	// At is the time when the request was complete.
	At time.Time

	left, done chan struct{}

	mu        sync.Mutex
	finishing bool // the last bytes are on their way; leaving is no longer early
	writes    int
	inTime    bool // the write in hand began before the peer was seen to leave
	leftAt    time.Time
	leftAfter int
}

// Get returns the first value of the header, whatever its spelling; empty when
// there is none.
func (r *Request) Get(name string) string {
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// Values returns all values of the header in order, whatever its spelling.
func (r *Request) Values(name string) []string {
	var vs []string
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, name) {
			vs = append(vs, h.Value)
		}
	}
	return vs
}

// Path is the target without its query.
func (r *Request) Path() string {
	path, _, _ := strings.Cut(r.Target, "?")
	return path
}

// Left is closed when the peer closes or resets its end before the last bytes
// of the answer are written.
func (r *Request) Left() <-chan struct{} { return r.left }

// Done is closed when the script has ended, for whatever reason.
func (r *Request) Done() <-chan struct{} { return r.done }

// LeftAt is the time when the peer's leaving was seen; zero when it did not leave.
func (r *Request) LeftAt() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leftAt
}

// LeftAfter is the number of body writes done when the peer left; -1 when it
// did not leave. One that was on its way then counts once it has succeeded, so
// the number is sure after Done.
func (r *Request) LeftAfter() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leftAt.IsZero() {
		return -1
	}
	return r.leftAfter
}

// Writes is the number of body writes done so far.
func (r *Request) Writes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writes
}

func (r *Request) writing() {
	r.mu.Lock()
	r.inTime = r.leftAt.IsZero()
	r.mu.Unlock()
}

// wrote follows a write that has succeeded. The peer may have read it and left
// before its return.
func (r *Request) wrote() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes++
	if r.inTime && !r.leftAt.IsZero() {
		r.leftAfter = r.writes
	}
}

// finish is called before the last bytes are written: a peer that has got them
// all and closes is no peer that left.
func (r *Request) finish() {
	r.mu.Lock()
	r.finishing = true
	r.mu.Unlock()
}

func (r *Request) markLeft() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finishing || !r.leftAt.IsZero() {
		return
	}
	r.leftAt, r.leftAfter = time.Now(), r.writes
	close(r.left)
}

func (r *Request) hasLeft() bool {
	select {
	case <-r.left:
		return true
	default:
		return false
	}
}

// keepAlive says whether the peer expects the connection to stay open.
func (r *Request) keepAlive() bool {
	connection := r.Get("Connection")
	if r.Proto == "HTTP/1.0" {
		return hasToken(connection, "keep-alive")
	}
	return !hasToken(connection, "close")
}

func hasToken(list, token string) bool {
	for part := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(part), token) {
			return true
		}
	}
	return false
}

// parseHead reads a head that ends with its blank line. headers is reused.
func parseHead(head string, headers []Header) (*Request, error) {
	r := &Request{Head: head, left: make(chan struct{}), done: make(chan struct{})}
	line, rest, _ := strings.Cut(head, crlf)
	var ok bool
	if r.Method, line, ok = strings.Cut(line, " "); !ok || r.Method == "" {
		return r, errMalformed
	}
	if r.Target, r.Proto, ok = strings.Cut(line, " "); !ok || r.Target == "" {
		return r, errMalformed
	}
	if r.Proto != "HTTP/1.1" && r.Proto != "HTTP/1.0" {
		return r, errMalformed
	}
	for rest != crlf {
		line, rest, _ = strings.Cut(rest, crlf)
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t\n") || strings.Contains(value, "\n") {
			return r, errMalformed
		}
		headers = append(headers, Header{Name: name, Value: strings.Trim(value, " \t")})
	}
	r.Headers = headers
	return r, nil
}

// readRequest reads the nth request of the connection up to its blank line.
func (c *conn) readRequest(n int) (*Request, error) {
	head, err := c.readHead(n)
	if err != nil {
		return nil, err
	}
	var headers []Header
	if c.server.opts.noRecord {
		headers = c.headers[:0]
	}
	r, err := parseHead(head, headers)
	if err != nil {
		c.server.refused(head)
		return nil, err
	}
	c.headers = r.Headers
	r.Conn, r.Number, r.RemoteAddr = c.number, n, c.remote
	return r, nil
}

func (c *conn) readHead(n int) (string, error) {
	if err := c.awaitFirst(n); err != nil {
		return "", err
	}
	searched := 0
	for {
		in := c.pending()
		if i := bytes.Index(in[searched:], []byte(blankLine)); i >= 0 {
			end := searched + i + len(blankLine)
			c.r += end
			return string(in[:end]), nil
		}
		if len(in) > maxHead {
			c.server.refused(string(in))
			return "", errMalformed
		}
		searched = max(0, len(in)-len(blankLine)+1)
		if err := c.fill(); err != nil {
			c.server.refused(string(c.pending()))
			return "", errIdle
		}
	}
}

// awaitFirst waits for the first byte of the nth request.
func (c *conn) awaitFirst(n int) error {
	o := &c.server.opts
	if len(c.pending()) == 0 {
		limited := o.idleClose > 0 && n > 1
		if limited {
			c.nc.SetReadDeadline(time.Now().Add(o.idleClose))
		}
		if err := c.fillUpTo(firstRead(o)); err != nil {
			return errIdle
		}
		if limited {
			c.nc.SetReadDeadline(time.Time{})
		}
	}
	if o.readDelay > 0 && !c.sleep(o.readDelay, nil) {
		return errIdle
	}
	return nil
}

// firstRead is how many bytes the first read of a request may take: one before
// a delay, so that the rest stays in the kernel's buffers.
func firstRead(o *options) int {
	if o.readDelay > 0 {
		return 1
	}
	return readSize
}

// readBody reads the body into r, as its framing says.
func (c *conn) readBody(r *Request) error {
	var raw []byte
	if c.server.opts.noRecord {
		raw = c.body[:0]
	}
	var err error
	switch te, cl := r.Get("Transfer-Encoding"), r.Values("Content-Length"); {
	case te != "":
		if !strings.EqualFold(te, "chunked") {
			return errMalformed
		}
		r.RawBody, r.Body, err = c.readChunks(raw)
	case len(cl) > 0:
		size, perr := strconv.ParseUint(cl[0], 10, 40)
		if perr != nil || slices.ContainsFunc(cl, func(v string) bool { return v != cl[0] }) {
			return errMalformed
		}
		r.RawBody, err = c.readN(raw, int(size))
		r.Body = r.RawBody
	}
	if c.server.opts.noRecord && r.RawBody != nil {
		c.body = r.RawBody
	}
	return err
}

func (c *conn) readChunks(raw []byte) (wire, body []byte, err error) {
	for {
		from := len(raw)
		if raw, err = c.readLine(raw); err != nil {
			return raw, body, err
		}
		digits, _, _ := strings.Cut(strings.TrimSuffix(string(raw[from:]), crlf), ";")
		size, perr := strconv.ParseUint(strings.TrimSpace(digits), 16, 40)
		if perr != nil {
			return raw, body, errMalformed
		}
		if size == 0 {
			raw, err = c.readTrailers(raw)
			return raw, body, err
		}
		from = len(raw)
		if raw, err = c.readN(raw, int(size)+len(crlf)); err != nil {
			return raw, body, err
		}
		if !bytes.HasSuffix(raw, []byte(crlf)) {
			return raw, body, errMalformed
		}
		body = append(body, raw[from:len(raw)-len(crlf)]...)
	}
}

func (c *conn) readTrailers(raw []byte) ([]byte, error) {
	for {
		from := len(raw)
		var err error
		if raw, err = c.readLine(raw); err != nil || len(raw)-from == len(crlf) {
			return raw, err
		}
	}
}

// readLine appends a line with its CRLF to dst.
func (c *conn) readLine(dst []byte) ([]byte, error) {
	for {
		in := c.pending()
		if i := bytes.IndexByte(in, '\n'); i >= 0 {
			c.r += i + 1
			dst = append(dst, in[:i+1]...)
			if !bytes.HasSuffix(dst, []byte(crlf)) {
				return dst, errMalformed
			}
			return dst, nil
		}
		if len(in) > maxHead {
			return dst, errMalformed
		}
		if err := c.fill(); err != nil {
			return dst, err
		}
	}
}

// readN appends n bytes to dst. Memory follows what has arrived, not what the
// peer promised.
func (c *conn) readN(dst []byte, n int) ([]byte, error) {
	take := min(n, len(c.pending()))
	dst = append(dst, c.pending()[:take]...)
	c.r += take
	for n -= take; n > 0; {
		step := min(n, growth)
		dst = slices.Grow(dst, step)
		got, err := io.ReadFull(c.nc, dst[len(dst):len(dst)+step])
		dst, n = dst[:len(dst)+got], n-got
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}
