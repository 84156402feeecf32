package eval

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Texts returns every string in the JSONL files below dir, whatever the rows'
// shape, repetitions included: words as people write them.
func Texts(dir string) (texts []string, err error) {
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".jsonl" {
			return err
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		for rows := json.NewDecoder(f); ; {
			var row any
			if err := rows.Decode(&row); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			texts = appendTexts(texts, row)
		}
	})
	return texts, err
}

func appendTexts(texts []string, v any) []string {
	switch v := v.(type) {
	case string:
		texts = append(texts, v)
	case []any:
		for _, x := range v {
			texts = appendTexts(texts, x)
		}
	case map[string]any:
		for _, x := range v {
			texts = appendTexts(texts, x)
		}
	}
	return texts
}
