package extract_test

import (
	"errors"
	"strings"
	"testing"

	"strata/ingest/extract"
)

// related is a web archive as html-docx-js makes it.
const related = "MIME-Version: 1.0\nContent-Type: multipart/related;\n    type=\"text/html\";\n    boundary=\"----=part\"\n\n\n------=part\nContent-Type: text/html;\n    charset=\"utf-8\"\n" +
	"Content-Transfer-Encoding: quoted-printable\nContent-Location: file:///C:/fake/document.html\n\n<html><head><title>Fake</title></head><body><h2 id=3D\"a\">休假</h2><p>Twenty=20days.</p></body></html>\n\n" +
	"------=part\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\nAAAA\n------=part--\n"

const alternative = "Content-Type: multipart/related; boundary=a\r\n\r\n--a\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nno\r\n" +
	"--b\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\nPHA+\r\nSW5uZXI=\r\n--b--\r\n--a--\r\n"

// chunked makes a Word document with a part in another format between two
// paragraphs, where body stands. Parts are related by their names.
func chunked(t *testing.T, body, part, text string) []byte {
	return office(t, map[string]string{
		"word/document.xml":            `<w:document ` + word + ` xmlns:r="r"><w:body>` + para("", "Before") + body + para("", "After") + `</w:body></w:document>`,
		"[Content_Types].xml":          `<Types><Default Extension="mht" ContentType="message/rfc822"/><Override PartName="/word/c.dat" ContentType="application/rtf"/></Types>`,
		"word/_rels/document.xml.rels": `<Relationships><Relationship Id="` + part + `" Type="http://x/aFChunk" Target="/word/` + part + `"/></Relationships>`,
		"word/" + part:                 text,
	})
}

// TestDOCXChunks: texts that are kept in other formats are read where they
// stand, once each.
func TestDOCXChunks(t *testing.T) {
	for name, c := range map[string]struct {
		body, part, text string
		want             []string
	}{
		"html":    {`<w:altChunk r:id="c.html"/>`, "c.html", "<title>No</title><h1>Leave</h1><p>30 days.", []string{"p Before", "md # Leave\n\n30 days.", "p After"}},
		"twice":   {`<w:altChunk r:id="c.htm"><w:altChunkPr/></w:altChunk><w:altChunk r:id="c.htm"/>`, "c.htm", "<p>30 days.", []string{"p Before", "md 30 days.", "p After"}},
		"plain":   {`<w:altChunk r:id="c.txt"/>`, "c.txt", "One.\n\nTwo.", []string{"p Before", "p One.", "p Two.", "p After"}},
		"related": {`<w:altChunk r:id="c.mht"/>`, "c.mht", related, []string{"p Before", "md ## 休假\n\nTwenty days.", "p After"}},
		"long line": {`<w:altChunk r:id="c.mht"/>`, "c.mht", strings.Replace(related, "Twenty=20days.", strings.Repeat("Twenty=20days. ", 700), 1),
			[]string{"p Before", "md ## 休假\n\n" + strings.TrimSpace(strings.Repeat("Twenty days. ", 700)), "p After"}},
		"alternative": {`<w:altChunk r:id="c.mht"/>`, "c.mht", alternative, []string{"p Before", "md Inner", "p After"}},
		"cell":        {`<w:tbl><w:tr><w:tc>` + para("", "City") + `</w:tc></w:tr><w:tr><w:tc><w:altChunk r:id="c.html"/></w:tc></w:tr></w:tbl>`, "c.html", "<p>Bern", []string{"p Before", "head City", "row0 Bern", "p After"}},
		"deleted":     {`<w:del><w:altChunk r:id="c.html"/></w:del>`, "c.html", "<p>old", []string{"p Before", "p After"}},
		"not there":   {`<w:altChunk r:id="other"/>`, "c.html", "<p>x", []string{"p Before", "p After"}},
	} {
		t.Run(name, func(t *testing.T) { check(t, extract.DOCX, chunked(t, c.body, c.part, c.text), c.want...) })
	}
}

// TestDOCXChunksRefused: a document of which a part is not read is none.
func TestDOCXChunksRefused(t *testing.T) {
	for name, c := range map[string]struct {
		part, text string
		want       error
	}{
		"rtf":       {"c.dat", "{\\rtf1 text}", extract.ErrChunk},
		"no page":   {"c.mht", strings.Replace(related, "text/html;\n    charset", "text/css;\n    charset", 1), extract.ErrChunk},
		"broken":    {"c.mht", related[:320], extract.ErrDamaged},
		"no header": {"c.mht", "", extract.ErrDamaged},
		"too large": {"c.html", strings.Repeat("<p>x", 1000), extract.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := read(extract.DOCX, chunked(t, `<w:altChunk r:id="`+c.part+`"/>`, c.part, c.text), extract.Limits{Page: 3000}); !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
