package extract

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
)

// maxCell is the longest text of a table's cell or a paragraph in bytes; what
// is longer is cut there, so that no single element fills the memory.
const maxCell = 8 << 20

// readDOCX reads the text of a Word document: inserted text, links, fields'
// results and content controls are part of it; deleted text, hidden text, the
// table of contents and what stands twice for older programs are not.
func readDOCX(f File, sink Sink) error {
	a, err := openArchive(f)
	if err != nil {
		return err
	}
	if err := a.title(sink); err != nil {
		return err
	}
	main, err := a.typed("", "/officeDocument", "word/document.xml")
	if err != nil {
		return err
	}
	part, err := a.typed(main, "/styles", "word/styles.xml")
	if err != nil {
		return err
	}
	styles, err := readStyles(a, part)
	if err != nil {
		return err
	}
	if part, err = a.typed(main, "/numbering", "word/numbering.xml"); err != nil {
		return err
	}
	lists, err := readNumbering(a, part)
	if err != nil {
		return err
	}
	parts, err := a.related(main)
	if err != nil {
		return err
	}
	d := docx{sink: sink, styles: styles, lists: lists, file: f, archive: a, parts: parts, chunks: map[string]bool{}}
	err = a.walk(main, d.token)
	if errors.Is(err, errNoPart) {
		return fmt.Errorf("%w: it has no word/document.xml", ErrDamaged)
	}
	return err
}

// docx walks a document's body.
type docx struct {
	sink   Sink
	styles map[string]style
	lists  *numbering

	file    File
	archive *archive
	parts   map[string]string // by id; those of diagrams until they are read
	chunks  map[string]bool   // parts in other formats that were read

	skip   int // depth inside an element whose text does not count
	text   bool
	para   []*paragraph // open ones: a text box stands inside a paragraph
	tables []*wordTable // open ones
}

// paragraph is one that is being read.
type paragraph struct {
	style     string
	outline   int // 1-9, 0 = the style's
	list      string
	depth     int
	listed    bool // the paragraph says itself which list it is of
	runHidden bool
	raised    bool // the run is a power, or the number of a note
	text      strings.Builder
}

// wordTable is a table that is being read; its rows go out as they end.
type wordTable struct {
	rows  int
	row   []string
	above []string // the texts of the row above, with what is merged
	span  int      // columns of the cell
	down  bool     // the cell goes on from the one above
	cell  strings.Builder
	flat  strings.Builder // of a table inside another one: its text
}

// skipped are elements whose text is none of the document's.
var skipped = map[string]bool{
	"del": true, "moveFrom": true, "instrText": true, "delText": true, "Fallback": true, "pPrChange": true, "rPrChange": true,
	"sectPr": true, "annotation": true, "rt": true, // how characters are read, above them
}

func (d *docx) token(x *xml.Decoder, t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		if d.skip > 0 || skipped[t.Name.Local] {
			d.skip++
			return nil
		}
		switch t.Name.Local {
		case "relIds":
			return d.diagram(attr(t, "dm"))
		case "altChunk":
			return d.chunk(attr(t, "id"))
		}
		d.start(t)
	case xml.EndElement:
		if d.skip > 0 {
			d.skip--
			return nil
		}
		return d.end(t.Name.Local)
	case xml.CharData:
		if d.text && d.skip == 0 {
			d.write(string(t))
		}
	}
	return nil
}

func (d *docx) top() *paragraph {
	if len(d.para) == 0 {
		return nil
	}
	return d.para[len(d.para)-1]
}

func (d *docx) write(s string) {
	if p := d.top(); p != nil && !p.runHidden && p.text.Len() < maxCell {
		if p.raised && digitsMeet(p.text.String(), s) {
			p.text.WriteByte('^') // else 10 and 6 became 106
		}
		p.raised = false
		p.text.WriteString(s)
	}
}

func (d *docx) start(e xml.StartElement) {
	switch e.Name.Local {
	case "p":
		d.para = append(d.para, &paragraph{})
		return
	case "tbl":
		d.tables = append(d.tables, &wordTable{})
		return
	}
	if n := len(d.tables); n > 0 && d.tables[n-1].property(e) {
		return
	}
	p := d.top()
	if p == nil {
		return
	}
	switch e.Name.Local {
	case "t":
		d.text = true
	case "tab", "br", "cr", "noBreakHyphen":
		d.write(map[string]string{"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}[e.Name.Local])
	case "r":
		p.runHidden, p.raised = false, false
	case "vertAlign":
		p.raised = attr(e, "val") == "superscript"
	case "vanish":
		p.runHidden = attr(e, "val") != "0" && attr(e, "val") != "false"
	case "pStyle":
		p.style = attr(e, "val")
	case "outlineLvl":
		p.outline = number(attr(e, "val")) + 1
	case "ilvl":
		p.depth = number(attr(e, "val"))
	case "numId":
		p.list, p.listed = attr(e, "val"), true
	}
}

func (d *docx) end(name string) error {
	switch name {
	case "t":
		d.text = false
	case "p":
		if len(d.para) > 0 {
			p := d.top()
			d.para = d.para[:len(d.para)-1]
			return d.paragraph(p)
		}
	case "tc":
		if n := len(d.tables); n > 0 {
			d.tables[n-1].endCell()
		}
	case "tr":
		return d.row()
	case "tbl":
		if n := len(d.tables); n > 0 {
			t := d.tables[n-1]
			d.tables = d.tables[:n-1]
			if n > 1 {
				d.cellText(t.flat.String())
			}
		}
	}
	return nil
}

// property takes what a row or a cell says of its place, and tells whether it
// was that.
func (t *wordTable) property(e xml.StartElement) bool {
	switch e.Name.Local {
	case "gridBefore":
		for range min(number(attr(e, "val")), maxSpan) {
			t.row = append(t.row, "")
		}
	case "gridSpan":
		t.span = min(number(attr(e, "val")), maxSpan)
	case "vMerge":
		t.down = attr(e, "val") != "restart"
	default:
		return false
	}
	return true
}

// endCell puts a cell's text into its columns: that of a head into each, else
// into the first. What is merged down stands in each row.
func (t *wordTable) endCell() {
	text, col := strings.TrimSpace(t.cell.String()), len(t.row)
	if t.down && text == "" && col < len(t.above) {
		text = t.above[col]
	}
	t.row = append(t.row, text)
	for range t.span - 1 {
		if t.rows > 0 {
			text = ""
		}
		t.row = append(t.row, text)
	}
	t.span, t.down = 0, false
	t.cell.Reset()
}

// row gives out a row of the outermost table. What is inside a cell becomes
// part of its text.
func (d *docx) row() error {
	n := len(d.tables)
	if n == 0 {
		return nil
	}
	t := d.tables[n-1]
	row := t.row
	t.above, t.row, t.rows = row, nil, t.rows+1
	switch {
	case n > 1:
		if t.flat.Len() < maxCell {
			t.flat.WriteString(strings.Join(row, " ") + "; ")
		}
		return nil
	case blankRow(row):
		return nil
	case t.rows == 1:
		return d.sink.Head(row)
	}
	return d.sink.Row(trimmed(row), 0)
}

// diagram gives out the texts of a SmartArt, once.
func (d *docx) diagram(id string) error {
	part := d.parts[id]
	delete(d.parts, id)
	texts, err := d.archive.diagram(part)
	for _, text := range texts {
		if len(d.tables) > 0 {
			d.cellText(text)
		} else if err == nil {
			err = d.sink.Item(0, "-", text)
		}
	}
	return err
}

func (d *docx) cellText(s string) {
	t := d.tables[len(d.tables)-1]
	if s = strings.TrimSpace(s); s == "" || t.cell.Len() > maxCell {
		return
	}
	if t.cell.Len() > 0 {
		t.cell.WriteByte('\n')
	}
	t.cell.WriteString(s)
}

// paragraph gives out a paragraph that has ended.
func (d *docx) paragraph(p *paragraph) error {
	st := d.styles[p.style]
	list, depth := p.list, p.depth
	if !p.listed && st.list != "" {
		list, depth = st.list, st.depth
	}
	text := strings.TrimSpace(p.text.String())
	if text == "" || st.contents {
		return nil
	}
	mark := d.lists.next(list, depth)
	level := p.outline
	if level == 0 {
		level = st.level
	}
	switch {
	case len(d.tables) > 0:
		d.cellText(joinMark(mark, text))
		return nil
	case level >= 1 && level <= 9:
		return d.sink.Heading(level, oneLine(joinMark(mark, text)))
	case st.title:
		d.sink.Title(oneLine(text))
		return d.sink.Heading(0, oneLine(text))
	case mark == "":
		return d.sink.Paragraph(text)
	case depth == 0 && strings.HasPrefix(mark, "第"), strings.HasPrefix(mark, "§"): // a statute's number, made by Word
		return d.sink.Paragraph(joinMark(mark, text))
	}
	return d.sink.Item(depth, mark, text)
}

func joinMark(mark, text string) string {
	if mark == "" || mark == "-" {
		return text
	}
	return mark + " " + text
}

// trimmed leaves out the empty cells at the end of a row.
func trimmed(row []string) []string {
	for len(row) > 0 && row[len(row)-1] == "" {
		row = row[:len(row)-1]
	}
	return row
}

// number reads a small number; anything else is 0.
func number(s string) int {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' || n > 1_000_000 {
			return 0
		}
		n = 10*n + int(c-'0')
	}
	return n
}

func blankRow(cells []string) bool {
	for _, c := range cells {
		if strings.TrimSpace(c) != "" {
			return false
		}
	}
	return true
}
