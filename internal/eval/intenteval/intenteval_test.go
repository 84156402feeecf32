package intenteval

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/intent"
)

const sample = `{"id":"1","lang":"en","label":"CHAT","text":"a","history":[{"role":"user","content":"b"}],"also_ok":[],"source":"s","subtype":"x"}
{"id":"2","lang":"en","label":"RAG","text":"c","history":[],"also_ok":["CHAT"],"source":"s","subtype":"x"}
{"id":"3","lang":"zh","label":"DATA","text":"d","also_ok":null,"source":"handwritten","subtype":"hard/a"}
{"id":"4","lang":"zh","label":"CHAT","text":"e","source":"handwritten","subtype":"hard/a"}`

func TestScore(t *testing.T) {
	rows, err := Read(strings.NewReader(sample))
	if err != nil || len(rows) != 4 {
		t.Fatal(len(rows), err)
	}
	if m := rows[0].Messages; len(m) != 2 || m[0].Text != "b" || m[1] != (intent.Message{Role: "user", Text: "a"}) {
		t.Errorf("%v", m)
	}
	r := Score(rows, func([]intent.Message) intent.Verdict { return intent.Verdict{Intent: intent.Chat} })
	check := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	check("n", float64(r.N), 4)
	check("accuracy", r.Accuracy, .5)
	check("macro F1", r.MacroF1, 2.0/3/3) // CHAT 2/3, RAG and DATA 0
	check("en", r.ByLang["en"].Accuracy, .5)
	check("en macro F1", r.ByLang["en"].MacroF1, 2.0/3/2)
	check("lenient", r.Lenient.Accuracy, .75)
	check("lenient en", r.Lenient.ByLang["en"].MacroF1, 1)
	check("source", r.BySource["s"].Accuracy, .5)
	check("subtype", r.BySubtype["zh/hard/a"].Accuracy, .5)
	if _, held := r.BySubtype["x"]; held {
		t.Error("a subtype of another source")
	}
}

func TestReportShape(t *testing.T) {
	b, err := json.Marshal(Score(nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`"n":0`, `"accuracy":0`, `"macro_f1":0`, `"by_lang":{`, `"lenient":{`, `"by_source":{`, `"us_per_message":0`} {
		if !strings.Contains(string(b), key) {
			t.Errorf("%s is not in %s", key, b)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, text := range []string{`{"label":"POEM"}`, `{"label":`, `[]`} {
		if rows, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: read as %v", text, rows)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none.jsonl")); err == nil {
		t.Error("a missing file was read")
	}
}

// TestDevelopmentSet holds what the rules reach, a little under it.
func TestDevelopmentSet(t *testing.T) {
	dir := os.Getenv("STRATA_EVAL")
	if dir == "" {
		t.Skip("STRATA_EVAL names no evaluation folder")
	}
	rows, err := ReadFile(filepath.Join(dir, "intent", "dev.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	c := intent.New()
	r := Score(rows, func(m []intent.Message) intent.Verdict { return c.Classify(m, intent.Hints{}) })
	for lang, floor := range map[string]float64{"en": .93, "zh": .91} {
		f, lenient := r.ByLang[lang], r.Lenient.ByLang[lang]
		t.Logf("%s: accuracy %.3f, macro F1 %.3f, lenient macro F1 %.3f", lang, f.Accuracy, f.MacroF1, lenient.MacroF1)
		if f.MacroF1 < floor || lenient.MacroF1 < floor+.01 {
			t.Errorf("%s: macro F1 is under %.2f", lang, floor)
		}
		if hand := r.BySubtype[lang]; hand.MacroF1 < .95 {
			t.Errorf("%s: handwritten rows %+v", lang, hand)
		}
	}
	for source, f := range r.BySource {
		t.Logf("%-20s %4d rows, accuracy %.3f", source, f.N, f.Accuracy)
		if f.Accuracy < .78 {
			t.Errorf("%s: accuracy %.3f: the rules miss this kind of message", source, f.Accuracy)
		}
	}
	t.Logf("%.1f us a message", r.Micros)
}
