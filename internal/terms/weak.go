package terms

import "strings"

// weak holds the words, characters and pairs that make a sentence a question
// or hold it together and say nothing of its subject. In a corpus of rules
// some of them are rare, so rarity alone would take them for the subject.
var weak = set(
	`a an the of to in on at by for with from as is are was were be been being am do does did done doing can could
	may might shall should will would must ought has have had having i you he she it we they me him her us them my your
	his its our their mine yours ours theirs this that these those there here what which who whom whose when where why
	how if or and but not no nor so than then about into over under between any some all each every both either please`,
	`tell know get got want need give make help like way thing use used using explain describe example let say said go
	going see look find take come think mean good new much many more most also just only such same other another there
	out up down off very really still even ever after before during while because since through without within per via
	cannot specific specifically clarify regarding ok okay hi hello hey thanks thank yes`,
	`的 了 吗 呢 吧 啊 呀 嘛 么 是 在 有 我 你 您 他 她 它 们 谁 和 与 或 及 就 都 也 还 不 被 把 对 这 那`,
	`什么 怎么 如何 哪些 哪个 多少 是否 可以 怎样 为什 么样 么办 我们 你们 他们 请问 能否 哪里 哪儿 这个 那个 应该 应当 有没 没有 是不 不是
	时候 的是 是什 么是 一下 告诉`,
)

func set(lists ...string) map[string]bool {
	m := map[string]bool{}
	for _, list := range lists {
		for word := range strings.FieldsSeq(list) {
			m[word] = true
		}
	}
	return m
}

// Weak reports whether a term of Of belongs to the closed list of function and
// question words, English and Chinese. Scorers weigh such terms down, none
// drops them: a question may have no others.
func Weak(term string) bool { return weak[term] }
