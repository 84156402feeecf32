package assemble

import (
	"math"

	"strata/stores"
)

const (
	// restOfFloor is what the further passages must cover once the best one
	// covers the plan's floor: whether anything is on the subject shows at the
	// best, and what answers is often worded otherwise than the question. On
	// two judged sets this finds 2 to 4 % more than one floor for all, and a
	// question about something else still gets nothing.
	restOfFloor = 0.5
	// restMeasured is the same where it is known what unrelated questions find:
	// then the best one tells more.
	restMeasured = 0.25
	// floorZH is the part of a floor that holds for Chinese, where covers are
	// lower: half of the right questions' best is above 0.41 and of foreign
	// ones' above 0.14, in English above 0.54 and 0.29.
	floorZH = 0.7
	// sureOfFloor floors are enough whatever unrelated questions find.
	sureOfFloor = 2
	// aboveUnrelated is how much better the best passage has to fit than those
	// that unrelated questions find, as a logarithm: 1.5 times.
	aboveUnrelated = 0.41
	// nearRest is how many deviations above unrelated texts a passage has to be
	// that hardly has words of the question: about as near as the nearest of some
	// thousand texts that have nothing to do with it.
	nearRest = 3
	// perDeviation is what a cosine adds for each deviation above nearEven, and
	// takes away for each below it, as a logarithm of fit.
	nearEven     = 3.25
	perDeviation = 0.25
	// nearAlone is how many deviations are enough for the best passage whatever
	// words it has: the question may be in another language.
	nearAlone = 4.5
	// leastFit stands for all that is less, as a logarithm.
	leastFit = -3
)

// bar is how well passages must fit a question.
type bar struct {
	floor     float64 // share of the question that the best passage must cover; 0 = nothing is asked
	sure      float64
	strict    bool // the best passage must cover floor in any case
	language  string
	noise     stores.Noise // of the vectors; no SD = they were not asked
	unrelated unrelated
}

func barOf(floor float64, language string) bar {
	b := bar{floor: floor, sure: sureOfFloor * floor, language: language}
	if language == "zh" {
		b.floor *= floorZH
	}
	return b
}

// deviations is how far a cosine is above those of unrelated texts.
func (b *bar) deviations(cosine float64) float64 {
	if b.noise.SD <= 0 || cosine == 0 {
		return 0
	}
	return max(0, (cosine-b.noise.Mean)/b.noise.SD)
}

// clears tells whether a passage fits well enough to be given where the best
// one passes.
func (b *bar) clears(c *candidate) bool {
	return c.cover >= b.rest() || b.deviations(c.cosine) >= nearRest
}

// rest is the cover that every passage must have that is given for its words.
func (b *bar) rest() float64 {
	if b.unrelated.known {
		return b.floor * restMeasured
	}
	return b.floor * restOfFloor
}

// passes tells whether the best cover, fit and cosine of what was found show
// that it is on the question's subject. A rare name shows it by itself: in a
// Chinese question the words around it weigh more and may stand nowhere.
func (b *bar) passes(best *candidate) bool {
	away := b.deviations(best.cosine)
	switch {
	case b.strict && best.cover < b.floor:
		return false
	case b.floor <= 0 || best.cover >= b.sure || away >= nearAlone || best.named:
		return true
	case !b.unrelated.known:
		return best.cover >= b.floor
	}
	fit := logFit(best.fit)
	if b.noise.SD > 0 {
		fit += perDeviation * (away - nearEven)
	}
	return best.cover >= b.rest() && fit >= b.unrelated.fit+aboveUnrelated
}

func logFit(fit float64) float64 { return max(leastFit, math.Log(max(fit, 1e-9))) }
