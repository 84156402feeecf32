package extract

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Signs of a page's text that would be structure in Markdown: a fence in it
// would swallow all headings behind it. They go through Markdown as control
// characters, which are as long and mean nothing there, since a backslash
// would become part of what is searched and shown.
const (
	signs    = "#`~<>-+*=_.)["
	standIns = "\x01\x02\x03\x04\x05\x06\x0e\x0f\x10\x11\x12\x13\x14"
)

var toStandIns, toSigns, noStandIns = pairs(signs, standIns), pairs(standIns, signs), pairs(standIns, "")

// pairs replaces each character of from by the one of to in its place, if any.
func pairs(from, to string) *strings.Replacer {
	var all []string
	for i := range len(from) {
		all = append(all, from[i:i+1], to[min(i, len(to)):min(i+1, len(to))])
	}
	return strings.NewReplacer(all...)
}

// Literal puts the signs that are text back into what Sink.Markdown was given.
// No position in it changes.
func Literal(markdown string) string { return toSigns.Replace(markdown) }

// shield puts stand-ins for the signs in the texts below n. Code has fences of
// its own around it.
func shield(n *html.Node, code bool) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			if c.Data = noStandIns.Replace(c.Data); !code {
				c.Data = toStandIns.Replace(c.Data)
			}
		case html.ElementNode:
			shield(c, code || isCode[c.DataAtom])
		}
	}
}

var isCode = map[atom.Atom]bool{atom.Pre: true, atom.Code: true, atom.Kbd: true, atom.Samp: true, atom.Var: true, atom.Tt: true}
