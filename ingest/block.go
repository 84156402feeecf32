package ingest

import "strings"

// kind is what a block is, which decides where it may be cut.
type kind uint8

const (
	prose kind = iota // between sentences
	list              // between items
	table             // between rows, the head repeated
	code              // between lines, the fences repeated
	title             // not at all; opens a section
)

// maxTitle is the longest heading, in bytes, that is taken for one. Anything
// above would cost more in every passage's path than it tells.
const maxTitle = 200

// block is a stretch of the text. The blocks of a text follow each other
// without a gap, so whatever is cut between them, nothing is lost.
type block struct {
	kind       kind
	plain      bool // of a title: name says all that the line says
	level      int  // of a title, 1 the highest
	start, end int
	tokens     int    // estimated
	name       string // of a title
	cuts       []int  // of a list: where its items begin
}

// lineEnd returns where the line that holds i ends, its LF included.
func lineEnd(text string, i int) int {
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(text)
}

// lineStart returns where the line that holds i begins.
func lineStart(text string, i int) int { return strings.LastIndexByte(text[:i], '\n') + 1 }

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// appendProse appends the text from start to end, unless that is blank and
// there is a block before that can take it.
func appendProse(dst []block, text string, start, end int) []block {
	switch {
	case start >= end:
		return dst
	case len(dst) > 0 && blank(text[start:end]):
		dst[len(dst)-1].end = end
		return dst
	}
	return append(dst, block{kind: prose, start: start, end: end})
}

// splitTable cuts a table off the end of a paragraph: a row with a bar, below
// it a row of dashes with as many columns, and everything after it.
func splitTable(dst []block, text string, start, end int) []block {
	if strings.IndexByte(text[start:end], '|') < 0 {
		return appendProse(dst, text, start, end)
	}
	before, row := -1, start
	for row < end {
		next := min(lineEnd(text, row), end)
		if before >= 0 && delimiterRow(text[row:next]) && bars(text[before:row]) == bars(text[row:next]) && strings.IndexByte(text[before:row], '|') >= 0 {
			dst = appendProse(dst, text, start, before)
			return append(dst, block{kind: table, start: before, end: end})
		}
		before, row = row, next
	}
	return appendProse(dst, text, start, end)
}

func delimiterRow(line string) bool {
	return strings.Contains(line, "-") && strings.Trim(line, " \t\n|:-") == ""
}

// bars counts the bars between the columns of a row.
func bars(row string) int {
	row = strings.Trim(row, " \t\n")
	row = strings.TrimPrefix(row, "|")
	if !strings.HasSuffix(row, `\|`) {
		row = strings.TrimSuffix(row, "|")
	}
	return strings.Count(row, "|") - strings.Count(row, `\|`)
}
