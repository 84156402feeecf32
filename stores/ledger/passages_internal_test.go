package ledger

import (
	"fmt"
	"path/filepath"
	"testing"

	"strata/stores"
)

// A version's passages come in pages, also where the last of them is full.
func TestDocumentPassages(t *testing.T) {
	l, err := New(t.Context(), Config{Path: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for total, pages := range map[int][]int{
		1:                 {1, 0},
		passagePage - 1:   {passagePage - 1, 0},
		passagePage:       {passagePage, 0},
		passagePage + 1:   {passagePage, 1, 0},
		2 * passagePage:   {passagePage, passagePage, 0},
		2*passagePage + 7: {passagePage, passagePage, 7, 0},
	} {
		d := stores.Draft{ID: fmt.Sprint(total), Title: "T", SHA256: "s"}
		for i := range total {
			d.Passages = append(d.Passages, stores.Passage{Heading: "H", Text: fmt.Sprint("text ", i), Tokens: 2})
		}
		if _, err := l.PutDocument(t.Context(), "acme", d); err != nil {
			t.Fatal(err)
		}
		first := 0
		for n, want := range pages {
			page, err := l.DocumentPassages(t.Context(), "acme", d.ID, 1, first)
			if err != nil || len(page) != want {
				t.Fatalf("%d passages, page %d: %d, %v, want %d", total, n, len(page), err, want)
			}
			for _, p := range page {
				if p.Ordinal != first || p.Text != fmt.Sprint("text ", first) || p.Heading != "H" || p.Title != "T" || p.Document != d.ID || p.Version != 1 || p.Tokens != 2 || p.ID == "" {
					t.Fatalf("number %d of %d: %+v", first, total, p)
				}
				first++
			}
		}
	}
}
