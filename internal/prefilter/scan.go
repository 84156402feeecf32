package prefilter

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// index finds the atoms of a set in a text. Atoms are filed under where they
// may begin and under their first one, two, three or six bytes.
type index struct {
	first [256]uint16  // the files in which atoms begin with a byte
	pairs [1024]uint64 // the first two bytes of atoms
	bloom [1 << (bloomBits - 6)]uint64
	table []slot // open addressing, a power of two
	shift uint

	entries []entry
	meets   []uint16 // conditions, pointed to by entries
	serves  []uint16 // branches, pointed to by conditions
	conds   []span   // of serves, by condition
	owner   []uint16 // the part of a branch
	left    [maxWays]uint8
	always  Hits // parts that nothing is known of
}

const (
	bloomBits = 16
	maxWays   = 512 // branches of a set
	maxConds  = 1024

	// A file holds the atoms that begin anywhere, at a word or at the start of
	// the text, by the length of their keys: four files each.
	anywhere, atWord, atText      = 0, 4, 8
	anyFiles, wordFiles, allFiles = 0x00F, 0x0FF, 0xFFF
)

// oneByte are the files of the atoms of one byte.
const oneByte = 0x111

// keyMasks are the bytes of a file's keys.
var keyMasks = [4]uint64{0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFFFFFF}

type span struct{ from, to uint16 }

type slot struct {
	key     uint64 // with the number of the file; 0 = free
	entries span
}

// entry is an atom: its first eight bytes under a mask, and the others.
type entry struct {
	head, mask uint64
	rest       string
	size       int32
	edges      edges
	meets      span
}

const mix = 0x9E3779B97F4A7C15

// Scan looks for the literals of all patterns in text.
func (s *Set) Scan(text string) Hits {
	s.once.Do(s.build)
	return s.index.scan(text)
}

func (x *index) scan(text string) Hits {
	w := walk{index: x, text: text, hits: x.always, left: x.left}
	n := len(text)
	var tail [16]byte // the last bytes, so that eight can be read anywhere
	tailFrom := max(0, n-8)
	copy(tail[:], text[tailFrom:])
	starts := uint16(allFiles) // the files that may hold an atom at i
	for i := 0; i < n; i++ {
		c := text[i]
		kind := kinds[c]
		if kind == oddByte && odd(text[i:]) {
			return everything
		}
		files := x.first[c]
		if kind == inWord {
			files &= starts
			starts = anyFiles
		} else {
			files &= starts | wordFiles
			starts = wordFiles
		}
		if i > 0 {
			files &= wordFiles
		}
		if files == 0 {
			continue
		}
		var word uint64
		if i+8 <= n {
			word = lowerWord(load(text[i : i+8]))
		} else {
			word = lowerWord(load(tail[i-tailFrom : i-tailFrom+8]))
		}
		if x.pairs[word>>6&1023]>>(word&63)&1 == 0 {
			if files &= oneByte; files == 0 {
				continue
			}
		}
		w.search(i, word, files)
	}
	return w.hits
}

// kinds are what a byte may be.
const (
	other = iota
	inWord
	oddByte // may begin a character that odd knows
)

var kinds = func() (k [256]uint8) {
	for c := range k {
		if wordByte(byte(c)) {
			k[c] = inWord
		}
	}
	k[0xC4], k[0xC5], k[0xE2] = oddByte, oddByte, oddByte
	return k
}()

var everything = func() (h Hits) {
	for i := range h {
		h[i] = ^uint64(0)
	}
	return h
}()

// odd finds the characters that are ASCII letters in another case (ſ, the
// Kelvin sign) or become some (İ).
func odd(s string) bool {
	switch s[0] {
	case 0xC4:
		return len(s) > 1 && (s[1] == 0xB0 || s[1] == 0xB1)
	case 0xC5:
		return len(s) > 1 && s[1] == 0xBF
	case 0xE2:
		return len(s) > 2 && s[1] == 0x84 && s[2] == 0xAA
	}
	return false
}

func load[T string | []byte](s T) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// lowerWord puts the ASCII letters among eight bytes in lower case.
func lowerWord(w uint64) uint64 {
	const each = 0x0101010101010101
	low := w & (0x7F * each)
	upper := ((low + (0x80-'A')*each) ^ (low + (0x7F-'Z')*each)) & ^w & (0x80 * each)
	return w | upper>>2
}

// walk is one scan.
type walk struct {
	*index
	text string
	hits Hits
	left [maxWays]uint8
	met  [maxConds / 64]uint64
}

// search looks for atoms at i, where word is, in some files.
func (w *walk) search(i int, word uint64, files uint16) {
	for ; files != 0; files &= files - 1 {
		file := bits.TrailingZeros16(files)
		key := word&keyMasks[file&3] | uint64(file+1)<<56
		if h := key * mix; w.bloom[h>>(64-bloomBits+6)]>>(h>>(64-bloomBits)&63)&1 != 0 {
			w.find(i, word, key, h)
		}
	}
}

// find looks for the atoms of a key at i.
func (w *walk) find(i int, word, key, hash uint64) {
	for at := hash >> w.shift; ; at++ {
		s := &w.table[at&uint64(len(w.table)-1)]
		if s.key == key {
			for k := s.entries.from; k < s.entries.to; k++ {
				if e := &w.entries[k]; word&e.mask == e.head && w.stands(e, i) {
					w.meet(e)
				}
			}
			return
		}
		if s.key == 0 {
			return
		}
	}
}

// stands checks the rest of an atom at i and what is around it.
func (w *walk) stands(e *entry, i int) bool {
	end := i + int(e.size)
	if end > len(w.text) {
		return false
	}
	for k := 0; k < len(e.rest); k++ {
		c := w.text[i+8+k]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != e.rest[k] {
			return false
		}
	}
	if e.edges == 0 {
		return true
	}
	return !(e.edges&wordAfter != 0 && end < len(w.text) && wordByte(w.text[end]) ||
		e.edges&atEnd != 0 && end < len(w.text) || e.edges&atBreak != 0 && !breaks(w.text, i))
}

// meet notes the conditions that an atom meets, and the parts of which all
// conditions are met now.
func (w *walk) meet(e *entry) {
	for _, c := range w.meets[e.meets.from:e.meets.to] {
		if w.met[c>>6]>>(c&63)&1 != 0 {
			continue
		}
		w.met[c>>6] |= 1 << (c & 63)
		for _, b := range w.serves[w.conds[c].from:w.conds[c].to] {
			if w.left[b]--; w.left[b] == 0 {
				part := w.owner[b]
				w.hits[part>>6] |= 1 << (part & 63)
			}
		}
	}
}

// build makes the index of the patterns added so far.
func (s *Set) build() {
	d := draft{index: &s.index, conds: map[string]uint16{}, atoms: map[atom][]uint16{}}
	for p := range s.parts {
		for _, b := range s.parts[p].need() {
			d.add(uint16(p), b)
		}
	}
	x := d.index
	if len(d.serves) > maxConds || len(x.owner) > maxWays {
		panic(fmt.Sprintf("prefilter: %d conditions, %d ways: too many", len(d.serves), len(x.owner)))
	}
	for _, ways := range d.serves {
		from := uint16(len(x.serves))
		x.serves = append(x.serves, ways...)
		x.conds = append(x.conds, span{from, uint16(len(x.serves))})
	}
	x.file(d.atoms)
}

// draft gathers what goes into an index.
type draft struct {
	*index
	conds  map[string]uint16 // by their strings
	serves [][]uint16        // branches, by condition
	atoms  map[atom][]uint16 // the conditions an atom meets
}

// add adds a way in which a part may match.
func (d *draft) add(part uint16, b branch) {
	if len(b) == 0 {
		d.always[part>>6] |= 1 << (part & 63)
		return
	}
	way := uint16(len(d.owner))
	d.owner = append(d.owner, part)
	for _, c := range b {
		key := strings.Join(c, "\x00")
		id, known := d.conds[key]
		if !known {
			id = uint16(len(d.serves))
			d.conds[key], d.serves = id, append(d.serves, nil)
			for _, text := range c {
				a := atomOf(text)
				d.atoms[a] = append(d.atoms[a], id)
			}
		}
		d.serves[id] = append(d.serves[id], way)
	}
	if way < maxWays {
		d.left[way] = uint8(len(b))
	}
}

// file puts the atoms under their keys.
func (x *index) file(atoms map[atom][]uint16) {
	byKey := map[uint64][]entry{}
	for a, ids := range atoms {
		slices.Sort(ids)
		from := uint16(len(x.meets))
		x.meets = append(x.meets, slices.Compact(ids)...)
		e := entry{size: int32(len(a.text)), edges: a.edges, meets: span{from, uint16(len(x.meets))}}
		var head [8]byte
		n := copy(head[:], a.text)
		e.head, e.mask = load(head[:]), ^uint64(0)>>(64-8*n)
		e.rest = a.text[n:]
		file := fileOf(a)
		x.first[a.text[0]] |= 1 << file
		if c := a.text[0]; c >= 'a' && c <= 'z' {
			x.first[c-0x20] |= 1 << file
		}
		x.pairs[e.head>>6&1023] |= 1 << (e.head & 63)
		key := e.head&keyMasks[file&3] | uint64(file+1)<<56
		byKey[key] = append(byKey[key], e)
	}
	x.hash(byKey)
}

// hash lays out the table of keys.
func (x *index) hash(byKey map[uint64][]entry) {
	size, log := 64, uint(6)
	for size < 2*len(byKey) {
		size, log = 2*size, log+1
	}
	x.table, x.shift = make([]slot, size), 64-log
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		from := uint16(len(x.entries))
		x.entries = append(x.entries, byKey[key]...)
		h := key * mix
		b := h >> (64 - bloomBits)
		x.bloom[b>>6] |= 1 << (b & 63)
		at := h >> x.shift
		for x.table[at&uint64(size-1)].key != 0 {
			at++
		}
		x.table[at&uint64(size-1)] = slot{key: key, entries: span{from, uint16(len(x.entries))}}
	}
}

func fileOf(a atom) int {
	file := anywhere
	switch {
	case a.edges&atStart != 0:
		file = atText
	case a.edges&wordBefore != 0, a.edges&atBreak != 0 && wordByte(a.text[0]):
		file = atWord
	}
	switch n := len(a.text); {
	case n >= 6:
		return file + 3
	case n >= 3:
		return file + 2
	default:
		return file + n - 1
	}
}
