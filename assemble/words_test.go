package assemble

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"strata/internal/terms"
)

// A topic is listed once, however long the text.
func TestTopicsAreDifferent(t *testing.T) {
	var long strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&long, "word%d 仓%c库 ", i*i%700, rune(0x5000+i%400))
	}
	for _, text := range []string{"", "a", "报关文件 报关文件 customs papers, customs", long.String()} {
		var want []string
		for _, term := range terms.Of(text) {
			if weight(term) > 0 && !slices.Contains(want, term) {
				want = append(want, term)
			}
		}
		var got []string
		for _, topic := range appendTopics(topics("zebra"), text)[1:] {
			got = append(got, topic.term)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%.40q: %d topics, want %d", text, len(got), len(want))
		}
	}
}

func TestKindAsked(t *testing.T) {
	for words, want := range map[string]string{
		"How do I file it, and when did we talk?": "procedural", "上次怎么说的": "procedural", "WHEN WAS the storm": "episodic", "那天发生了什么": "episodic",
		"Who is it": "semantic", "是几号": "semantic", "吗": "semantic", "draft a mail": "", "": "", "今\xe6\x80": "", "如": "",
	} {
		if got := kindAsked(words); got != want {
			t.Errorf("%q asks for %q, want %q", words, got, want)
		}
	}
}
