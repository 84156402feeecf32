package ingest

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/internal/tokens"
)

// cutters find where a text may be cut, gentlest first: each returns the end
// of the piece that begins at i.
var cutters = []func(text string, i, end int) int{sentenceEnd, lineOrEnd, valueEnd, clauseEnd, wordEnd, fewRunes}

// cut appends the pieces of text from start to end, none above room estimated
// tokens. Only what is too long at one level is cut at the next; below
// sentences, pieces are joined again to half of room.
func (s *splitter) cut(dst []atom, start, end, room, level int) []atom {
	open := len(dst) // pieces from here on may be joined
	for i := start; i < end && s.ctx.Err() == nil; {
		next := cutters[level](s.text, i, end)
		n := tokens.Estimate(s.text[i:next])
		switch {
		case n > room && level+1 < len(cutters):
			dst = s.cut(dst, i, next, room, level+1)
			open = len(dst)
		case n > room && next-i > 1 && level+1 == len(cutters):
			dst = s.cutRunes(dst, i, next)
			open = len(dst)
		case level > 0 && len(dst) > open && int(dst[len(dst)-1].tokens)+n <= room/2:
			last := &dst[len(dst)-1]
			last.end, last.tokens = int32(next), last.tokens+int32(n)
		default:
			dst = append(dst, atom{start: int32(i), end: int32(next), tokens: int32(n)})
		}
		i = next
	}
	return dst
}

// cutRunes appends every rune as an atom of its own: the last resort, for a
// room of a few tokens.
func (s *splitter) cutRunes(dst []atom, start, end int) []atom {
	for i := start; i < end; {
		_, n := utf8.DecodeRuneInString(s.text[i:end])
		dst = append(dst, atom{start: int32(i), end: int32(i + n), tokens: 1})
		i += n
	}
	return dst
}

// sentenceEnd returns the end of the sentence that begins at i, with closing
// quotes and the white space after it. A blank line ends one too.
func sentenceEnd(text string, i, end int) int {
	for at := i; at < end; {
		hit := strings.IndexFunc(text[at:end], ends)
		if hit < 0 {
			return end
		}
		r, n := utf8.DecodeRuneInString(text[at+hit : end])
		at += hit + n
		switch {
		case r == '\n':
			if at < end && text[at] == '\n' {
				return afterSpace(text, at, end)
			}
		case r > utf8.RuneSelf:
			return afterSpace(text, afterClosers(text, at, end), end)
		default:
			closed := afterClosers(text, at, end)
			if closed < end && !spaceByte(text[closed]) {
				continue
			}
			next := afterSpace(text, closed, end)
			if r == '.' && goesOn(text, i, at-1, next, end) {
				continue
			}
			return next
		}
	}
	return end
}

func ends(r rune) bool {
	switch r {
	case '.', '!', '?', '\n', '。', '！', '？', '；':
		return true
	}
	return false
}

// goesOn tells whether the full stop at dot ends no sentence: what follows is
// in lower case, or what is before is an initial or an abbreviation.
func goesOn(text string, start, dot, next, end int) bool {
	if r, _ := utf8.DecodeRuneInString(text[next:end]); unicode.IsLower(r) {
		return true
	}
	word := text[max(start, dot-8):dot]
	if i := strings.LastIndexAny(word, " \t\n("); i >= 0 {
		word = word[i+1:]
	} else if dot-8 > start {
		return false
	}
	if r, n := utf8.DecodeRuneInString(word); n == len(word) && unicode.IsUpper(r) {
		return true
	}
	switch strings.ToLower(word) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "no", "nos", "fig", "eq", "sec", "art", "vs", "e.g", "i.e", "cf", "al", "approx":
		return true
	}
	return word != "" && strings.Trim(word, "0123456789") == "" && lineStartAt(text, dot-len(word))
}

// lineStartAt tells whether only white space is before i on its line, as
// before the number of a list item.
func lineStartAt(text string, i int) bool {
	for i > 0 && (text[i-1] == ' ' || text[i-1] == '\t') {
		i--
	}
	return i == 0 || text[i-1] == '\n'
}

func afterClosers(text string, i, end int) int {
	for i < end {
		r, n := utf8.DecodeRuneInString(text[i:end])
		if !strings.ContainsRune("”’\"'）)」』】]》*_。！？!?…", r) {
			break
		}
		i += n
	}
	return i
}

func afterSpace(text string, i, end int) int {
	for i < end && spaceByte(text[i]) {
		i++
	}
	return i
}

func spaceByte(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }

func lineOrEnd(text string, i, end int) int { return lineEnd(text[:end], i) }

// valueEnd returns the end of the piece that begins at i and is parted from the
// next one by a semicolon. In rows that name their columns, a cut at a colon
// would take a value from its name.
func valueEnd(text string, i, end int) int {
	if hit := strings.Index(text[i:end], "; "); hit >= 0 {
		return afterSpace(text, i+hit+1, end)
	}
	return end
}

// clauseEnd returns the end of the clause that begins at i.
func clauseEnd(text string, i, end int) int {
	for at := i; at < end; {
		hit := strings.IndexFunc(text[at:end], func(r rune) bool {
			return r == '，' || r == '、' || r == '：' || r == ',' || r == ';' || r == ':'
		})
		if hit < 0 {
			return end
		}
		r, n := utf8.DecodeRuneInString(text[at+hit : end])
		if at += hit + n; r > utf8.RuneSelf || at < end && spaceByte(text[at]) {
			return afterSpace(text, at, end)
		}
	}
	return end
}

func wordEnd(text string, i, end int) int {
	at := afterSpace(text, i, end)
	if hit := strings.IndexAny(text[at:end], " \t\n　"); hit >= 0 {
		_, n := utf8.DecodeRuneInString(text[at+hit : end])
		return afterSpace(text, at+hit+n, end)
	}
	return end
}

// fewRunes returns the end of a piece of 24 runes.
func fewRunes(text string, i, end int) int {
	for n := 0; n < 24 && i < end; n++ {
		_, size := utf8.DecodeRuneInString(text[i:end])
		i += size
	}
	return i
}
