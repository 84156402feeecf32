package extract

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readPPTX reads the slides of a presentation in their order: titles as
// headings, then texts and tables. Speakers' notes and hidden slides are left
// out.
func readPPTX(f File, sink Sink) error {
	a, err := openArchive(f)
	if err != nil {
		return err
	}
	if err := a.title(sink); err != nil {
		return err
	}
	names, err := slides(a)
	if err != nil {
		return err
	}
	titled := false
	for i, name := range names {
		if a.parts[name] == nil {
			continue
		}
		sink.Page("slide", i+1)
		parts, err := a.related(name)
		if err != nil {
			return err
		}
		s := slide{sink: sink, number: i + 1, below: titled, archive: a, parts: parts}
		if err := a.walk(name, s.token); err != nil {
			return err
		}
		if err := s.flush(); err != nil {
			return err
		}
		titled = titled || s.named != "" && !s.hidden
	}
	return nil
}

// slides returns the parts of the slides in the order in which they are shown.
func slides(a *archive) ([]string, error) {
	const main = "ppt/presentation.xml"
	related, err := a.related(main)
	if err != nil {
		return nil, err
	}
	if a.parts[main] == nil {
		return nil, fmt.Errorf("%w: it has no %s", ErrDamaged, main)
	}
	var out []string
	err = a.walk(main, func(_ *xml.Decoder, t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "sldId" {
			for _, at := range e.Attr { // id has two meanings, told apart by the namespace
				if at.Name.Local == "id" && at.Name.Space != "" {
					out = append(out, related[at.Value])
				}
			}
		}
		return nil
	})
	return out, err
}

// slide walks one slide. Its title may come anywhere, so what is on it waits
// for the end.
type slide struct {
	sink    Sink
	number  int
	below   bool // a slide with a title came before
	archive *archive
	parts   map[string]string // by id; those of diagrams until they are read

	hidden bool
	title  bool // inside the title's shape
	named  string
	skip   int
	depth  int // of the paragraph; negative in shapes that say nothing: number, date, footer
	text   strings.Builder
	inText bool
	cells  []string
	cell   []string
	merged string   // how the cell goes on from another one: "hMerge", "vMerge"
	above  []string // the row above
	table  int
	rows   int
	held   []func() error
	label  string // the text of the first shape, if it is a short line
	shapes int    // that have text
	lines  int    // of the shape
}

// maxLabel is how many letters the first text of a slide without a title has
// at most to be taken for one.
const maxLabel = 60

func (s *slide) token(_ *xml.Decoder, t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		if s.skip > 0 || t.Name.Local == "Fallback" {
			s.skip++
			return nil
		}
		if t.Name.Local == "relIds" {
			return s.diagram(attr(t, "dm"))
		}
		s.start(t)
	case xml.EndElement:
		if s.skip > 0 {
			s.skip--
			return nil
		}
		s.end(t.Name.Local)
	case xml.CharData:
		if s.inText && s.skip == 0 && s.text.Len() < maxCell {
			s.text.Write(t)
		}
	}
	return nil
}

func (s *slide) start(e xml.StartElement) {
	switch e.Name.Local {
	case "sld":
		s.hidden = attr(e, "show") == "0"
	case "sp":
		s.title = false
	case "ph":
		kind := attr(e, "type")
		s.title = kind == "title" || kind == "ctrTitle"
		if kind == "sldNum" || kind == "dt" || kind == "ftr" {
			s.depth = -1 // its text is dropped
		}
	case "p", "pPr":
		if s.depth >= 0 {
			s.depth = number(attr(e, "lvl"))
		}
	case "t":
		s.inText = true
	case "br":
		s.text.WriteByte('\n')
	case "tbl":
		s.table, s.rows, s.above = s.table+1, 0, nil
	case "tc":
		for _, s.merged = range []string{"hMerge", "vMerge", ""} {
			if on := attr(e, s.merged); on == "1" || on == "true" {
				break
			}
		}
	}
}

func (s *slide) end(name string) {
	switch name {
	case "t":
		s.inText = false
	case "p":
		s.paragraph()
	case "sp":
		s.endShape()
	case "tc":
		s.endCell()
	case "tr":
		row, first := s.cells, s.rows == 0
		s.above, s.cells, s.rows = row, nil, s.rows+1
		s.held = append(s.held, func() error {
			if first {
				return s.sink.Head(row)
			}
			return s.sink.Row(row, 0)
		})
	case "tbl":
		s.table--
	}
}

// endCell takes a cell into its row. What is merged down stands in each row,
// what is merged across in each column of a head.
func (s *slide) endCell() {
	text, n := strings.Join(s.cell, "\n"), len(s.cells)
	switch {
	case text != "":
	case s.merged == "vMerge" && n < len(s.above):
		text = s.above[n]
	case s.merged == "hMerge" && s.rows == 0 && n > 0:
		text = s.cells[n-1]
	}
	s.cells, s.cell = append(s.cells, text), nil
}

func (s *slide) paragraph() {
	text := strings.TrimSpace(s.text.String())
	s.text.Reset()
	depth := s.depth
	switch {
	case text == "" || depth < 0:
	case s.table > 0:
		s.cell = append(s.cell, text)
	case s.title:
		s.named = strings.TrimSpace(s.named + " " + oneLine(text))
	default:
		if len(s.held) == 0 && utf8.RuneCountInString(text) <= maxLabel {
			s.label = oneLine(text)
		}
		s.lines++
		s.held = append(s.held, func() error { return s.sink.Item(depth, "-", text) })
	}
}

// endShape keeps the label only if it is all that the first shape says.
func (s *slide) endShape() {
	if s.title, s.depth = false, 0; s.lines == 0 {
		return
	}
	if s.shapes++; s.shapes == 1 && s.lines > 1 {
		s.label = ""
	}
	s.lines = 0
}

// diagram takes in the texts of a SmartArt, once.
func (s *slide) diagram(id string) error {
	part := s.parts[id]
	delete(s.parts, id)
	texts, err := s.archive.diagram(part)
	for _, text := range texts {
		s.held = append(s.held, func() error { return s.sink.Item(0, "-", text) })
	}
	return err
}

// flush gives out the slide. Without a title it has its label for one, else its
// number: what is on it does not stand under the title of the slide before.
func (s *slide) flush() error {
	if s.hidden || s.named == "" && len(s.held) == 0 {
		return nil
	}
	switch {
	case s.named != "":
	case s.label != "" && len(s.held) > 1:
		s.named, s.held = s.label, s.held[1:]
	case s.below:
		s.named = "Slide " + strconv.Itoa(s.number)
	}
	if s.named != "" {
		if err := s.sink.Heading(1, s.named); err != nil {
			return err
		}
	}
	for _, out := range s.held {
		if err := out(); err != nil {
			return err
		}
	}
	return nil
}
