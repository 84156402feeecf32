package upstreamtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Static answers every request with the same bytes: header lines as given, a
// Content-Length, one write.
func Static(status int, headerLines []string, body []byte) Handler {
	s := Respond(status).HeaderLines(headerLines...).Write(body)
	return func(*Request) *Script { return s }
}

// Always answers every request with the same script.
func Always(s *Script) Handler {
	return func(*Request) *Script { return s }
}

// InTurn answers the first request with the first script and so on; the last
// script answers all that follow.
func InTurn(scripts ...*Script) Handler {
	turns := make(chan *Script, len(scripts))
	for _, s := range scripts[:len(scripts)-1] {
		turns <- s
	}
	return func(*Request) *Script {
		select {
		case s := <-turns:
			return s
		default:
			return scripts[len(scripts)-1]
		}
	}
}

// JSON is a JSON answer with a Content-Length in one write.
func JSON[B ~string | ~[]byte](status int, body B) *Script {
	return Respond(status).Header("Content-Type", "application/json").Write([]byte(body))
}

// Stream starts a chunked event stream; what it sends is added by the caller.
func Stream() *Script {
	return Respond(200).
		Header("Content-Type", "text/event-stream; charset=utf-8").
		Header("Cache-Control", "no-cache").
		Frame(Chunked)
}

// SSE streams body in pieces with gap between two of them: cut at the byte
// offsets of cuts, or, when cuts is nil, after every event. An event ends with
// its blank line, with LF or CRLF.
func SSE(body []byte, cuts []int, gap time.Duration) *Script {
	pieces := SplitEvents(body)
	if cuts != nil {
		pieces = splitAt(body, cuts)
	}
	return Pieces(Stream(), pieces, gap)
}

// Bytes streams body with one byte per write and gap between two of them.
func Bytes(body []byte, gap time.Duration) *Script {
	cuts := make([]int, 0, len(body))
	for i := 1; i < len(body); i++ {
		cuts = append(cuts, i)
	}
	return SSE(body, cuts, gap)
}

// Pieces adds one Write for each piece to s, with gap between two of them.
func Pieces(s *Script, pieces [][]byte, gap time.Duration) *Script {
	for i, piece := range pieces {
		if i > 0 && gap > 0 {
			s.Pause(gap)
		}
		s.Write(piece)
	}
	return s
}

// ChatStream streams a chat completion: one event for each token with gap
// between two writes, then the finish reason and [DONE].
func ChatStream(tokens []string, gap time.Duration) *Script {
	pieces := make([][]byte, 0, len(tokens)+2)
	for _, token := range tokens {
		pieces = append(pieces, chatEvent(`{"content":`+quote(token)+`}`, "null"))
	}
	pieces = append(pieces, chatEvent(`{}`, `"stop"`), []byte("data: [DONE]\n\n"))
	return Pieces(Stream(), pieces, gap)
}

func chatEvent(delta, finish string) []byte {
	return fmt.Appendf(nil, `data: {"id":%q,"object":"chat.completion.chunk","created":%d,"model":"test-model",`+
		`"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", chatID, created, delta, finish)
}

// SplitEvents cuts an event stream after each blank line. What follows the last
// one is a piece of its own.
func SplitEvents(body []byte) [][]byte {
	var events [][]byte
	start := 0
	for at := 0; at < len(body); {
		end := bytes.IndexByte(body[at:], '\n')
		if end < 0 {
			break
		}
		line := body[at : at+end]
		at += end + 1
		if len(line) == 0 || len(line) == 1 && line[0] == '\r' {
			events = append(events, body[start:at])
			start = at
		}
	}
	if start < len(body) {
		events = append(events, body[start:])
	}
	return events
}

func splitAt(body []byte, cuts []int) [][]byte {
	pieces := make([][]byte, 0, len(cuts)+1)
	start := 0
	for _, cut := range cuts {
		pieces = append(pieces, body[start:cut])
		start = cut
	}
	return append(pieces, body[start:])
}

// quote writes a JSON string as an API does: <, > and & stay as they are.
func quote(text string) string { return string(encode(text)) }

// encode is json.Marshal without the escaping meant for HTML pages.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("upstreamtest: %T cannot be written as JSON: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
