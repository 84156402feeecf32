package prefilter_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"strata/internal/prefilter"
)

// expressions are of all shapes: anchors, boundaries, options, classes, stars
// before and between words, alternatives of unlike shape, no literal at all.
var expressions = []string{
	`(?i)\bi(?:'m| am) (?:really |very )*(?:into|fond of)\s+(?P<v>[^,.]{2,40})`,
	`^(?:please |can you )*(?:change|update|set)\b`,
	`(?i)^(?:我|我们)(?:的[^,，。]{1,6}|家)?(?:是|在|叫)`,
	`(?:的时候|时|[^以目之]前)[,，]?\s*(?:请|都)*(?:不要|先|用)`,
	`(?:^|[,，;])\s*(office|desk|工位)(?:\s*\([^)]*\))?\s*(?:is|是)\s*(.+)`,
	`以后|今后|从现在开始|一律`,
	`(?i)remember|以后|forget (?:it|that)$|^no\b`,
	`(吗|么|呢)$`,
	`\b(?:\d{4}-\d\d|20\d\d年)\b`,
	`^((好|好的|嗯+|[,，。!\s])+)$`,
	`h[ae]llo|fianc[eé]e?`,
	`\w+@\w+`,
	`(?i)kiss|straße`,
	`a{2,3}b?c|x(?:yz)*\b`,
	`\btest\B`,
	`(?s)<b>.*</b>|(?i)^end$`,
	`^$`,
	`[,.!?]+$`,
	`(?i)\b(?:my|our|the user'?s)\s+(?:new )?(name|job|工作)(?:'s| is)`,
}

var pieces = strings.Split(`i|I'm|am|really |into|fond of| | the|please |Can you |change|updated|set|我|我们|的|家|是|在|叫|时候|时|前|以前|，|,|。|请|都|不要|先|用|office|desk|工位|(x)|is|以后|今后|从现在开始|remember|forget that|no|not|吗|么|2026-11|2026年|好|嗯嗯|!|hallo|fiancée|FIANCÉ|a@b|kiss|ſ|K|KISS|İ|straße|aab|xyzyz|test|testing|<b>|</b>|END|end|?|my|the user's|new |name|NAME|job|工作|'s|`+"\n|\xff|\x01|é|Ａ|…", "|")

func message(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(9) {
		b.WriteString(pieces[r.IntN(len(pieces))])
		if r.IntN(3) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// What passes the filter gives the same as without, and what does not pass
// does not match.
func TestSameAsUnfiltered(t *testing.T) {
	var set prefilter.Set
	var whole, inside []*prefilter.Pattern
	for _, e := range expressions {
		whole, inside = append(whole, set.Compile(e)), append(inside, set.CompileInside(e))
	}
	r := rand.New(rand.NewPCG(1, 2))
	passed, matched := 0, 0
	for range 3000 {
		text := message(r)
		hits := set.Scan(text)
		for _, p := range whole {
			same(t, p, text, &hits)
			if p.May(&hits) {
				passed++
			}
			if p.MatchString(text) {
				matched++
			}
		}
		for _, piece := range cut(text) {
			for _, p := range inside {
				same(t, p, piece, &hits)
				same(t, p, strings.ToLower(piece), &hits)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d passed, %d match", passed, matched)
	if passed > 8*matched {
		t.Error("the filter lets too much pass")
	}
}

func same(t *testing.T, p *prefilter.Pattern, text string, hits *prefilter.Hits) {
	t.Helper()
	want := p.FindStringSubmatch(text)
	if got := p.Match(text, hits); got != (want != nil) {
		t.Errorf("%s in %q: match %v", p, text, got)
	}
	if got := p.Submatch(text, hits); !slices.Equal(got, want) {
		t.Errorf("%s in %q: %q, want %q", p, text, got, want)
	}
	if got, _ := p.Find(text, hits); (got == nil) != (want == nil) || got != nil && got[0] != want[0] {
		t.Errorf("%s in %q: found %q, want %q", p, text, got, want)
	}
	if got, want := p.Index(text, hits), p.FindStringIndex(text); !slices.Equal(got, want) {
		t.Errorf("%s in %q: at %v, want %v", p, text, got, want)
	}
}

var separator = regexp.MustCompile(`\s*[,，。!?;]\s*|\s+(?i:and|but)\s+`)

// cut gives pieces as CompileInside allows them.
func cut(text string) []string {
	out := []string{text, strings.TrimSpace(text), strings.TrimRight(text, " .!?。，")}
	return append(out, separator.Split(text, -1)...)
}

func TestFilter(t *testing.T) {
	for _, c := range []struct {
		expr, text string
		may        bool
	}{
		{`(?i)\bknow\b`, "KNOW", true}, {`(?i)\bknow\b`, "unknown", false}, {`\bi (?:like|love)\b`, "alibi likes", false},
		{`^(?:please )*stop`, "please stop", true}, {`^stop`, "do not stop", false}, {`吗$`, "好吗", true}, {`吗$`, "好吗？", false},
		{`我(?:很|也)*喜欢`, "我觉得他喜欢", true}, {`我(?:很|也)*喜欢`, "他喜欢", false}, {`(?i)kiss`, "Kiſs", true}, {`\w+`, "", true}, {`(?:a|b)c`, "bd", false},
		{`one.*two|three`, "two one", true}, {`one.*two|three`, "one", false},
	} {
		var set prefilter.Set
		p := set.Compile(c.expr)
		hits := set.Scan(c.text)
		if got := p.May(&hits); got != c.may {
			t.Errorf("%s in %q: %v", c.expr, c.text, got)
		}
	}
}

func TestScreen(t *testing.T) {
	var set prefilter.Set
	p := set.Screen(`^when (?:i|we)\b`)
	for text, want := range map[string]bool{"when I come": true, "stop, when we sleep": true, "go and when I call": true, "say when I may": false, "": false} {
		hits := set.Scan(text)
		if hits.Any() != want || p.May(&hits) != want {
			t.Errorf("%q: %v", text, hits.Any())
		}
	}
}

func FuzzSameAsUnfiltered(f *testing.F) {
	var set prefilter.Set
	for _, e := range expressions {
		set.Compile(e)
	}
	for _, p := range pieces {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, text string) {
		hits := set.Scan(text)
		for _, p := range set.Patterns() {
			same(t, p, text, &hits)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	var set prefilter.Set
	for _, e := range expressions {
		set.Compile(e)
	}
	for name, text := range map[string]string{"en": strings.Repeat("The quick brown fox jumps over the lazy dog. ", 5), "zh": strings.Repeat("敏捷的棕色狐狸跳过了懒狗。", 6)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				set.Scan(text)
			}
		})
	}
}
