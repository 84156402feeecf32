package learn

import (
	"strata/policy"
	"strata/stores"
)

// settledSize is the most bytes of an exchange that Settled looks at: it is
// asked while an answer ends, and the learner has all the time there is.
const settledSize = 16 << 10

// Settled tells of an exchange that is being recorded that there is nothing to
// learn from it and nothing to take out of its texts, as of most: then it is
// learned from as it is recorded, and need not be read, leased and written
// again. In doubt it is not.
func (l *Learner) Settled(e *stores.Exchange) (settled bool) {
	if len(e.Asked)+len(e.Answer) > settledSize || !l.ready.Load() {
		return false
	}
	defer func() {
		if recover() != nil { // the learner will tell of it, and of which exchange
			settled = false
		}
	}()
	own, _ := ownWords(e.Asked)
	for _, sentence := range sentences(own) {
		if !silent(sentence) {
			return false
		}
	}
	return clean(e.Asked) && clean(e.Answer)
}

func clean(text string) bool {
	redacted, _ := policy.Redact(text)
	return redacted == text
}
