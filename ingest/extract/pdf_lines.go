package extract

import (
	"cmp"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/width"
)

// surveyed is how many pages are looked at, from all over the file, to learn
// what its body and its running heads look like.
const surveyed = 40

// look is what the pages of a file have in common.
type look struct {
	body    float64         // size of most letters, points
	sizes   []float64       // of headings, the largest first
	running map[string]bool // first and last lines of most pages, with the page's number taken out
}

func survey(pages []pdf.Page, fonts fontCache) look {
	l := look{running: map[string]bool{}}
	letters, heads, seen, n := map[float64]int{}, map[float64]int{}, map[string]int{}, 0
	step := max(1, len(pages)/surveyed)
	for i := 0; i < len(pages); i += step {
		lines, _, _ := linesOf(pages[i], fonts)
		n++
		for _, line := range lines {
			letters[rounded(line.size)] += utf8.RuneCountInString(line.text)
		}
		for key := range edges(lines, i+1) {
			seen[key]++
		}
	}
	for size, count := range letters {
		if count > letters[l.body] || count == letters[l.body] && size < l.body {
			l.body = size
		}
	}
	for key, count := range seen {
		if n >= 3 && 2*count > n {
			l.running[key] = true
		}
	}
	for size, count := range letters {
		if size >= 1.15*l.body && l.body > 0 {
			heads[size] = count
		}
	}
	for size := range heads {
		l.sizes = append(l.sizes, size)
	}
	slices.SortFunc(l.sizes, func(a, b float64) int { return cmp.Compare(b, a) })
	return l
}

func rounded(size float64) float64 { return math.Round(size*2) / 2 }

// edges returns the keys of the first two and the last two lines of a page.
func edges(lines []textLine, page int) map[string]bool {
	out := map[string]bool{}
	for i, line := range lines {
		if i < 2 || i >= len(lines)-2 {
			for _, key := range edgeKeys(line.text, page) {
				out[key] = true
			}
		}
	}
	return out
}

// isRunning tells whether a line is one of those that stand on most pages.
func (l look) isRunning(line textLine, page int) bool {
	return slices.ContainsFunc(edgeKeys(line.text, page), func(key string) bool { return l.running[key] })
}

// leftOut tells whether line i of a page is no text of it.
func (l look) leftOut(lines []textLine, i, page int) bool {
	return (i < 2 || i >= len(lines)-2) && l.isRunning(lines[i], page)
}

// onlyRunning tells a page of which no line is left: scanners stamp numbers too.
func (l look) onlyRunning(lines []textLine, page int) bool {
	for i := range lines {
		if !l.leftOut(lines, i, page) {
			return false
		}
	}
	return true
}

var digits = regexp.MustCompile(`[0-9０-９]+|\b[ivxlc]+\b`)

// edgeKeys are a line, and the line with one of its numbers as how far it is
// from the page's, in some or all of the places where it stands: of a number
// that counts pages that is the same on all of them. Other numbers differ
// because the lines say something else.
func edgeKeys(text string, page int) []string {
	text = oneLine(text)
	keys := []string{text}
	found := digits.FindAllStringIndex(text, 5)
	for chosen := 1; chosen < 1<<len(found); chosen++ {
		var b strings.Builder
		number, from := -1, 0
		for i, at := range found {
			if chosen&(1<<i) == 0 {
				continue
			}
			n := pageNumber(text[at[0]:at[1]])
			if n < 0 || number >= 0 && n != number {
				number = -1
				break
			}
			b.WriteString(text[from:at[0]] + "#" + strconv.Itoa(n-page) + "#")
			number, from = n, at[1]
		}
		if number >= 0 {
			keys = append(keys, b.String()+text[from:])
		}
	}
	return keys
}

// pageNumber reads a number in digits or in small Roman ones, -1 if it is none
// of a page.
func pageNumber(s string) int {
	s = width.Narrow.String(s)
	if n, err := strconv.Atoi(s); err == nil && n <= maxPages {
		return n
	}
	for n := 1; n <= 200; n++ {
		if strings.ToLower(roman(n)) == s {
			return n
		}
	}
	return -1
}

// level is the level of a heading of a size, 0 for text.
func (l look) level(line textLine) int {
	if utf8.RuneCountInString(line.text) > 100 || !strings.ContainsFunc(line.text, unicode.IsLetter) {
		return 0
	}
	for i, size := range l.sizes {
		if rounded(line.size) >= size {
			return min(i+1, 4)
		}
	}
	return 0
}

// pageReader puts lines together. A paragraph may go on over pages.
type pageReader struct {
	sink        Sink
	look        look
	next        int    // page that begins with the next line; 0 = none
	text        []byte // the paragraph
	turns       []Turn // in it
	last        textLine
	lastShort   bool    // last stops well before the other lines of its page do
	left, right float64 // where the page's lines begin and end
	reach       []reach
	heading     string // one that may go on
	level       int
}

func (p *pageReader) page(n int, lines []textLine) error {
	p.next = n
	p.left, p.right, p.reach = math.Inf(1), 0, p.reach[:0]
	for _, line := range lines {
		if rounded(line.size) == p.look.body {
			p.left, p.right = min(p.left, line.x), max(p.right, line.end)
			p.reach = append(p.reach, reach{line.x, line.end})
		}
	}
	slices.SortFunc(p.reach, func(a, b reach) int { return cmp.Compare(a.x, b.x) })
	for i := 1; i < len(p.reach); i++ {
		p.reach[i].end = max(p.reach[i].end, p.reach[i-1].end)
	}
	fresh := true
	for i, line := range lines {
		if p.look.leftOut(lines, i, n) {
			continue
		}
		if err := p.line(line, fresh); err != nil {
			return err
		}
		fresh = false
	}
	return nil
}

// reach is how far the lines go that begin at x or before.
type reach struct{ x, end float64 }

// edge is where the lines end that a line stands among: those of a column
// further right begin behind it and do not count.
func (p *pageReader) edge(line textLine) float64 {
	n, _ := slices.BinarySearchFunc(p.reach, line.end, func(r reach, end float64) int { return cmp.Compare(r.x, end) })
	if n == 0 {
		return p.right
	}
	return p.reach[n-1].end
}

func (p *pageReader) line(line textLine, fresh bool) (err error) {
	if level := p.look.level(line); level > 0 {
		err = p.title(line, level)
	} else if err = p.endHeading(); err == nil {
		err = p.prose(line, fresh)
	}
	p.last, p.lastShort = line, line.end < p.edge(line)-3*line.size
	return err
}

func (p *pageReader) title(line textLine, level int) error {
	if err := p.endParagraph(); err != nil {
		return err
	}
	if p.heading != "" && p.level == level && p.headingGoesOn(line) {
		drop, between := seam([]byte(p.heading), line.text)
		p.heading = p.heading[:len(p.heading)-drop] + between + line.text
		return nil
	}
	if err := p.endHeading(); err != nil {
		return err
	}
	p.turn()
	p.heading, p.level = line.text, level
	return nil
}

// headingGoesOn tells whether a line is more of the heading above it: near it,
// and its first word had no room there.
func (p *pageReader) headingGoesOn(line textLine) bool {
	if p.last.spaceBelow <= 0 || p.last.spaceBelow >= 2*line.size || len(p.heading) >= 150 {
		return false
	}
	word, _, _ := strings.Cut(line.text, " ")
	needs := float64(utf8.RuneCountInString(word)) * line.size / 2
	if r, _ := utf8.DecodeRuneInString(word); wide(r) { // one letter is enough
		needs = line.size
	}
	return p.right == 0 || p.last.end-p.last.x+needs > 0.8*(p.right-p.left)
}

func (p *pageReader) prose(line textLine, fresh bool) error {
	switch {
	case len(p.text) == 0:
	case p.breaks(line, fresh):
		if err := p.endParagraph(); err != nil {
			return err
		}
	case p.lastShort || opens.MatchString(line.text) || parted(line.text) || parted(p.last.text):
		p.text = append(p.text, '\n')
	default:
		drop, between := seam(p.text, line.text)
		p.text = append(p.text[:len(p.text)-drop], between...)
	}
	p.turn()
	p.text = append(p.text, line.text...)
	return nil
}

// parted tells whether a line is of several columns, as a table's row is.
func parted(text string) bool { return strings.Contains(text, "  ") }

// turn tells that the next page begins, now that its first line is there.
func (p *pageReader) turn() {
	switch {
	case p.next == 0:
	case len(p.text) == 0:
		p.sink.Page("page", p.next)
	default:
		p.turns = append(p.turns, Turn{len(p.text), p.next})
	}
	p.next = 0
}

// breaks tells whether a paragraph ends before line. At the top of a page the
// last line of the page before decides.
func (p *pageReader) breaks(line textLine, fresh bool) bool {
	switch gap := p.last.spaceBelow; {
	case len(p.text) > 1<<16:
		return true
	case fresh:
		return endsLikeSentence(p.last.text)
	case gap < 0: // further up: another column
		return endsLikeSentence(p.last.text)
	default:
		return gap > 1.9*max(p.last.size, line.size)
	}
}

// opens matches what begins a line of its own.
var opens = regexp.MustCompile(`^(第\s?[〇零一二三四五六七八九十百千0-9]+\s?[编章节条]|[一二三四五六七八九十]+、|[（(]?[0-9a-z一二三四五六七八九十]{1,3}[)）.、．]\s?\S|[•·▪◦‣–-]\s|§|(Article|Section|Chapter|Clause)\s+[0-9])`)

func endsLikeSentence(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s, "”’\"')）」』 "))
	return strings.ContainsRune("。！？；：.!?:;", r)
}

// seam tells how a line is put to the text before it as it was before that was
// set: how many bytes of the text go, and what comes between.
func seam(text []byte, line string) (drop int, between string) {
	last, n := utf8.DecodeLastRune(text)
	first, _ := utf8.DecodeRuneInString(line)
	switch {
	case wide(last) || wide(first):
		return 0, ""
	case last == '-' && unicode.IsLower(first):
		if before, _ := utf8.DecodeLastRune(text[:len(text)-n]); unicode.IsLetter(before) {
			return n, ""
		}
	}
	return 0, " "
}

func (p *pageReader) endParagraph() error {
	if len(p.text) == 0 {
		return nil
	}
	err := p.sink.Paragraph(string(p.text), p.turns...)
	p.text, p.turns = p.text[:0], p.turns[:0]
	return err
}

func (p *pageReader) endHeading() error {
	name := p.heading
	p.heading = ""
	if name == "" {
		return nil
	}
	return p.sink.Heading(p.level, oneLine(name))
}

func (p *pageReader) end() error { return errors.Join(p.endHeading(), p.endParagraph()) }
