// Package extract reads the structure and the text out of files that are no
// plain text: web pages, Word documents, spreadsheets, presentations,
// separated values and PDF. It decides what of a file is text, and in which
// order; it must not know what becomes of it. The files are untrusted: Read is
// meant to run in a process of its own, with limits on memory and time.
package extract

import (
	"errors"
	"fmt"
	"io"
)

// What Read returns, wrapped, for a file that is not read.
var (
	ErrDamaged   = errors.New("the file is damaged, or of another kind than it says")
	ErrEncrypted = errors.New("the file is protected by a password; save it without one")
	ErrZip       = errors.New("the file unpacks to more than is allowed")
	ErrChunk     = errors.New("the document holds a part in a format that is not read; open it in Word, save it, and send that")
	ErrTooLarge  = errors.New("the file is too large for its kind")
)

// Kind is what a file is.
type Kind string

// The kinds that Read knows.
const (
	HTML Kind = "html"
	DOCX Kind = "docx"
	XLSX Kind = "xlsx"
	PPTX Kind = "pptx"
	CSV  Kind = "csv"
	PDF  Kind = "pdf"
)

// Sink takes what is read, in the order of the file. An error of its methods
// ends the reading and is returned by Read.
type Sink interface {
	// Title is what the file says of itself; it may come at any time, and more
	// than once: the first one counts.
	Title(name string)
	// Heading opens a section; level 1 is the highest, but for 0, the title that
	// stands above a whole document.
	Heading(level int, name string) error
	// Paragraph is running text. Lines in it are lines of the file. turns are
	// where in it further pages begin.
	Paragraph(text string, turns ...Turn) error
	// Item is an item of a list, depth 0 the outermost. mark is what stands
	// before it, such as "-" or "(a)".
	Item(depth int, mark, text string) error
	// Head is the first row of a table. The rows that follow belong to it.
	Head(cells []string) error
	// Row is a row of the table begun last. number counts from 1 in the file's
	// own way and is 0 where rows have no numbers.
	Row(cells []string, number int) error
	// Page tells that what follows stands on page n of the file; what is the
	// word for it, "page" or "slide".
	Page(what string, n int)
	// Textless tells that so many of a file's pages show something and have no
	// text. It comes once, if there is one.
	Textless(pages, of int)
	// Markdown is text with structure of its own. Signs in it that are none have
	// stand-ins until Literal puts them back.
	Markdown(text string) error
}

// Turn tells that a page begins within a text.
type Turn struct{ At, Page int } // At in bytes of the text

// Limits bound what a file may make of itself. Zero means the default.
type Limits struct {
	Entries  int   // files in a zip; default 10,000
	Unpacked int64 // bytes of all files of a zip together; default 512 MB
	Ratio    int64 // unpacked bytes for each packed one, of zips that unpack to more than 16 MB; default 200
	Page     int64 // bytes of a web page, which is held in memory; default 16 MB
}

func (l Limits) withDefaults() Limits {
	if l.Entries == 0 {
		l.Entries = 10_000
	}
	if l.Unpacked == 0 {
		l.Unpacked = 512 << 20
	}
	if l.Ratio == 0 {
		l.Ratio = 200
	}
	if l.Page == 0 {
		l.Page = 16 << 20
	}
	return l
}

// File is what is read.
type File struct {
	io.ReaderAt
	Size   int64
	Limits Limits
	TmpDir string // for what a reader has to put aside; "" = the system's
	// Decode returns the text of r in UTF-8; CSV and HTML are text. charset is
	// what the file says of itself, "" for nothing.
	Decode func(r io.ReaderAt, size int64, charset string) (io.Reader, error)
}

// Read reads a file into sink. Whatever a file makes a reader do, a panic
// included, is an error of that file.
func Read(kind Kind, f File, sink Sink) (err error) {
	f.Limits = f.Limits.withDefaults()
	read := map[Kind]func(File, Sink) error{HTML: readHTML, DOCX: readDOCX, XLSX: readXLSX, PPTX: readPPTX, CSV: readCSV, PDF: readPDF}[kind]
	if read == nil {
		return fmt.Errorf("extract: no reader of %q", kind)
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: the reader of %s failed: %.200v", ErrDamaged, kind, v)
		}
	}()
	return read(f, sink)
}

// section is the whole file as a reader.
func (f File) section() *io.SectionReader { return io.NewSectionReader(f, 0, f.Size) }
