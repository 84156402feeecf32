package learn

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longText is from where on a text is taken for something pasted: only what
// asks to be remembered at its head or its end is the user speaking.
const (
	longText = 2500
	edge     = 500
)

// fenceTags are elements that hold what nobody said.
var fenceTags = []string{"think", "context", "memory", "document", "tool_call"}

// fenceAt returns where the fenced code or the element that begins at i ends:
// behind its closing mark, or with the text. 0: nothing begins there. No tag
// ends behind lastTag.
func fenceAt(text string, i, lastTag int) int {
	const mark = "```"
	if strings.HasPrefix(text[i:], mark) {
		if n := strings.Index(text[i+len(mark):], mark); n >= 0 {
			return i + n + 2*len(mark)
		}
		return len(text)
	}
	if text[i] != '<' || i > lastTag {
		return 0
	}
	for _, tag := range fenceTags {
		rest, ok := strings.CutPrefix(text[i+1:], tag)
		if !ok || rest != "" && wordByte(rest[0]) {
			continue
		}
		return closedAt(text, len(text)-len(rest)+strings.IndexByte(rest, '>')+1)
	}
	return 0
}

// closedAt returns where the first closing tag at or behind i ends.
func closedAt(text string, i int) int {
	for {
		n := strings.Index(text[i:], "</")
		if n < 0 {
			return len(text)
		}
		from := i + n + 2
		end := from
		for end < len(text) && wordByte(text[end]) {
			end++
		}
		if end > from && end < len(text) && text[end] == '>' {
			return end + 1
		}
		i = from
	}
}

// withoutFences puts a line's end in place of everything that is fenced.
func withoutFences(text string) string {
	var b strings.Builder
	last, lastTag := 0, strings.LastIndexByte(text, '>')
	for i := 0; i < len(text); {
		n := strings.IndexAny(text[i:], "`<")
		if n < 0 {
			break
		}
		i += n
		end := fenceAt(text, i, lastTag)
		if end == 0 {
			i++
			continue
		}
		b.WriteString(text[last:i])
		b.WriteByte('\n')
		i, last = end, end
	}
	if last == 0 {
		return text
	}
	b.WriteString(text[last:])
	return b.String()
}

// ownWords cuts out what stands in a message but was not said: fenced code,
// quoted lines, and of a pasted text all but its edges.
func ownWords(text string) (own string, pasted bool) {
	if strings.Contains(text, "```") || strings.Contains(text, "<") {
		text = withoutFences(text)
	}
	if strings.HasPrefix(text, ">") || strings.Contains(text, "\n>") {
		lines := strings.Split(text, "\n")
		kept := lines[:0]
		for _, l := range lines {
			if !strings.HasPrefix(strings.TrimSpace(l), ">") {
				kept = append(kept, l)
			}
		}
		text = strings.Join(kept, "\n")
	}
	text = strings.TrimSpace(strings.ToValidUTF8(text, ""))
	if len(text) <= longText {
		return text, false
	}
	head, end := edge, len(text)-edge
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for !utf8.RuneStart(text[end]) {
		end++
	}
	return text[:head] + "\n" + text[end:], true
}

// sentences cuts text at what ends a sentence; the sign stays with it. A dot
// ends one only before a space and not behind an initial or a short form.
func sentences(text string) []string {
	var out []string
	start := 0
	flush := func(end int) {
		if s := strings.TrimSpace(text[start:end]); s != "" {
			out = append(out, s)
		}
		start = end
	}
	depth := 0
	for i, r := range text {
		next := i + utf8.RuneLen(r)
		switch r {
		case '(', '（', '「', '『', '《':
			depth++
		case ')', '）', '」', '』', '》':
			depth = max(depth-1, 0)
		case '\n':
			depth = 0
			flush(next)
		case '。', '！', '？', '!', '?', '；', ';':
			if depth == 0 && !signFollows(text[next:]) {
				flush(next)
			}
		case '.':
			if depth == 0 && dotEnds(text, start, i) {
				flush(next)
			}
		}
	}
	flush(len(text))
	return out
}

func signFollows(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return strings.ContainsRune("。！？!?；;…”’\"'", r) && rest != ""
}

func dotEnds(text string, start, i int) bool {
	if i+1 < len(text) && text[i+1] != ' ' && text[i+1] != '\n' {
		return false
	}
	word := text[start:i]
	if k := strings.LastIndexByte(word, ' '); k >= 0 {
		word = word[k+1:]
	}
	switch strings.ToLower(word) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "e.g", "i.e", "etc", "vs", "no", "approx", "inc", "ltd", "co", "corp", "jan", "feb", "mar", "apr", "aug", "sept", "oct", "nov", "dec", "a.m", "p.m":
		return i+2 >= len(text)
	}
	return len(word) != 1 || !unicode.IsUpper(rune(word[0])) || word == "I"
}

// join is where clauses are joined: by a comma, a semicolon or a dash, or by
// "and I …", "but we …".
type join struct {
	from, to int
	word     bool // and, but
}

// nextJoin finds the first join of s at or behind from.
func nextJoin(s string, from int) (join, bool) {
	for i := from; i < len(s); i++ {
		switch c := s[i]; {
		case c == ',':
			if end := pastBlank(s, i+1); end > i+1 {
				return join{from: i, to: end}, true
			}
		case c == ';':
			return join{from: i, to: pastBlank(s, i+1)}, true
		case strings.HasPrefix(s[i:], "—"):
			return join{from: i, to: pastBlank(s, i+len("—"))}, true
		case blank(c):
			end := pastBlank(s, i)
			if strings.HasPrefix(s[end:], "—") {
				return join{from: i, to: pastBlank(s, end+len("—"))}, true
			}
			dashes := end
			for dashes < len(s) && s[dashes] == '-' {
				dashes++
			}
			if to := pastBlank(s, dashes); dashes > end && to > dashes {
				return join{from: i, to: to}, true
			}
			if to := joinWord(s, end); to > 0 {
				return join{i, to, true}, true
			}
			i = end - 1
		}
	}
	return join{}, false
}

// joinWord returns where the subject behind "and" or "but" at i ends, 0 when
// there is none.
func joinWord(s string, i int) int {
	word := func(i int, w string) int {
		if len(s)-i >= len(w) && strings.EqualFold(s[i:i+len(w)], w) {
			return i + len(w)
		}
		return 0
	}
	end := max(word(i, "and"), word(i, "but"))
	if end == 0 || pastBlank(s, end) == end {
		return 0
	}
	i = pastBlank(s, end)
	if end := max(word(i, "also"), word(i, "then")); end > 0 && pastBlank(s, end) > end {
		i = pastBlank(s, end)
	}
	for _, w := range [...]string{"i", "we", "my", "our", "the user"} {
		if end := word(i, w); end > 0 && (end == len(s) || !wordByte(s[end])) {
			return end
		}
	}
	return 0
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r' }

func pastBlank(s string, i int) int {
	for i < len(s) && blank(s[i]) {
		i++
	}
	return i
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// clauses cuts a sentence at its commas, and in English before "and I …". The
// joining word goes, the subject stays.
func clauses(sentence string) []string {
	var out []string
	add := func(s string) {
		if s = strings.Trim(strings.TrimSpace(s), "，,；;。.!！"); s != "" {
			out = append(out, strings.TrimSpace(s))
		}
	}
	for _, part := range strings.FieldsFunc(sentence, func(r rune) bool { return r == '，' || r == '；' }) {
		last := 0
		for j, ok := nextJoin(part, 0); ok; j, ok = nextJoin(part, j.to) {
			add(part[last:j.from])
			if last = j.to; !j.word {
				continue
			}
			last = pastBlank(part, j.from)
			for _, w := range []string{"and ", "but ", "also ", "then "} {
				if len(part) >= last+len(w) && strings.EqualFold(part[last:last+len(w)], w) {
					last += len(w)
				}
			}
		}
		add(part[last:])
	}
	return out
}

// chinese reports whether a text is written in Chinese rather than English.
func chinese(s string) bool {
	han, latin := 0, 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.IsLetter(r):
			latin++
		}
	}
	return han*3 > latin
}
