package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Front is what a document says about itself before it begins. Zero fields
// are not said.
type Front struct {
	ID                 string
	Title              string
	Groups             []string
	Effective, Expires time.Time // dates are days in UTC; an Expires day is itself in force
}

const (
	maxFront = 8 << 10 // bytes; how far the closing line of front matter is looked for
	maxGroup = 256     // bytes of a group's name, as in a request's header
)

var (
	frontKey = regexp.MustCompile(`^["']?\pL[\pL\pN_-]*["']?[ \t]*:(?:[ \t]|$)`)
	// beforeFront are blank lines and remarks to be found before front matter.
	beforeFront = regexp.MustCompile(`^(?:\s*<!--(?s:.*?)-->[ \t]*\n|\n)*`)
	// latinKey matches a block whose first line that is no remark begins so.
	latinKey = regexp.MustCompile(`^(?:[ \t]*(?:#.*)?\n)*["']?[A-Za-z]`)
	// ownKey begins a line that means something to Strata. A block with one
	// that is no YAML is a mistake and not text: with its groups lost, a
	// restricted document would be everybody's. A blank that is missing behind
	// the colon, or a full-width one, is such a mistake.
	ownKey    = regexp.MustCompile(`(?mi)^["']?(?:id|title|groups|effective|effective_date|expires|expiry|expiry_date|version)["']?[ \t]*[:：]`)
	groupsKey = regexp.MustCompile(`(?mi)^["']?groups["']?[ \t]*[:：]`)
)

// cutFront reads YAML front matter and returns the text behind it. A block
// that does not begin with a key, or is not closed, is no front matter and
// stays text; so is one whose first key is of another script, unless one of
// ours follows. Values of ours that mean nothing are ErrFront.
func cutFront(text string) (Front, string, error) {
	block, rest, closed := frontBlock(text)
	if block == "" || !latinKey.MatchString(block) && !ownKey.MatchString(block) {
		return Front{}, text, nil
	}
	if !closed {
		if groupsKey.MatchString(block) {
			return Front{}, text, fmt.Errorf("%w: it names groups and is not closed; end it with a line of --- within %d KB", ErrFront, maxFront>>10)
		}
		return Front{}, text, nil
	}
	f, err := parseFront(block)
	if err != nil && ownKey.MatchString(block) {
		return Front{}, text, err
	}
	if err != nil {
		return Front{}, text, nil
	}
	return f, rest, nil
}

// ReadFront returns what the head of a text file says about it, the zero Front
// where it says nothing or is not in an encoding that is known. Errors are
// ErrFront.
func ReadFront(body []byte) (Front, error) {
	const head = 2*maxFront + 1<<10 // and a closing line, also in UTF-16
	start := body
	if len(body) > head { // at the end of a line no character is cut
		if start = body[:bytes.LastIndexByte(body[:head], '\n')+1]; len(start) == 0 {
			return Front{}, nil
		}
	}
	text, err := decodeAll(start)
	if err != nil && len(start) < len(body) { // an encoding with two bytes to the LF
		text, err = decodeAll(body)
	}
	if err != nil {
		return Front{}, nil
	}
	f, _, err := cutFront(text)
	return f, err
}

func decodeAll(body []byte) (string, error) {
	r, err := decoded(bytes.NewReader(body), int64(len(body)), "")
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
}

// frontBlock returns the lines between the first line, of three dashes, and
// the closing one, and the text behind that. block is "" where what follows the
// first line is no key. Blank lines and remarks may come before: block begins
// with as many lines, so that those in it keep their numbers.
func frontBlock(text string) (block, rest string, closed bool) {
	before := len(beforeFront.FindString(text[:min(len(text), maxFront)]))
	opening, body, _ := strings.Cut(text[before:], "\n")
	if strings.TrimRight(opening, " \t") != "---" {
		return "", "", false
	}
	defer func() {
		if block != "" {
			block = strings.Repeat("\n", strings.Count(text[:before], "\n")) + block
		}
	}()
	keyed := false
	for at := 0; at < len(body) && at < maxFront; {
		end := lineEnd(body, at)
		line := strings.TrimRight(body[at:end], " \t\n")
		switch {
		case keyed && (line == "---" || line == "..."):
			return body[:at], body[end:], true
		case !keyed && line != "" && line[0] != '#':
			if !frontKey.MatchString(line) && !groupsKey.MatchString(line) {
				return "", "", false
			}
			keyed = true
		}
		at = end
	}
	if !keyed {
		return "", "", false
	}
	return body[:min(len(body), maxFront)], "", false
}

// parseFront reads a block of YAML. It walks the nodes instead of decoding
// them, so that nothing is expanded and errors have a line.
func parseFront(block string) (f Front, err error) {
	defer func() { // the text is anybody's, and the parser not ours
		if v := recover(); v != nil {
			f, err = Front{}, fmt.Errorf("%w: it is not YAML", ErrFront)
		}
	}()
	file, err := parser.ParseBytes([]byte(block), 0)
	if err != nil {
		if at, ok := errors.AsType[yaml.Error](err); ok && at.GetToken() != nil {
			return f, frontError(at.GetToken().Position.Line, "%s; put values with a colon or a sign in quotes", at.GetMessage())
		}
		first, _, _ := strings.Cut(err.Error(), "\n")
		return f, fmt.Errorf("%w: not YAML: %s", ErrFront, first)
	}
	if len(file.Docs) != 1 {
		return f, fmt.Errorf("%w: it is not keys and values", ErrFront)
	}
	keys, ok := file.Docs[0].Body.(*ast.MappingNode)
	if !ok {
		return f, fmt.Errorf("%w: it is not keys and values", ErrFront)
	}
	for _, member := range keys.Values {
		if err := f.take(member); err != nil {
			return Front{}, err
		}
	}
	if !f.Expires.IsZero() && !f.Effective.Before(f.Expires) {
		return Front{}, fmt.Errorf("%w: expires is not after effective", ErrFront)
	}
	return f, nil
}

// frontError names a line of the document, whose first is the opening one.
func frontError(line int, format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrFront, line+1, fmt.Sprintf(format, args...))
}

// take takes one member in. Keys that mean nothing here are passed over,
// version among them: versions are counted by the ledger.
func (f *Front) take(member *ast.MappingValueNode) (err error) {
	key, _ := plainValue(member.Key)
	key = strings.ToLower(key)
	line := member.Key.GetToken().Position.Line
	if key == "groups" {
		if f.Groups, err = frontGroups(member.Value); err != nil {
			return frontError(line, "groups: %v", err)
		}
		return nil
	}
	switch key {
	case "id", "title", "effective", "effective_date", "expires", "expiry", "expiry_date":
	default:
		return nil
	}
	value, err := plainValue(member.Value)
	if err == nil && value != "" {
		err = f.set(key, value)
	}
	if err != nil {
		return frontError(line, "%s: %v", key, err)
	}
	return nil
}

func (f *Front) set(key, value string) (err error) {
	switch key {
	case "id":
		if checkID(value) != nil {
			return fmt.Errorf("not 1 to %d bytes without control characters", maxID)
		}
		f.ID = value
	case "title":
		f.Title = value
	case "effective", "effective_date":
		f.Effective, _, err = day(value)
	default:
		var wholeDay bool
		if f.Expires, wholeDay, err = day(value); wholeDay { // the day itself is still in force
			f.Expires = f.Expires.AddDate(0, 0, 1)
		}
	}
	return err
}

// plainValue is the text of a value as it is written; "" of a null.
func plainValue(node ast.Node) (string, error) {
	switch n := node.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return "", nil
	case *ast.StringNode:
		return strings.TrimSpace(n.Value), nil
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value), nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return node.GetToken().Value, nil
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode:
		return "", errors.New("takes one value, not keys or a list")
	}
	return "", errors.New("anchors, aliases and tags are not understood here; write the plain value")
}

// frontGroups reads a list of names, or names with commas between them.
func frontGroups(node ast.Node) ([]string, error) {
	var names []string
	if list, ok := node.(*ast.SequenceNode); ok {
		for _, item := range list.Values {
			name, err := plainValue(item)
			if err != nil {
				return nil, err
			}
			if name == "" || strings.Contains(name, ",") {
				return nil, fmt.Errorf("%q is no name of a group; names are not empty and have no comma", name)
			}
			names = append(names, name)
		}
	} else {
		text, err := plainValue(node)
		if err != nil {
			return nil, err
		}
		if text != "" {
			names = strings.Split(strings.ReplaceAll(text, "，", ","), ",")
		}
	}
	var out []string
	for _, name := range names {
		name = strings.TrimSpace(name)
		if len(name) > maxGroup || strings.ContainsFunc(name, unicode.IsControl) {
			return nil, fmt.Errorf("a name is longer than %d bytes or has control characters", maxGroup)
		}
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if len(names) > 0 && len(out) == 0 {
		return nil, errors.New("holds no name; leave the key out for everybody")
	}
	slices.Sort(out)
	return out, nil
}

// day reads a date in UTC or a full time.
func day(s string) (t time.Time, wholeDay bool, err error) {
	for _, layout := range []string{time.DateOnly, "2006/01/02", "2006/1/2", "2006-1-2"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true, nil
		}
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, false, nil
	}
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return time.Time{}, false, fmt.Errorf("%q is neither a date such as 2026-03-31 nor RFC 3339 with an offset, such as 2026-03-31T18:00:00+08:00", s)
}
