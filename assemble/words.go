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
var functionRunes = hanSetOf(`的了吗呢吧啊呀么嘛哦着是在我你您他她它们这那哪啥谁和与及就也都很还又把被给请之其而或但吗咱俺个为让`)

var functionPairs = setOf(`什么 怎么 如何 怎样 为何 多少 哪里 哪个 哪些 时候 可以 能否 是否 有没 没有 还有 告诉 一下 一个 知道 现在 我们
你们 他们 她们 还是 或者 以及 关于 请问 帮我 需要 应该 的话 记得 还记 记住 一些 这个 那个 这些 那些 因为 所以 但是 如果 之前 以前 来着 觉得 想要 想知 请你`)

// pairHeads are what functionPairs begin with.
var pairHeads = func() (set hanSet) {
	for pair := range functionPairs {
		r, _ := utf8.DecodeRuneInString(pair)
		set.add(r)
	}
	return set
}()

// hanSet is a set of the usual Chinese characters.
type hanSet [(lastHan - firstHan + 64) / 64]uint64

const firstHan, lastHan = 0x4E00, 0x9FFF

func hanSetOf(list string) (set hanSet) {
	for _, r := range list {
		set.add(r)
	}
	return set
}

func (s *hanSet) add(r rune) { s[(r-firstHan)>>6] |= 1 << ((r - firstHan) & 63) }

func (s *hanSet) has(r rune) bool {
	return r >= firstHan && r <= lastHan && s[(r-firstHan)>>6]>>((r-firstHan)&63)&1 != 0
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
	a := functionRunes.has(first)
	if n == len(term) {
		if a {
			return 0
		}
		return singleWeight
	}
	second, _ := utf8.DecodeRuneInString(term[n:])
	b := functionRunes.has(second)
	switch {
	case a && b || pairHeads.has(first) && functionPairs[term]:
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

const (
	usualTopics = 64 // of a question
	usualTerms  = 128
)

// topics returns the different terms of text that tell something.
func topics(text string) []topic { return appendTopics(nil, text) }

// appendTopics appends topics to dst.
func appendTopics(dst []topic, text string) []topic {
	var room [usualTerms]string
	list := terms.Append(room[:0], text)
	seen := seenTopics{first: len(dst)}
	for _, t := range list {
		w := weight(t)
		if w == 0 {
			continue
		}
		if h := digest(t); !seen.before(h, dst) {
			dst = append(dst, topic{h, w, t})
		}
	}
	return dst
}

// seenTopics tells which topics are in a list. Nearly always a bit says that
// one is not; a long list has a map.
type seenTopics struct {
	first int // of the list
	bits  [seenBits / 64]uint64
	all   map[uint64]bool
}

const (
	seenBits = 1024
	seenMost = 256 // above it too many bits are set
)

// before notes a topic that is to be appended to list, and reports whether it
// is there.
func (s *seenTopics) before(hash uint64, list []topic) bool {
	if s.all == nil && len(list)-s.first == seenMost {
		s.all = make(map[uint64]bool, 4*seenMost)
		for i := range list[s.first:] {
			s.all[list[s.first+i].hash] = true
		}
	}
	if s.all != nil {
		seen := s.all[hash]
		s.all[hash] = true
		return seen
	}
	at, bit := hash>>6&(seenBits/64-1), uint64(1)<<(hash&63)
	if s.bits[at]&bit == 0 {
		s.bits[at] |= bit
		return false
	}
	return hasTopic(list[s.first:], hash)
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

// askingWord is a word of askings, by its first byte, and where it stands there.
type askingWord struct {
	word string
	rank int
}

var askingWords = func() (byFirst [256][]askingWord) {
	for rank, a := range askings {
		for _, w := range a.words {
			byFirst[w[0]] = append(byFirst[w[0]], askingWord{w, rank})
		}
	}
	return byFirst
}()

// kindAsked is the kind of the first of askings that has a word in the text.
func kindAsked(words string) string {
	words = terms.Lower(words)
	best := len(askings)
	for i := 0; i < len(words) && best > 0; i++ {
		for _, a := range askingWords[words[i]] {
			// Characters share their first bytes: the last one is the one to look at.
			end := i + len(a.word)
			if a.rank < best && end <= len(words) && words[end-1] == a.word[len(a.word)-1] && words[i:end] == a.word {
				best = a.rank
			}
		}
	}
	if best == len(askings) {
		return ""
	}
	return askings[best].kind
}
