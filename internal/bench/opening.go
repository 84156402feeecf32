package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// openingLine is what go test prints of the two benchmarks of ledger.Open.
var openingLine = regexp.MustCompile(`(?m)^BenchmarkLedger/Open/(\w+)\S*\s.*?([\d.]+) p50-us\s+([\d.]+) p99-us`)

// runOpening runs the ledger's own benchmark, over 1,000 users (100 in quick
// runs) with 20 memories and 50 exchanges each, and takes its figures: no
// other process can see how long one read of it takes.
func runOpening(b *bench) ([]row, error) {
	mod, err := exec.CommandContext(b.ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOMOD: %w", err)
	}
	long := "1s"
	if b.quick {
		long = "200ms"
	}
	cmd := exec.CommandContext(b.ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkLedger$/^Open$", "-benchtime", long, "-short="+strconv.FormatBool(b.quick), "./stores/ledger")
	cmd.Dir = filepath.Dir(strings.TrimSpace(string(mod)))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test: %w\n%s", err, out)
	}
	how := map[string]string{"named": "a session named by header", "linked": "a session found by four pairs"}
	var rows []row
	for _, m := range openingLine.FindAllSubmatch(out, -1) {
		p50, _ := strconv.ParseFloat(string(m[2]), 64)
		p99, _ := strconv.ParseFloat(string(m[3]), 64)
		r := spread{p50, p50, p99}
		rows = append(rows, row{Case: "opening", What: "opening read (ledger.Open), " + how[string(m[1])] + ": p50 (to p99)", Unit: "µs", Result: &r, ResultUnit: "µs", Aim: atMost(50, r)})
	}
	if len(rows) != len(how) {
		return nil, fmt.Errorf("go test printed no figures:\n%s", out)
	}
	return rows, nil
}
