package extract

import (
	"bytes"
	"encoding/hex"
	"io"
	"strings"
	"unicode/utf16"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// font knows what the codes of a PDF's font mean and how wide they are.
type font struct {
	two       bool // codes of two bytes
	toUnicode map[uint32]string
	oneByte   bool              // of toUnicode: codes of one byte
	charset   encoding.Encoding // of the predefined maps; nil = decoder
	utf16     bool
	decoder   pdf.TextEncoding
	widths    map[uint32]float64 // thousandths of the letter's size
	usual     float64
	entries   int // of maps and widths that were read, however often for one code
}

// maxEntries bounds a font's maps: twice what codes of two bytes can be.
const maxEntries = 1 << 17

// more tells whether another entry is read.
func (f *font) more() bool { f.entries++; return f.entries <= maxEntries }

// fontCache holds the fonts of a file. Fonts are told apart by what they
// print as: the library does not say which object a value came from.
type fontCache map[string]*font

func (f fontCache) get(v pdf.Value) *font {
	if v.Kind() != pdf.Dict {
		return nil
	}
	key := v.String()
	if known, ok := f[key]; ok {
		return known
	}
	if len(f) > 4096 {
		clear(f)
	}
	made := newFont(v)
	f[key] = made
	return made
}

func newFont(v pdf.Value) *font {
	f := &font{usual: 500, widths: map[uint32]float64{}}
	name := v.Key("Encoding").Name()
	if f.two = v.Key("Subtype").Name() == "Type0"; f.two {
		f.usual = 1000
		f.cidWidths(v.Key("DescendantFonts").Index(0))
	} else {
		first, widths := uint32(v.Key("FirstChar").Int64()), v.Key("Widths")
		for i := range min(widths.Len(), 256) {
			f.widths[first+uint32(i)] = widths.Index(i).Float64()
		}
		if widths.Len() == 0 {
			f.standardWidths(v.Key("BaseFont").Name())
		}
	}
	switch {
	case v.Key("ToUnicode").Kind() == pdf.Stream:
		f.readToUnicode(v.Key("ToUnicode"))
	case strings.HasPrefix(name, "GBK") || strings.HasPrefix(name, "GB-") || strings.HasPrefix(name, "GBpc"):
		f.charset = simplifiedchinese.GB18030
	case strings.HasPrefix(name, "ETen-B5") || strings.HasPrefix(name, "B5"):
		f.charset = traditionalchinese.Big5
	case strings.Contains(name, "UCS2") || strings.Contains(name, "UTF16"):
		f.utf16 = true
	}
	if len(f.toUnicode) == 0 && f.charset == nil && !f.utf16 && !f.two {
		f.decoder = (&pdf.Font{V: v}).Encoder()
	}
	return f
}

// cidWidths reads the widths of a composite font: "first [w w w]" and
// "first last w".
func (f *font) cidWidths(v pdf.Value) {
	if dw := v.Key("DW"); dw.Kind() == pdf.Integer || dw.Kind() == pdf.Real {
		f.usual = dw.Float64()
	}
	w := v.Key("W")
	for i := 0; i+1 < w.Len() && f.more(); {
		first := uint32(w.Index(i).Int64())
		if list := w.Index(i + 1); list.Kind() == pdf.Array {
			for j := 0; j < min(list.Len(), 1<<16) && f.more(); j++ {
				f.widths[first+uint32(j)] = list.Index(j).Float64()
			}
			i += 2
			continue
		}
		if i+2 >= w.Len() {
			return
		}
		last, width := uint32(w.Index(i+1).Int64()), w.Index(i+2).Float64()
		for code := first; code <= min(last, 1<<16-1) && code >= first && f.more(); code++ {
			f.widths[code] = width
		}
		i += 3
	}
}

// maxMap bounds a font's map in bytes.
const maxMap = 4 << 20

// readToUnicode reads the map that a font carries for copying text out. What
// it does not understand it passes over.
func (f *font) readToUnicode(v pdf.Value) {
	f.toUnicode, f.oneByte = map[uint32]string{}, !f.two
	b, _ := io.ReadAll(io.LimitReader(v.Reader(), maxMap)) // what there is of a broken one
	var args []string                                      // strings since the last operator, "[" and "]" among them
	for len(b) > 0 {
		var token string
		if token, b = mapToken(b); token == "" {
			continue
		}
		if c := token[0]; c == '<' || c == '[' || c == ']' {
			args = append(args, token)
			continue
		}
		switch token {
		case "endcodespacerange":
			for i := 0; i+1 < len(args); i += 2 {
				f.oneByte = len(unhex(args[i])) == 1
			}
		case "endbfchar":
			for i := 0; i+1 < len(args); i += 2 {
				f.toUnicode[code(unhex(args[i]))] = utf16Text(unhex(args[i+1]))
			}
		case "endbfrange":
			f.bfRanges(args)
		}
		if token[0] < '0' || token[0] > '9' {
			args = args[:0]
		}
	}
}

// mapToken cuts the next token off a map: a string in <>, a bracket, or a word.
// Names and other strings are of no use here and come back as "".
func mapToken(b []byte) (token string, rest []byte) {
	switch c := b[0]; {
	case c == '<' && len(b) > 1 && b[1] != '<':
		if end := bytes.IndexByte(b, '>'); end > 0 {
			return string(b[:end]), b[end+1:]
		}
		return "", nil
	case c == '[' || c == ']':
		return string(b[:1]), b[1:]
	case c == '%':
		if end := bytes.IndexAny(b, "\r\n"); end > 0 {
			return "", b[end:]
		}
		return "", nil
	case c >= '0' && c <= '9', c >= 'a' && c <= 'z':
		end := bytes.IndexAny(b, " \t\r\n<>[]/()%")
		if end < 0 {
			end = len(b)
		}
		return string(b[:end]), b[end:]
	case c == '/':
		if end := bytes.IndexAny(b[1:], " \t\r\n<>[]/()%"); end >= 0 {
			return "", b[1+end:]
		}
		return "", nil
	}
	return "", b[1:]
}

// unhex returns the bytes of a token "<0041".
func unhex(token string) string {
	token = strings.Join(strings.Fields(strings.TrimPrefix(token, "<")), "")
	out, _ := hex.DecodeString(token + strings.Repeat("0", len(token)%2))
	return string(out)
}

// bfRanges takes "<from> <to> <text>" and "<from> <to> [<text> ...]".
func (f *font) bfRanges(args []string) {
	for i := 0; i+2 < len(args); {
		lo, hi := code(unhex(args[i])), code(unhex(args[i+1]))
		i += 2
		if args[i] == "[" {
			for i++; i < len(args) && args[i] != "]"; i++ {
				f.toUnicode[lo] = utf16Text(unhex(args[i]))
				lo++
			}
			i++
			continue
		}
		text := []rune(utf16Text(unhex(args[i])))
		i++
		if len(text) == 0 || hi < lo || hi-lo > 1<<16 {
			continue
		}
		for n := uint32(0); n <= hi-lo && f.more(); n++ {
			f.toUnicode[lo+n] = string(text[:len(text)-1]) + string(text[len(text)-1]+rune(n))
		}
	}
}

func code(raw string) (n uint32) {
	for i := range min(len(raw), 4) {
		n = n<<8 | uint32(raw[i])
	}
	return n
}

func utf16Text(raw string) string {
	units := make([]uint16, 0, len(raw)/2)
	for i := 0; i+1 < len(raw); i += 2 {
		units = append(units, uint16(raw[i])<<8|uint16(raw[i+1]))
	}
	return string(utf16.Decode(units))
}

// decode returns the text of a string that is shown, its width in thousandths
// of the letter's size, and how many codes and one-byte blanks it has.
func (f *font) decode(raw string) (text string, width float64, codes, blanks int) {
	step := 1
	if f.two && !f.oneByte || f.utf16 {
		step = 2
	}
	var b strings.Builder
	for i := 0; i < len(raw); i += step {
		c := code(raw[i:min(i+step, len(raw))])
		if w, ok := f.widths[c]; ok {
			width += w
		} else {
			width += f.usual
		}
		codes++
		if step == 1 && c == ' ' {
			blanks++
		}
		if f.toUnicode != nil {
			b.WriteString(f.toUnicode[c])
		}
	}
	switch {
	case len(f.toUnicode) > 0:
		return b.String(), width, codes, blanks
	case f.charset != nil:
		out, _ := f.charset.NewDecoder().String(raw)
		return out, width, codes, blanks
	case f.utf16:
		return utf16Text(raw), width, codes, blanks
	case f.decoder != nil:
		return f.decoder.Decode(raw), width, codes, blanks
	}
	return "", width, codes, blanks // glyph numbers without a map mean nothing
}
