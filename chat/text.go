package chat

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape appends the decoded inside of a checked JSON string. Half of a
// surrogate pair becomes U+FFFD, as in encoding/json.
func unescape(dst, b []byte) []byte {
	for i := 0; i < len(b); {
		n := plainRun(b[i:])
		dst = append(dst, b[i:i+n]...)
		if i += n; i >= len(b) {
			break
		}
		c := b[i+1]
		i += 2
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := hex4(b[i:])
			i += 4
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if len(b)-i >= 6 && b[i] == '\\' && b[i+1] == 'u' {
					low = hex4(b[i+2:])
				}
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					r = pair
					i += 6
				} else {
					r = utf8.RuneError
				}
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// unescaped is the decoded inside of a checked JSON string.
func unescaped(b []byte) string {
	if bytes.IndexByte(b, '\\') < 0 {
		return textOf(b)
	}
	return textOf(unescape(make([]byte, 0, len(b)), b)) // it only gets shorter
}

// textOf is b as valid UTF-8: stores and embedders refuse anything else. Each
// stray byte becomes U+FFFD, as in encoding/json.
func textOf(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}

func hex4(b []byte) rune {
	return hexValue(b[0])<<12 | hexValue(b[1])<<8 | hexValue(b[2])<<4 | hexValue(b[3])
}

// escape appends text as the inside of a JSON string. Only what JSON demands
// is escaped; invalid UTF-8 becomes U+FFFD.
func escape(dst []byte, text string) []byte {
	const digits = "0123456789abcdef"
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(text[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
