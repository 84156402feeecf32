package lexical_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"strata/internal/lexical"
)

func tokens(text string) []string {
	var out []string
	for _, t := range lexical.Cut(nil, text) {
		out = append(out, t.Token())
	}
	return out
}

func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"Travel the expenses": "travel the expens travel|expens",
		"部署 v2.3":             "部 部署 署 v2.3 2.3 v2.3|2.3 v2 2.3|v2 3 v2|3",
		"":                    "",
	} {
		if got := strings.Join(tokens(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// An index that keeps words cuts at spaces: each term must come out as the one
// word that it went in as.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{"部署v2.3方案", "C++ 1,000 don't|can't", "\xff’s", "a\u2003b\u0085c\U000e0001d", "กข a|b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, term := range lexical.Cut(nil, s) {
			token := term.Token()
			if token == "" || !utf8.ValidString(token) || strings.ContainsFunc(token, unicode.IsSpace) || strings.ContainsFunc(token, unicode.IsControl) {
				t.Fatalf("token %q of %q", token, s)
			}
			if (term.Class == lexical.Phrase) != strings.Contains(token, "|") {
				t.Fatalf("token %q of %q, class %d", token, s, term.Class)
			}
		}
	})
}
