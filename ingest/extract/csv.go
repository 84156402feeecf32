package extract

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// sampled is how much of a file the separator is guessed from, in bytes.
const sampled = 64 << 10

// readCSV reads separated values: commas, semicolons, tabs or bars. Rows are
// numbered as a spreadsheet would show them.
func readCSV(f File, sink Sink) error {
	text, err := f.Decode(f.ReaderAt, f.Size, "")
	if err != nil {
		return err
	}
	r, err := separated(text)
	if err != nil {
		return err
	}
	t := tabular{sink: sink}
	for row, line := 1, 1; ; row++ {
		cells, err := r.Read()
		var syntax *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return t.end()
		case errors.As(err, &syntax):
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		case err != nil:
			return err
		}
		at, _ := r.FieldPos(0)
		for ; line < at; line++ { // the reader passes over empty lines
			if err := t.row(nil, row); err != nil {
				return err
			}
			row++
		}
		last := len(cells) - 1
		end, _ := r.FieldPos(last)
		line = end + strings.Count(cells[last], "\n") + 1
		if err := t.row(cells, row); err != nil {
			return err
		}
	}
}

// separated reads the rows of a text whose separator it finds out.
func separated(text io.Reader) (*csv.Reader, error) {
	buffered := bufio.NewReaderSize(text, sampled)
	start, err := buffered.Peek(sampled)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	comma := separator(string(start))
	if m := told.FindSubmatch(start); m != nil {
		comma = rune(m[1][0])
		_, _ = buffered.Discard(len(m[0]))
	}
	r := csv.NewReader(buffered)
	r.Comma, r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = comma, -1, true, true
	return r, nil
}

// told is a first line for spreadsheets that names the separator; they do not
// show it, nor count it.
var told = regexp.MustCompile(`^"?sep=([,;\t|])"?\n`)

// separator is the one of four that parts the first rows most evenly.
func separator(start string) rune {
	best, most := ',', 0
	rows := unquotedRows(start)
	for _, sep := range ",;\t|" {
		counts := map[int]int{}
		for _, row := range rows {
			if n := strings.Count(row, string(sep)); n > 0 {
				counts[n]++
			}
		}
		for _, rows := range counts {
			if rows > most {
				best, most = sep, rows
			}
		}
	}
	return best
}

// unquotedRows returns the first rows without their quoted parts, in which
// lines may end. Where quotes do not close, each line counts for itself.
func unquotedRows(start string) []string {
	var rows []string
	var row strings.Builder
	quoted := false
	for i := 0; i < len(start) && len(rows) < 50; i++ {
		switch c := start[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n':
			rows = append(rows, row.String())
			row.Reset()
		default:
			row.WriteByte(c)
		}
	}
	if len(rows) > 0 && (!quoted || len(start) >= sampled) { // or the sample ends in one
		return rows
	}
	lines := strings.Split(start, "\n")
	if len(lines) > 1 {
		lines = lines[:len(lines)-1] // the last one may be cut
	}
	for i := range lines[:min(len(lines), 50)] {
		lines[i] = outsideQuotes(lines[i])
	}
	return lines[:min(len(lines), 50)]
}

// outsideQuotes takes the quoted parts out of a line.
func outsideQuotes(line string) string {
	if !strings.Contains(line, `"`) {
		return line
	}
	var b strings.Builder
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 0 {
			b.WriteString(part)
		}
	}
	return b.String()
}
