package terms

import (
	"testing"
	"unicode/utf8"
)

// Each traditional character has one simplified one, which stays as it is; the
// length of a text does not change.
func TestSimplify(t *testing.T) {
	if a, b := utf8.RuneCountInString(traditional), utf8.RuneCountInString(simple); a != b || len(traditional) != len(simple) {
		t.Fatalf("%d traditional characters, %d simplified ones", a, b)
	}
	seen := map[rune]bool{}
	for _, r := range traditional {
		if seen[r] {
			t.Errorf("%c stands twice", r)
		}
		seen[r] = true
	}
	if got := simplify(traditional); got != simple {
		t.Error("the table is not what it says")
	}
	if got := simplify(simple); got != simple {
		t.Error("a simplified character is changed")
	}
	for text, want := range map[string]string{
		"": "", "離職補償標準": "离职补偿标准", "离职 B-12": "离职 B-12", "a圖b書館\xe5\x9c": "a图b书馆\xe5\x9c", "かな圖": "かな图",
	} {
		if got := simplify(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A weak term in the other script would never be met.
func TestWeakAsCut(t *testing.T) {
	for term := range weak {
		if simplify(term) != term {
			t.Errorf("%s is cut as %s", term, simplify(term))
		}
	}
}
