package intent

import (
	"maps"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// mask is a set of cues.
type mask [2]uint64

func (m *mask) add(c cue)        { m[c>>6] |= 1 << (c & 63) }
func (m *mask) merge(o mask)     { m[0] |= o[0]; m[1] |= o[1] }
func (m *mask) drop(o mask)      { m[0] &^= o[0]; m[1] &^= o[1] }
func (m mask) has(c cue) bool    { return m[c>>6]&(1<<(c&63)) != 0 }
func (m mask) meets(o mask) bool { return m[0]&o[0]|m[1]&o[1] != 0 }
func (m mask) and(o mask) mask   { return mask{m[0] & o[0], m[1] & o[1]} }

// each names what is in the set, in order.
func (m mask) each(do func(int)) {
	for half, bitsOf := range m {
		for ; bitsOf != 0; bitsOf &= bitsOf - 1 {
			do(half*64 + bits.TrailingZeros64(bitsOf))
		}
	}
}

func (m mask) empty() bool { return m[0]|m[1] == 0 }

// phrases is a tree of words by bytes. A walk begins where a word begins and
// keeps the longest phrase that ends where a word ends, so one pass over a
// text finds everything without going back.
type phrases struct {
	nodes []phraseNode
	edges []phraseEdge
	ascii [utf8.RuneSelf]uint32 // the node after a first letter, 0 for none
	han   []uint32              // the node after a first ideograph, from U+4E00 on
}

type phraseNode struct {
	from, to uint32 // edges
	cues     mask   // of the phrase that ends here
	open     bool   // the word may go on: the phrase was written with *
}

type phraseEdge struct {
	b    byte
	node uint32
}

// entry is a phrase while the tree is built.
type entry struct {
	text string
	cues mask
	open bool
}

// compile builds the tree of the tables. Phrases are separated by |; a
// trailing * takes any ending, # stands for a number, a plural s is implied.
func compile(tables ...[]words) *phrases {
	found := map[string]entry{}
	for _, table := range tables {
		for _, w := range table {
			for _, text := range strings.Split(w.phrases, "|") {
				text, open := strings.CutSuffix(text, "*")
				e := found[text]
				e.text, e.open = text, e.open || open
				e.cues.add(w.cue)
				found[text] = e
			}
		}
	}
	all := slices.SortedFunc(maps.Values(found), func(a, b entry) int { return strings.Compare(a.text, b.text) })
	p := &phrases{han: make([]uint32, lastIdeograph-firstIdeograph+1)}
	p.lay(all, 0)
	p.index(0, nil)
	return p
}

// lay appends the node of the sorted entries, which share their first depth
// bytes, with what is below it, and returns its number.
func (p *phrases) lay(all []entry, depth int) uint32 {
	id := uint32(len(p.nodes))
	p.nodes = append(p.nodes, phraseNode{})
	if len(all[0].text) == depth {
		p.nodes[id].cues, p.nodes[id].open = all[0].cues, all[0].open
		all = all[1:]
	}
	var edges []phraseEdge
	for len(all) > 0 {
		b, n := all[0].text[depth], 1
		for n < len(all) && all[n].text[depth] == b {
			n++
		}
		edges = append(edges, phraseEdge{b, p.lay(all[:n], depth+1)})
		all = all[n:]
	}
	p.nodes[id].from = uint32(len(p.edges))
	p.edges = append(p.edges, edges...)
	p.nodes[id].to = uint32(len(p.edges))
	return id
}

// index notes the nodes after each first character, from a node that the bytes
// of prefix lead to.
func (p *phrases) index(node uint32, prefix []byte) {
	for _, e := range p.edges[p.nodes[node].from:p.nodes[node].to] {
		text := append(prefix, e.b)
		ru, _ := utf8.DecodeRune(text)
		switch {
		case ru < utf8.RuneSelf:
			p.ascii[ru] = e.node
		case firstIdeograph <= ru && ru <= lastIdeograph:
			p.han[ru-firstIdeograph] = e.node
		case len(text) < 3:
			p.index(e.node, text)
		}
	}
}

// enter returns the node after the first character at b[i], and its length.
func (p *phrases) enter(b []byte, i int) (node uint32, length int) {
	if b[i] < utf8.RuneSelf {
		return p.ascii[b[i]], 1
	}
	if i+2 >= len(b) || b[i]&0xF0 != 0xE0 {
		return 0, 0
	}
	ru := rune(b[i]&0x0F)<<12 | rune(b[i+1]&0x3F)<<6 | rune(b[i+2]&0x3F)
	if ru < firstIdeograph || ru > lastIdeograph {
		return 0, 0
	}
	return p.han[ru-firstIdeograph], 3
}

// at returns the longest phrase that begins at b[i] and its length in bytes, 0
// if there is none.
func (p *phrases) at(b []byte, i int) (mask, int) {
	var found mask
	length := 0
	node, first := p.enter(b, i)
	for j := i + first; node != 0; j++ {
		n := &p.nodes[node]
		if !n.cues.empty() {
			if end := wordEnd(b, j, n.open); end > 0 {
				found, length = n.cues, end-i
			}
		}
		if j == len(b) {
			break
		}
		node = p.child(n, b[j])
	}
	return found, length
}

func (p *phrases) child(n *phraseNode, b byte) uint32 {
	lo, hi := n.from, n.to
	for hi-lo > 6 {
		mid := (lo + hi) / 2
		if p.edges[mid].b <= b {
			lo = mid
		} else {
			hi = mid
		}
	}
	for ; lo < hi; lo++ {
		if p.edges[lo].b == b {
			return p.edges[lo].node
		}
	}
	return 0
}

// wordEnd tells where a phrase that has been read up to j ends: at j, after a
// plural or possessive s, or nowhere (0) because the word goes on.
func wordEnd(b []byte, j int, open bool) int {
	if open || j == len(b) || b[j-1] >= 0x80 || !wordByte(b, j) {
		return j
	}
	if b[j] == '\'' && j+1 < len(b) && b[j+1] == 's' {
		j++
	}
	if b[j] == 's' && (j+1 == len(b) || !wordByte(b, j+1)) {
		return j + 1
	}
	return 0
}
