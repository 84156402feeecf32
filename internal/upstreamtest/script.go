package upstreamtest

import (
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Framing says how the end of the body is told to the peer.
type Framing int

const (
	// Length adds a Content-Length with the number of bytes of all Write steps.
	Length Framing = iota
	// Chunked makes one chunk of every Write.
	Chunked
	// CloseDelimited ends the body with the end of the connection.
	CloseDelimited
	// None adds nothing: the header given is all there is. With a Content-Length
	// that promises more than is written, the peer waits.
	None
)

// Script is an answer: a head and the steps that follow. It is built once and
// not changed after a handler has returned it, so that many connections can run
// it at the same time. The head goes out in the same write as the first body
// bytes, unless a SendHead step comes before them. A framing header already
// among the header lines is not added a second time, which leaves its spelling
// and place to the caller. After its last step a script ends the body properly.
type Script struct {
	status     int
	reason     string
	headers    []string
	framing    Framing
	trailers   []string
	steps      []step
	closeAfter bool
	stubborn   bool
}

type stepKind int

const (
	stepWrite stepKind = iota
	stepRaw
	stepInterim
	stepHead
	stepPause
	stepWait
	stepSilence
	stepDo
	stepReset
	stepClose
	stepEnd
	stepTakeOver
)

type step struct {
	kind  stepKind
	data  []byte
	pause time.Duration
	ch    <-chan struct{}
	do    func()
	take  func(net.Conn)
}

func (k stepKind) waits() bool {
	return k == stepPause || k == stepWait || k == stepSilence
}

func (k stepKind) terminal() bool {
	return k == stepReset || k == stepClose || k == stepEnd || k == stepTakeOver
}

// Respond starts a script with a status and its usual reason phrase.
func Respond(status int) *Script {
	return &Script{status: status, reason: http.StatusText(status)}
}

// RawAnswer starts a script without a head: only its Raw steps are on the wire.
func RawAnswer() *Script { return &Script{framing: None} }

// NoAnswer closes the connection after the request was read.
func NoAnswer() *Script { return RawAnswer().CloseNow() }

// Hang keeps the connection open and sends nothing, not even a head.
func Hang() *Script { return RawAnswer().Silence() }

// Reason sets another reason phrase.
func (s *Script) Reason(text string) *Script { s.reason = text; return s }

// Header adds a header line, spelled as given.
func (s *Script) Header(name, value string) *Script { return s.HeaderLines(name + ": " + value) }

// HeaderLines adds header lines exactly as given, without their CRLF.
func (s *Script) HeaderLines(lines ...string) *Script {
	s.headers = append(s.headers, lines...)
	return s
}

// Frame sets the framing; without it a script is framed by Length.
func (s *Script) Frame(f Framing) *Script { s.framing = f; return s }

// Trailers sends trailer lines after the last chunk of a chunked body.
func (s *Script) Trailers(lines ...string) *Script {
	s.trailers = append(s.trailers, lines...)
	return s
}

// CloseAfter closes the connection after the answer without announcing it.
func (s *Script) CloseAfter() *Script { s.closeAfter = true; return s }

// IgnoreLeft goes on after the peer left, until a write fails. Otherwise the
// first step that waits ends the script when the peer has left.
func (s *Script) IgnoreLeft() *Script { s.stubborn = true; return s }

// Write writes p with exactly one write, as one chunk when chunked.
func (s *Script) Write(p []byte) *Script { return s.add(step{kind: stepWrite, data: p}) }

// WriteString is Write for a string.
func (s *Script) WriteString(p string) *Script { return s.Write([]byte(p)) }

// Raw writes p as it is with one write, without chunk framing and uncounted.
func (s *Script) Raw(p []byte) *Script { return s.add(step{kind: stepRaw, data: p}) }

// Interim writes p as it is with one write and does not take the head along: a
// 1xx response, complete with its blank line, before the final one.
func (s *Script) Interim(p []byte) *Script { return s.add(step{kind: stepInterim, data: p}) }

// SendHead writes the head now, as a write of its own.
func (s *Script) SendHead() *Script { return s.add(step{kind: stepHead}) }

// Pause waits for d.
func (s *Script) Pause(d time.Duration) *Script { return s.add(step{kind: stepPause, pause: d}) }

// Wait waits until ch is closed or delivers.
func (s *Script) Wait(ch <-chan struct{}) *Script { return s.add(step{kind: stepWait, ch: ch}) }

// Silence keeps the connection open and sends nothing until the peer leaves or
// the server closes.
func (s *Script) Silence() *Script { return s.add(step{kind: stepSilence}) }

// Do calls f between two steps.
func (s *Script) Do(f func()) *Script { return s.add(step{kind: stepDo, do: f}) }

// Reset ends the connection with RST. What was written before may be lost.
func (s *Script) Reset() *Script { return s.add(step{kind: stepReset}) }

// CloseNow ends the connection with FIN, in the middle of the body or not.
func (s *Script) CloseNow() *Script { return s.add(step{kind: stepClose}) }

// End ends the body properly. It is implied after the last step.
func (s *Script) End() *Script { return s.add(step{kind: stepEnd}) }

// TakeOver hands the connection to f after the head was written. Bytes already
// read are read from it first; the connection is closed when f returns.
func (s *Script) TakeOver(f func(net.Conn)) *Script {
	return s.SendHead().add(step{kind: stepTakeOver, take: f})
}

func (s *Script) add(st step) *Script { s.steps = append(s.steps, st); return s }

func (s *Script) waits() bool {
	return slices.ContainsFunc(s.steps, func(st step) bool { return st.kind.waits() })
}

// bodyLength is the number of bytes of all Write steps.
func (s *Script) bodyLength() int {
	n := 0
	for i := range s.steps {
		if s.steps[i].kind == stepWrite {
			n += len(s.steps[i].data)
		}
	}
	return n
}

func (s *Script) hasHeader(name string) bool {
	for _, line := range s.headers {
		if n, _, ok := strings.Cut(line, ":"); ok && strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// appendHead appends the status line, the header lines and the blank line.
func (s *Script) appendHead(b []byte) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(s.status), 10)
	b = append(b, ' ')
	b = append(b, s.reason...)
	b = append(b, crlf...)
	for _, line := range s.headers {
		b = append(b, line...)
		b = append(b, crlf...)
	}
	switch {
	case noBodyStatus(s.status):
	case s.framing == Length && !s.hasHeader("Content-Length"):
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(s.bodyLength()), 10)
		b = append(b, crlf...)
	case s.framing == Chunked && !s.hasHeader("Transfer-Encoding"):
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	return append(b, crlf...)
}

func noBodyStatus(status int) bool {
	return status/100 == 1 || status == http.StatusNoContent || status == http.StatusNotModified
}

// bodiless says that this answer has no body on the wire, whatever is written.
func bodiless(r *Request, s *Script) bool {
	return r.Method == http.MethodHead || noBodyStatus(s.status)
}
