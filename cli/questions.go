package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// question is one that must be given certain documents.
type question struct {
	line   int // of its file
	text   string
	user   string
	groups []string

	intent   string   // chat, rag or data; "" = any
	document string   // id; a passage of it must be given
	section  string   // part of that passage's path of headings, whatever the case
	holds    []string // texts that must be in what is given
	lacks    []string // texts that must not
}

// questionKeys are what a question takes, in the order of docs and messages.
var questionKeys = []string{"question", "user", "groups", "intent", "document", "section", "must_contain", "must_not_contain"}

// questions reads a file of them. Errors name file and line.
func (p *program) questions(path string) ([]question, error) {
	var b []byte
	var err error
	if path == "-" {
		b, err = io.ReadAll(p.stdin)
		path = "standard input"
	} else {
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read; name a YAML file of questions", path)
	}
	list, err := parseQuestions(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")))
	if at, ok := errors.AsType[*lineError](err); ok {
		return nil, fmt.Errorf("%s:%d: %s", path, at.line, at.why)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// lineError is what is wrong with a line of a file.
type lineError struct {
	line int
	why  string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.why) }

func wrongLine(node ast.Node, format string, args ...any) error {
	return &lineError{node.GetToken().Position.Line, fmt.Sprintf(format, args...)}
}

// parseQuestions takes a list of questions, or one under the key questions.
func parseQuestions(b []byte) (out []question, err error) {
	defer func() { // the parser is not ours
		if v := recover(); v != nil {
			out, err = nil, errors.New("not valid YAML")
		}
	}()
	file, err := parser.ParseBytes(b, 0)
	if err != nil {
		if at, ok := errors.AsType[yaml.Error](err); ok && at.GetToken() != nil {
			return nil, &lineError{at.GetToken().Position.Line, "not valid YAML: " + at.GetMessage()}
		}
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, errors.New("not valid YAML: " + first)
	}
	const form = "a list of questions, such as - question: How many days of leave?"
	var body ast.Node
	if len(file.Docs) == 1 {
		body = file.Docs[0].Body
	}
	if keys, ok := body.(*ast.MappingNode); ok && len(keys.Values) == 1 && keys.Values[0].Key.String() == "questions" {
		body = keys.Values[0].Value
	}
	list, ok := body.(*ast.SequenceNode)
	switch {
	case ok && len(list.Values) > 0:
	case body == nil || body.GetToken() == nil:
		return nil, errors.New("expected " + form)
	default:
		return nil, wrongLine(body, "expected %s", form)
	}
	for _, item := range list.Values {
		q, err := readQuestion(item)
		if err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}

func readQuestion(node ast.Node) (question, error) {
	keys, ok := node.(*ast.MappingNode)
	if !ok || len(keys.Values) == 0 {
		return question{}, wrongLine(node, "expected the keys of a question: %s", strings.Join(questionKeys, ", "))
	}
	q := question{line: keys.Values[0].Key.GetToken().Position.Line}
	seen := map[string]bool{}
	for _, member := range keys.Values {
		name, err := scalar(member.Key)
		if err != nil {
			return q, wrongLine(member.Key, "%v", err)
		}
		name = strings.ReplaceAll(name, "-", "_")
		if seen[name] {
			return q, wrongLine(member.Key, "%s is given twice; remove one", name)
		}
		seen[name] = true
		if err := q.take(name, member); err != nil {
			return q, err
		}
	}
	switch {
	case q.text == "":
		return q, &lineError{q.line, "question is missing"}
	case q.intent == "" && q.document == "" && q.section == "" && len(q.holds)+len(q.lacks) == 0:
		return q, &lineError{q.line, "nothing is expected of the answer; give intent, document, section, must_contain or must_not_contain"}
	}
	return q, nil
}

func (q *question) take(name string, member *ast.MappingValueNode) (err error) {
	one := map[string]*string{"question": &q.text, "user": &q.user, "intent": &q.intent, "document": &q.document, "section": &q.section}
	many := map[string]*[]string{"groups": &q.groups, "must_contain": &q.holds, "must_not_contain": &q.lacks}
	switch {
	case one[name] != nil:
		*one[name], err = scalar(member.Value)
		*one[name] = strings.TrimSpace(*one[name])
	case many[name] != nil:
		*many[name], err = texts(member.Value)
	default:
		return wrongLine(member.Key, "unknown key %s; known: %s", plain(name), strings.Join(questionKeys, ", "))
	}
	if err != nil {
		return wrongLine(member.Key, "%s: %v", name, err)
	}
	if name == "intent" {
		switch q.intent = strings.ToLower(q.intent); q.intent {
		case "chat", "rag", "data":
		default:
			return wrongLine(member.Key, "intent: %q is not chat, rag or data", q.intent)
		}
	}
	return nil
}

// texts reads one text or a list of them; none may be empty, as an empty text
// is in every other.
func texts(node ast.Node) ([]string, error) {
	items := []ast.Node{node}
	if list, ok := node.(*ast.SequenceNode); ok {
		items = list.Values
	}
	var out []string
	for _, item := range items {
		text, err := scalar(item)
		if err != nil {
			return nil, err
		}
		if text = strings.TrimSpace(text); text == "" {
			return nil, errors.New("an empty text; leave it out")
		}
		out = append(out, text)
	}
	return out, nil
}
