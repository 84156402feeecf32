package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
)

// setting is one key of the configuration.
type setting struct {
	key    string // upstream.base_url
	doc    string
	secret bool
	value  reflect.Value
	origin string // default, file:line, a variable, --flag
}

// loaded is a configuration with where each value came from.
type loaded struct {
	Config
	settings []*setting
	file     string // "" when there is none
	warnings []string
}

// flagValue is a key given on the command line.
type flagValue struct{ name, key, value string }

// environment is what loading reads besides files.
type environment struct {
	getenv  func(string) string
	environ func() []string
}

// fileCandidates is where a configuration is looked for when --config names
// none.
func (e environment) fileCandidates() []string {
	candidates := []string{"strata.yaml"}
	if config := e.getenv("XDG_CONFIG_HOME"); config != "" {
		candidates = append(candidates, filepath.Join(config, "strata", "strata.yaml"))
	} else if home := e.getenv("HOME"); home != "" {
		candidates = append(candidates, filepath.Join(home, ".config", "strata", "strata.yaml"))
	}
	return append(candidates, "/etc/strata/strata.yaml")
}

// load reads defaults, the file, the variables and the flags, later ones
// winning, and validates the result. Every error is one sentence that names
// the key and the fix.
func load(path string, flags []flagValue, env environment) (*loaded, error) {
	l := &loaded{Config: defaults(env.getenv)}
	l.settings = collectSettings(reflect.ValueOf(&l.Config).Elem(), "")
	if path == "" {
		for _, candidate := range env.fileCandidates() {
			// A folder of somebody else, as HOME often is in a container, counts as
			// absent; a file that is there but cannot be read does not.
			if _, err := os.Stat(candidate); err == nil {
				path = candidate
				break
			}
		}
	}
	if path != "" {
		if err := l.readFile(path); err != nil {
			return nil, err
		}
	}
	if err := l.readVariables(env); err != nil {
		return nil, err
	}
	for _, f := range flags {
		if err := l.find(f.key).set(f.value, "--"+f.name); err != nil {
			return nil, err
		}
	}
	err := l.validate()
	if e, ok := errors.AsType[*keyError](err); ok {
		if origin := l.find(e.key).origin; origin != "default" {
			return nil, fmt.Errorf("%s (%s): %s", e.key, origin, e.why)
		}
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

func collectSettings(v reflect.Value, prefix string) []*setting {
	var out []*setting
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key := prefix + f.Tag.Get("yaml")
		if f.Type.Kind() == reflect.Struct { // a group of keys
			out = append(out, collectSettings(v.Field(i), key+".")...)
			continue
		}
		out = append(out, &setting{key: key, doc: f.Tag.Get("doc"), secret: f.Tag.Get("secret") != "", value: v.Field(i), origin: "default"})
	}
	return out
}

func (l *loaded) find(key string) *setting {
	i := slices.IndexFunc(l.settings, func(s *setting) bool { return s.key == key })
	if i < 0 {
		return nil
	}
	return l.settings[i]
}

// set parses one value.
func (s *setting) set(text, origin string) error {
	fail := func(why string) error { return fmt.Errorf("%s (%s): %s", s.key, origin, why) }
	switch s.value.Interface().(type) {
	case time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return fail(fmt.Sprintf("%q is not a duration; write it like 30s or 15m", text))
		}
		s.value.SetInt(int64(d))
	case Size:
		n, err := ParseSize(text)
		if err != nil {
			return fail(err.Error())
		}
		s.value.SetInt(int64(n))
	case int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fail(fmt.Sprintf("%q is not a whole number", text))
		}
		s.value.SetInt(int64(n))
	case Models:
		models, err := parseModels(text)
		if err != nil {
			return fail(err.Error())
		}
		s.value.Set(reflect.ValueOf(models))
	case IntentDefaults:
		list, err := parseDefaults(text)
		if err != nil {
			return fail(err.Error())
		}
		s.value.Set(reflect.ValueOf(list))
	case Lines:
		s.value.Set(reflect.ValueOf(parseLines(text)))
	case []string:
		var list []string
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		s.value.Set(reflect.ValueOf(list))
	default:
		s.value.SetString(text)
	}
	s.origin = origin
	return nil
}

// setFile takes a secret from the file at path. An empty one is an error: a
// key that is not there would silently be the client's own.
func (s *setting) setFile(path, origin, name string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s (%s): the secret file %s cannot be read; create it or unset %s", s.key, origin, path, name)
	}
	text := strings.TrimRight(string(b), "\r\n")
	if text == "" {
		return fmt.Errorf("%s (%s): the secret file %s is empty; fill it or unset %s", s.key, origin, path, name)
	}
	return s.set(text, origin)
}

// keysBelow lists the keys that begin with prefix.
func (l *loaded) keysBelow(prefix string) []string {
	var keys []string
	for _, s := range l.settings {
		if strings.HasPrefix(s.key, prefix) {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// known lists what may stand in a file: keys, the _file twins of secrets, and
// the groups they are in.
func (l *loaded) known() []string {
	var names []string
	for _, s := range l.settings {
		names = append(names, s.key)
		if s.secret {
			names = append(names, s.key+"_file")
		}
		if group, _, nested := strings.Cut(s.key, "."); nested && !slices.Contains(names, group) {
			names = append(names, group)
		}
	}
	return names
}

// suggest ends a message about an unknown word with the nearest known one, or
// with where all are listed when none is near.
func suggest(word string, known []string) string {
	distance := func(name string) int {
		d := levenshtein.ComputeDistance(word, name)
		// A key in the wrong group, or without its group, is near to its name.
		return min(d, 1+levenshtein.ComputeDistance(word[strings.LastIndex(word, ".")+1:], name[strings.LastIndex(name, ".")+1:]))
	}
	nearest := slices.MinFunc(known, func(a, b string) int { return distance(a) - distance(b) })
	if 2*distance(nearest) > len(word) {
		return "`strata config init -` lists all"
	}
	return "did you mean " + nearest + "?"
}

// show returns a value for people; secrets are masked.
func (s *setting) show() string {
	switch v := s.value.Interface().(type) {
	case []string:
		return strings.Join(v, ",")
	case time.Duration:
		return showDuration(v)
	case string:
		if s.secret && v != "" {
			return "****"
		}
		return v
	}
	return fmt.Sprint(s.value.Interface())
}

// showDuration is Duration.String without its zero tail (15m, not 15m0s).
func showDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
