package extract

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
)

// surveyed is how many pages are looked at, from all over the file, to learn
// what its body and its running heads look like.
const surveyed = 40

// look is what the pages of a file have in common.
type look struct {
	body    float64         // size of most letters, points
	sizes   []float64       // of headings, the largest first
	running map[string]bool // first and last lines of most pages, without their numbers
}

func survey(pages []pdf.Page, fonts fontCache) look {
	l := look{running: map[string]bool{}}
	letters, heads, seen, n := map[float64]int{}, map[float64]int{}, map[string]int{}, 0
	step := max(1, len(pages)/surveyed)
	for i := 0; i < len(pages); i += step {
		lines, _ := linesOf(pages[i], fonts)
		n++
		for _, line := range lines {
			letters[rounded(line.size)] += utf8.RuneCountInString(line.text)
		}
		for key := range edges(lines) {
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
func edges(lines []textLine) map[string]bool {
	out := map[string]bool{}
	for i, line := range lines {
		if i < 2 || i >= len(lines)-2 {
			out[edgeKey(line.text)] = true
		}
	}
	return out
}

var digits = regexp.MustCompile(`[0-9０-９]+|\b[ivxlc]+\b`)

// edgeKey is a line without the numbers in it, which differ from page to page.
func edgeKey(text string) string { return digits.ReplaceAllString(oneLine(text), "#") }

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
	sink    Sink
	look    look
	text    strings.Builder // the paragraph
	last    textLine        // of it
	right   float64         // where the page's lines end
	heading string          // one that may go on
	level   int
}

func (p *pageReader) page(lines []textLine) error {
	p.right = 0
	for _, line := range lines {
		if rounded(line.size) == p.look.body {
			p.right = max(p.right, line.end)
		}
	}
	kept := 0
	for i, line := range lines {
		if (i < 2 || i >= len(lines)-2) && p.look.running[edgeKey(line.text)] {
			continue
		}
		fresh := kept == 0
		kept++
		if err := p.line(line, fresh); err != nil {
			return err
		}
	}
	return nil
}

func (p *pageReader) line(line textLine, fresh bool) error {
	if level := p.look.level(line); level > 0 {
		if err := p.endParagraph(); err != nil {
			return err
		}
		if p.heading != "" && p.level == level && p.last.spaceBelow > 0 && p.last.spaceBelow < 2*line.size && len(p.heading) < 150 {
			p.heading = joinLines(p.heading, line.text)
		} else {
			if err := p.endHeading(); err != nil {
				return err
			}
			p.heading, p.level = line.text, level
		}
		p.last = line
		return nil
	}
	if err := p.endHeading(); err != nil {
		return err
	}
	switch {
	case p.text.Len() == 0:
	case p.breaks(line, fresh):
		if err := p.endParagraph(); err != nil {
			return err
		}
	case p.short() || opens.MatchString(line.text):
		p.text.WriteByte('\n')
	default:
		joined := joinLines(p.text.String(), line.text)
		p.text.Reset()
		p.text.WriteString(joined[:len(joined)-len(line.text)])
	}
	p.text.WriteString(line.text)
	p.last = line
	return nil
}

// breaks tells whether a paragraph ends before line. At the top of a page the
// last line of the page before decides.
func (p *pageReader) breaks(line textLine, fresh bool) bool {
	switch gap := p.last.spaceBelow; {
	case p.text.Len() > 1<<16:
		return true
	case fresh:
		return endsLikeSentence(p.last.text)
	case gap < 0: // further up: another column
		return endsLikeSentence(p.last.text)
	default:
		return gap > 1.9*max(p.last.size, line.size)
	}
}

// short tells whether the last line stops well before the others do.
func (p *pageReader) short() bool { return p.last.end < p.right-3*p.last.size }

// opens matches what begins a line of its own.
var opens = regexp.MustCompile(`^(第\s?[〇零一二三四五六七八九十百千0-9]+\s?[编章节条]|[一二三四五六七八九十]+、|[（(]?[0-9a-z一二三四五六七八九十]{1,3}[)）.、．]\s?\S|[•·▪◦‣–-]\s|§|(Article|Section|Chapter|Clause)\s+[0-9])`)

func endsLikeSentence(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s, "”’\"')）」』 "))
	return strings.ContainsRune("。！？；：.!?:;", r)
}

// joinLines puts two lines together as they were before the text was set. The
// second one is at the end of what it returns, unchanged.
func joinLines(a, b string) string {
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	switch {
	case wide(last) || wide(first):
		return a + b
	case last == '-' && unicode.IsLower(first) && len(a) > 1 && unicode.IsLetter(rune(a[len(a)-2])):
		return a[:len(a)-1] + b
	}
	return a + " " + b
}

func (p *pageReader) endParagraph() error {
	text := p.text.String()
	p.text.Reset()
	if text == "" {
		return nil
	}
	return p.sink.Paragraph(text)
}

func (p *pageReader) endHeading() error {
	name := p.heading
	p.heading = ""
	if name == "" {
		return nil
	}
	return p.sink.Heading(p.level, oneLine(name))
}

func (p *pageReader) end() error {
	if err := p.endHeading(); err != nil {
		return err
	}
	return p.endParagraph()
}
