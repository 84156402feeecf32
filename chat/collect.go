package chat

import (
	"bytes"
	"errors"
	"strings"
)

const (
	// MaxCollect is how many bytes of an answer are kept, still encoded.
	MaxCollect = 8 << 20
	// maxDecoded bounds what they may unpack to.
	maxDecoded = 32 << 20
	// keepCollected bounds the buffer that is kept for the next answer.
	keepCollected = 64 << 10
)

// Collector keeps the bytes of an answer as they pass and reads them once at
// the end, so that nothing is decoded while the client waits. Reset it before
// each answer.
type Collector struct {
	contentType, encoding string
	buf                   []byte
	cut                   bool
	plain, done           bool // no encoding; [DONE] was seen
}

// Reset begins an answer with the two headers that say how to read it.
func (c *Collector) Reset(contentType, contentEncoding string) {
	buf := c.buf[:0]
	if cap(buf) > keepCollected {
		buf = nil
	}
	plain := contentEncoding == "" || strings.EqualFold(contentEncoding, "identity")
	*c = Collector{contentType: contentType, encoding: contentEncoding, buf: buf, plain: plain}
}

// Write keeps p, as far as there is room. It never fails.
func (c *Collector) Write(p []byte) (int, error) {
	keep := p
	if room := MaxCollect - len(c.buf); len(keep) > room {
		keep, c.cut = keep[:room], true
	}
	from := max(0, len(c.buf)-len(doneLine)-1)
	c.buf = append(c.buf, keep...)
	if c.plain && !c.done {
		c.done = hasDone(c.buf, from)
	}
	return len(p), nil
}

// doneLine ends a stream; the space may be missing.
const doneLine = "data: [DONE]"

// hasDone looks for the line from an offset on. Inside of JSON it cannot
// stand at the beginning of a line.
func hasDone(b []byte, from int) bool {
	for {
		i := bytes.Index(b[from:], []byte("[DONE]"))
		if i < 0 {
			return false
		}
		line, ok := bytes.CutSuffix(bytes.TrimSuffix(b[:from+i], []byte(" ")), []byte("data:"))
		if ok && (len(line) == 0 || line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
			return true
		}
		from += i + len("[DONE]")
	}
}

// Done tells that a stream's own end marker has come. Of a compressed stream
// it is not seen.
func (c *Collector) Done() bool { return c.done }

// Answer reads what was kept. ended tells that the body came to its proper
// end; an answer that was cut by either side counts as complete only if it
// said itself that it was.
func (c *Collector) Answer(ended bool) Answer {
	// Of a broken or endless encoding the readable beginning counts.
	body, err := decode(c.encoding, c.buf, maxDecoded)
	cut := c.cut || errors.Is(err, ErrTooLarge)
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	a := answerReader{trusting: true}
	whole := a.body(c, body) && ended
	if a.spoiled {
		a = answerReader{}
		whole = a.body(c, body) && ended
	}
	answer := a.result(whole)
	answer.Cut = answer.Cut || cut
	return answer
}

// isStream goes by the content type, and by the bytes where there is none or
// they cannot be what it says: no event stream begins with a JSON object, but
// some servers send their errors so.
func (c *Collector) isStream(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) > 0 && (body[0] == '{' || body[0] == '[') {
		return false
	}
	kind, _, _ := strings.Cut(c.contentType, ";")
	if strings.EqualFold(strings.TrimSpace(kind), "text/event-stream") {
		return true
	}
	for _, begin := range [...]string{":", "data", "event", "id", "retry"} {
		if len(body) >= len(begin) && string(body[:len(begin)]) == begin {
			return true
		}
	}
	return false
}

// event gathers the lines of one event of a stream.
type event struct {
	data    []byte // its data lines, joined by LF
	lines   int    // of data
	isError bool
}

// body reads all of an answer and tells whether it is a whole JSON answer.
func (a *answerReader) body(c *Collector, body []byte) bool {
	if c.isStream(body) {
		a.stream(body)
		return false
	}
	return a.take(body) && len(a.choices) > 0
}

// stream reads an event stream. Events whose data is not JSON are passed
// over. A last event without its blank line counts if its JSON is whole.
func (a *answerReader) stream(body []byte) {
	var e event
	lines := lineReader{b: body, lf: -1}
	for {
		line, ok := lines.next()
		switch {
		case !ok:
			a.event(&e, false)
			return
		case len(line) == 0:
			a.event(&e, true)
		default:
			e.add(line)
		}
	}
}

func (e *event) add(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if e.lines > 0 {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
		e.lines++
	case "event":
		e.isError = string(value) == "error"
	}
}

// event reads a gathered event and empties it. ended tells that its blank
// line was there.
func (a *answerReader) event(e *event, ended bool) {
	switch {
	case string(bytes.TrimSpace(e.data)) == "[DONE]":
		a.done = true
	case e.lines > 0 && a.take(e.data):
		a.failed = a.failed || e.isError
	case e.isError && ended: // an error in plain words, or in none
		a.failed = true
		if a.answer.ErrorMessage == "" {
			a.answer.ErrorMessage = textOf(e.data)
		}
	}
	*e = event{data: e.data[:0]}
}

// lineReader cuts lines that end with LF, CR LF or CR. It looks for each LF
// once, however many CR come before it, so the time is linear.
type lineReader struct {
	b      []byte
	at, lf int // lf is the first LF from at on, len(b) without one; less than at: not known
}

// next returns the next line without its end; the last one may have none.
func (l *lineReader) next() (line []byte, ok bool) {
	if l.at >= len(l.b) {
		return nil, false
	}
	if l.lf < l.at {
		l.lf = len(l.b)
		if i := bytes.IndexByte(l.b[l.at:], '\n'); i >= 0 {
			l.lf = l.at + i
		}
	}
	start, end := l.at, l.lf
	if i := bytes.IndexByte(l.b[start:end], '\r'); i >= 0 {
		end = start + i
	}
	l.at = end + 1
	if end+1 == l.lf && l.lf < len(l.b) {
		l.at++ // CR LF
	}
	return l.b[start:end], true
}
