package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	for name, tc := range map[string]struct {
		values []float64
		want   float64
	}{
		"none": {nil, 0},
		"one":  {[]float64{4}, 4},
		"odd":  {[]float64{9, 1, 5}, 5},
		"even": {[]float64{8, 2, 4, 1}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			given := slices.Clone(tc.values)
			if got := median(given); got != tc.want {
				t.Errorf("median of %v is %v, want %v", tc.values, got, tc.want)
			}
			if !slices.Equal(given, tc.values) {
				t.Errorf("the values were reordered: %v", given)
			}
		})
	}
}

func TestRatioIsTakenWithinEachPair(t *testing.T) {
	// The machine was half as fast in the second round: both got slower.
	bare := &contender{cpu: []float64{10, 20, 10}}
	strata := &contender{cpu: []float64{12, 24, 13}}
	got := cpuRow("c", "w", bare, strata, 1.2)
	if *got.Result != (spread{Median: 1.2, Min: 1.2, Max: 1.3}) || !got.Aim.Met {
		t.Errorf("result %+v, aim %+v", *got.Result, *got.Aim)
	}
}

func TestMarkdown(t *testing.T) {
	wide := spread{Median: 1.234, Min: 1.1, Max: 1.4}
	one := spread{Median: 58.7, Min: 58.7, Max: 58.7}
	slow := spread{Median: 2999, Min: 2000, Max: 3100}
	rep := report{
		Machine: machine{CPU: "Example 1", Cores: 2, OS: "linux/amd64", Go: "go1.26"},
		Rows: []row{
			{What: "met", Unit: "µs", Bare: 30.04, Strata: 37, Result: &wide, ResultUnit: "x", Aim: atMost(1.3, wide)},
			{What: "missed", Unit: "µs", Bare: 30, Strata: 37, Result: &wide, ResultUnit: "x", Aim: atMost(1.2, wide)},
			{What: "exact", Unit: "MB", Strata: 58.7, Result: &one, ResultUnit: "MB", Aim: atMost(58.7, one)},
			{What: "too few", Unit: "/s", Strata: 2999, Result: &slow, ResultUnit: "/s", Aim: atLeast(3000, slow)},
			{What: "for information", Unit: "ms", Direct: 0.1234, Bare: 1, Strata: 2},
		},
	}
	var b strings.Builder
	if err := rep.writeMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	want := `| measured | direct | bare forwarder | Strata | result (min to max) | aim | |
|---|---:|---:|---:|---:|---:|---|
| met |  | 30.0 µs | 37.0 µs | 1.23x (1.10 to 1.40) | ≤ 1.3x | PASS |
| missed |  | 30.0 µs | 37.0 µs | 1.23x (1.10 to 1.40) | ≤ 1.2x | over |
| exact |  |  | 58.7 MB | 58.7 MB | ≤ 58.7 MB | PASS |
| too few |  |  | 2999 /s | 2999 /s (2000 to 3100) | ≥ 3000 /s | under |
| for information | 0.123 ms | 1.000 ms | 2.000 ms |  |  |  |

2 cores, Example 1, linux/amd64, go1.26; each proxy on one core (GOMAXPROCS=1), memory without that limit.
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestJSON(t *testing.T) {
	result := spread{Median: 1.5, Min: 1, Max: 2}
	rep := report{Quick: true, Rows: []row{{Case: "walk", Strata: 3, Result: &result, Aim: atMost(1, result)}}}
	var b strings.Builder
	if err := rep.writeJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Rows) != 1 || *back.Rows[0].Result != result || back.Rows[0].Aim.Met || !back.Quick {
		t.Errorf("read back %+v from %s", back, b.String())
	}
}

func TestFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want settings
		err  string
	}{
		"none":         {nil, settings{}, ""},
		"all":          {[]string{"-quick", "-json", "-only", "memory", "-strata", "p"}, settings{true, true, "memory", "p"}, ""},
		"unknown case": {[]string{"-only", "speed"}, settings{}, "there is pass, walk"},
		"an argument":  {[]string{"walk"}, settings{}, "unexpected argument"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readFlags(tc.args)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want one with %q", err, tc.err)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
}
