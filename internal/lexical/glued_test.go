package lexical_test

import (
	"slices"
	"testing"

	"strata/internal/lexical"
)

// What a question has in one word or two is looked up in the other way only
// where its own is nowhere.
func TestOtherWay(t *testing.T) {
	for _, tt := range []struct {
		question string
		held     []string // by one passage of a thousand
		passage  string
		covers   bool
	}{
		{"iso27001", []string{"iso", "27001", "iso|27001"}, "ISO 27001", true},
		{"iso27001", []string{"iso27001", "iso|27001"}, "ISO 27001", false},
		{"iso27001", []string{"iso", "27001"}, "27001 of ISO", false},
		{"ISO-27001", []string{"iso27001"}, "iso27001", true},
		{"iso 27001", []string{"iso27001"}, "iso27001", true},
		{"iso 27001", []string{"iso27001", "iso|27001"}, "iso27001", false},
		{"4090 ti", []string{"4090ti"}, "4090ti", true},
		{"rtx4090ti", []string{"rtx|4090"}, "rtx 4090", false},
		{"section 2.1", []string{"section2.1"}, "section2.1", false},
	} {
		q := lexical.NewQuestion(tt.question)
		for i := range q.Terms {
			if slices.Contains(tt.held, q.Terms[i].Token()) {
				q.Terms[i].DF = 1
			}
		}
		q.Weigh(1000)
		var m lexical.Mask
		for _, cut := range lexical.Cut(nil, tt.passage) {
			if i, ok := at(q, cut.Hash); ok && q.Terms[i].Bit >= 0 {
				m.Set(q.Terms[i].Bit)
			}
		}
		if cover := q.Cover(m); cover > 0.3 != tt.covers {
			t.Errorf("%q: %q covers %.2f of it", tt.question, tt.passage, cover)
		}
	}
}
