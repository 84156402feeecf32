package ingest

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"strata/ingest/extract"
	"strata/stores"
)

// MaxSize is the largest document in bytes. Above it Put fails with
// ErrTooLarge.
const MaxSize = 256 << 20

// maxID is the longest document id in bytes.
const maxID = 512

// facts are what a document says of itself besides its passages.
type facts struct {
	Title     string    `json:"title"` // "" = nothing
	Groups    []string  `json:"groups,omitempty"`
	Effective time.Time `json:"effective,omitzero"`
	Expires   time.Time `json:"expires,omitzero"`
	Textless  int       `json:"textless,omitempty"` // pages that show something and have no text
	Pages     int       `json:"pages,omitempty"`    // of the document, where some of them are such
}

// reading is one document that is read.
type reading struct {
	format  format
	charset string
	body    io.ReaderAt
	size    int64
	tmp     string // folder for what a reader puts aside
	limits  extract.Limits
	count   func(string) int
}

// read gives the passages of a document to put, in their order, and returns
// what else it says. It holds a window of the text at a time, as far as the
// format lets it.
func (r reading) read(ctx context.Context, put func(stores.Passage) error) (facts, error) {
	n := 0
	split := newSplitter(ctx, r.count, func(p stores.Passage) error { n++; return put(p) })
	var f facts
	var err error
	if r.format.extracted() {
		f, err = r.extract(split)
	} else {
		f, err = r.text(split)
	}
	if err == nil && n == 0 {
		err = ErrEmpty
	}
	return f, err
}

func (r reading) extract(split *splitter) (facts, error) {
	b := builder{split: split}
	file := extract.File{ReaderAt: r.body, Size: r.size, Limits: r.limits, TmpDir: r.tmp,
		Decode: func(body io.ReaderAt, size int64, charset string) (io.Reader, error) {
			if r.charset != "" {
				charset = r.charset
			}
			return decoded(body, size, charset)
		}}
	if err := extract.Read(extract.Kind(r.format), file, &b); err != nil {
		return facts{}, named(err)
	}
	if err := b.flush(); err != nil {
		return facts{}, err
	}
	if b.title == "" && r.format != format(extract.XLSX) { // a sheet's name says less than the file's
		b.title = b.first
	}
	return facts{Title: b.title, Textless: b.textless, Pages: b.pages}, nil
}

// text reads plain text and Markdown, window by window.
func (r reading) text(split *splitter) (f facts, err error) {
	in, err := decoded(r.body, r.size, r.charset)
	if err != nil {
		return f, err
	}
	w := windows{r: in, format: r.format, step: int(min(r.size+1, 256<<10))}
	for where := textStart; ; where = textMiddle {
		text, err := w.next()
		if err != nil || text == "" {
			return f, err
		}
		if where == textStart {
			var meta Front
			if meta, text, err = cutFront(text); err != nil {
				return f, err
			}
			f = facts{Title: meta.Title, Groups: meta.Groups, Effective: meta.Effective, Expires: meta.Expires}
		}
		var blocks []block
		if r.format == markdown {
			blocks = markdownBlocks(nil, text, 0)
		} else {
			blocks = plainBlocks(nil, text, 0, where)
		}
		if f.Title == "" {
			f.Title = titleIn(blocks, r.format)
		}
		if blank(text) {
			continue
		}
		if err := split.window(text, blocks, nil); err != nil {
			return f, err
		}
	}
}

// windows parts a text where its structure lets it.
type windows struct {
	r      io.Reader
	format format
	step   int    // bytes read at a time
	held   []byte // read and not given out
	ended  bool
}

// next returns the next part of the text, "" at its end: of one to four MB,
// up to a heading of Markdown or a blank line where one comes in time.
func (w *windows) next() (string, error) {
	for !w.ended && len(w.held) < 5*partSize {
		n := len(w.held)
		w.held = append(w.held, make([]byte, w.step)...)
		got, err := io.ReadFull(w.r, w.held[n:])
		w.held = w.held[:n+got]
		if w.ended = err == io.EOF || err == io.ErrUnexpectedEOF; err != nil && !w.ended {
			return "", err
		}
	}
	end := len(w.held)
	if !w.ended {
		end = w.cut()
	}
	text := string(w.held[:end])
	w.held = append(w.held[:0], w.held[end:]...)
	return text, nil
}

func (w *windows) cut() int {
	text := string(w.held)
	if w.format == markdown {
		if end, _ := nextPart(text, 0); end < len(text) {
			return end
		}
	}
	for _, gap := range []string{"\n\n", "\n"} {
		if i := strings.LastIndex(text[:4*partSize], gap); i >= partSize {
			return i + len(gap)
		}
	}
	end := 4 * partSize
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

// titleIn is the first heading. Of plain text only an unnumbered first line
// counts.
func titleIn(blocks []block, f format) string {
	for _, b := range blocks {
		if b.kind == title && (f == markdown || b.level == 1) {
			return b.name
		}
	}
	return ""
}

// finish fills a draft with what the document says where its source does not.
// Whose document it is the source says alone.
func finish(d *stores.Draft, f facts) error {
	if d.Title == "" {
		d.Title = f.Title
	}
	if len(d.Groups) == 0 {
		d.Groups = f.Groups
	}
	if d.Effective.IsZero() {
		d.Effective = f.Effective
	}
	if d.Expires.IsZero() {
		d.Expires = f.Expires
	}
	if !d.Expires.IsZero() && !d.Effective.Before(d.Expires) {
		return fmt.Errorf("%w: with what was given beside it, expires is not after effective", ErrFront)
	}
	d.Title = titleOf(d.Title, d.ID)
	return nil
}

// titleOf is the title in one line, else the id's last part.
func titleOf(given, id string) string {
	name := oneLine(given)
	if name == "" {
		name = path.Base(id)
		if _, known := formatByEnding(name); known && len(name) > len(path.Ext(name)) {
			name = strings.TrimSuffix(name, path.Ext(name))
		}
	}
	for len(name) > maxTitle {
		_, n := utf8.DecodeLastRuneInString(name[:maxTitle+1])
		name = name[:maxTitle+1-n]
	}
	return name
}

// checkID refuses ids that could not be written into a path or a log.
func checkID(id string) error {
	bad := strings.ContainsFunc(id, unicode.IsControl) || !utf8.ValidString(id)
	if id == "" || len(id) > maxID || bad {
		return fmt.Errorf("%w: 1 to %d bytes of UTF-8 without control characters", ErrID, maxID)
	}
	return nil
}
