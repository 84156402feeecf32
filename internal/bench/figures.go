package main

import (
	"slices"
	"time"
)

// spread is a figure that was taken several times.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// spreadOf summarises values; it must not be empty.
func spreadOf(values []float64) spread {
	return spread{Median: median(values), Min: slices.Min(values), Max: slices.Max(values)}
}

// median is the middle value, or the mean of the two in the middle; 0 of none.
func median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// pairwise combines the values of the same round.
func pairwise(a, b []float64, f func(a, b float64) float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = f(a[i], b[i])
	}
	return out
}

func ratio(a, b float64) float64 { return a / b }

func difference(a, b float64) float64 { return a - b }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
