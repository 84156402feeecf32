package extract

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/textproto"
	"path"
	"strings"
)

// maxNested is how deep the parts of a web archive may lie in each other.
const maxNested = 4

// chunk reads a text that a Word document keeps in another format, at its
// place: programs that make documents of web pages leave it to Word to convert
// them. Each is read once, so that no small file makes a part be read again
// and again.
func (d *docx) chunk(id string) error {
	name := d.parts[id]
	part := d.archive.parts[name]
	if part == nil || d.chunks[name] {
		return nil
	}
	d.chunks[name] = true
	kind, err := d.archive.contentType(name)
	if err != nil {
		return err
	}
	r, err := part.Open()
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	defer r.Close()
	t, err := textIn(kind, r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	text, err := t.text(d.file.Limits.Page)
	if err != nil {
		return fmt.Errorf("%w: %s", err, name)
	}
	f := File{ReaderAt: bytes.NewReader(text), Size: int64(len(text)), Limits: d.file.Limits, TmpDir: d.file.TmpDir}
	f.Decode = func(r io.ReaderAt, size int64, charset string) (io.Reader, error) {
		return d.file.Decode(r, size, cmp.Or(t.charset, charset))
	}
	if t.kind == "text/plain" {
		return readPlain(f, inside{d.sink, d})
	}
	return readHTML(f, inside{d.sink, d})
}

// readPlain reads text without structure.
func readPlain(f File, sink Sink) error {
	r, err := f.Decode(f.ReaderAt, f.Size, "")
	if err != nil {
		return err
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	for p := range strings.SplitSeq(string(text), "\n\n") {
		if err := sink.Paragraph(p); err != nil {
			return err
		}
	}
	return nil
}

// inside takes the text of a chunk. Its title is not the document's, and what
// stands in a cell is the cell's.
type inside struct {
	Sink
	d *docx
}

func (inside) Title(string) {}

func (s inside) Markdown(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return nil
	case len(s.d.tables) > 0:
		s.d.cellText(Literal(text))
		return nil
	}
	return s.Sink.Markdown(text)
}

func (s inside) Paragraph(text string, turns ...Turn) error {
	if len(s.d.tables) > 0 {
		s.d.cellText(text)
		return nil
	}
	return s.Sink.Paragraph(text, turns...)
}

// contentType is the type that an archive gives a part, else what its name
// tells.
func (a *archive) contentType(name string) (string, error) {
	ending := strings.TrimPrefix(strings.ToLower(path.Ext(name)), ".")
	var own, byEnding string
	err := a.walk("[Content_Types].xml", func(_ *xml.Decoder, t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok {
			switch {
			case e.Name.Local == "Override" && strings.EqualFold(attr(e, "PartName"), "/"+name):
				own = attr(e, "ContentType")
			case e.Name.Local == "Default" && strings.EqualFold(attr(e, "Extension"), ending):
				byEnding = attr(e, "ContentType")
			}
		}
		return nil
	})
	usual := map[string]string{"html": "text/html", "htm": "text/html", "xhtml": "text/html", "mht": "message/rfc822", "mhtml": "message/rfc822", "txt": "text/plain"}
	return cmp.Or(own, byEnding, usual[ending], ending), optional(err)
}

// encoded is a text as it stands in a file.
type encoded struct {
	kind, charset string
	transfer      string // how MIME has written it
	r             io.Reader
}

// textIn finds the text of a part of a type.
func textIn(kind string, r io.Reader) (encoded, error) {
	name, params, err := mime.ParseMediaType(kind)
	if err != nil {
		name = kind
	}
	switch name {
	case "text/html", "application/xhtml+xml", "text/plain":
		return encoded{kind: name, charset: params["charset"], r: r}, nil
	case "message/rfc822", "multipart/related", "application/x-mimearchive":
		in := bufio.NewReader(r)
		if err := skipBlank(in); err != nil {
			return encoded{}, err
		}
		header, err := textproto.NewReader(in).ReadMIMEHeader()
		if err != nil {
			return encoded{}, fmt.Errorf("%w: a web archive: %w", ErrDamaged, err)
		}
		t, err := textOfMIME(header, in, 0)
		if err == nil && t.r == nil {
			err = fmt.Errorf("%w (a web archive without a page)", ErrChunk)
		}
		return t, err
	}
	return encoded{}, fmt.Errorf("%w (%.60s)", ErrChunk, name)
}

// skipBlank passes over blank lines, and a mark of the encoding, before a
// header.
func skipBlank(r *bufio.Reader) error {
	for {
		c, _, err := r.ReadRune()
		if err != nil {
			return fmt.Errorf("%w: a web archive: %w", ErrDamaged, err)
		}
		if !strings.ContainsRune(" \t\r\n\ufeff", c) {
			return r.UnreadRune()
		}
	}
}

// textOfMIME returns the first page of what a header describes; one without a
// reader if there is none.
func textOfMIME(header textproto.MIMEHeader, body io.Reader, depth int) (encoded, error) {
	kind, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	switch {
	case err == nil && kind == "text/html" || kind == "application/xhtml+xml":
		return encoded{kind, params["charset"], strings.ToLower(strings.TrimSpace(header.Get("Content-Transfer-Encoding"))), body}, nil
	case err != nil || !strings.HasPrefix(kind, "multipart/") || depth >= maxNested:
		return encoded{}, nil
	}
	parts := multipart.NewReader(body, params["boundary"])
	for {
		p, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return encoded{}, nil
		}
		if err != nil {
			return encoded{}, fmt.Errorf("%w: a web archive: %w", ErrDamaged, err)
		}
		if t, err := textOfMIME(p.Header, p, depth+1); err != nil || t.r != nil {
			return t, err
		}
	}
}

// text reads a text of at most so many bytes. It is held before it is decoded,
// since its lines may be of any length.
func (t encoded) text(limit int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(t.r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("%w: a web page of more than %d MB", ErrTooLarge, limit>>20)
	}
	var plain io.Reader
	switch t.transfer {
	case "quoted-printable":
		plain = quotedprintable.NewReader(bufio.NewReaderSize(bytes.NewReader(raw), len(raw)+1)) // keeps the size; a line must fit in it
	case "base64":
		plain = base64.NewDecoder(base64.StdEncoding, bytes.NewReader(raw))
	default:
		return raw, nil
	}
	if raw, err = io.ReadAll(plain); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return raw, nil
}
