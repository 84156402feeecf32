package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// runIngest takes a folder of Markdown in by `strata ingest`, and then a large
// text and a long PDF, while it looks at how much memory serve and the process
// that reads for it take together.
func runIngest(b *bench) ([]row, error) {
	megabytes, pages := 200, 5000
	if b.quick {
		megabytes, pages = 20, 500
	}
	rows, err := b.ingestFolder(megabytes / 10)
	if err != nil {
		return nil, err
	}
	for _, c := range []struct {
		what, name string
		write      func(io.Writer) error
	}{
		{fmt.Sprintf("a text of %d MB", megabytes), "rules.txt", func(w io.Writer) error { return writeText(w, megabytes*1_000_000) }},
		{fmt.Sprintf("a PDF of %d,000 letters on %d pages", pages*2, pages), "rules.pdf", func(w io.Writer) error { return writePDF(w, pages) }},
	} {
		file := filepath.Join(b.dir, c.name)
		if err := writeFile(file, c.write); err != nil {
			return nil, err
		}
		r, err := b.ingestLarge(c.what, file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		rows = append(rows, r...)
	}
	return rows, nil
}

// ingestFolder takes megabytes of Markdown in, in documents of some 20 KB.
func (b *bench) ingestFolder(megabytes int) ([]row, error) {
	dir := filepath.Join(b.dir, "handbook")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	c, size := newCorpus(), 0
	for n := 0; size < megabytes*1_000_000; n++ {
		text := c.document(n)
		size += len(text)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("rules-%04d.md", n)), text, 0o600); err != nil {
			return nil, err
		}
	}
	t, err := b.startStrata()
	if err != nil {
		return nil, err
	}
	defer t.stop()
	began := time.Now()
	if err := b.ingest(t, dir); err != nil {
		return nil, err
	}
	rate := float64(size) / 1e6 / time.Since(began).Seconds()
	result := spread{rate, rate, rate}
	return []row{{Case: "ingest", What: "Markdown taken in by `strata ingest`, without an embedder", Unit: "MB/s", Strata: rate, Result: &result, ResultUnit: "MB/s", Aim: atLeast(1, result)}}, nil
}

// ingestLarge takes one file in.
func (b *bench) ingestLarge(what, file string) ([]row, error) {
	t, err := b.startStrata()
	if err != nil {
		return nil, err
	}
	defer t.stop()
	ctx, stop := context.WithCancel(b.ctx)
	defer stop()
	peak := watchMemory(ctx, t.pid())
	began := time.Now()
	if err := b.ingest(t, file); err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	stop()
	most := float64(<-peak) / 1e6
	memory, seconds := spread{most, most, most}, spread{took, took, took}
	return []row{
		{Case: "ingest", What: "most resident memory of serve and its reader, " + what, Unit: "MB", Strata: most, Result: &memory, ResultUnit: "MB", Aim: atMost(400, memory)},
		{Case: "ingest", What: "until it is found, " + what, Unit: "s", Strata: took, Result: &seconds, ResultUnit: "s"},
	}, nil
}

// ingest runs `strata ingest` until the documents are published.
func (b *bench) ingest(t *target, path string) error {
	cmd := exec.CommandContext(b.ctx, b.binary, "ingest", path, "--server", "http://"+t.ctrl, "--token", controlToken)
	cmd.Env, cmd.Dir = append(plainEnvironment(), "HOME="+b.dir, "XDG_CONFIG_HOME="+b.dir), b.dir
	cmd.SysProcAttr = dieWithParent()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("strata ingest: %w\n%.2000s", err, out)
	}
	return nil
}

// watchMemory looks every 10 ms at the resident memory of a process and its
// children together, until ctx ends, and then gives out the most in bytes.
func watchMemory(ctx context.Context, pid int) <-chan int64 {
	peak := make(chan int64, 1)
	go func() {
		most := int64(0)
		for pause(ctx, 10*time.Millisecond) == nil {
			sum, _ := residentMemory(pid)
			for _, child := range children(pid) {
				n, _ := residentMemory(child) // it may have ended
				sum += n
			}
			most = max(most, sum)
		}
		peak <- most
	}()
	return peak
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// writeText writes chapters of rules, half of them in Chinese.
func writeText(w io.Writer, size int) error {
	c := newCorpus()
	for n, written := 0, 0; written < size; n++ {
		m, err := fmt.Fprintf(w, "第%d章 %s\n\n%s\n", n+1, c.title(n%2 == 1), c.document(n))
		if err != nil {
			return err
		}
		written += m
	}
	return nil
}

// writePDF writes pages of some 2,000 letters, in one flat tree.
func writePDF(w io.Writer, pages int) error {
	at, offsets := 0, []int(nil)
	put := func(format string, args ...any) {
		n, _ := fmt.Fprintf(w, format, args...)
		at += n
	}
	object := func(format string, args ...any) {
		offsets = append(offsets, at)
		put("%d 0 obj\n"+format+"\nendobj\n", append([]any{len(offsets)}, args...)...)
	}
	put("%%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	object("<< /Type /Pages /Kids [%s] /Count %d /Resources << /Font << /F1 3 0 R >> >> >>", kids.String(), pages)
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	c := newCorpus()
	for i := range pages {
		var text strings.Builder
		text.WriteString("BT /F1 10 Tf 12 TL 72 760 Td ")
		for range 30 {
			fmt.Fprintf(&text, "(%s) Tj T* ", c.line(68))
		}
		text.WriteString("ET")
		object("<< /Type /Page /Parent 2 0 R /Contents %d 0 R >>", 5+2*i)
		object("<< /Length %d >>\nstream\n%s\nendstream", text.Len(), text.String())
	}
	start := at
	put("xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		put("%010d 00000 n \n", o)
	}
	_, err := fmt.Fprintf(w, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return err
}
