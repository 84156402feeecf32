package ledger

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"strata/stores"
)

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func moment(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// packList writes a list into one column; none is "".
func packList(list []string) string {
	if len(list) == 0 {
		return ""
	}
	b, _ := json.Marshal(list)
	return string(b)
}

func unpackList(column string) (list []string) {
	if len(column) > 4 && column[0] == '[' && strings.IndexByte(column, '\\') < 0 {
		return strings.Split(column[2:len(column)-2], `","`) // nothing escaped, as in lists of ids
	}
	if column != "" {
		_ = json.Unmarshal([]byte(column), &list) // written by packList
	}
	return list
}

// packScores keeps the four sub-scores, each one digit, in one column.
func packScores(s stores.Scores) int {
	return s.Reuse*1000 + s.Irrecoverable*100 + s.Stability*10 + s.Impact
}

func unpackScores(n int) stores.Scores {
	return stores.Scores{Reuse: n / 1000 % 10, Irrecoverable: n / 100 % 10, Stability: n / 10 % 10, Impact: n % 10}
}

// holders returns "$from,$from+1,…" for at least n values, rounded up to a
// power of two so that few statements are prepared, and how many they are.
func holders(from, n int) (string, int) {
	size := 1
	for size < n {
		size *= 2
	}
	var b strings.Builder
	for i := range size {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(from + i))
	}
	return b.String(), size
}

// fill appends values and repeats the last one up to size: one value twice in
// an IN list finds nothing more.
func fill(args []any, values []string, size int) []any {
	for i := range size {
		args = append(args, values[min(i, len(values)-1)])
	}
	return args
}

// packCursor names the last row of a page.
func packCursor(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(packList(parts)))
}

// unpackCursor returns n parts, or nil for the first page.
func unpackCursor(cursor string, n int) ([]string, error) {
	if cursor == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, stores.ErrCursor
	}
	var parts []string
	if json.Unmarshal(b, &parts) != nil || len(parts) != n {
		return nil, stores.ErrCursor
	}
	return parts, nil
}

// pageSize bounds what one page may hold.
func pageSize(limit int) int { return min(max(limit, 1), 500) }

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// statement is a query whose parts are chosen at run time.
type statement struct {
	query string
	args  []any
}

func listing(text string, values ...any) *statement {
	q := &statement{}
	q.add(text, values...)
	return q
}

// add appends text, in which #1, #2, … stand for values.
func (q *statement) add(text string, values ...any) {
	for i, v := range values {
		q.args = append(q.args, v)
		text = strings.ReplaceAll(text, "#"+strconv.Itoa(i+1), "$"+strconv.Itoa(len(q.args)))
	}
	q.query += text
}
