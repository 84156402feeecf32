package extract

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
)

// textLine is one line of a page.
type textLine struct {
	text       string
	x, end, y  float64 // points, y from the bottom
	size       float64 // of its letters, points
	spaceBelow float64 // to the next line of the page; 0 of the last one
}

// matrix is an affine map: x' = a*x + c*y + e, y' = b*x + d*y + f.
type matrix struct{ a, b, c, d, e, f float64 }

var identity = matrix{a: 1, d: 1}

// after returns the map that does m first and n then.
func (m matrix) after(n matrix) matrix {
	return matrix{
		m.a*n.a + m.b*n.c, m.a*n.b + m.b*n.d, m.c*n.a + m.d*n.c, m.c*n.b + m.d*n.d,
		m.e*n.a + m.f*n.c + n.e, m.e*n.b + m.f*n.d + n.f,
	}
}

// drawing is what the operators of a page change.
type drawing struct {
	ctm                                      matrix
	font                                     *font
	size, leading, spacing, wordGap, stretch float64
	rise                                     float64
}

// canvas takes down the text that a page draws.
type canvas struct {
	drawing
	stack     []drawing
	text      matrix // where the next letter goes
	lineStart matrix
	fonts     fontCache
	resources pdf.Value
	depth     int // of forms in each other
	forms     int // drawn
	operators int
	lines     []textLine
	buf       strings.Builder // of the last line
	shown     map[string]place
	fresh     bool // what comes next begins a line
	drew      bool // a picture, or a form that is not empty
}

// place is where a text was drawn last.
type place struct{ x, y float64 }

// maxShown bounds of how many texts of a page the places are known.
const maxShown = 10_000

// Bounds of one page. Forms beyond theirs are left out: a few that draw each
// other would else be drawn a million times.
const (
	maxOperators = 2_000_000
	maxForms     = 5_000
)

// linesOf returns the lines of text of a page in the order in which they are
// drawn, and whether it draws what may hold more: a picture or a form. What
// belongs to fields is not looked at for that: empty ones have frames. With an
// error comes what was before it.
func linesOf(page pdf.Page, fonts fontCache) (lines []textLine, drew bool, err error) {
	c := &canvas{drawing: drawing{ctm: identity, stretch: 1}, text: identity, lineStart: identity, fonts: fonts}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: a page: %.200v", ErrDamaged, v)
		}
		c.endLine()
		lines, drew = c.lines, c.drew
		for i := range len(lines) - 1 {
			lines[i].spaceBelow = lines[i].y - lines[i+1].y
		}
	}()
	c.resources = inherited(page.V, "Resources")
	c.run(page.V.Key("Contents"))
	pictures := c.drew
	c.fields(page.V)
	c.drew = pictures
	return nil, false, nil
}

// inherited is what a page says, or one of those above it. Above may be a loop.
func inherited(page pdf.Value, key string) pdf.Value {
	for range 64 {
		if v := page.Key(key); !v.IsNull() {
			return v
		}
		if page = page.Key("Parent"); page.IsNull() {
			break
		}
	}
	return pdf.Value{}
}

func (c *canvas) run(contents pdf.Value) {
	if k := contents.Kind(); k != pdf.Stream && k != pdf.Array {
		return
	}
	pdf.Interpret(contents, func(stack *pdf.Stack, op string) {
		n := min(stack.Len(), 16)
		args := make([]pdf.Value, n)
		for i := n - 1; i >= 0; i-- {
			args[i] = stack.Pop()
		}
		for stack.Len() > 0 {
			stack.Pop()
		}
		if c.operators++; c.operators > maxOperators {
			panic("more than two million operators")
		}
		c.operator(op, args)
	})
}

// operator carries out what has to do with text. Operands that are missing
// count as none.
func (c *canvas) operator(op string, args []pdf.Value) {
	num := func(i int) float64 {
		if i < len(args) {
			return args[i].Float64()
		}
		return 0
	}
	switch op {
	case "q":
		if len(c.stack) < 256 {
			c.stack = append(c.stack, c.drawing)
		}
	case "Q":
		if n := len(c.stack); n > 0 {
			c.drawing, c.stack = c.stack[n-1], c.stack[:n-1]
		}
	case "cm":
		c.ctm = matrix{num(0), num(1), num(2), num(3), num(4), num(5)}.after(c.ctm)
	case "Do":
		if len(args) == 1 {
			c.form(c.resources.Key("XObject").Key(args[0].Name()))
		}
	case "BI":
		c.drew = true
	case "f", "F", "f*", "B", "B*", "b", "b*", "S", "s", "sh":
		c.drew = c.drew || c.depth > 0 // lines of the page itself are a frame or a rule
	case "BT":
		c.text, c.lineStart = identity, identity
	case "Tf":
		if len(args) == 2 {
			c.font, c.size = c.fonts.get(c.resources.Key("Font").Key(args[0].Name())), num(1)
		}
	case "Tc":
		c.spacing = num(0)
	case "Tw":
		c.wordGap = num(0)
	case "Tz":
		c.stretch = num(0) / 100
	case "Ts":
		c.rise = num(0)
	case "TL":
		c.leading = num(0)
	case "Tm":
		c.lineStart = matrix{num(0), num(1), num(2), num(3), num(4), num(5)}
		c.text = c.lineStart
	case "Td", "TD":
		if op == "TD" {
			c.leading = -num(1)
		}
		c.move(num(0), num(1))
	case "T*":
		c.move(0, -c.leading)
	case "Tj", "'", `"`:
		if op != "Tj" {
			c.move(0, -c.leading)
		}
		if op == `"` {
			c.wordGap, c.spacing = num(0), num(1)
		}
		if len(args) > 0 {
			c.show(args[len(args)-1].RawString())
		}
	case "TJ":
		if len(args) == 1 {
			c.showSpaced(args[0])
		}
	}
}

func (c *canvas) move(x, y float64) {
	c.lineStart = matrix{1, 0, 0, 1, x, y}.after(c.lineStart)
	c.text = c.lineStart
}

// form draws what a page keeps for use on several pages, or in several places.
func (c *canvas) form(form pdf.Value) {
	if form.Kind() == pdf.Stream && form.Key("Subtype").Name() == "Image" {
		c.drew = true
	}
	if form.Kind() != pdf.Stream || form.Key("Subtype").Name() != "Form" || c.depth > 4 || c.forms >= maxForms {
		return
	}
	c.forms++
	saved, resources, stack := c.drawing, c.resources, c.stack
	if own := form.Key("Resources"); own.Kind() == pdf.Dict {
		c.resources = own
	}
	if m := form.Key("Matrix"); m.Len() == 6 {
		at := func(i int) float64 { return m.Index(i).Float64() }
		c.ctm = matrix{at(0), at(1), at(2), at(3), at(4), at(5)}.after(c.ctm)
	}
	c.depth, c.stack = c.depth+1, nil
	c.run(form)
	c.drawing, c.resources, c.stack, c.depth = saved, resources, stack, c.depth-1
}

func (c *canvas) showSpaced(parts pdf.Value) {
	for i := range parts.Len() {
		if part := parts.Index(i); part.Kind() == pdf.String {
			c.show(part.RawString())
		} else {
			c.advance(-part.Float64() / 1000 * c.size * c.stretch)
		}
	}
}

func (c *canvas) advance(x float64) { c.text = matrix{1, 0, 0, 1, x, 0}.after(c.text) }

// show draws a string and takes it down.
func (c *canvas) show(raw string) {
	if c.font == nil || raw == "" {
		return
	}
	text, width, codes, blanks := c.font.decode(raw)
	at := matrix{1, 0, 0, 1, 0, c.rise}.after(c.text).after(c.ctm)
	c.advance((width/1000*c.size + float64(codes)*c.spacing + float64(blanks)*c.wordGap) * c.stretch)
	end := c.text.after(c.ctm)
	size := math.Abs(c.size) * math.Hypot(at.c, at.d)
	if size == 0 || math.IsNaN(size) || math.IsInf(size, 0) {
		return
	}
	if !c.again(text, place{at.e, at.f}, size) {
		c.put(text, at.e, end.e, at.f, size)
	}
}

// again tells whether a text was drawn here just now: programs make letters
// bold, or give them a shadow, by drawing them twice. Of single letters that
// is not sure.
func (c *canvas) again(text string, at place, size float64) bool {
	if utf8.RuneCountInString(text) < 2 {
		return false
	}
	last, ok := c.shown[text]
	if ok && math.Abs(last.x-at.x) < 0.1*size && math.Abs(last.y-at.y) < 0.1*size {
		return true
	}
	if c.shown == nil || len(c.shown) >= maxShown {
		c.shown = map[string]place{}
	}
	c.shown[text] = at
	return false
}

// put appends text to the line that it goes on with, or begins a new one.
func (c *canvas) put(text string, x, end, y, size float64) {
	n := len(c.lines)
	if n == 0 || c.fresh || math.Abs(c.lines[n-1].y-y) > 0.4*size && !raised(c.lines[n-1], y, size) || x < c.lines[n-1].end-2*size || c.buf.Len() > maxCell {
		c.endLine()
		c.lines, c.fresh = append(c.lines, textLine{x: x, y: y, size: size}), false
		n = len(c.lines)
	} else if gap := x - c.lines[n-1].end; c.buf.Len() > 0 && gap > 0.15*size {
		c.blank(gap, size, text)
	} else if raised(c.lines[n-1], y, size) && digitsMeet(c.buf.String(), text) {
		c.buf.WriteByte('^') // else 10 and 6 became 106
	}
	c.buf.WriteString(text)
	l := &c.lines[n-1]
	l.end = max(l.end, end, x)
	l.size = max(l.size, size)
}

// raised tells whether small letters stand above the foot of a line, as in a
// power or as the number of a footnote.
func raised(l textLine, y, size float64) bool {
	return size < 0.85*l.size && y > l.y+0.15*l.size && y < l.y+0.6*l.size
}

// digitsMeet tells whether a text ends and the next one begins with a digit.
func digitsMeet(text, next string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	first, _ := utf8.DecodeRuneInString(next)
	return unicode.IsDigit(last) && unicode.IsDigit(first)
}

// blank puts a space where letters stand apart. Chinese is often set with
// letters apart, so it takes more there.
func (c *canvas) blank(gap, size float64, next string) {
	last, _ := utf8.DecodeLastRuneInString(c.buf.String())
	first, _ := utf8.DecodeRuneInString(next)
	switch {
	case unicode.IsSpace(last) || unicode.IsSpace(first):
	case gap > 2*size:
		c.buf.WriteString("  ")
	case gap > size || !wide(last) || !wide(first):
		c.buf.WriteByte(' ')
	}
}

func (c *canvas) endLine() {
	if n := len(c.lines); n > 0 && c.lines[n-1].text == "" {
		text := strings.TrimSpace(strings.Map(printable, c.buf.String()))
		if c.lines[n-1].text = text; text == "" {
			c.lines = c.lines[:n-1]
		}
	}
	c.buf.Reset()
}

// printable drops what cannot be shown and turns white space into blanks.
func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case r == utf8.RuneError, unicode.IsControl(r), r == '\u00ad', r >= 0xE000 && r <= 0xF8FF:
		return -1
	}
	return r
}

// wide tells whether a letter is written without blanks around it.
func wide(r rune) bool { return r >= 0x2E80 }
