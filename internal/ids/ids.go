// Package ids makes the ids that Strata gives out. It decides their shape;
// what they name is its callers' business.
package ids

import (
	"math/rand/v2"
	"time"
)

const hexDigits = "0123456789abcdef"

// New returns prefix, an underscore and 96 random bits in hex.
func New(prefix string) string {
	return of(prefix, rand.Uint64(), rand.Uint64())
}

// NewAt is New with the time in milliseconds in place of the first half of
// the bits: ids that are made one after the other stand side by side in an
// index, which is then written page by page and not all over.
func NewAt(prefix string, at time.Time) string {
	return of(prefix, uint64(at.UnixMilli()), rand.Uint64())
}

// of writes the lowest 48 bits of both.
func of(prefix string, hi, lo uint64) string {
	b := make([]byte, len(prefix)+25)
	n := copy(b, prefix)
	b[n] = '_'
	for i := n + 12; i > n; i-- {
		b[i] = hexDigits[hi&15]
		b[i+12] = hexDigits[lo&15]
		hi, lo = hi>>4, lo>>4
	}
	return string(b)
}
