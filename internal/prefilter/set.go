// Package prefilter decides which of many regular expressions cannot match a
// text, so that only the others are run. From the syntax tree of each pattern it
// computes literals of which any match must hold some; one scan of a text finds
// all literals of all patterns of a Set at once. This is what RE2 calls
// FilteredRE2; for Go's regexp no library does it. A pattern that passes may
// still not match; one that does not pass never matches. The package must not
// know what the patterns are about.
package prefilter

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// most is how many parts of patterns a set may hold.
const most = 64*len(Hits{}) - 1 // the last bit marks odd texts

// Hits are the parts of a set's patterns that may match a scanned text.
type Hits [10]uint64

// has reports whether a part may match.
func (h *Hits) has(part int) bool { return h[part>>6]>>(part&63)&1 != 0 }

// odd tells of a text that could not be filtered.
func (h *Hits) odd() bool { return h.has(most) }

// Set is a family of patterns that are asked of the same texts. Patterns are
// added while a program starts; the first scan closes the set and takes some
// ten milliseconds.
type Set struct {
	once     sync.Once
	patterns []*Pattern
	parts    []part
	index    index
}

// Patterns are those added by Compile and CompileInside, in their order.
func (s *Set) Patterns() []*Pattern { return s.patterns }

// part is a pattern or one of its alternatives.
type part struct {
	expr  string
	loose bool
	sure  bool // mere words: a literal that is found is a match
	once  sync.Once
	re    *regexp.Regexp
}

// need is what a text must hold for the part to match.
func (p *part) need() []branch {
	tree, err := syntax.Parse(p.expr, syntax.Perl)
	if err != nil {
		panic(err)
	}
	need := needOf(analyse(tree, p.loose))
	for i := range need {
		need[i] = necessary(need[i])
	}
	p.sure = p.sure && len(need) == 1 && len(need[0]) == 1
	return need
}

// Pattern is a pattern of a set. Its methods want the hits of a scan of the
// text they are given or, for one made by CompileInside, of a text that holds
// it.
type Pattern struct {
	*regexp.Regexp
	Inside bool // made by CompileInside

	set      *Set
	from, to int // its parts
}

// Compile adds a pattern. It panics on one that is not valid, like
// regexp.MustCompile.
func (s *Set) Compile(expr string) *Pattern { return s.add(expr, false) }

// CompileInside adds a pattern that is matched on pieces of the scanned texts,
// or on these in lower case. A piece begins at the start of the text, behind a
// sign and spaces or behind "and", "but", "also" or "then" and a space; it ends
// beside a sign or a space.
func (s *Set) CompileInside(expr string) *Pattern { return s.add(expr, true) }

// Screen adds a pattern that is never run: May and Any tell whether it may
// match somewhere inside a text, as for CompileInside.
func (s *Set) Screen(expr string) *Pattern { return s.file(&Pattern{set: s}, expr, true) }

// Any reports whether any pattern of the set may match.
func (h *Hits) Any() bool { return *h != Hits{} }

func (s *Set) add(expr string, loose bool) *Pattern {
	p := s.file(&Pattern{Regexp: regexp.MustCompile(expr), Inside: loose, set: s}, expr, loose)
	s.patterns = append(s.patterns, p)
	return p
}

func (s *Set) file(p *Pattern, expr string, loose bool) *Pattern {
	p.from = len(s.parts)
	for _, alt := range alternatives(expr) {
		s.parts = append(s.parts, part{expr: alt, loose: loose, sure: !loose && words(alt)})
	}
	if p.to = len(s.parts); p.to > most {
		panic("prefilter: a set holds too many patterns")
	}
	return p
}

// necessary drops conditions that others of a branch imply.
func necessary(b branch) branch {
	var out branch
	for i, c := range b {
		if !slices.ContainsFunc(out, func(o condition) bool { return implied(c, o) }) &&
			!slices.ContainsFunc(b[i+1:], func(o condition) bool { return implied(c, o) && !implied(o, c) }) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, rarer)
	return out[:min(len(out), maxConditions)]
}

// maxConditions is how many conditions of a branch are looked at, the rarest
// first.
const maxConditions = 6

// maxParts is into how many parts a pattern is taken apart.
const maxParts = 24

// alternatives takes a pattern apart at its outermost bars, each part with the
// flags that hold for it. Alternatives that are mere words stay together.
func alternatives(expr string) []string {
	var l list
	start, depth := 0, 0
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case c == '\\':
			i++
		case c == '[':
			i = classEnd(expr, i)
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth == 0:
			l.add(expr[start:i])
			start = i + 1
		}
	}
	l.add(expr[start:])
	if l.words != "" {
		l.parts = append(l.parts, l.words[1:])
	}
	if len(l.parts) == 1 || len(l.parts) > maxParts {
		return []string{expr}
	}
	return l.parts
}

// list gathers alternatives.
type list struct {
	parts []string
	words string // those that are mere words, each behind a bar
	flags string // that hold from here on
}

func (l *list) add(piece string) {
	for strings.HasPrefix(piece, "(?") {
		n := strings.IndexAny(piece, ":)P")
		if n < 0 || piece[n] != ')' {
			break
		}
		l.flags, piece = l.flags+piece[:n+1], piece[n+1:]
	}
	if (l.flags == "" || words(piece)) && piece != "" && !strings.ContainsAny(piece, `\^$.[](){}*+?`) {
		l.words += "|" + piece
		return
	}
	l.parts = append(l.parts, l.flags+piece)
}

// words reports whether an expression is nothing but words of a script without
// cases, so that finding one of them is a match.
func words(expr string) bool {
	for w := range strings.SplitSeq(expr, "|") {
		if w == "" || len(w) > longest || strings.IndexFunc(w, func(r rune) bool { return !unicode.Is(unicode.Han, r) }) >= 0 {
			return false
		}
	}
	return true
}

// classEnd is where the class that begins at i ends.
func classEnd(expr string, i int) int {
	i++
	if i < len(expr) && expr[i] == '^' {
		i++
	}
	for first := true; i < len(expr) && (first || expr[i] != ']'); i++ {
		if expr[i] == '\\' {
			i++
		}
		first = false
	}
	return i
}

// May reports whether the pattern may match.
func (p *Pattern) May(h *Hits) bool {
	for i := p.from; i < p.to; i++ {
		if h.has(i) {
			return true
		}
	}
	return false
}

// Match reports whether the pattern matches text; only the alternatives that
// may match are tried.
func (p *Pattern) Match(text string, h *Hits) bool {
	for i := p.from; i < p.to; i++ {
		if h.has(i) && (p.set.parts[i].sure && !h.odd() || p.part(i).MatchString(text)) {
			return true
		}
	}
	return false
}

// Submatch is FindStringSubmatch, nil where the pattern cannot match.
func (p *Pattern) Submatch(text string, h *Hits) []string {
	if !p.May(h) {
		return nil
	}
	return p.FindStringSubmatch(text)
}

// Find is FindStringSubmatch, and the names of the groups. Where just one
// alternative may match it is of this one, so that the groups of the others are
// missing.
func (p *Pattern) Find(text string, h *Hits) (match, names []string) {
	re := p.only(h)
	if re == nil {
		return nil, nil
	}
	return re.FindStringSubmatch(text), re.SubexpNames()
}

// Index is FindStringIndex, nil where the pattern cannot match.
func (p *Pattern) Index(text string, h *Hits) []int {
	if re := p.only(h); re != nil {
		return re.FindStringIndex(text)
	}
	return nil
}

// only is the alternative that may match, the pattern where several may, nil
// where none does.
func (p *Pattern) only(h *Hits) (re *regexp.Regexp) {
	for i := p.from; i < p.to; i++ {
		switch {
		case !h.has(i):
		case re != nil:
			return p.Regexp
		default:
			re = p.part(i)
		}
	}
	return re
}

func (p *Pattern) part(i int) *regexp.Regexp {
	if p.to-p.from == 1 {
		return p.Regexp
	}
	part := &p.set.parts[i]
	part.once.Do(func() { part.re = regexp.MustCompile(part.expr) })
	return part.re
}
