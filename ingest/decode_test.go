package ingest_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"strata/ingest"
	"strata/internal/tokens"
)

func utf16Bytes(s string, order binary.AppendByteOrder) string {
	b := order.AppendUint16(nil, 0xFEFF)
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func TestEncodings(t *testing.T) {
	const zh = "值班电话是 114514，请在 22:00 前联系；谢谢。"
	gb, _ := simplifiedchinese.GB18030.NewEncoder().String(zh + "𠮷")
	gbk, _ := simplifiedchinese.GBK.NewEncoder().String("台北市公寓營造業登記資料。")
	big5, _ := traditionalchinese.Big5.NewEncoder().String("台北市公寓營造業。")
	euckr, _ := korean.EUCKR.NewEncoder().String("이름,부서\n김철수,영업부\n이영희,개발부\n")
	rare, _ := charmap.Windows1252.NewEncoder().String("Für die Prüfung der Vergütung.") // rare characters of GB18030, but valid
	latin, _ := charmap.Windows1252.NewEncoder().String("Größe und Öffnungszeiten: täglich, naïve café, año.")
	for name, c := range map[string]struct {
		id                    string // "" = "a"
		body, mediaType, want string
		err                   error
		says                  string
	}{
		"utf-8":              {body: zh, want: zh},
		"utf-8 with mark":    {body: "\ufeff" + zh, want: zh},
		"utf-16 le":          {body: utf16Bytes(zh+"😀", binary.LittleEndian), want: zh + "😀"},
		"utf-16 be":          {body: utf16Bytes(zh, binary.BigEndian), want: zh},
		"gb18030":            {body: gb, want: zh + "𠮷"},
		"gbk, traditional":   {body: gbk, want: "台北市公寓營造業登記資料。"},
		"gbk, named":         {body: gbk, mediaType: "text/plain; charset=GBK", want: "台北市公寓營造業登記資料。"},
		"big5, named":        {body: big5, mediaType: "text/plain; charset=big5", want: "台北市公寓營造業。"},
		"latin, named":       {body: latin, mediaType: "text/plain; charset=windows-1252", want: "Größe und Öffnungszeiten: täglich, naïve café, año."},
		"Korean, named":      {body: euckr, mediaType: "text/plain; charset=euc-kr", want: "이름,부서\n김철수,영업부\n이영희,개발부"},
		"Korean as Chinese":  {body: euckr, err: ingest.ErrEncoding, says: "byte 0"},
		"latin as Chinese":   {body: rare, err: ingest.ErrEncoding, says: "byte 1"},
		"latin":              {body: latin, err: ingest.ErrEncoding, says: "byte 2"},
		"cut utf-8":          {body: "abc " + zh[:4], err: ingest.ErrEncoding, says: "byte 7"},
		"half a pair":        {body: "\xff\xfea\x00\x00\xd8b\x00", err: ingest.ErrEncoding, says: "byte 4"},
		"odd utf-16":         {body: "\xff\xfea\x00b", err: ingest.ErrEncoding, says: "byte 4"},
		"unknown charset":    {body: "\xe9t\xe9", mediaType: "text/plain; charset=klingon", err: ingest.ErrEncoding, says: "klingon"},
		"not as named":       {body: "\xff\xff\xff", mediaType: "text/plain; charset=gbk", err: ingest.ErrEncoding},
		"zero byte":          {body: "abc\x00def", err: ingest.ErrMediaType, says: "zero byte at 3"},
		"pdf, called text":   {id: "a.txt", body: "%PDF-1.7 text", err: ingest.ErrMediaType},
		"pdf, cut off":       {body: "%PDF-1.7 text", err: ingest.ErrDamaged},
		"zip":                {body: "PK\x03\x04text", err: ingest.ErrMediaType},
		"control characters": {body: strings.Repeat("\x01\x02a", 20), err: ingest.ErrMediaType},
		"media type":         {body: "x", mediaType: "image/png", err: ingest.ErrMediaType, says: "text/markdown"},
		"empty":              {body: "", err: ingest.ErrEmpty},
		"blank":              {body: "\ufeff \n\t\n", err: ingest.ErrEmpty},
		"too large":          {body: strings.Repeat("x", ingest.MaxSize+1), err: ingest.ErrTooLarge, says: "256 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := ingest.Parse(context.Background(), ingest.Source{ID: cmp.Or(c.id, "a"), MediaType: c.mediaType, Body: []byte(c.body)}, tokens.Count)
			if !errors.Is(err, c.err) || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("error %v, want %v with %q", err, c.err, c.says)
			}
			if err == nil && d.Passages[0].Text != c.want {
				t.Errorf("text %q, want %q", d.Passages[0].Text, c.want)
			}
		})
	}
}

func TestMediaTypes(t *testing.T) {
	for name, c := range map[string]struct{ id, mediaType, want string }{
		"named":           {"a", "text/markdown; charset=utf-8", "text/markdown"},
		"by ending":       {"a.MD", "", "text/markdown"},
		"plain, but .md":  {"a.md", "text/plain", "text/markdown"},
		"curl's own":      {"a.markdown", "application/x-www-form-urlencoded", "text/markdown"},
		"plain":           {"a", "text/plain", "text/plain"},
		"nothing known":   {"a", "", "text/plain"},
		"a broken header": {"a.md", "text/plain; charset", "text/markdown"},
	} {
		d, err := ingest.Parse(context.Background(), ingest.Source{ID: c.id, MediaType: c.mediaType, Body: []byte("x")}, tokens.Count)
		if err != nil || d.MediaType != c.want {
			t.Errorf("%s: %q, want %q (%v)", name, d.MediaType, c.want, err)
		}
	}
}

func TestIDs(t *testing.T) {
	for _, id := range []string{"", "a\nb", "a\x00", "\xff", strings.Repeat("x", 513)} {
		_, err := ingest.Parse(context.Background(), ingest.Source{ID: id, Body: []byte("x")}, tokens.Count)
		if !errors.Is(err, ingest.ErrID) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
