package proxy

import (
	"math"
	"strings"

	"strata/intent"
	"strata/policy"
)

const (
	// mostReasons keeps receipts small.
	mostReasons = 4
	// maxSearched is the longest message, in bytes, that is searched for secrets
	// on behalf of its reasons.
	maxSearched = 16 << 10
)

// because are the parts of an account that say why it is this intent. Where
// words is false, as for what is off the record, nothing of the message is
// told, and what is part of a secret never is.
func (x *exchange) because(a *account, words bool) {
	v := &x.d.verdict
	a.Rule = ruleWithout(v, words)
	if p := v.Probabilities; p != (intent.Probabilities{}) {
		a.Probabilities = &intent.Probabilities{Chat: hundredths(p.Chat), RAG: hundredths(p.RAG), Data: hundredths(p.Data)}
	}
	list := v.Why[:min(len(v.Why), mostReasons)]
	var open func(string) bool // computed at the first words
	for _, r := range list {
		if said, ok := strings.CutPrefix(r.What, intent.OwnWords); ok {
			if !words {
				continue
			}
			if open == nil {
				open = withoutSecrets(x.d.talk.Messages[len(x.d.talk.Messages)-1].Text)
			}
			if !open(said) {
				continue
			}
		}
		a.Why = append(a.Why, intent.Reason{What: r.What, Weight: hundredths(r.Weight)})
	}
}

// ruleWithout is the verdict's rule without the keyword that the message holds,
// where words is false.
func ruleWithout(v *intent.Verdict, words bool) string {
	if words || v.Stage != "example" {
		return v.Rule
	}
	kind, _, _ := strings.Cut(v.Rule, " “")
	return kind
}

// withoutSecrets returns what tells whether words of a text stand in what is
// left of it without its secrets. Reasons are pieces in lower case, in which a
// secret could not be seen any more, so the whole text is looked through.
func withoutSecrets(text string) func(said string) bool {
	if len(text) > maxSearched {
		return func(string) bool { return false }
	}
	clean, found := policy.Redact(text)
	if found == 0 {
		return func(string) bool { return true }
	}
	clean = strings.ToLower(clean)
	return func(said string) bool { return strings.Contains(clean, said) }
}

func hundredths(f float64) float64 { return math.Round(f*100) / 100 }

// countNearMiss counts verdicts where another intent was almost as likely.
func (x *exchange) countNearMiss() {
	if v := &x.d.verdict; v.NearMiss() {
		x.s.metrics.nearMisses.WithLabelValues(string(v.Intent), string(runnerUp(v))).Inc()
	}
}

// runnerUp is the likeliest of the other intents.
func runnerUp(v *intent.Verdict) (next intent.Intent) {
	best := -1.0
	for _, o := range []struct {
		kind intent.Intent
		p    float64
	}{{intent.Chat, v.Probabilities.Chat}, {intent.RAG, v.Probabilities.RAG}, {intent.Data, v.Probabilities.Data}} {
		if o.kind != v.Intent && o.p > best {
			next, best = o.kind, o.p
		}
	}
	return next
}
