// Package intenteval scores an intent classifier on labelled messages: it
// decides what counts as right and how figures are averaged. It must not know
// how the classifier decides.
package intenteval

import (
	"slices"
	"strings"
	"time"

	"strata/intent"
)

// Row is one labelled message.
type Row struct {
	ID       string           `json:"id"`
	Lang     string           `json:"lang"`    // zh or en; found out where it is missing
	Label    string           `json:"label"`   // CHAT, RAG or DATA
	AlsoOK   []string         `json:"also_ok"` // labels that are fair too
	Text     string           `json:"text"`
	History  []Turn           `json:"history"` // oldest first
	Source   string           `json:"source"`
	Subtype  string           `json:"subtype"`
	Files    []string         `json:"files"` // names that came with the message
	Tools    []string         `json:"tools"` // names of the tools that the request offers
	Messages []intent.Message `json:"-"`     // history and text
	Line     int              `json:"-"`     // where it was read
}

// Turn is one earlier message of a row.
type Turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Gold is the row's label.
func (r *Row) Gold() intent.Intent { return intent.Intent(strings.ToLower(r.Label)) }

// Fair tells whether an intent is the label or one that is fair too.
func (r *Row) Fair(said intent.Intent) bool {
	return said == r.Gold() || slices.ContainsFunc(r.AlsoOK, func(l string) bool { return strings.EqualFold(l, string(said)) })
}

// Figures are of one part of the rows.
type Figures struct {
	N        int     `json:"n"`
	Accuracy float64 `json:"accuracy"`
	MacroF1  float64 `json:"macro_f1"`
}

// Lenient counts an also_ok label as right.
type Lenient struct {
	Figures
	ByLang map[string]Figures `json:"by_lang"`
}

// Report is what a run measured.
type Report struct {
	Figures
	ByLang      map[string]Figures                      `json:"by_lang"`
	Lenient     Lenient                                 `json:"lenient"`
	BySource    map[string]Figures                      `json:"by_source"`  // macro F1 over the labels that the source has
	BySubtype   map[string]Figures                      `json:"by_subtype"` // of the handwritten rows
	ByStage     map[string]Figures                      `json:"by_stage"`   // of the classifier
	Confusion   map[intent.Intent]map[intent.Intent]int `json:"confusion"`  // by label, then by what was said
	Calibration Calibration                             `json:"calibration"`
	Micros      float64                                 `json:"us_per_message"`
}

// Classify is a classifier that sees the messages alone.
type Classify func(messages []intent.Message) intent.Verdict

// Score is Assess for rows without files and tools.
func Score(rows []Row, classify Classify) Report {
	r, _ := Assess(rows, func(row *Row) intent.Verdict { return classify(row.Messages) })
	return r
}

// Assess classifies every row and compares. Micros is wall time per row, the
// judging of its history included. The verdicts are in the rows' order.
func Assess(rows []Row, classify func(*Row) intent.Verdict) (Report, []intent.Verdict) {
	verdicts := make([]intent.Verdict, len(rows))
	start := time.Now()
	for i := range rows {
		verdicts[i] = classify(&rows[i])
	}
	took := time.Since(start)
	r := compare(rows, verdicts)
	r.Calibration = calibrate(rows, verdicts)
	if len(rows) > 0 {
		r.Micros = float64(took.Nanoseconds()) / 1e3 / float64(len(rows))
	}
	return r, verdicts
}

func compare(rows []Row, verdicts []intent.Verdict) Report {
	strict, lenient := newTally(), newTally()
	sources, subtypes, stages := newTally(), newTally(), newTally()
	for i := range rows {
		row, said := &rows[i], verdicts[i].Intent
		gold, fair := row.Gold(), row.Gold()
		if row.Fair(said) {
			fair = said
		}
		strict.add(gold, said, "", row.Lang)
		lenient.add(fair, said, "", row.Lang)
		sources.add(gold, said, row.Source)
		stages.add(gold, said, verdicts[i].Stage)
		if row.Source == "handwritten" {
			subtypes.add(gold, said, row.Subtype, row.Lang, row.Lang+"/"+row.Subtype)
		}
	}
	r := Report{ByLang: strict.figures(), BySource: sources.figures(), BySubtype: subtypes.figures(), ByStage: stages.figures(), Confusion: strict[""].table()}
	r.Lenient.ByLang = lenient.figures()
	r.Figures, r.Lenient.Figures = r.ByLang[""], r.Lenient.ByLang[""]
	delete(r.ByLang, "")
	delete(r.Lenient.ByLang, "")
	return r
}

// Miss is a row with the wrong verdict it got.
type Miss struct {
	*Row
	Verdict intent.Verdict
}

// Misses are the rows that got an intent that is not even fair, those first
// where the classifier was surest.
func Misses(rows []Row, verdicts []intent.Verdict) (list []Miss) {
	for i := range rows {
		if !rows[i].Fair(verdicts[i].Intent) {
			list = append(list, Miss{&rows[i], verdicts[i]})
		}
	}
	slices.SortStableFunc(list, func(a, b Miss) int {
		switch {
		case a.Verdict.Confidence > b.Verdict.Confidence:
			return -1
		case a.Verdict.Confidence < b.Verdict.Confidence:
			return 1
		}
		return 0
	})
	return list
}
