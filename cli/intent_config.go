package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"strata/intent"
)

// Lines is a list whose items may hold commas. Written as one text, as in a
// variable, it has an item on each line.
type Lines []string

func (l Lines) String() string {
	quoted := make([]string, len(l))
	for i, item := range l {
		quoted[i] = fmt.Sprintf("%q", item)
	}
	return strings.Join(quoted, ", ")
}

func parseLines(text string) (lines Lines) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// classifier is the configuration's, for commands that decide without a
// running program.
func (p *program) classifier() (*intent.Classifier, error) {
	l, err := p.load()
	if err != nil {
		return nil, err
	}
	c, err := l.classifier()
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// classifier is what decides the intent of requests, with all that the
// configuration adds to it: serving and measuring decide alike. Its errors
// are *keyError.
func (c *Config) classifier() (*intent.Classifier, error) {
	if !c.addsToClassifier() {
		return intent.New(), nil
	}
	added, err := c.intentAdditions()
	if err != nil {
		return nil, err
	}
	out, err := intent.New().With(added)
	if err != nil {
		key, why, _ := strings.Cut(err.Error(), ": ")
		return nil, bad(key, "%s; change or remove it", why)
	}
	return out, nil
}

// addsToClassifier tells whether the configuration says anything of intents.
func (c *Config) addsToClassifier() bool {
	i := &c.Intent
	return i.ExamplesFile != "" || 0 < len(i.Keywords.Chat)+len(i.Keywords.RAG)+len(i.Keywords.Data)+
		len(i.Patterns.Chat)+len(i.Patterns.RAG)+len(i.Patterns.Data)+len(i.Examples.Chat)+len(i.Examples.RAG)+len(i.Examples.Data)
}

// intentAdditions are the keys below intent as the classifier takes them. Of
// examples that say the same of the same words the later one holds, so those
// of the file come first.
func (c *Config) intentAdditions() (out intent.Config, err error) {
	i := &c.Intent
	out.Keywords = map[intent.Intent][]string{intent.Chat: i.Keywords.Chat, intent.RAG: i.Keywords.RAG, intent.Data: i.Keywords.Data}
	out.Patterns = map[intent.Intent][]*regexp.Regexp{}
	if i.ExamplesFile != "" {
		if out.Examples, err = readExamples(i.ExamplesFile); err != nil {
			return out, bad("intent.examples_file", "%s", err)
		}
	}
	for _, e := range []struct {
		kind               intent.Intent
		patterns, examples Lines
	}{{intent.Chat, i.Patterns.Chat, i.Examples.Chat}, {intent.RAG, i.Patterns.RAG, i.Examples.RAG}, {intent.Data, i.Patterns.Data, i.Examples.Data}} {
		for n, text := range e.patterns {
			p, err := regexp.Compile(text)
			if err != nil {
				return out, bad("intent.patterns."+string(e.kind), "item %d, %q, is not a regular expression: %s; in YAML, single quotes keep its backslashes",
					n+1, text, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
			}
			out.Patterns[e.kind] = append(out.Patterns[e.kind], p)
		}
		for _, text := range e.examples {
			out.Examples = append(out.Examples, intent.Example{Text: text, Intent: e.kind})
		}
	}
	return out, nil
}

// readExamples reads a file of {"text": …, "label": …}, one a line. What else
// the rows hold is not looked at, so that a labelled set can be named as it is.
func readExamples(file string) ([]intent.Example, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read; create it or unset the key", file)
	}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, len(b)+1)
	var out []intent.Example
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var row struct{ Text, Label string }
		if json.Unmarshal(lines.Bytes(), &row) != nil || row.Text == "" {
			return nil, fmt.Errorf(`%s:%d is not a row; write it like {"text": "How many days of leave?", "label": "rag"}`, file, n)
		}
		kind, ok := parseIntent(row.Label)
		if !ok {
			return nil, fmt.Errorf("%s:%d: label %q is not one of chat, rag, data", file, n, row.Label)
		}
		out = append(out, intent.Example{Text: row.Text, Intent: kind})
	}
	return out, lines.Err()
}

func parseIntent(text string) (intent.Intent, bool) {
	switch kind := intent.Intent(strings.ToLower(text)); kind {
	case intent.Chat, intent.RAG, intent.Data:
		return kind, true
	}
	return "", false
}

func (c *Config) validateIntent() error {
	if c.Intent.Judge.Model != "" && c.Upstream.APIKey == "" {
		return bad("intent.judge.model", "a model is asked after the answer, and a client's key is never kept for that; set upstream.api_key, or leave this key empty")
	}
	if !c.addsToClassifier() { // making one takes a while, and most commands need none
		return nil
	}
	_, err := c.classifier()
	return err
}
