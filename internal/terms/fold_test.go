package terms

import (
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

func checkFold(t *testing.T, text string) {
	t.Helper()
	want := strings.ToLower(norm.NFKC.String(text))
	low, same := Fold(text)
	if low != want || same && strings.ToLower(text) != low {
		t.Fatalf("%q: %q (same: %v), want %q", text, low, same, want)
	}
	if got, want := Lower(text), strings.ToLower(text); got != want {
		t.Fatalf("%q in lower case: %q, want %q", text, got, want)
	}
}

func TestFold(t *testing.T) {
	for _, text := range []string{
		"", " ", "Plain TEXT", "我的办公室在3号楼，工位是B-12。", "默认用柱状图", "Ｆｕｌｌ ｗｉｄｔｈ，ＭＹ　ＮＡＭＥ", "还没想好……Really", "他说：“用Go”—好的",
		"ſtop using tables", "my \u212Aey is here, İ think", "\xff\xfe broken", "好\xe5\xa5", "好\xe5", "\xe4\xb7\xbf\xe4\xb8\x80", "a\u0301 is composed", "ﬁne, I’m fine", "①②③",
		"時間は何時ですか", "한국어로 답해 주세요", "豈更",
	} {
		checkFold(t, text)
	}
	for r := rune(1); r < 0x20000; r++ {
		s := string(r)
		checkFold(t, s)
		if foldOf(r) != 0 || r < 0x80 {
			checkFold(t, "A"+s+"b")
			checkFold(t, s+s)
			checkFold(t, "好"+s+"，")
		}
	}
}

// What is known of usual characters is what the tables say.
func TestKinds(t *testing.T) {
	for r := rune(0); r < 0x20000; r++ {
		want := noKind
		switch {
		case unspaced(r):
			want = unspacedKind
		case wordRune(r):
			want = wordKind
		}
		if got, _ := kindAt(string(r), 0); got != want {
			t.Fatalf("%U is of kind %d, want %d", r, got, want)
		}
		if han := hanAt(string(r), 0); han != (r >= 0x4E00 && r <= 0x9FFF) {
			t.Fatalf("%U: %v", r, han)
		}
	}
}
