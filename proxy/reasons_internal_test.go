package proxy

import (
	"reflect"
	"strings"
	"testing"

	"strata/intent"
)

// Reasons are few, their figures short, and none holds a piece of a secret or
// what must not be kept.
func TestBecause(t *testing.T) {
	x := new(exchange)
	x.d.talk.Messages = []intent.Message{{Role: "user", Text: "Older"}, {Role: "user", Text: "Is the key AKIAIOSFODNN7EXAMPLE allowed by the Leave Policy?"}}
	x.d.verdict = intent.Verdict{Intent: intent.RAG, Stage: "model", Rule: "permit",
		Probabilities: intent.Probabilities{Chat: .0449, RAG: .9351, Data: .02},
		Why: []intent.Reason{{What: "words leave policy", Weight: 1.234}, {What: "words akiaiosfodnn7example", Weight: 1}, {What: "cue policy noun", Weight: .5},
			{What: "words key akiaiosfodnn7example", Weight: .4}, {What: "rule fifth", Weight: .3}}}
	for _, c := range []struct {
		words bool
		want  []intent.Reason
	}{
		{true, []intent.Reason{{What: "words leave policy", Weight: 1.23}, {What: "cue policy noun", Weight: .5}}},
		{false, []intent.Reason{{What: "cue policy noun", Weight: .5}}},
	} {
		var a account
		x.because(&a, c.words)
		if !reflect.DeepEqual(a.Why, c.want) || a.Probabilities == nil || *a.Probabilities != (intent.Probabilities{Chat: .04, RAG: .94, Data: .02}) || a.Rule != "permit" {
			t.Errorf("words %v: %+v %+v", c.words, a, a.Probabilities)
		}
	}
	x.d.talk.Messages[1].Text = "leave policy" + strings.Repeat(" x", maxSearched)
	var a account
	if x.because(&a, true); len(a.Why) != 1 {
		t.Errorf("of a message too long to be searched: %+v", a.Why)
	}
	x.d.verdict = intent.Verdict{Intent: intent.Data, Stage: "header", Confidence: 1}
	a = account{}
	if x.because(&a, true); a.Probabilities != nil || a.Why != nil {
		t.Errorf("probabilities of a verdict that was told: %+v", a)
	}
}

// A keyword is a piece of the message; the id of an example is not.
func TestRuleWithout(t *testing.T) {
	for _, c := range []struct{ stage, rule, told, kept string }{
		{"example", "example “who earns the most”", "example “who earns the most”", "example"},
		{"example", "example exa_1", "example exa_1", "example exa_1"},
		{"example", "keyword “travel”", "keyword “travel”", "keyword"},
		{"example", "pattern “^/faq”", "pattern “^/faq”", "pattern"},
		{"structure", "table file", "table file", "table file"},
		{"model", "", "", ""},
	} {
		v := &intent.Verdict{Stage: c.stage, Rule: c.rule}
		if told, kept := ruleWithout(v, true), ruleWithout(v, false); told != c.told || kept != c.kept {
			t.Errorf("%s: told %q, kept %q", c.rule, told, kept)
		}
	}
}

func TestRunnerUp(t *testing.T) {
	p := intent.Probabilities{Chat: .3, RAG: .2, Data: .5}
	for kind, want := range map[intent.Intent]intent.Intent{intent.Data: intent.Chat, intent.Chat: intent.Data, intent.RAG: intent.Data} {
		if got := runnerUp(&intent.Verdict{Intent: kind, Probabilities: p}); got != want {
			t.Errorf("after %s: %s, want %s", kind, got, want)
		}
	}
}
