package weaviate

import (
	"cmp"
	"slices"
	"testing"

	"strata/internal/lexical"
)

func TestSketch(t *testing.T) {
	p := lexical.NewPassage("部署方案 travel expenses v2.3, travel", "travel", "")
	s, err := readSketch(newSketch(p))
	if err != nil {
		t.Fatal(err)
	}
	if s.length != lexical.PackLength(p.Length) {
		t.Errorf("length %d of %d terms", s.length, p.Length)
	}
	for _, term := range p.Terms {
		if got := s.counts(term.Hash); got != term.Counts {
			t.Errorf("%d: counts %x, want %x", term.Hash, got, term.Counts)
		}
	}
	if got := s.counts(lexical.Cut(nil, "travel")[0].Hash); got != 0x12 {
		t.Errorf("counts %x, want two in the text and one in the title", got)
	}
	for _, term := range lexical.Cut(nil, "值班电话 parking") {
		if s.counts(term.Hash) != 0 {
			t.Errorf("%s is held", term.Token())
		}
	}
}

// Whatever a server returns as a sketch is read or refused.
func FuzzReadSketch(f *testing.F) {
	f.Add(newSketch(lexical.NewPassage("some text", "", "")), int64(7))
	f.Add("", int64(0))
	f.Add("QQ", int64(1))
	f.Fuzz(func(t *testing.T, packed string, hash int64) {
		s, err := readSketch(packed)
		if err != nil {
			return
		}
		marks := slices.Collect(s.marks)
		byHash := func(a, b mark) int { return cmp.Compare(a.hash, b.hash) }
		if !slices.IsSortedFunc(marks, byHash) {
			return
		}
		got, want := s.counts(hash), uint32(hash&sketchMask)
		if is := slices.ContainsFunc(marks, func(m mark) bool { return m.hash == want && m.counts == got }); got != 0 && !is {
			t.Fatalf("%d has %d in %v", hash, got, marks)
		}
	})
}

// Two terms that look the same in a sketch are one there.
func TestSketchOfTermsAlike(t *testing.T) {
	p := lexical.Passage{Length: 2, Terms: []lexical.Counted{{Hash: 5, Counts: 1}, {Hash: 5 | 1<<30, Counts: 3}}}
	s, err := readSketch(newSketch(p))
	if marks := slices.Collect(s.marks); err != nil || len(marks) != 1 || s.counts(5) != 3 {
		t.Errorf("%v, %v", marks, err)
	}
}
