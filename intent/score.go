package intent

import "math"

// The order of intents in scores.
const (
	chatAt = iota
	ragAt
	dataAt
)

var intents = [...]Intent{chatAt: Chat, ragAt: RAG, dataAt: Data}

// scores are the evidence for each intent and the strongest rule of each.
type scores struct {
	sum  [3]float32
	task float32 // of the sum for CHAT, what asks for no document's answer: a text, ideas, talk
	rule [3]string
	top  [3]float32
	said mask // rules that speak, by their number
}

// compiled is a rule with its lists as masks.
type compiled struct {
	name              string
	to                int
	weight            float32
	at                place
	open              bool
	in, with, without mask
}

func compileRules(table []rule) []compiled {
	out := make([]compiled, 0, len(table))
	for _, r := range table {
		c := compiled{name: r.name, weight: r.weight, at: r.at, open: r.open,
			in: maskOf(r.in), with: maskOf(r.with), without: maskOf(r.without)}
		for i, name := range intents {
			if name == r.to {
				c.to = i
			}
		}
		out = append(out, c)
	}
	return out
}

func maskOf(cues []cue) mask {
	var m mask
	for _, c := range cues {
		m.add(c)
	}
	return m
}

// weigh applies the rules to a reading.
func (c *Classifier) weigh(r *reading) scores {
	var s scores
	for i := range c.rules {
		if u := &c.rules[i]; u.speaks(r) {
			s.add(u.to, u.weight, u.name)
			s.said[i>>6] |= 1 << (i & 63)
			if u.to == chatAt && !u.open {
				s.task += u.weight
			}
		}
	}
	return s
}

// speaks tells whether the rule applies.
func (u *compiled) speaks(r *reading) bool {
	where := &r.any
	switch u.at {
	case opening:
		where = &r.clause
	case start:
		where = &r.first
	}
	return where.meets(u.in) && (u.with.empty() || r.any.meets(u.with)) && !r.any.meets(u.without)
}

func (s *scores) add(to int, weight float32, name string) {
	s.sum[to] += weight
	if weight > s.top[to] {
		s.top[to], s.rule[to] = weight, name
	}
}

// spread softens the weights into probabilities. It is set so that the mean
// confidence is about the share of right verdicts on messages of kinds that the
// rules were not tuned on, which is some points under that on known ones.
const spread = 1.3

// confidence of the leading intent, 0-1.
func (s *scores) confidence(to int) float64 {
	sum := 0.0
	for i := range s.sum {
		sum += math.Exp(float64(s.sum[i]-s.sum[to]) / spread)
	}
	return 1 / sum
}
