package extract

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxSpan bounds over how many rows or columns one cell is repeated.
const maxSpan = 50

// tidy makes a table one that Markdown can hold: each cell a line of text. One
// that only places what is on the page, with tables or headings in it, becomes
// text below each other.
func tidy(t *html.Node) {
	if laysOut(t) {
		flow(t)
		return
	}
	each(t, func(n *html.Node) bool {
		if n.DataAtom != atom.Td && n.DataAtom != atom.Th {
			return true
		}
		text := oneLine(allText(n))
		for n.FirstChild != nil {
			n.RemoveChild(n.FirstChild)
		}
		n.AppendChild(&html.Node{Type: html.TextNode, Data: strings.ReplaceAll(text, "|", `\|`)})
		for i, a := range n.Attr {
			if a.Key != "colspan" && a.Key != "rowspan" {
				continue
			}
			if span, err := strconv.Atoi(a.Val); err != nil || span < 1 || span > maxSpan {
				n.Attr[i].Val = "1"
			}
		}
		return false
	})
}

func laysOut(t *html.Node) bool {
	for _, a := range t.Attr {
		if a.Key == "role" && (a.Val == "presentation" || a.Val == "none") {
			return true
		}
	}
	found, cells := false, 0
	each(t, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Td, atom.Th:
			cells++
		case atom.Table, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			found = true
		}
		return !found
	})
	return found || cells == 1 // a frame
}

// flow takes the parts of a table apart, but not those of tables in it.
func flow(t *html.Node) {
	rename(t, atom.Div)
	each(t, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Table:
			return false
		case atom.Caption, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th:
			rename(n, atom.Div)
		case atom.Colgroup, atom.Col:
			rename(n, atom.Span)
		}
		return true
	})
}

// each calls visit for the elements below n, and for what is below one if that
// returned true.
func each(n *html.Node, visit func(*html.Node) bool) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && visit(c) {
			each(c, visit)
		}
	}
}

func rename(n *html.Node, to atom.Atom) { n.Data, n.DataAtom, n.Attr = to.String(), to, nil }

// allText is the text in an element, with blanks between what stands on lines
// of its own.
func allText(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch c.Type {
			case html.TextNode:
				b.WriteString(c.Data)
			case html.ElementNode:
				apart := !inline[c.DataAtom]
				if apart {
					b.WriteByte(' ')
				}
				if walk(c); apart {
					b.WriteByte(' ')
				}
			}
		}
	}
	walk(n)
	return b.String()
}

// inline are the elements that stand within a line.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Cite: true, atom.Code: true, atom.Del: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Ins: true,
	atom.Kbd: true, atom.Mark: true, atom.Q: true, atom.S: true, atom.Small: true, atom.Span: true, atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Time: true, atom.U: true,
	atom.Wbr: true,
}
