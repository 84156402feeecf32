package proxy

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"strata/assemble"
)

const (
	// maxCitations bounds the header, as many proxies take 8 KB for all headers
	// of an answer. Sources that do not fit any more are left out.
	maxCitations = 4000
	maxCited     = 300 // bytes of a title or a section before it is cut
)

// appendCitations appends the header line that names the sources of an answer,
// without its end: a list in JSON, in ASCII alone. Without a source there is
// none.
func appendCitations(dst []byte, sources []assemble.Source) []byte {
	if len(sources) == 0 {
		return dst
	}
	const name = "\r\nX-Strata-Citations: ["
	begin := len(dst)
	dst = append(dst, name...)
	first := len(dst)
	for _, s := range sources {
		before := len(dst)
		if before > first {
			dst = append(dst, ", "...)
		}
		dst = appendMember(append(dst, '{'), "document", s.Document, len(s.Document))
		if s.Title != "" {
			dst = appendMember(append(dst, ", "...), "title", s.Title, maxCited)
		}
		if s.Section != "" {
			dst = appendMember(append(dst, ", "...), "section", s.Section, maxCited)
		}
		dst = append(dst, '}')
		if len(dst)-begin > maxCitations {
			dst = dst[:before]
			break
		}
	}
	if len(dst) == first {
		return dst[:begin]
	}
	return append(dst, ']')
}

func appendMember(dst []byte, key, value string, most int) []byte {
	dst = append(append(append(dst, '"'), key...), `": "`...)
	for at, r := range value {
		if at >= most {
			dst = append(dst, `\u2026`...) // an ellipsis
			break
		}
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r >= ' ' && r < utf8.RuneSelf-1:
			dst = append(dst, byte(r))
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			dst = appendEscape(appendEscape(dst, high), low)
		default:
			dst = appendEscape(dst, r)
		}
	}
	return append(dst, '"')
}

// appendEscape appends a code unit of UTF-16 as JSON escapes it.
func appendEscape(dst []byte, unit rune) []byte {
	hex := strconv.AppendInt(nil, int64(unit)|0x10000, 16)
	return append(append(dst, '\\', 'u'), hex[len(hex)-4:]...)
}
