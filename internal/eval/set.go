// Package eval scores what a search returns against judged sets of questions.
// It decides how a set is read and what the figures mean; it knows no index
// and no store, only a function that answers a question with passage ids.
package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"strata/stores"
)

// The files of a retrieval set's folder.
const (
	corpusFile  = "corpus.jsonl"
	queriesFile = "queries.jsonl"
	qrelsFile   = "qrels.jsonl"
)

// Query is one question of a set.
type Query struct {
	ID   string `json:"_id"`
	Text string `json:"text"`
	Lang string `json:"lang"`
}

// Set is a corpus, the questions asked of it, and which passages answer them.
type Set struct {
	Name     string // of its folder
	Passages []stores.Passage
	Queries  []Query
	// Relevant gives the grade of each passage that answers a question, by the
	// ids of question and passage. A grade is above 0.
	Relevant map[string]map[string]int
}

// Load reads a retrieval set: corpus.jsonl, queries.jsonl and qrels.jsonl in
// dir. It returns an error that names file and row of what it cannot read.
func Load(dir string) (Set, error) {
	set := Set{Name: filepath.Base(dir), Relevant: map[string]map[string]int{}}
	type passage struct {
		ID      string `json:"_id"`
		Title   string `json:"title"`
		Heading string `json:"heading"`
		Text    string `json:"text"`
	}
	err := rows(filepath.Join(dir, corpusFile), func(p passage) error {
		if p.ID == "" {
			return errors.New("no _id")
		}
		set.Passages = append(set.Passages, stores.Passage{ID: p.ID, Title: p.Title, Heading: p.Heading, Text: p.Text})
		return nil
	})
	if err != nil {
		return Set{}, err
	}
	err = rows(filepath.Join(dir, queriesFile), func(q Query) error {
		if q.ID == "" {
			return errors.New("no _id")
		}
		set.Queries = append(set.Queries, q)
		return nil
	})
	if err != nil {
		return Set{}, err
	}
	type judgement struct {
		Query   string  `json:"query_id"`
		Passage string  `json:"doc_id"`
		Score   float64 `json:"score"`
	}
	err = rows(filepath.Join(dir, qrelsFile), func(j judgement) error {
		if j.Score <= 0 {
			return nil
		}
		if set.Relevant[j.Query] == nil {
			set.Relevant[j.Query] = map[string]int{}
		}
		set.Relevant[j.Query][j.Passage] = max(1, int(j.Score))
		return nil
	})
	return set, err
}

// LoadAll reads every folder below dir that holds a corpus, by name.
func LoadAll(dir string) ([]Set, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", corpusFile))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("eval: no */%s in %s: %w", corpusFile, dir, fs.ErrNotExist)
	}
	slices.Sort(files)
	var sets []Set
	for _, f := range files {
		set, err := Load(filepath.Dir(f))
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// rows decodes the values of a file one by one; lines may be of any length.
func rows[T any](file string, each func(T) error) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("eval: %w", err)
	}
	defer f.Close()
	dec := json.NewDecoder(f)
	for n := 1; ; n++ {
		var row T
		err := dec.Decode(&row)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = each(row)
		}
		if err != nil {
			return fmt.Errorf("eval: %s, row %d: %w", filepath.Base(file), n, err)
		}
	}
}
