package cli

import (
	"io"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"
)

// table aligns columns on a terminal, where a Chinese character takes two
// cells.
type table struct{ rows [][]string }

// maxCell is the widest that a cell gets; what is longer is cut.
const maxCell = 72

func newTable(header ...string) *table {
	return &table{rows: [][]string{header}}
}

func (t *table) add(cells ...string) {
	for i, c := range cells {
		cells[i] = shorten(strings.Join(strings.Fields(plain(c)), " "), maxCell)
	}
	t.rows = append(t.rows, cells)
}

func (t *table) write(w io.Writer) error {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(c))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		line := ""
		for i, c := range row {
			line += c + strings.Repeat(" ", widths[i]-columns(c)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// columns is how many cells of a terminal text takes.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// shorten cuts text to limit cells.
func shorten(text string, limit int) string {
	if columns(text) <= limit {
		return text
	}
	n := 1
	for i, r := range text {
		if n += runeColumns(r); n > limit {
			return text[:i] + "…"
		}
	}
	return text
}

// plain takes out what a terminal would obey: what is shown was written by
// users, documents and models. Line breaks and tabs stay.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		// Marks that turn the direction of text can hide what is there.
		case unicode.IsControl(r), r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
			return '\uFFFD'
		}
		return r
	}, text)
}

// when shows a time in the zone of whoever looks, "" for none.
func when(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("2006-01-02 15:04")
}

// beside puts text beside a margin.
func beside(text, margin string) string {
	return margin + strings.ReplaceAll(strings.TrimRight(plain(text), "\n"), "\n", "\n"+margin)
}
