package assemble

import (
	"context"
	"strings"
	"unicode/utf8"
)

const (
	// longWords is how many bytes of words are taken for a question with a story
	// or a text around it.
	longWords = 200
	// leastSentence is how short a question of a long message may be: "ok?"
	// asks for nothing.
	leastSentence = 12
)

// askedAtLast is the last question of a long message, "" where it has none or
// little else. What is around it says much that no passage has, so that the
// whole fits nothing.
func askedAtLast(words string) string {
	if len(words) < longWords {
		return ""
	}
	end := lastMark(words)
	if end < 0 {
		return ""
	}
	begin := 0
	body := words[:end]
	if i := strings.LastIndexAny(body, ".!?\n。！？；"); i >= 0 {
		_, n := utf8.DecodeRuneInString(body[i:])
		begin = i + n
	}
	question := strings.TrimSpace(body[begin:])
	if len(question) < leastSentence || 2*len(question) > len(words) {
		return ""
	}
	return question
}

// orElse reads, and where nothing fits reads once more what another question
// finds.
func (r knowledgeReader) orElse(question string) func(context.Context) (knowledgeRead, error) {
	return func(ctx context.Context) (knowledgeRead, error) {
		got, err := r.read(ctx)
		if err != nil || len(got.found) > 0 {
			return got, err
		}
		again := r
		again.queries, again.at = []string{question}, map[string]int{}
		if other, err := again.read(ctx); err == nil && len(other.found) > 0 {
			return other, nil
		}
		return got, nil
	}
}

// lastMark is where the last question mark stands that ends a sentence, as
// those of addresses do not; -1 where none does.
func lastMark(words string) int {
	for end := len(words); ; {
		i := strings.LastIndexAny(words[:end], "?？")
		if i < 0 {
			return -1
		}
		_, n := utf8.DecodeRuneInString(words[i:])
		if n > 1 || i+n == len(words) || strings.ContainsRune(" \t\r\n\"')”’", rune(words[i+n])) {
			return i
		}
		end = i
	}
}
