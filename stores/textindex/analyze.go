package textindex

import (
	"cmp"
	"slices"

	"strata/internal/terms"
	"strata/stores"
)

// class is what a term tells of a text.
type class uint8

const (
	word   class = iota // of a spaced script, or a pair of unspaced characters
	char                // one unspaced character
	phrase              // two neighbouring words that are not weak
)

// cut is one term of a text.
type cut struct {
	text  string // of a phrase: its first word
	hash  int64
	class class
	weak  bool
	// of a character: the pairs that it is the end and the beginning of are
	// the cuts before and after it
	before, after bool
}

// cutText returns the terms of text in their order. Between words it adds
// phrases: two words that follow one another, weak ones skipped, tell more
// than the two by themselves. Unspaced scripts have their pairs for that.
func cutText(dst []cut, text string) []cut {
	var last string // word before, for phrases
	for _, t := range terms.Of(text) {
		c := cut{text: t, hash: hash(t, ""), weak: terms.Weak(t)}
		switch terms.KindOf(t) {
		case terms.Word:
			dst = append(dst, c)
			if c.weak {
				continue
			}
			if last != "" {
				dst = append(dst, cut{text: last, hash: hash(last, t), class: phrase})
			}
			last = t
			continue
		case terms.Pair:
			if n := len(dst); n > 0 && dst[n-1].class == char {
				dst[n-1].after = true
			}
		case terms.Char:
			c.class = char
			c.before = pairBefore(dst)
		}
		last = ""
		dst = append(dst, c)
	}
	return dst
}

// pairBefore reports whether the last cut is a pair, which the next character
// is the end of: in a run, characters and pairs come by turns.
func pairBefore(dst []cut) bool {
	n := len(dst)
	return n > 1 && dst[n-1].class == word && dst[n-2].class == char && dst[n-2].after
}

// hash is FNV-1a of a term or, with two, of a phrase, folded to 47 bits, which
// SQLite keeps in six bytes. Among a million terms of a tenant, one chance in
// a few hundred is that any two are the same.
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
	return int64((h ^ h>>47) & (1<<47 - 1))
}

// analyzed is a passage as the index keeps it.
type analyzed struct {
	id     string
	length int // terms, without phrases
	terms  []termCount
}

type termCount struct {
	hash   int64
	counts byte
}

// analyze cuts a passage. Title and heading are searched along with the text.
func analyze(p stores.Passage) analyzed {
	text := cutText(nil, p.Text)
	inText := len(text)
	text = cutText(text, p.Title)
	text = cutText(text, p.Heading)
	type tally struct{ text, head int }
	count := make(map[int64]tally, len(text))
	a := analyzed{id: p.ID}
	for i, c := range text {
		t := count[c.hash]
		if i < inText {
			t.text++
		} else {
			t.head++
		}
		count[c.hash] = t
		if c.class != phrase {
			a.length++
		}
	}
	a.terms = make([]termCount, 0, len(count))
	for h, t := range count {
		a.terms = append(a.terms, termCount{h, packCounts(t.text, t.head)})
	}
	slices.SortFunc(a.terms, func(x, y termCount) int { return cmp.Compare(x.hash, y.hash) })
	return a
}
