package lexical

import "strings"

const (
	// rareName is the share of passages that may hold a name which tells what a
	// question is about.
	rareName = 0.05
	// longNumber is how many digits make a number a name: fewer are years,
	// amounts and counts.
	longNumber = 5
)

// names are the rarest of the words of letters in a question that is otherwise
// in an unspaced script: a product, a code, a command (VPN怎么连, 代码 E-1077). Such a
// word tells the subject, and what is around it may be in no document.
func (q *Question) names(passages int) (m Mask) {
	least, mixed := 1+int(rareName*float64(passages)), false
	for _, t := range q.Terms {
		mixed = mixed || t.Class == Char
		if t.isName() && t.DF > 0 {
			least = min(least, t.DF)
		}
	}
	for _, t := range q.Terms {
		if mixed && t.Bit >= 0 && t.isName() && t.DF == least {
			m.Set(t.Bit)
		}
	}
	return m
}

// isName reports whether a term is a word of two letters or more that is no
// function word, has a letter beside its digits, or is such a word in two.
func (t *Asked) isName() bool {
	if t.Class == Phrase {
		return lettersMeetDigits(t.Text, t.next)
	}
	if t.Class != Word || t.Weak || len(t.Text) < 2 || !asciiWord(t.Text) {
		return false
	}
	return len(t.Text) >= longNumber || strings.ContainsFunc(t.Text, func(r rune) bool { return r >= 'a' && r <= 'z' })
}

// asciiWord tells words from pairs of unspaced scripts, which are of the same
// class.
func asciiWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// Named reports whether a passage with these terms holds a name that tells
// what the question is about.
func (q *Question) Named(m Mask) bool { return m.has(q.named) }
