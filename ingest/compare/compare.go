// Package compare tells what changed between two versions of a document, line
// by line within the sections that their headings make. It decides what a
// change is and how it is worded; it must not know where versions come from.
package compare

import "iter"

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

// Versions gives the sections that differ, in the order of the new version;
// removed ones are where they were. Only what may differ of a section is in
// memory, one section at a time. It ends with the first error, which is one of
// reading the texts.
func Versions(before, after *Version) iter.Seq2[Section, error] {
	return func(yield func(Section, error) bool) {
		for _, p := range pairs(before, after) {
			s, differs, err := p.compare()
			if err != nil {
				yield(Section{}, err)
				return
			}
			if differs && !yield(s, nil) {
				return
			}
		}
	}
}

// pair is a section in both versions, without text where it is not there.
type pair struct{ before, after *section }

func (p pair) compare() (s Section, differs bool, err error) {
	s.Heading, s.Status = p.after.heading, Changed
	switch {
	case p.before.size == 0:
		s.Status = Added
	case p.after.size == 0:
		s.Status = Removed
	}
	s.Lines, err = lines(p.before, p.after)
	return s, s.Lines != "", err
}

// pairs are all sections in the order in which they are told.
func pairs(before, after *Version) (all []pair) {
	next := 0 // of before, the first that is not told yet
	removed := func(until int) {
		for ; next < until; next++ {
			if s := before.sections[next]; after.named(s.heading) == nil {
				all = append(all, pair{s, &section{heading: s.heading}})
			}
		}
	}
	for _, s := range after.sections {
		old := &section{heading: s.heading}
		if at, both := before.place[s.heading]; both {
			old = before.sections[at]
			removed(at)
		}
		all = append(all, pair{old, s})
	}
	removed(len(before.sections))
	return all
}
