// Package lexical decides what a text is compared by (its terms, and phrases of
// two words), what each of a question's terms is worth, and what share of a
// question's rarity a passage covers. Every index uses it, so that a cover
// means the same whichever index found the passage. It knows nothing of how
// terms are kept, or of what is found by them.
package lexical

import (
	"slices"

	"strata/internal/terms"
)

// Version names what Cut makes of a text; an index made by another one is
// rebuilt.
const Version = "terms " + terms.Version + ", phrases 1"

// Class is what a term tells of a text.
type Class uint8

// The classes of terms.
const (
	Word   Class = iota // of a spaced script, or a pair of unspaced characters
	Char                // one unspaced character
	Phrase              // two neighbouring words that are not weak
)

// Term is one term of a text.
type Term struct {
	Text  string // of a phrase: its first word
	Hash  int64
	Class Class
	Weak  bool
	next  string // of a phrase: its second word
	// of a character: the pairs that it is the end and the beginning of are
	// the terms before and after it
	before, after bool
}

// Token is the term as one word, for an index that keeps words: no term holds
// a space or the sign that stands within a phrase.
func (t Term) Token() string {
	if t.Class == Phrase {
		return t.Text + "|" + t.next
	}
	return t.Text
}

// Cut appends the terms of text in their order. Between words it adds
// phrases: two words that follow one another, weak ones skipped, tell more
// than the two by themselves. Unspaced scripts have their pairs for that.
func Cut(dst []Term, text string) []Term {
	var last string // word before, for phrases
	all := terms.Of(text)
	dst = slices.Grow(dst, len(all)+len(all)/2)
	for _, t := range all {
		c := Term{Text: t, Hash: hash(t, ""), Weak: terms.Weak(t)}
		switch terms.KindOf(t) {
		case terms.Word:
			dst = append(dst, c)
			if c.Weak {
				continue
			}
			if last != "" {
				dst = append(dst, Term{Text: last, next: t, Hash: hash(last, t), Class: Phrase})
			}
			last = t
			continue
		case terms.Pair:
			if n := len(dst); n > 0 && dst[n-1].Class == Char {
				dst[n-1].after = true
			}
		case terms.Char:
			c.Class = Char
			c.before = pairBefore(dst)
		}
		last = ""
		dst = append(dst, c)
	}
	return dst
}

// pairBefore reports whether the last term is a pair, which the next character
// is the end of: in a run, characters and pairs come by turns.
func pairBefore(dst []Term) bool {
	n := len(dst)
	return n > 1 && dst[n-1].Class == Word && dst[n-2].Class == Char && dst[n-2].after
}

// HashBits is how long the hash of a term is: what SQLite keeps in six bytes.
const HashBits = 47

// hash is FNV-1a of a term or, with two, of a phrase, folded to HashBits. Among
// a million terms of a tenant, one chance in a few hundred is that any two are
// the same.
func hash(a, b string) int64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(a) {
		h = (h ^ uint64(a[i])) * prime
	}
	if b != "" {
		h = (h ^ ' ') * prime
		for i := range len(b) {
			h = (h ^ uint64(b[i])) * prime
		}
	}
	return int64((h ^ h>>HashBits) & (1<<HashBits - 1))
}
