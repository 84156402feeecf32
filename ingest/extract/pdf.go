package extract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ledongthuc/pdf"
)

// maxPages bounds a PDF; beyond it the page tree is taken for broken.
const maxPages = 100_000

// readPDF reads the text of a PDF page by page: lines put together to
// paragraphs, large letters as headings, without the lines that stand at the
// top or bottom of most pages.
func readPDF(f File, sink Sink) error {
	r, err := openPDF(f)
	if err != nil {
		return err
	}
	if name := oneLine(r.Trailer().Key("Info").Key("Title").Text()); name != "" && !fileName(name) {
		sink.Title(name)
	}
	pages, err := pagesOf(r)
	if err != nil {
		return err
	}
	fonts := fontCache{}
	p := pageReader{sink: sink, look: survey(pages, fonts)}
	failed, textless := 0, 0
	for i, page := range pages {
		lines, drew, err := linesOf(page, fonts)
		unread := err != nil && len(lines) == 0
		if unread {
			failed++
		}
		if (drew || unread) && p.look.onlyRunning(lines, i+1) {
			textless++
		}
		if err := p.page(i+1, lines); err != nil {
			return err
		}
	}
	if err := p.end(); err != nil {
		return err
	}
	if failed > 0 && failed == len(pages) {
		return fmt.Errorf("%w: no page can be read", ErrDamaged)
	}
	if textless > 0 {
		sink.Textless(textless, len(pages))
	}
	return nil
}

// fileName tells a title that is a program's name of the file.
func fileName(s string) bool {
	return strings.HasPrefix(s, "Microsoft Word") || strings.HasSuffix(s, ".doc") || strings.HasSuffix(s, ".docx") || strings.HasSuffix(s, ".indd") || strings.EqualFold(s, "untitled") || s == "(anonymous)"
}

// openPDF makes good what the library is strict about: bytes before the
// header, version 2, blanks and bytes behind the end.
func openPDF(f File) (*pdf.Reader, error) {
	start := make([]byte, min(1024, f.Size))
	if _, err := f.ReadAt(start, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	from := bytes.Index(start, []byte("%PDF-"))
	if from < 0 {
		return nil, fmt.Errorf("%w: no PDF header", ErrDamaged)
	}
	tail := make([]byte, min(4096, f.Size))
	if _, err := f.ReadAt(tail, f.Size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	end := bytes.LastIndex(tail, []byte("%%EOF"))
	if end < 0 {
		return nil, fmt.Errorf("%w: the PDF is cut off", ErrDamaged)
	}
	size := f.Size - int64(len(tail)-end) + int64(len("%%EOF")) - int64(from)
	r, err := pdf.NewReader(headed{io.NewSectionReader(f, int64(from), size)}, size)
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword):
		return nil, ErrEncrypted
	case err != nil && strings.Contains(err.Error(), "encrypt"):
		return nil, fmt.Errorf("%w, or encrypted in a way that is not read: print it to a new PDF", ErrEncrypted)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if e := r.Trailer().Key("Encrypt"); e.Kind() == pdf.Dict && e.Key("V").Int64() < 4 && e.Key("Length").Int64() < 128 { // the library takes the keys of objects to have 128 bits
		return nil, fmt.Errorf("%w, or encrypted with a short key, which is not read: print it to a new PDF", ErrEncrypted)
	}
	return r, nil
}

// headed is a PDF with a header that the library knows.
type headed struct{ io.ReaderAt }

func (h headed) ReadAt(p []byte, off int64) (int, error) {
	n, err := h.ReaderAt.ReadAt(p, off)
	const header = "%PDF-1.7\n"
	if off < int64(len(header)) {
		copy(p[:n], header[off:])
	}
	return n, err
}

// pagesOf walks the page tree once; asking the library for a page by number
// walks it each time.
func pagesOf(r *pdf.Reader) (out []pdf.Page, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: the page tree: %.200v", ErrDamaged, v)
		}
	}()
	seen := 0
	var walk func(node pdf.Value, depth int)
	walk = func(node pdf.Value, depth int) {
		if seen++; depth > 64 || seen > 2*maxPages {
			panic("it is a loop")
		}
		kids := node.Key("Kids")
		if kids.Kind() != pdf.Array {
			if node.Kind() == pdf.Dict {
				out = append(out, pdf.Page{V: node})
			}
			return
		}
		for i := range kids.Len() {
			walk(kids.Index(i), depth+1)
		}
	}
	walk(r.Trailer().Key("Root").Key("Pages"), 0)
	return out, nil
}
