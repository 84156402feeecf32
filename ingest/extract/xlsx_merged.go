package extract

import (
	"bufio"
	"encoding/xml"
	"slices"
	"strings"

	"github.com/xuri/excelize/v2"
)

// Bounds of merged cells: how many of a sheet are looked at, and how many rows
// a head may have.
const (
	maxMerged = 10_000
	maxHead   = 4
)

// merged is a range of cells that are shown as one. Rows and columns count
// from 1.
type merged struct {
	left, top, right, bottom int
	text                     string
}

// mergedCells gives the cells of a sheet what is shown in them: what is merged
// down stands in each row, and a head of several rows becomes one.
type mergedCells struct {
	list  []merged // still below, by their first rows
	open  []merged // that the row is in
	head  []string // so far
	until int      // the head's last row
	sure  int      // up to this row cells merged down say that it is the head
	wide  []merged // cells of the head's first row over several columns

	formulas map[int][]formula // by row: those without a value
	formed   int               // how many there are
}

// sheetParts returns the parts of the sheets by name.
func sheetParts(a *archive) (map[string]string, error) {
	const book = "xl/workbook.xml"
	related, err := a.related(book)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	err = a.walk(book, func(_ *xml.Decoder, t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "sheet" {
			out[attr(e, "name")] = related[attr(e, "id")]
		}
		return nil
	})
	return out, optional(err)
}

// readMerged reads which cells of a sheet are merged. That stands behind all
// rows, which are passed over without being parsed, but for formulas.
func readMerged(a *archive, part string) (*mergedCells, error) {
	out := &mergedCells{}
	p := a.parts[part]
	if p == nil {
		return out, nil
	}
	r, err := p.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	behind := bufio.NewReaderSize(r, 64<<10)
	if err := out.passRows(behind); err != nil {
		return out, nil // no rows, or broken ones, which their reader tells of
	}
	d := xml.NewDecoder(behind)
	for len(out.list) < maxMerged {
		t, err := d.RawToken()
		if err != nil {
			break
		}
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "mergeCell" {
			out.add(attr(e, "ref"))
		}
	}
	slices.SortStableFunc(out.list, func(a, b merged) int { return a.top - b.top })
	return out, nil
}

func (m *mergedCells) add(ref string) {
	from, to, ok := strings.Cut(strings.ReplaceAll(ref, "$", ""), ":")
	if !ok {
		return
	}
	left, top, err := excelize.CellNameToCoordinates(from)
	right, bottom, err2 := excelize.CellNameToCoordinates(to)
	if err == nil && err2 == nil && left <= right && top <= bottom {
		m.list = append(m.list, merged{left: left, top: top, right: right, bottom: bottom})
	}
}

// row passes a row on to t.
func (m *mergedCells) row(t *tabular, cells []string, number int) error {
	for _, f := range m.formulas[number] {
		if f.col > len(cells) || cells[f.col-1] == "" {
			cells = put(cells, f.col, f.text)
		}
	}
	m.enter(cells, number)
	used := 0
	for _, c := range cells {
		if strings.TrimSpace(c) != "" {
			used++
		}
	}
	if used > 1 || used == 1 && t.open && !t.gap || number <= m.until {
		cells = m.down(cells, number)
	}
	if number <= m.until && number > m.sure && !m.names(cells) {
		if err := m.end(t, number); err != nil {
			return err
		}
	}
	switch {
	case number <= m.until:
		m.head = joinHeads(m.head, m.across(cells, number))
		if number < m.until {
			return nil
		}
		return m.end(t, number)
	case used > 1 && !t.open && m.headEnd(number) > number:
		m.begin(cells, number)
		return nil
	}
	return t.row(cells, number)
}

// end gives out a head that has not had all its rows.
func (m *mergedCells) end(t *tabular, number int) error {
	head := m.head
	if m.head, m.until = nil, 0; head == nil {
		return nil
	}
	return t.row(head, number)
}

// enter keeps the ranges that a row is in, with the texts of those that begin.
func (m *mergedCells) enter(cells []string, number int) {
	m.open = slices.DeleteFunc(m.open, func(r merged) bool { return r.bottom < number })
	for len(m.list) > 0 && m.list[0].top <= number {
		r := m.list[0]
		if m.list = m.list[1:]; r.left <= len(cells) {
			r.text = cells[r.left-1]
			m.open = append(m.open, r)
		}
	}
}

// down repeats in a row what is merged from the rows above it.
func (m *mergedCells) down(cells []string, number int) []string {
	for _, r := range m.open {
		if r.top < number && r.text != "" && (r.left > len(cells) || cells[r.left-1] == "") {
			cells = put(cells, r.left, r.text)
		}
	}
	return cells
}

// across repeats in a row of a head what is merged over several columns.
func (m *mergedCells) across(cells []string, number int) []string {
	cells = slices.Clone(cells)
	for _, r := range m.open {
		for col := r.left + 1; r.text != "" && r.top == number && col <= min(r.right, r.left+maxSpan); col++ {
			cells = put(cells, col, r.text)
		}
	}
	return cells
}

// put sets the cell of a column.
func put(cells []string, col int, text string) []string {
	for len(cells) < col {
		cells = append(cells, "")
	}
	cells[col-1] = text
	return cells
}

// headEnd is the last row that a head beginning with a row may have: more than
// one where some of its cells stand over several columns.
func (m *mergedCells) headEnd(number int) int {
	last, over := number+1, false
	for _, r := range m.open {
		if r.top == number {
			last, over = max(last, r.bottom), over || r.right > r.left
		}
	}
	if !over {
		return number
	}
	return min(last, number+maxHead-1)
}

// begin takes a row as the first one of a head of several.
func (m *mergedCells) begin(cells []string, number int) {
	m.head, m.until, m.sure, m.wide = m.across(cells, number), m.headEnd(number), number, nil
	for _, r := range m.open {
		if r.top == number {
			m.sure = max(m.sure, r.bottom)
		}
		if r.top == number && r.right > r.left {
			m.wide = append(m.wide, r)
		}
	}
}

// names tells a row of names below the wide cells of a head from the table's
// first row: that has values also below the other cells, or values that are no
// words.
func (m *mergedCells) names(cells []string) bool {
	beside := false
	for i := range max(len(cells), len(m.head)) {
		if slices.ContainsFunc(m.wide, func(r merged) bool { return r.left <= i+1 && i+1 <= r.right }) {
			continue
		}
		if i < len(cells) && strings.TrimSpace(cells[i]) != "" {
			return false
		}
		beside = beside || i < len(m.head) && m.head[i] != ""
	}
	return beside || words(cells)
}

// joinHeads puts the names of a head's next row below those before.
func joinHeads(head, next []string) []string {
	for i, name := range next {
		switch {
		case i >= len(head):
			head = put(head, i+1, name)
		case name != "" && name != head[i]:
			head[i] = strings.TrimSpace(head[i] + " " + name)
		}
	}
	return head
}
