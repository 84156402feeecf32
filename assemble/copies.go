package assemble

import "slices"

// unlike are passages of which none says what one taken before does, so that
// a text that stands in many documents counts once.
type unlike struct {
	r      *knowledgeReader
	taken  map[int]bool // by place among the candidates: false is a copy
	texts  map[string]bool
	prints []*fingerprint
}

func (r *knowledgeReader) newUnlike() *unlike {
	return &unlike{r: r, taken: map[int]bool{}, texts: map[string]bool{}}
}

// take tells whether a candidate that was read is one of them, and takes it if
// it says something new.
func (u *unlike) take(i int) bool {
	taken, known := u.taken[i]
	if known {
		return taken
	}
	c := &u.r.all[i]
	// The same text is known by itself, without a fingerprint: there may be
	// thousands of copies.
	if text := c.passage.Text; !u.texts[text] {
		u.texts[text] = true
		if c.print == nil {
			c.print = fingerprintOf(text)
		}
		taken = !slices.ContainsFunc(u.prints, c.print.repeats)
	}
	if u.taken[i] = taken; taken {
		u.prints = append(u.prints, c.print)
	}
	return taken
}

// served is how many of the passages that fit were read, as far as they are
// wanted, and how many more say what one of these does.
func (r *knowledgeReader) served() (n, copies int) {
	kept := r.newUnlike()
	for i := range r.all {
		switch c := &r.all[i]; {
		case c.passage == nil || !r.bar.clears(c):
		case kept.take(i):
			if n++; n >= r.want {
				return n, copies
			}
		default:
			copies++
		}
	}
	return n, copies
}

// take takes what was read and fits, but for copies among the best, and
// returns ids of what does not fit.
func (r *knowledgeReader) take() (under []string) {
	kept := r.newUnlike()
	for _, i := range r.order() {
		switch c := &r.all[i]; {
		case c.passage == nil || !r.bar.clears(c):
			if !c.asked && len(under) < maxSkipped {
				under = append(under, c.id)
			}
		case len(r.found) >= r.want+spare || kept.take(i):
			r.found = append(r.found, found{c.passage, c.cover, c.cosine, c.print})
		case len(r.copies) < maxSkipped:
			r.copies = append(r.copies, c.id)
		}
	}
	return under
}
