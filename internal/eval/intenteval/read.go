package intenteval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"strata/intent"
)

// ErrEmpty says that there is no row to score.
var ErrEmpty = errors.New("no rows")

// Read reads rows, one JSON object a line; empty lines do not count. An error
// names the line and the field.
func Read(r io.Reader) ([]Row, error) {
	in := bufio.NewReader(r)
	var rows []Row
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n') // of any length
		if err != nil && err != io.EOF {
			return nil, err
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			row, bad := readRow(line)
			if bad != nil {
				return nil, fmt.Errorf("line %d: %w", n, bad)
			}
			row.Line = n
			rows = append(rows, row)
		}
		if err == io.EOF {
			break
		}
	}
	if len(rows) == 0 {
		return nil, ErrEmpty
	}
	return rows, nil
}

// ReadFile reads the rows of a file.
func ReadFile(path string) ([]Row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rows, nil
}

func readRow(line []byte) (row Row, err error) {
	if err := json.Unmarshal(line, &row); err != nil {
		return row, explained(err)
	}
	if err := row.check(); err != nil {
		return row, err
	}
	if row.Lang = strings.ToLower(row.Lang); row.Lang == "" {
		row.Lang = language(row.Text)
	}
	for _, t := range row.History {
		row.Messages = append(row.Messages, intent.Message{Role: t.Role, Text: t.Content})
	}
	row.Messages = append(row.Messages, intent.Message{Role: "user", Text: row.Text})
	return row, nil
}

// explained words what is wrong with the JSON for whoever wrote the row.
func explained(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case !ok:
		return fmt.Errorf("not one JSON object: %w", err)
	case wrong.Field == "":
		return fmt.Errorf("an object such as {\"text\":…, \"label\":…} is expected, not %s", wrong.Value)
	}
	return fmt.Errorf("%s: %s does not fit; it holds %s", wrong.Field, wrong.Value, fieldKinds[wrong.Field])
}

// fieldKinds is what each field holds, by its path.
var fieldKinds = map[string]string{
	"id": "a string", "lang": "zh or en", "label": "CHAT, RAG or DATA", "also_ok": "a list of labels", "text": "a string",
	"history": "a list of {role, content}", "history.role": "user or assistant", "history.content": "a string",
	"source": "a string", "subtype": "a string", "files": "a list of names", "tools": "a list of names",
}

func (r *Row) check() error {
	switch {
	case strings.TrimSpace(r.Text) == "":
		return errors.New("text: empty or missing")
	case r.Label == "":
		return errors.New("label: missing; it is CHAT, RAG or DATA")
	case !known(r.Label):
		return fmt.Errorf("label: %q is not CHAT, RAG or DATA", r.Label)
	}
	for _, l := range r.AlsoOK {
		if !known(l) {
			return fmt.Errorf("also_ok: %q is not CHAT, RAG or DATA", l)
		}
	}
	for _, t := range r.History {
		if t.Role != "user" && t.Role != "assistant" {
			return fmt.Errorf("history.role: %q is not user or assistant", t.Role)
		}
	}
	return nil
}

func known(label string) bool {
	return slices.Contains(labels, intent.Intent(strings.ToLower(label)))
}

// hanShare is the share of Chinese characters among the letters from which a
// text is Chinese: such texts name products and functions in Latin letters.
const hanShare = .2

// language tells Chinese texts from others, which count as English.
func language(text string) string {
	han, letters := 0, 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
			if unicode.Is(unicode.Han, r) {
				han++
			}
		}
	}
	if han > 0 && float64(han) >= hanShare*float64(letters) {
		return "zh"
	}
	return "en"
}
