package lexical

import (
	"cmp"
	"math"
	"slices"
)

// What the terms of a question weigh. The figures were fitted together on four
// sets of questions in two languages and checked on eight of other kinds; they
// are flat around each of them.
const (
	// Words that make a question a question count little, phrases add to
	// their words.
	weakWeight   = 0.3
	phraseWeight = 0.5
	// No repetition in a question makes a term count more than so many times.
	maxRepeat = 3
	// A question with so many words of its subject is looked up without the
	// shortest function words ("the", "of"), which nearly every passage holds:
	// half the time, and a few thousandths of recall.
	enoughWords   = 6
	shortFunction = 3
)

// MaxTerms is how many terms of a question are looked up, the rarest ones.
const MaxTerms = 128

// maxCuts is how many terms of a question are read.
const maxCuts = 1024

// Question is a query on its way through an index: NewQuestion, then DF of its
// terms, then Weigh, then Cover.
type Question struct {
	Terms []Asked // distinct
	index map[int64]int
	cover coverage
	named Mask
	cuts  []Term
	// others are words that have another way of writing in Terms.
	others []glued
	// Spread is, after Weigh, how much passages differ in what they have of the
	// question by chance, in units of its terms' weights: things that have nothing
	// to do with each other add up by their squares.
	Spread float64
}

// Asked is one distinct term of a question.
type Asked struct {
	Term
	Repeat int
	Weight float64 // of its class; after Weigh times its rarity
	DF     int     // passages that hold it
	Bit    int     // after Weigh its place in a passage's mask; -1: too common to count in a question this long
}

// NewQuestion cuts a query; nil when there is nothing to look for.
func NewQuestion(query string) *Question {
	cuts := Cut(nil, query)
	if len(cuts) == 0 {
		return nil
	}
	return newQuestion(cuts[:min(len(cuts), maxCuts)])
}

// Index is the place in Terms of the term with this hash.
func (q *Question) Index(hash int64) int { return q.index[hash] }

func newQuestion(cuts []Term) *Question {
	cuts = withoutShort(cuts)
	q := &Question{index: make(map[int64]int, len(cuts)), cuts: cuts}
	for _, c := range cuts {
		if i, ok := q.index[c.Hash]; ok {
			q.Terms[i].Repeat = min(q.Terms[i].Repeat+1, maxRepeat)
			continue
		}
		w := 1.0
		switch {
		case c.Weak:
			w = weakWeight
		case c.Class == Phrase:
			w = phraseWeight
		}
		q.index[c.Hash] = len(q.Terms)
		q.Terms = append(q.Terms, Asked{Term: c, Repeat: 1, Weight: w})
	}
	q.addOther(cuts)
	return q
}

func withoutShort(cuts []Term) []Term {
	words := make(map[int64]bool, len(cuts))
	for _, c := range cuts {
		if c.Class == Word && !c.Weak {
			words[c.Hash] = true
		}
	}
	if len(words) < enoughWords {
		return cuts
	}
	return slices.DeleteFunc(cuts, func(c Term) bool {
		return c.Class == Word && c.Weak && len(c.Text) <= shortFunction // no pair is that short
	})
}

// Weigh turns the terms' frequencies among so many passages into weights and
// keeps the heaviest.
func (q *Question) Weigh(passages int) {
	n := float64(passages)
	q.chooseOther()
	order := make([]int, 0, len(q.Terms))
	for i := range q.Terms {
		term := &q.Terms[i]
		df := float64(term.DF)
		term.Weight *= float64(term.Repeat) * math.Log(1+(n-df+0.5)/(df+0.5))
		if term.Bit = -1; term.Weight > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(q.Terms[j].Weight, q.Terms[i].Weight), cmp.Compare(i, j))
	})
	squares := 0.0
	for bit, i := range order[:min(len(order), MaxTerms)] {
		q.Terms[i].Bit = bit
		squares += q.Terms[i].Weight * q.Terms[i].Weight
	}
	q.Spread = math.Sqrt(squares)
	q.cover, q.named = newCoverage(q, passages), q.names(passages)
}

// Cover returns the share, 0-1, of the question's rarity that a passage with
// these terms covers.
func (q *Question) Cover(m Mask) float64 { return q.cover.of(m) }

// Mask says which terms of a question a passage holds, by their bits.
type Mask [MaxTerms / 64]uint64

// Set notes the term of a bit.
func (m *Mask) Set(bit int) { m[bit/64] |= 1 << (bit % 64) }

func (m *Mask) has(o Mask) bool { return m[0]&o[0] != 0 || m[1]&o[1] != 0 }
