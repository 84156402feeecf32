package learn

import (
	"strings"
	"time"

	"strata/policy"
	"strata/stores"
)

// Found is what a text of the user says to the memory.
type Found struct {
	Candidates  []policy.Candidate // scored and judged worth keeping
	Corrections []Correction       // what they mean must be looked up
	Refused     []Refusal          // candidates that are not kept

	Forget     []string // what is to be forgotten, in the user's words
	ForgetAll  bool     // everything about the user
	ForgetLast bool     // what was said last
	Cancel     bool     // what was said is not to be kept after all
	OffRecord  bool     // nothing of this exchange is to be kept
}

// Correction names a new value, and the old one or its subject where it is said.
type Correction struct {
	Old, New string
	Subject  string // "change the timeout to 8 s": the words before the change
	Text     string // the sentence
}

// Refusal is a candidate that is not kept. Text is redacted.
type Refusal struct {
	Text, Reason string
	Scores       stores.Scores
}

var (
	rememberEN = gated(`^(?:ok(?:ay)?,? |hey,? |hi,? |and |also |now |so |but )*(?:please,? |pls )?(?:(?:can|could|would|will) you |i (?:want|need|'d like) you to |you should |just |kindly )?(?:please )?(?:always )?(?:remember|memori[sz]e|note(?: down)?|take note|make a note|jot down|write down|save(?: this| it)?(?: to memory| in memory)?|store(?: this)?(?: in memory)?|keep in mind|bear in mind|don'?t forget|do not forget|never forget|for the record|for future reference|fyi|remind yourself)\b[ ,:]*(?:of )?(?:this|the following)?[ ,:]*(?:that )?[ ,:]*`)
	rememberZH = patterns.Compile(`^(?:好的?[，,]?|嗯[，,]?|那|对了[，,]?|另外[，,]?|还有[，,]?|请|麻烦|麻烦你|请你|请帮我|帮我|帮忙|你|要|一定要|给我|先|可以|能不能|能)*(?:记住|记着|记下来|记下|记一下|记好|记录一下|牢记|谨记|请记得|记得|备注一下|备忘|别忘了?|不要忘了?|不要忘记|别忘记|千万别忘了?|存一下|保存到记忆)(?:了|一点|一件事|这一?点|这件事|这个|以下内容)?[\s，,:：。]*`)
	rememberBA = patterns.Compile(`^(.{4,200}?)[，,。.;；]\s*(?:请|你|麻烦|帮我|要)*(?:记住|记下来|记下|记一下|记着|记好)(?:了|哦|啊|吧|这一?点)*[。.!！]*$|(?i)^(.{6,200}?)[,;.:-]+\s*(?:please |so |and )*(?:remember (?:that|this|it)|keep (?:that|this|it) in mind|don'?t forget(?: that| it| this)?|make a note(?: of (?:that|it|this))?|note (?:that|this|it)(?: down)?)(?: please)?[.!]*$`)
	politeEN   = gated(`^(?:please,? )?(?:can|could|would|will) you (?:please )?`)
	politeZH   = patterns.Compile(`^(?:你)?(?:能不能|可不可以|可以|能|能否|可否)`)
	rememberMe = gated(`^remember (?:when|the time|how|me|to|us|our|your)\b|^记得(?:小时候|那年|当时|上次|有一次|我吗|吗)|^(?:记得|记住|记下)(?:了)?[吗么]`)
)

// handed begins a text that the user hands over to be worked on.
var handed = gated(`^(?:please,? |can you |could you |now |ok,? )*(?:translate|rewrite|polish|summari[sz]e|fix|proofread|correct|improve|rephrase|paraphrase|edit|explain|analy[sz]e|check|review|shorten|reply to|respond to|classify|extract)\b[^:：.]{0,60}[:：]|^(?:请|帮我|麻烦|把|将|给我|你)*[^:：，。]{0,12}(?:翻译|译成|润色|改写|重写|总结|概括|修改|纠正|校对|扩写|缩写|续写|解释|分析|检查|点评|提取|分类|回复)[^:：。]{0,20}[:：]`)

// Extract reads what a text of the user's own words says to the memory, by
// rules for Chinese and English and without a model. at is when it was said and
// zone where: relative dates become absolute. A question states nothing. Of a
// text of more than longText bytes, fences and quotes left out, only the first
// and the last edge bytes are read, and only for what is to be remembered.
func Extract(text string, at time.Time, zone *time.Location) Found {
	return extract(text, at, zone, heard)
}

// extract is Extract with a way to look at sentences.
func extract(text string, at time.Time, zone *time.Location, hear func([]string) []*utterance) Found {
	var f Found
	own, pasted := ownWords(text)
	list := hear(sentences(own))
	for _, s := range list {
		if s.cues.offRecord() {
			return Found{OffRecord: true}
		}
	}
	x := extraction{found: &f, at: at, zone: zone}
	pending := false // "remember this:" stands alone, what follows is meant
	for _, s := range list {
		if s.silent && !pending {
			continue
		} else if s.silent {
			s = loud(s.text)
		}
		switch kind, target := s.cues.forgetAsked(); kind {
		case forgetCancel:
			f.Cancel, f.ForgetLast = true, len(f.Candidates)+len(f.Corrections) == 0
			f.Candidates, f.Corrections = nil, nil
			continue
		case forgetAll:
			f.ForgetAll = true
			continue
		case forgetLast:
			f.ForgetLast = true
			continue
		case forgetTarget:
			f.Forget = append(f.Forget, target)
			continue
		}
		if s.matches(handed) { // what follows is a text to work on
			break
		}
		rest, explicit := askedToRemember(s)
		if explicit && strings.Trim(rest, " 。.:：!！,，") == "" {
			pending = true
			continue
		}
		explicit, pending = explicit || pending, false
		if pasted && !explicit {
			continue
		}
		if rest != s.text {
			s = look(rest)
		}
		x.sentence(s, explicit)
	}
	return f
}

// askedToRemember cuts a wish to remember off a sentence.
func askedToRemember(s *utterance) (rest string, explicit bool) {
	text := s.text
	if rememberMe.May(&s.hits) && rememberMe.MatchString(strings.ToLower(text)) {
		return text, false
	}
	if n := len(s.find(rememberZH)); n > 0 {
		return wish(text[n:]), true
	}
	if n := len(s.find(rememberEN)); n > 0 {
		if strings.HasPrefix(text[n:], "to ") { // a reminder to oneself
			return text, false
		}
		return wish(strings.TrimRight(text[n:], "?")), true
	}
	if m := rememberBA.Submatch(text, &s.hits); m != nil {
		return m[1] + m[2], true
	}
	if !s.policy().Lasting() {
		return text, false
	}
	if bare := s.find(politeEN); bare != "" {
		return strings.TrimRight(text[len(bare):], "?"), false
	}
	if bare := s.find(politeZH); bare != "" {
		return strings.TrimRight(text[len(bare):], "吗？?"), false
	}
	if strings.HasPrefix(text, "以后") {
		for _, end := range []string{"可以吗？", "好吗？", "行吗？", "可以吗?", "好吗?", "行吗?", "，好不好？"} {
			if cut, ok := strings.CutSuffix(text, end); ok {
				return strings.Trim(cut, "，, "), false
			}
		}
	}
	return text, false
}

// wish is what is to be remembered, without a question for form behind it.
func wish(s string) string {
	s = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(s), "好吗？"), "可以吗？")
	return strings.Trim(s, "，, ")
}

// extraction works one text off.
type extraction struct {
	found *Found
	at    time.Time
	zone  *time.Location
}

// sentence reads one sentence: as a correction, as clauses that each state
// something, or as a whole.
func (x *extraction) sentence(s *utterance, explicit bool) {
	if text := strings.TrimSpace(s.text); text == "" {
		return
	} else if text != s.text {
		s = look(text)
	}
	if s.policy().Question() {
		return
	}
	reason := s.policy().NeverStore()
	switch reason {
	case "tool_log", "base64", "document", "draft", "snapshot", "greeting", "acknowledgement", "smalltalk", "secret":
		if reason == "secret" || !explicit || reason == "base64" || reason == "document" || reason == "tool_log" {
			x.refuseIfStated(s, reason, explicit)
			return
		}
	}
	if c, ok := correction(s); ok && !explicit && len(s.policy().Facts()) == 0 {
		x.found.Corrections = append(x.found.Corrections, c)
		return
	}
	for _, p := range x.parts(s, explicit) {
		x.take(p, explicit)
	}
}

// refuseIfStated notes a refusal where a rule would have made a memory of the
// sentence: what nobody would have kept is not worth a note.
func (x *extraction) refuseIfStated(s *utterance, reason string, explicit bool) {
	if explicit || reason == "secret" || len(s.policy().Facts()) > 0 || s.matchRule() != nil {
		x.refuse(s.text, reason, stores.Scores{})
	}
}

func (x *extraction) refuse(text, reason string, scores stores.Scores) {
	clean, _ := policy.Redact(text)
	if len(clean) > 400 {
		clean = strings.ToValidUTF8(clean[:400], "")
	}
	x.found.Refused = append(x.found.Refused, Refusal{Text: clean, Reason: reason, Scores: scores})
}

// part is what one or more neighbouring clauses state together.
type part struct {
	*utterance
	facts []policy.Fact
	rule  *rule
}

// parts groups the clauses of a sentence: each that states something by itself
// begins a part, the others belong to the part before (or after) them; what
// must not be kept is left out.
func (x *extraction) parts(s *utterance, explicit bool) []part {
	if r := wholeRule(s); r != nil {
		return []part{{utterance: s, rule: r}}
	}
	g := grouping{explicit: explicit, glue: ", "}
	if chinese(s.text) {
		g.glue = "，"
	}
	speaks := false
	for _, text := range clauses(s.text) {
		c := s
		if text != s.text {
			c = look(text)
		}
		c, speaks = withSubject(c, speaks)
		g.add(c)
	}
	whole := s.matchRule()
	if len(g.out) == 0 {
		p := part{utterance: s, rule: whole}
		if g.dropped && g.lead == "" {
			return nil
		} else if g.dropped {
			p.utterance = look(g.lead)
		}
		return []part{p}
	}
	if whole != nil && whole.whole && !g.dropped && allFree(g.out) {
		return []part{{utterance: s, rule: whole, facts: g.out[0].facts}}
	}
	refresh(g.out)
	return g.out
}

// grouping puts clauses together to parts.
type grouping struct {
	explicit bool
	glue     string

	out     []part
	lead    string // clauses that wait for one that states something
	dropped bool   // some clause must not be kept
}

func (g *grouping) add(c *utterance) {
	facts, r := c.policy().Facts(), c.matchRule()
	if len(facts) == 0 && !g.explicit {
		if reason := c.policy().NeverStore(); reason != "" && !(reason == "one_off" && general(r)) {
			g.dropped = true
			return
		}
	}
	if len(facts) == 0 && r == nil || g.again(facts, r) {
		if n := len(g.out); n > 0 {
			g.out[n-1].utterance = look(g.out[n-1].text + g.glue + c.text)
		} else if g.lead != "" {
			g.lead += g.glue + c.text
		} else {
			g.lead = c.text
		}
		return
	}
	if g.lead != "" {
		c, g.lead = look(g.lead+g.glue+c.text), ""
	}
	g.out = append(g.out, part{utterance: c, facts: facts, rule: r})
}

// again tells of a clause that says more of the fact before it.
func (g *grouping) again(facts []policy.Fact, r *rule) bool {
	if len(g.out) == 0 || r != nil || len(facts) != 1 {
		return false
	}
	last := g.out[len(g.out)-1].facts
	return len(last) == 1 && last[0].Topic == facts[0].Topic
}

// wholeRule is the rule that reads a sentence as one statement, although it
// has commas.
func wholeRule(s *utterance) *rule {
	r := s.matchRule()
	if r == nil || !r.whole || len(s.policy().Facts()) > 0 {
		return nil
	}
	loc := r.match.Index(s.text, &s.hits)
	if loc[1]-loc[0] > len(s.text)/2 || s.policy().NeverStore() == "" && !strings.ContainsAny(s.text, "，,") {
		return r
	}
	return nil
}

// refresh reads the fact of each part again over all its clauses: "bullet
// points, three at the most".
func refresh(parts []part) {
	for i := range parts {
		p := &parts[i]
		if len(p.facts) != 1 {
			continue
		}
		if again := p.policy().Facts(); len(again) == 1 && again[0].Topic == p.facts[0].Topic {
			p.facts = again
		}
	}
}

// noSubject is a clause whose subject, the user, stands in a clause before it.
var noSubject = patterns.Compile(`^(?:而且|并且|同时|另外)?(?:也|还|现在|目前|平时|一直|很|非常|最|都)*(?:住在|来自|喜欢|讨厌|不喜欢|习惯|不吃|不喝|对[^,，。]{1,10}过敏|负责|养了|打算|计划|在[^,，。]{2,12}(?:工作|上班|读书|当))`)

// withSubject gives a Chinese clause the subject that it leaves out after one
// of the user's.
func withSubject(c *utterance, speaks bool) (*utterance, bool) {
	if strings.HasPrefix(c.text, "我") {
		return c, !strings.HasPrefix(c.text, "我们")
	}
	if speaks && c.matches(noSubject) {
		text := c.text
		for _, w := range []string{"而且", "并且", "同时", "另外"} {
			text = strings.TrimPrefix(text, w)
		}
		return look("我" + text), true
	}
	return c, speaks
}

// general tells whether a rule is about how things are done, and so reads
// like an order.
func general(r *rule) bool {
	return r != nil && (r.topic == "instruction" || r.topic == "agreement" || r.topic == "term")
}

// allFree tells whether one statement may take the whole sentence: at most one
// of its parts holds a fact that could change by itself.
func allFree(parts []part) bool {
	n := 0
	for _, p := range parts {
		n += len(p.facts)
	}
	return n <= 1
}

// take makes candidates of a part and judges them.
func (x *extraction) take(p part, explicit bool) {
	if len(p.facts) == 0 && p.rule == nil && !explicit && !p.matches(appointment) && !directed(p.utterance) {
		return
	}
	zh := chinese(p.text)
	base := policy.Candidate{Kind: "semantic", Scope: stores.UserScope, Evidence: p.text, Explicit: explicit, Said: x.at, Confidence: 0.8}
	if explicit {
		base.Confidence = 0.95
	}
	when := absolute(third(p.text), x.at, x.zone)
	switch {
	case len(p.facts) > 1:
		for _, f := range p.facts {
			c := base
			c.Type, c.Topic, c.Value, c.Summary = stores.Preference, f.Topic, f.Value, sentenceOf(f, zh)
			x.judge(c, p.policy())
		}
		return
	case len(p.facts) == 1:
		base.Type, base.Topic, base.Value, base.Summary = stores.Preference, p.facts[0].Topic, p.facts[0].Value, when.text
		if p.matches(orderHead) {
			base.Summary = sentenceOf(p.facts[0], zh)
		}
		if d := absolute(base.Value, x.at, x.zone); !d.last.IsZero() {
			base.Value = d.text
		}
		if m := insteadOf.Submatch(p.text, &p.hits); m != nil {
			base.Replaces = strings.TrimSpace(m[1] + m[2])
		}
		if p.rule != nil && (p.rule.topic == "agreement" || p.rule.topic == "conclusion") {
			base.Type = p.rule.kind
		}
		x.judge(base, p.policy())
		return
	}
	x.takeSet(p, base, when)
}

// takeSet makes a candidate of a set topic: of a rule, of a directive, of an
// appointment, or of what the user asks to remember.
func (x *extraction) takeSet(p part, c policy.Candidate, when dated) {
	c.Summary, c.Value = when.text, when.text
	switch {
	case when.future && (p.matches(appointment) || c.Explicit && p.rule == nil) && (p.rule == nil || p.rule.kind != stores.Agreement):
		c.Type, c.Topic, c.Kind, c.ExpiresAt = stores.Goal, "appointment", "episodic", when.last.AddDate(0, 0, keepPast)
	case p.rule != nil:
		c.Type, c.Topic = p.rule.kind, p.rule.topic
		if v := ruleValue(p.rule, p.utterance); v != "" && valued(p.rule.topic) {
			c.Value = v
		}
		if c.Type == stores.Goal && when.future {
			c.ExpiresAt = when.last.AddDate(0, 0, keepPast)
		}
		switch c.Topic {
		case "instruction", "agreement":
			c.Kind = "procedural"
		case "event":
			c.Kind = "episodic"
		}
	case directed(p.utterance):
		c.Type, c.Topic, c.Kind = stores.Preference, "instruction", "procedural"
	case c.Explicit:
		c.Type, c.Topic = stores.Conclusion, "note"
		if strings.HasPrefix(when.text, "用户") || strings.HasPrefix(when.text, "The user") {
			c.Type = stores.Preference
		}
	default:
		return
	}
	if p.matches(onlyNow) && !c.Explicit {
		x.refuse(p.text, "one_off", stores.Scores{})
		return
	}
	x.judge(c, p.policy())
}

// orderHead begins an order that sets a value: it is stated as the value.
var orderHead = gated(`^(?:please |can you |could you )*(?:change|update|set|switch|move)\b|^(?:请|帮我|麻烦)*(?:把|将)`)

// keepPast is how many days a dated plan stays after its day.
const keepPast = 30

// insteadOf finds the old value in "not A, (but) B" and "不是A，是B".
var insteadOf = gated(`不是\s*([^,，。]{1,24}?)\s*[,，]\s*(?:而)?(?:是|在|改)|,? not (?:in |at |on )?([^,;.!?]{1,30}?)(?:[,;.!?]|$)`)

func directed(s *utterance) bool {
	return (s.matches(directiveEN) || s.matches(directiveZH)) && !s.matches(narrative)
}

// valued tells which sets go by the thing they name, so that "I like tea" and
// "I really love tea" are one; the others go by their whole statement.
func valued(topic string) bool {
	switch topic {
	case "likes", "dislikes", "allergy", "condition", "habit", "goal", "role_detail", "skill":
		return true
	}
	return false
}

func ruleValue(r *rule, s *utterance) string {
	m, names := r.match.Find(s.text, &s.hits)
	for i := range m {
		if strings.HasPrefix(names[i], "v") && m[i] != "" {
			return strings.TrimSpace(m[i])
		}
	}
	return ""
}

// judge scores a candidate, redacts what is personal in it, and keeps it or
// notes why not.
func (x *extraction) judge(c policy.Candidate, evidence *policy.Reading) {
	c.Scores = evidence.Score(c)
	ok, reason := evidence.Judge(c)
	if !ok && reason == "personal_data" && c.Explicit {
		c.Summary, _ = policy.Redact(c.Summary)
		c.Value, _ = policy.Redact(c.Value)
		c.Evidence, _ = policy.Redact(c.Evidence)
		c.Scores = policy.Score(c)
		ok, reason = policy.Judge(c)
	}
	if !ok {
		x.refuse(c.Evidence, reason, c.Scores)
		return
	}
	if len(c.Summary) > maxSummary {
		x.refuse(c.Evidence, "long", c.Scores)
		return
	}
	x.found.Candidates = append(x.found.Candidates, c)
}

// maxSummary is the longest summary in bytes.
const maxSummary = 600
