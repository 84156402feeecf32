package learn

import (
	"strings"

	"strata/internal/prefilter"
	"strata/policy"
)

// patterns are those that every sentence or clause is asked, in one family:
// one look at a text tells which of them cannot match. Dates have their own,
// which is asked of statements only.
var patterns, datePatternSet prefilter.Set

// utterance is a sentence or a clause with what was found out about it: every
// question is answered once.
type utterance struct {
	text   string
	silent bool // it says nothing to the memory
	hits   prefilter.Hits
	cues   cued // of a whole sentence, where it is not silent

	reading *policy.Reading
	rule    *rule
	ruled   bool
}

func look(text string) *utterance { return &utterance{text: text, hits: patterns.Scan(text)} }

// policy is what the policy says of the text.
func (s *utterance) policy() *policy.Reading {
	if s.reading == nil {
		r := policy.Read(s.text)
		s.reading = &r
	}
	return s.reading
}

func (s *utterance) matches(p *prefilter.Pattern) bool { return p.Match(s.text, &s.hits) }

// find is the text that a pattern matches first, "" where it does not.
func (s *utterance) find(p *prefilter.Pattern) string {
	if !p.May(&s.hits) {
		return ""
	}
	return p.FindString(s.text)
}

// matchRule returns the first rule that the text matches, or nil.
func (s *utterance) matchRule() *rule {
	if s.ruled {
		return s.rule
	}
	s.ruled = true
	for i := range rules {
		r := &rules[i]
		if s.matches(r.match) && (r.not == nil || !s.matches(r.not)) {
			s.rule = r
			break
		}
	}
	return s.rule
}

// screen holds every pattern without which a sentence says nothing to the
// memory, for a look at whole sentences before any clause is.
var screen = func() *prefilter.Set {
	s := &prefilter.Set{}
	for i := range rules {
		s.Screen(rules[i].match.String())
	}
	for i := range corrections {
		s.Screen(corrections[i].match.String())
	}
	for _, expr := range policy.FactPatterns() {
		s.Screen(expr)
	}
	for _, p := range []*prefilter.Pattern{directiveEN, directiveZH, noSubject, handed, offRecordSaid, cancelSaid, forgetHanBA, forgetHan, forgetEN, rememberMe, rememberZH, rememberEN, rememberBA} {
		s.Screen(p.String())
	}
	var days []string // an appointment is one on a day
	for i := range datePatterns {
		days = append(days, `(?:`+datePatterns[i].match.String()+`)`)
	}
	s.Screen(`(?:` + appointment.String() + `).*(?:` + strings.Join(append(days, isoDay.String()), "|") + `)`)
	// What is asked for politely is cut down to what is asked for.
	for _, polite := range []*prefilter.Pattern{politeEN, politeZH} {
		s.Screen(polite.String() + `.*(?:` + policy.LastingPattern() + `)`)
	}
	return s
}()

// heard looks at sentences.
func heard(list []string) []*utterance {
	out := make([]*utterance, 0, len(list))
	for _, text := range list {
		if silent(text) {
			out = append(out, &utterance{text: text, silent: true})
		} else {
			out = append(out, loud(text))
		}
	}
	return out
}

// silent tells that nothing that could be said to the memory may match in a
// sentence and nothing in it is redacted: then no clause of it, with or without
// a subject from the clause before, says anything either.
func silent(sentence string) bool {
	hits := screen.Scan(sentence)
	return !hits.Any() && clean(sentence)
}

func loud(text string) *utterance {
	s := look(text)
	s.cues = listen(text)
	return s
}

// warm readies the patterns, which takes some hundred milliseconds.
func warm() {
	for _, set := range []*prefilter.Set{anyCue, &cues, &targets, screen, &patterns, &datePatternSet} {
		set.Scan("")
	}
	policy.NeverStore("-")
	policy.Guard("")
}
