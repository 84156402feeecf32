package cli

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"strata/intent"
)

// IntentDefaults are the intents of requests whose words decide nothing, by
// where the request goes; the first that matches counts.
type IntentDefaults []IntentDefault

// IntentDefault is one of them.
type IntentDefault struct {
	Model, Route string // as file names, with * and ?; "" = any
	Intent       intent.Intent
}

// For returns the default of a request by its model and path, "" when there
// is none.
func (d IntentDefaults) For(model, route string) intent.Intent {
	fits := func(glob, name string) bool {
		ok, _ := path.Match(flat(glob), flat(name))
		return ok || glob == ""
	}
	for _, e := range d {
		if fits(e.Model, model) && fits(e.Route, route) {
			return e.Intent
		}
	}
	return ""
}

func (d IntentDefaults) String() string {
	items := make([]string, len(d))
	for i, e := range d {
		for _, field := range []struct{ name, value string }{{"model", e.Model}, {"route", e.Route}, {"intent", string(e.Intent)}} {
			if field.value != "" {
				items[i] += " " + field.name + "=" + field.value
			}
		}
	}
	return strings.TrimPrefix(strings.Join(items, ","), " ")
}

// set takes one field of a default.
func (e *IntentDefault) set(name, value string) error {
	field := map[string]*string{"model": &e.Model, "route": &e.Route}[name]
	if name == "intent" {
		kind, ok := parseIntent(value)
		if e.Intent = kind; !ok {
			return fmt.Errorf("intent: %q is not one of chat, rag, data", value)
		}
		return nil
	}
	if field == nil {
		return fmt.Errorf("%q is not one of model, route, intent", name)
	}
	if _, err := path.Match(value, ""); err != nil || value == "" {
		return fmt.Errorf("%s: %q is not a name or pattern; write it like gpt-4o* or /hr/*", name, value)
	}
	*field = value
	return nil
}

// parseDefaults reads model=hr-* route=/hr/* intent=rag, model=bi-* intent=data.
func parseDefaults(text string) (out IntentDefaults, err error) {
	for item := range strings.SplitSeq(text, ",") {
		fields := strings.Fields(item)
		if len(fields) == 0 {
			continue
		}
		var e IntentDefault
		for _, field := range fields {
			name, value, _ := strings.Cut(field, "=")
			if err := e.set(name, value); err != nil {
				return nil, fmt.Errorf("item %d: %w", len(out)+1, err)
			}
		}
		if e.Intent == "" {
			return nil, fmt.Errorf("item %d: no intent; write it like model=hr-* intent=rag", len(out)+1)
		}
		out = append(out, e)
	}
	return out, nil
}

// readDefaults reads [{model: hr-*, route: /hr/*, intent: rag}].
func (r *fileReader) readDefaults(s *setting, at string, node *ast.SequenceNode) error {
	var out IntentDefaults
	for n, item := range node.Values {
		fail := func(where ast.Node, err error) error {
			return fmt.Errorf("%s: %s: item %d: %w", r.at(where), s.key, n+1, err)
		}
		var e IntentDefault
		members, ok := item.(*ast.MappingNode)
		if !ok {
			return fail(item, errors.New("not {model: hr-*, intent: rag}"))
		}
		for _, member := range members.Values {
			value, err := scalar(member.Value)
			if err == nil {
				err = e.set(member.Key.String(), value)
			}
			if err != nil {
				return fail(member.Key, err)
			}
		}
		if e.Intent == "" {
			return fail(item, errors.New("no intent; add one, such as intent: rag"))
		}
		out = append(out, e)
	}
	s.value.Set(reflect.ValueOf(out))
	s.origin = at
	return nil
}
