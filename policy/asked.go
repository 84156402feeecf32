package policy

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// asking is a way to ask for something of oneself without its noun, in lower
// case. The patterns begin with plain text, which makes them quick.
type asking struct {
	topics []string
	en, zh *regexp.Regexp
}

const askedEdge = 256 // bytes of a text's head and tail that are looked at

var askings = []asking{
	{[]string{"employer", "role"}, regexp.MustCompile(`what do i do\b|what did i do\b|my line of work\b`), regexp.MustCompile(`我(?:是|现在)?(?:做|干)(?:什么|啥)|我的?工作是|我从事`)},
	{[]string{"employer", "office"}, regexp.MustCompile(`where do i work\b|where did i work\b|who do i work for\b`), regexp.MustCompile(`我在(?:哪|什么)[^,，。？?]{0,6}?(?:上班|工作|就职|任职|办公)`)},
	{[]string{"name"}, regexp.MustCompile(`who am i\b|what am i called\b|what should you call me\b`), regexp.MustCompile(`我是谁|我叫(?:什么|啥)|怎么称呼我`)},
	{[]string{"city"}, regexp.MustCompile(`where do i live\b|where did i live\b|where am i (?:based|living)\b`), regexp.MustCompile(`我(?:现在|目前)?(?:住|居住|定居)(?:在)?(?:哪|什么)`)},
	{[]string{"hometown"}, regexp.MustCompile(`where am i from\b|where do i come from\b`), regexp.MustCompile(`我(?:是)?(?:来自)?(?:哪里人|哪儿人|什么地方人|来自哪)`)},
	{[]string{"age", "birthday"}, regexp.MustCompile(`how old am i\b|when was i born\b`), regexp.MustCompile(`我(?:今年)?(?:多大|几岁|多少岁)|我是?(?:哪年|哪天|什么时候)出?生`)},
	{[]string{"height"}, regexp.MustCompile(`how tall am i\b`), regexp.MustCompile(`我有?多高`)},
	{[]string{"weight"}, regexp.MustCompile(`how much do i weigh\b`), regexp.MustCompile(`我有?多重`)},
	{[]string{"manager"}, regexp.MustCompile(`who do i report to\b`), regexp.MustCompile(`我(?:向|跟)谁汇报`)},
	{[]string{"office"}, regexp.MustCompile(`where do i sit\b`), regexp.MustCompile(`我坐在?哪`)},
	{[]string{"spouse"}, regexp.MustCompile(`who am i married to\b`), regexp.MustCompile(`我和谁结了?婚`)},
}

var (
	firstPerson = regexp.MustCompile(`\b(?:my|i)\b`)
	ownEN       = regexp.MustCompile(`\bmy\s+((?:[a-z][a-z'-]*\s+){0,3}[a-z][a-z'-]*)`)
	ownZH       = regexp.MustCompile(`我(?:们)?(?:的|现在的?|目前的?)?(\p{Han}{1,8})`)
)

// ownTopic is the topic of the longest noun that words begin with, or that
// stands behind the first of them ("new office").
func ownTopic(words []string) string {
	for from := range min(2, len(words)) {
		for to := len(words); to > from; to-- {
			if key := TopicOf(strings.Join(words[from:to], " ")); key != "" {
				return key
			}
		}
	}
	return ""
}

// TopicsAsked returns the single-valued topics that a question asks of the
// user's own, in either language: "where do I work" and 我的公司 are employer.
// It tells which statement is meant where the two share no word.
func TopicsAsked(question string) (topics []string) {
	if len(question) > 2*askedEdge { // a question stands before or behind what it is about
		question = strings.ToValidUTF8(question[:askedEdge]+"\n"+question[len(question)-askedEdge:], "")
	}
	add := func(keys ...string) {
		for _, key := range keys {
			if key != "" && !slices.Contains(topics, key) {
				topics = append(topics, key)
			}
		}
	}
	question = strings.ToLower(question)
	if firstPerson.MatchString(question) {
		for _, m := range ownEN.FindAllStringSubmatch(question, -1) {
			add(ownTopic(strings.Fields(m[1])))
		}
		for _, a := range askings {
			if a.en.MatchString(question) {
				add(a.topics...)
			}
		}
	}
	if strings.Contains(question, "我") {
		for _, m := range ownZH.FindAllStringSubmatch(question, -1) {
			add(leadingTopic(m[1]))
		}
		for _, a := range askings {
			if a.zh.MatchString(question) {
				add(a.topics...)
			}
		}
	}
	return topics
}

// leadingTopic is the topic of the longest noun that Chinese text begins with.
func leadingTopic(text string) string {
	for text != "" {
		if key := TopicOf(text); key != "" {
			return key
		}
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	return ""
}
