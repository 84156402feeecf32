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
	buffered := bufio.NewReaderSize(text, sampled)
	start, err := buffered.Peek(sampled)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	comma := separator(string(start))
	if m := told.FindSubmatch(start); m != nil {
		comma = rune(m[1][0])
		_, _ = buffered.Discard(len(m[0]))
	}
	r := csv.NewReader(buffered)
	r.Comma, r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = comma, -1, true, true
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

// told is a first line for spreadsheets that names the separator; they do not
// show it, nor count it.
var told = regexp.MustCompile(`^"?sep=([,;\t|])"?\n`)

// separator is the one of four that parts the first lines most evenly.
func separator(start string) rune {
	lines := strings.Split(start, "\n")
	if len(lines) > 1 {
		lines = lines[:len(lines)-1] // the last one may be cut
	}
	best, most := ',', 0
	for _, sep := range ",;\t|" {
		counts := map[int]int{}
		for _, line := range lines[:min(len(lines), 50)] {
			if n := strings.Count(outsideQuotes(line), string(sep)); n > 0 {
				counts[n]++
			}
		}
		for _, lines := range counts {
			if lines > most {
				best, most = sep, lines
			}
		}
	}
	return best
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
