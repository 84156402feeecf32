package weaviate

import (
	"testing"

	"strata/internal/lexical"
)

// What the server has found is ordered by what passages hold, not as it came,
// and what holds nothing that is counted is no find.
func TestRank(t *testing.T) {
	var found []candidate
	for _, p := range []struct{ id, text, title string }{
		{"long", "the budget is told in the annual report which everybody reads after summer with great care", ""},
		{"none", "parking", ""},
		{"short", "the budget", ""},
		{"title", "the budget", "budget"},
	} {
		s, err := readSketch(newSketch(lexical.NewPassage(p.text, p.title, "")))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, candidate{p.id, s})
	}
	q := lexical.NewQuestion("budget")
	(&sample{passages: 100, read: 100, marks: map[uint32]int32{}}).weigh(q, found)
	hits := rank(q, found, lexical.NewScale(5))
	want := []string{"title", "short", "long"}
	if len(hits) != len(want) {
		t.Fatalf("%+v, want %v", hits, want)
	}
	for i, h := range hits {
		if h.ID != want[i] || h.Score <= 0 || h.Spread != q.Spread || i > 0 && h.Score >= hits[i-1].Score {
			t.Errorf("place %d: %+v, want %s", i, h, want[i])
		}
	}
}
