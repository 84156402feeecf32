// Package memoryeval scores what the learner's rules keep against sets of
// labelled statements, and how two statements are told to stand to each other.
// It decides how answers are counted; it must not know how the rules work.
package memoryeval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"strata/learn"
	"strata/policy"
	"strata/stores"
)

// Statement is one labelled text: a line of worthiness.jsonl.
type Statement struct {
	ID     string   `json:"id"`
	Lang   string   `json:"lang"`
	Text   string   `json:"text"`
	Worth  bool     `json:"worth"`
	Type   string   `json:"type"`
	Reason string   `json:"reason"` // why it is not worth keeping
	Known  []string `json:"known_memories"`
	Source string   `json:"source"`
}

// Pair is two statements and how the new one stands to the old one: a line of
// relations.jsonl.
type Pair struct {
	ID       string `json:"id"`
	Lang     string `json:"lang"`
	Old      string `json:"old"`
	New      string `json:"new"`
	Relation string `json:"relation"` // merge, supersede, separate
}

// Share is n of a whole.
type Share struct {
	N     int     `json:"n"`
	Right int     `json:"right"`
	Share float64 `json:"share"` // Right of N, 0-1
}

func (s *Share) count(right bool) {
	s.N++
	if right {
		s.Right++
	}
	s.Share = float64(s.Right) / float64(s.N)
}

// Language is the worthiness of one language.
type Language struct {
	KeepRecall float64 `json:"keep_recall"` // share of the worthy that is kept
	DropStored float64 `json:"drop_stored"` // share of the unworthy that is kept all the same
}

// Worthiness is the score of a set of statements. ByReason counts, for each
// reason not to keep a text, how many were rightly dropped.
type Worthiness struct {
	N          int                 `json:"n"`
	KeepRecall float64             `json:"keep_recall"`
	DropStored float64             `json:"drop_stored"`
	ByLang     map[string]Language `json:"by_lang"`
	ByReason   map[string]*Share   `json:"by_reason"`
	BySource   map[string]*Share   `json:"by_source"` // right either way

	Wrong []string `json:"-"` // ids
}

// ScoreWorthiness asks for each text what the learner would store of it.
func ScoreWorthiness(set []Statement) Worthiness {
	w := Worthiness{N: len(set), ByLang: map[string]Language{}, ByReason: map[string]*Share{}, BySource: map[string]*Share{}}
	keep, drop := map[string]*Share{}, map[string]*Share{}
	for _, s := range set {
		stored := Stored(s.Text, s.Known)
		at(w.BySource, s.Source).count(stored == s.Worth)
		if stored != s.Worth {
			w.Wrong = append(w.Wrong, s.ID)
		}
		if s.Worth {
			at(keep, s.Lang).count(stored)
			at(keep, "").count(stored)
			continue
		}
		at(drop, s.Lang).count(stored)
		at(drop, "").count(stored)
		at(w.ByReason, s.Reason).count(!stored)
	}
	for lang := range union(keep, drop) {
		w.ByLang[lang] = Language{KeepRecall: at(keep, lang).Share, DropStored: at(drop, lang).Share}
	}
	w.KeepRecall, w.DropStored = at(keep, "").Share, at(drop, "").Share
	delete(w.ByLang, "")
	return w
}

func at(m map[string]*Share, key string) *Share {
	if m[key] == nil {
		m[key] = &Share{}
	}
	return m[key]
}

func union(a, b map[string]*Share) map[string]bool {
	out := map[string]bool{}
	for k := range a {
		out[k] = true
	}
	for k := range b {
		out[k] = true
	}
	return out
}

// Stored reports whether a text of the user would add a memory to known ones.
func Stored(text string, known []string) bool {
	var active []stores.Memory
	for i, k := range known {
		active = append(active, stores.Memory{ID: fmt.Sprint(i), Scope: stores.UserScope, Status: stores.Active, Summary: k})
	}
	for _, c := range learn.Extract(text, time.Now(), time.UTC).Candidates {
		if d := policy.Merge(c, active); d.Action == policy.ActAdd || d.Action == policy.ActSupersede {
			return true
		}
	}
	return false
}

// Relations is the score of a set of pairs. ByRelation counts by the right
// answer.
type Relations struct {
	N          int               `json:"n"`
	Accuracy   float64           `json:"accuracy"`
	ByRelation map[string]*Share `json:"by_relation"`
	ByLang     map[string]*Share `json:"by_lang"`

	Wrong []string `json:"-"` // ids, with what was answered
}

// ScoreRelations asks for each pair how the new statement stands to the old.
func ScoreRelations(set []Pair) Relations {
	r := Relations{N: len(set), ByRelation: map[string]*Share{}, ByLang: map[string]*Share{}}
	var all Share
	for _, p := range set {
		got := policy.Relate(p.Old, p.New)
		if got != p.Relation {
			r.Wrong = append(r.Wrong, p.ID+" "+got)
		}
		all.count(got == p.Relation)
		at(r.ByRelation, p.Relation).count(got == p.Relation)
		at(r.ByLang, p.Lang).count(got == p.Relation)
	}
	r.Accuracy = all.Share
	return r
}

// ReadStatements reads worthiness.jsonl.
func ReadStatements(file string) ([]Statement, error) { return read[Statement](file) }

// ReadPairs reads relations.jsonl.
func ReadPairs(file string) ([]Pair, error) { return read[Pair](file) }

func read[T any](file string) (out []T, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	for {
		var row T
		if err := d.Decode(&row); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, row)
	}
}
