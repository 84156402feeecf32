package extract

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// archive is an Office file: a zip of XML parts.
type archive struct {
	parts map[string]*zip.File
}

// smallZip is up to which unpacked size in bytes the ratio is not looked at:
// a table of equal rows packs to next to nothing and does no harm.
const smallZip = 16 << 20

// openArchive looks at the directory of a zip before anything is unpacked. The
// sizes in it can be trusted: reading more than that from a part fails.
func openArchive(f File) (*archive, error) {
	start := make([]byte, 8)
	n, _ := f.ReadAt(start, 0)
	if strings.HasPrefix(string(start[:n]), "\xD0\xCF\x11\xE0") { // what Office makes of a file with a password, and its older formats
		return nil, fmt.Errorf("%w, or in the format of before 2007: save it as docx, xlsx or pptx", ErrEncrypted)
	}
	z, err := zip.NewReader(f, f.Size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if len(z.File) > f.Limits.Entries {
		return nil, fmt.Errorf("%w: %d files in the zip, at most %d", ErrZip, len(z.File), f.Limits.Entries)
	}
	a := &archive{parts: make(map[string]*zip.File, len(z.File))}
	var total uint64
	for _, p := range z.File {
		total += min(p.UncompressedSize64, 1<<50)
		if total > uint64(f.Limits.Unpacked) {
			return nil, fmt.Errorf("%w: above %d MB", ErrZip, f.Limits.Unpacked>>20)
		}
		a.parts[strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(p.Name, `\`, "/")), "/")] = p
	}
	if total > smallZip && total/uint64(f.Limits.Ratio) > uint64(f.Size) {
		return nil, fmt.Errorf("%w: %d times its size, at most %d", ErrZip, total/uint64(f.Size), f.Limits.Ratio)
	}
	return a, nil
}

// errNoPart is the error of a part that is not in the archive.
var errNoPart = errors.New("extract: no such part")

// walk calls each for every token of a part of XML, until it is at its end.
func (a *archive) walk(name string, each func(*xml.Decoder, xml.Token) error) error {
	p := a.parts[name]
	if p == nil {
		return fmt.Errorf("%w: %s", errNoPart, name)
	}
	r, err := p.Open()
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	defer r.Close()
	d := xml.NewDecoder(r)
	for {
		t, err := d.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
		}
		if err := each(d, t); err != nil {
			return err
		}
	}
}

// optional is err, unless a part is missing that need not be there.
func optional(err error) error {
	if errors.Is(err, errNoPart) {
		return nil
	}
	return err
}

// title tells the title in the properties of an Office file.
func (a *archive) title(sink Sink) error {
	inside := false
	return optional(a.walk("docProps/core.xml", func(_ *xml.Decoder, t xml.Token) error {
		switch t := t.(type) {
		case xml.StartElement:
			inside = t.Name.Local == "title"
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if name := oneLine(string(t)); inside && name != "" {
				sink.Title(name)
			}
		}
		return nil
	}))
}

// related returns the parts that a part names, by id.
func (a *archive) related(name string) (map[string]string, error) {
	out := map[string]string{}
	err := a.relations(name, func(e xml.StartElement, target string) { out[attr(e, "Id")] = target })
	return out, err
}

// typed returns the part that a part, "" for the file, names for a type of
// that ending; usual where there is none.
func (a *archive) typed(name, ending, usual string) (string, error) {
	found := usual
	err := a.relations(name, func(e xml.StartElement, target string) {
		if strings.HasSuffix(attr(e, "Type"), ending) && a.parts[target] != nil {
			found = target
		}
	})
	return found, err
}

// relations calls each for the parts that a part names.
func (a *archive) relations(name string, each func(e xml.StartElement, target string)) error {
	dir, base := path.Split(name)
	err := a.walk(dir+"_rels/"+base+".rels", func(_ *xml.Decoder, t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "Relationship" && attr(e, "TargetMode") != "External" {
			target := attr(e, "Target")
			if !strings.HasPrefix(target, "/") {
				target = "/" + dir + target
			}
			each(e, strings.TrimPrefix(path.Clean(target), "/"))
		}
		return nil
	})
	return optional(err)
}

// diagram returns the texts of a SmartArt, whose data is a part of its own.
func (a *archive) diagram(part string) ([]string, error) {
	var out []string
	var text strings.Builder
	inText := false
	err := a.walk(part, func(_ *xml.Decoder, t xml.Token) error {
		switch t := t.(type) {
		case xml.StartElement:
			if inText = t.Name.Local == "t"; t.Name.Local == "p" {
				text.Reset()
			}
		case xml.EndElement:
			if inText = false; t.Name.Local == "p" && oneLine(text.String()) != "" {
				out = append(out, oneLine(text.String()))
			}
		case xml.CharData:
			if inText && text.Len() < maxCell {
				text.Write(t)
			}
		}
		return nil
	})
	return out, optional(err)
}

// attr returns an attribute by its local name, "" if it is not there.
func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// oneLine joins what is between white space with blanks.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
