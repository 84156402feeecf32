package textindex

import (
	"cmp"
	"slices"

	"strata/internal/lexical"
	"strata/stores"
)

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
	text := lexical.Cut(nil, p.Text)
	inText := len(text)
	text = lexical.Cut(text, p.Title)
	text = lexical.Cut(text, p.Heading)
	type tally struct{ text, head int }
	count := make(map[int64]tally, len(text))
	a := analyzed{id: p.ID}
	for i, c := range text {
		t := count[c.Hash]
		if i < inText {
			t.text++
		} else {
			t.head++
		}
		count[c.Hash] = t
		if c.Class != lexical.Phrase {
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
