package memoryeval

import (
	"os"
	"path/filepath"
	"testing"
)

// folder is where the labelled sets are; without them there is nothing to score.
func folder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("STRATA_EVAL")
	if dir == "" {
		t.Skip("STRATA_EVAL is not set")
	}
	return filepath.Join(dir, "memory")
}

func TestWorthinessFloor(t *testing.T) {
	set, err := ReadStatements(filepath.Join(folder(t), "worthiness.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	w := ScoreWorthiness(set)
	t.Logf("n=%d keep_recall=%.3f drop_stored=%.3f by_lang=%v wrong=%v", w.N, w.KeepRecall, w.DropStored, w.ByLang, w.Wrong)
	for lang, l := range w.ByLang {
		if l.KeepRecall < 0.95 || l.DropStored > 0.03 {
			t.Errorf("%s: %+v", lang, l)
		}
	}
}

func TestRelationsFloor(t *testing.T) {
	set, err := ReadPairs(filepath.Join(folder(t), "relations.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	r := ScoreRelations(set)
	t.Logf("n=%d accuracy=%.3f wrong=%v", r.N, r.Accuracy, r.Wrong)
	if r.Accuracy < 0.93 {
		t.Errorf("accuracy %.3f", r.Accuracy)
	}
}

func TestCounting(t *testing.T) {
	w := ScoreWorthiness([]Statement{
		{ID: "1", Lang: "en", Text: "Please always round to two decimals.", Worth: true},
		{ID: "2", Lang: "en", Text: "good morning", Reason: "greeting"},
		{ID: "3", Lang: "zh", Text: "早上好", Reason: "greeting"},
		{ID: "4", Lang: "zh", Text: "以后都用英文回复", Reason: "repeat", Known: []string{"用户要求用英文回复"}},
	})
	if w.N != 4 || w.KeepRecall != 1 || w.DropStored != 0 || w.ByReason["greeting"].Right != 2 || len(w.Wrong) != 0 {
		t.Errorf("%+v", w)
	}
	r := ScoreRelations([]Pair{{ID: "a", Old: "The user lives in Oslo", New: "The user lives in Oslo", Relation: "merge"}, {ID: "b", Old: "The user lives in Oslo", New: "The user likes tea", Relation: "merge"}})
	if r.N != 2 || r.Accuracy != 0.5 || r.ByRelation["merge"].Right != 1 || len(r.Wrong) != 1 {
		t.Errorf("%+v", r)
	}
}
