package textindex

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"strata/internal/lexical"
	"strata/stores"
)

var errBroken = fmt.Errorf("%w: broken postings", stores.ErrUnreadable)

// blockSize is how many passage numbers share one row of postings. Larger
// blocks read faster; of one that is not full yet, searches put the postings
// together themselves, in memory.
const blockSize = 4096

// Terms are spread over buckets by the high bits of their hashes. A row of
// postings holds what one block has of one bucket: a row for each term would
// cost SQLite more than what is in it, as most terms of a block are in one or
// two of its passages. bucketCount rows are written at most for a block; fewer
// would be larger, and a search reads one for each of its terms.
const (
	restBits    = 35
	bucketCount = 1 << (lexical.HashBits - restBits)
	restMask    = 1<<restBits - 1
	restBytes   = 5
)

func bucketOf(hash int64) int { return int(hash >> restBits) }

// posting says how often a passage holds a term.
type posting struct {
	hash   int64
	num    uint32 // of the passage, from a number on that the holder knows
	counts byte   // see lexical.Counted
	length byte   // of the passage, see lexical.PackLength
}

// postings are those of some passages in the order of their numbers, by bucket.
type postings [bucketCount][]posting

func (p *postings) add(num uint32, length byte, terms []byte) {
	eachTerm(terms, func(hash int64, counts byte) {
		b := bucketOf(hash)
		p[b] = append(p[b], posting{hash, num, counts, length})
	})
}

// entries are what the passages of a block have of one term: of each the
// distance to the place in the block of the one before (varint), a byte of
// counts, a byte of length.
type entries struct {
	data []byte
	n    int
	end  int // behind the place of the last one
}

// add packs one more. Places come in their order.
func (e *entries) add(at int, counts, length byte) {
	e.data = append(binary.AppendUvarint(e.data, uint64(at-e.end+1)), counts, length)
	e.n, e.end = e.n+1, at+1
}

// addAll packs those of data that are not gone. It reports whether data was
// whole.
func (e *entries) addAll(data []byte, gone bitmap) bool {
	return eachEntry(data, func(at int, counts, length byte) {
		if !gone.has(at) {
			e.add(at, counts, length)
		}
	})
}

// countGone is how many entries of data are gone. What follows a break in it is
// not counted.
func countGone(data []byte, gone bitmap) (n int) {
	eachEntry(data, func(at int, _, _ byte) {
		if gone.has(at) {
			n++
		}
	})
	return n
}

// eachEntry calls f with each entry of data, its place first. It reports whether
// data was whole.
func eachEntry(data []byte, f func(at int, counts, length byte)) bool {
	for at := -1; len(data) > 0; {
		step, counts, length, rest := next(data)
		at += step
		if step == 0 || at >= blockSize {
			return false
		}
		f(at, counts, length)
		data = rest
	}
	return true
}

// merge returns a row without what is gone and with more, which it sorts. It
// reports whether the row was whole.
func merge(row []byte, gone bitmap, more []posting) (merged []byte, ok bool) {
	slices.SortFunc(more, func(a, b posting) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.num, b.num)) })
	merged = make([]byte, 0, len(row)+12*len(more))
	for len(row) > 0 || len(more) > 0 {
		var e entries
		var at int64 // which term is next
		rest, _, data, after, whole := nextTerm(row)
		switch {
		case len(row) == 0:
			at = more[0].hash & restMask
		case !whole:
			return nil, false
		case len(more) == 0 || rest <= more[0].hash&restMask:
			at, row = rest, after
			if !e.addAll(data, gone) {
				return nil, false
			}
		default:
			at = more[0].hash & restMask
		}
		for ; len(more) > 0 && more[0].hash&restMask == at; more = more[1:] {
			e.add(int(more[0].num), more[0].counts, more[0].length)
		}
		if e.n > 0 {
			merged = appendTerm(merged, at, &e)
		}
	}
	return merged, true
}

// appendTerm adds a term to a row, after those of smaller hashes: the rest of
// its hash, how many entries it has, how long they are, and the entries.
func appendTerm(row []byte, hash int64, e *entries) []byte {
	row = binary.LittleEndian.AppendUint64(row, uint64(hash&restMask))
	row = binary.AppendUvarint(row[:len(row)-8+restBytes], uint64(e.n))
	return append(binary.AppendUvarint(row, uint64(len(e.data))), e.data...)
}

// nextTerm returns the first term of a row and what comes behind it. It reports
// whether the row is whole.
func nextTerm(row []byte) (rest int64, n int, data, after []byte, ok bool) {
	if len(row) < restBytes {
		return 0, 0, nil, nil, false
	}
	rest = int64(row[0]) | int64(row[1])<<8 | int64(row[2])<<16 | int64(row[3])<<24 | int64(row[4])<<32
	row = row[restBytes:]
	count, a := binary.Uvarint(row)
	if a <= 0 || count > blockSize {
		return 0, 0, nil, nil, false
	}
	size, b := binary.Uvarint(row[a:])
	if b <= 0 || size > uint64(len(row)-a-b) {
		return 0, 0, nil, nil, false
	}
	row = row[a+b:]
	return rest, int(count), row[:size], row[size:], true
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

// termBytes is the size of a term in a passage's row: its hash and its
// counts.
const termBytes = 7

// packTerms keeps the terms of a passage, in the order of their hashes.
func packTerms(terms []lexical.Counted) []byte {
	b := make([]byte, 0, termBytes*len(terms)+2)
	for i, t := range terms {
		b = binary.LittleEndian.AppendUint64(b, uint64(t.Hash)|uint64(t.Counts)<<48)[:termBytes*(i+1)]
	}
	return b
}

// eachTerm calls f with the terms that packTerms has kept.
func eachTerm(b []byte, f func(hash int64, counts byte)) {
	var one [8]byte
	for ; len(b) >= termBytes; b = b[termBytes:] {
		copy(one[:], b[:termBytes])
		n := binary.LittleEndian.Uint64(one[:])
		f(int64(n&(1<<48-1)), byte(n>>48))
	}
}

// bitmap says of the numbers of a block which are gone; nil: none.
type bitmap []byte

const bitmapBytes = blockSize / 8

func (m bitmap) has(at int) bool { return m != nil && m[at/8]&(1<<(at%8)) != 0 }

func (m bitmap) set(at int) { m[at/8] |= 1 << (at % 8) }
