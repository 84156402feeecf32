package assemble

import (
	"strings"
	"unicode/utf8"

	"strata/internal/terms"
)

// Weights of terms beside their rarity. Pairs tell Chinese words apart, single
// characters only hint at them; a pair across a function word's edge is hardly
// a word at all.
const (
	wordWeight   = 1.0
	pairWeight   = 1.0
	singleWeight = 0.25
	edgeWeight   = 0.15
)

// functionWords say how something is asked, not what about.
var functionWords = setOf(`a an the this that these those it its he him his she her hers they them their theirs we us our ours
i me my mine you your yours myself yourself who whom whose what which when where why how
is am are was were be been being do does did done doing have has had having will would shall should can could may might must
not no nor and or but if then than so as of in on at to from by for with about into over under between during before after
there here again also too very just only any some all both each few more most other such same own
s t d ll re ve m don doesn didn isn aren wasn weren won can't cannot let please tell know remember remind say said show give get got
kindly want need like thing something anything everything ok okay yes hey hi hello thanks thank`)

// functionRunes and functionPairs are their Chinese peers.
var functionRunes = runesOf(`的了吗呢吧啊呀么嘛哦着是在我你您他她它们这那哪啥谁和与及就也都很还又把被给请之其而或但吗咱俺个为让`)

var functionPairs = setOf(`什么 怎么 如何 怎样 为何 多少 哪里 哪个 哪些 时候 可以 能否 是否 有没 没有 还有 告诉 一下 一个 知道 现在 我们
你们 他们 她们 还是 或者 以及 关于 请问 帮我 需要 应该 的话 记得 还记 记住 一些 这个 那个 这些 那些 因为 所以 但是 如果 之前 以前 来着 觉得 想要 想知 请你`)

func runesOf(list string) map[rune]bool {
	set := map[rune]bool{}
	for _, r := range list {
		set[r] = true
	}
	return set
}

func setOf(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
		for _, t := range terms.Of(w) {
			if utf8.RuneCountInString(t) > 1 || t[0] < utf8.RuneSelf {
				set[t] = true
			}
		}
	}
	return set
}

// weight says how much a term tells about what a text is about, 0-1.
func weight(term string) float64 {
	first, n := utf8.DecodeRuneInString(term)
	if first < 0x2E80 {
		if functionWords[term] {
			return 0
		}
		return wordWeight
	}
	a := functionRunes[first]
	if n == len(term) {
		if a {
			return 0
		}
		return singleWeight
	}
	second, _ := utf8.DecodeRuneInString(term[n:])
	b := functionRunes[second]
	switch {
	case a && b || functionPairs[term]:
		return 0
	case a || b:
		return edgeWeight
	}
	return pairWeight
}

// topic is one term of a question or a text that tells what it is about.
type topic struct {
	hash   uint64
	weight float64
	term   string
}

// topics returns the different terms of text that tell something.
func topics(text string) []topic {
	list := terms.Append(make([]string, 0, len(text)/2+4), text)
	out := make([]topic, 0, len(list))
	var seen map[uint64]bool
	if len(list) > 24 {
		seen = make(map[uint64]bool, len(list))
	}
	for _, t := range list {
		w := weight(t)
		if w == 0 {
			continue
		}
		h := digest(t)
		if seen != nil {
			if seen[h] {
				continue
			}
			seen[h] = true
		} else if hasTopic(out, h) {
			continue
		}
		out = append(out, topic{h, w, t})
	}
	return out
}

func hasTopic(list []topic, h uint64) bool {
	for i := range list {
		if list[i].hash == h {
			return true
		}
	}
	return false
}

// digest is FNV-1a.
func digest(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// asking tells what kind of memory answers a question.
type asking struct {
	kind  string // of stores.Memory.Kind
	words []string
}

// askings are looked through in their order.
var askings = []asking{
	{"procedural", []string{"how to ", "how do ", "how should ", "how can ", "steps ", "procedure", "怎么", "如何", "怎样", "步骤", "流程", "咋"}},
	{"episodic", []string{"when did", "when was", "when were", "last time", "did we", "did i ", "have we", "have i ", "what happened", "什么时候", "何时", "上次", "那次", "哪天", "那天", "之前说", "发生"}},
	{"semantic", []string{"what", "who", "which", "where", "whose", "how many", "how much", "什么", "谁", "哪", "多少", "几", "吗"}},
}

func kindAsked(words string) string {
	words = strings.ToLower(words)
	for _, a := range askings {
		for _, w := range a.words {
			if strings.Contains(words, w) {
				return a.kind
			}
		}
	}
	return ""
}
