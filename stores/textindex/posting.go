package textindex

import (
	"encoding/binary"
	"math"
)

// blockSize is how many passage numbers share one row of postings. Larger
// blocks read faster, smaller ones are cheaper to rewrite.
const blockSize = 2048

// entry says how often a passage holds a term. In a block's row it is the
// distance to the number before (varint), a byte of counts, a byte of length.
type entry struct {
	at     int  // place in the block
	counts byte // low half: in the text, high half: in title and heading; 15 and more is 15
	length byte // of the passage, see packLength
}

func packCounts(text, head int) byte { return byte(min(text, 15) | min(head, 15)<<4) }

// lengthSteps makes a step of the packed length some 4.6 %.
const lengthSteps = 22

// packLength keeps a length in one byte, to 2.3 %.
func packLength(terms int) byte {
	return byte(min(255, math.Round(math.Log1p(float64(terms))*lengthSteps)))
}

func unpackLength(b byte) float64 { return math.Expm1(float64(b) / lengthSteps) }

// appendEntries packs entries of one block, in the order of their numbers.
func appendEntries(dst []byte, entries []entry) []byte {
	last := -1
	for _, e := range entries {
		dst = binary.AppendUvarint(dst, uint64(e.at-last))
		dst = append(dst, e.counts, e.length)
		last = e.at
	}
	return dst
}

// next returns the distance, the counts and the length of the entry that data
// begins with and what comes behind it. A distance of 0 says that data is not
// whole.
func next(data []byte) (step int, counts, length byte, rest []byte) {
	if len(data) >= 3 && data[0] < 0x80 {
		return int(data[0]), data[1], data[2], data[3:]
	}
	far, n := binary.Uvarint(data)
	if n <= 0 || len(data) < n+2 || far > blockSize {
		return 0, 0, 0, nil
	}
	return int(far), data[n], data[n+1], data[n+2:]
}

// hashBytes is the size of a hash, see hash.
const hashBytes = 6

// packHashes keeps the terms of a passage, by which it is taken out again.
func packHashes(terms []termCount) []byte {
	b := make([]byte, 0, hashBytes*len(terms)+2)
	for i, t := range terms {
		b = binary.LittleEndian.AppendUint64(b, uint64(t.hash))[:hashBytes*(i+1)]
	}
	return b
}

func unpackHashes(b []byte) []int64 {
	hashes := make([]int64, 0, len(b)/hashBytes)
	var one [8]byte
	for ; len(b) >= hashBytes; b = b[hashBytes:] {
		copy(one[:], b[:hashBytes])
		hashes = append(hashes, int64(binary.LittleEndian.Uint64(one[:])))
	}
	return hashes
}
