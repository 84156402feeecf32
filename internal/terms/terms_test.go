package terms_test

import (
	"slices"
	"strings"
	"testing"

	"strata/internal/terms"
)

func TestOf(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", " ，。!? § — \x00", ""},
		{"one character", "部", "部"},
		{"characters and pairs by turns", "部署方", "部 部署 署 署方 方"},
		{"signs part runs", "部署，方案", "部 部署 署 方 方案 案"},
		{"latin glued to chinese", "部署v2.3方案", "部 部署 署 v2.3 2.3 v2 3 方 方案 案"},
		{"word glued to chinese", "请执行rollback脚本", "请 请执 执 执行 行 rollback 脚 脚本 本"},
		{"full width", "ＡＰＩ２３", "api23"},
		{"full width among chinese", "第１２条", "第 12 条"},
		{"traditional is as simplified", "營造業", "营 营造 造 造业 业"},
		{"characters of both scripts stay", "乾隆", "乾 乾隆 隆"},
		{"japanese", "サーバー", "サ サー ー ーバ バ バー ー"},
		{"korean", "배포", "배 배포 포"},
		{"thai has no spaces", "ไทย", "ไ ไท ท ทย ย"},
		{"languages", "C++ or C# and F#.", "c++ c or c# c and f# f"},
		{"section sign", "§ 3.2.1 applies", "3.2.1 3 2 1 appli"},
		{"e-mail", "ask ops@example.com.", "ask ops@example.com ops example com"},
		{"hyphen", "e-mail", "e-mail e mail"},
		{"version", "v2 and v2.3.1", "v2 and v2.3.1 2.3.1 v2 3 1"},
		{"thousands", "1,250,000 and 1,25", "1250000 and 1 25"},
		{"list of numbers", "10,200,3000", "10200 3000"},
		{"end of sentence", "It failed... (twice)_", "it fail twic"},
		{"possessive", "the user's and users' data", "the user and user data"},
		{"contractions", "don’t, they'll, it's", "do they it"},
		{"leading signs", "-x --flag .net #tag @me", "x flag net tag me"},
		{"long words go", strings.Repeat("a", 65) + " kept", "kept"},
		{"pieces of a long word stay", strings.Repeat("a", 40) + "." + strings.Repeat("b", 40), strings.Repeat("a", 40) + " " + strings.Repeat("b", 40)},
		{"invalid bytes part words", "ab\xffcd", "ab cd"},
		{"accents", "Ångström naïve", "ångström naïve"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := terms.Of(tt.text)
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got  %q\nwant %q", got, strings.Fields(tt.want))
			}
		})
	}
}

// Forms of one word meet in one stem, and other words keep theirs.
func TestStem(t *testing.T) {
	for _, same := range [][]string{
		{"report", "reports", "reported", "reporting"},
		{"policy", "policies"},
		{"plan", "plans", "planned", "planning"},
		{"deploy", "deploys", "deployed", "deployment"},
		{"requirement", "requirements", "require", "required", "requires"},
		{"regulation", "regulations", "regulated"},
		{"address", "addresses"},
		{"operate", "operating", "operation", "operations"},
	} {
		for _, w := range same[1:] {
			if terms.Stem(w) != terms.Stem(same[0]) {
				t.Errorf("%s -> %s, %s -> %s", same[0], terms.Stem(same[0]), w, terms.Stem(w))
			}
		}
	}
	for _, w := range []string{"sing", "red", "bus", "this", "does", "format", "basis", "v2s", "naïved", "a", ""} {
		if terms.Stem(w) != w {
			t.Errorf("%s -> %s", w, terms.Stem(w))
		}
	}
}

func TestKinds(t *testing.T) {
	for term, want := range map[string]terms.Kind{
		"部": terms.Char, "部署": terms.Pair, "v2.3": terms.Word, "ångström": terms.Word, "12": terms.Word, "サー": terms.Pair,
	} {
		if got := terms.KindOf(term); got != want {
			t.Errorf("%s: %d, want %d", term, got, want)
		}
	}
}

func TestWeak(t *testing.T) {
	for _, w := range []string{"what", "does", "的", "什么", "请问"} {
		if !terms.Weak(w) {
			t.Errorf("%s is not weak", w)
		}
	}
	for _, w := range []string{"refund", "部署", "部", "3", ""} {
		if terms.Weak(w) {
			t.Errorf("%s is weak", w)
		}
	}
	// What the list holds must be what Of makes of it.
	for _, q := range []string{"Does it?", "怎么办", "Please", "during"} {
		for _, term := range terms.Of(q) {
			if term != "办" && !terms.Weak(term) && term != "怎" {
				t.Errorf("%s of %s is not weak", term, q)
			}
		}
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	got := terms.Append([]string{"x"}, "a b")
	if !slices.Equal(got, []string{"x", "a", "b"}) {
		t.Errorf("got %q", got)
	}
}

func FuzzOf(f *testing.F) {
	for _, s := range []string{"部署v2.3方案", "C++ 1,000 don't", "\xff’s", "v.", "'t n't"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, term := range terms.Of(s) {
			if term == "" || len(term) > 64 || strings.ContainsAny(term, " \n\t") {
				t.Fatalf("term %q of %q", term, s)
			}
		}
	})
}

func BenchmarkOf(b *testing.B) {
	text := strings.Repeat("部署方案需要经过值班负责人确认，v2.3 起使用 rollback 脚本。", 10)
	b.SetBytes(int64(len(text)))
	var dst []string
	for b.Loop() {
		dst = terms.Append(dst[:0], text)
	}
}
