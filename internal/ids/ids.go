// Package ids makes the ids that Strata gives out. It decides their shape;
// what they name is its callers' business.
package ids

import "math/rand/v2"

const hexDigits = "0123456789abcdef"

// New returns prefix, an underscore and 96 random bits in hex.
func New(prefix string) string {
	b := make([]byte, len(prefix)+25)
	n := copy(b, prefix)
	b[n] = '_'
	hi, lo := rand.Uint64(), rand.Uint64()
	for i := n + 1; i < n+13; i++ {
		b[i] = hexDigits[hi&15]
		b[i+12] = hexDigits[lo&15]
		hi, lo = hi>>4, lo>>4
	}
	return string(b)
}
