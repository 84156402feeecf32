package lexical_test

import (
	"slices"
	"strings"
	"testing"

	"strata/internal/lexical"
)

// Terms are counted apart in text and in title and heading, phrases make no
// passage longer, and terms are in the order of their hashes.
func TestNewPassage(t *testing.T) {
	p := lexical.NewPassage("travel budget travel "+strings.Repeat("desk ", 20), "travel rules", "budget")
	counts := map[int64]byte{}
	for _, c := range p.Terms {
		counts[c.Hash] = c.Counts
	}
	for term, want := range map[string]byte{"travel": 0x12, "budget": 0x11, "desk": 0x0f, "rules": 0x10} {
		if got := counts[lexical.Cut(nil, term)[0].Hash]; got != want {
			t.Errorf("%s: counts %#x, want %#x", term, got, want)
		}
	}
	if p.Length != 3+20+2+1 {
		t.Errorf("%d terms", p.Length)
	}
	if phrases := len(p.Cut) - p.Length; phrases == 0 {
		t.Error("no phrase is compared")
	}
	if !slices.IsSortedFunc(p.Terms, func(a, b lexical.Counted) int { return int(max(-1, min(1, a.Hash-b.Hash))) }) {
		t.Error("terms are not in order")
	}
}

// A passage that holds a term more often, in its title, or in fewer words has
// more of it.
func TestScore(t *testing.T) {
	s := lexical.NewScale(100)
	usual := s.Score(2, 0x01, lexical.PackLength(100))
	for name, more := range map[string]float32{
		"twice": s.Score(2, 0x02, lexical.PackLength(100)), "in the title": s.Score(2, 0x10, lexical.PackLength(100)),
		"shorter": s.Score(2, 0x01, lexical.PackLength(50)), "rarer": s.Score(3, 0x01, lexical.PackLength(100)),
	} {
		if more <= usual {
			t.Errorf("%s: %.3f, as usual %.3f", name, more, usual)
		}
	}
}
