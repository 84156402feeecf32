package intenteval

import (
	"math"

	"strata/intent"
)

// Calibration tells how far confidences can be believed: of verdicts that are
// 0.8 sure eight in ten should be right.
type Calibration struct {
	ECE   float64 `json:"ece"` // expected calibration error: how far off they are on average
	Bins  []Bin   `json:"bins"`
	Under Unsure  `json:"under_0.6"`
}

// Bin is a tenth of the scale; its upper end is in the next one.
type Bin struct {
	From       float64 `json:"from"`
	To         float64 `json:"to"`
	N          int     `json:"n"`
	Confidence float64 `json:"confidence"` // on average
	Accuracy   float64 `json:"accuracy"`
}

// Unsure are the verdicts under a confidence of 0.6.
type Unsure struct {
	N        int     `json:"n"`
	Share    float64 `json:"share"`
	Accuracy float64 `json:"accuracy"`
}

const (
	binCount = 10
	unsure   = .6
)

// calibrate compares confidences with what came true, by the labels alone.
func calibrate(rows []Row, verdicts []intent.Verdict) Calibration {
	c := Calibration{Bins: make([]Bin, binCount)}
	for i := range rows {
		v, right := &verdicts[i], 0.0
		if v.Intent == rows[i].Gold() {
			right = 1
		}
		b := &c.Bins[min(int(v.Confidence*binCount), binCount-1)]
		b.N++
		b.Confidence += v.Confidence
		b.Accuracy += right
		if v.Confidence < unsure {
			c.Under.N++
			c.Under.Accuracy += right
		}
	}
	for i := range c.Bins {
		b := &c.Bins[i]
		b.From, b.To = float64(i)/binCount, float64(i+1)/binCount
		if b.N == 0 {
			continue
		}
		c.ECE += math.Abs(b.Confidence-b.Accuracy) / float64(len(rows))
		b.Confidence /= float64(b.N)
		b.Accuracy /= float64(b.N)
	}
	if c.Under.N > 0 {
		c.Under.Share = float64(c.Under.N) / float64(len(rows))
		c.Under.Accuracy /= float64(c.Under.N)
	}
	return c
}
