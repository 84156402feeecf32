package policy

import (
	"strings"

	"strata/internal/prefilter"
	"strata/internal/terms"
)

// patterns are those that every sentence and clause is asked, in one family:
// one look at a text tells which of them cannot match.
var patterns prefilter.Set

// closer are those that only statements are asked that may be kept.
var closer prefilter.Set

// Reading is one text, a sentence or a clause, with what was found out about
// it: every question is answered once. It is not for several goroutines.
type Reading struct {
	text string // without the space around it
	hits prefilter.Hits

	asks, lasts answer
	facts       []Fact
	factsRead   bool
	never       string
	neverRead   bool
}

// answer is a question that may not have been asked yet.
type answer uint8

const (
	unasked answer = iota
	yes
	no
)

func answered(is bool) answer {
	if is {
		return yes
	}
	return no
}

// Read looks at a text.
func Read(text string) Reading {
	text = strings.TrimSpace(text)
	return Reading{text: text, hits: patterns.Scan(text)}
}

// Lasting reports whether the text says that it is meant to hold for good.
func (r *Reading) Lasting() bool {
	if r.lasts == unasked {
		r.lasts = answered(lastingWords.May(&r.hits) && lastingWords.Match(strings.ToLower(r.text), &r.hits))
	}
	return r.lasts == yes
}

// Question reports whether the text asks and states nothing.
func (r *Reading) Question() bool {
	if r.asks == unasked {
		r.asks = answered(r.question())
	}
	return r.asks == yes
}

// Facts are the single-valued statements of the text; the caller must not
// change them.
func (r *Reading) Facts() []Fact {
	if !r.factsRead {
		r.facts, r.factsRead = r.findFacts(), true
	}
	return r.facts
}

// NeverStore is the reason why the text may never become a memory, or "".
func (r *Reading) NeverStore() string {
	if !r.neverRead {
		r.never, r.neverRead = r.findNever(), true
	}
	return r.never
}

// normalized is the reading of a text with its forms and case folded: the
// reading itself where that changes no more than ASCII letters.
func (r *Reading) normalized() (low string, reading *Reading) {
	low, same := terms.Fold(r.text)
	if same {
		return low, r
	}
	return low, &Reading{text: low, hits: patterns.Scan(low)}
}
