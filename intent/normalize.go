package intent

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// characters maps ideographs from U+4E00 on to their simplified form; 0 is the
// same character.
type characters []uint16

const (
	firstIdeograph = 0x4E00
	lastIdeograph  = 0x9FFF
)

func simplify() characters {
	table := make(characters, lastIdeograph-firstIdeograph+1)
	to := []rune(simplified)
	for i, ru := range []rune(traditional) {
		table[ru-firstIdeograph] = uint16(to[i])
	}
	return table
}

// normalizer appends text to dst with one form for what looks alike: small
// letters, half-width signs, simplified characters, # for a number, one space
// for what separates words. It never grows dst, and hands it on as a value so
// that it stays on the stack.
type normalizer struct {
	r          *reading
	characters characters
}

// whole takes a message, or the beginning and the end of a long one.
func (n *normalizer) whole(dst []byte, text string) []byte {
	if len(text) <= headSize+tailSize {
		return n.part(dst, text, cap(dst))
	}
	dst = n.part(dst, text[:boundary(text, headSize)], headSize+32)
	dst = append(dst, '\n')
	return n.part(dst, text[boundary(text, len(text)-tailSize):], cap(dst))
}

// boundary returns the start of the rune that i lies in.
func boundary(text string, i int) int {
	if i >= len(text) {
		return len(text)
	}
	for k := 0; i > 0 && k < utf8.UTFMax && !utf8.RuneStart(text[i]); k++ {
		i--
	}
	return i
}

// part appends text up to limit bytes of dst.
func (n *normalizer) part(dst []byte, text string, limit int) []byte {
	for i := 0; i < len(text) && len(dst)+utf8.UTFMax < limit; {
		ch := text[i]
		switch {
		case ch >= utf8.RuneSelf:
			ru, size := utf8.DecodeRuneInString(text[i:])
			dst = n.rune(dst, ru)
			i += size
		case '0' <= ch && ch <= '9':
			dst = append(dst, '#')
			n.r.any.add(isNumber)
			i = numberEnd(text, i)
		case ch == '`' && strings.HasPrefix(text[i:], "```"):
			n.r.any.add(isCode)
			dst = append(dst, '\n')
			end := strings.Index(text[i+3:], "```")
			if end < 0 {
				return dst
			}
			i += 3 + end + 3
		default:
			dst = n.ascii(dst, text, i)
			i++
		}
	}
	return dst
}

// ascii appends the letter or sign text[i].
func (n *normalizer) ascii(dst []byte, text string, i int) []byte {
	ch := text[i]
	switch {
	case 'A' <= ch && ch <= 'Z':
		if i > 0 && isAcronymAt(text, i) {
			n.r.any.add(isAcronym)
		}
		dst = append(dst, ch+'a'-'A')
	case ch == '\n':
		dst = append(dst, '\n')
	case ch <= ' ' || ch == '-' || ch == '/' || ch == '_' || ch == '*' || ch == '~':
		if ch == '_' && i > 0 && i+1 < len(text) && isLetter(text[i-1]) && isLetter(text[i+1]) {
			n.r.any.add(isIdentifier)
		}
		if len(dst) > 0 && dst[len(dst)-1] != ' ' {
			dst = append(dst, ' ')
		}
	default:
		dst = append(dst, ch)
	}
	return dst
}

// rune appends a rune outside of ASCII, or the sign that it stands for.
func (n *normalizer) rune(dst []byte, ru rune) []byte {
	switch {
	case ru >= firstIdeograph && ru <= lastIdeograph:
		if simple := n.characters[ru-firstIdeograph]; simple != 0 {
			ru = rune(simple)
		}
		dst = utf8.AppendRune(dst, ru)
	case ru >= '０' && ru <= '９':
		n.r.any.add(isNumber)
		if len(dst) == 0 || dst[len(dst)-1] != '#' {
			dst = append(dst, '#')
		}
	case ru >= 'Ａ' && ru <= 'Ｚ':
		dst = append(dst, byte(ru-'Ａ'+'a'))
	case ru >= 0xFF01 && ru <= 0xFF5E: // other full-width forms
		dst = append(dst, byte(ru-0xFF01+'!'))
	case ru == '’' || ru == '‘':
		dst = append(dst, '\'')
	case ru == '。':
		dst = append(dst, '.')
	case ru == '、' || ru == '…' || ru == '·':
		dst = append(dst, ',')
	case ru == '—' || ru == '–' || unicode.IsSpace(ru):
		dst = append(dst, ' ')
	case ru == 0x200B || ru == 0x200D || ru == 0xFEFF: // width zero
	default:
		dst = utf8.AppendRune(dst, ru)
	}
	return dst
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// numberEnd returns where the number at i ends; points and commas inside of it
// belong to it.
func numberEnd(text string, i int) int {
	for i < len(text) {
		switch ch := text[i]; {
		case '0' <= ch && ch <= '9':
		case (ch == '.' || ch == ',') && i+1 < len(text) && '0' <= text[i+1] && text[i+1] <= '9':
		default:
			return i
		}
		i++
	}
	return i
}

// isAcronymAt tells whether two to six capitals begin at i that are a word of
// their own. Shouting is none: the letter before the word must not be large.
func isAcronymAt(text string, i int) bool {
	n := 0
	for i+n < len(text) && 'A' <= text[i+n] && text[i+n] <= 'Z' {
		n++
	}
	if n < 2 || n > 6 || isLetter(text[i-1]) || i+n < len(text) && isLetter(text[i+n]) && text[i+n] != 's' {
		return false
	}
	for k := i - 1; k >= 0; k-- {
		if isLetter(text[k]) {
			return text[k] >= 'a'
		}
	}
	return true
}
