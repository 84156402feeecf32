package lexical

import (
	"cmp"
	"math"
	"slices"
)

// Ranking is BM25 with these weights, and those of a question's terms. They were
// fitted together on four sets of questions in two languages and checked on
// eight of other kinds; the figures are flat around each of them.
const (
	K1 = 1.2
	B  = 0.75
	// A term of title or heading counts as so many in the text.
	headWeight = 1.5
)

// Passage is a passage as it is compared.
type Passage struct {
	Cut    []Term    // in their order: the text's, the title's, the heading's
	Terms  []Counted // distinct ones, in the order of their hashes
	Length int       // terms, without phrases
}

// Counted is a term of a passage and how often that holds it: in the text in the
// low half of the byte, in title and heading in the high one, 15 and more as 15.
type Counted struct {
	Hash   int64
	Counts byte
}

// NewPassage cuts a passage. Title and heading are searched along with the text.
func NewPassage(text, title, heading string) Passage {
	p := Passage{Cut: Cut(nil, text)}
	inText := len(p.Cut)
	p.Cut = Cut(Cut(p.Cut, title), heading)
	type tally struct{ text, head int }
	count := make(map[int64]tally, len(p.Cut))
	for i, c := range p.Cut {
		t := count[c.Hash]
		if i < inText {
			t.text++
		} else {
			t.head++
		}
		count[c.Hash] = t
		if c.Class != Phrase {
			p.Length++
		}
	}
	p.Terms = make([]Counted, 0, len(count))
	for h, t := range count {
		p.Terms = append(p.Terms, Counted{h, byte(min(t.text, 15) | min(t.head, 15)<<4)})
	}
	slices.SortFunc(p.Terms, func(x, y Counted) int { return cmp.Compare(x.Hash, y.Hash) })
	return p
}

// lengthSteps makes a step of the packed length some 4.6 %.
const lengthSteps = 22

// PackLength keeps a passage's length in one byte, to 2.3 %.
func PackLength(terms int) byte {
	return byte(min(255, math.Round(math.Log1p(float64(terms))*lengthSteps)))
}

// UnpackLength is about what PackLength was given.
func UnpackLength(b byte) float64 { return math.Expm1(float64(b) / lengthSteps) }

// Scale is the two parts of BM25 for each byte of counts and of packed length.
type Scale struct{ counts, lengths [256]float32 }

// NewScale is for passages of an average length, in terms.
func NewScale(average float64) *Scale {
	s := &Scale{}
	for i := range 256 {
		s.counts[i] = float32(float64(i&15) + headWeight*float64(i>>4))
		s.lengths[i] = float32(K1 * (1 - B + B*UnpackLength(byte(i))/max(1, average)))
	}
	return s
}

// Score is what a passage has of a term with a weight.
func (s *Scale) Score(weight float32, counts, length byte) float32 {
	tf := s.counts[counts]
	return weight * (K1 + 1) * tf / (tf + s.lengths[length])
}
