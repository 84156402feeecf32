package prefilter

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Signs inside analysed strings for what has no width. No pattern's literal
// holds these characters: a literal that does gives no information.
const (
	signWord  = '\x01' // \b
	signStart = '\x02' // ^
	signEnd   = '\x03' // $
	signBreak = '\x04' // the text's start, or behind a sign and spaces
	lastSign  = signBreak
)

const (
	maxExact    = 160 // strings of an exact, prefix or suffix set
	maxBranches = 24  // ways in which one part may match
	maxAtoms    = 600 // literals of one condition
	maxClass    = 16  // characters of a class that are tried one by one
)

// condition is met by a text that holds one of its strings.
type condition []string

// branch is a way to match: all its conditions must be met. Without any
// condition nothing is known of it.
type branch []condition

// info is what is known of the strings a piece of a pattern matches: all of
// them (exact), or how they begin and end and which conditions they meet. An
// empty string in prefix or suffix stands for anything.
type info struct {
	exact          []string
	prefix, suffix []string
	need           []branch
	ends           []string // of what may be left out altogether: how it ends if not
}

func (in info) tail() []string {
	if in.exact != nil {
		return in.exact
	}
	return in.suffix
}

func unknown() info { return info{prefix: []string{""}, suffix: []string{""}, need: []branch{{}}} }

func one(s string) info { return info{exact: []string{s}} }

// analyse computes what is known of a piece. loose leaves out the ends of the
// text: the pattern is matched on a piece of what is scanned, see CompileInside.
func analyse(re *syntax.Regexp, loose bool) info {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpNoWordBoundary, syntax.OpBeginLine, syntax.OpEndLine:
		return one("")
	case syntax.OpBeginText:
		if loose {
			return one(string(signBreak))
		}
		return one(string(signStart))
	case syntax.OpEndText:
		if loose {
			return one(string(signWord))
		}
		return one(string(signEnd))
	case syntax.OpWordBoundary:
		return one(string(signWord))
	case syntax.OpLiteral:
		return literal(re.Rune)
	case syntax.OpCharClass:
		return class(re.Rune)
	case syntax.OpCapture:
		return analyse(re.Sub[0], loose)
	case syntax.OpQuest:
		return optional(analyse(re.Sub[0], loose))
	case syntax.OpPlus:
		return repeated(analyse(re.Sub[0], loose))
	case syntax.OpRepeat:
		switch {
		case re.Min == 0 && re.Max == 1:
			return optional(analyse(re.Sub[0], loose))
		case re.Min > 0:
			return repeated(analyse(re.Sub[0], loose))
		}
	case syntax.OpStar:
		return info{prefix: []string{""}, suffix: []string{""}, need: []branch{{}}, ends: analyse(re.Sub[0], loose).tail()}
	case syntax.OpConcat:
		return concat(re.Sub, loose)
	case syntax.OpAlternate:
		return alternate(re.Sub, loose)
	}
	return unknown()
}

func literal(runes []rune) info {
	var b strings.Builder
	for _, r := range runes {
		if r <= lastSign || r == utf8.RuneError {
			return unknown()
		}
		b.WriteRune(lower(r))
	}
	return one(b.String())
}

// lower folds ASCII letters, as the scan does with the text.
func lower(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r + 'a' - 'A'
	}
	if r == 'ſ' || r == '\u212A' { // fold to ASCII; texts with them are not filtered
		return unicode.ToLower(unicode.ToUpper(r))
	}
	return r
}

func class(ranges []rune) info {
	var set []string
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] > 2*maxClass {
			return unknown()
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if r <= lastSign || r == utf8.RuneError {
				return unknown()
			}
			set = append(set, string(lower(r)))
		}
	}
	if set = unique(set); len(set) == 0 || len(set) > maxClass {
		return unknown()
	}
	return info{exact: set}
}

func optional(sub info) info {
	if sub.exact != nil && len(sub.exact) < maxExact {
		return info{exact: unique(append(slices.Clone(sub.exact), ""))}
	}
	return unknown()
}

func repeated(sub info) info {
	if sub.exact != nil {
		return info{prefix: sub.exact, suffix: sub.exact, need: needOf(sub)}
	}
	return sub
}

// concat joins what is known of neighbours: the end of one with the beginning
// of the next.
func concat(subs []*syntax.Regexp, loose bool) info {
	j := joint{run: []string{""}, exact: true, need: []branch{{}}}
	for _, sub := range subs {
		j.add(analyse(sub, loose))
	}
	if j.exact {
		return info{exact: j.run}
	}
	j.flush()
	return info{prefix: j.prefix, suffix: j.run, need: j.need}
}

// joint is a concatenation as far as it was read.
type joint struct {
	run    []string // what it may end with
	exact  bool     // run is all of it
	prefix []string // what it begins with, once it is not
	need   []branch
}

// flush makes a condition of run, before it is lost.
func (j *joint) flush() {
	if j.exact {
		j.prefix, j.exact = j.run, false
	}
	j.need = and(j.need, []branch{needs(j.run)})
}

func (j *joint) add(in info) {
	head := in.exact
	if head == nil {
		head = in.prefix
	}
	if len(j.run)*len(head) <= maxExact {
		j.run = product(j.run, head)
	} else {
		j.flush()
		if apart(j.run) {
			head = product([]string{string(signWord)}, head)
		}
		j.run = head
	}
	if in.exact != nil {
		return
	}
	before := j.run
	j.flush()
	j.need = and(j.need, in.need)
	switch j.run = in.suffix; {
	case in.ends == nil:
	case broken(before) && blank(in.ends):
		j.run = []string{string(signBreak)}
	case apart(before) && apart(in.ends):
		j.run = []string{string(signWord)}
	}
}

// alternate unites what is known of alternatives. Those that only need one of
// some strings are one branch together.
func alternate(subs []*syntax.Regexp, loose bool) info {
	exact, prefix, suffix := []string{}, []string{}, []string{}
	var need []branch
	allExact, together := true, condition{}
	for _, sub := range subs {
		in := analyse(sub, loose)
		if in.exact != nil {
			exact = append(exact, in.exact...)
			prefix, suffix = append(prefix, in.exact...), append(suffix, in.exact...)
		} else {
			allExact = false
			prefix, suffix = append(prefix, in.prefix...), append(suffix, in.suffix...)
		}
		for _, b := range needOf(in) {
			if len(b) == 1 {
				together = append(together, b[0]...)
			} else {
				need = append(need, b)
			}
		}
	}
	if exact = unique(exact); allExact && len(exact) <= maxExact {
		return info{exact: exact}
	}
	if len(together) > 0 {
		need = append(need, needs(together))
	}
	tail := shortened(suffix, false)
	if tail[0] == "" && apart(suffix) {
		tail = []string{string(signWord)}
	}
	return info{prefix: shortened(prefix, true), suffix: tail, need: capped(need)}
}

// apart reports whether all of some strings end where a word may begin.
func apart(set []string) bool {
	return !slices.ContainsFunc(set, func(s string) bool { return s == "" || wordByte(s[len(s)-1]) })
}

// broken reports whether all of some strings end at a break.
func broken(set []string) bool {
	return !slices.ContainsFunc(set, func(s string) bool {
		r, _ := utf8.DecodeLastRuneInString(s)
		return s == "" || r != signStart && r != signBreak && !signRune(r)
	})
}

func blank(set []string) bool {
	return !slices.ContainsFunc(set, func(s string) bool { return s == "" || strings.TrimSpace(s) != "" })
}

func needOf(in info) []branch {
	if in.exact != nil {
		return []branch{needs(in.exact)}
	}
	return in.need
}

// needs makes a branch of one condition, or of none where the strings say
// nothing.
func needs(set []string) branch {
	if len(set) > maxAtoms || slices.ContainsFunc(set, weak) {
		return branch{}
	}
	return branch{condition(minimal(set))}
}

// and requires both. Where the ways multiply, those of one side are united.
func and(a, b []branch) []branch {
	if len(a)*len(b) > maxBranches {
		if len(a) > len(b) {
			a = united(a)
		} else {
			b = united(b)
		}
		if len(a)*len(b) > maxBranches {
			a, b = united(a), united(b)
		}
	}
	var out []branch
	for _, x := range a {
		for _, y := range b {
			out = append(out, append(slices.Clone(x), y...))
		}
	}
	return out
}

func capped(need []branch) []branch {
	if len(need) > maxBranches {
		return united(need)
	}
	return need
}

// united keeps of every branch its rarest condition and unites these.
func united(need []branch) []branch {
	var all condition
	for _, b := range need {
		if len(b) == 0 {
			return []branch{{}}
		}
		all = append(all, slices.MinFunc(b, rarer)...)
	}
	return []branch{needs(all)}
}

func rarer(a, b condition) int {
	if x, y := weight(a), weight(b); x < y {
		return -1
	} else if x > y {
		return 1
	}
	return 0
}

// weight guesses how often a condition is met by a sentence.
func weight(c condition) float64 {
	sum := 0.0
	for _, s := range c {
		w := 1.0
		for _, r := range s {
			switch {
			case r == signStart, r == signEnd, r == signBreak:
				w /= 30
			case r == signWord:
				w /= 3
			case r >= 0x2E80:
				w /= 40
			default:
				w /= 8
			}
		}
		sum += w
	}
	return sum
}

// weak tells of a string that nearly every text holds.
func weak(s string) bool {
	a := atomOf(s)
	switch {
	case a.text == "":
		return true
	case a.edges != 0:
		return false
	case len(a.text) == 1 && a.text[0] >= 'a' && a.text[0] <= 'z':
		return true
	}
	return strings.Trim(a.text, " ,.，。、\t\n\f\r") == ""
}

func product(a, b []string) []string {
	out := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			out = append(out, x+y)
		}
	}
	return unique(out)
}

func unique(set []string) []string {
	set = slices.Clone(set)
	slices.Sort(set)
	return slices.Compact(set)
}

// shortened cuts strings until they are few enough to be joined with others.
func shortened(set []string, head bool) []string {
	set = unique(set)
	for n := 6; len(set) > maxExact*2/3 && n >= 0; n-- {
		for i, s := range set {
			r := []rune(s)
			if len(r) <= n {
				continue
			}
			if head {
				set[i] = string(r[:n])
			} else {
				set[i] = string(r[len(r)-n:])
			}
		}
		set = unique(set)
	}
	return set
}

// minimal drops strings that hold another one of the set.
func minimal(set []string) []string {
	var out []string
	for _, s := range unique(set) {
		if !slices.ContainsFunc(set, func(o string) bool { return o != s && strings.Contains(s, o) }) {
			out = append(out, s)
		}
	}
	return out
}

// implied reports whether whoever meets b meets a.
func implied(a, b condition) bool {
	for _, s := range b {
		if !slices.ContainsFunc(a, func(o string) bool { return strings.Contains(s, o) }) {
			return false
		}
	}
	return true
}
