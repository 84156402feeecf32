package lexical

import "strata/internal/terms"

// Letters and digits are written as one word (ISO27001) or as two (ISO 27001,
// ISO-27001), and a question may have the other way than the documents. An index
// keeps words as they are; the question knows both, and takes the other way where
// no passage has its own.

// glued is a word of letters and digits, and the phrase that says the same.
type glued struct {
	asked, other int // in Terms; asked is how the question has it
	parts        [2]int64
}

// addOther appends the other way of writing the terms of cuts. It weighs nothing
// until it stands for one.
func (q *Question) addOther(cuts []Term) {
	for i := range cuts {
		c := &cuts[i]
		left, right, ok := c.Text, c.next, c.Class == Phrase && lettersMeetDigits(c.Text, c.next)
		if c.Class == Word {
			left, right, ok = cutBorder(c.Text)
		}
		if !ok || len(q.others) == maxGlued {
			continue
		}
		left = terms.Stem(left)
		other := Term{Text: left, next: right, Hash: hash(left, right), Class: Phrase}
		if c.Class == Phrase {
			other = Term{Text: left + right, Hash: hash(left+right, "")}
		}
		if _, both := q.index[other.Hash]; both {
			continue
		}
		q.others = append(q.others, glued{q.index[c.Hash], len(q.Terms), [2]int64{hash(left, ""), hash(right, "")}})
		q.index[other.Hash] = len(q.Terms)
		q.Terms = append(q.Terms, Asked{Term: other, Repeat: 1})
	}
}

// maxGlued is how many words of a question are looked up in both ways.
const maxGlued = 16

// chooseOther gives the weight of a word to its other way where that alone is in
// passages, and tells nothing of that where it is not needed.
func (q *Question) chooseOther() {
	for i := range q.others {
		g := &q.others[i]
		asked, other := &q.Terms[g.asked], &q.Terms[g.other]
		if asked.DF > 0 || other.DF == 0 {
			other.DF, g.other = 0, -1
			continue
		}
		other.Weight, other.Repeat = 1, asked.Repeat
		asked.Weight = 0
	}
}

// standing returns the term that stands for a cut of the question, and the one
// for the word that the cut is a part of, each -1 for none.
func (q *Question) standing(hash int64) (whole, part int) {
	whole, part = -1, -1
	for _, g := range q.others {
		if g.other < 0 {
			continue
		}
		if q.Terms[g.asked].Hash == hash {
			whole = g.other
		} else if q.Terms[g.asked].Class == Phrase && (g.parts[0] == hash || g.parts[1] == hash) {
			part = g.other
		}
	}
	return whole, part
}

// lettersMeetDigits reports whether one of two words is of letters and the other
// of digits, in ASCII.
func lettersMeetDigits(a, b string) bool {
	return ofKind(a, letter) && ofKind(b, digit) || ofKind(a, digit) && ofKind(b, letter)
}

// cutBorder parts a word where its letters meet its digits, if they do once.
func cutBorder(w string) (left, right string, ok bool) {
	for i := 1; i < len(w); i++ {
		if letter(w[i-1]) != letter(w[i]) {
			return w[:i], w[i:], lettersMeetDigits(w[:i], w[i:])
		}
	}
	return "", "", false
}

func ofKind(w string, kind func(byte) bool) bool {
	for i := range len(w) {
		if !kind(w[i]) {
			return false
		}
	}
	return w != ""
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }
