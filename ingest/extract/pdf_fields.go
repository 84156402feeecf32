package extract

import (
	"cmp"
	"math"
	"slices"

	"github.com/ledongthuc/pdf"
)

// maxFields bounds the fields of a page.
const maxFields = 2000

// fields draws what is filled into the forms of a page, and written over it:
// each has a picture of its own, at its place on the page.
func (c *canvas) fields(page pdf.Value) {
	annotations := page.Key("Annots")
	for i := range min(annotations.Len(), maxFields) {
		a := annotations.Index(i)
		kind := a.Key("Subtype").Name()
		if kind != "Widget" && kind != "FreeText" || a.Key("F").Int64()&2 != 0 { // hidden
			continue
		}
		picture := a.Key("AP").Key("N")
		if picture.Kind() == pdf.Dict { // one for each state
			picture = picture.Key(a.Key("AS").Name())
		}
		c.endLine()
		own := len(c.lines)
		c.fresh = true
		c.drawing, c.stack = drawing{ctm: identity, stretch: 1}, nil
		c.ctm.e, c.ctm.f = a.Key("Rect").Index(0).Float64(), a.Key("Rect").Index(1).Float64()
		c.form(picture)
		c.endLine()
		c.toPlace(own)
	}
}

// toPlace puts the lines from own on behind those that they stand beside.
func (c *canvas) toPlace(own int) {
	if own == 0 || own == len(c.lines) {
		return
	}
	field := slices.Clone(c.lines[own:])
	beside := func(l textLine) float64 { return math.Abs(l.y - field[0].y) }
	nearest := slices.MinFunc(c.lines[:own], func(a, b textLine) int { return cmp.Compare(beside(a), beside(b)) })
	if beside(nearest) > field[0].size {
		return
	}
	at := 0
	for i, l := range c.lines[:own] {
		if l.y == nearest.y && l.x <= field[0].x {
			at = i + 1
		}
	}
	if at > 0 {
		c.lines = slices.Insert(c.lines[:own], at, field...)
	}
}
