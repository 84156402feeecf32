package compare

import (
	"io"
	"slices"
	"strings"
)

// Passage is a piece of a version, in the order of the text.
type Passage struct{ Heading, Text string }

// Texts is an empty file for the text of a version, which may be larger than
// memory.
type Texts interface {
	io.Writer
	io.ReaderAt
}

// Version is one version of a document, by the sections that its headings make.
// Passages of the same heading are one section. Make it with NewVersion.
type Version struct {
	texts    Texts
	written  int64
	sections []*section
	place    map[string]int // in sections, by heading
}

// NewVersion returns a version without passages. It keeps texts.
func NewVersion(texts Texts) *Version { return &Version{texts: texts, place: map[string]int{}} }

// Add adds the next passage.
func (v *Version) Add(p Passage) error {
	n, err := io.WriteString(v.texts, strings.TrimRight(p.Text, "\n")+"\n")
	if err != nil {
		return err
	}
	s := v.named(p.Heading)
	if s == nil {
		s = &section{heading: p.Heading, texts: v.texts}
		v.place[s.heading] = len(v.sections)
		v.sections = append(v.sections, s)
	}
	s.add(v.written, int64(n))
	v.written += int64(n)
	return nil
}

// named is the section of a heading, nil if there is none.
func (v *Version) named(heading string) *section {
	if at, there := v.place[heading]; there {
		return v.sections[at]
	}
	return nil
}

// section is the text under one heading.
type section struct {
	heading string
	texts   io.ReaderAt
	pieces  []piece // in their order
	size    int64
}

// piece is some text of a section that stands together.
type piece struct {
	from, end int64 // within the section
	at        int64 // where its begin is in the texts
}

func (s *section) add(at, size int64) {
	if n := len(s.pieces); n > 0 && s.pieces[n-1].at+s.pieces[n-1].end-s.pieces[n-1].from == at {
		s.pieces[n-1].end += size
	} else {
		s.pieces = append(s.pieces, piece{s.size, s.size + size, at})
	}
	s.size += size
}

// read fills b with the text from an offset on, all of which must be there.
func (s *section) read(b []byte, from int64) error {
	i, _ := slices.BinarySearchFunc(s.pieces, from, func(p piece, from int64) int {
		if p.end <= from {
			return -1
		}
		return 1
	})
	for ; len(b) > 0; i++ {
		p := s.pieces[i]
		n := min(int64(len(b)), p.end-from)
		if _, err := s.texts.ReadAt(b[:n], p.at+from-p.from); err != nil {
			return err
		}
		b, from = b[n:], from+n
	}
	return nil
}
