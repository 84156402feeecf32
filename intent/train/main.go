// Command train makes the weights of the trained stage of package intent from
// the rows in data. The same rows give the same weights, bit for bit.
//
//	go run ./intent/train -out intent/weights.bin
//	go run ./intent/train -check            # whole files left out, one after the other
//	go run ./intent/train -check -test F    # and what rows that are never trained on say
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"strata/intent"
	"strata/internal/eval/intenteval"
)

func main() {
	data := flag.String("data", "intent/train/data", "folder of the rows")
	out := flag.String("out", "", "write the weights to this file")
	check := flag.Bool("check", false, "train without each file in turn and score it")
	test := flag.String("test", "", "also score the rows of this file, each source without those of it that are trained on")
	flag.Parse()
	if err := run(*data, *out, *check, *test); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

func run(data, out string, check bool, test string) error {
	c := intent.Untrained()
	set, err := readAll(c, data)
	if err != nil {
		return err
	}
	if check {
		set.leaveOut()
	}
	if test != "" {
		if err := set.test(c, test); err != nil {
			return err
		}
	}
	if out == "" {
		return nil
	}
	w := set.final()
	return os.WriteFile(out, w.Encode(c.Mark()), 0o644)
}

// row is one labelled message with what the model sees of it.
type row struct {
	intenteval.Row
	group string // that is left out together
	label int
	turns []intent.Sample // of the user's messages, the row's own last
}

type set struct{ rows []row }

func readAll(c *intent.Classifier, dir string) (*set, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no rows in %s: %w", dir, err)
	}
	var s set
	for _, f := range files {
		rows, err := intenteval.ReadFile(f)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(f), ".jsonl")
		for _, r := range rows {
			s.rows = append(s.rows, prepare(c, r, name))
		}
	}
	return &s, nil
}

var labels = []string{"CHAT", "RAG", "DATA"}

func prepare(c *intent.Classifier, r intenteval.Row, group string) row {
	out := row{Row: r, group: group}
	if r.Source != "" {
		out.group = r.Source
	}
	for i, l := range labels {
		if strings.EqualFold(l, r.Label) {
			out.label = i
		}
	}
	for _, m := range r.Messages {
		if m.Role == "user" {
			out.turns = append(out.turns, c.Sample(m.Text))
		}
	}
	out.turns = out.turns[max(0, len(out.turns)-intent.TurnsRead):]
	return out
}
