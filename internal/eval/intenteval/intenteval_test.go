package intenteval

import (
	"encoding/json"
	"errors"
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
	for _, key := range []string{`"n":0`, `"accuracy":0`, `"macro_f1":0`, `"by_lang":{`, `"lenient":{`, `"by_source":{`, `"us_per_message":0`,
		`"by_stage":{`, `"confusion":{"chat":{"chat":0,`, `"calibration":{"ece":0,"bins":[{"from":0,"to":0.1,"n":0,"confidence":0,"accuracy":0},`, `"under_0.6":{"n":0,"share":0,"accuracy":0}`} {
		if !strings.Contains(string(b), key) {
			t.Errorf("%s is not in %s", key, b)
		}
	}
}

// What is wrong with a row is named by line and field.
func TestReadRefuses(t *testing.T) {
	const good = `{"label":"chat","text":"hi"}` + "\n\n"
	for text, want := range map[string]string{
		`{"label":"POEM","text":"x"}`:                                            `line 3: label: "POEM"`,
		`{"text":"x"}`:                                                           "line 3: label: missing",
		`{"label":"RAG"}`:                                                        "line 3: text: empty or missing",
		`{"label":"RAG","text":" "}`:                                             "line 3: text: empty or missing",
		`{"label":"RAG","text":7}`:                                               "line 3: text: number does not fit; it holds a string",
		`{"label":"RAG","text":"x","also_ok":["DATE"]}`:                          `line 3: also_ok: "DATE"`,
		`{"label":"RAG","text":"x","also_ok":"CHAT"}`:                            "line 3: also_ok: string does not fit; it holds a list of labels",
		`{"label":"RAG","text":"x","history":[{"role":"bot"}]}`:                  `line 3: history.role: "bot"`,
		`{"label":"RAG","text":"x","history":[{"role":"user","content":["a"]}]}`: "line 3: history.content: array does not fit",
		`{"label":"RAG","text":"x","files":"a.csv"}`:                             "line 3: files: string does not fit; it holds a list of names",
		`{"label":`: "line 3: not one JSON object",
		`{"label":"RAG","text":"x"}{"label":"RAG","text":"x"}`: "line 3: not one JSON object",
		`[]`: "line 3: an object such as",
	} {
		if rows, err := Read(strings.NewReader(good + text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", text, rows, err, want)
		}
	}
	for _, text := range []string{"", "\n \n"} {
		if _, err := Read(strings.NewReader(text)); !errors.Is(err, ErrEmpty) {
			t.Errorf("%q: %v", text, err)
		}
	}
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	if _, err := ReadFile(file); err == nil {
		t.Error("a missing file was read")
	}
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(file); err == nil || !strings.HasPrefix(err.Error(), file+": line 1: ") {
		t.Errorf("the file is not named: %v", err)
	}
}

// Lines may be long, end as on Windows and begin with a byte order mark; a
// language that is not named is found out.
func TestReadTakes(t *testing.T) {
	long := strings.Repeat("long ", 1<<15)
	rows, err := Read(strings.NewReader("\ufeff" + `{"label":"CHAT","text":"` + long + `"}` + "\r\n" +
		`{"label":"Data","text":"用 Python 统计 sales.csv 每个月的销售额","files":["sales.csv"],"tools":["run_sql"]}` + "\r\n" +
		`{"label":"RAG","text":"What does 年假 mean in our leave policy?","lang":"ZH"}` + "\n" +
		`{"label":"RAG","text":"What does 年假 mean in our leave policy?"}` + "\n" + `{"label":"CHAT","text":"?!"}`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"en", "zh", "zh", "en", "en"} {
		if rows[i].Lang != want || rows[i].Line != i+1 {
			t.Errorf("row %d is %s at line %d, want %s", i, rows[i].Lang, rows[i].Line, want)
		}
	}
	if len(rows[0].Text) != len(long) || rows[1].Files[0] != "sales.csv" || rows[1].Tools[0] != "run_sql" {
		t.Errorf("read %d bytes, %v %v", len(rows[0].Text), rows[1].Files, rows[1].Tools)
	}
}

// Confidences are compared with what came true, and verdicts told apart by
// stage.
func TestCalibration(t *testing.T) {
	rows, err := Read(strings.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]intent.Verdict{
		"a": {Intent: intent.Chat, Confidence: 1, Stage: "model"}, // right
		"c": {Intent: intent.Chat, Confidence: .95, Stage: "model"},
		"d": {Intent: intent.RAG, Confidence: .55, Stage: "abstain"},
		"e": {Intent: intent.Chat, Confidence: .35, Stage: "abstain"}, // right
	}
	r, verdicts := Assess(rows, func(row *Row) intent.Verdict { return said[row.Text] })
	c := r.Calibration
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if len(c.Bins) != 10 || c.Bins[9].N != 2 || !near(c.Bins[9].Confidence, .975) || !near(c.Bins[9].Accuracy, .5) || c.Bins[9].From != .9 || c.Bins[9].To != 1 ||
		c.Bins[5].N != 1 || c.Bins[5].Confidence != .55 || c.Bins[3].Accuracy != 1 || c.Bins[4].N != 0 {
		t.Errorf("bins %+v", c.Bins)
	}
	if want := (.475*2 + .55 + .65) / 4; !near(c.ECE, want) {
		t.Errorf("calibration error %v, want %v", c.ECE, want)
	}
	if c.Under != (Unsure{2, .5, .5}) {
		t.Errorf("under 0.6: %+v", c.Under)
	}
	if s := r.ByStage; len(s) != 2 || s["model"].N != 2 || s["abstain"].Accuracy != .5 {
		t.Errorf("stages %+v", s)
	}
	if m := r.Confusion; m[intent.RAG][intent.Chat] != 1 || m[intent.Data][intent.RAG] != 1 || m[intent.Chat][intent.Chat] != 2 || len(m[intent.Data]) != 3 {
		t.Errorf("confusion %v", m)
	}
	// Row c got a label that is fair too.
	if m := Misses(rows, verdicts); len(m) != 1 || m[0].Text != "d" {
		t.Errorf("misses %+v", m)
	}
	for i, sure := range []float64{.6, 0, .9, .7} {
		verdicts[i] = intent.Verdict{Intent: intent.RAG, Confidence: sure}
	}
	if m := Misses(rows, verdicts); len(m) != 3 || m[0].Text+m[1].Text+m[2].Text != "dea" {
		t.Errorf("the surest misses do not come first: %+v", m)
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
