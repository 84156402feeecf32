package assemble

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"strata/stores"
)

// TestMemoryReadOnTurns measures the lexical read over raw turns, where the
// evaluation data is at hand: how often a turn that answers is among the five
// best, and above the floor.
func TestMemoryReadOnTurns(t *testing.T) {
	dir := os.Getenv("STRATA_EVAL")
	if dir == "" {
		t.Skip("STRATA_EVAL names no evaluation data")
	}
	least := map[string]float64{"locomo": 0.38, "memorybank_zh": 0.65, "everos_solo_zh": 0.65}
	for set, want := range least {
		got, above := recallOnTurns(t, filepath.Join(dir, "memory", set))
		t.Logf("%s: recall@5 %.3f, of them above the floor %.3f", set, got, above)
		if got < want {
			t.Errorf("%s: recall@5 %.3f, want at least %.2f", set, got, want)
		}
	}
}

func recallOnTurns(t *testing.T, dir string) (recall, above float64) {
	type turn struct {
		ID   string `json:"turn_id"`
		Text string `json:"text"`
	}
	type conversation struct {
		ID       string `json:"conv_id"`
		Sessions []struct {
			Turns []turn `json:"turns"`
		} `json:"sessions"`
	}
	type question struct {
		Conv       string   `json:"conv_id"`
		Question   string   `json:"question"`
		Answerable bool     `json:"answerable"`
		Gold       []string `json:"gold_turn_ids"`
	}
	rows := map[string]*Rows{}
	for _, c := range readJSONL[conversation](t, filepath.Join(dir, "conversations.jsonl")) {
		var list []stores.Memory
		for _, s := range c.Sessions {
			for _, u := range s.Turns {
				list = append(list, stores.Memory{ID: u.ID, Summary: u.Text})
			}
		}
		rows[c.ID] = Prepare(list)
	}
	n := 0.0
	for _, q := range readJSONL[question](t, filepath.Join(dir, "questions.jsonl")) {
		if !q.Answerable || len(q.Gold) == 0 {
			continue
		}
		n++
		r := rows[q.Conv]
		share, held := r.cover(topics(q.Question))
		order := make([]int, len(share))
		for i := range order {
			order[i] = i
		}
		score := func(i int) float64 {
			return share[i] * (1 + focusBoost*float64(held[i])/float64(max(1, r.list[i].terms)))
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score(b), score(a)) })
		for _, i := range order[:min(5, len(order))] {
			if slices.Contains(q.Gold, r.list[i].ID) {
				recall += 1 / float64(len(q.Gold))
				if share[i] >= memoryFloor {
					above += 1 / float64(len(q.Gold))
				}
			}
		}
	}
	return recall / n, above / n
}

func readJSONL[T any](t *testing.T, file string) (out []T) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := json.NewDecoder(f); ; {
		var v T
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
}
