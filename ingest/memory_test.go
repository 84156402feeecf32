package ingest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/ingest"
)

// TestMemory reads a large text and a PDF of many pages within a worker that
// may take little: 16 MB and 200 pages, with STRATA_LONG 200 MB and 5,000.
func TestMemory(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes several times the memory")
	}
	size, pages, memory := 16<<20, 200, int64(128<<20)
	if testing.Short() {
		size = 9 << 20
	}
	if os.Getenv("STRATA_LONG") != "" {
		size, pages = 200_000_000, 5000
	}
	dir := t.TempDir()
	for name, write := range map[string]func(*bufio.Writer){
		"a.txt": func(w *bufio.Writer) { writeRules(w, size) },
		"a.pdf": func(w *bufio.Writer) { _, _ = w.Write(longPDF(pages)) },
	} {
		file := filepath.Join(dir, name)
		out, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriter(out)
		write(w)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		_ = out.Close()
		f, _ := apart(t, ingest.Worker{Command: worker(ingest.WorkerCommand).Command, Memory: memory})
		began := time.Now()
		passages, err := ingest.ReadApart(t.Context(), f.Ingester, ingest.Source{ID: name, File: file})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		t.Logf("%s: %d passages in %v within %d MB", name, passages, time.Since(began).Round(time.Millisecond), memory>>20)
		if passages < pages/2 {
			t.Errorf("%s: %d passages", name, passages)
		}
	}
}

func writeRules(w *bufio.Writer, size int) {
	for i, n := 0, 0; n < size; i++ {
		if i%200 == 0 {
			m, _ := fmt.Fprintf(w, "第%d章 规定\n\n", i/200+1)
			n += m
		}
		m, _ := fmt.Fprintf(w, "Rule %d asks every team, number %d, to hand in the report before the end of the month.\n\n", i, i*7919%100003)
		n += m
	}
}

// longPDF is a PDF with two paragraphs and some 2,000 letters a page, in one
// flat tree.
func longPDF(pages int) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(s string) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), s)
	}
	b.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	object(fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d /Resources << /Font << /F1 3 0 R >> >> >>", kids.String(), pages))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	for i := range pages {
		var c strings.Builder
		c.WriteString("BT /F1 10 Tf 12 TL 72 760 Td ")
		for j := range 30 {
			if j == 15 {
				c.WriteString("0 -30 Td ")
			}
			fmt.Fprintf(&c, "(Line %d of page %d tells what rule %d means to those who travel often.) Tj T* ", j, i+1, i*j%997)
		}
		c.WriteString("ET")
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /Contents %d 0 R >>", 5+2*i))
		object(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", c.Len(), c.String()))
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, at)
	return b.Bytes()
}
