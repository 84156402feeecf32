package ingest

import (
	"strings"
	"time"
)

// front is what a document says about itself before it begins.
type front struct {
	title              string
	effective, expires time.Time
}

// maxFront is how far the closing line of front matter is looked for.
const maxFront = 8 << 10

// cutFront reads YAML front matter and returns the text behind it. Only plain
// "key: value" lines are understood; a block that holds anything else but
// comments, lists and indented lines is no front matter and stays text.
func cutFront(text string) (front, string) {
	var f front
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return f, text
	}
	keys := 0
	for read := 0; read < maxFront; {
		line, after, more := strings.Cut(rest, "\n")
		read += len(line) + 1
		line = strings.TrimRight(line, " \t")
		if line == "---" || line == "..." {
			if keys == 0 {
				break
			}
			return f, after
		}
		if !more || !f.line(line, &keys) {
			break
		}
		rest = after
	}
	return front{}, text
}

// line takes one line in; false means that it is none of front matter.
func (f *front) line(line string, keys *int) bool {
	if line == "" || strings.ContainsRune(" \t#-", rune(line[0])) {
		return true
	}
	key, value, ok := strings.Cut(line, ":")
	if !ok || key == "" || strings.ContainsAny(key, " \t") || value != "" && value[0] != ' ' && value[0] != '\t' {
		return false
	}
	*keys++
	value = unquote(strings.TrimSpace(value))
	switch strings.ToLower(key) {
	case "title":
		f.title = value
	case "effective", "effective_date":
		f.effective, _ = day(value)
	case "expires", "expiry", "expiry_date":
		if t, wholeDay := day(value); !t.IsZero() {
			if wholeDay { // the day itself is still in force
				t = t.AddDate(0, 0, 1)
			}
			f.expires = t
		}
	}
	return true
}

func unquote(s string) string {
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}

// day reads a date in UTC or a full time. The zero time is no date.
func day(s string) (t time.Time, wholeDay bool) {
	for _, layout := range []string{time.DateOnly, "2006/01/02", "2006/1/2", "2006-1-2"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	t, _ = time.Parse(time.RFC3339, s)
	return t, false
}
