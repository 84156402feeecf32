package assemble

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"strata/internal/tokens"
	"strata/stores"
)

// Rows are the memories that one caller may be served, with everything that
// depends on them alone. They are never changed.
type Rows struct {
	list     []row
	standing []*row // those that may be in the stable block, in its order

	hash   []uint64  // of a term, sorted
	row    []int32   // that holds the term
	known  []uint64  // bits by hash: most of a question's terms are in no row
	rarity []float64 // of a term, by how many rows hold it
}

// row is a memory and what is known of it before anything is asked.
type row struct {
	*stores.Memory
	line    string // the summary as blocks show it
	chinese bool
	cost    int   // tokens in a block
	terms   int32 // different ones
}

func rowOf(m *stores.Memory) row {
	return row{Memory: m, line: line(m.Summary), chinese: language(m.Summary) == "zh", cost: memoryCost(m)}
}

func memoryCost(m *stores.Memory) int {
	n := m.Tokens
	if n <= 0 {
		n = tokens.Estimate(m.Summary)
	}
	return n + memoryTokens
}

// Prepare cuts memories into terms. It keeps the slice.
func Prepare(memories []stores.Memory) *Rows {
	type posting struct {
		hash uint64
		row  int32
	}
	r := &Rows{list: make([]row, len(memories))}
	var all []posting
	var list []topic
	for i := range memories {
		m := &memories[i]
		r.list[i] = rowOf(m)
		list = appendTopics(list[:0], m.Summary+"\n"+m.Topic)
		for _, t := range list {
			all = append(all, posting{t.hash, int32(i)})
		}
		r.list[i].terms = int32(len(list))
		if m.Standing {
			r.standing = append(r.standing, &r.list[i])
		}
	}
	slices.SortFunc(r.standing, func(a, b *row) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(all, func(a, b posting) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.row, b.row)) })
	r.hash, r.row = make([]uint64, len(all)), make([]int32, len(all))
	for i, p := range all {
		r.hash[i], r.row[i] = p.hash, p.row
	}
	r.index()
	return r
}

// index makes known and rarity of the postings.
func (r *Rows) index() {
	r.known = make([]uint64, 1<<bits.Len(uint(len(r.hash)/8))) // 8 to 16 bits a posting
	most := 0
	for i, from := 0, 0; i < len(r.hash); i++ {
		if r.hash[i] != r.hash[from] {
			from = i
		}
		most = max(most, i-from+1)
		at, bit := r.bit(r.hash[i])
		r.known[at] |= bit
	}
	n := float64(len(r.list) + priorRows)
	r.rarity = make([]float64, most+1)
	for i := range r.rarity {
		df := float64(i)
		r.rarity[i] = math.Log(1 + (n-df+0.5)/(df+0.5))
	}
}

// bit is where known tells of a term.
func (r *Rows) bit(hash uint64) (at int, bit uint64) {
	return int(hash >> 6 & uint64(len(r.known)-1)), 1 << (hash & 63)
}

// rowBytes is about what a row takes besides its texts.
const rowBytes = 540

// Bytes is about what the rows take in memory.
func (r *Rows) Bytes() int64 {
	n := 200 + 12*len(r.hash) + 8*(len(r.known)+len(r.rarity)+len(r.standing))
	for i := range r.list {
		m := &r.list[i]
		n += rowBytes + len(m.ID) + len(m.User) + len(m.Session) + len(m.Topic) + len(m.Summary) + len(m.Slot) + len(m.Supersedes)
		if m.line != m.Summary {
			n += len(m.line)
		}
		for _, s := range m.Sources {
			n += 16 + len(s)
		}
	}
	return int64(n)
}

// with returns the row of an id.
func (r *Rows) with(id string) *row {
	if r != nil {
		for i := range r.list {
			if r.list[i].ID == id {
				return &r.list[i]
			}
		}
	}
	return nil
}

// cover returns for each row the share of the question's rarity that it
// holds, 0-1, and how many of the question's terms those are.
func (r *Rows) cover(question []topic) (share []float64, held []int32) {
	share, held = make([]float64, len(r.list)), make([]int32, len(r.list))
	total := 0.0
	for _, t := range question {
		rows := r.rows(t.hash)
		w := t.weight * r.rarity[len(rows)]
		total += w
		for _, row := range rows {
			share[row] += w
			held[row]++
		}
	}
	if total > 0 {
		for i := range share {
			share[i] /= total
		}
	}
	return share, held
}

// rows are those that hold a term.
func (r *Rows) rows(hash uint64) []int32 {
	if at, bit := r.bit(hash); r.known[at]&bit == 0 {
		return nil
	}
	from, _ := slices.BinarySearch(r.hash, hash)
	to := from
	for to < len(r.hash) && r.hash[to] == hash {
		to++
	}
	return r.row[from:to]
}
