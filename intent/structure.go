package intent

import "strings"

// tableFiles are what the name or the media type of a file with rows holds.
var tableFiles = []string{".csv", ".tsv", ".xls", ".ods", ".parquet", ".feather", ".arrow", ".jsonl", ".sqlite", ".db", ".sav", ".dta",
	"text/csv", "tab-separated", "spreadsheet", "ms-excel", "parquet", "ndjson"}

// dataTools are what the name of a tool that works on rows holds.
var dataTools = []string{"sql", "database", "dataframe", "pandas", "python", "interpreter", "jupyter", "notebook", "csv", "excel", "spreadsheet",
	"warehouse", "run_query", "execute_query", "query_data", "query_table", "run_code", "execute_code", "chart", "查询数据", "报表"}

var (
	textVerbs = maskOf([]cue{polishVerb})
	codeWork  = maskOf([]cue{explainVerb, coding, polishVerb, fixVerb, define, given})
)

// structure decides by what a message brings along. It outranks the words
// unless these plainly ask for a text or for a rule: a document with a
// question about it stays open.
func structure(text string, r *reading, s *scores, h *Hints) (rule string, to int, ok bool) {
	talk, rules, rows := s.sum[chatAt], s.sum[ragAt], s.sum[dataAt]
	switch {
	case r.any.has(isCode) && r.any.meets(codeWork) && talk >= rows:
		return "code block", chatAt, true
	case anyHolds(h.Files, tableFiles) && talk-rows < 2.5 && rules-rows < 4:
		return "table file", dataAt, true
	case !(r.clause.meets(textVerbs) || r.any.has(polishMark) && talk > rows) && hasTable(text, r.any.has(coding)):
		return "table in the text", dataAt, true
	case !anyHolds(h.Tools, dataTools):
		return "", 0, false
	case h.ToolUse && talk < 2.5 && rules < rows+2:
		return "data tool in use", dataAt, true
	case rows >= 1 && rows+1.5 >= rules && rows+.5 >= talk:
		return "data tool offered", dataAt, true
	}
	return "", 0, false
}

func anyHolds(names, parts []string) bool {
	for _, name := range names {
		name = strings.ToLower(name)
		for _, p := range parts {
			if strings.Contains(name, p) {
				return true
			}
		}
	}
	return false
}

// scanned is how much of a message is searched for a table, in bytes.
const scanned = 4096

// hasTable finds rows in a text: a Markdown or console table, or lines that
// the same sign cuts into the same number of short cells. Commas make no table
// where there is code.
func hasTable(text string, code bool) bool {
	text = text[:min(len(text), scanned)]
	if strings.IndexByte(text, '\n') < 0 {
		return false
	}
	var pipes, commas, tabs run
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "+--") || strings.HasPrefix(line, "|--") || strings.HasPrefix(line, "| --") || strings.HasPrefix(line, "|:-") {
			return true
		}
		if pipes.more(strings.Count(line, "|"), len(line)) || tabs.more(strings.Count(line, "\t"), len(line)) ||
			!code && commas.more(strings.Count(line, ",")+strings.Count(line, "，"), len(line)) {
			return true
		}
	}
	return false
}

// run counts lines in a row that hold the same number of separators.
type run struct{ separators, lines int }

// more takes the next line and tells whether it completes a table: three lines
// of at least three cells, which hold on average no more than 24 bytes.
func (r *run) more(separators, length int) bool {
	if separators < 2 || length > 24*(separators+1) {
		*r = run{}
		return false
	}
	if separators != r.separators {
		*r = run{separators: separators}
	}
	r.lines++
	return r.lines >= 3
}
