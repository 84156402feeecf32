package ingest_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"

	"strata/ingest"
)

// TestMain is also the process that documents are read in.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case ingest.WorkerCommand:
			os.Exit(ingest.Work(os.Stdin, os.Stdout, os.Getenv))
		case "sleep":
			time.Sleep(time.Minute)
		case "fill":
			fill()
		case "break":
			panic("a fault of the reader")
		}
	}
	os.Exit(m.Run())
}

// fill takes memory like a reader that has gone wrong.
func fill() {
	go ingest.Work(os.Stdin, io.Discard, os.Getenv)
	for all := [][]byte{}; ; {
		all = append(all, bytes.Repeat([]byte("x"), 1<<20))
		time.Sleep(time.Millisecond)
	}
}

// worker runs this test's program with an argument.
func worker(argument string) ingest.Worker {
	w := ingest.Worker{Command: []string{os.Args[0], argument}}
	if raceDetector {
		w.Memory = 1 << 30
	}
	return w
}

func apart(t *testing.T, w ingest.Worker) (fixture, string) {
	t.Helper()
	l, x, tmp := newLedger(), newIndex(), t.TempDir()
	return fixture{ingest.New(ingest.Config{Ledger: l, Index: x, Worker: w, TmpDir: tmp}), l, x}, tmp
}

func wordFile(t testing.TB, paragraphs ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("word/document.xml")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paragraphs {
		fmt.Fprintf(w, "%s", map[bool]string{true: "<document>", false: ""}[p == paragraphs[0]]+"<p><r><t>"+p+"</t></r></p>")
	}
	_, _ = io.WriteString(w, "</document>")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestKinds: each kind of document is read in a process of its own, and its
// passages say where they stand.
func TestKinds(t *testing.T) {
	gbk, _ := simplifiedchinese.GBK.NewEncoder().String("城市,限额\n北京,六百元\n上海,五百元\n")
	f, tmp := apart(t, worker(ingest.WorkerCommand))
	for _, c := range []struct {
		src   ingest.Source
		title string
		want  []string
	}{
		{ingest.Source{ID: "a.docx", Body: wordFile(t, "第一章 总则", "第一条 为规范差旅，制定本办法。", "1. milk", "Article 5. The employee hands in every receipt that he has within thirty days of the end of the journey.")}, "a",
			[]string{"第一章 总则 > 第一条 | 为规范差旅，制定本办法。\n\n1. milk", "第一章 总则 > Article 5. | The employee hands in every receipt that he has within thirty days of the end of the journey."}},
		{ingest.Source{ID: "b.csv", Body: []byte(gbk)}, "b", []string{"rows 2-3 | | 城市 | 限额 |\n| --- | --- |\n| 北京 | 六百元 |\n| 上海 | 五百元 |"}},
		{ingest.Source{ID: "c.csv", Body: []byte("\ufeffName;Days\nAda;30\n")}, "c", []string{"row 2 | | Name | Days |\n| --- | --- |\n| Ada | 30 |"}},
		{ingest.Source{ID: "d", MediaType: "text/html", Body: []byte("<title>Leave rules</title><h1>Leave</h1><p>Take 30 days.")}, "Leave rules", []string{"Leave | Take 30 days."}},
		{ingest.Source{ID: "e", Body: []byte("<!DOCTYPE html><html><p>No name says what this is.")}, "e", []string{" | No name says what this is."}},
	} {
		r, err := f.Put(t.Context(), "t1", c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src.ID, err)
			continue
		}
		d := f.ledger.docs["t1/"+c.src.ID].versions[0].draft
		if got := show(d); !slices.Equal(got, c.want) || d.Title != c.title || r.Passages != len(c.want) {
			t.Errorf("%s: %q %q\nwant %q %q", c.src.ID, d.Title, got, c.title, c.want)
		}
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("%d files are left", len(left))
	}
}

// TestWorkerLimits: what breaks a limit is a named error of its document, and
// nothing stays behind.
func TestWorkerLimits(t *testing.T) {
	plain := ingest.Source{ID: "a.html", Body: []byte("<p>text")}
	bomb := ingest.Source{ID: "a.docx", Body: wordFile(t, strings.Repeat(" ", 20<<20))}
	with := func(w ingest.Worker, change func(*ingest.Worker)) ingest.Worker { change(&w); return w }
	for name, c := range map[string]struct {
		worker ingest.Worker
		src    ingest.Source
		want   error
		says   string
	}{
		"time":         {with(worker("sleep"), func(w *ingest.Worker) { w.Time = 200 * time.Millisecond }), plain, ingest.ErrLimit, "200ms"},
		"memory":       {with(worker("fill"), func(w *ingest.Worker) { w.Memory = 64 << 20 }), plain, ingest.ErrLimit, "64 MB of memory"},
		"zip":          {worker(ingest.WorkerCommand), bomb, ingest.ErrLimit, "times its size"},
		"text":         {with(worker(ingest.WorkerCommand), func(w *ingest.Worker) { w.Text = 2 << 20 }), ingest.Source{ID: "a.csv", Body: bytes.Repeat([]byte("a row of text,1\n"), 200_000)}, ingest.ErrLimit, "2 MB of text"},
		"broken off":   {worker("break"), plain, ingest.ErrDamaged, "broke off"},
		"long texts":   {worker("break"), ingest.Source{ID: "a.md", Body: bytes.Repeat([]byte("-\n"), 150_000)}, ingest.ErrDamaged, "broke off"}, // read apart too
		"damaged":      {worker(ingest.WorkerCommand), ingest.Source{ID: "a.pdf", Body: []byte("%PDF-1.7\nnothing")}, ingest.ErrDamaged, "cut off"},
		"empty":        {worker(ingest.WorkerCommand), ingest.Source{ID: "a.html", Body: []byte("<img src=x>")}, ingest.ErrEmpty, ""},
		"not the text": {worker(ingest.WorkerCommand), ingest.Source{ID: "a.csv", Body: []byte("\x89PNG\r\n\x1a\n")}, ingest.ErrMediaType, "binary"},
		"no program":   {ingest.Worker{Command: []string{"/nowhere/strata"}}, plain, nil, "documents cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			f, tmp := apart(t, c.worker)
			_, err := f.Put(t.Context(), "t1", c.src)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v with %q", err, c.want, c.says)
			}
			if left, _ := os.ReadDir(tmp); len(left) > 0 {
				t.Errorf("%d files are left", len(left))
			}
		})
	}
}

// TestWindows: a text that is cut window by window keeps all its lines and the
// headings above them, from a file and in bounded memory.
func TestWindows(t *testing.T) {
	for _, ending := range []string{".md", ".txt"} {
		var b strings.Builder
		b.WriteString("# 手册\n\n")
		chapter := func(i int) string {
			return map[string]string{".md": fmt.Sprintf("## Part %d", i), ".txt": fmt.Sprintf("第%d章 规定", i)}[ending]
		}
		const chapters = 12
		for i := range chapters {
			fmt.Fprintf(&b, "%s\n\n", chapter(i))
			for j := range 10000 {
				fmt.Fprintf(&b, "Rule %d of part %d asks for a report before the month ends.\n\n", j, i)
			}
		}
		name := filepath.Join(t.TempDir(), "a"+ending)
		if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		f, _ := apart(t, worker(ingest.WorkerCommand))
		if _, err := f.Put(t.Context(), "t1", ingest.Source{ID: "a" + ending, File: name}); err != nil {
			t.Fatal(err)
		}
		d := f.ledger.docs["t1/a"+ending].versions[0].draft
		seen := 0
		for _, p := range d.Passages {
			for line := range strings.Lines(p.Text) {
				var rule, part int
				if n, _ := fmt.Sscanf(line, "Rule %d of part %d", &rule, &part); n == 2 {
					if seen++; !strings.HasSuffix(p.Heading, strings.TrimPrefix(chapter(part), "## ")) {
						t.Fatalf("%s: rule %d of part %d stands under %q", ending, rule, part, p.Heading)
					}
				}
			}
		}
		if seen != chapters*10000 {
			t.Errorf("%s: %d lines of %d", ending, seen, chapters*10000)
		}
	}
}

// TestTablesRepeatTheirHead also where a sheet is longer than a window, and
// name their columns where the head is long.
func TestTablesRepeatTheirHead(t *testing.T) {
	var long, wide strings.Builder
	long.WriteString("Model,Months\n")
	for i := range 90000 {
		fmt.Fprintf(&long, "RTX-%05d,%d months\n", i, i%40)
	}
	for i := range 60 {
		fmt.Fprintf(&wide, "Column number %d,", i)
	}
	wide.WriteString("last\n" + strings.Repeat("1,", 60) + "end\n")
	d := parse(t, "long.csv", long.String())
	next := 2
	for i, p := range d.Passages {
		var from, to int
		if n, _ := fmt.Sscanf(p.Heading, "rows %d-%d", &from, &to); n != 2 || from != next || strings.Count(p.Text, "| Model | Months |") != 1 || strings.Count(p.Text, "RTX") != to-from+1 {
			t.Fatalf("passage %d, %q: %q", i, p.Heading, p.Text)
		}
		next = to + 1
	}
	if next != 90002 {
		t.Errorf("the last row is %d", next-1)
	}
	d = parse(t, "wide.csv", wide.String())
	if !strings.Contains(d.Passages[0].Text, "- Column number 0: 1; Column number 1: 1") || d.Passages[len(d.Passages)-1].Heading != "row 2" {
		t.Errorf("%q", show(d))
	}
}

// TestPagesOfPassages: every passage of a PDF names the pages that its lines
// are from, also where paragraphs go on over them.
func TestPagesOfPassages(t *testing.T) {
	const pages = 1200 // more than a window of text
	d := parse(t, "a.pdf", string(longPDF(pages)))
	seen := map[int]bool{}
	for _, p := range d.Passages {
		var from, to int
		if n, _ := fmt.Sscanf(p.Heading, "pages %d-%d", &from, &to); n != 2 {
			if n, _ := fmt.Sscanf(p.Heading, "page %d", &from); n != 1 {
				t.Fatalf("no page in %q", p.Heading)
			}
			to = from
		}
		for _, m := range regexp.MustCompile(`of page (\d+)`).FindAllStringSubmatch(p.Text, -1) {
			page, _ := strconv.Atoi(m[1])
			if seen[page] = true; page < from || page > to {
				t.Errorf("%q holds a line of page %d", p.Heading, page)
			}
		}
	}
	if len(seen) != pages {
		t.Errorf("lines of %d pages", len(seen))
	}
}

// TestTextlessPages: a worker's count of pages without text is told of a
// document that is put, also when it is unchanged.
func TestTextlessPages(t *testing.T) {
	f, _ := apart(t, worker(ingest.WorkerCommand))
	pdf := longPDF(3)
	for _, page := range [][]byte{[]byte("Line 0 of page 2 "), []byte("Line 0 of page 3 ")} {
		at := bytes.LastIndex(pdf[:bytes.Index(pdf, page)], []byte("BT"))
		to := at + bytes.Index(pdf[at:], []byte("ET"))
		copy(pdf[at:], append([]byte("BI /W 1 /H 1 /CS /G /BPC 8 ID 0 EI"), bytes.Repeat([]byte(" "), to+2-at-34)...))
	}
	for range 2 {
		if r, err := f.Put(t.Context(), "t1", ingest.Source{ID: "a.pdf", Body: pdf}); err != nil || r.Textless != 2 || r.Pages != 3 {
			t.Errorf("%v, %+v", err, r)
		}
	}
	if r, err := f.Put(t.Context(), "t1", ingest.Source{ID: "b.pdf", Body: longPDF(3)}); err != nil || r.Textless != 0 || r.Pages != 0 {
		t.Errorf("%v, %+v", err, r)
	}
}

// TestSignsOfPages: text of a web page that Markdown would take for structure
// is text, as it is written; code stays code.
func TestSignsOfPages(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		want []string
	}{
		"fence":   {"<h1>A</h1><p>Type ``` first.<p>```<h2>B</h2><p>b<p>~~~ x<h1>C</h1><p>c", []string{"A | Type ``` first.\n\n```", "A > B | b\n\n~~~ x", "C | c"}},
		"heading": {"<h1>A</h1><p># install<p>one<br>## two<p>Title<br>===<p>Other<br>---", []string{"A | # install\n\none  \n## two\n\nTitle  \n===\n\nOther  \n---"}},
		"tags":    {"<h1>A</h1><p>&lt;pre&gt; is a tag<p>&lt;!-- so is this<h2>B</h2><p>b &amp;lt;", []string{"A | <pre> is a tag\n\n<!-- so is this", "A > B | b &lt;"}},
		"table":   {"<p>| a | b |<br>|---|---|", []string{" | | a | b |  \n|---|---|"}},
		"parted":  {"<h1>A</h1><p><span>#</span> x<ul><li># y<li>```</ul><h2>B</h2><p>z", []string{"A | # x\n\n- # y\n- ```", "A > B | z"}},
		"names":   {"<h1>C# [x](y) *</h1><p>1. x", []string{"C# [x](y) * | 1. x"}},
		"code":    {"<h1>A</h1><pre># x &amp;lt; &lt;\n```\n\x01</pre><p>Use <code># y</code>.", []string{"A | ````\n# x &lt; <\n```\n````\n\nUse `# y`."}},
		"control": {"<p>a\x01b", []string{" | ab"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := show(parse(t, "a.html", c.page)); !slices.Equal(got, c.want) {
				t.Errorf("got %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestChunkBetweenTables: a web page within a Word document is apart from the
// tables and lists around it.
func TestChunkBetweenTables(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"word/document.xml": `<w:document xmlns:w="w" xmlns:r="r"><w:body><w:tbl><w:tr><w:tc><w:p><w:r><w:t>City</w:t></w:r></w:p></w:tc></w:tr><w:tr><w:tc><w:p><w:r><w:t>Bern</w:t></w:r></w:p></w:tc></w:tr></w:tbl>` +
			`<w:altChunk r:id="r1"/><w:p><w:r><w:t>After it.</w:t></w:r></w:p></w:body></w:document>`,
		"word/_rels/document.xml.rels": `<Relationships><Relationship Id="r1" Target="c.html"/></Relationships>`,
		"word/c.html":                  "<p>30 days.<h2>More</h2><table><tr><th>A<tr><td>1</table>",
	} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{" | | City |\n| --- |\n| Bern |\n\n30 days.", "More | | A |\n|---|\n| 1 |\n\nAfter it."}
	if got := show(parse(t, "a.docx", b.String())); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestOfficeByFirstBytes: what is named first says what a file is; it may hold
// a file of another kind.
func TestOfficeByFirstBytes(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{"word/document.xml", "word/embeddings/xl/ppt/a.xml"} {
		w, _ := z.CreateHeader(&zip.FileHeader{Name: name})
		_, _ = io.WriteString(w, "<document><p><r><t>Text of a document.</t></r></p></document>")
	}
	_ = z.Close()
	for range 20 { // an order of chance would show
		if d := parse(t, "noname", b.String()); d.Passages[0].Text != "Text of a document." {
			t.Fatalf("%q", show(d))
		}
	}
}
