// Package intent decides what kind of question a request is: CHAT, RAG or
// DATA. It works in stages, the cheapest and surest first, and abstains to
// CHAT. It must not know what is stored or what a verdict leads to.
//
// The stages: header (the caller says so), structure (files, tables, code,
// tools), rule (cues of the words, weighed; rules.go is the table), followup
// (a message that leans on the turns before takes their label), model (a
// trained one, where there is one), probe (what the tenant knows), abstain.
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
	// Probe asks the tenant's knowledge; false: no answer in time. nil when
	// there is nothing to ask. Called at most once, only when undecided.
	Probe func() (Probe, bool)
}

// Verdict is the decision and where it was made.
type Verdict struct {
	Intent     Intent
	Confidence float64 // 0-1
	Stage      string  // header, structure, rule, followup, model, probe, abstain
	Rule       string  // which rule spoke, "" where none did
	FollowUp   bool    // the words lean on the turn before
}

// scorer is a trained stage: it says how likely each intent is, or nothing.
type scorer interface {
	score(text string) (probability [3]float64, ok bool)
}

// Classifier decides. Make it with New; it is safe for concurrent use.
type Classifier struct {
	phrases    *phrases
	rules      []compiled
	characters characters
	model      scorer // nil: the words decide alone
}

// New returns a classifier.
func New() *Classifier {
	return &Classifier{phrases: compile(english, chinese), rules: compileRules(rules), characters: simplify()}
}

// sure is the lead from which the words decide alone.
const sure = 1.5

// Classify decides the intent of the last of messages, oldest first.
func (c *Classifier) Classify(messages []Message, h Hints) Verdict {
	switch Intent(h.Forced) {
	case Chat, RAG, Data:
		return Verdict{Intent: Intent(h.Forced), Confidence: 1, Stage: "header"}
	}
	if len(messages) == 0 {
		return Verdict{Intent: Chat, Stage: "abstain"}
	}
	text := messages[len(messages)-1].Text
	r, s := c.judge(text)
	leaning := leanOf(&r, &s, len(messages) > 1 || h.Last != "")
	v := Verdict{FollowUp: leaning != free}
	if rule, to, ok := structure(text, &r, &s, &h); ok {
		s.add(to, 3, rule)
		return v.with(to, max(.75, s.confidence(to)), "structure", rule)
	}
	own, lead, _ := s.best()
	leaned := false
	if leaning != free || lead < sure {
		var before int
		if before, leaned = c.before(messages, h.Last); leaned {
			s.sum[before] += leanWeight[leaning]
		}
	}
	to, lead, next := s.best()
	if leaned && (to != own || leaning == elliptic) {
		return v.with(to, s.confidence(to), "followup", leanNames[leaning])
	}
	if lead >= sure {
		return v.with(to, s.confidence(to), "rule", s.rule[to])
	}
	return c.undecided(v, text, &s, to, next, &h)
}

// judge reads a text and weighs what it shows.
func (c *Classifier) judge(text string) (reading, scores) {
	r := c.read(text)
	s := c.weigh(&r)
	if !r.material.empty() && max(s.sum[chatAt], s.sum[ragAt], s.sum[dataAt]) < 1 {
		r.widen()
		s = c.weigh(&r)
	}
	return r, s
}

// undecided asks what is not in the words: a trained stage, then the tenant's
// knowledge.
func (c *Classifier) undecided(v Verdict, text string, s *scores, to, next int, h *Hints) Verdict {
	if c.model != nil {
		if p, ok := c.model.score(text); ok {
			best := 0
			for i := range p {
				if p[i] > p[best] {
					best = i
				}
			}
			return v.with(best, p[best], "model", "")
		}
	}
	silent := s.sum == [3]float32{}
	if h.Probe != nil && (silent || to != dataAt && next != dataAt) {
		if p, ok := h.Probe(); ok && p.fits() {
			return v.with(ragAt, .5+.4*min(p.Cover, 1), "probe", "")
		}
	}
	if silent {
		return v.with(chatAt, s.confidence(chatAt), "abstain", "")
	}
	return v.with(to, s.confidence(to), "rule", s.rule[to])
}

// fits is the bar above which a passage makes a question one of knowledge.
func (p Probe) fits() bool {
	return p.Distinct >= 2 && (p.Cover >= .6 || p.Title && p.Cover >= .45)
}

func (v Verdict) with(to int, confidence float64, stage, rule string) Verdict {
	v.Intent, v.Confidence, v.Stage, v.Rule = intents[to], confidence, stage, rule
	return v
}
