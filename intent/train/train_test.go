package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/intent"
)

func read(t *testing.T) *set {
	t.Helper()
	s, err := readAll(intent.Untrained(), "data")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The embedded weights are those of these rows and this trainer.
func TestWeightsAreOfTheseRows(t *testing.T) {
	if testing.Short() {
		t.Skip("trains on all rows")
	}
	embedded, err := os.ReadFile(filepath.Join("..", "weights.bin"))
	if err != nil {
		t.Fatal(err)
	}
	c := intent.Untrained()
	if !bytes.Equal(read(t).final().Encode(c.Mark()), embedded) {
		t.Error("intent/weights.bin is not what the rows give; make train renews it")
	}
}

// What is trained on some files holds for the others: each of these was
// written apart from the rest.
func TestFilesLeftOut(t *testing.T) {
	s := read(t)
	tuned := &talk{spread: .8}
	_, _, kinds := intent.Sizes()
	for k := range kinds {
		tuned.lean, tuned.own = append(tuned.lean, .7), append(tuned.own, .8)
		if k/4 == elliptic {
			tuned.own[k] = ellipticOwn
		}
	}
	for name, floor := range map[string]float64{"en_b": .85, "zh_a": .86, "handwritten": .95} {
		in, out := s.without(name)
		rows, said := judge(tuned.set(fit(in, 1)), out)
		r := score(rows, said)
		t.Logf("%s: %d rows, accuracy %.3f, macro F1 %.3f", name, r.N, r.Accuracy, r.MacroF1)
		if r.MacroF1 < floor {
			t.Errorf("%s: macro F1 %.3f, at least %.2f expected", name, r.MacroF1, floor)
		}
	}
}

// Training and use see the same features and weigh them alike.
func TestTrainedIsWhatIsUsed(t *testing.T) {
	c := intent.New()
	set := read(t)
	differ := 0
	for i := range set.rows {
		r := &set.rows[i]
		v := c.Classify(r.Messages, intent.Hints{})
		if v.Stage == "model" && !strings.EqualFold(string(v.Intent), r.Label) {
			differ++
		}
	}
	if share := float64(differ) / float64(len(set.rows)); share > .03 {
		t.Errorf("%.3f of the rows that were trained on are taken for something else", share)
	}
}

// Every row is well formed, and no text is there twice with the same history.
func TestRows(t *testing.T) {
	seen := map[string]string{}
	for _, r := range read(t).rows {
		history, err := json.Marshal(r.History)
		if err != nil {
			t.Fatal(err)
		}
		key := r.Text + "\x00" + string(history)
		if r.Text == "" || r.Lang != "en" && r.Lang != "zh" || len(r.turns) == 0 {
			t.Errorf("%s: %+v", r.group, r.Row)
		}
		if before, twice := seen[key]; twice && before != r.Label {
			t.Errorf("%q is %s and %s", r.Text, before, r.Label)
		}
		seen[key] = r.Label
	}
}
