package lexical

import "math"

// What a passage covers of a question is counted in units of meaning: words,
// and characters of unspaced scripts. A character is covered by a pair that it
// is in, so a pair across two words, which no passage may have, costs nothing.
const (
	// background smooths rarity as if so many passages of other subjects were
	// there: in an index of three, all words would else be equally common.
	background = 300
	// coverWeak is the weight of words, characters and pairs that only make a
	// question a question.
	coverWeak = 0.1
	// doubt is a part of every question that is never covered, in words that no
	// passage has: one word that is found proves less than four.
	doubt = 0.5
)

// coverage tells what share of a question's rarity a passage covers.
type coverage struct {
	units []unit
	total float64
}

// unit is covered by a passage that holds any of its terms.
type unit struct {
	weight float64
	terms  Mask
}

func newCoverage(q *Question, passages int) coverage {
	n := float64(passages + background)
	c := coverage{total: doubt * math.Log(1+n)}
	lone := q.loneWord()
	type sides struct{ self, before, after int64 }
	seen := make(map[sides]bool, len(q.cuts))
	for i, cut := range q.cuts {
		near := []int{i}
		unit, weak := unit{weight: 1}, cut.Weak
		key := sides{self: cut.Hash}
		switch {
		case cut.Class == Phrase || cut.Class == Word && partOfRun(q.cuts, i):
			continue
		case lone && cut.Class == Char:
			unit.weight = 0.5
		case cut.Class == Char && (cut.before || cut.after):
			near = near[:0]
			if cut.before {
				near, key.before = append(near, i-1), q.cuts[i-1].Hash
			}
			if cut.after && i+1 < len(q.cuts) {
				near, key.after = append(near, i+1), q.cuts[i+1].Hash
			}
			unit.weight = 0.5 // two characters are about a word
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		rarity := math.Inf(1)
		whole, part := q.standing(cut.Hash)
		if part >= 0 && q.Terms[part].Bit >= 0 {
			unit.terms.Set(q.Terms[part].Bit)
		}
		for _, j := range near {
			term := q.Terms[q.index[q.cuts[j].Hash]]
			if whole >= 0 {
				term = q.Terms[whole]
			}
			// The commoner of two pairs is the more likely word.
			rarity = min(rarity, math.Log(1+n/float64(term.DF+1)))
			weak = weak || q.cuts[j].Weak
			if term.Bit >= 0 {
				unit.terms.Set(term.Bit)
			}
		}
		if len(near) == 0 || unit.terms == (Mask{}) {
			continue
		}
		if weak {
			unit.weight *= coverWeak
		}
		unit.weight *= rarity
		c.units = append(c.units, unit)
		c.total += unit.weight
	}
	return c
}

// loneWord reports whether the question is one pair that no passage has: then
// its characters are asked for, so that 営造 still finds 营造.
func (q *Question) loneWord() bool {
	return len(q.cuts) == 3 && q.cuts[0].after && q.cuts[2].before && q.Terms[q.index[q.cuts[1].Hash]].DF == 0
}

// partOfRun reports whether the cut is a pair: characters stand for it.
func partOfRun(cuts []Term, i int) bool { return i > 0 && cuts[i-1].Class == Char && cuts[i-1].after }

// of returns the share, 0-1, that a passage with these terms covers.
func (c coverage) of(m Mask) float64 {
	got := 0.0
	for _, u := range c.units {
		if m.has(u.terms) {
			got += u.weight
		}
	}
	return got / c.total
}
