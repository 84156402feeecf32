package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// fileReader carries one YAML file into the settings. It works on the parsed
// nodes: decoding into the struct would know neither the line of a value nor
// the nearest key to a mistyped one.
type fileReader struct {
	*loaded
	path string
	seen map[string]string // key -> where it was
}

// readFile reads a YAML file, refusing keys it does not know.
func (l *loaded) readFile(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: the configuration cannot be read; name a readable file with --config, or make one with `strata config init`", path)
	}
	l.file = path
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")) // as Windows editors begin a file
	file, err := parser.ParseBytes(b, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		if positioned, ok := errors.AsType[yaml.Error](err); ok && positioned.GetToken() != nil {
			return fmt.Errorf("%s:%d: not valid YAML: %s", path, positioned.GetToken().Position.Line, positioned.GetMessage())
		}
		first, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("%s: not valid YAML: %s", path, first)
	}
	r := &fileReader{loaded: l, path: path, seen: map[string]string{}}
	for _, doc := range file.Docs {
		if _, directive := doc.Body.(*ast.DirectiveNode); directive {
			continue
		}
		if err := r.readNode("", doc.Body); err != nil {
			return err
		}
	}
	return nil
}

func (r *fileReader) at(node ast.Node) string {
	return fmt.Sprintf("%s:%d", r.path, node.GetToken().Position.Line)
}

func (r *fileReader) readNode(prefix string, node ast.Node) error {
	switch n := node.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return nil
	case *ast.MappingNode:
		for _, member := range n.Values {
			at := r.at(member.Key)
			name, err := scalar(member.Key)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", at, member.Key, err)
			}
			key := prefix + name
			if before, twice := r.seen[key]; twice {
				return fmt.Errorf("%s: %s is already at %s; remove one", at, key, before)
			}
			r.seen[key] = at
			if err := r.readMember(at, key, member.Value); err != nil {
				return err
			}
		}
		return nil
	}
	if prefix != "" {
		return fmt.Errorf("%s: %s holds keys of its own, such as %s", r.at(node), strings.TrimSuffix(prefix, "."), r.keysBelow(prefix)[0])
	}
	return fmt.Errorf("%s: expected keys and values, such as listen: 127.0.0.1:4470", r.at(node))
}

func (r *fileReader) readMember(at, key string, node ast.Node) error {
	if len(r.keysBelow(key+".")) > 0 {
		return r.readNode(key+".", node)
	}
	s := r.find(key)
	base, isFile := strings.CutSuffix(key, "_file")
	if twin := r.find(base); s == nil && isFile && twin != nil && twin.secret {
		s = twin
	}
	if s == nil {
		return fmt.Errorf("%s: unknown key %s; %s", at, key, suggest(key, r.known()))
	}
	switch n := node.(type) {
	case *ast.NullNode, *ast.CommentGroupNode:
		return nil
	case *ast.SequenceNode:
		if _, areDefaults := s.value.Interface().(IntentDefaults); areDefaults {
			return r.readDefaults(s, at, n)
		}
		return s.setList(at, n)
	case *ast.MappingNode:
		if _, isModels := s.value.Interface().(Models); isModels {
			return r.readModels(s, at, n)
		}
	}
	text, err := scalar(node)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", at, key, err)
	}
	if s.key == key && !s.secret {
		return s.set(text, at)
	}
	if before, twice := r.seen["secret "+s.key]; twice {
		return fmt.Errorf("%s: %s and %s_file (%s) are both set; remove one", at, s.key, s.key, before)
	}
	r.seen["secret "+s.key] = at
	if s.key == key {
		return s.set(text, at)
	}
	return s.setFile(text, at+" "+key, key)
}

// setList sets a list from a YAML sequence.
func (s *setting) setList(at string, node *ast.SequenceNode) error {
	kind := s.value.Type()
	if kind.Kind() != reflect.Slice || kind.Elem().Kind() != reflect.String {
		return fmt.Errorf("%s: %s takes no list", at, s.key)
	}
	var items []string
	for _, item := range node.Values {
		text, err := scalar(item)
		if err != nil || text == "" {
			return fmt.Errorf("%s: %s takes a list of plain values", at, s.key)
		}
		items = append(items, text)
	}
	s.value.Set(reflect.ValueOf(items).Convert(kind))
	s.origin = at
	return nil
}

// scalar returns the text of a plain, quoted or block value, as it is
// written: true stays "true" and 16 "16".
func scalar(node ast.Node) (string, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return strings.TrimRight(n.Value.Value, "\n"), nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return node.GetToken().Value, nil
	case *ast.MappingNode, *ast.SequenceNode:
		return "", errors.New("takes one value, not keys or a list")
	}
	return "", errors.New("anchors, aliases, tags and merges are not understood here; write the plain value")
}
