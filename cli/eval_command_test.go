package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

const labelledRows = `{"text":"How many days of annual leave does the policy allow?","label":"RAG","source":"mine"}
{"text":"统计每个部门的加班时长并排名","label":"DATA","source":"mine"}
{"text":"把这段话改得更礼貌一点：会议改到下周。","label":"CHAT","source":"other"}
{"text":"and for interns?","label":"RAG","history":[{"role":"user","content":"How is parental leave approved under the policy?"},{"role":"assistant","content":"By your manager."}]}
{"text":"anything odd in here?","label":"DATA","files":["q3.xlsx"]}
{"text":"the busiest day in May","label":"DATA","tools":["run_sql"]}
{"text":"Write a short poem about spring.","label":"DATA","also_ok":["CHAT"]}
{"text":"Write a short poem about autumn.","label":"RAG"}
`

// The figures that scripts rely on, of rows whose verdicts are plain.
func TestEvalIntentJSON(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := run(t, dir, nil, "eval", "intent", write(t, dir, "rows.jsonl", labelledRows), "--json")
	type figures struct {
		N        int     `json:"n"`
		Accuracy float64 `json:"accuracy"`
		MacroF1  float64 `json:"macro_f1"`
	}
	var r struct {
		figures
		ByLang  map[string]figures `json:"by_lang"`
		Lenient struct {
			Accuracy float64            `json:"accuracy"`
			ByLang   map[string]figures `json:"by_lang"`
		} `json:"lenient"`
		BySource    map[string]figures        `json:"by_source"`
		Confusion   map[string]map[string]int `json:"confusion"`
		Calibration struct {
			ECE   *float64
			Bins  []struct{ N int }
			Under *struct{ N int } `json:"under_0.6"`
		} `json:"calibration"`
		Stages map[string]figures `json:"by_stage"`
		Micros float64            `json:"us_per_message"`
	}
	d := json.NewDecoder(strings.NewReader(stdout))
	if err := d.Decode(&r); code != 0 || err != nil || d.More() {
		t.Fatalf("%d %v %s\n%s", code, err, stderr, stdout)
	}
	if r.N != 8 || r.Accuracy != .75 || r.Lenient.Accuracy != .875 || r.MacroF1 <= 0 || r.Micros <= 0 {
		t.Errorf("all: %+v", r)
	}
	if r.ByLang["zh"].N != 2 || r.ByLang["zh"].Accuracy != 1 || r.ByLang["en"].N != 6 || r.Lenient.ByLang["en"].Accuracy <= r.ByLang["en"].Accuracy {
		t.Errorf("languages: %+v, lenient %+v", r.ByLang, r.Lenient.ByLang)
	}
	if r.BySource["mine"].N != 2 || r.Confusion["rag"]["chat"] != 1 || r.Confusion["data"]["chat"] != 1 || r.Confusion["data"]["data"] != 3 {
		t.Errorf("sources %v, confusion %v", r.BySource, r.Confusion)
	}
	if c := r.Calibration; c.ECE == nil || len(c.Bins) != 10 || c.Under == nil || r.Stages["structure"].N != 2 {
		t.Errorf("calibration %+v, stages %v", c, r.Stages)
	}
}

func TestEvalIntentText(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "rows.jsonl", labelledRows)
	code, stdout, stderr := run(t, dir, nil, "eval", "intent", file)
	for _, want := range []string{"8 rows, ", "zh        2     1.000", "all       8     0.750     ", "rag    1        2       0", "mine    2     1.000", "none    5",
		"structure  2     1.000", "0.9 to 1.0  ", "Confidences are off by "} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("%d %s: no %q in\n%s", code, stderr, want, stdout)
		}
	}
	if strings.Contains(stdout, "poem") {
		t.Errorf("messages are shown though nobody asked for them:\n%s", stdout)
	}
	_, stdout, _ = run(t, dir, nil, "eval", "intent", file, "--misses", "5")
	if !strings.Contains(stdout, "poem about autumn") || strings.Contains(stdout, "poem about spring") || !strings.Contains(stdout, "8     rag    chat  ") {
		t.Errorf("misses:\n%s", stdout)
	}
	config := write(t, dir, "keyword.yaml", "intent:\n  keywords:\n    rag: [autumn]\n")
	if _, stdout, _ = run(t, dir, nil, "eval", "intent", file, "--config", config); !strings.Contains(stdout, "all       8     0.875") || !strings.Contains(stdout, "example") {
		t.Errorf("not with what is configured:\n%s", stdout)
	}
	_, stdout, _ = run(t, dir, nil, "eval", "intent", write(t, dir, "one.jsonl", `{"text":"你好呀","label":"chat"}`))
	if !strings.Contains(stdout, "zh        1     1.000") || strings.Contains(stdout, "SOURCE") {
		t.Errorf("a table of nothing:\n%s", stdout)
	}
}

// A row that is wrong is named by file, line and field; so is a file with
// nothing to score.
func TestEvalIntentMistakes(t *testing.T) {
	dir := t.TempDir()
	bad := write(t, dir, "bad.jsonl", labelledRows+`{"text":"x","label":"FAQ"}`)
	empty := write(t, dir, "empty.jsonl", "\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{bad}, bad + `: line 9: label: "FAQ" is not CHAT, RAG or DATA`},
		{[]string{empty}, "nothing to score"},
		{[]string{"-"}, "nothing to score"},
		{[]string{filepath.Join(dir, "none.jsonl")}, "none.jsonl"},
		{[]string{}, "a file of labelled messages"},
		{[]string{bad, "--misses", "-1"}, "--misses"},
		{[]string{bad, "--config", write(t, dir, "wrong.yaml", "mood: good\n")}, "mood"},
	} {
		if code, stdout, stderr := run(t, dir, nil, append([]string{"eval", "intent"}, c.args...)...); code != 2 || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: %d %q %q; want %q", c.args, code, stdout, stderr, c.want)
		}
	}
	if code, stdout, _ := run(t, dir, nil, "eval", "intent", "--help"); code != 0 || !strings.Contains(stdout, "Examples:\n  strata eval intent") {
		t.Errorf("help: %d %s", code, stdout)
	}
}
