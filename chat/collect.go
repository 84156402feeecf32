package chat

import (
	"bytes"
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
}

// Reset begins an answer with the two headers that say how to read it.
func (c *Collector) Reset(contentType, contentEncoding string) {
	buf := c.buf[:0]
	if cap(buf) > keepCollected {
		buf = nil
	}
	*c = Collector{contentType: contentType, encoding: contentEncoding, buf: buf}
}

// Write keeps p, as far as there is room. It never fails.
func (c *Collector) Write(p []byte) (int, error) {
	keep := p
	if room := MaxCollect - len(c.buf); len(keep) > room {
		keep, c.cut = keep[:room], true
	}
	c.buf = append(c.buf, keep...)
	return len(p), nil
}

// Answer reads what was kept. ended tells that the body came to its proper
// end; an answer that was cut by either side counts as complete only if it
// said itself that it was.
func (c *Collector) Answer(ended bool) Answer {
	// Of a broken or endless encoding the readable beginning counts.
	body, err := decode(c.encoding, c.buf, maxDecoded)
	cut := c.cut || err == ErrTooLarge
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	var a answerReader
	whole := false
	if c.isStream(body) {
		a.stream(body)
	} else {
		whole = a.take(body) && ended && len(a.choices) > 0
	}
	answer := a.result(whole)
	answer.Cut = cut
	return answer
}

// isStream goes by the content type, and by the bytes where there is none.
func (c *Collector) isStream(body []byte) bool {
	if c.contentType != "" {
		kind, _, _ := strings.Cut(c.contentType, ";")
		if strings.EqualFold(strings.TrimSpace(kind), "text/event-stream") {
			return true
		}
	}
	body = bytes.TrimLeft(body, " \t\r\n")
	return len(body) > 0 && body[0] != '{' && body[0] != '[' &&
		(body[0] == ':' || bytes.HasPrefix(body, []byte("data:")) || bytes.HasPrefix(body, []byte("event:")))
}

// stream reads an event stream. Lines end with LF, CR LF or CR; the data
// lines of an event are joined by LF. Events whose data is not JSON are
// passed over.
func (a *answerReader) stream(body []byte) {
	var data []byte
	lines, isError := 0, false
	dispatch := func() {
		if lines > 0 {
			if string(bytes.TrimSpace(data)) == "[DONE]" {
				a.done = true
			} else if a.take(data) && isError {
				a.failed = true
			}
		} else if isError {
			a.failed = true
		}
		data, lines, isError = data[:0], 0, false
	}
	for len(body) > 0 {
		var line []byte
		line, body = streamLine(body)
		if len(line) == 0 {
			dispatch()
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if lines > 0 {
				data = append(data, '\n')
			}
			data = append(data, value...)
			lines++
		case "event":
			isError = string(value) == "error"
		}
	}
	dispatch()
}

// streamLine cuts the first line off b.
func streamLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		i = len(b)
	}
	if j := bytes.IndexByte(b[:i], '\r'); j >= 0 {
		if j == i-1 && i < len(b) {
			return b[:j], b[i+1:]
		}
		return b[:j], b[j+1:]
	}
	return b[:i], b[min(i+1, len(b)):]
}
