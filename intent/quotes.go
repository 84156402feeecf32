package intent

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// quotes are the pairs whose content is not the request's own words.
var quotes = [...]struct{ open, end string }{
	{`"`, `"`}, {"“", "”"}, {"「", "」"}, {"『", "』"}, {"《", "》"}, {"【", "】"}, {"`", "`"}, {"'", "'"},
}

// statutes are what a title in 《》 ends with when it names a set of rules.
var statutes = []string{"法", "例", "定", "法典", "度", "册", "则", "范", "办法", "协议", "合同", "解释"}

// isQuote tells cheaply whether a quote may open at i.
func isQuote(b []byte, i int) bool {
	switch b[i] {
	case '"', '`':
		return true
	case '\'':
		return (i == 0 || !wordByte(b, i-1)) && i+1 < len(b) && wordByte(b, i+1)
	case 0xE2:
		return bytes.HasPrefix(b[i:], []byte("“"))
	case 0xE3:
		return i+2 < len(b) && b[i+1] == 0x80 && (b[i+2] == 0x8A || b[i+2] == 0x8C || b[i+2] == 0x8E || b[i+2] == 0x90)
	}
	return false
}

// skipQuote goes over a quote, unless it never ends or is the whole message.
// What is unclosed once is so for the rest, which keeps the scan linear.
func (s *scan) skipQuote(i int) int {
	for k, q := range quotes {
		if !strings.HasPrefix(string(s.b[i:min(i+3, len(s.b))]), q.open) {
			continue
		}
		from, n := i+len(q.open), -1
		if !s.unclosed[k] {
			n = closing(s.b[from:], q.end)
			s.unclosed[k] = n < 0
		}
		if n <= 0 || i == 0 && from+n+len(q.end) >= len(s.b)-2 {
			return from
		}
		s.quote(q.open, s.b[from:from+n])
		return from + n + len(q.end)
	}
	_, n := utf8.DecodeRune(s.b[i:])
	return i + n
}

// closing finds the end of a quote; an apostrophe inside a word is none.
func closing(b []byte, end string) int {
	if end != "'" {
		return bytes.Index(b, []byte(end))
	}
	for i := range b {
		if b[i] == '\'' && !wordByte(b, i) && (i+1 == len(b) || !wordByte(b, i+1)) {
			return i
		}
	}
	return -1
}

func (s *scan) quote(open string, inside []byte) {
	s.r.any.add(isQuoted)
	s.clause, s.first = false, false
	if open != "《" {
		return
	}
	for _, end := range statutes {
		if bytes.HasSuffix(inside, []byte(end)) {
			s.r.any.add(policyNoun)
		}
	}
}
