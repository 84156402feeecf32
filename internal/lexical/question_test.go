package lexical_test

import (
	"math"
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

// What is found by chance grows with the root of how much is asked, and more with
// what is rare.
func TestSpread(t *testing.T) {
	spread := func(query string, df int) float64 {
		q := lexical.NewQuestion(query)
		for i := range q.Terms {
			q.Terms[i].DF = df
		}
		q.Weigh(1000)
		return q.Spread
	}
	one, four := spread("休", 3), spread("休 假 差 旅", 3)
	if one <= 0 || math.Abs(four-2*one) > 1e-9 {
		t.Errorf("of one term %.2f, of four like it %.2f", one, four)
	}
	if common := spread("休", 900); common <= 0 || common >= one {
		t.Errorf("of a common term %.2f, of a rare one %.2f", common, one)
	}
}
