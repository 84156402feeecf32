// Package compare tells what changed between two versions of a document, line
// by line within the sections that their headings make. It decides what a
// change is and how it is worded; it must not know where versions come from.
package compare

import (
	"bytes"
	"strings"

	// The diff of Go's own tools as a package: anchored on lines that are unique
	// in both texts, so that it takes n log n time on any input.
	"github.com/rogpeppe/go-internal/diff"
)

// Passage is a piece of a version, in the order of the text.
type Passage struct{ Heading, Text string }

// What became of a section.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// Section is a section that differs.
type Section struct {
	Heading string `json:"section"` // path of headings; "" before the first
	Status  string `json:"status"`  // one of the constants
	Lines   string `json:"diff"`    // unified, without file names; ends in LF
}

// Versions returns the sections that differ, in the order of the new version;
// removed ones are where they were.
func Versions(before, after []Passage) []Section {
	from, to := sectionsOf(before), sectionsOf(after)
	var out []Section
	add := func(heading, old, new string) {
		s := Section{Heading: heading, Status: Changed, Lines: lines(old, new)}
		switch {
		case old == new:
			return
		case old == "":
			s.Status = Added
		case new == "":
			s.Status = Removed
		}
		out = append(out, s)
	}
	next := 0 // of from, the first that is not told yet
	for _, heading := range to.order {
		if at, both := from.place[heading]; both {
			for ; next < at; next++ {
				if h := from.order[next]; !to.has(h) {
					add(h, from.text[h], "")
				}
			}
		}
		add(heading, from.text[heading], to.text[heading])
	}
	for ; next < len(from.order); next++ {
		if h := from.order[next]; !to.has(h) {
			add(h, from.text[h], "")
		}
	}
	return out
}

// sections are a version's, by their headings. Sections of the same path are
// one.
type sections struct {
	order []string
	place map[string]int
	text  map[string]string
}

func (s *sections) has(heading string) bool { _, ok := s.place[heading]; return ok }

func sectionsOf(passages []Passage) *sections {
	s := &sections{place: map[string]int{}, text: map[string]string{}}
	parts := map[string][]string{}
	for _, p := range passages {
		if !s.has(p.Heading) {
			s.place[p.Heading] = len(s.order)
			s.order = append(s.order, p.Heading)
		}
		parts[p.Heading] = append(parts[p.Heading], strings.TrimRight(p.Text, "\n")+"\n")
	}
	for heading, list := range parts {
		s.text[heading] = strings.Join(list, "")
	}
	return s
}

// lines is the unified diff of two texts without its head of file names.
func lines(old, new string) string {
	b := diff.Diff("a", []byte(old), "b", []byte(new))
	for range 3 {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		}
	}
	return string(b)
}
