package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// setting is one key of the configuration.
type setting struct {
	key    string // upstream.base_url
	doc    string
	secret bool
	value  reflect.Value
	origin string // default, file:line, a variable, a flag
}

// loaded is a configuration with where each value came from.
type loaded struct {
	Config
	settings []*setting
	file     string // "" when there is none
	warnings []string
}

// environment is what loading reads besides files.
type environment struct {
	getenv  func(string) string
	environ func() []string
}

// fileCandidates is where a configuration is looked for when --config names
// none.
func (e environment) fileCandidates() []string {
	config := e.getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(e.getenv("HOME"), ".config")
	}
	return []string{"strata.yaml", filepath.Join(config, "strata", "strata.yaml"), "/etc/strata/strata.yaml"}
}

// load reads defaults, the file, the variables and the flags, later ones
// winning, and validates the result. Every error is one sentence that names
// the key and the fix.
func load(path string, flags map[string]string, env environment) (*loaded, error) {
	l := &loaded{Config: defaults(env.getenv)}
	l.settings = collectSettings(reflect.ValueOf(&l.Config).Elem(), "")
	if path == "" {
		for _, candidate := range env.fileCandidates() {
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
	for key, value := range flags {
		if err := l.find(key).set(value, "flag"); err != nil {
			return nil, err
		}
	}
	if err := l.validate(); err != nil {
		return nil, err
	}
	return l, nil
}

func collectSettings(v reflect.Value, prefix string) []*setting {
	var out []*setting
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key := prefix + f.Tag.Get("yaml")
		if f.Type.Kind() == reflect.Struct {
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

// setFile takes a secret from a file.
func (s *setting) setFile(path, origin string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: the secret file %s cannot be read; create it or unset %s", origin, path, origin)
	}
	return s.set(strings.TrimRight(string(b), "\r\n"), origin)
}

// readFile reads a YAML file, refusing keys it does not know.
func (l *loaded) readFile(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--config: %s cannot be read; name a file that exists, or make one with `strata config init`", path)
	}
	l.file = path
	file, err := parser.ParseBytes(b, 0)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("%s: not valid YAML: %s", path, first)
	}
	for _, doc := range file.Docs {
		if err := l.readNode(path, "", doc.Body); err != nil {
			return err
		}
	}
	return nil
}

func (l *loaded) readNode(path, prefix string, node ast.Node) error {
	switch n := node.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return nil
	case *ast.MappingNode:
		seen := map[string]bool{}
		for _, member := range n.Values {
			key := prefix + member.Key.String()
			at := fmt.Sprintf("%s:%d", path, member.Key.GetToken().Position.Line)
			if seen[key] {
				return fmt.Errorf("%s: %s is there twice; remove one", at, key)
			}
			seen[key] = true
			if err := l.readMember(path, at, key, member.Value); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%s:%d: expected keys and values", path, node.GetToken().Position.Line)
}

func (l *loaded) readMember(path, at, key string, node ast.Node) error {
	s := l.find(key)
	if s == nil {
		if base, ok := strings.CutSuffix(key, "_file"); ok && l.find(base) != nil && l.find(base).secret {
			return l.find(base).setFile(scalar(node), at+" "+key)
		}
		if l.isGroup(key) {
			return l.readNode(path, key+".", node)
		}
		return fmt.Errorf("%s: unknown key %s; did you mean %s?", at, key, nearest(key, l.keys()))
	}
	if _, empty := node.(*ast.NullNode); empty {
		return nil
	}
	if list, ok := node.(*ast.SequenceNode); ok {
		if s.value.Kind() != reflect.Slice {
			return fmt.Errorf("%s: %s takes one value, not a list", at, key)
		}
		var items []string
		for _, item := range list.Values {
			items = append(items, scalar(item))
		}
		s.value.Set(reflect.ValueOf(items))
		s.origin = at
		return nil
	}
	if _, ok := node.(*ast.MappingNode); ok {
		return fmt.Errorf("%s: %s takes one value, not keys", at, key)
	}
	return s.set(scalar(node), at)
}

// scalar returns the text of a plain, quoted or block value.
func scalar(node ast.Node) string {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	}
	return node.GetToken().Value
}

func (l *loaded) isGroup(key string) bool {
	return slices.ContainsFunc(l.settings, func(s *setting) bool { return strings.HasPrefix(s.key, key+".") })
}

func (l *loaded) keys() []string {
	var keys []string
	for _, s := range l.settings {
		keys = append(keys, s.key)
	}
	return keys
}

func nearest(word string, words []string) string {
	return slices.MinFunc(words, func(a, b string) int {
		return levenshtein.ComputeDistance(word, a) - levenshtein.ComputeDistance(word, b)
	})
}

// variable is a key's name in the environment.
func variable(key string) string {
	return "STRATA_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// serviceLink matches the variables that Kubernetes sets for a Service called
// strata or strata-something.
var serviceLink = regexp.MustCompile(`^STRATA_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

func (l *loaded) readVariables(env environment) error {
	known := map[string]bool{}
	var names []string
	for _, s := range l.settings {
		name := variable(s.key)
		names = append(names, name)
		known[name] = true
		value, path := env.getenv(name), ""
		if s.secret {
			known[name+"_FILE"] = true
			path = env.getenv(name + "_FILE")
		}
		switch {
		case value != "" && path != "":
			return fmt.Errorf("%s and %s_FILE are both set; unset one", name, name)
		case path != "":
			if err := s.setFile(path, name+"_FILE"); err != nil {
				return err
			}
		case value != "":
			if err := s.set(value, name); err != nil {
				return err
			}
		}
	}
	for _, entry := range env.environ() {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "STRATA_") && value != "" && !known[name] && !serviceLink.MatchString(name) {
			l.warnings = append(l.warnings, fmt.Sprintf("unknown variable %s is ignored; did you mean %s?", name, nearest(name, names)))
		}
	}
	slices.Sort(l.warnings)
	return nil
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
