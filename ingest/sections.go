package ingest

import (
	"slices"
	"strings"

	"strata/internal/tokens"
)

// heading is a title with the ones it stands under.
type heading struct {
	block  int // -1 of one that stands in the window before
	parent *heading
	path   string // names from the highest down, " > " between
	level  int
	plain  bool
}

// above tells whether below is h or stands under it.
func (h *heading) above(below *heading) bool {
	for ; below != nil; below = below.parent {
		if below == h {
			return true
		}
	}
	return h == nil
}

// section is a heading and the blocks up to the next one.
type section struct {
	head     *heading // nil before the first heading
	from, to int      // blocks, the heading's not among them
	tokens   int      // of the blocks
}

// group is what is cut into passages together: a section, or several that say
// too little by themselves.
type group struct {
	path     string
	from, to int // blocks
}

// sections puts blocks under their headings, and estimates them. open is the
// heading that the first ones stand under, nil at the start of a document.
func sections(text string, blocks []block, open *heading) []section {
	var out []section
	cur := section{head: open}
	for i := range blocks {
		b := &blocks[i]
		b.tokens = tokens.Estimate(text[b.start:b.end])
		if b.kind != title {
			if !wordless(text[b.start:b.end]) {
				cur.tokens += b.tokens
			}
			cur.to = i + 1
			continue
		}
		if cur.head != open || cur.to > cur.from {
			out = append(out, cur)
		}
		parent := cur.head
		for parent != nil && parent.level >= b.level {
			parent = parent.parent
		}
		h := &heading{block: i, parent: parent, level: b.level, plain: b.plain, path: b.name}
		if parent != nil {
			h.path = parent.path + " > " + b.name
		}
		cur = section{head: h, from: i + 1, to: i + 1}
	}
	return append(out, cur)
}

// tiny is how few tokens make a section a fragment, when there is no whole
// sentence among them either: a value, a name, a link.
const tiny = 40

// headed tells whether the section's heading is in this window.
func (s section) headed() bool { return s.head != nil && s.head.block >= 0 }

// fragment tells whether a section says nothing by itself.
func (s section) fragment(text string, blocks []block) bool {
	if !s.headed() || s.tokens >= tiny {
		return false
	}
	body := text[blocks[s.head.block].end:blocks[s.to-1].end]
	return !strings.ContainsAny(body, "。！？；") && !strings.Contains(body, ". ") && !strings.HasSuffix(strings.TrimSpace(body), ".")
}

// grouper joins sections: headings without text go to what follows them,
// fragments to their neighbours under the same heading.
type grouper struct {
	text   string
	blocks []block
	out    []group

	open     []section // not yet a group
	passed   []section // headings without text above these: their names are in the path
	tokens   int
	bare     bool // open holds nothing but headings
	fragment bool // open holds nothing but fragments of one parent
}

// groups also returns the heading that what follows the blocks stands under.
func groups(text string, blocks []block, open *heading) ([]group, *heading) {
	g := grouper{text: text, blocks: blocks}
	for _, s := range sections(text, blocks, open) {
		g.add(s)
		open = s.head
	}
	g.close()
	if open != nil {
		carried := *open
		carried.block, open = -1, &carried
	}
	return g.out, open
}

func (g *grouper) add(s section) {
	empty := s.tokens == 0
	fragment := !empty && s.fragment(g.text, g.blocks)
	switch {
	case len(g.open) == 0:
	case g.bare: // a heading without text never ends a group
		g.joinBare(s)
	case g.fragment && fragment && s.head.parent == g.open[0].head.parent && g.tokens+s.tokens <= most:
		g.open, g.tokens = append(g.open, s), g.tokens+s.tokens
		return
	default:
		g.close()
	}
	g.open = append(g.open, s)
	g.tokens += s.tokens
	g.bare, g.fragment = empty, fragment && len(g.open) == 1
}

// joinBare leaves out of what is open what need not stand before s: a line of
// dashes before the first heading, and a heading whose name is in the path of
// s. Where a later section does not stand under that one, it comes back.
func (g *grouper) joinBare(s section) {
	first := g.open[0]
	switch {
	case !first.headed():
		g.open = g.open[:0]
	case len(g.open) == 1 && first.head.plain && first.head.above(s.head):
		g.passed, g.open = append(g.passed, first), g.open[:0]
	}
	for n := len(g.passed) - 1; n >= 0 && !g.passed[n].head.above(s.head); n-- {
		g.open, g.passed = slices.Insert(g.open, 0, g.passed[n]), g.passed[:n]
	}
}

// close makes a group of what is open.
func (g *grouper) close() {
	if len(g.open) == 0 {
		return
	}
	first, last := g.open[0], g.open[len(g.open)-1]
	out := group{from: first.from, to: last.to}
	if h := first.head; h != nil {
		if out.path = h.path; h.block >= 0 && (len(g.open) > 1 || g.bare || !h.plain) {
			out.from = h.block // the headings are part of the text
		}
	}
	if len(g.open) > 1 {
		out.path = commonPath(g.open)
	}
	g.out = append(g.out, out)
	g.open, g.passed, g.tokens, g.bare, g.fragment = g.open[:0], g.passed[:0], 0, false, false
}

// commonPath is the path of what all sections stand under. Those without text
// do not count unless all are.
func commonPath(list []section) string {
	spoken := slices.DeleteFunc(slices.Clone(list), func(s section) bool { return s.tokens == 0 })
	if len(spoken) == 0 {
		spoken = list
	}
	common := spoken[0].head
	for _, s := range spoken[1:] {
		for common != nil && !common.above(s.head) {
			common = common.parent
		}
	}
	if common == nil {
		return ""
	}
	return common.path
}

// wordless tells whether a text is but blanks, dashes and the like.
func wordless(s string) bool { return strings.Trim(s, " \t\n-*_=#|>~`") == "" }
