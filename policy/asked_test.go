package policy

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTopicsAsked(t *testing.T) {
	for question, want := range map[string][]string{
		"What is my name, and what do I do at my company?": {"name", "employer", "role"},
		"Where do I work?":                     {"employer", "office"},
		"Where's my new office?":               {"office"},
		"what was my project code again":       {"project_code"},
		"who am I":                             {"name"},
		"我叫什么名字？在哪家公司上班？":                      {"name"},
		"我的项目代号是什么":                            {"project_code"},
		"我公司在哪":                                {"employer"},
		"我在哪里工作":                               {"employer", "office"},
		"我住在哪个城市":                              {"city"},
		"What is the company's travel policy?": nil,
		"公司的差旅标准是什么":                           nil,
		"Is there a name for this pattern?":    nil,
		"请解释这个函数":                              nil,
		"":                                     nil,
	} {
		got := TopicsAsked(question)
		for _, topic := range append(slices.Clone(want), got...) {
			if slices.Contains(want, topic) != slices.Contains(got, topic) {
				t.Errorf("%q asks for %v, want %v", question, got, want)
				break
			}
		}
	}
}

// What ownEN and ownZH look for, as expressions.
var (
	ownFormEN = regexp.MustCompile(`\bmy\s+((?:[a-z][a-z'-]*\s+){0,3}[a-z][a-z'-]*)`)
	ownFormZH = regexp.MustCompile(`我(?:们)?(?:的|现在的?|目前的?)?(\p{Han}{1,8})`)
	firstForm = regexp.MustCompile(`\b(?:my|i)\b`)
)

func ownByForms(text string) (topics askedTopics) {
	for _, m := range ownFormEN.FindAllStringSubmatch(text, -1) {
		words := strings.Fields(m[1])
		key := ""
		for from := range min(2, len(words)) {
			for to := len(words); to > from && key == ""; to-- {
				key = TopicOf(strings.Join(words[from:to], " "))
			}
		}
		topics.add(key)
	}
	for _, m := range ownFormZH.FindAllStringSubmatch(text, -1) {
		key := ""
		for han := []rune(m[1]); len(han) > 0 && key == ""; han = han[:len(han)-1] {
			key = TopicOf(string(han))
		}
		topics.add(key)
	}
	return topics
}

func TestOwnNounsAreFoundAsByForms(t *testing.T) {
	list := allMessages(t)
	parts := strings.Fields("my i office new job title top_list b2 my- 's ' 3 \u212A 我 我们 我的 现在的 目前 现在 们 的 公司 豈 工作时间 是什么 时 〇 x \xff")
	parts = append(parts, " ", "  ", "\n", "\v")
	for i, a := range parts {
		for k, b := range parts {
			for n := range 6 {
				c := parts[(i+k*k+5*n)%len(parts)]
				list = append(list, "my "+a+b+c, a+" "+b+c+" my "+parts[(i+k+n)%len(parts)], "我"+a+b+c)
			}
		}
	}
	for _, text := range list {
		text = strings.ToLower(text)
		var got askedTopics
		first := got.ownEN(text)
		got.ownZH(text)
		if want := ownByForms(text); !slices.Equal(got, want) || first != firstForm.MatchString(text) {
			t.Fatalf("%q: %q (%v), want %q", text, got, first, want)
		}
	}
}

func BenchmarkTopicsAsked(b *testing.B) {
	for name, question := range map[string]string{"own": "What is my name, and what do I do at my company?", "zh": "我叫什么名字？我在云岫科技做什么？", "general": "How many days of annual leave does an employee get after three years?"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				TopicsAsked(question)
			}
		})
	}
}
