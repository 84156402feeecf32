package weaviate

import (
	"encoding/base64"
	"slices"

	"strata/internal/lexical"
)

// A sketch says which terms a passage holds, in three bytes for each: the low
// bits of their hashes, in order. That a passage of 400 terms seems to hold one
// that it does not has a chance of one in 40,000. From it the share of a
// question that a passage covers is known without its words.
const sketchBytes = 3

const sketchMask = 1<<(8*sketchBytes) - 1

func newSketch(terms []lexical.Term) string {
	marks := make([]uint32, len(terms))
	for i, t := range terms {
		marks[i] = uint32(t.Hash & sketchMask)
	}
	slices.Sort(marks)
	marks = slices.Compact(marks)
	packed := make([]byte, 0, sketchBytes*len(marks))
	for _, m := range marks {
		packed = append(packed, byte(m>>16), byte(m>>8), byte(m))
	}
	return base64.RawStdEncoding.EncodeToString(packed)
}

// sketch is an unpacked one.
type sketch []byte

func readSketch(packed string) (sketch, error) {
	s, err := base64.RawStdEncoding.DecodeString(packed)
	return sketch(s[:len(s)/sketchBytes*sketchBytes]), err
}

// holds reports whether the passage holds the term of a hash.
func (s sketch) holds(hash int64) bool {
	want := uint32(hash & sketchMask)
	from, to := 0, len(s)/sketchBytes
	for from < to {
		mid := (from + to) / 2
		at := s[mid*sketchBytes:]
		switch m := uint32(at[0])<<16 | uint32(at[1])<<8 | uint32(at[2]); {
		case m == want:
			return true
		case m < want:
			from = mid + 1
		default:
			to = mid
		}
	}
	return false
}

// marks yields what holds asks for, in order.
func (s sketch) marks(yield func(uint32) bool) {
	for at := s; len(at) >= sketchBytes; at = at[sketchBytes:] {
		if !yield(uint32(at[0])<<16 | uint32(at[1])<<8 | uint32(at[2])) {
			return
		}
	}
}
