package learn

import (
	"regexp"
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
	rememberEN = rxi(`^(?:ok(?:ay)?,? |hey,? |hi,? |and |also |now |so |but )*(?:please,? |pls )?(?:(?:can|could|would|will) you |i (?:want|need|'d like) you to |you should |just |kindly )?(?:please )?(?:always )?(?:remember|memori[sz]e|note(?: down)?|take note|make a note|jot down|write down|save(?: this| it)?(?: to memory| in memory)?|store(?: this)?(?: in memory)?|keep in mind|bear in mind|don'?t forget|do not forget|never forget|for the record|for future reference|fyi|remind yourself)\b[ ,:]*(?:of )?(?:this|the following)?[ ,:]*(?:that )?[ ,:]*`)
	rememberZH = regexp.MustCompile(`^(?:好的?[，,]?|嗯[，,]?|那|对了[，,]?|另外[，,]?|还有[，,]?|请|麻烦|麻烦你|请你|请帮我|帮我|帮忙|你|要|一定要|给我|先|可以|能不能|能)*(?:记住|记着|记下来|记下|记一下|记好|记录一下|牢记|谨记|请记得|记得|备注一下|备忘|别忘了?|不要忘了?|不要忘记|别忘记|千万别忘了?|存一下|保存到记忆)(?:了|一点|一件事|这一?点|这件事|这个|以下内容)?[\s，,:：。]*`)
	rememberBA = regexp.MustCompile(`^(.{4,200}?)[，,。.;；]\s*(?:请|你|麻烦|帮我|要)*(?:记住|记下来|记下|记一下|记着|记好)(?:了|哦|啊|吧|这一?点)*[。.!！]*$|(?i)^(.{6,200}?)[,;.:-]+\s*(?:please |so |and )*(?:remember (?:that|this|it)|keep (?:that|this|it) in mind|don'?t forget(?: that| it| this)?|make a note(?: of (?:that|it|this))?|note (?:that|this|it)(?: down)?)(?: please)?[.!]*$`)
	politeEN   = rxi(`^(?:please,? )?(?:can|could|would|will) you (?:please )?`)
	politeZH   = regexp.MustCompile(`^(?:你)?(?:能不能|可不可以|可以|能|能否|可否)`)
	rememberMe = rxi(`^remember (?:when|the time|how|me|to|us|our|your)\b|^记得(?:小时候|那年|当时|上次|有一次|我吗|吗)|^(?:记得|记住|记下)(?:了)?[吗么]`)
)

// handed begins a text that the user hands over to be worked on.
var handed = rxi(`^(?:please,? |can you |could you |now |ok,? )*(?:translate|rewrite|polish|summari[sz]e|fix|proofread|correct|improve|rephrase|paraphrase|edit|explain|analy[sz]e|check|review|shorten|reply to|respond to|classify|extract)\b[^:：.]{0,60}[:：]|^(?:请|帮我|麻烦|把|将|给我|你)*[^:：，。]{0,12}(?:翻译|译成|润色|改写|重写|总结|概括|修改|纠正|校对|扩写|缩写|续写|解释|分析|检查|点评|提取|分类|回复)[^:：。]{0,20}[:：]`)

// Extract reads what a text of the user's own words says to the memory, by
// rules for Chinese and English and without a model. at is when it was said and
// zone where: relative dates become absolute. A question states nothing.
func Extract(text string, at time.Time, zone *time.Location) Found {
	var f Found
	own, pasted := ownWords(text)
	list := sentences(own)
	for _, s := range list {
		if isOffRecord(s) {
			return Found{OffRecord: true}
		}
	}
	x := extraction{found: &f, at: at, zone: zone}
	pending := false // "remember this:" stands alone, what follows is meant
	for _, s := range list {
		switch kind, target := forgetAsked(s); kind {
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
		if handed.MatchString(s) { // what follows is a text to work on
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
		x.sentence(rest, explicit)
	}
	return f
}

// askedToRemember cuts a wish to remember off a sentence.
func askedToRemember(s string) (rest string, explicit bool) {
	if rememberMe.MatchString(strings.ToLower(s)) {
		return s, false
	}
	for _, re := range []*regexp.Regexp{rememberZH, rememberEN} {
		if n := len(re.FindString(s)); n > 0 {
			rest := s[n:]
			if re == rememberEN && strings.HasPrefix(rest, "to ") { // a reminder to oneself
				return s, false
			}
			if re == rememberEN {
				rest = strings.TrimRight(rest, "?")
			}
			rest = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(rest), "好吗？"), "可以吗？")
			return strings.Trim(rest, "，, "), true
		}
	}
	if m := rememberBA.FindStringSubmatch(s); m != nil {
		return m[1] + m[2], true
	}
	if bare := politeEN.FindString(s); bare != "" && policy.Lasting(s) {
		return strings.TrimRight(s[len(bare):], "?"), false
	}
	if bare := politeZH.FindString(s); bare != "" && policy.Lasting(s) {
		return strings.TrimRight(s[len(bare):], "吗？?"), false
	}
	if policy.Lasting(s) && strings.HasPrefix(s, "以后") {
		for _, end := range []string{"可以吗？", "好吗？", "行吗？", "可以吗?", "好吗?", "行吗?", "，好不好？"} {
			if cut, ok := strings.CutSuffix(s, end); ok {
				return strings.Trim(cut, "，, "), false
			}
		}
	}
	return s, false
}

// extraction works one text off.
type extraction struct {
	found *Found
	at    time.Time
	zone  *time.Location
}

// sentence reads one sentence: as a correction, as clauses that each state
// something, or as a whole.
func (x *extraction) sentence(s string, explicit bool) {
	s = strings.TrimSpace(s)
	if s == "" || policy.Question(s) {
		return
	}
	reason := policy.NeverStore(s)
	switch reason {
	case "tool_log", "base64", "document", "draft", "snapshot", "greeting", "acknowledgement", "smalltalk", "secret":
		if reason == "secret" || !explicit || reason == "base64" || reason == "document" || reason == "tool_log" {
			x.refuseIfStated(s, reason, explicit)
			return
		}
	}
	if c, ok := correction(s); ok && !explicit {
		if len(policy.Facts(s)) == 0 {
			x.found.Corrections = append(x.found.Corrections, c)
			return
		}
	}
	parts := x.parts(s, explicit)
	for _, p := range parts {
		x.take(p, explicit)
	}
}

// refuseIfStated notes a refusal where a rule would have made a memory of the
// sentence: what nobody would have kept is not worth a note.
func (x *extraction) refuseIfStated(s, reason string, explicit bool) {
	if explicit || reason == "secret" || len(policy.Facts(s)) > 0 || matchRule(s) != nil {
		x.refuse(s, reason, stores.Scores{})
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
	text  string
	facts []policy.Fact
	rule  *rule
}

// parts groups the clauses of a sentence: each that states something by itself
// begins a part, the others belong to the part before (or after) them; what
// must not be kept is left out.
func (x *extraction) parts(s string, explicit bool) []part {
	var out []part
	lead := ""
	glue := ", "
	if chinese(s) {
		glue = "，"
	}
	dropped := false
	if r := wholeRule(s); r != nil {
		return []part{{text: s, rule: r}}
	}
	speaks := false
	for _, c := range clauses(s) {
		if c, speaks = withSubject(c, speaks); c == "" {
			continue
		}
		facts, r := policy.Facts(c), matchRule(c)
		if reason := policy.NeverStore(c); reason != "" && !explicit && len(facts) == 0 && !(reason == "one_off" && general(r)) {
			dropped = true
			continue
		}
		if len(facts) == 0 && r == nil || len(out) > 0 && len(facts) == 1 && r == nil && len(out[len(out)-1].facts) == 1 && out[len(out)-1].facts[0].Topic == facts[0].Topic {
			if n := len(out); n > 0 {
				out[n-1].text += glue + c
			} else if lead != "" {
				lead += glue + c
			} else {
				lead = c
			}
			continue
		}
		text := c
		if lead != "" {
			text, lead = lead+glue+c, ""
		}
		out = append(out, part{text: text, facts: facts, rule: r})
	}
	whole := matchRule(s)
	if len(out) == 0 {
		p := part{text: s, rule: whole}
		if dropped {
			p.text = lead
		}
		if p.text == "" {
			return nil
		}
		return []part{p}
	}
	if whole != nil && whole.whole && !dropped && allFree(out) {
		return []part{{text: s, rule: whole, facts: out[0].facts}}
	}
	refresh(out)
	return out
}

// wholeRule is the rule that reads a sentence as one statement, although it
// has commas.
func wholeRule(s string) *rule {
	r := matchRule(s)
	if r == nil || !r.whole || len(policy.Facts(s)) > 0 {
		return nil
	}
	loc := r.match.FindStringIndex(s)
	if loc[1]-loc[0] > len(s)/2 || policy.NeverStore(s) == "" && !strings.ContainsAny(s, "，,") {
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
		if again := policy.Facts(p.text); len(again) == 1 && again[0].Topic == p.facts[0].Topic {
			p.facts = again
		}
	}
}

// noSubject is a clause whose subject, the user, stands in a clause before it.
var noSubject = regexp.MustCompile(`^(?:而且|并且|同时|另外)?(?:也|还|现在|目前|平时|一直|很|非常|最|都)*(?:住在|来自|喜欢|讨厌|不喜欢|习惯|不吃|不喝|对[^,，。]{1,10}过敏|负责|养了|打算|计划|在[^,，。]{2,12}(?:工作|上班|读书|当))`)

// withSubject gives a Chinese clause the subject that it leaves out after one
// of the user's.
func withSubject(c string, speaks bool) (string, bool) {
	if strings.HasPrefix(c, "我") {
		return c, !strings.HasPrefix(c, "我们")
	}
	if speaks && noSubject.MatchString(c) {
		for _, w := range []string{"而且", "并且", "同时", "另外"} {
			c = strings.TrimPrefix(c, w)
		}
		return "我" + c, true
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
			x.judge(c)
		}
		return
	case len(p.facts) == 1:
		base.Type, base.Topic, base.Value, base.Summary = stores.Preference, p.facts[0].Topic, p.facts[0].Value, when.text
		if orderHead.MatchString(p.text) {
			base.Summary = sentenceOf(p.facts[0], zh)
		}
		if d := absolute(base.Value, x.at, x.zone); !d.last.IsZero() {
			base.Value = d.text
		}
		if m := insteadOf.FindStringSubmatch(p.text); m != nil {
			base.Replaces = strings.TrimSpace(m[1] + m[2])
		}
		if p.rule != nil && (p.rule.topic == "agreement" || p.rule.topic == "conclusion") {
			base.Type = p.rule.kind
		}
		x.judge(base)
		return
	}
	x.takeSet(p, base, when)
}

// takeSet makes a candidate of a set topic: of a rule, of a directive, of an
// appointment, or of what the user asks to remember.
func (x *extraction) takeSet(p part, c policy.Candidate, when dated) {
	c.Summary, c.Value = when.text, when.text
	switch {
	case when.future && (appointment.MatchString(p.text) || c.Explicit && p.rule == nil) && (p.rule == nil || p.rule.kind != stores.Agreement):
		c.Type, c.Topic, c.Kind, c.ExpiresAt = stores.Goal, "appointment", "episodic", when.last.AddDate(0, 0, keepPast)
	case p.rule != nil:
		c.Type, c.Topic = p.rule.kind, p.rule.topic
		if v := ruleValue(p.rule, p.text); v != "" && valued(p.rule.topic) {
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
	case directed(p.text):
		c.Type, c.Topic, c.Kind = stores.Preference, "instruction", "procedural"
	case c.Explicit:
		c.Type, c.Topic = stores.Conclusion, "note"
		if strings.HasPrefix(when.text, "用户") || strings.HasPrefix(when.text, "The user") {
			c.Type = stores.Preference
		}
	default:
		return
	}
	if onlyNow.MatchString(p.text) && !c.Explicit {
		x.refuse(p.text, "one_off", stores.Scores{})
		return
	}
	x.judge(c)
}

// orderHead begins an order that sets a value: it is stated as the value.
var orderHead = rxi(`^(?:please |can you |could you )*(?:change|update|set|switch|move)\b|^(?:请|帮我|麻烦)*(?:把|将)`)

// keepPast is how many days a dated plan stays after its day.
const keepPast = 30

// insteadOf finds the old value in "not A, (but) B" and "不是A，是B".
var insteadOf = rxi(`不是\s*([^,，。]{1,24}?)\s*[,，]\s*(?:而)?(?:是|在|改)|,? not (?:in |at |on )?([^,;.!?]{1,30}?)(?:[,;.!?]|$)`)

func directed(s string) bool {
	return (directiveEN.MatchString(s) || directiveZH.MatchString(s)) && !narrative.MatchString(s)
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

func ruleValue(r *rule, s string) string {
	m := r.match.FindStringSubmatch(s)
	for i, name := range r.match.SubexpNames() {
		if i < len(m) && strings.HasPrefix(name, "v") && m[i] != "" {
			return strings.TrimSpace(m[i])
		}
	}
	return ""
}

// judge scores a candidate, redacts what is personal in it, and keeps it or
// notes why not.
func (x *extraction) judge(c policy.Candidate) {
	c.Scores = policy.Score(c)
	ok, reason := policy.Judge(c)
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

var corrections = []struct {
	match             *regexp.Regexp
	old, new, subject int // groups
}{
	{regexp.MustCompile(`^(?:不对?[，,。!！]?|错了[，,]?|更正(?:一下)?[，,:：]?|其实|应该)*不是\s*([^,，。]{1,24}?)\s*[,，]?\s*(?:而?是|应该是|改成)\s*([^,，。!！?？]{1,40})[。.!！]*$`), 1, 2, 0},
	{regexp.MustCompile(`^(?:是)?\s*([^,，。]{1,24}?)[,，]\s*不是\s*([^,，。!！?？]{1,24})[。.!！]*$`), 2, 1, 0},
	{regexp.MustCompile(`^(?:不对|不是|错了|我说错了|更正(?:一下)?|纠正(?:一下)?|哦不|说错了)[，,:：。\s]*(?:应该|其实)?(?:是|改成|改为)\s*([^,，。!！?？]{1,40})[。.!！]*$`), 0, 1, 0},
	{regexp.MustCompile(`^(?:其实|实际上|准确地?说|应该)(?:应该)?是\s*([^,，。!！?？]{1,40})[。.!！]*$`), 0, 1, 0},
	{regexp.MustCompile(`^(?:请|帮我|以后)*(?:把|将)?([^,，。]{2,24}?)(?:的[^,，。]{0,4})?(?:改成|改为|改到|换成|更新为|调整为|推迟到|提前到)了?\s*([^,，。!！?？]{1,40})[。.!！]*$`), 0, 2, 1},
	{rxi(`^(?:no|nope|sorry|wait|oops|correction|actually|my mistake|wrong)[,.:!]?(?: no,?| sorry,?| wait,?| actually,?)? ?(?:it'?s|it is|that'?s|i meant|i mean|it should be|should be|make (?:that|it)|that should be) (?:actually )?([^,;.!?]{1,60}?)(?:,? (?:and )?not ([^,;.!?]{1,40}))?[.!]*$`), 2, 1, 0},
	{rxi(`^(?:no,? )?(?:it'?s|it is|that'?s) (?:actually )?([^,;.!?]{1,60}?),? (?:and )?not ([^,;.!?]{1,40})[.!]*$`), 2, 1, 0},
	{rxi(`^(?:no,? )?(?:it'?s )?not ([^,;.!?]{1,40}?)[,;]? (?:but|it'?s|it is|rather) ([^,;.!?]{1,60})[.!]*$`), 1, 2, 0},
	{rxi(`^(?:please )?(?:change|update|switch|move|set) (?:the |my |our )?([^,;.!?]{3,50}?) to ([^,;!?]{1,60}?)[.!]*$`), 0, 2, 1},
}

// correction reads a sentence that puts something right.
func correction(s string) (Correction, bool) {
	for i := range corrections {
		c := &corrections[i]
		m := c.match.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		get := func(g int) string {
			if g == 0 {
				return ""
			}
			return strings.TrimSpace(m[g])
		}
		return Correction{Old: get(c.old), New: get(c.new), Subject: get(c.subject), Text: s}, true
	}
	return Correction{}, false
}
