// Package chat is the wire view of the chat completions call: where things
// are in a request's bytes, how two texts are inserted without touching any
// other byte, and what an answer said. It decides placement and reading; it
// must not know what is inserted, why, or where bytes come from and go to.
package chat

import (
	"bytes"
	"errors"
)

// Why a body is not read. All of them mean: forward it untouched.
var (
	ErrSyntax       = errors.New("chat: not valid JSON")
	ErrDepth        = errors.New("chat: nested deeper than 1000 levels")
	ErrNotChat      = errors.New("chat: no object with an array of messages") // or one of more than 65,536
	ErrDuplicateKey = errors.New("chat: a key that decides occurs twice")
)

// Kind tells what a message's content is. null, absent and "" are three
// different things to some servers.
type Kind uint8

// The kinds of content.
const (
	Absent Kind = iota
	Null
	String
	Parts
	Other
)

// Message is one message of a request. Spans are offsets into Body.
type Message struct {
	Span
	Role       string
	Kind       Kind
	Content    Span // the value, quotes or brackets included
	ToolCalls  bool // holds tool_calls
	ToolCallID string

	parts, partsEnd int // of Request.parts
	others          int // parts that are no text
}

// part is one text part of a list content.
type part struct{ text Span }

// Request is a chat request's body, read once. It holds on to the body.
type Request struct {
	Body     []byte
	Model    string
	Stream   bool
	Messages []Message

	parts  []part
	fields []field // top-level members but those above
}

// field is a member that is read only when asked for.
type field struct {
	key   string // "" for names nobody asks for
	value Span
}

const (
	// maxMessages is far above what any model takes. A message costs its
	// reader 50 times the two bytes of an empty one.
	maxMessages = 1 << 16
	// keepMessages bounds the slices that are kept for the next request.
	keepMessages = 1 << 10
)

// Parse reads body. The error is one of this package's.
func Parse(body []byte) (*Request, error) {
	r := new(Request)
	if err := ParseInto(r, body); err != nil {
		return nil, err
	}
	return r, nil
}

// ParseInto is Parse into a request that is used again. After an error r
// holds nothing but room for the next call.
func ParseInto(r *Request, body []byte) error {
	r.reuse(body)
	err := r.parse(body)
	if err != nil {
		r.reuse(nil)
	}
	return err
}

// reuse forgets everything but slices that are worth keeping. What they held
// is cleared, as its strings would stay alive with a pooled request.
func (r *Request) reuse(body []byte) {
	messages, parts, fields := r.Messages, r.parts, r.fields[:0]
	if cap(messages) > keepMessages {
		messages = nil
	}
	if cap(parts) > keepMessages {
		parts = nil
	}
	clear(messages)
	*r = Request{Body: body, Messages: messages[:0], parts: parts[:0], fields: fields}
}

func (r *Request) parse(body []byte) error {
	s := scanner{b: body}
	if bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) {
		s.i = 3
	}
	if s.peek() != '{' {
		s.value()
		if err := s.end(); err != nil {
			return err
		}
		return ErrNotChat
	}
	p := requestParser{scanner: &s, r: r}
	s.object(p.member)
	if err := s.end(); err != nil {
		return err
	}
	if p.duplicate {
		return ErrDuplicateKey
	}
	if !p.messages || p.wrong {
		return ErrNotChat
	}
	return nil
}

// requestParser keeps what has been seen of the level being read. Refusals
// wait for the end, so that broken JSON is always reported as such.
type requestParser struct {
	*scanner
	r                       *Request
	model, stream, messages bool
	wrong, duplicate        bool
}

// once notes a key that must not come twice.
func (p *requestParser) once(seen *bool) {
	p.duplicate = p.duplicate || *seen
	*seen = true
}

func (p *requestParser) member(key []byte) {
	switch string(key) {
	case "model":
		p.once(&p.model)
		p.r.Model, _ = p.text()
	case "stream":
		p.once(&p.stream)
		p.r.Stream = string(p.value().of(p.b)) == "true"
	case "messages":
		p.once(&p.messages)
		if p.peek() != '[' {
			p.wrong = true
			p.value()
			return
		}
		p.array(p.message)
	default:
		name, value := fieldName(key), p.value()
		if name != "" && len(p.r.fields) < maxFields {
			p.r.fields = append(p.r.fields, field{name, value})
		}
	}
}

func (p *requestParser) message() {
	if p.peek() != '{' {
		p.wrong = true
		p.value()
		return
	}
	if len(p.r.Messages) == maxMessages {
		p.wrong = true
		p.value()
		return
	}
	m := Message{Span: Span{Start: p.i}}
	var role, content, calls, id bool
	p.object(func(key []byte) {
		switch string(key) {
		case "role":
			p.once(&role)
			m.Role = p.role()
		case "content":
			p.once(&content)
			p.content(&m)
		case "tool_calls":
			p.once(&calls)
			m.ToolCalls = p.peek() == '['
			p.value()
		case "tool_call_id":
			p.once(&id)
			m.ToolCallID, _ = p.text()
		default:
			p.value()
		}
	})
	m.End = p.i
	p.r.Messages = append(p.r.Messages, m)
}

// role reads a role; the usual ones cost no allocation.
func (p *requestParser) role() string {
	if p.peek() != '"' {
		p.value()
		return ""
	}
	inner, escaped := p.string()
	if p.err != nil {
		return ""
	}
	role := inner.of(p.b)
	if escaped {
		role = unescape(nil, role)
	}
	for _, known := range [...]string{"user", "assistant", "tool", "system", "developer", "function"} {
		if string(role) == known {
			return known
		}
	}
	return textOf(role)
}

func (p *requestParser) content(m *Message) {
	switch p.peek() {
	case '"':
		m.Kind = String
	case 'n':
		m.Kind = Null
	case '[':
		m.Kind = Parts
		m.parts = len(p.r.parts)
		m.Content.Start = p.i
		p.array(func() { p.part(&m.others) })
		m.Content.End = p.i
		m.partsEnd = len(p.r.parts)
		return
	default:
		m.Kind = Other
	}
	m.Content = p.value()
}

// part reads one part of a list content; others counts those without text.
func (p *requestParser) part(others *int) {
	if p.peek() != '{' {
		p.value()
		return
	}
	var typed, texted, isText bool
	var text Span
	p.object(func(key []byte) {
		switch string(key) {
		case "type":
			p.once(&typed)
			kind, _ := p.text()
			isText = kind == "text" || kind == "input_text"
		case "text":
			p.once(&texted)
			if p.peek() != '"' {
				p.value()
				return
			}
			text, _ = p.string()
		default:
			p.value()
		}
	})
	if isText && text.End > 0 {
		p.r.parts = append(p.r.parts, part{text})
		return
	}
	*others++
}

// LastUser returns the index of the last user message, -1 if there is none.
func (r *Request) LastUser() int {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return i
		}
	}
	return -1
}

// ToolLoop tells that the model is called again within one turn: only
// assistant and tool messages follow the last user message.
func (r *Request) ToolLoop() bool {
	last := r.LastUser()
	if last < 0 || last == len(r.Messages)-1 {
		return false
	}
	tool := false
	for _, m := range r.Messages[last+1:] {
		switch m.Role {
		case "tool", "function":
			tool = true
		case "assistant":
		default:
			return false
		}
	}
	return tool
}

// Start returns the decoded text of message i, no more of it than its first n
// bytes in the body hold; its last character may be broken. Of a list it is
// the start of the first text.
func (r *Request) Start(i, n int) string {
	m := r.Messages[i]
	var b []byte
	switch {
	case m.Kind == String:
		b = r.Body[m.Content.Start+1 : m.Content.End-1]
	case m.Kind == Parts && m.parts < m.partsEnd:
		b = r.parts[m.parts].text.of(r.Body)
	}
	end := 0
	for end < min(n, len(b)) {
		switch {
		case b[end] != '\\':
			end++
		case b[end+1] == 'u':
			end += 6
		default:
			end += 2
		}
	}
	return unescaped(b[:end])
}

// Text returns the decoded text of message i; the text parts of a list are
// joined by a line feed, everything else in it is left out.
func (r *Request) Text(i int) string {
	m := r.Messages[i]
	switch m.Kind {
	case String:
		return unescaped(r.Body[m.Content.Start+1 : m.Content.End-1])
	case Parts:
		var text []byte
		for j, p := range r.parts[m.parts:m.partsEnd] {
			if j > 0 {
				text = append(text, '\n')
			}
			text = unescape(text, p.text.of(r.Body))
		}
		return textOf(text)
	}
	return ""
}
