package policy

import (
	"slices"
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

func BenchmarkTopicsAsked(b *testing.B) {
	for name, question := range map[string]string{"own": "What is my name, and what do I do at my company?", "zh": "我叫什么名字？我在云岫科技做什么？", "general": "How many days of annual leave does an employee get after three years?"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				TopicsAsked(question)
			}
		})
	}
}
