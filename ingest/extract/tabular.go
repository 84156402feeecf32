package extract

import (
	"strings"
	"unicode"
)

// tabular tells the tables of a sheet from what stands around them: lines with
// one value are text, the first row with more is a table's head, and so is a
// row of words after an empty one, if it has rows of its own right below.
type tabular struct {
	sink  Sink
	open  bool   // rows belong to a table
	gap   bool   // an empty row came after the table's last one
	lines []cell // the first ones of the sheet, until it is known what they are
	wait  *waiting
}

// waiting is a row of words after an empty one: above rows it is a head, by
// itself a row like those before.
type waiting struct {
	cells  []string
	number int
}

// cell is a line that waits: above a table it is text, three of them are a
// column.
type cell struct {
	text   string
	number int
}

func (t *tabular) row(cells []string, number int) error {
	used, last := 0, 0
	for i, c := range cells {
		if strings.TrimSpace(c) != "" {
			used, last = used+1, i+1
		}
	}
	cells = cells[:last]
	if err := t.settle(used > 1); err != nil {
		return err
	}
	switch {
	case used == 0:
		t.gap = t.open || t.gap
		return nil
	case used == 1 && (!t.open || t.gap):
		t.open, t.gap = false, false
		return t.line(strings.TrimSpace(cells[last-1]), number)
	case !t.open:
		if err := t.text(); err != nil {
			return err
		}
		t.open, t.gap = true, false
		return t.sink.Head(cells)
	case t.gap && words(cells):
		t.wait, t.gap = &waiting{append([]string(nil), cells...), number}, false
		return nil
	}
	t.gap = false
	return t.sink.Row(cells, number)
}

// settle gives out a row that waits, now that it is known whether rows follow.
func (t *tabular) settle(head bool) error {
	w := t.wait
	if t.wait = nil; w == nil {
		return nil
	}
	if head {
		return t.sink.Head(w.cells)
	}
	return t.sink.Row(w.cells, w.number)
}

// line takes a row with one value. The first ones tell whether the sheet is a
// single column, whose first is its head, or has a title and the like above its
// table.
func (t *tabular) line(text string, number int) error {
	t.lines = append(t.lines, cell{text, number})
	switch {
	case len(t.lines) != number:
		return t.text()
	case number == 3:
		return t.column()
	}
	return nil
}

// text gives out the lines that wait as text.
func (t *tabular) text() error {
	for _, l := range t.lines {
		if err := t.sink.Paragraph(l.text); err != nil {
			return err
		}
	}
	t.lines = nil
	return nil
}

// column gives out the lines that wait as a table.
func (t *tabular) column() error {
	err := t.sink.Head([]string{t.lines[0].text})
	for _, l := range t.lines[1:] {
		if err == nil {
			err = t.sink.Row([]string{l.text}, l.number)
		}
	}
	t.lines, t.open = nil, true
	return err
}

// end gives out what waits.
func (t *tabular) end() error {
	if err := t.settle(false); err != nil {
		return err
	}
	if len(t.lines) == 2 {
		return t.column()
	}
	return t.text()
}

// words tells whether no cell holds a digit first: a head, not a row.
func words(cells []string) bool {
	for _, c := range cells {
		if c = strings.TrimSpace(c); c != "" && unicode.IsDigit(rune(c[0])) {
			return false
		}
	}
	return true
}
