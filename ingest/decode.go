package ingest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"mime"
	"path"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// format is how a text is read.
type format uint8

const (
	plainText format = iota
	markdown
)

// formatOf chooses by media type and, where that says nothing, by the end of
// the id. A Markdown name wins over text/plain, which browsers and operating
// systems send for it. charset is what the media type names, "" if nothing.
func formatOf(mediaType, id string) (f format, charset string, err error) {
	name, params, perr := mime.ParseMediaType(mediaType)
	if perr != nil {
		name, _, _ = strings.Cut(strings.ToLower(mediaType), ";")
		name = strings.TrimSpace(name)
	}
	byName := plainText
	switch strings.ToLower(path.Ext(id)) {
	case ".md", ".markdown":
		byName = markdown
	}
	switch name {
	case "text/markdown", "text/x-markdown":
		return markdown, params["charset"], nil
	case "text/plain", "", "application/octet-stream", "application/x-www-form-urlencoded":
		return byName, params["charset"], nil
	}
	return 0, "", fmt.Errorf("%w: %s is not read; send text/markdown or text/plain", ErrMediaType, name)
}

// magics begin files that are no text even where they hold no zero byte.
var magics = []string{"%PDF-", "PK\x03\x04", "\x89PNG", "GIF8", "\xFF\xD8\xFF", "\x1F\x8B", "\x7FELF", "{\\rtf", "\xD0\xCF\x11\xE0"}

// decode returns body as UTF-8 with LF line ends.
func decode(body []byte, charset string) (string, error) {
	text, err := toUTF8(body, charset)
	if err != nil {
		return "", err
	}
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	if strings.TrimSpace(text) == "" {
		return "", ErrEmpty
	}
	return text, nil
}

func toUTF8(body []byte, charset string) (string, error) {
	switch {
	case bytes.HasPrefix(body, []byte("\xEF\xBB\xBF")):
		body, charset = body[3:], ""
	case bytes.HasPrefix(body, []byte("\xFF\xFE")):
		return fromUTF16(body, binary.LittleEndian)
	case bytes.HasPrefix(body, []byte("\xFE\xFF")):
		return fromUTF16(body, binary.BigEndian)
	}
	if err := refuseBinary(body); err != nil {
		return "", err
	}
	if utf8.Valid(body) {
		return string(body), nil
	}
	at := invalidAt(body)
	if charset != "" && !strings.EqualFold(charset, "utf-8") {
		enc, err := htmlindex.Get(charset)
		if err != nil {
			return "", fmt.Errorf("%w: the charset %q is not known", ErrEncoding, charset)
		}
		if text, ok := decodeWith(enc, body); ok {
			return text, nil
		}
		return "", fmt.Errorf("%w: the text is not %s", ErrEncoding, charset)
	}
	if text, ok := decodeWith(simplifiedchinese.GB18030, body); ok && looksChinese(body) && !brokenUTF8(body) {
		return text, nil
	}
	return "", fmt.Errorf("%w: byte %d is neither UTF-8 nor GB18030; save the file as UTF-8", ErrEncoding, at)
}

// refuseBinary tells text from what only has a text's name.
func refuseBinary(body []byte) error {
	for _, m := range magics {
		if bytes.HasPrefix(body, []byte(m)) {
			return fmt.Errorf("%w: the content is binary", ErrMediaType)
		}
	}
	if i := bytes.IndexByte(body, 0); i >= 0 {
		return fmt.Errorf("%w: the content is binary (zero byte at %d)", ErrMediaType, i)
	}
	control := 0
	for _, c := range body {
		if c < 0x20 && (c < '\t' || c > '\r') && c != 0x1B {
			control++
		}
	}
	if control > 8 && control > len(body)/200 {
		return fmt.Errorf("%w: the content is binary", ErrMediaType)
	}
	return nil
}

func invalidAt(body []byte) int {
	for i := 0; i < len(body); {
		r, n := utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(body)
}

// decodeWith fails where a byte means nothing in enc.
func decodeWith(enc encoding.Encoding, body []byte) (string, bool) {
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil || bytes.ContainsRune(out, utf8.RuneError) {
		return "", false
	}
	return string(out), true
}

// brokenUTF8 tells UTF-8 with some bytes lost from GB18030, in which longer
// UTF-8 sequences come up only by chance.
func brokenUTF8(body []byte) bool {
	high, inside := 0, 0
	for i := 0; i < len(body); {
		_, n := utf8.DecodeRune(body[i:])
		if body[i] >= 0x80 {
			high += n
		}
		if n >= 3 {
			inside += n
		}
		i += n
	}
	return 2*inside > high
}

// looksChinese tells GB18030 from a European code page, whose accented
// letters can be read as rare Chinese characters: at least half of the pairs
// must be punctuation (rows A1-A3) or of the 3,755 common characters (rows
// B0-D7).
func looksChinese(body []byte) bool {
	pairs, common := 0, 0
	for i := 0; i+1 < len(body); {
		lead, trail := body[i], body[i+1]
		if lead < 0x80 {
			i++
			continue
		}
		pairs++
		if trail >= 0x30 && trail <= 0x39 { // of four bytes
			i += 4
			continue
		}
		if trail >= 0xA1 && (lead >= 0xA1 && lead <= 0xA3 || lead >= 0xB0 && lead <= 0xD7) {
			common++
		}
		i += 2
	}
	return common > 0 && 2*common >= pairs
}

// fromUTF16 decodes body, which begins with its byte order mark.
func fromUTF16(body []byte, order binary.ByteOrder) (string, error) {
	if len(body)%2 != 0 {
		return "", fmt.Errorf("%w: UTF-16 ends in half a character at byte %d", ErrEncoding, len(body)-1)
	}
	out := make([]byte, 0, len(body))
	for i := 2; i < len(body); i += 2 {
		r := rune(order.Uint16(body[i:]))
		if utf16.IsSurrogate(r) {
			pair := utf8.RuneError
			if i+3 < len(body) {
				pair = utf16.DecodeRune(r, rune(order.Uint16(body[i+2:])))
			}
			if pair == utf8.RuneError {
				return "", fmt.Errorf("%w: half a UTF-16 pair at byte %d", ErrEncoding, i)
			}
			r, i = pair, i+2
		}
		if r == 0 {
			return "", fmt.Errorf("%w: the content is binary (zero character at byte %d)", ErrMediaType, i)
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out), nil
}
