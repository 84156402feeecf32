package extract_test

import (
	"bytes"
	"crypto/md5"
	"crypto/rc4"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/ingest/extract"
)

// pdfFile makes a PDF with a page for each content stream. Its fonts: F1 with
// letters half as wide as high; F2 Chinese by a map of its own; F3 Chinese as
// GBK. Besides it has a picture Im, a form Fm with a line and an empty one Em.
func pdfFile(title string, pages ...string) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(offsets)}, args...)...)
	}
	stream := func(s string) { object("<< /Length %d >>\nstream\n%s\nendstream", len(s), s) }
	b.WriteString("%PDF-1.7\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 8+2*i)
	}
	object("<< /Type /Pages /Kids [%s] /Count %d /Resources << /Font << /F1 3 0 R /F2 4 0 R /F3 6 0 R >> /XObject << /Im %d 0 R /Fm %d 0 R /Em %d 0 R >> >> >>",
		kids.String(), len(pages), 8+2*len(pages), 9+2*len(pages), 10+2*len(pages))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /FirstChar 32 /LastChar 126 /Widths [%s] >>", strings.Repeat("500 ", 95))
	object("<< /Type /Font /Subtype /Type0 /BaseFont /Song /Encoding /Identity-H /DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 /DW 1000 >>] /ToUnicode 5 0 R >>")
	stream("/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange\n2 beginbfchar <0001> <7B2C> <0002> <4E00> endbfchar\n1 beginbfrange <0010> <0011> <6761> endbfrange endcmap end")
	object("<< /Type /Font /Subtype /Type0 /BaseFont /Hei /Encoding /GBK-EUC-H /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /DW 1000 >>] >>")
	object("<< /Title (%s) >>", title)
	for i, p := range pages {
		object("<< /Type /Page /Parent 2 0 R /Contents %d 0 R >>", 9+2*i)
		stream(p)
	}
	object("<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 1 >>\nstream\n0\nendstream")
	object("<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length 15 >>\nstream\n0 0 m 9 9 l S  \nendstream")
	object("<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length 1 >>\nstream\n \nendstream")
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R /Info 7 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, at)
	return b.Bytes()
}

// set writes lines below each other.
func set(size, top float64, lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "BT /F1 %g Tf %g TL 72 %g Td ", size, 1.2*size, top)
	for _, l := range lines {
		fmt.Fprintf(&b, "(%s) Tj T* ", l)
	}
	b.WriteString("ET\n")
	return b.String()
}

func TestPDF(t *testing.T) {
	one := set(18, 700, "Travel rules") + set(10, 660, "Hotels are paid up to the limit of the city in which they stand, and break-", "fast is a part of that. A receipt is needed.") +
		set(10, 600, "1. Ask first.", "2. Book then.")
	check(t, extract.PDF, pdfFile("Rules 2026", one), "title Rules 2026", "page 1", "h1 Travel rules",
		"p Hotels are paid up to the limit of the city in which they stand, and breakfast is a part of that. A receipt is needed.", "p 1. Ask first.\n2. Book then.")
}

// TestPDFPlaces: texts are put by matrices, letters apart, in forms of their
// own, from the top or from the bottom.
func TestPDFPlaces(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"spaced":      {"BT /F1 10 Tf 72 700 Td [(Pay) -600 (in) -100 (g)] TJ ET", "p Pay ing"},
		"flipped":     {"q 1 0 0 -1 0 800 cm BT /F1 10 Tf 1 0 0 -1 72 100 Tm (First) Tj ET BT /F1 10 Tf 1 0 0 -1 72 112 Tm (second) Tj ET Q", "p First second"},
		"one by one":  {"BT /F1 10 Tf 1 0 0 1 72 700 Tm (A) Tj 1 0 0 1 77 700 Tm (b) Tj 1 0 0 1 90 700 Tm (c) Tj ET", "p Ab c"},
		"own map":     {"BT /F2 10 Tf 72 700 Td <000100020010> Tj ET", "p 第一条"},
		"gbk":         {"BT /F3 10 Tf 72 700 Td <D6B5B0E0> Tj ET", "p 值班"},
		"two columns": {"BT /F1 10 Tf 1 0 0 1 72 700 Tm (Left.) Tj 1 0 0 1 300 700 Tm (Right.) Tj ET", "p Left.  Right."},
	} {
		t.Run(name, func(t *testing.T) { check(t, extract.PDF, pdfFile("", c.content), "page 1", c.want) })
	}
}

// TestPDFNumbersAtEdges: lines at the top and bottom of pages that differ in
// what they count are text; page numbers are not, also where they stand twice.
func TestPDFNumbersAtEdges(t *testing.T) {
	var pages []string
	for i := 1; i <= 4; i++ {
		pages = append(pages, set(10, 800, "Payslip", fmt.Sprintf("Page %d of 4, sheet %d", i, i), fmt.Sprintf("For employee %d:", 7*i*i), fmt.Sprintf("Total %d EUR.", 1000+i*i)))
	}
	lines, err := read(extract.PDF, pdfFile("", pages...), extract.Limits{})
	got := strings.Join(lines, "\n")
	for i := 1; i <= 4; i++ {
		if want := fmt.Sprintf("For employee %d: Total %d EUR.", 7*i*i, 1000+i*i); !strings.Contains(strings.ReplaceAll(got, "\n", " "), want) {
			t.Errorf("without %q", want)
		}
	}
	if err != nil || strings.Contains(got, "sheet") || strings.Contains(got, "Payslip") {
		t.Errorf("%v, %s", err, got)
	}
}

// TestPDFLines: the rows of a table stay lines, and what stands higher is not
// one number with what is before it.
func TestPDFLines(t *testing.T) {
	page := "BT /F1 10 Tf 72 700 Td (City) Tj 100 0 Td (Hotel) Tj -100 -12 Td (Berlin) Tj 100 0 Td (160 EUR) Tj -100 -12 Td (Per night and person.) Tj ET " +
		"BT /F1 10 Tf 72 600 Td (Up to 10) Tj 5 Ts /F1 6 Tf (6) Tj 0 Ts /F1 10 Tf ( people.) Tj ET"
	check(t, extract.PDF, pdfFile("", page), "page 1", "p City  Hotel\nBerlin  160 EUR\nPer night and person.", "p Up to 10^6 people.")
}

// TestPDFTwice: letters that are drawn twice to be bold are read once.
func TestPDFTwice(t *testing.T) {
	page := "BT /F1 10 Tf 72 700 Td (Bold words) Tj 0.4 0 Td (Bold words) Tj 0 -12 Td (Bold words) Tj ET"
	check(t, extract.PDF, pdfFile("", page), "page 1", "p Bold words Bold words")
}

// TestPDFColumns: a full line of the left one of two columns is no short one.
func TestPDFColumns(t *testing.T) {
	page := "BT /F1 10 Tf 72 700 Td (one two three four five six) Tj 0 -12 Td (seven eight nine) Tj 200 12 Td (in the other column there are) Tj 0 -12 Td (more.) Tj ET"
	check(t, extract.PDF, pdfFile("", page), "page 1", "p one two three four five six seven eight nine\nin the other column there are more.")
}

// TestPDFShortKey: a file whose key has 40 bits is named as what it is.
func TestPDFShortKey(t *testing.T) {
	pad := []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")
	owner := bytes.Repeat([]byte("o"), 32)
	key := md5.Sum(slices.Concat(pad, owner, []byte{0xFC, 0xFF, 0xFF, 0xFF}, []byte("id")))
	c, err := rc4.NewCipher(key[:5])
	if err != nil {
		t.Fatal(err)
	}
	user := make([]byte, len(pad))
	c.XORKeyStream(user, pad)
	body := bytes.Replace(pdfFile("", set(10, 700, "text")), []byte("/Info 7 0 R"), fmt.Appendf(nil, "/ID [<%x> <00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%x> /U <%x> >>", "id", owner, user), 1)
	if _, err := read(extract.PDF, body, extract.Limits{}); !errors.Is(err, extract.ErrEncrypted) || !strings.Contains(err.Error(), "short key") {
		t.Errorf("%v", err)
	}
}

// TestPDFFields: what is filled into a form stands behind its label, hidden
// fields do not count.
func TestPDFFields(t *testing.T) {
	form := func(text string) string {
		s := "/Tx BMC q BT /F1 10 Tf 2 2 Td (" + text + ") Tj ET Q EMC"
		return fmt.Sprintf("<< /Type /XObject /Subtype /Form /BBox [0 0 100 20] /Resources << /Font << /F1 3 0 R >> >> /Length %d >>\nstream\n%s\nendstream", len(s), s)
	}
	text := set(10, 700, "Name:") + set(10, 600, "Signed")
	body := []byte("%PDF-1.7\n")
	var xref strings.Builder
	for i, object := range []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [4 0 R] /Count 1 >>", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R /Annots [6 0 R 7 0 R 8 0 R] >>", fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(text), text),
		"<< /Subtype /Widget /Rect [110 698 200 718] /AP << /N 9 0 R >> >>", "<< /Subtype /Widget /F 2 /Rect [110 598 200 618] /AP << /N 9 0 R >> >>",
		"<< /Subtype /Widget /Rect [110 598 200 618] /AS /On /AP << /N << /On 10 0 R /Off 9 0 R >> >> >>", form("Ann Miller"), form("yes"),
	} {
		fmt.Fprintf(&xref, "%010d 00000 n \n", len(body))
		body = fmt.Appendf(body, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	body = fmt.Appendf(body, "xref\n0 11\n0000000000 65535 f \n%strailer\n<< /Size 11 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", xref.String(), len(body))
	check(t, extract.PDF, body, "page 1", "p Name: Ann Miller", "p Signed yes")
}

// TestPDFStandardFont: words that are set one by one in a font whose widths
// every reader knows are not glued together.
func TestPDFStandardFont(t *testing.T) {
	body := pdfFile("", "BT /F1 10 Tf 72 700 Td (little) Tj 20.3 0 Td (it) Tj 7.2 0 Td (will) Tj 17 0 Td (tell) Tj ET")
	at := bytes.Index(body, []byte("/FirstChar"))
	to := at + bytes.IndexByte(body[at:], ']') + 1
	copy(body[at:to], bytes.Repeat([]byte(" "), to-at))
	check(t, extract.PDF, body, "page 1", "p little it will tell")
}

// TestPDFRunningHeads: lines that stand on all pages are none of the text, and
// a sentence goes on over the page.
func TestPDFRunningHeads(t *testing.T) {
	var pages []string
	for i, what := range []string{"the leave", "the travel", "a promotion", "the rest"} {
		pages = append(pages, set(8, 780, fmt.Sprintf("Handbook page %d of 4", i+1))+set(10, 700, "All about "+what+" that is to be known by everybody and"))
	}
	got, err := read(extract.PDF, pdfFile("", pages...), extract.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(got, "\n")
	if strings.Contains(all, "Handbook") || !strings.Contains(all, "everybody and [page 2]All about the travel") {
		t.Errorf("got %s", all)
	}
}

// TestPDFPages: each line is told of on its page, whether or not what is on
// the page before is at an end, and so are headings at the foot of one.
func TestPDFPages(t *testing.T) {
	check(t, extract.PDF, pdfFile("",
		set(10, 700, "One line that is as long as any line of this text is.", "It ends here."),
		"", // a page without text
		set(10, 700, "Another page begins with a line that is quite as long", "and goes")+set(18, 100, "At the foot"),
		set(10, 700, "on with no word of the page before.", "(b) an item")),
		"page 1", "p One line that is as long as any line of this text is. It ends here.",
		"page 3", "p Another page begins with a line that is quite as long and goes", "h1 At the foot",
		"page 4", "p on with no word of the page before.\n(b) an item")
}

// TestPDFTextless: pages without text that show something are counted, also
// where a number is stamped on them.
func TestPDFTextless(t *testing.T) {
	text := set(10, 700, "One line of text.")
	for name, c := range map[string]struct {
		pages []string
		want  string
	}{
		"picture":      {[]string{text, "q 500 0 0 700 0 0 cm /Im Do Q", "/Im Do"}, "textless 2 of 3"},
		"inline":       {[]string{text, "BI /W 1 /H 1 /CS /G /BPC 8 ID \x00 EI"}, "textless 1 of 2"},
		"form":         {[]string{text, "/Fm Do"}, "textless 1 of 2"},
		"beside text":  {[]string{text + "/Im Do", set(10, 700, "More of it.") + "/Fm Do"}, ""},
		"empty":        {[]string{text, "", "/Em Do", "0 0 m 9 9 l S"}, ""},
		"cannot read":  {[]string{text, "currentdict"}, "textless 1 of 2"},
		"stamped":      {[]string{text + set(8, 20, "Sheet 1"), "/Im Do " + set(8, 20, "Sheet 2"), "/Im Do " + set(8, 20, "Sheet 3"), "/Im Do " + set(8, 20, "Sheet 4")}, "textless 3 of 4"},
		"nothing else": {[]string{"/Im Do"}, "textless 1 of 1"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(extract.PDF, pdfFile("", c.pages...), extract.Limits{})
			last := ""
			if n := len(got); n > 0 && strings.HasPrefix(got[n-1], "textless") {
				last = got[n-1]
			}
			if err != nil || last != c.want {
				t.Errorf("%v, got %q of %q, want %q", err, last, got, c.want)
			}
		})
	}
}

// TestPDFHeadings: two headings of one size below each other are two, unless
// the first fills its line.
func TestPDFHeadings(t *testing.T) {
	body := set(10, 600, "The body of the text has long lines, as it is wont to have.", "It has letters in plenty.")
	for name, c := range map[string][]string{
		"two": {set(16, 700, "Leave policy", "Annual leave"), "h1 Leave policy", "h1 Annual leave"},
		"one": {set(16, 700, "What is to be known about all", "kinds of leave"), "h1 What is to be known about all kinds of leave"},
	} {
		t.Run(name, func(t *testing.T) {
			want := append([]string{"page 1"}, c[1:]...)
			check(t, extract.PDF, pdfFile("", c[0]+body), append(want, "p The body of the text has long lines, as it is wont to have. It has letters in plenty.")...)
		})
	}
}

// TestPDFLoops: what names itself ends, at once and without text.
func TestPDFLoops(t *testing.T) {
	text := pdfFile("", "BT /F1 10 Tf 72 700 Td (Text) Tj ET")
	again := strings.Repeat("/X Do ", 50)
	forms := pdfFile("", again+"BT /F1 10 Tf 72 700 Td (Text) Tj ET")
	for name, c := range map[string]struct{ body, from, to string }{
		"parent": {string(text), "/Parent 2 0 R /Contents", "/Parent 8 0 R /Contents"}, // itself
		"kids":   {string(text), "/Kids [8 0 R ]", "/Kids [2 0 R ]"},
		"forms":  {string(forms), "/Type /Page /Parent", "/Resources << /XObject << /X 9 0 R >> >> /Parent"},
	} {
		t.Run(name, func(t *testing.T) {
			body := strings.ReplaceAll(c.body, c.from, c.to)
			if body == c.body {
				t.Fatal("nothing was made a loop")
			}
			began := time.Now()
			_, err := read(extract.PDF, []byte(body), extract.Limits{})
			if time.Since(began) > 10*time.Second || err != nil && !errors.Is(err, extract.ErrDamaged) {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
	}
}

// TestPDFFontBombs: a font's map is read up to what codes there can be, however
// often it names them.
func TestPDFFontBombs(t *testing.T) {
	text := "BT /F2 10 Tf 72 700 Td <000100020010> Tj ET"
	ranges := strings.Repeat("<0000> <FFFF> <0041> ", 3000)
	body := bytes.Replace(pdfFile("", text), []byte("1 beginbfrange <0010> <0011> <6761> endbfrange endcmap end"), []byte("1 beginbfrange <0010> <0011> <6761> "+ranges+"endbfrange"), 1)
	body = bytes.Replace(body, []byte("/DW 1000 >>] /ToUnicode"), []byte("/DW 1000 /W ["+strings.Repeat("0 65535 1 ", 3000)+"]>>] /ToUnicode"), 1)
	body = rewritten(body)
	began := time.Now()
	got, err := read(extract.PDF, body, extract.Limits{})
	if took := time.Since(began); err != nil || len(got) != 2 || took > 5*time.Second {
		t.Errorf("%q, %v after %v", got, err, took)
	}
}

// rewritten puts right the lengths and places of a PDF whose objects changed.
func rewritten(body []byte) []byte {
	objects, _, _ := bytes.Cut(body, []byte("xref\n"))
	objects = regexp.MustCompile(`(?s)/Length \d+ >>\nstream\n(.*?)\nendstream`).ReplaceAllFunc(objects, func(b []byte) []byte {
		_, data, _ := bytes.Cut(b, []byte("stream\n"))
		return fmt.Appendf(nil, "/Length %d >>\nstream\n%s", len(data)-len("\nendstream"), data)
	})
	starts := regexp.MustCompile(`(?m)^\d+ 0 obj$`).FindAllIndex(objects, -1)
	out := fmt.Appendf(objects, "xref\n0 %d\n0000000000 65535 f \n", len(starts)+1)
	for _, at := range starts {
		out = fmt.Appendf(out, "%010d 00000 n \n", at[0])
	}
	return fmt.Appendf(out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(starts)+1, len(objects))
}

// TestPDFStrictness: bytes around the file and a newer version do no harm.
func TestPDFStrictness(t *testing.T) {
	plain := pdfFile("", "BT /F1 10 Tf 72 700 Td (Text) Tj ET")
	newer := bytes.Replace(plain, []byte("%PDF-1.7"), []byte("%PDF-2.0"), 1)
	for name, body := range map[string][]byte{"behind": append(bytes.Clone(plain), make([]byte, 300)...), "before": append([]byte("\r\nmail "), plain...), "version 2": newer} {
		t.Run(name, func(t *testing.T) { check(t, extract.PDF, body, "page 1", "p Text") })
	}
}
