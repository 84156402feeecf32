// Package intent decides what kind of question a request is: CHAT, RAG or
// DATA. It works in stages, the cheapest and surest first, and abstains to
// CHAT. It must not know what is stored or what a verdict leads to.
//
// The stages: header (the caller says so), example (somebody has said so of
// these words: the configuration's, or a verdict that was put right),
// structure (files, tables, code, tools), model (trained; it sees the words,
// the cues and rules of rules.go), followup (the same, where the turns before
// turned it), probe (what the tenant knows), abstain.
package intent

// Intent is a kind of question.
type Intent string

// The intents.
const (
	Chat Intent = "chat" // explain, advise, polish, brainstorm
	RAG  Intent = "rag"  // policies, processes, rules, organisational knowledge
	Data Intent = "data" // files, charts, trends, business insight
)

// Message is what one side said; a user's text is the user's own words.
type Message struct {
	Role string
	Text string
}

// Probe is how well the best passage of the tenant's knowledge fits a query.
type Probe struct {
	Cover    float64 // share of the query's rarity that it covers, 0-1
	Distinct int     // distinct query terms that it holds
	Title    bool    // its title or heading holds one of the rarest
}

// Hints are what besides the words tells the intent.
type Hints struct {
	Forced  string   // X-Strata-Intent
	Files   []string // names or media types of attached files; images are none
	Tools   []string // names of the tools the request offers
	ToolUse bool     // tool calls or results are in the history
	Last    Intent   // of the session's last request, "" if unknown
	Default Intent   // where the words decide nothing, "" = CHAT
	// Examples are messages of the tenant whose intent was put right.
	Examples *Examples
	// Probe asks the tenant's knowledge; false: no answer in time. nil when
	// there is nothing to ask. Called at most once, only when undecided.
	Probe func() (Probe, bool)
}

// Probabilities are of each intent, 1 together.
type Probabilities struct {
	Chat float64 `json:"chat"`
	RAG  float64 `json:"rag"`
	Data float64 `json:"data"`
}

// Reason is something that weighed for a verdict.
type Reason struct {
	What   string  `json:"what"`   // rule, cue or word
	Weight float64 `json:"weight"` // for the intent against the mean of all, as a logarithm
}

// Verdict is the decision and where it was made.
type Verdict struct {
	Intent        Intent
	Confidence    float64 // 0-1
	Stage         string  // header, example, structure, model, followup, probe, abstain
	Rule          string  // what decided, "" where no single thing did
	FollowUp      bool    // the words lean on the turn before
	Probabilities Probabilities
	Why           []Reason // what weighed most, the strongest first
}

// NearMiss tells whether another intent was almost as likely.
func (v *Verdict) NearMiss() bool {
	return v.Probabilities != Probabilities{} && v.Confidence < nearMiss
}

const (
	nearMiss = .6
	// abstainUnder is the probability under which no intent is named.
	abstainUnder = .4
)

// Classifier decides. Make it with New; it is safe for concurrent use.
type Classifier struct {
	phrases    *phrases
	rules      []compiled
	characters characters
	model      *model
	wishes     *wishes // nil = none
	turns      *memo   // nil = none, while the model is trained
}

// New returns a classifier.
func New() *Classifier {
	c := Untrained()
	m, err := decode(weightsFile, c.Mark())
	if err != nil {
		panic("BUG: " + err.Error() + "; make train renews them")
	}
	c.model, c.turns = m, newMemo()
	return c
}

// Untrained returns a classifier for training: it gives samples, no verdicts.
func Untrained() *Classifier {
	return &Classifier{phrases: compile(english, chinese, life), rules: compileRules(rules), characters: simplify()}
}

// Classify decides the intent of the last of messages, oldest first.
func (c *Classifier) Classify(messages []Message, h Hints) Verdict {
	switch Intent(h.Forced) {
	case Chat, RAG, Data:
		return Verdict{Intent: Intent(h.Forced), Confidence: 1, Stage: "header", FollowUp: c.leans(messages, h.Last)}
	}
	if len(messages) == 0 {
		return Verdict{Intent: Chat, Stage: "abstain"}
	}
	text := messages[len(messages)-1].Text
	g := takeGrams()
	defer g.giveBack()
	r, s := c.judge(text, g)
	history := len(messages) > 1 || h.Last != ""
	leaning := leanOf(&r, &s, history)
	v := Verdict{FollowUp: rests(leaning, &r, &s, history)}
	if to, like, rule, ok := c.told(text, g, h.Examples); ok {
		return v.with(to, like, "example", rule)
	}
	if rule, to, ok := structure(text, &r, &s, &h); ok {
		s.add(to, 3, rule)
		return v.with(to, max(.75, s.confidence(to)), "structure", rule)
	}
	if g.words == 0 && len(messages) == 1 && h.Last == "" {
		return v.with(h.otherwise([3]float64{chatAt: 1}))
	}
	t := c.turns.of(text, func() turn { return c.turn(&r, &s, g) })
	sum, own := t.sum, bestOf(t.sum)
	before, talked := c.before(messages, h.Last)
	if talked {
		sum = c.leanOn(before, sum, t.kind)
	}
	p := Softmax(sum)
	to := bestOf(sum)
	v.Probabilities = Probabilities{p[chatAt], p[ragAt], p[dataAt]}
	v.Why = c.reasons(to, &r, &s, g)
	switch {
	case talked && leaning == elliptic:
		return v.with(to, p[to], "followup", leanNames[leaning])
	case to != own:
		v = v.with(to, p[to], "followup", leanNames[leaning])
	default:
		v = v.with(to, p[to], "model", s.rule[to])
	}
	return c.probe(v, to, p, &s, &h)
}

// leans tells of a message whose intent is given whether it rests on the turn
// before: what is searched for depends on that whoever named the intent.
func (c *Classifier) leans(messages []Message, last Intent) bool {
	if len(messages) == 0 || len(messages) == 1 && last == "" {
		return false
	}
	g := takeGrams()
	defer g.giveBack()
	r, s := c.judge(messages[len(messages)-1].Text, g)
	return rests(leanOf(&r, &s, true), &r, &s, true)
}

func bestOf(sum [3]float32) (best int) {
	for i := range sum {
		if sum[i] > sum[best] {
			best = i
		}
	}
	return best
}

// judge reads a text and weighs what it shows.
func (c *Classifier) judge(text string, g *grams) (reading, scores) {
	r := c.read(text, g)
	s := c.weigh(&r)
	if !r.material.empty() && max(s.sum[chatAt], s.sum[ragAt], s.sum[dataAt]) < 1 {
		r.widen()
		s = c.weigh(&r)
	}
	return r, s
}

// probe asks the tenant's knowledge where the words leave it open: it may have
// an answer to what is otherwise a question about anything. A plain task, as
// to polish a text, never asks it.
func (c *Classifier) probe(v Verdict, to int, p [3]float64, s *scores, h *Hints) Verdict {
	open := to == chatAt && s.task < sure || to == dataAt && p[dataAt] < .75 || p[to] < abstainUnder
	if h.Probe != nil && open {
		if found, ok := h.Probe(); ok && found.fits() {
			return v.with(ragAt, .5+.4*min(found.Cover, 1), "probe", "")
		}
	}
	if p[to] < abstainUnder {
		return v.with(h.otherwise(p))
	}
	return v
}

// otherwise is what is taken where the words decide nothing.
func (h *Hints) otherwise(p [3]float64) (to int, confidence float64, stage, rule string) {
	if to, ok := indexOf(h.Default); ok {
		return to, p[to], "abstain", "default"
	}
	return chatAt, p[chatAt], "abstain", ""
}

// sure is the weight from which a task is plain.
const sure = 1.5

// fits is the bar above which a passage makes a question one of knowledge. Of
// a long question no passage covers much; that one holds many of its terms is
// no chance either.
func (p Probe) fits() bool {
	return p.Distinct >= 2 && (p.Cover >= .6 || p.Cover >= .45 && (p.Title || p.Distinct >= 5))
}

func (v Verdict) with(to int, confidence float64, stage, rule string) Verdict {
	v.Intent, v.Confidence, v.Stage, v.Rule = intents[to], confidence, stage, rule
	return v
}
