package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
)

// row is one line of the table. A figure of 0 was not measured.
type row struct {
	Case   string  `json:"case"`
	What   string  `json:"what"`
	Unit   string  `json:"unit"` // of direct, bare and strata
	Direct float64 `json:"direct,omitempty"`
	Bare   float64 `json:"bare,omitempty"`
	Strata float64 `json:"strata,omitempty"`
	// Result is what the aim speaks of: a ratio (unit x), a difference, or the
	// figure of Strata itself.
	Result     *spread `json:"result,omitempty"`
	ResultUnit string  `json:"result_unit,omitempty"`
	Aim        *aim    `json:"aim,omitempty"`
}

// aim is a figure to stay below, or with AtLeast above, inclusive.
type aim struct {
	Limit   float64 `json:"limit"`
	AtLeast bool    `json:"at_least,omitempty"`
	Met     bool    `json:"met"`
}

func atMost(limit float64, got spread) *aim { return &aim{Limit: limit, Met: got.Median <= limit} }

func atLeast(limit float64, got spread) *aim {
	return &aim{Limit: limit, AtLeast: true, Met: got.Median >= limit}
}

func (a *aim) verdict() string {
	switch {
	case a == nil:
		return ""
	case a.Met:
		return "PASS"
	case a.AtLeast:
		return "under"
	}
	return "over"
}

type machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	OS    string `json:"os"`
	Go    string `json:"go"`
}

func thisMachine() machine {
	return machine{CPU: cpuModel(), Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
}

type report struct {
	Machine machine `json:"machine"`
	Quick   bool    `json:"quick,omitempty"`
	Rows    []row   `json:"rows"`
}

func (r report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

func (r report) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| measured | direct | bare forwarder | Strata | result (min to max) | aim | |\n|---|---:|---:|---:|---:|---:|---|\n")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", row.What,
			figure(row.Direct, row.Unit), figure(row.Bare, row.Unit), figure(row.Strata, row.Unit),
			row.resultCell(), row.aimCell(), row.Aim.verdict())
	}
	fmt.Fprintf(&b, "\n%d cores, %s, %s, %s; each proxy on one core (GOMAXPROCS=1), memory without that limit.\n",
		r.Machine.Cores, orUnknown(r.Machine.CPU), r.Machine.OS, r.Machine.Go)
	if r.Quick {
		b.WriteString("Short runs: the figures are rough.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r row) resultCell() string {
	if r.Result == nil {
		return ""
	}
	median := figure(r.Result.Median, r.ResultUnit)
	if r.Result.Min == r.Result.Max {
		return median
	}
	return fmt.Sprintf("%s (%s to %s)", median, digits(r.Result.Min, r.ResultUnit), digits(r.Result.Max, r.ResultUnit))
}

func (r row) aimCell() string {
	if r.Aim == nil {
		return ""
	}
	sign := "≤"
	if r.Aim.AtLeast {
		sign = "≥"
	}
	text := strconv.FormatFloat(r.Aim.Limit, 'f', -1, 64)
	if r.ResultUnit == "x" {
		return sign + " " + text + "x"
	}
	return sign + " " + text + " " + r.ResultUnit
}

func figure(v float64, unit string) string {
	switch {
	case v == 0:
		return ""
	case unit == "x":
		return digits(v, unit) + "x"
	}
	return digits(v, unit) + " " + unit
}

// digits writes as many as the unit deserves.
func digits(v float64, unit string) string {
	places := 1
	switch unit {
	case "x":
		places = 2
	case "ms":
		places = 3
	case "/s":
		places = 0
	}
	return strconv.FormatFloat(v, 'f', places, 64)
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown CPU"
	}
	return s
}
