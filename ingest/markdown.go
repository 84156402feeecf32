package ingest

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// partSize is how much Markdown is parsed at a time: a syntax tree takes some
// ten times its text.
const partSize = 1 << 20

// markdownBlocks appends the top-level blocks of a Markdown text from start
// on. Only block structure is read; inline markup stays as the author wrote
// it.
func markdownBlocks(out []block, source string, start int) []block {
	p := parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...))
	for start < len(source) {
		end, nested := nextPart(source, start)
		if nested {
			out = looseBlocks(out, source, start, end)
		} else {
			out = parsePart(out, p, source, start, end)
		}
		start = end
	}
	return out
}

// nextPart returns where the part that begins at start ends: before a heading
// outside fences when one comes in time, else at the end of a line. nested
// tells that a line opens so many lists and quotes in each other that parsing
// would take more than linear time.
func nextPart(source string, start int) (end int, nested bool) {
	fence := byte(0)
	for i := start; i < len(source); {
		next := lineEnd(source, i)
		line := source[i:next]
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			if fence == 0 {
				fence = trimmed[0]
			} else if fence == trimmed[0] {
				fence = 0
			}
		case i-start >= partSize && fence == 0 && line[0] == '#', i-start >= 4*partSize:
			return i, nested
		}
		nested = nested || deep(line)
		i = next
	}
	return len(source), nested
}

// deep tells whether a line opens more than 12 lists or quotes, or a list
// item that is indented as if it were in as many.
func deep(line string) bool {
	opened, width := 0, 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '>':
			opened++
		case (c == '-' || c == '+' || c == '*' || c == '.' || c == ')') && i+1 < len(line) && (line[i+1] == ' ' || line[i+1] == '\t'):
			opened++
		case c == ' ':
			width++
		case c == '\t':
			width += 4
		case c >= '0' && c <= '9', c == '-', c == '*':
		default:
			return opened > 12 || opened > 0 && width > 60
		}
	}
	return opened > 12
}

// parsePart appends the blocks of source from start to end.
func parsePart(dst []block, p parser.Parser, source string, start, end int) []block {
	part := source[start:end]
	root := p.Parse(text.NewReader([]byte(part)))
	var nodes []ast.Node
	var starts []int
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		at := n.Pos()
		if at < 0 || at > len(part) {
			continue // what has no place belongs to the block before
		}
		if at = lineStart(part, at); len(starts) > 0 && at <= starts[len(starts)-1] {
			continue
		}
		nodes, starts = append(nodes, n), append(starts, at)
	}
	if len(nodes) == 0 {
		return appendProse(dst, source, start, end)
	}
	dst = appendProse(dst, source, start, start+starts[0])
	for i, n := range nodes {
		stop := len(part)
		if i+1 < len(nodes) {
			stop = starts[i+1]
		}
		dst = appendNode(dst, n, source, start, start+starts[i], start+stop)
	}
	return dst
}

// appendNode appends the block or blocks of one top-level node, which takes
// source from from to to; positions in the node count from base.
func appendNode(dst []block, n ast.Node, source string, base, from, to int) []block {
	switch n := n.(type) {
	case *ast.Heading:
		return appendHeading(dst, n, source, base, from, to)
	case *ast.Paragraph:
		return splitTable(dst, source, from, to)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return append(dst, block{kind: code, start: from, end: to})
	case *ast.List:
		b := block{kind: list, start: from, end: to}
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			if at := item.Pos(); at >= 0 {
				b.cuts = append(b.cuts, lineStart(source, min(base+at, to)))
			}
		}
		return append(dst, b)
	}
	return appendProse(dst, source, from, to)
}

func appendHeading(dst []block, n *ast.Heading, source string, base, from, to int) []block {
	lines := n.Lines()
	at, raw := base+max(n.Pos(), 0), ""
	if lines.Len() > 0 {
		at = base + lines.At(lines.Len()-1).Start
		raw = source[min(base+lines.At(0).Start, to):min(base+lines.At(lines.Len()-1).Stop, to)]
	}
	head := lineStart(source, min(base+max(n.Pos(), 0), to))
	end := min(lineEnd(source, min(at, to)), to)
	if !strings.HasPrefix(strings.TrimLeft(source[head:end], " "), "#") {
		end = min(lineEnd(source, end), to) // the line of = or - below
	}
	raw = strings.TrimSpace(raw)
	name := cleanTitle(raw)
	dst = appendProse(dst, source, from, head)
	if name == "" || len(raw) > maxTitle || end-head > 4*maxTitle {
		return appendProse(dst, source, head, to)
	}
	dst = append(dst, block{kind: title, level: n.Level, name: name, plain: name == raw, start: head, end: end})
	return appendProse(dst, source, end, to)
}

var (
	linkMarkup = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	headingID  = regexp.MustCompile(`\s*\{#[^}]*\}$`)
)

// cleanTitle takes markup out of a heading.
func cleanTitle(s string) string {
	if strings.ContainsAny(s, "[*`{\n") {
		s = headingID.ReplaceAllString(s, "")
		s = linkMarkup.ReplaceAllString(s, "$1")
		s = strings.NewReplacer("**", "", "`", "").Replace(s)
		s = strings.Join(strings.Fields(s), " ")
	}
	return s
}

// looseBlocks reads headings and blank lines only, in linear time whatever
// the text is.
func looseBlocks(dst []block, source string, start, end int) []block {
	from := start
	for i := start; i < end; {
		next := min(lineEnd(source, i), end)
		line := source[i:next]
		hashes := len(line) - len(strings.TrimLeft(line, "#"))
		name := strings.TrimSpace(line[hashes:])
		switch {
		case hashes > 0 && hashes <= 6 && strings.HasPrefix(line[hashes:], " ") && name != "" && len(name) <= maxTitle:
			dst = appendProse(dst, source, from, i)
			dst = append(dst, block{kind: title, level: hashes, name: name, plain: true, start: i, end: next})
			from = next
		case blank(line):
			dst = appendProse(dst, source, from, next)
			from = next
		}
		i = next
	}
	return appendProse(dst, source, from, end)
}
