package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"strata/intent"
	"strata/internal/eval/intenteval"
)

func (p *program) evalCommand() *cobra.Command {
	return group("eval", "Measure on rows of your own how well Strata decides and finds",
		"  strata eval intent rows.jsonl\n  strata eval retrieval sets/handbook --json", p.evalIntentCommand(), p.evalRetrievalCommand())
}

func (p *program) evalIntentCommand() *cobra.Command {
	var asJSON bool
	var misses int
	cmd := &cobra.Command{
		Use: "intent FILE", Short: "Measure how well kinds of question are told apart",
		Long: `Classify labelled messages with what is configured here and show how many are
right. FILE (- for standard input) has one JSON object a line: text and label
(CHAT, RAG or DATA), and where there is more to say lang (zh or en), history
([{role, content}], oldest first), also_ok (labels that are fair too), source,
files and tools (names that come with the request). Documents are not asked.`,
		Example: `  strata eval intent rows.jsonl
  strata eval intent rows.jsonl --misses 20
  strata eval intent rows.jsonl --json | jq .by_lang.zh.macro_f1
  echo '{"text":"How many days of leave do I have?","label":"RAG"}' | strata eval intent -`,
		Args: exactlyOne("a file of labelled messages, or - for standard input"),
		RunE: func(_ *cobra.Command, args []string) error {
			if misses < 0 {
				return usageError{errors.New("--misses: a whole number from 0")}
			}
			return p.evalIntent(args[0], asJSON, misses)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().IntVar(&misses, "misses", 0, "also show the worst misses, this many")
	return cmd
}

func (p *program) evalIntent(path string, asJSON bool, misses int) error {
	c, err := p.classifier()
	if err != nil {
		return err
	}
	rows, err := p.labelled(path)
	if err != nil {
		return usageError{err}
	}
	r, verdicts := intenteval.Assess(rows, func(row *intenteval.Row) intent.Verdict {
		return c.Classify(row.Messages, intent.Hints{Files: row.Files, Tools: row.Tools})
	})
	if asJSON {
		return p.printJSON(r)
	}
	fmt.Fprintf(p.stdout, "%d rows, %.1f µs a message\n", r.N, r.Micros)
	if err := p.printTables(scoreTables(&r)...); err != nil {
		return err
	}
	u := r.Calibration.Under
	fmt.Fprintf(p.stdout, "\nConfidences are off by %.3f on average; %.1f %% of verdicts are under 0.6, and %.3f of those right.\n", r.Calibration.ECE, 100*u.Share, u.Accuracy)
	return p.printTables(missTable(intenteval.Misses(rows, verdicts), misses))
}

func (p *program) labelled(path string) (rows []intenteval.Row, err error) {
	if path == "-" {
		rows, err = intenteval.Read(p.stdin)
		if err != nil {
			err = fmt.Errorf("standard input: %w", err)
		}
	} else {
		rows, err = intenteval.ReadFile(path)
	}
	if errors.Is(err, intenteval.ErrEmpty) {
		return nil, fmt.Errorf("%w; there is nothing to score: give a row a line, such as {\"text\":\"…\",\"label\":\"RAG\"}", err)
	}
	return rows, err
}

// printTables shows tables one below the other; those without rows are left
// out.
func (p *program) printTables(tables ...*table) error {
	for _, t := range tables {
		if len(t.rows) == 1 {
			continue
		}
		fmt.Fprintln(p.stdout)
		if err := t.write(p.stdout); err != nil {
			return err
		}
	}
	return nil
}

// scoreTables are the report's figures for people.
func scoreTables(r *intenteval.Report) []*table {
	langs := newTable("LANGUAGE", "ROWS", "ACCURACY", "MACRO F1", "LENIENT", "LENIENT F1")
	addLang := func(name string, f, lenient intenteval.Figures) {
		langs.add(name, strconv.Itoa(f.N), share(f.Accuracy), share(f.MacroF1), share(lenient.Accuracy), share(lenient.MacroF1))
	}
	for _, lang := range slices.Sorted(maps.Keys(r.ByLang)) {
		addLang(lang, r.ByLang[lang], r.Lenient.ByLang[lang])
	}
	addLang("all", r.Figures, r.Lenient.Figures)

	kinds := []intent.Intent{intent.Chat, intent.RAG, intent.Data}
	confusion := newTable("LABEL", "AS CHAT", "AS RAG", "AS DATA")
	for _, gold := range kinds {
		cells := []string{string(gold)}
		for _, said := range kinds {
			cells = append(cells, strconv.Itoa(r.Confusion[gold][said]))
		}
		confusion.add(cells...)
	}
	return []*table{langs, confusion, parts("SOURCE", r.BySource), parts("STAGE", r.ByStage), reliability(r.Calibration.Bins)}
}

// parts is a table of the figures of each part, without rows where no part has
// a name.
func parts(what string, figures map[string]intenteval.Figures) *table {
	t := newTable(what, "ROWS", "ACCURACY")
	for _, k := range slices.Sorted(maps.Keys(figures)) {
		if k == "" && len(figures) == 1 {
			break
		}
		t.add(cmp.Or(k, "none"), strconv.Itoa(figures[k].N), share(figures[k].Accuracy))
	}
	return t
}

// reliability shows how sure verdicts were, and how many of those were right.
func reliability(bins []intenteval.Bin) *table {
	t := newTable("CONFIDENCE", "ROWS", "MEAN", "ACCURACY")
	for _, b := range bins {
		if b.N > 0 {
			t.add(fmt.Sprintf("%.1f to %.1f", b.From, b.To), strconv.Itoa(b.N), share(b.Confidence), share(b.Accuracy))
		}
	}
	return t
}

func missTable(misses []intenteval.Miss, most int) *table {
	t := newTable("LINE", "LABEL", "SAID", "SURE", "BY", "TEXT")
	for _, m := range misses[:min(most, len(misses))] {
		v := &m.Verdict
		t.add(strconv.Itoa(m.Line), string(m.Gold()), string(v.Intent), fmt.Sprintf("%.2f", v.Confidence), v.Stage, m.Text)
	}
	return t
}

func share(f float64) string { return fmt.Sprintf("%.3f", f) }
