package chat

import (
	"encoding/binary"
	"math/bits"
)

// maxDepth is how deep arrays and objects may nest. No chat request comes
// near it; what does is forwarded unread.
const maxDepth = 1000

// scanner walks JSON once, checking it as strictly as encoding/json does.
// Written by hand because the standard check alone costs a third of what
// forwarding a request does, and says nothing of where things are.
type scanner struct {
	b     []byte
	i     int
	depth int
	err   error
}

// fail notes the first error and makes every later step a no-op.
func (s *scanner) fail(err error) bool {
	if s.err == nil {
		s.err = err
	}
	s.i = len(s.b)
	return false
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\n', '\r', '\t':
			s.i++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// Span is a range of bytes, End excluded.
type Span struct{ Start, End int }

func (s Span) of(b []byte) []byte { return b[s.Start:s.End] }

// value checks and skips one value and returns where it is.
func (s *scanner) value() Span {
	c := s.peek()
	start := s.i
	switch {
	case c == '"':
		s.string()
	case c == '{':
		s.object(nil)
	case c == '[':
		s.array(nil)
	case c == '-' || '0' <= c && c <= '9':
		s.number()
	case c == 't':
		s.literal("true")
	case c == 'f':
		s.literal("false")
	case c == 'n':
		s.literal("null")
	default:
		s.fail(ErrSyntax)
	}
	return Span{start, s.i}
}

func (s *scanner) literal(word string) {
	if len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		s.fail(ErrSyntax)
		return
	}
	s.i += len(word)
}

func (s *scanner) number() {
	if s.b[s.i] == '-' {
		s.i++
	}
	if s.i < len(s.b) && s.b[s.i] == '0' {
		s.i++
	} else if !s.digits() {
		return
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if !s.digits() {
			return
		}
	}
	if s.i < len(s.b) && s.b[s.i]|0x20 == 'e' {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		s.digits()
	}
}

func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > start || s.fail(ErrSyntax)
}

// string checks a string from its opening quote to its closing one and
// returns what is between, and whether it has escapes.
func (s *scanner) string() (inner Span, escaped bool) {
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		s.fail(ErrSyntax)
		return Span{}, false
	}
	s.i++
	start := s.i
	for {
		s.i += plainRun(s.b[s.i:])
		if s.i >= len(s.b) {
			s.fail(ErrSyntax)
			return Span{}, false
		}
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return Span{start, s.i - 1}, escaped
		case c == '\\':
			escaped = true
			if !s.escape() {
				return Span{}, false
			}
		default: // a control character
			s.fail(ErrSyntax)
			return Span{}, false
		}
	}
}

// plainRun counts the bytes before a quote, a backslash or a control
// character, eight at a time, and four times eight where there is room.
func plainRun(b []byte) int {
	i := 0
	for ; i+32 <= len(b); i += 32 {
		p := b[i : i+32 : i+32]
		if special(binary.LittleEndian.Uint64(p))|special(binary.LittleEndian.Uint64(p[8:]))|
			special(binary.LittleEndian.Uint64(p[16:]))|special(binary.LittleEndian.Uint64(p[24:])) != 0 {
			break
		}
	}
	for ; i+8 <= len(b); i += 8 {
		if hit := special(binary.LittleEndian.Uint64(b[i:])); hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' || c < 0x20 {
			break
		}
	}
	return i
}

// special marks the high bit of bytes that end a plain run; the lowest mark is
// exact. The usual zero-byte and less-than tests; bytes above 0x7f never match.
func special(w uint64) uint64 {
	const (
		ones = 0x0101010101010101
		high = 0x8080808080808080
	)
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w) & high
}

func (s *scanner) escape() bool {
	s.i++
	if s.i >= len(s.b) {
		return s.fail(ErrSyntax)
	}
	switch s.b[s.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i++
		return true
	case 'u':
		if len(s.b)-s.i < 5 {
			return s.fail(ErrSyntax)
		}
		for _, c := range s.b[s.i+1 : s.i+5] {
			if hexValue(c) < 0 {
				return s.fail(ErrSyntax)
			}
		}
		s.i += 5
		return true
	}
	return s.fail(ErrSyntax)
}

func hexValue(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// object walks the members of an object. member is called with the decoded
// key, the scanner standing before the value, which it must consume; nil
// skips every value.
func (s *scanner) object(member func(key []byte)) {
	if !s.enter() {
		return
	}
	if s.peek() == '}' {
		s.leave()
		return
	}
	for {
		s.space()
		inner, escaped := s.string()
		if s.peek() != ':' {
			s.fail(ErrSyntax)
			return
		}
		s.i++
		if member == nil {
			s.value()
		} else {
			key := inner.of(s.b)
			if escaped {
				key = unescape(nil, key)
			}
			member(key)
		}
		switch s.peek() {
		case ',':
			s.i++
		case '}':
			s.leave()
			return
		default:
			s.fail(ErrSyntax)
			return
		}
	}
}

// array walks the elements of an array; element must consume one value.
func (s *scanner) array(element func()) {
	if !s.enter() {
		return
	}
	if s.peek() == ']' {
		s.leave()
		return
	}
	for {
		if element == nil {
			s.value()
		} else {
			s.space()
			element()
		}
		switch s.peek() {
		case ',':
			s.i++
		case ']':
			s.leave()
			return
		default:
			s.fail(ErrSyntax)
			return
		}
	}
}

func (s *scanner) enter() bool {
	s.i++
	s.depth++
	return s.depth <= maxDepth || s.fail(ErrDepth)
}

func (s *scanner) leave() {
	s.i++
	s.depth--
}

// end checks that nothing but white space follows.
func (s *scanner) end() error {
	if s.space(); s.err == nil && s.i < len(s.b) {
		s.err = ErrSyntax
	}
	return s.err
}

// text returns the decoded string at the scanner, or false when the value is
// of another type; either way the value is consumed.
func (s *scanner) text() (string, bool) {
	if s.peek() != '"' {
		s.value()
		return "", false
	}
	inner, escaped := s.string()
	if s.err != nil {
		return "", false
	}
	text := inner.of(s.b)
	if escaped {
		text = unescape(nil, text)
	}
	return textOf(text), true
}

// integer returns the whole number at the scanner, 0 for anything else.
func (s *scanner) integer() int {
	n := 0
	for _, c := range s.value().of(s.b) {
		if c < '0' || c > '9' || n > 1<<40 {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}
