package policy

import (
	"strings"
	"time"

	"strata/stores"
)

// Candidate is a statement that may become a memory.
type Candidate struct {
	Type       stores.MemoryType
	Kind       string // semantic, episodic, procedural
	Topic      string // a single-valued key, or the name of a set
	Value      string // verbatim
	Summary    string // in the user's language
	Scope      stores.MemoryScope
	Evidence   string    // the user's words it rests on
	ExpiresAt  time.Time // zero = never
	Scores     stores.Scores
	Explicit   bool    // the user asked to remember
	Confidence float64 // 0-1

	Said     time.Time // when the evidence was said; zero = now
	Replaces string    // the old value that a correction names
}

// bar is the least total of a memory that is kept.
const bar = 6

// Judge decides whether a scored candidate is kept; reason is empty when it
// is. Its gates: the rules of NeverStore over the evidence, density, the floors
// of reuse, irrecoverable and impact, the bar of 6 in 10, and two of cheap to
// rebuild, harmless to drop, sensitive.
func Judge(c Candidate) (ok bool, reason string) {
	r := Read(basis(c))
	return r.Judge(c)
}

// basis is the words by which a candidate is judged.
func basis(c Candidate) string {
	if c.Evidence != "" {
		return c.Evidence
	}
	return c.Summary
}

// Judge is Judge of a candidate whose evidence (or, without any, summary) was
// read before.
func (r *Reading) Judge(c Candidate) (ok bool, reason string) {
	if never := r.NeverStore(); never != "" && !overruled(c, never) {
		return false, never
	}
	if !dense(c.Summary) && !SingleValued(c.Topic) {
		return false, "thin"
	}
	s := c.Scores
	switch {
	case s.Reuse < 1:
		return false, "no_reuse"
	case s.Irrecoverable < 1:
		return false, "recoverable"
	case s.Impact < 1:
		return false, "no_impact"
	case s.Total() < bar:
		return false, "low_score"
	}
	against := 0
	for _, is := range []bool{s.Irrecoverable <= 1, s.Impact <= 1, sensitive(c.Summary)} {
		if is {
			against++
		}
	}
	if against >= 2 {
		return false, "two_of_three"
	}
	return true, ""
}

// overruled tells which rules do not hold against the user's own word to
// remember something, and against a setting: neither is small talk however
// short it is. Secrets, logs and copies are never kept.
func overruled(c Candidate, reason string) bool {
	switch reason {
	case "secret", "base64", "document", "tool_log", "empty", "lookup":
		return false
	case "personal_data":
		return c.Explicit && !strings.Contains(c.Summary, c.Evidence) // redacted
	case "one_off":
		return c.Explicit || SingleValued(c.Topic) || c.Topic == "instruction" || c.Topic == "agreement" || c.Topic == "term"
	case "greeting", "acknowledgement":
		return c.Explicit || SingleValued(c.Topic)
	}
	return c.Explicit
}

var sensitiveWords = closer.Compile(`(?i)\[redacted:|\b(hiv|psychiatric|criminal record|passport|sexual orientation|religion|political party)\b|犯罪记录|前科|性取向|宗教信仰|政治面貌|艾滋|精神病|护照`)

func sensitive(s string) bool {
	hits := closer.Scan(s)
	return sensitiveWords.Match(s, &hits)
}

var (
	passing = closer.Compile(`(?i)\b(today|tonight|right now|this time|just this once|for this one|for now|temporarily|at the moment|this afternoon|this morning)\b|今天|今晚|这次|这一次|暂时|临时|刚才|先这样|此刻|目前先`)
	hedged  = closer.Compile(`(?i)\b(maybe|perhaps|possibly|probably|i guess|not sure|might|could be|i think)\b|可能|也许|大概|或许|好像|似乎|说不定|我猜|不确定`)
	binding = closer.Compile(`(?i)\b(allerg\w*|vegetarian|vegan|diabet\w*|colou?r[- ]?blind|intoleran\w+|wheelchair|deaf|blind|pregnant|dyslexi\w+|never|always|must|only|don'?t|can'?t|cannot|means|prefer|agreed|decided|concluded)\b|过敏|忌口|素食|清真|糖尿病|色盲|色弱|不能|不要|别|必须|只能|只用|一律|统一|默认|约定|规定|决定|结论|偏好|优先|指的是|务必`)
)

// Score rates a candidate by rules: its type, whether the user asked for it,
// what it says about its permanence, and whether it binds the assistant.
func Score(c Candidate) stores.Scores {
	r := Read(basis(c))
	return r.Score(c)
}

// Score is Score of a candidate whose evidence (or, without any, summary) was
// read before.
func (r *Reading) Score(c Candidate) stores.Scores {
	var s stores.Scores
	switch c.Type {
	case stores.Preference:
		s = stores.Scores{Reuse: 2, Irrecoverable: 2, Stability: 2, Impact: 2}
	case stores.Agreement:
		s = stores.Scores{Reuse: 2, Irrecoverable: 2, Stability: 2, Impact: 2}
	case stores.Goal:
		s = stores.Scores{Reuse: 2, Irrecoverable: 2, Stability: 1, Impact: 2}
	case stores.Conclusion:
		s = stores.Scores{Reuse: 2, Irrecoverable: 2, Stability: 1, Impact: 2}
	case stores.Summary:
		s = stores.Scores{Reuse: 2, Irrecoverable: 1, Stability: 1, Impact: 2}
	default:
		s = stores.Scores{Reuse: 1, Irrecoverable: 1, Stability: 1, Impact: 1}
	}
	if c.Kind == "episodic" && c.ExpiresAt.IsZero() {
		s.Impact = 1 // what happened binds nobody
	}
	text := basis(c)
	hits := closer.Scan(text)
	lasting := r.Lasting()
	if lasting {
		s.Reuse, s.Stability = 3, 2
	}
	if binding.Match(text, &hits) {
		s.Impact = 3
	}
	if c.Explicit {
		s.Reuse++
		s.Impact++
	}
	if passing.Match(text, &hits) && !lasting && !c.Explicit && c.Type != stores.Conclusion && c.ExpiresAt.IsZero() {
		s.Reuse, s.Stability = s.Reuse-2, 0
	}
	if hedged.Match(text, &hits) && !c.Explicit && !SingleValued(c.Topic) {
		s.Irrecoverable--
		s.Stability = 0
		s.Impact--
	}
	s.Reuse = min(max(s.Reuse, 0), 3)
	s.Impact = min(max(s.Impact, 0), 3)
	return s
}
