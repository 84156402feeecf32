package policy

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/internal/prefilter"
	"strata/internal/terms"
)

// asking is a way to ask for something of oneself without its noun, in lower
// case.
type asking struct {
	topics []string
	en, zh *prefilter.Pattern
}

const askedEdge = 256 // bytes of a text's head and tail that are looked at

// asked are the patterns of askings: most questions hold what none of them
// needs.
var asked prefilter.Set

var askings = []asking{
	{[]string{"employer", "role"}, asked.Compile(`what do i do\b|what did i do\b|my line of work\b`), asked.Compile(`我(?:是|现在)?(?:做|干)(?:什么|啥)|我的?工作是|我从事`)},
	{[]string{"employer", "office"}, asked.Compile(`where do i work\b|where did i work\b|who do i work for\b`), asked.Compile(`我在(?:哪|什么)[^,，。？?]{0,6}?(?:上班|工作|就职|任职|办公)`)},
	{[]string{"name"}, asked.Compile(`who am i\b|what am i called\b|what should you call me\b`), asked.Compile(`我是谁|我叫(?:什么|啥)|怎么称呼我`)},
	{[]string{"city"}, asked.Compile(`where do i live\b|where did i live\b|where am i (?:based|living)\b`), asked.Compile(`我(?:现在|目前)?(?:住|居住|定居)(?:在)?(?:哪|什么)`)},
	{[]string{"hometown"}, asked.Compile(`where am i from\b|where do i come from\b`), asked.Compile(`我(?:是)?(?:来自)?(?:哪里人|哪儿人|什么地方人|来自哪)`)},
	{[]string{"age", "birthday"}, asked.Compile(`how old am i\b|when was i born\b`), asked.Compile(`我(?:今年)?(?:多大|几岁|多少岁)|我是?(?:哪年|哪天|什么时候)出?生`)},
	{[]string{"height"}, asked.Compile(`how tall am i\b`), asked.Compile(`我有?多高`)},
	{[]string{"weight"}, asked.Compile(`how much do i weigh\b`), asked.Compile(`我有?多重`)},
	{[]string{"manager"}, asked.Compile(`who do i report to\b`), asked.Compile(`我(?:向|跟)谁汇报`)},
	{[]string{"office"}, asked.Compile(`where do i sit\b`), asked.Compile(`我坐在?哪`)},
	{[]string{"spouse"}, asked.Compile(`who am i married to\b`), asked.Compile(`我和谁结了?婚`)},
}

// askedTopics are topics in the order in which a question asks for them.
type askedTopics []string

func (t *askedTopics) add(keys ...string) {
	for _, key := range keys {
		if key != "" && !slices.Contains(*t, key) {
			*t = append(*t, key)
		}
	}
}

// TopicsAsked returns the single-valued topics that a question asks of the
// user's own, in either language: "where do I work" and 我的公司 are employer.
// It tells which statement is meant where the two share no word.
func TopicsAsked(question string) []string {
	if len(question) > 2*askedEdge { // a question stands before or behind what it is about
		question = strings.ToValidUTF8(question[:askedEdge]+"\n"+question[len(question)-askedEdge:], "")
	}
	question = terms.Lower(question)
	var topics askedTopics
	english := topics.ownEN(question)
	chinese := strings.Contains(question, "我")
	if !english && !chinese {
		return topics
	}
	hits := asked.Scan(question)
	if english && hits.Any() {
		for _, a := range askings {
			if a.en.Match(question, &hits) {
				topics.add(a.topics...)
			}
		}
	}
	if chinese {
		topics.ownZH(question)
		for _, a := range askings {
			if a.zh.Match(question, &hits) {
				topics.add(a.topics...)
			}
		}
	}
	return topics
}

// ownEN adds what "my" stands before, up to four words, and reports whether
// the first person is spoken of. text is in lower case.
func (t *askedTopics) ownEN(text string) (firstPerson bool) {
	for i := 0; i < len(text); {
		from := i
		for i < len(text) && (wordByte(text[i]) || text[i] == '_') {
			i++
		}
		switch text[from:i] {
		case "i":
			firstPerson = true
		case "my":
			firstPerson = true
			i = t.nounEN(text, i)
		case "":
			i++
		}
	}
	return firstPerson
}

const ownWords = 4 // that are looked at behind "my"

// nounEN adds the topic of the longest noun among the words behind "my", which
// ends at i, that begins with the first of them or the second ("new office").
// It returns the end of the words.
func (t *askedTopics) nounEN(text string, i int) int {
	var from, to [ownWords]int
	n := 0
	for n < ownWords {
		at := i
		for at < len(text) && spaceByte(text[at]) {
			at++
		}
		if at == i || at == len(text) || text[at] < 'a' || text[at] > 'z' {
			break
		}
		for i = at; i < len(text) && (text[i] >= 'a' && text[i] <= 'z' || text[i] == '\'' || text[i] == '-'); {
			i++
		}
		from[n], to[n] = at, i
		n++
	}
	for first := range min(2, n) {
		for last := n - 1; last >= first; last-- {
			if key := TopicOf(text[from[first]:to[last]]); key != "" {
				t.add(key)
				return i
			}
		}
	}
	return i
}

// spaceByte is what \s is in a regular expression.
func spaceByte(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

// What may stand between 我 and what is one's own, the likeliest first.
var (
	ownPlurals = [...]string{"们", ""}
	ownLinks   = [...]string{"的", "现在的", "现在", "目前的", "目前", ""}
)

const ownHan = 8 // characters that are looked at behind 我

// ownZH adds the topics of the nouns behind 我, 我的, 我们现在的 and the like.
func (t *askedTopics) ownZH(text string) {
	for {
		_, rest, found := strings.Cut(text, "我")
		if !found {
			return
		}
		words, n := behindOwn(rest)
		t.add(leadingTopic(words))
		text = rest[n:]
	}
}

// behindOwn returns the first Chinese characters behind 我 and its links, and
// where they end. A link that nothing follows is a word itself.
func behindOwn(text string) (words string, end int) {
	for _, plural := range ownPlurals {
		behind, ok := strings.CutPrefix(text, plural)
		if !ok {
			continue
		}
		for _, link := range ownLinks {
			words, ok := strings.CutPrefix(behind, link)
			if !ok {
				continue
			}
			if n := hanRun(words, ownHan); n > 0 {
				return words[:n], len(text) - len(words) + n
			}
		}
	}
	return "", 0
}

// hanRun returns the bytes of the Chinese characters that text begins with, of
// most at most.
func hanRun(text string, most int) int {
	n := 0
	for i, r := range text {
		if n == most || !unicode.Is(unicode.Han, r) {
			return i
		}
		n++
	}
	return len(text)
}

// leadingTopic is the topic of the longest noun that Chinese text begins with.
func leadingTopic(text string) string {
	if first, _ := utf8.DecodeRuneInString(text); foldedHan(first) && !nounHeads[first] {
		return ""
	}
	for text != "" {
		if key := TopicOf(text); key != "" {
			return key
		}
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	return ""
}

// foldedHan reports whether folding a text leaves a Chinese character as it
// is.
func foldedHan(r rune) bool { return r >= 0x4E00 && r <= 0x9FFF }

// nounHeads are the characters that Chinese nouns begin with.
var nounHeads = func() map[rune]bool {
	heads := map[rune]bool{}
	for i := range singles {
		for _, noun := range singles[i].zh {
			r, _ := utf8.DecodeRuneInString(foldText(noun))
			heads[r] = true
		}
	}
	return heads
}()
