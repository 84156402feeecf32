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
	// floorZH is the part of a floor that holds for Chinese, where covers are
	// lower: half of the right questions' best is above 0.41 and of foreign
	// ones' above 0.14, in English above 0.54 and 0.29.
	floorZH = 0.7
	// sureOfFloor floors are enough whatever unrelated questions find.
	sureOfFloor = 2
	// aboveUnrelated is how much better the best passage has to fit than those
	// that unrelated questions find, as a logarithm: 1.5 times.
	aboveUnrelated = 0.43
	// perDeviation is what a cosine is worth, as a logarithm of fit, for each
	// deviation that it is above those of unrelated texts.
	perDeviation = 0.5
	// nearRest is how many deviations above unrelated texts a passage has to be
	// that hardly has words of the question.
	nearRest = 3
	// nearAlone is the same for the best one, where nothing else tells that the
	// question is on the subject.
	nearAlone = 4.5
	// leastFit stands for all that is less, as a logarithm.
	leastFit = -3
)

// bar is how well passages must fit a question.
type bar struct {
	floor     float64 // share of the question that the best passage must cover; 0 = nothing is asked
	sure      float64
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
	return c.cover >= b.floor*restOfFloor || b.deviations(c.cosine) >= nearRest
}

// passes tells whether the best cover, fit and cosine of what was found show
// that it is on the question's subject.
func (b *bar) passes(best *candidate) bool {
	away, u := b.deviations(best.cosine), &b.unrelated
	enough := best.cover >= b.floor*restOfFloor
	switch {
	case b.floor <= 0 || best.cover >= b.sure:
		return true
	case b.noise.SD > 0 && u.near:
		return logFit(best.fit)+perDeviation*away >= u.both+aboveUnrelated && (enough || away >= nearRest)
	case u.words:
		return enough && logFit(best.fit) >= u.fit+aboveUnrelated || away >= nearAlone
	}
	return best.cover >= b.floor || away >= nearAlone
}

func logFit(fit float64) float64 { return max(leastFit, math.Log(max(fit, 1e-9))) }
