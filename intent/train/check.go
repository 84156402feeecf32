package main

import (
	"fmt"
	"slices"

	"strata/intent"
	"strata/internal/eval/intenteval"
)

// folds are the groups of rows, each left out once.
func (s *set) groups() (names []string) {
	for i := range s.rows {
		if !slices.Contains(names, s.rows[i].group) {
			names = append(names, s.rows[i].group)
		}
	}
	slices.Sort(names)
	return names
}

func (s *set) without(group string) (in, out []*row) {
	for i := range s.rows {
		if s.rows[i].group == group {
			out = append(out, &s.rows[i])
		} else {
			in = append(in, &s.rows[i])
		}
	}
	return in, out
}

// settle weighs every row by what the others teach, group by group.
func (s *set) settle() (list []settled) {
	for _, g := range s.groups() {
		in, out := s.without(g)
		w := fit(in, 1)
		for _, r := range out {
			x := settled{label: r.label}
			for i := range r.turns {
				x.turns = append(x.turns, weigh(w, &r.turns[i], false))
				x.leans = append(x.leans, r.turns[i].Lean)
			}
			list = append(list, x)
		}
	}
	return list
}

// final is the model of all rows.
func (s *set) final() *intent.Weights {
	all, _ := s.without("")
	return tune(s.settle()).set(fit(all, 1))
}

// leaveOut reports on each group by a model that never saw it.
func (s *set) leaveOut() {
	t := tune(s.settle())
	fmt.Printf("spread %.2f lean %.2f own %.2f\n", t.spread, t.lean, t.own)
	var all []intenteval.Row
	var said []intent.Intent
	for _, g := range s.groups() {
		in, out := s.without(g)
		w := t.set(fit(in, 1))
		rows, verdicts := judge(w, out)
		report(g, rows, verdicts)
		all, said = append(all, rows...), append(said, verdicts...)
	}
	report("all", all, said)
}

func judge(w *intent.Weights, list []*row) (rows []intenteval.Row, said []intent.Intent) {
	for _, r := range list {
		sum := fold(w, r.turns)
		best := 0
		for k := range sum {
			if sum[k] > sum[best] {
				best = k
			}
		}
		rows = append(rows, r.Row)
		said = append(said, []intent.Intent{intent.Chat, intent.RAG, intent.Data}[best])
	}
	return rows, said
}

// score compares what was said of rows, in their order.
func score(rows []intenteval.Row, said []intent.Intent) intenteval.Report {
	i := -1
	return intenteval.Score(rows, func([]intent.Message) intent.Verdict { i++; return intent.Verdict{Intent: said[i]} })
}

func report(name string, rows []intenteval.Row, said []intent.Intent) {
	r := score(rows, said)
	fmt.Printf("%-22s n=%-5d accuracy %.3f", name, r.N, r.Accuracy)
	for _, lang := range []string{"en", "zh"} {
		if f, ok := r.ByLang[lang]; ok {
			fmt.Printf("  %s F1 %.3f lenient %.3f", lang, f.MacroF1, r.Lenient.ByLang[lang].MacroF1)
		}
	}
	for k, f := range r.BySubtype {
		if k == "en" || k == "zh" {
			fmt.Printf("  hand %s %.3f", k, f.MacroF1)
		}
	}
	fmt.Println()
}

// test scores other rows; each source of them by a model that had none of its
// rows.
func (s *set) test(c *intent.Classifier, file string) error {
	rows, err := intenteval.ReadFile(file)
	if err != nil {
		return err
	}
	bySource := map[string][]*row{}
	for _, r := range rows {
		x := prepare(c, r, "")
		bySource[r.Source] = append(bySource[r.Source], &x)
	}
	t := tune(s.settle())
	var all []intenteval.Row
	var said []intent.Intent
	names := make([]string, 0, len(bySource))
	for name := range bySource {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		in, _ := s.without(name)
		w := t.set(fit(in, 1))
		rows, verdicts := judge(w, bySource[name])
		report(name, rows, verdicts)
		all, said = append(all, rows...), append(said, verdicts...)
	}
	report("all", all, said)
	return nil
}
