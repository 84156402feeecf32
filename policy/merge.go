package policy

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/internal/terms"
	"strata/stores"
)

// What becomes of a candidate, or how two statements stand to each other.
const (
	ActAdd       = "add"
	ActMerge     = "merge"     // it is known: evidence for the row of Old
	ActSupersede = "supersede" // it replaces the row of Old
	ActDrop      = "drop"      // the row of Old was said later

	Separate = "separate" // both statements stay
)

// Decision is what becomes of a candidate.
type Decision struct {
	Action string   // add, merge, supersede or drop
	Old    []string // ids of the rows it means; empty for add
}

// Merge decides how a candidate stands to the active memories of its owner.
// The slot decides first: the same value merges, another value of a
// single-valued topic supersedes. A correction supersedes the row that holds
// the value it names. In sets, a statement that holds or is held by another
// merges; it supersedes only when it says itself that something changed.
// Whatever would supersede a row that was said later is dropped.
func Merge(c Candidate, active []stores.Memory) Decision {
	if c.Scope == "" {
		c.Scope = stores.UserScope
	}
	slot := Slot(c.Topic, c.Value)
	said := &statement{text: c.Summary}
	best := Decision{Action: ActAdd}
	// The row in the slot decides, and is found without reading any other.
	for _, inSlot := range [...]bool{true, false} {
		for i := range active {
			m := &active[i]
			if m.Scope != c.Scope || m.Status != "" && m.Status != stores.Active ||
				inSlot != (m.Slot == slot || SingleValued(c.Topic) && m.Topic == c.Topic) {
				continue
			}
			relation := relate(&c, said, m, slot)
			if relation == Separate {
				continue
			}
			if relation == ActSupersede && !c.Said.IsZero() && c.Said.Before(m.UpdatedAt) {
				relation = ActDrop
			}
			if best.Old != nil && !(relation == ActMerge && best.Action != ActMerge) {
				continue
			}
			best = Decision{Action: relation, Old: []string{m.ID}}
			if inSlot {
				return best
			}
		}
	}
	return best
}

// statement is a text with what was read out of it. It is read when somebody
// asks, and once: a candidate is compared with every row of its owner.
type statement struct {
	text    string
	facts   []Fact
	content *content
	read    bool   // facts are there
	bare    string // folded, without filler
	listed  bool   // bare is a value that has other spellings
}

func (s *statement) allFacts() []Fact {
	if !s.read {
		s.facts, s.read = Facts(s.text), true
	}
	return s.facts
}

func (s *statement) says() content {
	if s.content == nil {
		c := contentOf(s.text)
		s.content = &c
	}
	return *s.content
}

// relate tells how candidate c, whose summary is said, stands to one row.
func relate(c *Candidate, said *statement, m *stores.Memory, slot string) string {
	if SingleValued(c.Topic) && (m.Topic == c.Topic || m.Slot == slot) {
		if sameIn(c.Topic, c.Value, valueIn(m, c.Topic)) {
			return ActMerge
		}
		return ActSupersede
	}
	if m.Slot != "" && m.Slot == slot {
		return ActMerge
	}
	if c.Replaces != "" && Names(m.Summary, c.Replaces) && (!SingleValued(c.Topic) || !SingleValued(m.Topic)) {
		return ActSupersede
	}
	if SingleValued(c.Topic) || SingleValued(m.Topic) {
		return factRelation(c, m)
	}
	if !c.Said.IsZero() && c.Said.Before(m.UpdatedAt) {
		row := &statement{text: m.Summary}
		if said.before(row) != Separate {
			if r := row.before(said); r == ActMerge {
				return r
			}
			return ActSupersede // by the row: Merge drops it
		}
		return Separate
	}
	return (&statement{text: m.Summary}).before(said)
}

// factRelation compares a single-valued statement with a row that was filed
// under another topic, as rows made by hand may be.
func factRelation(c *Candidate, m *stores.Memory) string {
	if SingleValued(c.Topic) && SingleValued(m.Topic) {
		return Separate
	}
	topic := c.Topic
	if !SingleValued(topic) {
		topic = m.Topic
	}
	a, okA := factOf(c.Summary, topic)
	if SingleValued(c.Topic) {
		a, okA = c.Value, true
	}
	b, okB := factOf(m.Summary, topic)
	switch {
	case okA && okB && sameIn(topic, a, b):
		return ActMerge
	case okA && okB && SingleValued(c.Topic):
		return ActSupersede
	}
	return Separate
}

// valueIn is the value of topic that a row's summary states; the summary
// itself where none is found.
func valueIn(m *stores.Memory, topic string) string {
	if v, ok := factOf(m.Summary, topic); ok {
		return v
	}
	return m.Summary
}

func factOf(summary, topic string) (string, bool) {
	for _, f := range Facts(summary) {
		if f.Topic == topic {
			return f.Value, true
		}
	}
	return "", false
}

// Names reports whether a statement holds a value, whatever its case, spaces
// and punctuation.
func Names(summary, value string) bool {
	v := foldText(value)
	return v != "" && strings.Contains(foldText(summary), v)
}

// changeWords say that something is no longer as it was.
var changeWords = regexp.MustCompile(`(?i)\b(now|no longer|not any ?more|instead|changed?|moved|switch(ed)?|has left|replaced|replaces?|updated?|from (now|this|next|today)|as of|any ?more|valid|new|starting|actually|correction)\b|改成|改为|改用|改到|换成|换到|换了|不用了|不再|推迟|提前到|延期|搬到|更新为|变成|变为|调整为|调成|升级|新目标|新的|从(现在|今天|下|这|本)|以后|取消|改由|已经|其实|不是`)

// Relate tells how a new statement stands to an old one: merge (the same
// thing), supersede (the new one replaces the old one) or separate.
func Relate(old, new string) string {
	return (&statement{text: old}).before(&statement{text: new})
}

// sharedFact tells whether both state a value of one topic, and whether it is
// the same. Facts are costly to find, so a statement without any is enough.
func sharedFact(a, b *statement) (shared, same bool) {
	if a.read && !b.read {
		a, b = b, a
	}
	if len(b.allFacts()) == 0 {
		return false, false
	}
	for _, x := range a.allFacts() {
		for _, y := range b.allFacts() {
			if x.Topic != y.Topic {
				continue
			}
			if !sameIn(x.Topic, x.Value, y.Value) {
				return true, false
			}
			shared = true
		}
	}
	return shared, shared
}

// before tells how a newer statement stands to this one.
func (s *statement) before(newer *statement) string {
	merged, same := sharedFact(s, newer)
	if merged && !same {
		return ActSupersede
	}
	a, b := s.says(), newer.says()
	if len(a.words) == 0 || len(b.words) == 0 {
		if s.same(newer) {
			return ActMerge
		}
		return Separate
	}
	common := shared(a.words, b.words)
	smaller := min(len(a.words), len(b.words))
	cover := float64(common) / float64(smaller)
	both := float64(common) / float64(len(a.words)+len(b.words)-common)
	if !merged && common == 0 && smaller > sameValueWords {
		return Separate // nearly all rows are like this
	}
	sameNumbers := sameSet(a.numbers, b.numbers)
	switch {
	case merged:
		return ActMerge
	case cover >= 0.5 && common >= 2 && !(sameNumbers && both >= 0.9) && (!sameNumbers || cover < 1) && newer.changes():
		return ActSupersede
	case cover >= 0.8 && both >= 0.6 && s.negative() != newer.negative() && !s.only() && !newer.only():
		return ActSupersede
	case both >= 0.9 && !sameNumbers && len(a.numbers) > 0 && len(b.numbers) > 0:
		return ActSupersede
	case cover >= 0.8 && common >= 2 && (sameNumbers || len(a.numbers) == 0 || len(b.numbers) == 0):
		return ActMerge
	case s.same(newer):
		return ActMerge
	}
	return Separate
}

// same is SameValue of the two texts. Cutting filler off is costly, and a row
// that does not hold what is left of the newer one cannot be the same.
func (s *statement) same(newer *statement) bool {
	if newer.bare == "" {
		newer.bare = foldText(stripFiller(newer.text))
		for _, table := range valueTables {
			_, known := lookValue(table, newer.bare)
			newer.listed = newer.listed || known
		}
	}
	return (newer.listed || strings.Contains(foldText(s.text), newer.bare)) && SameValue(s.text, newer.text)
}

// sameValueWords is up to how many words two statements without a common one
// may be the same value in two languages.
const sameValueWords = 4

func (s *statement) changes() bool  { return changeWords.MatchString(s.text) }
func (s *statement) negative() bool { return negation.MatchString(s.text) }
func (s *statement) only() bool     { return onlyWords.MatchString(s.text) }

// content is what a statement says, words folded to one spelling each.
type content struct{ words, numbers map[string]bool }

var (
	negation  = regexp.MustCompile(`(?i)\b(no|not|never|don'?t|doesn'?t|do not|avoid|without|stop|dislikes?|hates?)\b|不|别|勿|禁止|避免|讨厌`)
	onlyWords = regexp.MustCompile(`(?i)\b(only)\b|只|仅|才`)
	clock     = regexp.MustCompile(`(\d)\s*(am|pm)\b`)
	// fillerHan are characters that carry no subject of their own.
	fillerHan = "的了是在用户我你您要把请都就也还会能可以之前后上下来去里时候个着过吧呢吗一为于和与以对给让被将从这那"
	fillerEN  = " the a an is are was were be been to of in on at for and or user users my our your i we you it its that this has have had do does did with by from as only take can will would should please always now every any all before after when whenever not no never dont doesn't don't their they he she his her just about into no at most up so than then there if but us me s t "
	// alike folds words that mean the same in a statement about work.
	alike = map[string]string{"morning": "am", "financial": "fiscal", "figure": "number", "include": "show", "display": "show", "reply": "answer", "response": "answer", "chart": "chart", "graph": "chart", "meeting": "call",
		"query": "sql", "sheet": "list", "live": "live", "reside": "live", "enjoy": "like", "love": "like", "prefer": "like", "doc": "document", "documentation": "document", "begin": "start", "brief": "short", "concise": "short", "deadline": "due"}
)

func contentOf(s string) content {
	c := content{words: map[string]bool{}, numbers: map[string]bool{}}
	low := strings.ToLower(s)
	if strings.Contains(low, "am") || strings.Contains(low, "pm") {
		low = clock.ReplaceAllString(low, "$1 $2")
	}
	for _, w := range wordsOf(terms.Normalize(low)) {
		r, _ := utf8.DecodeRuneInString(w)
		switch {
		case unicode.Is(unicode.Han, r):
			if !strings.ContainsRune(fillerHan, r) {
				c.words[w] = true
			}
			continue
		case unicode.IsDigit(r):
			c.numbers[w] = true
		case strings.Contains(fillerEN, " "+w+" "):
			continue
		}
		if d := countWord[w]; d != "" {
			w = d
			c.numbers[w] = true
		}
		w = terms.Singular(w)
		if a := alike[w]; a != "" {
			w = a
		}
		c.words[w] = true
	}
	return c
}

// wordsOf cuts a normalised text into Chinese characters and words of letters
// or digits.
func wordsOf(s string) (out []string) {
	start, kind := -1, 0
	for i, r := range s + " " {
		k := 0
		switch {
		case unicode.Is(unicode.Han, r):
			k = 3
		case unicode.IsDigit(r):
			k = 2
		case unicode.IsLetter(r) || r == '\'' && kind == 1:
			k = 1
		}
		if start >= 0 && (k != kind || k == 3) {
			out = append(out, strings.TrimSuffix(strings.Trim(s[start:i], "'"), "'s"))
			start = -1
		}
		if kind = k; k != 0 && start < 0 {
			start = i
		}
	}
	return out
}

func shared(a, b map[string]bool) int {
	n := 0
	for w := range a {
		if b[w] {
			n++
		}
	}
	return n
}

func sameSet(a, b map[string]bool) bool { return len(a) == len(b) && shared(a, b) == len(a) }

// Overlap is how much of what is asked for a statement holds, 0-1, and how many
// words that is: for finding the memory that someone wants forgotten.
func Overlap(asked, statement string) (share float64, words int) {
	a, b := contentOf(asked), contentOf(statement)
	if len(a.words) == 0 {
		return 0, 0
	}
	n := shared(a.words, b.words)
	return float64(n) / float64(len(a.words)), n
}
