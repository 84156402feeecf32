package weaviate

import (
	"slices"
	"testing"

	"strata/internal/lexical"
)

func TestSketch(t *testing.T) {
	terms := lexical.Cut(nil, "部署方案 travel expenses v2.3")
	s, err := readSketch(newSketch(terms))
	if err != nil {
		t.Fatal(err)
	}
	for _, term := range terms {
		if !s.holds(term.Hash) {
			t.Errorf("%s is not held", term.Token())
		}
	}
	for _, term := range lexical.Cut(nil, "值班电话 parking") {
		if s.holds(term.Hash) {
			t.Errorf("%s is held", term.Token())
		}
	}
}

// Whatever a server returns as a sketch is read or refused.
func FuzzReadSketch(f *testing.F) {
	f.Add(newSketch(lexical.Cut(nil, "some text")), int64(7))
	f.Add("", int64(0))
	f.Add("QQ", int64(1))
	f.Fuzz(func(t *testing.T, packed string, hash int64) {
		s, err := readSketch(packed)
		if err != nil {
			return
		}
		marks := slices.Collect(s.marks)
		if slices.IsSorted(marks) && s.holds(hash) != slices.Contains(marks, uint32(hash&sketchMask)) {
			t.Fatalf("%d in %v", hash, marks)
		}
	})
}
