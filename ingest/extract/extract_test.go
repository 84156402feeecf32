package extract_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"strata/ingest/extract"
)

// recorder writes down what it is told, a line each.
type recorder struct{ lines []string }

func (r *recorder) add(format string, args ...any) error {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
	return nil
}
func (r *recorder) Title(name string)                    { _ = r.add("title %s", name) }
func (r *recorder) Heading(level int, name string) error { return r.add("h%d %s", level, name) }
func (r *recorder) Paragraph(text string, turns ...extract.Turn) error {
	for _, turn := range slices.Backward(turns) {
		text = text[:turn.At] + fmt.Sprintf("[page %d]", turn.Page) + text[turn.At:]
	}
	return r.add("p %s", text)
}
func (r *recorder) Item(depth int, mark, text string) error {
	return r.add("item%d %s %s", depth, mark, text)
}
func (r *recorder) Head(cells []string) error { return r.add("head %s", strings.Join(cells, "|")) }
func (r *recorder) Row(cells []string, n int) error {
	return r.add("row%d %s", n, strings.Join(cells, "|"))
}
func (r *recorder) Page(what string, n int)    { _ = r.add("%s %d", what, n) }
func (r *recorder) Textless(pages, of int)     { _ = r.add("textless %d of %d", pages, of) }
func (r *recorder) Markdown(text string) error { return r.add("md %s", extract.Literal(text)) }

func read(kind extract.Kind, body []byte, limits extract.Limits) ([]string, error) {
	var r recorder
	err := extract.Read(kind, extract.File{
		ReaderAt: bytes.NewReader(body), Size: int64(len(body)), Limits: limits,
		Decode: func(r io.ReaderAt, size int64, _ string) (io.Reader, error) {
			return io.NewSectionReader(r, 0, size), nil
		},
	}, &r)
	return r.lines, err
}

func check(t *testing.T, kind extract.Kind, body []byte, want ...string) {
	t.Helper()
	got, err := read(kind, body, extract.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// office makes a zip of parts.
func office(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range parts {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const word = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"`

func para(props, text string) string {
	return `<w:p><w:pPr>` + props + `</w:pPr><w:r><w:t>` + text + `</w:t></w:r></w:p>`
}

func docx(t testing.TB, body string) []byte {
	return office(t, map[string]string{
		"word/document.xml": `<w:document ` + word + `><w:body>` + body + `</w:body></w:document>`,
		"word/styles.xml": `<w:styles ` + word + `>
<w:style w:type="paragraph" w:styleId="a1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="Our chapter"/><w:basedOn w:val="a1"/></w:style>
<w:style w:type="paragraph" w:styleId="H2"><w:name w:val="标题 2"/></w:style>
<w:style w:type="paragraph" w:styleId="Ti"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="T1"><w:name w:val="toc 1"/></w:style></w:styles>`,
		"word/numbering.xml": `<w:numbering ` + word + `>
<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="chineseCounting"/><w:lvlText w:val="第%1条"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="8"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="9"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val=""/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num><w:num w:numId="3"><w:abstractNumId w:val="9"/></w:num>
<w:num w:numId="4"><w:abstractNumId w:val="8"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num></w:numbering>`,
		"docProps/core.xml": `<c xmlns:dc="x"><dc:title> Travel
 rules </dc:title></c>`,
	})
}

func TestDOCX(t *testing.T) {
	num := func(id, level string) string {
		return `<w:numPr><w:ilvl w:val="` + level + `"/><w:numId w:val="` + id + `"/></w:numPr>`
	}
	body := para(`<w:pStyle w:val="T1"/>`, "Contents 3") + para(`<w:pStyle w:val="Ti"/>`, "Rules") +
		para(`<w:pStyle w:val="Own"/>`, "总则") + para(num("1", "0"), "为规范差旅。") + para(num("1", "0"), "适用于全体员工。") +
		para(`<w:pStyle w:val="H2"/>`, "Amounts") +
		para(num("2", "0"), "one") + para(num("2", "1"), "deep") + para(num("2", "0"), "two") + para(num("3", "0"), "dot") +
		para(num("4", "0"), "five") + para(num("4", "0"), "six") +
		`<w:p><w:r><w:t>Paid </w:t></w:r><w:ins><w:r><w:t xml:space="preserve">within </w:t></w:r></w:ins><w:del><w:r><w:delText>before</w:delText></w:r></w:del>` +
		`<w:hyperlink><w:r><w:t>30 days</w:t></w:r></w:hyperlink><w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r><w:sdt><w:sdtContent><w:r><w:t>.</w:t></w:r></w:sdtContent></w:sdt></w:p>` +
		`<w:tbl><w:tr><w:tc>` + para("", "City") + `</w:tc><w:tc>` + para("", "Limit") + `</w:tc></w:tr><w:tr><w:tc>` + para("", "Berlin") + para("", "Bonn") +
		`</w:tc><w:tc><w:tbl><w:tr><w:tc>` + para("", "160") + `</w:tc></w:tr></w:tbl>` + para("", "EUR") + `</w:tc></w:tr></w:tbl>`
	check(t, extract.DOCX, docx(t, body), "title Travel rules", "title Rules", "h0 Rules", "h1 总则", "p 第一条 为规范差旅。", "p 第二条 适用于全体员工。", "h2 Amounts",
		"item0 1. one", "item1 1.a deep", "item0 2. two", "item0 - dot", "item0 5. five", "item0 6. six", "p Paid within 30 days.", "head City|Limit", "row0 Berlin\nBonn|160;\nEUR")
}

// TestDOCXParts: the document may have another name than usual, with styles of
// its own, and the zip the separators of Windows.
func TestDOCXParts(t *testing.T) {
	rels := func(kind, target string) string {
		return `<Relationships><Relationship Id="r1" Type="http://x/relationships/` + kind + `" Target="` + target + `"/></Relationships>`
	}
	check(t, extract.DOCX, office(t, map[string]string{
		"_rels/.rels": rels("officeDocument", "/word/document2.xml"), `word\document2.xml`: `<w:document ` + word + `>` + para(`<w:pStyle w:val="x"/>`, "Rules") + `</w:document>`,
		"word/_rels/document2.xml.rels": rels("styles", "styles2.xml"), "word/styles2.xml": `<w:styles ` + word + `><w:style w:type="paragraph" w:styleId="x"><w:name w:val="heading 1"/></w:style></w:styles>`,
	}), "h1 Rules")
}

// TestDOCXNumbers: below Chinese numbers a level may ask for digits; how
// characters are read is no text. A raised number is none with what it stands at.
func TestDOCXNumbers(t *testing.T) {
	level := func(n, format, text string) string {
		return `<w:lvl w:ilvl="` + n + `"><w:start w:val="1"/><w:numFmt w:val="` + format + `"/>` + text + `</w:lvl>`
	}
	at := func(n, text string) string {
		return para(`<w:numPr><w:ilvl w:val="`+n+`"/><w:numId w:val="1"/></w:numPr>`, text)
	}
	body := at("0", "总则") + at("1", "范围") + at("2", "甲") + at("3", "乙") + `<w:p><w:r><w:ruby><w:rt><w:r><w:t>hàn</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>汉</w:t></w:r></w:rubyBase></w:ruby></w:r><w:r><w:t>字</w:t></w:r></w:p>` +
		`<w:p><w:r><w:t>10</w:t></w:r><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>6</w:t></w:r><w:r><w:t>0 m</w:t></w:r><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>2</w:t></w:r></w:p>`
	check(t, extract.DOCX, office(t, map[string]string{
		"word/document.xml": `<w:document ` + word + `>` + body + `</w:document>`,
		"word/numbering.xml": `<w:numbering ` + word + `><w:abstractNum w:abstractNumId="7">` + level("0", "chineseCounting", `<w:lvlText w:val="第%1章"/>`) + level("1", "decimal", `<w:isLgl/><w:lvlText w:val="%1.%2"/>`) +
			level("2", "decimalEnclosedCircle", `<w:lvlText w:val="%3"/>`) + level("3", "decimalZero", `<w:lvlText w:val="%4"/>`) + `</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num></w:numbering>`,
	}), "p 第一章 总则", "item1 1.1 范围", "item2 ① 甲", "item3 01 乙", "p 汉字", "p 10^60 m2")
}

// TestMergedTables: each row has what is merged down into it, and each value
// stands in its column.
func TestMergedTables(t *testing.T) {
	cell := func(props, text string) string {
		return `<w:tc><w:tcPr>` + props + `</w:tcPr>` + para("", text) + `</w:tc>`
	}
	const first, below, over = `<w:vMerge w:val="restart"/>`, `<w:vMerge/>`, `<w:gridSpan w:val="2"/>`
	rows := [][]string{
		{cell("", "Dept"), cell("", "Grade"), cell(over, "City")},
		{cell(first, "Sales"), cell("", "Head"), cell("", "800"), cell("", "150")},
		{cell(below, ""), cell("", "Staff"), cell("", "500"), cell("", "100")},
		{cell(over, "both"), cell("", "1"), cell("", "2")},
		{`<w:trPr><w:gridBefore w:val="2"/></w:trPr>`, cell("", "3"), cell("", "4")},
	}
	body := ""
	for _, row := range rows {
		body += `<w:tr>` + strings.Join(row, "") + `</w:tr>`
	}
	want := []string{"head Dept|Grade|City|City", "row0 Sales|Head|800|150", "row0 Sales|Staff|500|100", "row0 both||1|2", "row0 ||3|4"}
	check(t, extract.DOCX, docx(t, `<w:tbl>`+body+`</w:tbl>`), append([]string{"title Travel rules"}, want...)...)

	tc := func(props, text string) string {
		return `<a:tc ` + props + `><a:p><a:r><a:t>` + text + `</a:t></a:r></a:p></a:tc>`
	}
	table := `<a:tr>` + tc(`gridSpan="2"`, "Dept") + tc(`hMerge="1"`, "") + tc("", "Days") + `</a:tr><a:tr>` + tc(`rowSpan="2"`, "Sales") + tc("", "Head") + tc("", "30") +
		`</a:tr><a:tr>` + tc(`vMerge="1"`, "") + tc("", "Staff") + tc("", "25") + `</a:tr>`
	check(t, extract.PPTX, office(t, map[string]string{
		"ppt/presentation.xml":            `<p xmlns:r="rel"><sldId r:id="r1"/></p>`,
		"ppt/_rels/presentation.xml.rels": `<Relationships><Relationship Id="r1" Target="slides/slide1.xml"/></Relationships>`,
		"ppt/slides/slide1.xml":           `<p:sld xmlns:p="p" xmlns:a="a"><a:tbl>` + table + `</a:tbl></p:sld>`,
	}), "slide 1", "head Dept|Dept|Days", "row0 Sales|Head|30", "row0 Sales|Staff|25")
}

func TestXLSX(t *testing.T) {
	f := excelize.NewFile()
	set := func(sheet, cell string, v any) {
		if err := f.SetCellValue(sheet, cell, v); err != nil {
			t.Fatal(err)
		}
	}
	for i, row := range [][]any{{"Travel limits 2026"}, {}, {"City", "Limit", "From"}, {"Berlin", 160.5, nil}, {"上海", 600, nil}} {
		for j, v := range row {
			cell, _ := excelize.CoordinatesToCellName(j+1, i+1)
			set("Sheet1", cell, v)
		}
	}
	style, _ := f.NewStyle(&excelize.Style{NumFmt: 14})
	set("Sheet1", "C4", 46023) // 2026-01-01
	_ = f.SetCellStyle("Sheet1", "C4", "C4", style)
	_, _ = f.NewSheet("附录")
	set("附录", "A1", "Name")
	set("附录", "A2", "Ada")
	_, _ = f.NewSheet("Hidden")
	set("Hidden", "A1", "lookup")
	_ = f.SetSheetVisible("Hidden", false)
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	check(t, extract.XLSX, b.Bytes(), "h1 Sheet1", "p Travel limits 2026", "head City|Limit|From", "row4 Berlin|160.5|2026-01-01", "row5 上海|600", "h1 附录", "head Name", "row2 Ada")
}

// TestXLSXFormulas: a formula that was saved without its value is shown itself.
func TestXLSXFormulas(t *testing.T) {
	f := excelize.NewFile()
	for i, row := range [][]any{{"Item", "Price", "Total"}, {"Chair", 100, nil}, {"Desk", 250, 500}} {
		for j, v := range row {
			cell, _ := excelize.CoordinatesToCellName(j+1, i+1)
			_ = f.SetCellValue("Sheet1", cell, v)
		}
	}
	for cell, text := range map[string]string{"C2": `IF(B2<9,"a","b")`, "C3": "B3*2", "C4": "SUM(C2:C3)"} {
		_ = f.SetCellFormula("Sheet1", cell, text)
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	check(t, extract.XLSX, b.Bytes(), "h1 Sheet1", "head Item|Price|Total", `row2 Chair|100|=IF(B2<9,"a","b")`, "row3 Desk|250|500", "row4 ||=SUM(C2:C3)")
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for _, p := range z.File {
		r, err := p.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r)
		parts[p.Name] = strings.ReplaceAll(string(text), "</f></c>", "</f><v></v></c>") // what they came to is an empty text
	}
	check(t, extract.XLSX, office(t, parts), "h1 Sheet1", "head Item|Price|Total", "row2 Chair|100", "row3 Desk|250|500")
}

// TestXLSXMerged: what is merged down stands in each row, a head of several
// rows is one, and a title over all columns is text.
func TestXLSXMerged(t *testing.T) {
	f := excelize.NewFile()
	for i, row := range [][]any{{"Limits"}, {"Dept", "Grade", "City"}, {nil, nil, "Hotel", "Meal"}, {"Sales", "Head", 800, 150}, {nil, "Staff", 500}, {"HR", "Head", 700, 140}, {}, {"a", "b"}} {
		for j, v := range row {
			cell, _ := excelize.CoordinatesToCellName(j+1, i+1)
			_ = f.SetCellValue("Sheet1", cell, v)
		}
	}
	for _, r := range [][2]string{{"A1", "D1"}, {"A2", "A3"}, {"B2", "B3"}, {"C2", "D2"}, {"A4", "A5"}, {"D4", "D5"}} {
		_ = f.MergeCell("Sheet1", r[0], r[1])
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	check(t, extract.XLSX, b.Bytes(), "h1 Sheet1", "p Limits", "head Dept|Grade|City Hotel|City Meal", "row4 Sales|Head|800|150", "row5 Sales|Staff|500|150", "row6 HR|Head|700|140", "row8 a|b")
}

// TestXLSXWideHead: below a head with wide cells a row is more of the head only
// if it has nothing but names there.
func TestXLSXWideHead(t *testing.T) {
	for _, tt := range []struct {
		merged string
		rows   [][]any
		want   []string
	}{
		{"B1:C1", [][]any{{"Item", "Price"}, {"Tea", 3, 4}, {"Rice", 5, 6}}, []string{"head Item|Price|Price", "row2 Tea|3|4", "row3 Rice|5|6"}},
		{"B1:C1", [][]any{{"Item", "Price"}, {"Tea", "low", "high"}, {"Rice", 5, 6}}, []string{"head Item|Price|Price", "row2 Tea|low|high", "row3 Rice|5|6"}},
		{"B1:C1", [][]any{{"Item", "Price"}, {nil, 2024, 2025}, {"Rice", 5, 6}}, []string{"head Item|Price 2024|Price 2025", "row3 Rice|5|6"}},
		{"A1:B1,C1:D1", [][]any{{"Item", nil, "Price"}, {"Tea", "green", 3, 4}}, []string{"head Item|Item|Price|Price", "row2 Tea|green|3|4"}},
		{"A1:B1,C1:D1", [][]any{{"Item", nil, "Price"}, {"name", "kind", "old", "new"}, {"Tea", "green", 3, 4}}, []string{"head Item name|Item kind|Price old|Price new", "row3 Tea|green|3|4"}},
	} {
		f := excelize.NewFile()
		for i, row := range tt.rows {
			_ = f.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &row)
		}
		for cells := range strings.SplitSeq(tt.merged, ",") {
			from, to, _ := strings.Cut(cells, ":")
			_ = f.MergeCell("Sheet1", from, to)
		}
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		check(t, extract.XLSX, b.Bytes(), append([]string{"h1 Sheet1"}, tt.want...)...)
	}
}

func TestCSV(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"commas":     {"Name,Days\n\"Doe, Jane\",30\n", []string{"head Name|Days", "row2 Doe, Jane|30"}},
		"semicolons": {"Name;Betrag\nA;1,5\nB;2,5\n", []string{"head Name|Betrag", "row2 A|1,5", "row3 B|2,5"}},
		"tabs":       {"a\tb\n1\t2\n", []string{"head a|b", "row2 1|2"}},
		"ragged":     {"a,b\n1,2,3\n4\n", []string{"head a|b", "row2 1|2|3", "row3 4"}},
		"two tables": {"List\n\na,b\n1,2\n\nc,d\n3,4\n", []string{"p List", "head a|b", "row4 1|2", "head c|d", "row7 3|4"}},
		"quoted":     {"\"a, b\";c\n\"d, e\";f\n\"g, h\";i\n", []string{"head a, b|c", "row2 d, e|f", "row3 g, h|i"}},
		"a gap":      {"a,b\n1,x\n\n2,y\n", []string{"head a|b", "row2 1|x", "row4 2|y"}},
		"gaps":       {"Q,A\nHow long?,long\n\nWho?,she\n\nWhere?,here\n", []string{"head Q|A", "row2 How long?|long", "row4 Who?|she", "row6 Where?|here"}},
		"a last row": {"a,b\n1,2\n\nTotal,none\nend\n", []string{"head a|b", "row2 1|2", "row4 Total|none", "row5 end"}},
		"lines":      {"Q,A\nHow?,\"do this;\nthen; that\nask; wait\ngo; home\"\nWho?,\"she; he\nthey; all\"\n", []string{"head Q|A", "row2 How?|do this;\nthen; that\nask; wait\ngo; home", "row3 Who?|she; he\nthey; all"}},
		"inches":     {"Name;Size\nBolt 3\" long;5\nNut;6\n", []string{"head Name|Size", "row2 Bolt 3\" long|5", "row3 Nut|6"}},
		"titles":     {"Limits\nin EUR\nCity,Limit\nBern,160\n", []string{"p Limits", "p in EUR", "head City|Limit", "row4 Bern|160"}},
		"told":       {"sep=;\nName;Days\nA, B;30\n", []string{"head Name|Days", "row2 A, B|30"}},
		"one column": {"Holiday\n2026-01-01\n2026-05-01\n", []string{"head Holiday", "row2 2026-01-01", "row3 2026-05-01"}},
	} {
		t.Run(name, func(t *testing.T) { check(t, extract.CSV, []byte(c.body), c.want...) })
	}
}

func TestHTML(t *testing.T) {
	page := `<!doctype html><html><head><title> Leave
 rules</title><style>p{}</style></head><body><nav><a href="/">Home</a></nav><main><h1>Leave</h1><p>Take <a href="javascript:alert(1)">30 days</a>.<script>evil()</script></p>
<div style="display: none">hidden</div><p hidden>hidden too</p><img src="data:image/png;base64,AAAA" alt="x"><table><tr><th>City</th><th>Limit</th></tr><tr><td>Berlin</td><td>160</td></tr></table></main><footer>© us</footer></body></html>`
	check(t, extract.HTML, []byte(page), "title Leave rules", "md # Leave\n\nTake 30 days.\n\n| City | Limit |\n|---|---|\n| Berlin | 160 |")
}

// TestHTMLText: text stays as it is written, and tables as tables whatever is
// in their cells.
func TestHTMLText(t *testing.T) {
	for name, c := range map[string]struct{ page, want string }{
		"signs":  {"<p>a_b_c *x* [y] 1 < 2 > 0", "a_b_c *x* [y] 1 < 2 > 0"},
		"cells":  {"<table><tr><th>a|b</th><th>c</th></tr><tr><td><ul><li>x<li>y</ul><td><p>5 * 3<p>z<br>w</table>", "| a\\|b | c |\n|---|---|\n| x y | 5 * 3 z w |"},
		"spans":  {`<table><tr><td>r<td>1<tr><td colspan=2>both<tr><td colspan=2000000000>x</table>`, "| r | 1 |\n|---|---|\n| both | both |\n| x |  |"},
		"layout": {"<table><tr><td>menu<td><table><tr><td>City<td>Limit<tr><td>Bern<td>10</table></table>", "menu\n\n| City | Limit |\n|---|---|\n| Bern | 10 |"},
		"form":   {`<form><h1>Leave</h1><input value=x><p>30 days.</p></form><form><label>Find</label><input></form>`, "# Leave\n\n30 days."},
		"main":   {`<main hidden>old</main><main> <img></main><p>All of it.`, "All of it."},
		"powers": {"<p>10<sup>6</sup> people, <b>160</b><sup>1)</sup>, H<sub>2</sub>O, m<sup>2</sup>", "10^6 people, **160**^1), H2O, m2"},
		"lists":  {"<ul><li>a</ul><ol><li>b</ol>", "- a\n\n1. b"},
		"parted": {"<p>Urlaubs&shy;anspruch zero&#8203;width <ruby>汉<rp>(<rt>hàn<rp>)</ruby>字", "Urlaubsanspruch zerowidth 汉字"},
		"frame":  {"<table><tr><td><p>Dear all,<p>30 days.<ul><li>a<li>b</ul></table>", "Dear all,\n\n30 days.\n\n- a\n- b"},
		"closed": {`<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a.js"/></head><body><p>text</p></body></html>`, "text"},
		"hidden": {`<p aria-hidden=false style="display: none">no</p><p aria-hidden="false">yes</p>`, "yes"},
	} {
		t.Run(name, func(t *testing.T) { check(t, extract.HTML, []byte(c.page), "md "+c.want) })
	}
}

func TestPPTX(t *testing.T) {
	slide := func(title, rest string) string {
		return `<p:sld xmlns:p="p" xmlns:a="a"><p:sp><p:nvPr><p:ph type="sldNum"/></p:nvPr><a:p><a:r><a:t>7</a:t></a:r></a:p></p:sp>` + rest +
			`<p:sp><p:nvPr><p:ph type="title"/></p:nvPr><a:p><a:r><a:t>` + title + `</a:t></a:r></a:p></p:sp></p:sld>`
	}
	text := `<p:sp><a:p><a:r><a:t>First</a:t></a:r></a:p><a:p><a:pPr lvl="1"/><a:r><a:t>below</a:t></a:r></a:p><a:p><a:r><a:t>Second</a:t></a:r></a:p></p:sp>`
	check(t, extract.PPTX, office(t, map[string]string{
		"ppt/presentation.xml":            `<p xmlns:r="rel"><sldIdLst><sldId id="256" r:id="r2"/><sldId id="258" r:id="r3"/><sldId id="257" r:id="r1"/></sldIdLst></p>`,
		"ppt/_rels/presentation.xml.rels": `<Relationships><Relationship Id="r1" Target="slides/slide1.xml"/><Relationship Id="r2" Target="slides/slide2.xml"/><Relationship Id="r3" Target="/ppt/slides/slide3.xml"/></Relationships>`,
		"ppt/slides/slide3.xml":           strings.Replace(slide("Hidden", text), "<p:sld ", `<p:sld show="0" `, 1),
		"ppt/slides/slide1.xml":           slide("Last", ""), "ppt/slides/slide2.xml": slide("Opening", text),
	}), "slide 1", "h1 Opening", "item0 - First", "item1 - below", "item0 - Second", "slide 2", "slide 3", "h1 Last")
}

// TestUntitledSlides: what is on a slide without a title does not stand under
// the one before, and the texts of diagrams are read.
func TestUntitledSlides(t *testing.T) {
	sp := func(props string, texts ...string) string {
		return `<p:sp><p:nvPr>` + props + `</p:nvPr><a:p><a:r><a:t>` + strings.Join(texts, `</a:t></a:r></a:p><a:p><a:r><a:t>`) + `</a:t></a:r></a:p></p:sp>`
	}
	slide := func(body string) string { return `<p:sld xmlns:p="p" xmlns:a="a" xmlns:r="r">` + body + `</p:sld>` }
	const art = `<p:graphicFrame><d:relIds xmlns:d="d" r:dm="r7"/><d:relIds xmlns:d="d" r:dm="r7"/></p:graphicFrame>`
	parts := map[string]string{
		"ppt/presentation.xml":             `<p xmlns:r="rel"><sldId r:id="r1"/><sldId r:id="r2"/><sldId r:id="r3"/></p>`,
		"ppt/_rels/presentation.xml.rels":  `<Relationships><Relationship Id="r1" Target="slides/slide1.xml"/><Relationship Id="r2" Target="slides/slide2.xml"/><Relationship Id="r3" Target="slides/slide3.xml"/></Relationships>`,
		"ppt/slides/slide1.xml":            slide(sp(`<p:ph type="title"/>`, "Steps") + art),
		"ppt/slides/_rels/slide1.xml.rels": `<Relationships><Relationship Id="r7" Target="../diagrams/data1.xml"/></Relationships>`,
		"ppt/diagrams/data1.xml":           `<d:dataModel xmlns:d="d" xmlns:a="a"><d:pt><d:t> <a:p><a:r><a:t>Ask</a:t></a:r></a:p></d:t></d:pt><d:pt><d:t><a:p><a:r><a:t>Go </a:t></a:r><a:r><a:t>home</a:t></a:r></a:p></d:t></d:pt></d:dataModel>`,
		"ppt/slides/slide2.xml":            slide(sp("", "Costs") + sp("", "a", "b")),
		"ppt/slides/slide3.xml":            slide(sp("", "one", "two")),
	}
	check(t, extract.PPTX, office(t, parts), "slide 1", "h1 Steps", "item0 - Ask", "item0 - Go home", "slide 2", "h1 Costs", "item0 - a", "item0 - b", "slide 3", "h1 Slide 3", "item0 - one", "item0 - two")
	check(t, extract.DOCX, office(t, map[string]string{
		"word/document.xml": `<w:document ` + word + `><w:p><w:r><d:relIds xmlns:d="d" xmlns:r="r" r:dm="r7"/></w:r></w:p></w:document>`, "word/diagrams/data1.xml": parts["ppt/diagrams/data1.xml"],
		"word/_rels/document.xml.rels": `<Relationships><Relationship Id="r7" Target="diagrams/data1.xml"/></Relationships>`,
	}), "item0 - Ask", "item0 - Go home")
}

// TestLimits: what unpacks to too much is refused before it is unpacked.
func TestLimits(t *testing.T) {
	many := map[string]string{}
	for i := range 50 {
		many[fmt.Sprintf("word/%d.xml", i)] = "x"
	}
	bomb := office(t, map[string]string{"word/document.xml": strings.Repeat(" ", 20<<20)})
	locked := append([]byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), make([]byte, 600)...)
	for name, c := range map[string]struct {
		kind   extract.Kind
		body   []byte
		limits extract.Limits
		want   error
		says   string
	}{
		"entries":   {extract.DOCX, office(t, many), extract.Limits{Entries: 49}, extract.ErrZip, "50 files"},
		"ratio":     {extract.DOCX, bomb, extract.Limits{}, extract.ErrZip, "times its size"},
		"ratio too": {extract.XLSX, bomb, extract.Limits{}, extract.ErrZip, "times its size"},
		"unpacked":  {extract.PPTX, bomb, extract.Limits{Unpacked: 1 << 20, Ratio: 1 << 30}, extract.ErrZip, "above 1 MB"},
		"page":      {extract.HTML, []byte("<p>0123456789"), extract.Limits{Page: 10}, extract.ErrTooLarge, "web page"},
		"password":  {extract.DOCX, locked, extract.Limits{}, extract.ErrEncrypted, "2007"},
		"no docx":   {extract.DOCX, office(t, map[string]string{"a": "b"}), extract.Limits{}, extract.ErrDamaged, "word/document.xml"},
		"no zip":    {extract.XLSX, []byte("hello"), extract.Limits{}, extract.ErrDamaged, ""},
		"xml":       {extract.DOCX, office(t, map[string]string{"word/document.xml": "<a><b></a>"}), extract.Limits{}, extract.ErrDamaged, "document.xml"},
		"pdf":       {extract.PDF, []byte("%PDF-1.4\n1 0 obj"), extract.Limits{}, extract.ErrDamaged, "cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := read(c.kind, c.body, c.limits); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v with %q", err, c.want, c.says)
			}
		})
	}
}

// FuzzRead: no file makes a reader hang, or fail with another error than of a
// file.
func FuzzRead(f *testing.F) {
	kinds := []extract.Kind{extract.DOCX, extract.PDF, extract.HTML, extract.CSV, extract.PPTX, extract.XLSX}
	f.Add(uint8(0), docx(f, para("", "text")))
	f.Add(uint8(1), pdfFile("", "BT /F1 12 Tf 72 700 Td (Hello) Tj ET", "q 1 0 0 1 0 0 cm BT [(a) -200 (b)] TJ T* ET Q"))
	f.Add(uint8(1), pdfFile("", strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+" TJ "+strings.Repeat("<</a[", 1500)))
	f.Add(uint8(1), bytes.Replace(pdfFile("", "q"), []byte("/Kids [8 0 R"), []byte("/Kids ["+strings.Repeat("8 0 R ", 300)+strings.Repeat("[", 1200)), 1))
	f.Add(uint8(2), []byte("<table><tr><td rowspan=3>a<td>b</table><ul><li>x"))
	f.Add(uint8(3), []byte("a;b\n\"1;2\n"))
	for kind := range kinds {
		f.Add(uint8(kind), []byte{})
	}
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		_, err := read(kinds[int(kind)%len(kinds)], body, extract.Limits{Unpacked: 1 << 20, Page: 64 << 10})
		for _, known := range []error{nil, extract.ErrDamaged, extract.ErrEncrypted, extract.ErrTooLarge, extract.ErrZip} {
			if errors.Is(err, known) {
				return
			}
		}
		t.Errorf("an error of no name: %v", err)
	})
}
