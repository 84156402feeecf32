package prefilter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// edges say where an atom may stand.
type edges uint8

const (
	wordBefore edges = 1 << iota // no word goes on before it
	wordAfter
	atStart // of the text
	atEnd
	atBreak // at the text's start, or behind a sign and perhaps spaces
)

// atom is a literal to look for, in lower case.
type atom struct {
	text  string
	edges edges
}

// longest is how many bytes of a literal are looked for.
const longest = 15

// atomOf reads an analysed string.
func atomOf(s string) atom {
	var a atom
	for s != "" && s[0] <= lastSign {
		switch s[0] {
		case signWord:
			a.edges |= wordBefore
		case signStart:
			a.edges |= atStart
		case signBreak:
			a.edges |= atBreak
		}
		s = s[1:]
	}
	for s != "" && s[len(s)-1] <= lastSign {
		switch s[len(s)-1] {
		case signWord:
			a.edges |= wordAfter
		case signEnd:
			a.edges |= atEnd
		}
		s = s[:len(s)-1]
	}
	a.text = strings.Map(func(r rune) rune {
		if r <= lastSign {
			return -1
		}
		return r
	}, s)
	a = a.plain()
	if n := longest; len(a.text) > n { // more would say little more
		for !utf8.RuneStart(a.text[n]) {
			n--
		}
		a.text, a.edges = a.text[:n], a.edges&^(wordAfter|atEnd)
	}
	// A boundary beside a sign means that a word stands outside: that is not
	// looked for.
	if a.text == "" || !wordByte(a.text[0]) {
		a.edges &^= wordBefore
	}
	if a.text == "" || !wordByte(a.text[len(a.text)-1]) {
		a.edges &^= wordAfter
	}
	return a
}

// plain cuts an atom down to its longest piece without letters of other
// scripts that have cases: the scan folds ASCII only.
func (a atom) plain() atom {
	cased := func(r rune) bool { return r >= utf8.RuneSelf && unicode.SimpleFold(r) != r }
	if strings.IndexFunc(a.text, cased) < 0 {
		return a
	}
	best := ""
	for piece := range strings.FieldsFuncSeq(a.text, cased) {
		if len(piece) > len(best) {
			best = piece
		}
	}
	return atom{text: best}
}

// wordByte is what \b takes for part of a word.
func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// signRune reports whether r separates: neither part of a word nor a space.
func signRune(r rune) bool {
	return r > lastSign && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !unicode.IsSpace(r)
}

// breaks reports whether a piece of a text may begin at i.
func breaks(text string, i int) bool {
	before := strings.TrimRight(text[:i], " \t\n\f\r")
	if before == "" {
		return true
	}
	c := before[len(before)-1]
	if c >= utf8.RuneSelf {
		r, _ := utf8.DecodeLastRuneInString(before)
		return !unicode.IsLetter(r)
	}
	if !wordByte(c) {
		return true
	}
	for _, w := range joins {
		if n := len(before) - len(w); n >= 0 && len(before) < i && strings.EqualFold(before[n:], w) && (n == 0 || !wordByte(before[n-1])) {
			return true
		}
	}
	return false
}

// joins are words behind which a piece may begin.
var joins = [...]string{"and", "but", "also", "then"}
