package policy

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

const (
	// binaryRun is how many base64 characters without a break are no longer
	// text: above any hash, key or word, below any picture.
	binaryRun = 400
	// binaryData is the same behind "data:…;base64,".
	binaryData = 64
	dataMark   = ";base64,"
)

// storableMax is how many bytes of one text are kept.
const storableMax = 32 << 10

// Storable is a text as it may be stored, searched or shown to a model of
// ours: base64 is replaced by its kind, size and hash, and what is above
// 32 KB is cut and marked. Storable text stays as it is.
func Storable(text string) string {
	text = cutBinary(text)
	if len(text) <= storableMax {
		return text
	}
	head := cutText(text, storableMax-32)
	return head + "\n[… " + binarySize(int64(len(text)-len(head))) + " cut]"
}

// cutBinary replaces base64: [image/png 1.0 MB sha256:0123456789ab].
func cutBinary(text string) string {
	at, end := nextBinary(text, 0)
	if end == 0 {
		return text
	}
	var out strings.Builder
	from := 0
	for end > 0 && out.Len() <= storableMax { // what is above is cut anyway
		head, kind := dataHead(text[from:at])
		out.WriteString(head)
		out.WriteString(binaryMark(kind, text[at:end]))
		from = end
		at, end = nextBinary(text, from)
	}
	out.WriteString(text[from:])
	return out.String()
}

// nextBinary finds the next run of base64 at or after from; end is 0 when
// there is none. Each stretch of text is looked at once.
func nextBinary(text string, from int) (start, end int) {
	for {
		uri := strings.Index(text[from:], dataMark)
		if uri < 0 {
			return bareBinary(text, from, len(text))
		}
		uri += from
		if start, end = bareBinary(text, from, uri); end > 0 {
			return start, end
		}
		start = uri + len(dataMark)
		if end = binaryEnd(text, start); end-start >= binaryData {
			return start, end
		}
		from = end
	}
}

// bareBinary finds base64 that nothing announces. A run that matters is long,
// so one probe in each stretch of its length finds it.
func bareBinary(text string, from, to int) (start, end int) {
	for probe := from + binaryRun - 1; probe < to; probe += binaryRun {
		if !base64Char(text[probe]) {
			continue
		}
		start, end = probe, binaryEnd(text[:to], probe)
		for start > from && base64Char(text[start-1]) {
			start--
		}
		if end-start >= binaryRun && mixedRun(text[start:start+binaryRun]) {
			return start, end
		}
		probe = end - 1
	}
	return 0, 0
}

func binaryEnd(text string, at int) int {
	for at < len(text) && base64Char(text[at]) {
		at++
	}
	return at
}

// mixedRun tells base64 from a ruler of dashes and from one long word.
func mixedRun(run string) bool {
	var upper, lower, digit int
	for i := range len(run) {
		switch c := run[i]; {
		case 'A' <= c && c <= 'Z':
			upper++
		case 'a' <= c && c <= 'z':
			lower++
		case '0' <= c && c <= '9':
			digit++
		}
	}
	return upper+digit >= binaryRun/20 && lower+digit >= binaryRun/20 || upper >= binaryRun*3/4
}

func base64Char(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '=' || c == '-' || c == '_'
}

// dataHead splits "data:image/png;base64," off the end of head.
func dataHead(head string) (before, kind string) {
	uri, ok := strings.CutSuffix(head, dataMark)
	if !ok {
		return head, "base64"
	}
	near := max(0, len(uri)-128)
	at := strings.LastIndex(uri[near:], "data:")
	if at < 0 {
		return head, "base64"
	}
	at += near
	kind, _, _ = strings.Cut(uri[at+len("data:"):], ";")
	if kind == "" || strings.ContainsAny(kind, " \t\r\n<>[]") {
		kind = "base64"
	}
	return uri[:at], kind
}

// binaryMark is the same for the same bytes; size and hash are of what the
// base64 stands for, of the text itself where that is broken.
func binaryMark(kind, data string) string {
	sum := sha256.New()
	size, err := io.Copy(sum, base64.NewDecoder(base64Encoding(data), strings.NewReader(data)))
	if err != nil {
		sum.Reset()
		io.WriteString(sum, data)
		size = int64(len(data))
	}
	return "[" + kind + " " + binarySize(size) + " sha256:" + hex.EncodeToString(sum.Sum(nil)[:6]) + "]"
}

func base64Encoding(data string) *base64.Encoding {
	url, padded := strings.ContainsAny(data, "-_"), strings.HasSuffix(data, "=")
	switch {
	case url && padded:
		return base64.URLEncoding
	case url:
		return base64.RawURLEncoding
	case padded:
		return base64.StdEncoding
	}
	return base64.RawStdEncoding
}

func binarySize(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}
