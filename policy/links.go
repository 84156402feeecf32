package policy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strings"
	"sync"

	"strata/chat"
	"strata/stores"
)

const (
	linkSum   = 16      // bytes of a digest that are kept
	linkWords = 1 << 10 // bytes of each side of a pair that tell it apart
)

// Keys makes the keyed digests by which a request finds its session and its
// turn. They tell nothing without the secret. Make it with NewKeys; it is
// safe for concurrent use.
type Keys struct{ pool *sync.Pool }

// linkMac is an HMAC that is used again, and room for what goes into it.
type linkMac struct {
	hash.Hash
	buf []byte
	top int // bytes of buf that were in use
}

// NewKeys takes the ledger's secret.
func NewKeys(secret []byte) Keys {
	secret = append([]byte(nil), secret...)
	return Keys{&sync.Pool{New: func() any { return &linkMac{Hash: hmac.New(sha256.New, secret)} }}}
}

// begin starts a digest of one kind for one owner.
func (k Keys) begin(kind string, c Caller) *linkMac {
	m := k.pool.Get().(*linkMac)
	m.Reset()
	m.buf = m.buf[:0]
	m.field(kind)
	m.field(c.Tenant)
	m.field(c.User)
	return m
}

// field adds s behind its length, so that no two lists of fields are alike.
func (m *linkMac) field(s string) {
	m.buf = append(binary.BigEndian.AppendUint64(m.buf, uint64(len(s))), s...)
}

// raw adds b behind its length; a long one is not copied.
func (m *linkMac) raw(b []byte) {
	m.buf = binary.BigEndian.AppendUint64(m.buf, uint64(len(b)))
	if len(b) < 1<<10 {
		if m.buf = append(m.buf, b...); len(m.buf) < 4<<10 {
			return
		}
		b = nil
	}
	m.flush()
	m.Write(b)
}

func (m *linkMac) flush() {
	m.Write(m.buf)
	m.top = max(m.top, len(m.buf))
	m.buf = m.buf[:0]
}

// end returns the digest and gives m back.
func (k Keys) end(m *linkMac) string {
	m.flush()
	sum := m.Sum(m.buf)
	m.top = max(m.top, len(sum))
	var digest [2 * linkSum]byte
	hex.Encode(digest[:], sum[:linkSum])
	clear(m.buf[:min(m.top, cap(m.buf))]) // the words of one user are not kept for the next
	m.top = 0
	k.pool.Put(m)
	return string(digest[:])
}

// Links are the keys of a request. Turn covers the bytes of all messages up to
// the last user message, so it is the same for every call of a tool loop and
// for a retry; where nothing but instructions precedes that message in a named
// session, as with a thin client, it covers that one message. A session goes
// into it only when it came by header: any other is found by these keys and
// not known yet. Without a tenant or a user there are no keys: nothing is kept
// by person.
func (k Keys) Links(c Caller, req *chat.Request, v Conversation) stores.Links {
	l := stores.Links{Thin: v.Thin}
	if c.Tenant == "" || c.User == "" || v.Last < 0 {
		return l
	}
	l.Turn = k.turn(c, req, v)
	if len(v.pairs) > 0 {
		l.Pairs = make([]string, 0, len(v.pairs))
	}
	for _, p := range v.pairs {
		if key := k.pair(c, p.asked, p.answer); key != "" {
			l.Pairs = append(l.Pairs, key)
		}
	}
	return l
}

func (k Keys) turn(c Caller, req *chat.Request, v Conversation) string {
	m := k.begin("turn", c)
	session := ""
	if c.Named {
		session = c.Session
	}
	m.field(session)
	from := 0
	if c.Named && opensTalk(req, v.Last) {
		from = v.Last
	}
	for i := from; i <= v.Last; i++ {
		at := req.Messages[i].Span
		m.raw(req.Body[at.Start:at.End])
	}
	return k.end(m)
}

// opensTalk: nothing but instructions precedes the last user message. Unlike
// Thin it holds for the later calls of that turn's tool loop as well.
func opensTalk(req *chat.Request, last int) bool {
	for i := range req.Messages[:last] {
		if role := req.Messages[i].Role; role != "system" && role != "developer" {
			return false
		}
	}
	return true
}

// Pair is the key of a finished exchange: what was asked, as Converse's
// Words, and the answer as it was streamed. A client's history gives the same
// key although its white space differs or the model's thinking is left out.
// Empty when one side says nothing.
func (k Keys) Pair(c Caller, asked, answer string) string {
	if c.Tenant == "" || c.User == "" {
		return ""
	}
	return k.pair(c, asked, answerText(answer))
}

// pair is Pair of an answerText.
func (k Keys) pair(c Caller, asked, answer string) string {
	m := k.begin("pair", c)
	said := m.plain(asked)
	answered := m.plain(answer)
	key := k.end(m)
	if !said || !answered {
		return ""
	}
	return key
}

// plain adds a text's first KB with white space evened out; false when there
// is nothing but white space. The length goes in behind the text, which is as
// good as before.
func (m *linkMac) plain(text string) bool {
	buf, start := m.buf, len(m.buf)
	uneven := len(text) > 4*linkWords || unevenSpace(text)
	for rest, more := text, true; more && len(buf)-start < linkWords; {
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if len(buf) > start {
			buf = append(buf, ' ')
		}
		if uneven {
			buf = appendEven(buf, line, linkWords)
		} else {
			buf = append(buf, line...)
		}
	}
	m.top = max(m.top, len(buf))
	buf = buf[:min(len(buf), start+linkWords)]
	m.buf = binary.BigEndian.AppendUint64(buf, uint64(len(buf)-start))
	return len(buf) > start
}

// unevenSpace reports whether a text may hold other runs of white space than
// single spaces and ends of lines. Looking at eight bytes at a time takes a
// quarter of what four searches do.
func unevenSpace(text string) bool {
	const each = 0x0101010101010101
	if len(text) < 8 {
		return strings.Contains(text, "  ") || strings.ContainsAny(text, "\t\r"+ideographicSpace)
	}
	var space, wide uint64 // in the last byte of the eight before: a space, part of an ideographic one
	mayBeWide := uint64(0)
	for at := 0; at < len(text); at += 8 {
		if at > len(text)-8 { // the last bytes, some of them once more
			at, space, wide = len(text)-8, 0, 0
		}
		word := eightBytes(text[at : at+8])
		spaces := zeroBytes(word ^ ' '*each)
		if spaces&(spaces<<8|space)|zeroBytes(word^'\t'*each)|zeroBytes(word^'\r'*each) != 0 {
			return true
		}
		space = spaces >> 56
		tails := zeroBytes(word ^ 0x80*each) // of ideographicSpace, which ends in two of them
		mayBeWide |= tails & (tails<<8 | wide)
		wide = tails >> 56
	}
	return mayBeWide != 0 && strings.Contains(text, ideographicSpace)
}

// eightBytes are the first of s, in their order from the lowest on.
func eightBytes(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// zeroBytes sets the highest bit of each byte that is zero, and no other.
func zeroBytes(word uint64) uint64 {
	const low = 0x7F7F7F7F7F7F7F7F
	return ^((word&low + low) | word | low)
}

// appendEven appends a line, or its first limit bytes and more, with single
// spaces for all runs of white space.
func appendEven(dst []byte, line string, limit int) []byte {
	if len(line) <= 4*limit && !unevenSpace(line) {
		return append(dst, line...) // nearly all are like this
	}
	enough := len(dst) + limit
	from, i := 0, 0
	for i < len(line) && len(dst)+i-from < enough {
		c := line[i]
		if c > ' ' && c != ideographicSpace[0] {
			i++
			continue
		}
		n := linkSpace(line[i:])
		if n > 1 || n == 1 && c != ' ' {
			dst = append(append(dst, line[from:i]...), ' ')
			from = i + n
		}
		i += max(n, 1)
	}
	return append(dst, line[from:i]...)
}

const ideographicSpace = "\u3000"

// linkSpace counts the bytes of white space that text starts with.
func linkSpace(text string) int {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c <= ' ':
			i++
		case c == ideographicSpace[0] && strings.HasPrefix(text[i:], ideographicSpace):
			i += len(ideographicSpace)
		default:
			return i
		}
	}
	return len(text)
}

// thinkTags enclose what a model said to itself. Some clients send it back,
// some leave it out.
var thinkTags = [...]struct{ open, close string }{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<reasoning>", "</reasoning>"},
	{"<details type=\"reasoning\"", "</details>"}, {"<details type=\"tool_calls\"", "</details>"},
}

// answerText is an answer without the thinking before it and without what
// Strata had inserted, should a model repeat it.
func answerText(text string) string {
	text = strings.TrimSpace(cutBlocks(text))
	for again := true; again; {
		again = false
		for _, tag := range thinkTags {
			if !strings.HasPrefix(text, tag.open) {
				continue
			}
			_, behind, ok := strings.Cut(text, tag.close)
			if !ok {
				return "" // it never came to an answer
			}
			text, again = strings.TrimSpace(behind), true
		}
	}
	return text
}
