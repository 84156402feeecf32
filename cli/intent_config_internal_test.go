package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/intent"
)

// loadText is the configuration that a file and variables make.
func loadText(t *testing.T, file string, env map[string]string) (*loaded, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "strata.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return load(path, nil, environment{getenv: func(name string) string { return env[name] }, environ: func() []string { return nil }})
}

func mustLoad(t *testing.T, file string, env map[string]string) *loaded {
	t.Helper()
	l, err := loadText(t, file, env)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What the configuration says of intents is what the classifier decides, and
// without it nothing changes.
func TestClassifier(t *testing.T) {
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(rows, []byte("\xef\xbb\xbf"+`{"id":"1","text":"把昨晚的锅炉记录给我过一遍","label":"DATA"}`+"\r\n\n"+`{"text":"The kettle at the north pier hums","label":"chat"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	file := `
intent:
  keywords:
    rag: [zorblax]
    data: ["plumb line, weekly"]
  patterns:
    rag: ['(?i)\btick-\d{2,4}\b']
    chat:
      - ^!!
  examples:
    rag:
      - The kettle at the north pier hums
      - "who may open gate seven, and when"
  examples_file: ` + rows + "\n"
	l := mustLoad(t, file, nil)
	set, err := l.classifier()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := mustLoad(t, "", nil).classifier()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"write me a limerick about Zorblax": "rag example keyword “zorblax”",
		"thanks! the plumb line, weekly":    "data example keyword “plumb line, weekly”",
		"Hi, TICK-123":                      `rag example pattern “(?i)\btick-\d{2,4}\b”`,
		"!! sum up the columns of q3.csv":   "chat example pattern “^!!”",
		"把昨晚的锅炉记录给我过一遍":                     "data example example “把昨晚的锅炉记录给我过一遍”",
		"The kettle at the north pier hums": "rag example example “The kettle at the north pier hums”", // over the file's
		"who may open gate seven and when?": "rag example example “who may open gate seven, and when”",
	} {
		said := []intent.Message{{Role: "user", Text: text}}
		v := set.Classify(said, intent.Hints{})
		if got := fmt.Sprint(v.Intent, " ", v.Stage, " ", v.Rule); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if v := plain.Classify(said, intent.Hints{}); v.Stage == "example" {
			t.Errorf("%s: without a configuration %+v", text, v)
		}
	}
}

// Items with commas stay whole by every way they come.
func TestLines(t *testing.T) {
	for name, l := range map[string]*loaded{
		"list":     mustLoad(t, "intent: {patterns: {rag: ['a{1,3}', 'b, c']}}\n", nil),
		"text":     mustLoad(t, "intent:\n  patterns:\n    rag: |\n      a{1,3}\n\n      b, c\n", nil),
		"variable": mustLoad(t, "", map[string]string{"STRATA_INTENT_PATTERNS_RAG": " a{1,3}\r\nb, c\n"}),
	} {
		if got := fmt.Sprintf("%q %s", []string(l.Intent.Patterns.RAG), l.find("intent.patterns.rag").show()); got != `["a{1,3}" "b, c"] "a{1,3}", "b, c"` {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestIntentDefaults(t *testing.T) {
	byFile := mustLoad(t, "intent:\n  defaults:\n    - {model: hr-*, intent: rag}\n    - {route: /bi/*, intent: DATA}\n    - {model: 'gpt-?', route: /x/v1/chat/completions, intent: data}\n    - {model: '[a-c]*', intent: chat}\n    - {model: late, intent: rag}\n", nil)
	const text = "model=hr-* intent=rag, route=/bi/* intent=data, model=gpt-? route=/x/v1/chat/completions intent=data, model=[a-c]* intent=chat, model=late intent=rag"
	byVariable := mustLoad(t, "", map[string]string{"STRATA_INTENT_DEFAULTS": text})
	for _, l := range []*loaded{byFile, byVariable} {
		if got := l.find("intent.defaults").show(); got != text {
			t.Errorf("shown as %s", got)
		}
		for _, c := range []struct {
			model, route string
			want         intent.Intent
		}{
			{"hr-bot", "/v1/chat/completions", intent.RAG},
			{"hr-eu/bot", "/v1/chat/completions", intent.RAG},
			{"hr-bot", "/bi/v1/chat/completions", intent.RAG}, // the first one
			{"hr", "/v1/chat/completions", ""},
			{"gpt-4", "/bi/v1/chat/completions", intent.Data},
			{"gpt-4", "/bi", ""},
			{"gpt-4", "/x/v1/chat/completions", intent.Data},
			{"gpt-44", "/x/v1/chat/completions", ""},
			{"gpt-4", "/y/v1/chat/completions", ""},
			{"claude", "/v1/chat/completions", intent.Chat},
			{"late", "/v1/chat/completions", intent.RAG},
			{"", "", ""},
		} {
			if got := l.Intent.Defaults.For(c.model, c.route); got != c.want {
				t.Errorf("%q %s: %q, want %q", c.model, c.route, got, c.want)
			}
		}
	}
	all := mustLoad(t, "intent: {defaults: [{intent: rag}]}\n", nil)
	if got := all.Intent.Defaults.For("any", "/thing"); got != intent.RAG {
		t.Errorf("a default for all: %q", got)
	}
}

// A file of examples names the row that is wrong; the judge needs a key and no
// more.
func TestIntentFiles(t *testing.T) {
	for row, want := range map[string]string{
		`{"text":"a","label":"sql"}`: `:2: label "sql" is not one of chat, rag, data`,
		`{"text":"","label":"rag"}`:  ":2 is not a row",
		`{"label":"rag"}`:            ":2 is not a row",
		`rag`:                        ":2 is not a row",
	} {
		path := filepath.Join(t.TempDir(), "rows.jsonl")
		if err := os.WriteFile(path, []byte(`{"text":"a","label":"rag"}`+"\n"+row+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadText(t, "intent: {examples_file: "+path+"}\n", nil); err == nil || !strings.Contains(err.Error(), "intent.examples_file") || !strings.Contains(err.Error(), path+want) {
			t.Errorf("%s: %v", row, err)
		}
	}
	mustLoad(t, "intent: {judge: {model: small}}\nupstream: {api_key: k}\n", nil)
	if _, err := loadText(t, "intent: {judge: {model: small}}\n", nil); err == nil || !strings.Contains(err.Error(), "upstream.api_key") {
		t.Errorf("a judge without a key: %v", err)
	}
}
