package learn

import (
	"regexp"
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

var fenced = regexp.MustCompile("(?s)```.*?(```|$)|<(think|context|memory|document|tool_call)\\b[^>]*>.*?(</\\w+>|$)")

// ownWords cuts out what stands in a message but was not said: fenced code,
// quoted lines, and of a pasted text all but its edges.
func ownWords(text string) (own string, pasted bool) {
	if strings.Contains(text, "```") || strings.Contains(text, "<") {
		text = fenced.ReplaceAllString(text, "\n")
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

var joinEN = regexp.MustCompile(`(?i)(,\s+|;\s*|\s+-+\s+|\s*—\s*)|\s+(?:and|but)\s+(?:(?:also|then)\s+)?(?:i|i'm|i've|we|my|our|the user)\b`)

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
		for _, m := range joinEN.FindAllStringSubmatchIndex(part, -1) {
			if m[2] >= 0 { // a comma, but not within a number or a name's list
				add(part[last:m[0]])
				last = m[1]
				continue
			}
			add(part[last:m[0]])
			last = m[0] + strings.IndexFunc(part[m[0]:], func(r rune) bool { return !unicode.IsSpace(r) })
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
