package assemble

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"strata/stores"
)

// The delimiters of the two blocks. No text inside a block can hold them.
const (
	volatileOpen  = "<strata-context>"
	volatileClose = "</strata-context>"
	stableOpen    = "<strata-preferences>"
	stableClose   = "</strata-preferences>"
	documentOpen  = "<document"
	documentClose = "</document>"
)

// contents are what a volatile block holds, each in its order.
type contents struct {
	passages []*stores.Passage
	findings []*row
	memories []*row
	turns    []*stores.Turn
}

func (c *contents) empty() bool {
	return len(c.passages)+len(c.findings)+len(c.memories)+len(c.turns) == 0
}

// renderStable words the standing statements. Its language is theirs and not
// the question's, which may change from turn to turn.
func renderStable(list []*row, zone *time.Location) string {
	if len(list) == 0 {
		return ""
	}
	chinese, size := 0, 0
	for _, m := range list {
		if m.chinese {
			chinese++
		}
		size += len(m.line) + lineRoom
	}
	say := wordingOf("en")
	if 2*chinese >= len(list) {
		say = wordingOf("zh")
	}
	var b strings.Builder
	b.Grow(size + len(say.standing) + len(stableOpen) + len(stableClose) + 2)
	writeLines(&b, stableOpen, say.standing)
	for _, m := range list {
		b.WriteString("- ")
		b.WriteString(m.line)
		if !m.ExpiresAt.IsZero() {
			b.WriteString(say.open)
			b.WriteString(say.until)
			writeDay(&b, m.ExpiresAt, zone)
			b.WriteString(say.close)
		}
		b.WriteByte('\n')
	}
	b.WriteString(stableClose)
	return b.String()
}

// lineRoom is about what a line of a memory takes besides its text.
const lineRoom = 40

// writeLines writes each line with its end.
func writeLines(b *strings.Builder, lines ...string) {
	for _, l := range lines {
		b.WriteString(l)
		b.WriteByte('\n')
	}
}

// renderVolatile words everything else, in the language given.
func renderVolatile(c contents, lang string, zone *time.Location) string {
	if c.empty() {
		return ""
	}
	say := wordingOf(lang)
	var b strings.Builder
	b.Grow(1024)
	writeLines(&b, volatileOpen, say.about)
	if len(c.passages) > 0 {
		writeLines(&b, "", say.facts)
		for _, p := range joined(c.passages) {
			writePassage(&b, p)
		}
	}
	writeMemories(&b, say, say.findings, c.findings, zone)
	writeMemories(&b, say, say.memories, c.memories, zone)
	writeTurns(&b, say, c.turns, zone)
	b.WriteString(volatileClose)
	return b.String()
}

func writeTurns(b *strings.Builder, say *wording, turns []*stores.Turn, zone *time.Location) {
	if len(turns) == 0 {
		return
	}
	writeLines(b, "", say.turns)
	for _, t := range turns {
		who := say.user
		if t.Role == "assistant" {
			who = say.model
		}
		b.WriteString(who)
		if t.Former {
			b.WriteString(say.open)
			writeDay(b, t.At, zone)
			b.WriteString(say.comma)
			b.WriteString(say.former)
			b.WriteString(say.close)
		}
		b.WriteString(say.colon)
		// Indented, so that no line of it can pass for another speaker's.
		b.WriteString(strings.ReplaceAll(strings.TrimSpace(clean(t.Content)), "\n", "\n  "))
		b.WriteByte('\n')
	}
}

func writePassage(b *strings.Builder, p *stores.Passage) {
	b.WriteString(documentOpen)
	attribute(b, "title", p.Title)
	if p.Heading != p.Title {
		attribute(b, "section", p.Heading)
	}
	if !p.Effective.IsZero() {
		attribute(b, "date", p.Effective.Format(time.DateOnly))
	}
	b.WriteString(">\n")
	b.WriteString(strings.TrimSpace(clean(p.Text)))
	b.WriteString("\n" + documentClose + "\n")
}

func attribute(b *strings.Builder, name, value string) {
	value = strings.Map(func(r rune) rune {
		switch r {
		case '"':
			return '\''
		case '<':
			return '＜'
		case '>':
			return '›' // as in a path of headings
		}
		return r
	}, line(value))
	if value != "" {
		b.WriteString(" " + name + `="` + value + `"`)
	}
}

func writeMemories(b *strings.Builder, say *wording, label string, list []*row, zone *time.Location) {
	if len(list) == 0 {
		return
	}
	writeLines(b, "", label)
	for _, m := range list {
		b.WriteString("- ")
		b.WriteString(m.line)
		writeDates(b, m.Memory, say, zone)
		b.WriteByte('\n')
	}
}

// writeDates says since when a memory is kept and until when it holds, in
// days.
func writeDates(b *strings.Builder, m *stores.Memory, say *wording, zone *time.Location) {
	since, until := !m.CreatedAt.IsZero(), !m.ExpiresAt.IsZero()
	if !since && !until {
		return
	}
	b.WriteString(say.open)
	if since {
		writeDay(b, m.CreatedAt, zone)
	}
	if since && until {
		b.WriteString(say.comma)
	}
	if until {
		b.WriteString(say.until)
		writeDay(b, m.ExpiresAt, zone)
	}
	b.WriteString(say.close)
}

func writeDay(b *strings.Builder, t time.Time, zone *time.Location) {
	var buf [len(time.DateOnly)]byte
	b.Write(t.In(zone).AppendFormat(buf[:0], time.DateOnly))
}

// line is clean on one line.
func line(s string) string {
	s = clean(s)
	if !strings.ContainsAny(s, "\n\t") {
		return strings.TrimSpace(s)
	}
	return strings.Join(strings.Fields(s), " ")
}

// clean makes foreign text safe to stand inside a block: no control or
// invisible characters but tab and line feed, and no tag of ours. A full-width
// sign in the place of the tag's first one stays readable.
func clean(s string) string {
	if plain(s) {
		return s
	}
	s = strings.Map(visible, strings.ToValidUTF8(strings.ReplaceAll(s, "\r\n", "\n"), "\uFFFD"))
	if !strings.Contains(s, "<") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	for i := 0; i < len(s); i++ {
		if s[i] == '<' && ownTag(s[i+1:]) {
			b.WriteString("＜")
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// plain reports whether s has nothing that clean could change.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '<' || c == 0x7F || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
		// The lead bytes of C1 controls, of the invisible ones in U+2000-206F
		// and U+180E, of the byte order mark, of the planes' tags, and of
		// whatever may be invalid.
		switch c {
		case 0xC2, 0xD8, 0xDB, 0xDC, 0xE1, 0xE2, 0xEF, 0xF0, 0xF3:
			return false
		}
	}
	return utf8.ValidString(s)
}

// joiners hold letters and emoji together in some scripts; they stay.
const joiners = "\u200c\u200d"

func visible(r rune) rune {
	switch {
	case r >= ' ' && r < 0x7F || r >= 0x2E80 && r < 0xFE00 || r >= 0xFF00 && r < 0xFFF0:
		return r // ASCII; Chinese, Japanese, Korean and their signs
	case r == '\n' || r == '\t' || strings.ContainsRune(joiners, r):
		return r
	case r == '\r', r == '\u2028', r == '\u2029', r == '\u0085':
		return '\n'
	case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r >= 0xE0000 && r < 0xE1000:
		return -1
	}
	return r
}

// ownTag reports whether after a "<" comes a tag of ours, written in any case
// and with any spaces.
func ownTag(s string) bool {
	for _, tag := range [...]string{"strata-", "document"} {
		if startsLike(s, tag) {
			return true
		}
	}
	return false
}

func startsLike(s, tag string) bool {
	i := 0
	for _, r := range s {
		switch {
		case unicode.IsSpace(r) || strings.ContainsRune(joiners, r) || i == 0 && (r == '/' || r == '\\'):
			continue
		case unicode.ToLower(r) != rune(tag[i]):
			return false
		}
		if i++; i == len(tag) {
			return true
		}
	}
	return false
}
