package intent

import (
	"hash/maphash"
	"sync/atomic"
)

// turn is what a message of the user is by its own words.
type turn struct {
	sum  [3]float32
	kind int // how it leans on the turn before it, see leanKind
}

// memo keeps what messages were judged to be. A conversation is sent again with
// each of its turns, so that what was judged when it was asked would be judged
// anew as the turn before the next one, and the next. It keeps no words: a
// message is known by a digest whose key ends with the process.
type memo struct {
	seed  maphash.Seed
	turns [memoTurns]atomic.Pointer[remembered]
}

// memoTurns is how many are kept; the later one of two in the same place is.
const memoTurns = 1 << 11

type remembered struct {
	digest uint64
	size   int
	turn
}

func newMemo() *memo { return &memo{seed: maphash.MakeSeed()} }

// of returns what text was judged to be, or judges it.
func (m *memo) of(text string, judge func() turn) turn {
	if m == nil {
		return judge()
	}
	digest := maphash.String(m.seed, text)
	at := &m.turns[digest%memoTurns]
	if r := at.Load(); r != nil && r.digest == digest && r.size == len(text) {
		return r.turn
	}
	t := judge()
	at.Store(&remembered{digest, len(text), t})
	return t
}
