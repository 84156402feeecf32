// Package intenteval scores an intent classifier on labelled messages: it
// decides what counts as right and how figures are averaged. It must not know
// how the classifier decides.
package intenteval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"strata/intent"
)

// Row is one labelled message.
type Row struct {
	ID       string           `json:"id"`
	Lang     string           `json:"lang"`    // zh or en
	Label    string           `json:"label"`   // CHAT, RAG or DATA
	AlsoOK   []string         `json:"also_ok"` // labels that are fair too
	Text     string           `json:"text"`
	History  []Turn           `json:"history"` // oldest first
	Source   string           `json:"source"`
	Subtype  string           `json:"subtype"`
	Messages []intent.Message `json:"-"` // history and text
}

// Turn is one earlier message of a row.
type Turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
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
	ByLang    map[string]Figures `json:"by_lang"`
	Lenient   Lenient            `json:"lenient"`
	BySource  map[string]Figures `json:"by_source"`  // macro F1 over the labels that the source has
	BySubtype map[string]Figures `json:"by_subtype"` // of the handwritten rows
	Micros    float64            `json:"us_per_message"`
}

// Classify is the classifier under test.
type Classify func(messages []intent.Message) intent.Verdict

// Read reads rows, one JSON object after the other.
func Read(r io.Reader) ([]Row, error) {
	d := json.NewDecoder(r)
	var rows []Row
	for {
		var row Row
		if err := d.Decode(&row); errors.Is(err, io.EOF) {
			return rows, nil
		} else if err != nil {
			return nil, fmt.Errorf("row %d: %w", len(rows)+1, err)
		}
		if !slices.Contains(labels, intent.Intent(strings.ToLower(row.Label))) {
			return nil, fmt.Errorf("row %d (%s): label %q is not CHAT, RAG or DATA", len(rows)+1, row.ID, row.Label)
		}
		for _, t := range row.History {
			row.Messages = append(row.Messages, intent.Message{Role: t.Role, Text: t.Content})
		}
		row.Messages = append(row.Messages, intent.Message{Role: "user", Text: row.Text})
		rows = append(rows, row)
	}
}

// ReadFile reads the rows of a file.
func ReadFile(path string) ([]Row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rows, nil
}

// Score classifies every row and compares. Micros is wall time per row, the
// judging of its history included.
func Score(rows []Row, classify Classify) Report {
	said := make([]intent.Intent, len(rows))
	start := time.Now()
	for i, row := range rows {
		said[i] = classify(row.Messages).Intent
	}
	took := time.Since(start)
	strict, lenient := newTally(), newTally()
	sources, subtypes := newTally(), newTally()
	for i, row := range rows {
		gold := intent.Intent(strings.ToLower(row.Label))
		fair := gold
		if slices.ContainsFunc(row.AlsoOK, func(l string) bool { return strings.EqualFold(l, string(said[i])) }) {
			fair = said[i]
		}
		strict.add(gold, said[i], "", row.Lang)
		lenient.add(fair, said[i], "", row.Lang)
		sources.add(gold, said[i], row.Source)
		if row.Source == "handwritten" {
			subtypes.add(gold, said[i], row.Subtype, row.Lang, row.Lang+"/"+row.Subtype)
		}
	}
	r := Report{ByLang: strict.figures(), BySource: sources.figures(), BySubtype: subtypes.figures()}
	r.Lenient.ByLang = lenient.figures()
	r.Figures, r.Lenient.Figures = r.ByLang[""], r.Lenient.ByLang[""]
	delete(r.ByLang, "")
	delete(r.Lenient.ByLang, "")
	if len(rows) > 0 {
		r.Micros = float64(took.Nanoseconds()) / 1e3 / float64(len(rows))
	}
	return r
}
