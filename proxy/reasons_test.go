package proxy_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"strata/intent"
)

type reasoned struct {
	Intent        intent.Intent
	Probabilities *intent.Probabilities
	Why           []intent.Reason
}

func (r *reasoned) words() (n int) {
	for _, w := range r.Why {
		if strings.HasPrefix(w.What, "words ") {
			n++
		}
	}
	return n
}

// Explanations and receipts say how likely each intent was and what weighed;
// words of the message are in a receipt only where its text is kept too.
func TestReasonsTold(t *testing.T) {
	const question = "How many days of annual leave does the policy allow?"
	body := func(text string) string { return `{"model":"m","messages":[{"role":"user","content":"` + text + `"}]}` }
	for _, c := range []struct {
		name, text string
		headers    []string
		kept       bool
	}{
		{"on", question, nil, true},
		{"off the record", question + " Off the record.", nil, false},
		{"read-only", question, []string{"X-Strata-Mode", "read-only"}, false},
		{"no user", question, []string{"X-Strata-User", ""}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := startWalk(t, nil, nil)
			_, told := w.ask(t, body(c.text), append([]string{"X-Strata-Explain", "1"}, c.headers...)...)
			w.ask(t, body(c.text), c.headers...)
			recorded := w.ledger.all()
			if len(recorded) != 1 {
				t.Fatalf("recorded %+v", recorded)
			}
			for name, b := range map[string][]byte{"explanation": told, "receipt": recorded[0].Receipt} {
				var r reasoned
				if err := json.Unmarshal(b, &r); err != nil || r.Probabilities == nil {
					t.Fatalf("%s: %v in %s", name, err, b)
				}
				p := *r.Probabilities
				if math.Abs(p.Chat+p.RAG+p.Data-1) > .011 || p.RAG < p.Chat || len(r.Why) > 4 {
					t.Errorf("%s: %+v %+v", name, p, r.Why)
				}
				if want := name == "explanation" || c.kept; r.words() > 0 != want {
					t.Errorf("%s holds words of the message: %v; %+v", name, !want, r.Why)
				}
			}
		})
	}
}

// Verdicts that nearly were another one are counted, surer ones are not.
func TestNearMissesCounted(t *testing.T) {
	const name = "strata_intent_near_misses_total"
	w := startWalk(t, nil, nil)
	w.ask(t, `{"model":"m","messages":[{"role":"user","content":"Translate this sentence into French, please: good morning, how are you today?"}]}`)
	if n := w.counter(t, name); n != 0 {
		t.Errorf("%v near misses of a plain message", n)
	}
	messages, _ := torn(t)
	resp, _ := w.ask(t, `{"model":"m","messages":[`+messages+`]}`)
	kind, _, _ := strings.Cut(resp.Header.Get("X-Strata-Intent"), ";")
	if all, own, same := w.counter(t, name), w.counter(t, name, "intent", kind), w.counter(t, name, "intent", kind, "next", kind); all != 1 || own != 1 || same != 0 {
		t.Errorf("counted %v, as %s %v, next to itself %v", all, kind, own, same)
	}
}
