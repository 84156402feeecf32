package assemble

import (
	"slices"
	"unicode"
)

// fingerprint is what a text is compared by: digests of its runs of three
// words or characters, a quarter of them, and where those agree its numbers.
type fingerprint struct {
	runs []uint64 // sorted
	all  []uint64 // all runs, where they were needed
	text string
}

const (
	sameText = 0.9 // share of a text's runs that another one holds too
	fewRuns  = 8   // below it all runs are compared
)

func fingerprintOf(text string) *fingerprint {
	return &fingerprint{runs: runsOf(text, 3), text: text}
}

// runsOf returns the runs whose digests have none of mask's bits.
func runsOf(text string, mask uint64) []uint64 {
	var a, b uint64
	words, runs := 0, make([]uint64, 0, len(text)/8+4)
	forWords(text, func(word uint64) {
		words++
		if run := mix(mix(a, b), word); words > 2 && run>>32&mask == 0 {
			runs = append(runs, run)
		}
		a, b = b, word
	})
	slices.Sort(runs)
	return slices.Compact(runs)
}

// repeats reports whether the text says hardly anything that the other one
// does not: a rule with another number is another rule.
func (fp *fingerprint) repeats(other *fingerprint) bool {
	if fp.text == other.text {
		return true
	}
	a, b := fp.runs, other.runs
	if len(a) < fewRuns {
		a, b = fp.allRuns(), other.allRuns()
	}
	if len(a) == 0 || float64(shared(a, b)) < sameText*float64(len(a)) {
		return false
	}
	return subset(numbers(fp.text), numbers(other.text))
}

func (fp *fingerprint) allRuns() []uint64 {
	if fp.all == nil {
		fp.all = runsOf(fp.text, 0)
	}
	return fp.all
}

func shared(a, b []uint64) int {
	n := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			n, i, j = n+1, i+1, j+1
		}
	}
	return n
}

func subset(a, b []string) bool {
	for _, s := range a {
		if !slices.Contains(b, s) {
			return false
		}
	}
	return true
}

// forWords calls do with a digest of each word, and of each character of
// scripts that write no spaces.
func forWords(text string, do func(uint64)) {
	h := uint64(0)
	for _, r := range text {
		switch {
		case r < 0x80 && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9'):
			h = mix(h+1, uint64(r))
		case r >= 0x4E00 && r <= 0x9FFF || r >= 0x2E80 && unicode.IsLetter(r):
			if h != 0 {
				do(h)
				h = 0
			}
			do(mix(1, uint64(r)))
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			h = mix(h+1, uint64(unicode.ToLower(r)))
		case h != 0:
			do(h)
			h = 0
		}
	}
	if h != 0 {
		do(h)
	}
}

func mix(h, x uint64) uint64 {
	h = (h ^ x) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}
