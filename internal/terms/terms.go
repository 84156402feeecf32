// Package terms cuts text into what full-text search compares: pairs and
// single characters of scripts that put no spaces between words (Chinese,
// Japanese, Korean, Thai), whole words and numbers of everything else. Every
// index and every scorer uses these terms, so that a question and a text are
// always cut alike. Traditional Chinese is cut as simplified, so that either finds
// the other. It knows nothing of any corpus, index or weight.
package terms

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Version names the way of cutting; an index made by another one is rebuilt.
const Version = "3"

// maxWord is the bytes of the longest word that anybody types; longer ones
// are noise such as base64 and left out.
const maxWord = 64

// Of returns the terms of text in their order, repetitions included.
func Of(text string) []string { return Append(nil, text) }

// Append appends the terms of text to dst. A run of n unspaced characters
// gives its characters and pairs by turns: 一, 一二, 二, 二三, 三. A word joined by
// signs gives itself and then its pieces.
func Append(dst []string, text string) []string {
	text = simplify(Normalize(text))
	for i := 0; i < len(text); {
		switch kind, n := kindAt(text, i); kind {
		case unspacedKind:
			dst, i = appendPairs(dst, text, i)
		case wordKind:
			end, plain := wordEnd(text, i)
			if far := thousands(text, end); far > end {
				end, plain = far, false
			}
			if plain {
				dst = appendPiece(dst, text[i:end])
			} else {
				dst = appendWord(dst, text[i:end])
			}
			i = end
		default:
			i += n
		}
	}
	return dst
}

// What may begin at a place.
const (
	noKind       = iota
	unspacedKind // a run of unspaced characters
	wordKind
)

// kindAt tells what begins at i, and the bytes of the character there.
func kindAt(s string, i int) (kind, n int) {
	if c := s[i]; c < utf8.RuneSelf {
		if asciiKinds[c] == inPiece {
			return wordKind, 1
		}
		return noKind, 1
	}
	if hanAt(s, i) {
		return unspacedKind, hanBytes
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	switch {
	case r >= 0x2010 && r <= 0x2027, r >= 0x3001 && r <= 0x3003, r >= 0x3008 && r <= 0x3020:
		return noKind, n // the usual signs; the tables would say the same
	case unspaced(r):
		return unspacedKind, n
	case wordRune(r):
		return wordKind, n
	}
	return noKind, n
}

// asciiKinds tell which of ASCII words are made of.
var asciiKinds = func() (kinds [utf8.RuneSelf]uint8) {
	for c := range kinds {
		switch {
		case wordRune(rune(c)):
			kinds[c] = inPiece
		case inWord(rune(c)):
			kinds[c] = joining
		}
	}
	return kinds
}()

const (
	inPiece = iota + 1
	joining
)

// wordEnd returns where the word that begins at i ends, and whether it is of
// ASCII letters and digits alone.
func wordEnd(s string, i int) (end int, plain bool) {
	for plain = true; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if asciiKinds[c] == 0 {
				break
			}
			plain = plain && asciiKinds[c] == inPiece
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !inWord(r) {
			break
		}
		plain = false
		i += n
	}
	return i, plain
}

// appendPairs appends every character and every pair of neighbours of the run
// that begins at i, and returns its end: a query of one character finds
// something, one of more is ranked by pairs.
func appendPairs(dst []string, s string, i int) (_ []string, end int) {
	for before := -1; i < len(s); {
		n := hanBytes
		if !hanAt(s, i) {
			var r rune
			if r, n = utf8.DecodeRuneInString(s[i:]); !unspaced(r) {
				break
			}
		}
		if before >= 0 {
			dst = append(dst, s[before:i+n])
		}
		dst = append(dst, s[i:i+n])
		before, i = i, i+n
	}
	return dst, i
}

// appendWord appends a word, and where it joins letters and digits by signs
// (v2.3, on-call, ops@example.com) its pieces too.
func appendWord(dst []string, word string) []string {
	word = strings.TrimRight(word, "._-@,'’")
	word = strings.ReplaceAll(word, "’", "'")
	word = contraction(strings.ReplaceAll(word, ",", ""))
	end := strings.IndexFunc(word, sign)
	if end < 0 {
		return appendPiece(dst, word)
	}
	if len(word) <= maxWord {
		dst = append(dst, word)
		// A version is also asked for without its letter.
		if word[0] == 'v' && len(word) > 1 && word[1] >= '0' && word[1] <= '9' {
			dst = append(dst, word[1:])
		}
	}
	for piece := range strings.FieldsFuncSeq(word, sign) {
		dst = appendPiece(dst, piece)
	}
	return dst
}

func appendPiece(dst []string, w string) []string {
	if w == "" || len(w) > maxWord {
		return dst
	}
	return append(dst, Stem(w))
}

// contraction takes the English endings off that stand for a word of their
// own (it's, they'll, don't).
func contraction(w string) string {
	i := strings.LastIndexByte(w, '\'')
	if i < 1 {
		return w
	}
	switch w[i+1:] {
	case "s", "re", "ve", "ll", "d", "m":
		return w[:i]
	case "t":
		if w[i-1] == 'n' && i > 2 {
			return w[:i-1]
		}
	}
	return w
}

// thousands extends the word that ends at end over groups of three digits
// behind commas, as in 1,250,000.
func thousands(s string, end int) int {
	for end > 0 && digit(s[end-1]) && end+3 < len(s) && s[end] == ',' &&
		digit(s[end+1]) && digit(s[end+2]) && digit(s[end+3]) && (end+4 == len(s) || !digit(s[end+4])) {
		end += 4
	}
	return end
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

// unspaced reports whether words of r's script stand without spaces.
func unspaced(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	if r >= 0x4E00 && r <= 0x9FFF {
		return true
	}
	return r == 0x30FC || // the long vowel sign of katakana belongs to two scripts
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func wordRune(r rune) bool {
	if r < 0x80 {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
	}
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) && !unspaced(r)
}

// inWord reports whether a word goes on with r: signs join (v2.3, C++, C#).
func inWord(r rune) bool {
	switch r {
	case '.', '_', '-', '\'', '’', '+', '#', '@':
		return true
	}
	return wordRune(r)
}

// sign reports whether r joins pieces of a word.
func sign(r rune) bool { return !wordRune(r) }

// Kind is what a term is made of.
type Kind uint8

// The kinds of terms.
const (
	Word Kind = iota // of a spaced script, or a number
	Char             // one unspaced character
	Pair             // two neighbours
)

// KindOf returns what a term of Of is made of.
func KindOf(term string) Kind {
	r, n := utf8.DecodeRuneInString(term)
	switch {
	case !unspaced(r):
		return Word
	case n == len(term):
		return Char
	}
	return Pair
}
