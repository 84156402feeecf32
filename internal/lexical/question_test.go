package lexical_test

import (
	"strings"
	"testing"

	"strata/internal/lexical"
)

// A passage covers the more of a question the more of its terms it has, never
// all of it, and more by a rare term than by a common one.
func TestCover(t *testing.T) {
	q := lexical.NewQuestion("annual travel budget")
	for i := range q.Terms {
		q.Terms[i].DF = 3
		if strings.HasPrefix(q.Terms[i].Token(), "annu") {
			q.Terms[i].DF = 900
		}
	}
	q.Weigh(1000)
	cover := func(words ...string) float64 {
		var m lexical.Mask
		for _, word := range words {
			for _, cut := range lexical.Cut(nil, word) {
				for _, t := range q.Terms {
					if t.Hash == cut.Hash {
						m.Set(t.Bit)
					}
				}
			}
		}
		return q.Cover(m)
	}
	none, common, rare, two, all := cover(), cover("annual"), cover("budget"), cover("travel budget"), cover("annual travel budget")
	if none != 0 || all < 0.7 || all >= 1 || !(0 < common && common < rare && rare < two && two < all) {
		t.Errorf("covers %.2f, common %.2f, rare %.2f, two %.2f, all %.2f", none, common, rare, two, all)
	}
}
