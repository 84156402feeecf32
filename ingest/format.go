package ingest

import (
	"fmt"
	"mime"
	"path"
	"regexp"
	"strings"

	"strata/ingest/extract"
)

// format is how a file is read. Those of extract are read in a process of
// their own.
type format string

const (
	plainText format = "text"
	markdown  format = "markdown"
)

// formats are the media types and endings of a format, the first ones its own.
var formats = []struct {
	format  format
	types   []string
	endings []string
}{
	{plainText, []string{"text/plain"}, []string{".txt", ".text"}},
	{markdown, []string{"text/markdown", "text/x-markdown"}, []string{".md", ".markdown"}},
	{format(extract.HTML), []string{"text/html", "application/xhtml+xml"}, []string{".html", ".htm", ".xhtml"}},
	{format(extract.CSV), []string{"text/csv", "text/tab-separated-values", "application/csv"}, []string{".csv", ".tsv"}},
	{format(extract.PDF), []string{"application/pdf", "application/x-pdf"}, []string{".pdf"}},
	{format(extract.DOCX), []string{"application/vnd.openxmlformats-officedocument.wordprocessingml.document"}, []string{".docx"}},
	{format(extract.XLSX), []string{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}, []string{".xlsx"}},
	{format(extract.PPTX), []string{"application/vnd.openxmlformats-officedocument.presentationml.presentation"}, []string{".pptx"}},
}

// vague are the media types that say nothing of a document: browsers, curl
// and operating systems send them for what they do not know.
var vague = map[string]bool{
	"": true, "text/plain": true, "application/octet-stream": true, "application/x-www-form-urlencoded": true, "binary/octet-stream": true,
	"application/zip": true, "application/x-zip-compressed": true,
	"application/vnd.ms-excel": true, // sent for CSV where Excel is installed
}

// formatOf chooses by media type and, where that says nothing, by the end of
// the id and then by the content's first bytes. charset is what the media type
// names, "" if nothing.
func formatOf(mediaType, id string, start []byte) (f format, charset string, err error) {
	name, params, perr := mime.ParseMediaType(mediaType)
	if perr != nil {
		name, _, _ = strings.Cut(strings.ToLower(mediaType), ";")
		name = strings.TrimSpace(name)
	}
	charset = params["charset"]
	if !vague[name] {
		for _, known := range formats {
			for _, t := range known.types {
				if t == name {
					return known.format, charset, nil
				}
			}
		}
		return "", "", fmt.Errorf("%w: %s is not read; send text/markdown, text/plain, text/html, text/csv, application/pdf, or the type of a docx, xlsx or pptx file", ErrMediaType, name)
	}
	if f, ok := formatByEnding(id); ok {
		return f, charset, nil
	}
	return sniffFormat(start), charset, nil
}

func formatByEnding(id string) (format, bool) {
	ending := strings.ToLower(path.Ext(id))
	for _, known := range formats {
		for _, e := range known.endings {
			if e == ending {
				return known.format, true
			}
		}
	}
	return "", false
}

// sniffFormat goes by the first bytes of a file without a name that says more.
func sniffFormat(start []byte) format {
	s := strings.TrimPrefix(string(start[:min(len(start), sniffed)]), "\ufeff")
	lower := strings.ToLower(strings.TrimLeft(s, " \t\r\n"))
	switch {
	case strings.HasPrefix(s, "%PDF-"):
		return format(extract.PDF)
	case htmlStart.MatchString(lower):
		return format(extract.HTML)
	case strings.HasPrefix(s, "PK\x03\x04"):
		return officeFormat(s)
	}
	return plainText
}

// htmlStart begins a web page, or a part of one, as programs write it that call
// it a workbook.
var htmlStart = regexp.MustCompile(`^(<\?xml[^>]*>\s*)?(<!doctype html|<(html|head|body|table|meta)[\s>])`)

// officeFormat goes by the folder of parts that is named first: a document may
// hold another one.
func officeFormat(start string) format {
	kind, first := plainText, len(start)
	for part, f := range map[string]extract.Kind{"word/": extract.DOCX, "xl/": extract.XLSX, "ppt/": extract.PPTX} {
		if at := strings.Index(start, part); at >= 0 && at < first {
			kind, first = format(f), at
		}
	}
	return kind
}

// sniffed is how much of a file is looked at, in bytes.
const sniffed = 8 << 10

// mediaType is how a format is called in a version's record.
func (f format) mediaType() string {
	for _, known := range formats {
		if known.format == f {
			return known.types[0]
		}
	}
	return ""
}

// isText tells formats whose files are text.
func (f format) isText() bool {
	return f == plainText || f == markdown || f == format(extract.HTML) || f == format(extract.CSV)
}

// extracted tells formats that are read in a process of their own.
func (f format) extracted() bool { return f != plainText && f != markdown }

// MediaType is the media type of a file by the ending of its name, "" if the
// ending is of no format that is read.
func MediaType(name string) string {
	if f, ok := formatByEnding(name); ok {
		return f.mediaType()
	}
	return ""
}
