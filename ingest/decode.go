package ingest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/transform"
)

// magics begin files that are no text even where they hold no zero byte.
var magics = []string{"%PDF-", "PK\x03\x04", "\x89PNG", "GIF8", "\xFF\xD8\xFF", "\x1F\x8B", "\x7FELF", "{\\rtf", "\xD0\xCF\x11\xE0"}

// decoded returns the text of body in UTF-8 with LF line ends. It reads body
// twice, a piece at a time: first to find out how it is encoded. An error of
// the encoding that shows late is one of the reader.
func decoded(body io.ReaderAt, size int64, charset string) (io.Reader, error) {
	start := make([]byte, 3)
	n, err := body.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	from := func(at int64) io.Reader { return io.NewSectionReader(body, at, size-at) }
	switch start = start[:n]; {
	case bytes.HasPrefix(start, []byte("\xFF\xFE")):
		return newLines(&utf16Reader{r: bufio.NewReader(from(2)), order: binary.LittleEndian, at: 2}), nil
	case bytes.HasPrefix(start, []byte("\xFE\xFF")):
		return newLines(&utf16Reader{r: bufio.NewReader(from(2)), order: binary.BigEndian, at: 2}), nil
	}
	skip := int64(0)
	if bytes.HasPrefix(start, []byte("\xEF\xBB\xBF")) {
		skip, charset = 3, ""
	}
	s := sniffer{invalid: -1}
	if err := s.read(from(skip)); err != nil {
		return nil, err
	}
	r, err := s.reader(from(skip), charset)
	if err != nil {
		return nil, err
	}
	return newLines(r), nil
}

// refuseBinary tells text from what only has a text's name, by its start.
func refuseBinary(start []byte) error {
	s := sniffer{invalid: -1}
	s.add(start, false)
	return s.binary()
}

// sniffer finds out what a text may be encoded in, from any number of pieces.
type sniffer struct {
	size    int64
	start   []byte // the first bytes
	zero    int64  // 1 + where the first zero byte is
	control int64  // control characters that text has none of
	carry   []byte // the start of a character that goes on in the next piece
	invalid int64  // where UTF-8 breaks first, -1 nowhere
	high    int64  // bytes above ASCII
	inside  int64  // of these in UTF-8 characters of three bytes and more
	skip    int    // bytes of a GB18030 pair that are still to come
	lead    byte   // of that pair
	pairs   int64
	common  int64 // pairs of punctuation and common characters
	korean  int64 // of these in rows B0-C8, where EUC-KR has all its syllables
	beyond  int64 // and in C9-D7, where it has none
}

// read takes all of r in.
func (s *sniffer) read(r io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		s.add(buf[:n], false)
		if errors.Is(err, io.EOF) {
			s.add(nil, true)
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *sniffer) add(p []byte, last bool) {
	if len(s.start) < 8 {
		s.start = append(s.start, p[:min(len(p), 8-len(s.start))]...)
	}
	for i, c := range p {
		if c == 0 && s.zero == 0 {
			s.zero = s.size + int64(i) + 1
		}
		if c < 0x20 && (c < '\t' || c > '\r') && c != 0x1B {
			s.control++
		}
		if c >= 0x80 || s.skip > 0 {
			s.pair(c)
		}
	}
	s.utf8(p, last)
	s.size += int64(len(p))
}

// utf8 looks for what is no UTF-8.
func (s *sniffer) utf8(p []byte, last bool) {
	at := s.size - int64(len(s.carry))
	if len(s.carry) > 0 {
		p = append(s.carry, p...)
		s.carry = nil
	}
	for i := 0; i < len(p); {
		if p[i] < 0x80 {
			i++
			continue
		}
		if !last && !utf8.FullRune(p[i:]) {
			s.carry = append([]byte(nil), p[i:]...)
			return
		}
		r, n := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && n == 1 && s.invalid < 0 {
			s.invalid = at + int64(i)
		}
		s.high += int64(n)
		if n >= 3 {
			s.inside += int64(n)
		}
		i += n
	}
}

// pair takes the next byte of a GB18030 character above ASCII.
func (s *sniffer) pair(c byte) {
	switch s.skip {
	case 0:
		s.lead, s.skip = c, 1
		return
	case 1:
		s.skip = 0
		if s.pairs++; c >= 0x30 && c <= 0x39 { // of four bytes
			s.skip = 3
		} else if c >= 0xA1 && (s.lead >= 0xA1 && s.lead <= 0xA3 || s.lead >= 0xB0 && s.lead <= 0xD7) {
			s.common++
			if s.lead >= 0xC9 {
				s.beyond++
			} else if s.lead >= 0xB0 {
				s.korean++
			}
		}
		return
	}
	if s.skip--; s.skip == 1 {
		s.skip = 0
	}
}

func (s *sniffer) binary() error {
	for _, m := range magics {
		if bytes.HasPrefix(s.start, []byte(m)) {
			return fmt.Errorf("%w: the content is binary", ErrMediaType)
		}
	}
	if s.zero > 0 {
		return fmt.Errorf("%w: the content is binary (zero byte at %d)", ErrMediaType, s.zero-1)
	}
	if s.control > 8 && s.control > s.size/200 {
		return fmt.Errorf("%w: the content is binary", ErrMediaType)
	}
	return nil
}

// looksChinese tells GB18030 from a European code page, whose accented
// letters can be read as rare Chinese characters: at least half of the pairs
// must be punctuation (rows A1-A3) or of the 3,755 common characters (rows
// B0-D7). Of Chinese text about half stands in rows C9-D7, of Korean nothing.
func (s *sniffer) looksChinese() bool {
	return s.common > 0 && 2*s.common >= s.pairs && (s.korean < manySyllables || 20*s.beyond > s.korean)
}

// manySyllables are so many that Chinese would have had others among them.
const manySyllables = 12

// brokenUTF8 tells UTF-8 with some bytes lost from GB18030, in which longer
// UTF-8 sequences come up only by chance.
func (s *sniffer) brokenUTF8() bool { return 2*s.inside > s.high }

// reader returns r, the bytes that were sniffed, as UTF-8.
func (s *sniffer) reader(r io.Reader, charset string) (io.Reader, error) {
	if err := s.binary(); err != nil {
		return nil, err
	}
	if s.invalid < 0 {
		return r, nil
	}
	if charset != "" && !strings.EqualFold(charset, "utf-8") {
		enc, err := htmlindex.Get(charset)
		if err != nil {
			return nil, fmt.Errorf("%w: the charset %q is not known", ErrEncoding, charset)
		}
		return &strict{r: transform.NewReader(r, enc.NewDecoder()), err: fmt.Errorf("%w: the text is not %s", ErrEncoding, charset)}, nil
	}
	err := fmt.Errorf("%w: byte %d is neither UTF-8 nor GB18030; save the file as UTF-8", ErrEncoding, s.invalid)
	if !s.looksChinese() || s.brokenUTF8() {
		return nil, err
	}
	return &strict{r: transform.NewReader(r, simplifiedchinese.GB18030.NewDecoder()), err: err}, nil
}

// strict is a reader of decoded text that fails where bytes meant nothing.
type strict struct {
	r    io.Reader
	err  error
	tail []byte // up to two bytes before, which the sign for that may begin with
}

func (s *strict) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	seen := append(s.tail, p[:n]...)
	if bytes.Contains(seen, []byte("\uFFFD")) {
		return 0, s.err
	}
	s.tail = append(s.tail[:0], seen[max(0, len(seen)-2):]...)
	return n, err
}

// lines is a reader that makes every line end with LF.
type lines struct {
	r  io.Reader
	cr bool // the last byte was CR
}

func newLines(r io.Reader) io.Reader { return &lines{r: r} }

func (l *lines) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if !l.cr && bytes.IndexByte(p[:n], '\r') < 0 {
		return n, err
	}
	out := 0
	for _, c := range p[:n] {
		if c == '\n' && l.cr {
			l.cr = false
			continue
		}
		if l.cr = c == '\r'; l.cr {
			c = '\n'
		}
		p[out] = c
		out++
	}
	return out, err
}

// utf16Reader decodes UTF-16.
type utf16Reader struct {
	r     *bufio.Reader
	order binary.ByteOrder
	at    int64 // of the next byte, from the start of the file
	held  []byte
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.held) < len(p) {
		r, err := u.next()
		if err != nil {
			if len(u.held) > 0 && errors.Is(err, io.EOF) {
				break
			}
			return 0, err
		}
		u.held = utf8.AppendRune(u.held, r)
	}
	n := copy(p, u.held)
	u.held = append(u.held[:0], u.held[n:]...)
	return n, nil
}

func (u *utf16Reader) next() (rune, error) {
	at := u.at
	r, err := u.unit()
	if err != nil {
		return 0, err
	}
	if r == 0 {
		return 0, fmt.Errorf("%w: the content is binary (zero character at byte %d)", ErrMediaType, at)
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	low, err := u.unit()
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, fmt.Errorf("%w: half a UTF-16 pair at byte %d", ErrEncoding, at)
	}
	return r, nil
}

func (u *utf16Reader) unit() (rune, error) {
	var two [2]byte
	n, err := io.ReadFull(u.r, two[:])
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, fmt.Errorf("%w: UTF-16 ends in half a character at byte %d", ErrEncoding, u.at)
	}
	u.at += int64(n)
	return rune(u.order.Uint16(two[:])), err
}
