package cached

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/dgraph-io/ristretto/v2"
)

const (
	// vectorBytes is what a usual vector takes, of 768 dimensions.
	vectorBytes = 3 << 10
	// keepVector: a question that comes again comes within a conversation, or
	// from the next person who looks for the same.
	keepVector = time.Hour
)

// Vectors keeps the vectors of questions. A vector follows from its space and
// text alone, so it is good for everybody, and no text is held, but its digest.
// Make it with NewVectors; it is safe for concurrent use.
type Vectors struct {
	held *ristretto.Cache[uint64, *vector] // nil: nothing is kept
}

// digest is of a space and a text. The table is keyed by its first eight bytes
// alone, so it is compared again on every read.
type digest [sha256.Size]byte

// vector is never changed once it is in the table.
type vector struct {
	of     digest
	values []float32
}

// NewVectors returns a cache of at most maxBytes; 0 = 32 MB, below 0 = keep
// nothing. Close it.
func NewVectors(maxBytes int64) (*Vectors, error) {
	if maxBytes == 0 {
		maxBytes = defaultBytes
	}
	if maxBytes < 0 {
		return &Vectors{}, nil
	}
	held, err := ristretto.NewCache(&ristretto.Config[uint64, *vector]{
		NumCounters: max(1000, 10*maxBytes/vectorBytes),
		MaxCost:     maxBytes,
		BufferItems: 64,
	})
	if err != nil {
		return nil, err
	}
	return &Vectors{held}, nil
}

// Close ends the cache's goroutine. Reads still work and find nothing.
func (v *Vectors) Close() {
	if v.held != nil {
		v.held.Close()
	}
}

// Get returns the vector of a text in a space if it is at hand, without
// waiting. It is shared by all who get it and must not be changed.
func (v *Vectors) Get(space, text string) ([]float32, bool) {
	if v.held == nil {
		return nil, false
	}
	of := digestOf(space, text)
	e, ok := v.held.Get(of.key())
	if !ok || e.of != of {
		return nil, false
	}
	return e.values, true
}

// Set offers a vector, which must not be changed afterwards. It may be dropped.
func (v *Vectors) Set(space, text string, values []float32) {
	if v.held == nil {
		return
	}
	of := digestOf(space, text)
	v.held.SetWithTTL(of.key(), &vector{of, values}, entryBytes+int64(4*len(values)), keepVector)
}

// digestOf keeps space and text apart by the length of the space.
func digestOf(space, text string) (d digest) {
	h := sha256.New()
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(space)))
	h.Write(length[:])
	h.Write([]byte(space))
	h.Write([]byte(text))
	h.Sum(d[:0])
	return d
}

func (d *digest) key() uint64 { return binary.LittleEndian.Uint64(d[:]) }
