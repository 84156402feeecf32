package extract

import (
	"bufio"
	"bytes"
	"errors"
	"html"
	"regexp"

	"github.com/xuri/excelize/v2"
)

// Bounds of formulas without values: how many of a sheet are kept, and how
// long one may be in bytes.
const (
	maxFormulas = 10_000
	maxFormula  = 500
)

// formula is one that was saved without its value, as programs do that cannot
// reckon: it is shown itself, so that nobody takes the cell for empty.
type formula struct {
	col  int
	text string
}

var cellRef = regexp.MustCompile(`^<c [^>]*\br="([A-Z]{1,3}[0-9]+)"`)

// passRows reads up to the end of a sheet's rows, and keeps their formulas
// that have no values.
func (m *mergedCells) passRows(r *bufio.Reader) error {
	ref, text, valued, isText := "", "", false, false
	for {
		piece, err := r.ReadSlice('>')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		at := max(0, bytes.LastIndexByte(piece, '<'))
		switch tag := piece[at:]; {
		case bytes.HasPrefix(tag, []byte("<c ")):
			ref, text, valued = "", "", false
			isText = bytes.Contains(tag, []byte(` t="str"`))
			if found := cellRef.FindSubmatch(tag); found != nil {
				ref = string(found[1])
			}
		case bytes.Equal(tag, []byte("</f>")) && at <= maxFormula:
			text = string(piece[:at])
		case bytes.Equal(tag, []byte("</v>")), bytes.Equal(tag, []byte("</t>")):
			valued = valued || at > 0 || isText // which may be an empty one
		case bytes.Equal(tag, []byte("</c>")) && text != "" && !valued:
			m.unsaved(ref, text)
		case bytes.HasPrefix(tag, []byte("</")) && bytes.HasSuffix(tag, []byte("sheetData>")):
			return nil
		}
	}
}

func (m *mergedCells) unsaved(ref, text string) {
	col, row, err := excelize.CellNameToCoordinates(ref)
	if err != nil || m.formed >= maxFormulas {
		return
	}
	if m.formulas == nil {
		m.formulas = map[int][]formula{}
	}
	m.formed++
	m.formulas[row] = append(m.formulas[row], formula{col, "=" + html.UnescapeString(text)})
}
