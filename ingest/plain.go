package ingest

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// numbering is one way of numbering headings in plain text, highest first.
type numbering struct {
	pattern *regexp.Regexp
	level   int  // of a heading so numbered; below it, dots count
	label   bool // only the number is the heading: the text follows on its line
	clause  bool // the same where a sentence follows it on its line, else the whole line is the heading
	weak    bool // looks like an item of a list too
	alone   bool // only after a blank line or another heading, since lists and wrapped lines look alike
}

const hanNumber = `[〇零一二三四五六七八九十百千万两0-9０-９]+`

var numberings = []numbering{
	{pattern: regexp.MustCompile(`^第\s?` + hanNumber + `\s?[编篇卷部](分)?([\s　：:]|$)`), level: 2},
	{pattern: regexp.MustCompile(`^(?i:part|book)\s+([0-9]+|[IVXLC]+)\b`), level: 2, alone: true},
	{pattern: regexp.MustCompile(`^第\s?` + hanNumber + `\s?章`), level: 3},
	{pattern: regexp.MustCompile(`^(?i:chapter|appendix)\s+([0-9]+|[IVXLC]+|[A-Z])\b`), level: 3, alone: true},
	{pattern: regexp.MustCompile(`^附[录件]\s?[一二三四五六七八九十0-9A-Z]*([\s　：:]|$)`), level: 3},
	{pattern: regexp.MustCompile(`^第\s?` + hanNumber + `\s?节`), level: 4},
	{pattern: regexp.MustCompile(`^(?i:section)\s+[0-9]+(\.[0-9]+)*\b`), level: 4, alone: true},
	{pattern: regexp.MustCompile(`^第\s?` + hanNumber + `\s?条(之[一二三四五六七八九十]+)?([\s　：:【（(]|$)`), level: 5, label: true},
	{pattern: regexp.MustCompile(`^(?i:article)\s+[0-9]+[a-z]?\b`), level: 5, alone: true, clause: true},
	{pattern: regexp.MustCompile(`^§+\s?[0-9]+[a-z]?\b`), level: 5, alone: true, clause: true},
	{pattern: regexp.MustCompile(`^[一二三四五六七八九十]+、`), level: 6},
	{pattern: regexp.MustCompile(`^[（(][一二三四五六七八九十]+[）)]`), level: 7, alone: true, weak: true},
	{pattern: regexp.MustCompile(`^[0-9]{1,2}(\.[0-9]{1,2}){1,4}\.?[\s　]+\pL`), level: 8, alone: true},
	{pattern: regexp.MustCompile(`^[0-9]{1,2}[.、．][\s　]*\pL`), level: 8, alone: true, weak: true},
}

// numberStarts are the first characters of all numberings, looked at before
// any pattern is tried.
const numberStarts = "§第附一二三四五六七八九十（(0123456789PpBbCcAaSs"

// maxHeadingRunes is the longest line that counts as a heading in plain text.
const maxHeadingRunes = 60

// standing is what is known of where a plain text stands.
type standing uint8

const (
	textStart      standing = iota // at the start of a file: the first line may be the title
	textMiddle                     // further down in it
	paragraphAlone                 // a paragraph of a file that knows its lists, so that a bare number is no heading
)

// plainBlocks appends the blocks of a plain text from start on: headings,
// known by their numbering, and paragraphs, parted by blank lines.
func plainBlocks(out []block, text string, start int, where standing) []block {
	before := len(out)
	from, fresh := start, true // fresh: nothing but a blank line or a heading before
	for i := start; i < len(text); {
		next := lineEnd(text, i)
		line := strings.TrimSpace(text[i:next])
		switch h, ok := plainHeading(line, text, next, fresh, where == paragraphAlone, where == textStart && len(out) == before && blank(text[start:i])); {
		case line == "":
			out = appendProse(out, text, from, next)
			from, fresh = next, true
		case ok:
			out = appendProse(out, text, from, i)
			h.start, h.end = i, next
			if h.kind == title && h.plain && h.name != line { // a label: its text goes on
				at := i + strings.Index(text[i:next], h.name) + len(h.name)
				h.end = next - len(strings.TrimLeft(text[at:next], " \t　：:"))
			}
			out = append(out, h)
			from, fresh = h.end, h.end == next
		default:
			fresh = false
		}
		i = next
	}
	return appendProse(out, text, from, len(text))
}

// plainHeading tells whether a trimmed line is a heading. sure leaves out
// numbers that lists have too. first is the text's
// first line: short, without a full stop and with a blank line or a numbered
// heading below it, it is the text's title.
func plainHeading(line, text string, next int, fresh, sure, first bool) (block, bool) {
	if line == "" || len(line) > 4*maxTitle {
		return block{}, false
	}
	short := utf8.RuneCountInString(line) <= maxHeadingRunes && len(line) <= maxTitle && !endsSentence(line)
	start, _ := utf8.DecodeRuneInString(line)
	for _, n := range numberings {
		if !strings.ContainsRune(numberStarts, start) {
			break
		}
		m := n.pattern.FindString(line)
		switch {
		case m == "" || n.alone && !fresh || n.weak && sure:
			continue
		case n.label:
			return block{kind: title, level: n.level, name: strings.TrimRight(m, " \t　：:【（("), plain: true}, true
		case n.clause && clauseFollows(line[len(m):], short):
			if stop := strings.TrimPrefix(line[len(m):], "."); len(m)+len(stop) < len(line) {
				m += "."
			}
			return block{kind: title, level: n.level, name: m, plain: true}, true
		case !short:
			continue
		}
		level := n.level + strings.Count(strings.TrimRight(m[:len(m)-1], ". 　"), ".")
		return block{kind: title, level: level, name: line, plain: true}, true
	}
	if first && short && next < len(text) && !blank(text[next:]) {
		below := strings.TrimSpace(text[next:lineEnd(text, next)])
		if below == "" || numbered(below) {
			return block{kind: title, level: 1, name: line, plain: true}, true
		}
	}
	return block{}, false
}

// clauseFollows tells whether what stands behind the number of an article is
// its text: parted from it by a stop, a colon or a paragraph's number, and
// more than a name.
func clauseFollows(rest string, short bool) bool {
	trimmed := strings.TrimLeft(rest, " 　")
	return !short && trimmed != "" && strings.ContainsRune(".:：—–-(（", []rune(trimmed)[0])
}

func numbered(line string) bool {
	for _, n := range numberings {
		if n.level <= 5 && len(line) <= 4*maxTitle && n.pattern.MatchString(line) {
			return true
		}
	}
	return false
}

// endsSentence tells whether a line ends like a sentence, which headings
// do not.
func endsSentence(line string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(line, "”’\"')）」』 "))
	return strings.ContainsRune("。！？；，、：.!?;,:", r)
}
