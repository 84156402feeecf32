package extract

import (
	"errors"
	"fmt"

	"github.com/xuri/excelize/v2"
)

// sheetInMemory is how large a part of a workbook may be in bytes to be held
// in memory; larger ones go through a file.
const sheetInMemory = 4 << 20

// readXLSX reads the sheets of a workbook that are not hidden, each under its
// name, values as they are shown, dates as 2026-01-31.
func readXLSX(f File, sink Sink) (err error) {
	a, err := openArchive(f)
	if err != nil {
		return err
	}
	if err := a.title(sink); err != nil {
		return err
	}
	book, err := excelize.OpenReader(f.section(), excelize.Options{
		UnzipSizeLimit: f.Limits.Unpacked, UnzipXMLSizeLimit: min(sheetInMemory, f.Limits.Unpacked), TmpDir: f.TmpDir,
		ShortDatePattern: "yyyy-mm-dd", LongDatePattern: "yyyy-mm-dd", LongTimePattern: "hh:mm:ss",
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer func() { err = errors.Join(err, book.Close()) }()
	parts, err := sheetParts(a)
	if err != nil {
		return err
	}
	for _, name := range book.GetSheetList() {
		if shown, err := book.GetSheetVisible(name); err == nil && !shown {
			continue
		}
		cells, err := readMerged(a, parts[name])
		if err != nil {
			return fmt.Errorf("%w: sheet %s: %w", ErrDamaged, name, err)
		}
		if err := readSheet(book, name, cells, sink); err != nil {
			return err
		}
	}
	return nil
}

func readSheet(book *excelize.File, name string, merged *mergedCells, sink Sink) (err error) {
	rows, err := book.Rows(name)
	if err != nil { // a sheet of charts has none
		return nil
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	t, named := tabular{sink: sink}, false
	for number := 1; rows.Next(); number++ {
		cells, err := rows.Columns()
		if err != nil {
			return fmt.Errorf("%w: sheet %s: %w", ErrDamaged, name, err)
		}
		if !named && !blankRow(cells) {
			named = true
			if err := sink.Heading(1, oneLine(name)); err != nil {
				return err
			}
		}
		if err := merged.row(&t, cells, number); err != nil {
			return err
		}
	}
	if err := rows.Error(); err != nil {
		return fmt.Errorf("%w: sheet %s: %w", ErrDamaged, name, err)
	}
	return errors.Join(merged.end(&t, 0), t.end())
}
