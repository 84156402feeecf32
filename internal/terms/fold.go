package terms

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Normalize folds what looks alike: compatibility forms (full-width letters
// and digits) and case. Traditional and simplified characters stay apart here.
func Normalize(text string) string {
	low, _ := Fold(text)
	return low
}

// Fold is Normalize, and whether nothing but the case of ASCII letters was
// changed. It is quick for ASCII and Chinese.
func Fold(text string) (low string, same bool) {
	upper, wide := false, false
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			upper = upper || c >= 'A' && c <= 'Z'
			i++
			continue
		}
		if hanAt(text, i) {
			i += hanBytes
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch foldOf(r) {
		case foldNever:
		case foldWide:
			wide = true
		default:
			low = strings.ToLower(norm.NFKC.String(text))
			return low, low == text
		}
		i += n
	}
	switch {
	case wide:
		return narrow(text), false
	case upper:
		return lowerASCII(text), true
	}
	return text, true
}

// narrow makes ASCII of the characters that are foldWide, and lower-case of
// ASCII letters.
func narrow(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			b.WriteByte(lowerByte(c))
			i++
			continue
		}
		if hanAt(text, i) {
			b.WriteString(text[i : i+hanBytes])
			i += hanBytes
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r >= 0xFF01 && r <= 0xFF5E:
			b.WriteByte(lowerByte(byte(r - 0xFF01 + '!')))
		case r == '　':
			b.WriteByte(' ')
		case r == '…':
			b.WriteString("...")
		default:
			b.WriteString(text[i : i+n])
		}
		i += n
	}
	return b.String()
}

const (
	foldNever = iota + 1 // normalising leaves it as it is
	foldWide             // it becomes ASCII
)

// foldOf tells what normalising does to a character, 0 where that is not as
// simple as that. None of those it knows has another case but the full-width
// letters.
func foldOf(r rune) int {
	switch {
	case r >= 0x4E00 && r <= 0x9FFF, r == '。', r == '、', r >= '《' && r <= '】', r == '‘', r == '’', r == '“', r == '”', r == '—':
		return foldNever
	case r >= 0xFF01 && r <= 0xFF5E, r == '　', r == '…':
		return foldWide
	}
	return 0
}

// Lower is strings.ToLower, quick for Chinese as well.
func Lower(text string) string {
	upper := false
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			upper = upper || c >= 'A' && c <= 'Z'
			i++
			continue
		}
		if hanAt(text, i) {
			i += hanBytes
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if foldOf(r) == 0 || r >= 'Ａ' && r <= 'Ｚ' {
			return strings.ToLower(text)
		}
		i += n
	}
	if !upper {
		return text
	}
	return lowerASCII(text)
}

// lowerASCII is for texts without other letters that have cases.
func lowerASCII(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		b.WriteByte(lowerByte(text[i]))
	}
	return b.String()
}

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// hanBytes is how long a character of hanAt is.
const hanBytes = 3

// hanAt reports whether a usual Chinese character stands at i: U+4E00-9FFF. It
// saves decoding what most of a Chinese text is.
func hanAt(s string, i int) bool {
	if i+2 >= len(s) {
		return false
	}
	a, b := s[i], s[i+1]
	return a >= 0xE4 && a <= 0xE9 && (a > 0xE4 || b >= 0xB8) && b&0xC0 == 0x80 && s[i+2]&0xC0 == 0x80
}
