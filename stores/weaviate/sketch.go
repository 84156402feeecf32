package weaviate

import (
	"cmp"
	"encoding/base64"
	"errors"
	"slices"

	"strata/internal/lexical"
)

// A sketch says how long a passage is and how often it holds which terms: a byte,
// and four bytes for each term, the low bits of its hash, in order, and counts.
// That a passage of 400 terms seems to hold one that it does not has a chance of
// one in 40,000. From it a passage is ranked as the embedded index ranks it, and
// the share of a question that it covers is known without its words.
const sketchBytes = 4

const sketchMask = 1<<24 - 1

// sketchForm is part of the collection's name: another one is another index.
const sketchForm = "S2"

func newSketch(p lexical.Passage) string {
	marks := make([]mark, len(p.Terms))
	for i, t := range p.Terms {
		marks[i] = mark{uint32(t.Hash & sketchMask), t.Counts}
	}
	// Of two that look the same one stays, or the passage would hold it twice.
	slices.SortFunc(marks, func(a, b mark) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(b.counts, a.counts)) })
	marks = slices.CompactFunc(marks, func(a, b mark) bool { return a.hash == b.hash })
	packed := make([]byte, 1, 1+sketchBytes*len(marks))
	packed[0] = lexical.PackLength(p.Length)
	for _, m := range marks {
		packed = append(packed, byte(m.hash>>16), byte(m.hash>>8), byte(m.hash), m.counts)
	}
	return base64.RawStdEncoding.EncodeToString(packed)
}

// sketch is an unpacked one.
type sketch struct {
	length byte // see lexical.PackLength
	terms  []byte
}

// mark is a term in a sketch.
type mark struct {
	hash   uint32 // low bits
	counts byte   // see lexical.Counted
}

func readSketch(packed string) (sketch, error) {
	b, err := base64.RawStdEncoding.DecodeString(packed)
	if err == nil && len(b)%sketchBytes != 1 {
		err = errors.New("it is cut")
	}
	if err != nil {
		return sketch{}, err
	}
	return sketch{b[0], b[1:]}, nil
}

func (s sketch) at(i int) mark {
	m := s.terms[i*sketchBytes:][:sketchBytes]
	return mark{uint32(m[0])<<16 | uint32(m[1])<<8 | uint32(m[2]), m[3]}
}

// counts returns how often the passage holds the term of a hash, 0 for never.
func (s sketch) counts(hash int64) byte {
	want := uint32(hash & sketchMask)
	from, to := 0, len(s.terms)/sketchBytes
	for from < to {
		mid := (from + to) / 2
		switch m := s.at(mid); {
		case m.hash == want:
			return m.counts
		case m.hash < want:
			from = mid + 1
		default:
			to = mid
		}
	}
	return 0
}

// marks yields the terms, in order.
func (s sketch) marks(yield func(mark) bool) {
	for i := range len(s.terms) / sketchBytes {
		if !yield(s.at(i)) {
			return
		}
	}
}
