package assemble

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"strata/policy"
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
	findings []*stores.Memory
	memories []*stores.Memory
	turns    []*stores.Turn
}

func (c *contents) empty() bool {
	return len(c.passages)+len(c.findings)+len(c.memories)+len(c.turns) == 0
}

// renderStable words the standing statements. Its language is theirs and not
// the question's, which may change from turn to turn.
func renderStable(list []*stores.Memory, zone *time.Location) string {
	if len(list) == 0 {
		return ""
	}
	zh := 0
	for _, m := range list {
		if language(m.Summary) == "zh" {
			zh++
		}
	}
	say := wordings["en"]
	if 2*zh >= len(list) {
		say = wordings["zh"]
	}
	var b strings.Builder
	b.Grow(512)
	b.WriteString(stableOpen + "\n" + say.standing + "\n")
	for _, m := range list {
		b.WriteString("- ")
		b.WriteString(line(m.Summary))
		if !m.ExpiresAt.IsZero() {
			b.WriteString(say.open + say.until + day(m.ExpiresAt, zone) + say.close)
		}
		b.WriteByte('\n')
	}
	b.WriteString(stableClose)
	return b.String()
}

// renderVolatile words everything else, in the language given.
func renderVolatile(c contents, lang string, zone *time.Location) string {
	if c.empty() {
		return ""
	}
	say, ok := wordings[lang]
	if !ok {
		say = wordings["en"]
	}
	var b strings.Builder
	b.Grow(1024)
	b.WriteString(volatileOpen + "\n" + say.about + "\n")
	if len(c.passages) > 0 {
		b.WriteString("\n" + say.facts + "\n")
		for _, p := range c.passages {
			writePassage(&b, p)
		}
	}
	writeMemories(&b, say, say.findings, c.findings, zone)
	writeMemories(&b, say, say.memories, c.memories, zone)
	if len(c.turns) > 0 {
		b.WriteString("\n" + say.turns + "\n")
		for _, t := range c.turns {
			who := say.user
			if t.Role == "assistant" {
				who = say.model
			}
			b.WriteString(who)
			if t.Former {
				b.WriteString(say.open + day(t.At, zone) + say.comma + say.former + say.close)
			}
			b.WriteString(say.colon)
			// Indented, so that no line of it can pass for another speaker's.
			b.WriteString(strings.ReplaceAll(strings.TrimSpace(clean(t.Content)), "\n", "\n  "))
			b.WriteByte('\n')
		}
	}
	b.WriteString(volatileClose)
	return b.String()
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

func writeMemories(b *strings.Builder, say wording, label string, list []*stores.Memory, zone *time.Location) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\n" + label + "\n")
	for _, m := range list {
		b.WriteString("- ")
		b.WriteString(line(m.Summary))
		writeDates(b, m, say, zone)
		b.WriteByte('\n')
	}
}

// writeDates says since when a memory is kept and until when it holds, in
// days.
func writeDates(b *strings.Builder, m *stores.Memory, say wording, zone *time.Location) {
	since, until := !m.CreatedAt.IsZero(), !m.ExpiresAt.IsZero()
	if !since && !until {
		return
	}
	b.WriteString(say.open)
	if since {
		b.WriteString(day(m.CreatedAt, zone))
	}
	if since && until {
		b.WriteString(say.comma)
	}
	if until {
		b.WriteString(say.until)
		b.WriteString(day(m.ExpiresAt, zone))
	}
	b.WriteString(say.close)
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

// finish words what was kept and says what it is.
func (w *walk) finish() Result {
	r := Result{Skipped: w.skipped, Tokens: w.stableAt, Chosen: w.chosen}
	r.Stable = renderStable(w.stable, w.q.Zone)
	for _, m := range w.stable {
		r.StableIDs = append(r.StableIDs, m.ID)
	}
	if len(w.stable) > 0 {
		r.Layers = append(r.Layers, LayerUse{Name: string(stableLayer), IDs: r.StableIDs, Tokens: w.stableAt})
	}
	var c contents
	for i := range w.offers {
		c.add(&w.offers[i])
	}
	r.Volatile = renderVolatile(c, w.language(), w.q.Zone)
	r.Items = c.ids()
	if r.Volatile != "" {
		r.Tokens += volatileFrame
	}
	for i := range w.offers {
		o := &w.offers[i]
		if _, read := w.readTime(o.layer); !read && len(o.items) == 0 {
			continue
		}
		use := w.use(o)
		r.Tokens += use.Tokens
		r.Layers = append(r.Layers, use)
	}
	w.judge(&r)
	return r
}

func (w *walk) use(o *offer) LayerUse {
	use := LayerUse{Name: string(o.layer), IDs: make([]string, 0, len(o.items)), Tokens: o.tokens()}
	use.Millis, _ = w.readTime(o.layer)
	for i := range o.items {
		use.IDs = append(use.IDs, o.items[i].id)
		if o.layer != policy.LayerRecent && !w.repeated {
			use.Scores = append(use.Scores, float64(int(o.items[i].score*1000+0.5))/1000)
		}
	}
	return use
}

func (w *walk) language() string {
	for _, text := range [...]string{w.q.Words, w.q.Before} {
		if l := language(text); l != "" {
			return l
		}
	}
	return "en"
}

// judge names the result.
func (w *walk) judge(r *Result) {
	r.Reason = w.reason
	switch {
	case r.Stable == "" && r.Volatile == "":
		r.Context = "none"
		if r.Reason == "" && w.q.Room >= 0 && w.q.Room < w.plan.Budget && w.crowded() {
			r.Reason = "window"
		}
	case w.reason != "":
		r.Context = "partial"
	default:
		r.Context = "full"
	}
	if r.Reason == "" && w.q.Scope.User == "" {
		r.Reason = "no_user"
	}
	if r.Reason == "" && r.Context == "none" {
		r.Reason = "no_match"
	}
}

// crowded reports whether something would have been added had there been room.
func (w *walk) crowded() bool {
	for i := range w.skipped {
		if w.skipped[i].Reason == "budget" {
			return true
		}
	}
	return false
}

func (c *contents) add(o *offer) {
	for i := range o.items {
		switch it := &o.items[i]; {
		case it.passage != nil:
			c.passages = append(c.passages, it.passage)
		case it.turn != nil:
			c.turns = append(c.turns, it.turn)
		case it.memory.Type == stores.Conclusion || it.memory.Type == stores.Summary:
			c.findings = append(c.findings, it.memory)
		default:
			c.memories = append(c.memories, it.memory)
		}
	}
}

// ids are in the order of the text.
func (c *contents) ids() []string {
	if c.empty() {
		return nil
	}
	var out []string
	for _, p := range c.passages {
		out = append(out, p.ID)
	}
	for _, m := range c.findings {
		out = append(out, m.ID)
	}
	for _, m := range c.memories {
		out = append(out, m.ID)
	}
	for _, t := range c.turns {
		out = append(out, turnID(t))
	}
	return out
}
