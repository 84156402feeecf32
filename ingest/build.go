package ingest

import (
	"strings"
	"unicode"

	"strata/ingest/extract"
	"strata/internal/tokens"
)

// window is how much text in bytes is cut at a time.
const window = 1 << 20

// builder makes blocks of what a file's reader tells, and cuts them window by
// window. It implements extract.Sink.
type builder struct {
	split *splitter
	title string // what the file says of itself
	first string // the first heading

	text   strings.Builder
	blocks []block
	marks  []mark
	page   mark // the last one, n 0 = none

	columns []string // of the table begun last
	records bool     // its rows name their columns

	textless, pages int // what Textless told
}

var _ extract.Sink = (*builder)(nil)

func (b *builder) Title(name string) {
	if b.title == "" {
		b.title = name
	}
}

func (b *builder) Heading(level int, name string) error {
	if err := b.flushFull(); err != nil {
		return err
	}
	if len(name) > maxTitle {
		return b.Paragraph(name)
	}
	b.headed(name)
	start := b.text.Len()
	b.text.WriteString(name + "\n")
	b.blocks = append(b.blocks, block{kind: title, plain: true, level: level, start: start, end: b.text.Len(), name: name})
	return nil
}

func (b *builder) headed(name string) {
	if b.first == "" {
		b.first = name
	}
}

// apart puts an empty line behind a table or a list, so that what follows is
// not taken for more of it.
func (b *builder) apart() {
	if n := len(b.blocks); n > 0 && (b.blocks[n-1].kind == table || b.blocks[n-1].kind == list) {
		b.text.WriteByte('\n')
	}
}

// Paragraph also finds headings that are known by their numbers only.
func (b *builder) Paragraph(text string, turns ...extract.Turn) error {
	lead := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	if err := b.flushFull(); err != nil {
		return err
	}
	b.apart()
	start := b.text.Len()
	b.text.WriteString(text + "\n\n")
	for _, t := range turns {
		b.pageAt(start+min(max(t.At-lead, 0), len(text)), "page", t.Page)
	}
	b.blocks = plainBlocks(b.blocks, b.text.String(), start, paragraphAlone)
	return nil
}

func (b *builder) Item(depth int, mark, text string) error {
	if len(b.blocks) == 0 || b.blocks[len(b.blocks)-1].kind != list {
		if err := b.flushFull(); err != nil {
			return err
		}
		b.apart()
		b.blocks = append(b.blocks, block{kind: list, start: b.text.Len()})
	}
	start := b.text.Len()
	indent := strings.Repeat("  ", min(max(depth, 0), 8))
	b.text.WriteString(indent + mark + " " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+indent+"  ") + "\n")
	last := &b.blocks[len(b.blocks)-1]
	last.cuts, last.end = append(last.cuts, start), b.text.Len()
	return nil
}

// Head begins a table. Where its head is too long to be repeated with each
// part, rows are told column by column.
func (b *builder) Head(cells []string) error {
	if err := b.flushFull(); err != nil {
		return err
	}
	b.columns = append([]string(nil), cells...)
	b.beginTable()
	return nil
}

func (b *builder) beginTable() {
	var top strings.Builder
	writeRow(&top, b.columns)
	top.WriteString(strings.Repeat("| --- ", len(b.columns)) + "|\n")
	b.apart()
	start := b.text.Len()
	if b.records = tokens.Estimate(top.String()) > head; b.records {
		b.blocks = append(b.blocks, block{kind: list, start: start, end: start})
		return
	}
	b.text.WriteString(top.String())
	b.blocks = append(b.blocks, block{kind: table, start: start, end: b.text.Len()})
}

// inTable tells whether the last block takes rows.
func (b *builder) inTable() bool {
	if len(b.blocks) == 0 {
		return false
	}
	k := b.blocks[len(b.blocks)-1].kind
	return k == list && b.records || k == table && !b.records
}

func (b *builder) Row(cells []string, number int) error {
	if err := b.flushFull(); err != nil {
		return err
	}
	if !b.inTable() { // it goes on in a new window
		b.beginTable()
	}
	start := b.text.Len()
	if number > 0 {
		b.marks = append(b.marks, mark{start, "row", number})
	}
	last := &b.blocks[len(b.blocks)-1]
	if b.records {
		b.record(cells)
		last.cuts = append(last.cuts, start)
	} else {
		writeRow(&b.text, cells)
	}
	last.end = b.text.Len()
	return nil
}

func writeRow(b *strings.Builder, cells []string) {
	for _, c := range cells {
		b.WriteString("| " + inCell(c) + " ")
	}
	b.WriteString("|\n")
}

// record writes a row with the names of its columns.
func (b *builder) record(cells []string) {
	sep := "- "
	for i, c := range cells {
		if c = oneLine(c); c == "" {
			continue
		}
		b.text.WriteString(sep)
		if i < len(b.columns) && b.columns[i] != "" {
			b.text.WriteString(oneLine(b.columns[i]) + ": ")
		}
		b.text.WriteString(c)
		sep = "; "
	}
	b.text.WriteByte('\n')
}

// inCell writes a cell's text so that it stays in its cell.
func inCell(s string) string { return strings.ReplaceAll(oneLine(s), "|", `\|`) }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (b *builder) Textless(pages, of int) { b.textless, b.pages = pages, of }

func (b *builder) Page(what string, n int) { b.pageAt(b.text.Len(), what, n) }

func (b *builder) pageAt(at int, what string, n int) {
	b.page = mark{at, what, n}
	if i := len(b.marks) - 1; i >= 0 && b.marks[i].at == b.page.at { // nothing was on the one before
		b.marks = b.marks[:i]
	}
	b.marks = append(b.marks, b.page)
}

func (b *builder) Markdown(text string) error {
	if err := b.flushFull(); err != nil {
		return err
	}
	b.apart()
	start, first := b.text.Len(), len(b.blocks)
	text += "\n"
	b.blocks = markdownBlocks(b.blocks, b.text.String()+text, start)
	for i := range b.blocks[first:] {
		b.blocks[first+i].name = extract.Literal(b.blocks[first+i].name)
	}
	b.text.WriteString(extract.Literal(text))
	if n := len(b.blocks); n > 0 && b.blocks[n-1].kind != table && b.blocks[n-1].kind != list { // else apart does
		b.text.WriteByte('\n')
	}
	for i := range b.blocks {
		if b.blocks[i].kind == title {
			b.headed(b.blocks[i].name)
			break
		}
	}
	return nil
}

// flushFull makes room, but not between a heading and what it opens.
func (b *builder) flushFull() error {
	if n := len(b.blocks); b.text.Len() < window || n > 0 && b.blocks[n-1].kind == title {
		return nil
	}
	return b.flush()
}

// flush cuts what there is. The page goes on behind it.
func (b *builder) flush() error {
	err := b.split.window(b.text.String(), b.blocks, b.marks)
	b.text.Reset()
	b.blocks, b.marks = b.blocks[:0], b.marks[:0]
	if b.page.n > 0 {
		b.page.at = 0
		b.marks = append(b.marks, b.page)
	}
	return err
}
