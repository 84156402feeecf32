package cli

import (
	"fmt"
	"path"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Models are what is known of models, by name or pattern; the first that
// matches counts.
type Models []Model

// Model is what is known of the models that a pattern matches.
type Model struct {
	Pattern string // * and ? as in file names
	Window  int    // tokens of request and answer together
}

// Window returns the context window of a model, 0 when none is known.
func (m Models) Window(name string) int {
	for _, model := range m {
		if ok, _ := path.Match(flat(model.Pattern), flat(name)); ok {
			return model.Window
		}
	}
	return 0
}

// flat takes the slashes of names such as openai/gpt-4o out of path.Match's
// sight: a * matches them too.
func flat(name string) string { return strings.ReplaceAll(name, "/", "\x00") }

// parseModels reads gpt-4o*=128000,deepseek-*=64000.
func parseModels(text string) (Models, error) {
	var models Models
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		pattern, window, ok := strings.Cut(item, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not pattern=window; write it like gpt-4o*=128000", item)
		}
		model, err := newModel(strings.TrimSpace(pattern), strings.TrimSpace(window))
		if err != nil {
			return nil, err
		}
		models = append(models, model)
	}
	return models, nil
}

func newModel(pattern, window string) (Model, error) {
	n, err := strconv.Atoi(window)
	if err != nil || n < 1 {
		return Model{}, fmt.Errorf("%q is not a window in tokens, such as 128000", window)
	}
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return Model{}, fmt.Errorf("%q is not a model name or pattern, such as gpt-4o*", pattern)
	}
	return Model{pattern, n}, nil
}

func (m Models) String() string {
	items := make([]string, len(m))
	for i, model := range m {
		items[i] = model.Pattern + "=" + strconv.Itoa(model.Window)
	}
	return strings.Join(items, ",")
}

// readModels reads {gpt-4o*: {window: 128000}}.
func (r *fileReader) readModels(s *setting, at string, node *ast.MappingNode) error {
	var models Models
	for _, member := range node.Values {
		pattern, err := scalar(member.Key)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", at, s.key, err)
		}
		body, ok := member.Value.(*ast.MappingNode)
		if !ok || len(body.Values) != 1 || body.Values[0].Key.String() != "window" {
			return fmt.Errorf("%s: %s.%s holds one key, window: 128000", r.at(member.Key), s.key, pattern)
		}
		window, err := scalar(body.Values[0].Value)
		if err != nil {
			return fmt.Errorf("%s: %s.%s.window: %w", r.at(member.Key), s.key, pattern, err)
		}
		model, err := newModel(pattern, window)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", r.at(member.Key), s.key, err)
		}
		models = append(models, model)
	}
	s.value.Set(reflect.ValueOf(models))
	s.origin = at
	return nil
}
