package learn

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"strata/internal/ids"
	"strata/policy"
	"strata/stores"
)

const (
	maxRefused = 8                // notes of one exchange
	justSaid   = 30 * time.Minute // "no, it's …" and "forget that" reach back so far
	forgetFrom = 0.6              // share of the named words that a memory must hold
)

// decision turns what one exchange says into a lesson.
type decision struct {
	lesson   *stores.Lesson
	exchange *stores.Exchange
	scope    stores.Scope
	zone     *time.Location
	count    func(string) int

	view []stores.Memory // active memories, those of this lesson included
}

// see takes the memories that this exchange may touch.
func (d *decision) see(active []stores.Memory, now time.Time) {
	for _, m := range active {
		if m.Scope == stores.SessionScope && m.Session != d.scope.Session || !m.ExpiresAt.IsZero() && !m.ExpiresAt.After(now) {
			continue
		}
		d.view = append(d.view, m)
	}
}

func (d *decision) decide(f Found) {
	if f.OffRecord {
		return
	}
	switch {
	case f.ForgetAll:
		d.drop(func(m *stores.Memory) bool { return m.Scope != stores.WorkspaceScope })
	case f.ForgetLast:
		if m := d.lastSaid(); m != nil {
			id := m.ID
			d.drop(func(m *stores.Memory) bool { return m.ID == id })
		}
	}
	for _, target := range f.Forget {
		d.forget(target)
	}
	for _, c := range f.Candidates {
		d.take(c)
	}
	for _, c := range f.Corrections {
		d.correct(c)
	}
	for _, r := range f.Refused {
		d.refuse(r)
	}
}

func (d *decision) refuse(r Refusal) {
	if len(d.lesson.Rejected) >= maxRefused {
		return
	}
	d.lesson.Rejected = append(d.lesson.Rejected, stores.Rejected{ID: ids.New("rej"), User: d.scope.User, Exchange: d.exchange.ID, Text: r.Text, Reason: r.Reason, Scores: r.Scores, At: d.exchange.At})
}

// take merges a candidate into the memories.
func (d *decision) take(c policy.Candidate) {
	verdict := policy.Merge(c, d.view)
	if verdict.Action == policy.ActDrop {
		d.refuse(Refusal{Text: c.Summary, Reason: "older", Scores: c.Scores})
		return
	}
	if verdict.Action == policy.ActMerge {
		d.confirm(verdict.Old[0])
		return
	}
	old := ""
	if verdict.Action == policy.ActSupersede {
		old = verdict.Old[0]
	}
	d.add(c, old)
}

// confirm adds this exchange as evidence.
func (d *decision) confirm(id string) {
	for i := range d.view {
		m := &d.view[i]
		if m.ID != id || slices.Contains(m.Sources, d.exchange.ID) {
			continue
		}
		m.Sources = append(slices.Clone(m.Sources), d.exchange.ID)
		if d.exchange.At.After(m.UpdatedAt) {
			m.UpdatedAt = d.exchange.At
		}
		d.lesson.Evidence = append(d.lesson.Evidence, stores.Evidence{MemoryID: id, ExchangeID: d.exchange.ID})
	}
}

// add makes a memory of a candidate in place of the row old, if there is one.
// What this very lesson added is replaced before it is written.
func (d *decision) add(c policy.Candidate, old string) {
	m := d.memory(c)
	for _, other := range d.view {
		if other.ID != old && other.Slot == m.Slot && other.Scope == m.Scope { // the new value is known: the named row goes
			d.confirm(other.ID)
			if old != "" {
				d.drop(func(m *stores.Memory) bool { return m.ID == old })
			}
			return
		}
	}
	if old != "" {
		m.Supersedes = old
		d.view = slices.DeleteFunc(d.view, func(o stores.Memory) bool {
			if o.ID == old && o.Standing {
				d.lesson.Standing = true
			}
			return o.ID == old
		})
		d.lesson.Add = slices.DeleteFunc(d.lesson.Add, func(a stores.Memory) bool {
			if a.ID == old {
				m.Supersedes = a.Supersedes
			}
			return a.ID == old
		})
	}
	d.lesson.Standing = d.lesson.Standing || m.Standing
	d.lesson.Add = append(d.lesson.Add, m)
	d.view = append(d.view, m)
}

func (d *decision) memory(c policy.Candidate) stores.Memory {
	source := "rules"
	if c.Explicit {
		source = "explicit"
	}
	return stores.Memory{
		ID: ids.New("mem"), Scope: c.Scope, User: d.scope.User, Session: d.scope.Session, Type: c.Type, Kind: c.Kind, Topic: c.Topic,
		Summary: c.Summary, Importance: c.Scores.Total(), Confidence: c.Confidence, Status: stores.Active,
		CreatedAt: d.exchange.At, UpdatedAt: d.exchange.At, ExpiresAt: c.ExpiresAt, Sources: []string{d.exchange.ID},
		Scores: c.Scores, Scorer: "rules", Source: source, Standing: standing(c), Slot: policy.Slot(c.Topic, c.Value), Tokens: d.count(c.Summary),
	}
}

// standing tells whether a candidate belongs into the stable block: a
// preference or an agreement that says how to answer this user, and that does
// not try to steer the model beyond that.
func standing(c policy.Candidate) bool {
	if c.Type != stores.Preference && c.Type != stores.Agreement || !c.ExpiresAt.IsZero() {
		return false
	}
	if !policy.Guard(c.Summary) || !policy.Guard(c.Evidence) {
		return false
	}
	switch c.Topic {
	case "language", "tone", "verbosity", "answer_order", "format", "emoji", "tool_steps", "show_query", "units", "amount_unit", "currency", "timezone",
		"date_format", "chart_type", "sql_dialect", "fiscal_year", "diet", "name", "nickname", "assistant_name", "programming_language",
		"instruction", "agreement", "term", "allergy", "condition":
		return true
	}
	return c.Explicit || policy.Lasting(c.Evidence)
}

// drop deletes the rows that match. What was added by this lesson is not
// written at all, but what it replaced goes.
func (d *decision) drop(match func(*stores.Memory) bool) {
	kept := d.view[:0:0]
	for i := range d.view {
		m := &d.view[i]
		if m.UpdatedAt.After(d.exchange.At) || !match(m) {
			kept = append(kept, *m)
			continue
		}
		d.lesson.Standing = d.lesson.Standing || m.Standing
		gone := m.ID
		d.lesson.Add = slices.DeleteFunc(d.lesson.Add, func(a stores.Memory) bool {
			if a.ID == m.ID {
				gone = a.Supersedes
			}
			return a.ID == m.ID
		})
		d.lesson.Evidence = slices.DeleteFunc(d.lesson.Evidence, func(e stores.Evidence) bool { return e.MemoryID == m.ID })
		if gone != "" {
			d.lesson.Delete = append(d.lesson.Delete, gone)
		}
	}
	d.view = kept
}

// lastSaid is the memory that this session gave or confirmed last.
func (d *decision) lastSaid() *stores.Memory {
	var last *stores.Memory
	for i := range d.view {
		m := &d.view[i]
		if m.Session != d.scope.Session || m.Scope == stores.WorkspaceScope || m.UpdatedAt.After(d.exchange.At) || d.exchange.At.Sub(m.UpdatedAt) > justSaid {
			continue
		}
		if last == nil || !m.UpdatedAt.Before(last.UpdatedAt) {
			last = m
		}
	}
	return last
}

var (
	saidBefore = rxi(`^(?:what (?:i|i've|you) (?:said|told you|mentioned|know|remember)(?: earlier| before)?(?: about)?|(?:the )?(?:fact|memory|memories|note|thing|part|stuff)s? (?:that|about|of|on)|anything(?: i (?:said|told you))? about|everything(?: you (?:know|remember)| i (?:said|told you))? about|that |about )\s*|^(?:我(?:之前|以前|刚才)?(?:说过?|告诉过?你|讲过?)的?|关于|有关|那条|这条|之前|那个|这个)*`)
	saidAfter  = rxi(`(?: from (?:your |the )?memor(?:y|ies)| please)$|(?:的)?(?:这件事|那件事|这回事|的事情?|的记忆|的信息|的内容|这些|这个|这一点)$`)
	ownerWord  = rxi(`^(?:that |the user'?s |my |our |the )+|^(?:我们?的?|用户的?)`)
	setNouns   = map[string]string{"过敏": "allergy", "过敏史": "allergy", "allergy": "allergy", "allergies": "allergy", "目标": "goal", "goal": "goal", "goals": "goal", "爱好": "likes", "兴趣爱好": "likes", "hobbies": "likes", "hobby": "likes", "习惯": "habit", "habits": "habit", "约定": "agreement", "agreement": "agreement"}
)

// forget deletes the memory that the words fit best, and those that they fit
// as well; none when nothing fits.
func (d *decision) forget(target string) {
	for range 3 {
		target = strings.TrimSpace(saidAfter.ReplaceAllString(saidBefore.ReplaceAllString(target, ""), ""))
	}
	noun := strings.TrimSpace(ownerWord.ReplaceAllString(target, ""))
	topic := policy.TopicOf(noun)
	if topic == "" {
		topic = setNouns[strings.ToLower(noun)]
	}
	facts := policy.Facts(target)
	scores := map[string]float64{}
	best := 0.0
	for i := range d.view {
		m := &d.view[i]
		if m.Scope == stores.WorkspaceScope || otherValue(facts, m) {
			continue
		}
		score, words := policy.Overlap(target, m.Summary)
		switch {
		case topic != "" && m.Topic == topic, slices.ContainsFunc(facts, func(f policy.Fact) bool { return f.Topic == m.Topic }):
			score = 2
		case words < 2 && score < 1:
			score = 0
		}
		if scores[m.ID] = score; score > best {
			best = score
		}
	}
	if best < forgetFrom {
		return
	}
	d.drop(func(m *stores.Memory) bool { return scores[m.ID] >= best })
}

// otherValue tells whether the words name another value of what m states: it
// is that value which is to be forgotten, and it is gone already.
func otherValue(facts []policy.Fact, m *stores.Memory) bool {
	for _, f := range facts {
		if f.Topic == m.Topic && !policy.Names(m.Summary, f.Value) && policy.Merge(policy.Candidate{Topic: f.Topic, Value: f.Value, Scope: m.Scope}, []stores.Memory{*m}).Action != policy.ActMerge {
			return true
		}
	}
	return false
}

var trailing = regexp.MustCompile(`(?:了|吧|哦|啦|呢)+$`)

var (
	order   = rxi(`^(?:请|帮我|麻烦|以后)*(?:把|将)|^please `)
	measure = regexp.MustCompile(`(\d+(?:\.\d+)?)\s*(%|[a-zA-Z]+|\p{Han}{1,3})?`)
)

// sameMeasure finds the only number in a summary that has the unit of a new
// one: "5秒" for "8秒".
func sameMeasure(summary, value string) string {
	n := measure.FindStringSubmatch(value)
	if n == nil || n[0] != value {
		return ""
	}
	found := ""
	for _, m := range measure.FindAllStringSubmatch(summary, -1) {
		if m[2] == n[2] || n[2] != "" && n[2][0] >= 0x80 && strings.HasPrefix(m[2], n[2]) {
			if found != "" {
				return ""
			}
			found = strings.TrimSuffix(m[0], strings.TrimPrefix(m[2], n[2]))
		}
	}
	return found
}

// correct finds the memory that a correction means and replaces it.
func (d *decision) correct(c Correction) {
	c.New = strings.TrimSpace(trailing.ReplaceAllString(strings.Trim(c.New, " 。.!！\"“”"), ""))
	if _, found := policy.Redact(c.New); found > 0 || c.New == "" {
		clean, _ := policy.Redact(c.Text)
		d.refuse(Refusal{Text: clean, Reason: "secret"})
		return
	}
	m, old := d.meant(c)
	if m == nil {
		return
	}
	when := absolute(c.New, d.exchange.At, d.zone)
	if old == "" {
		old = sameMeasure(m.Summary, when.text)
	}
	summary := replaceFold(m.Summary, old, when.text)
	if summary == m.Summary {
		if policy.Names(m.Summary, c.New) { // it says so already
			d.confirm(m.ID)
			return
		}
		summary = third(absolute(order.ReplaceAllString(c.Text, ""), d.exchange.At, d.zone).text)
	}
	next := policy.Candidate{Type: m.Type, Kind: m.Kind, Topic: m.Topic, Value: when.text, Summary: summary, Scope: m.Scope, Evidence: c.Text,
		Scores: m.Scores, Explicit: m.Source == "explicit", Confidence: max(m.Confidence, 0.8), Said: d.exchange.At, Replaces: old}
	if !m.ExpiresAt.IsZero() && when.future {
		next.ExpiresAt = when.last.AddDate(0, 0, keepPast)
	}
	if !policy.SingleValued(m.Topic) {
		next.Value = summary
	}
	if next.Scores.Total() == 0 {
		next.Scores = policy.Score(next)
	}
	if d.exchange.At.Before(m.UpdatedAt) {
		d.refuse(Refusal{Text: summary, Reason: "older", Scores: next.Scores})
		return
	}
	d.add(next, m.ID)
}

// meant is the memory that a correction speaks of, and the value in it that is
// to be replaced.
func (d *decision) meant(c Correction) (*stores.Memory, string) {
	if c.Old == "" && c.Subject == "" {
		m := d.lastSaid()
		if m == nil {
			return nil, ""
		}
		for _, f := range policy.Facts(m.Summary) {
			if f.Topic == m.Topic {
				return m, f.Value
			}
		}
		return nil, ""
	}
	var best *stores.Memory
	top := 0.0
	for i := range d.view {
		m := &d.view[i]
		score := 0.0
		switch {
		case m.Scope == stores.WorkspaceScope:
		case c.Old != "" && policy.Names(m.Summary, c.Old):
			score = 1
		case c.Subject != "":
			share, words := policy.Overlap(c.Subject, m.Summary)
			if topic := policy.TopicOf(ownerWord.ReplaceAllString(c.Subject, "")); topic != "" && topic == m.Topic {
				score = 2
			} else if share >= 0.7 && words >= 2 {
				score = share
			}
		}
		if score > top || score == top && score > 0 && m.UpdatedAt.After(best.UpdatedAt) {
			best, top = m, score
		}
	}
	if best != nil && c.Old == "" {
		for _, f := range policy.Facts(best.Summary) {
			if f.Topic == best.Topic {
				return best, f.Value
			}
		}
	}
	return best, c.Old
}

// replaceFold replaces the first old in s, whatever its case.
func replaceFold(s, old, with string) string {
	if old == "" {
		return s
	}
	if i := strings.Index(s, old); i >= 0 {
		return s[:i] + with + s[i+len(old):]
	}
	for i := range s {
		if len(s)-i >= len(old) && strings.EqualFold(s[i:i+len(old)], old) {
			return s[:i] + with + s[i+len(old):]
		}
	}
	return s
}
