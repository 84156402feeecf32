package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"strata/intent"
)

// named is what an argument of explain names.
type named int

const (
	namedText named = iota
	namedFile
	namedReceipt
)

// whatIs tells files, ids and texts apart. A text has spaces, signs or letters
// that no id has, or is one plain word.
func whatIs(arg string) named {
	info, err := os.Stat(arg)
	isID := strings.IndexFunc(arg, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:/", r)
	}) < 0 &&
		strings.ContainsAny(arg, "0123456789-_")
	switch {
	case arg == "last":
		return namedReceipt
	case arg == "-", err == nil && !info.IsDir():
		return namedFile
	case strings.ContainsFunc(arg, unicode.IsSpace):
		return namedText
	case strings.HasSuffix(arg, ".json"):
		return namedFile
	case isID:
		return namedReceipt
	}
	return namedText
}

// explainText shows what a message would be given; where no program runs that
// could say it, the verdict alone.
func (p *program) explainText(t target, a asking, text string) error {
	if strings.TrimSpace(text) == "" {
		return usageError{errors.New("an empty text asks nothing; name a file, a request or answer id, last, or a message in quotes")}
	}
	body, err := messageBody(text)
	if err != nil {
		return err
	}
	err = p.explainBody(t, a, body)
	if away, ok := errors.AsType[*awayError](err); ok {
		fmt.Fprintf(p.stderr, "strata: no program is running at %s, so this is the verdict on the words alone: no documents, memories or earlier turns were looked at\n", away.server)
		return p.explainAlone(t, a, text)
	}
	return err
}

// messageBody is a chat request with one message.
func messageBody(text string) ([]byte, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	return json.Marshal(struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
	}{"explain", []message{{"user", text}}})
}

// explainAlone shows what the classifier says of a message.
func (p *program) explainAlone(t target, a asking, text string) error {
	c, err := p.classifier()
	if err != nil {
		return err
	}
	v := c.Classify([]intent.Message{{Role: "user", Text: text}}, intent.Hints{Forced: a.intent})
	e := explanation{verdict: verdict{Intent: string(v.Intent), Confidence: &v.Confidence, Stage: v.Stage, Rule: v.Rule, Why: v.Why, Context: "none", Reason: "not_running"}}
	if v.Probabilities != (intent.Probabilities{}) {
		e.Probabilities = &v.Probabilities
	}
	if t.asJSON {
		return p.printJSON(e.verdict)
	}
	return p.printExplanation(e)
}

// likely lists the probability of each intent, the likeliest first.
func likely(p *intent.Probabilities) string {
	if p == nil {
		return ""
	}
	type chance struct {
		kind string
		p    float64
	}
	list := []chance{{"chat", p.Chat}, {"rag", p.RAG}, {"data", p.Data}}
	slices.SortStableFunc(list, func(a, b chance) int { return cmp.Compare(b.p, a.p) })
	var out []string
	for _, c := range list {
		out = append(out, fmt.Sprintf("%s %.2f", c.kind, c.p))
	}
	return strings.Join(out, "  ")
}

// because lists what weighed most, with its weight.
func because(why []intent.Reason) string {
	var out []string
	for _, r := range why {
		what := r.What
		if said, ok := strings.CutPrefix(what, intent.OwnWords); ok {
			what = "“" + said + "”"
		}
		out = append(out, fmt.Sprintf("%s %+.2f", what, r.Weight))
	}
	return strings.Join(out, ", ")
}
