package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"strata/internal/upstreamtest"
)

type (
	upstreamRequest = upstreamtest.Request
	upstreamScript  = upstreamtest.Script
)

// chat says something and checks what upstream got.
func (p *person) chat(session string, messages ...string) reply {
	p.count()
	w := p.who
	w.session = session
	began := time.Now()
	a := p.r.ask(p.t, w, messages...)
	if a.status != http.StatusOK {
		p.forbidden("status %d: %.300s", a.status, a.body)
		return a
	}
	if rest := inserted.ReplaceAllString(a.upBody(), ""); rest != a.sent {
		p.forbidden("the client sent %s\nupstream got %s", a.sent, a.upBody())
	}
	p.checkText(p.who, p.groups, began, "upstream", a.injected(), true)
	return a
}

// talk says words as one of the ways in which apps send them. The session is
// the one that it was recorded in.
func (p *person) talk(words string) (session string) {
	messages := []string{user(words)}
	named := p.session()
	switch p.rand.IntN(4) {
	case 0: // an app that sends all of a conversation and names none
		named = ""
		messages = []string{user(fmt.Sprint("Hello, conversation ", p.ops, " of ", p.who.user)), assistant("Hi."), user(words)}
	case 1:
		messages = []string{system("Be brief."), user(words)}
	case 2:
		// Told apart from any turn before: the same messages again are a wish
		// for another answer, and nothing is learned from them a second time.
		messages = []string{system("Be brief."), user(fmt.Sprint("Good morning, it is ", p.ops)), assistant("Good morning."), user(words)}
	}
	a := p.chat(named, messages...)
	if named == "" {
		named = a.header.Get("X-Strata-Session")
	}
	p.last = statementAt{named, words, a.header.Get("X-Strata-Request-Id")}
	return named
}

// state says a fact that replaces the one before.
func (p *person) state() {
	p.statements.Add(1)
	f := &fact{say: &sayings[p.rand.IntN(len(sayings))], zh: p.chance(0.5), mark: p.mark(p.who.tenant, p.who.user, ""), sessions: map[string]bool{}}
	key := f.say.topic
	if key == "" {
		key = f.mark
		if n := p.sets(); len(n) > 5 { // a few of each are enough
			f = n[p.rand.IntN(len(n))]
			key = f.mark
		}
	} else if old := p.facts[key]; old != nil && p.chance(0.2) { // said again
		f = old
	} else if old != nil {
		p.pending = append(p.pending, old.mark)
	}
	p.facts[key] = f
	f.settled = false
	f.sessions[p.talk(filled(f.say.say[lang(f.zh)], f.mark))] = true
	if p.chance(0.25) {
		p.settle()
	}
}

// sets are the facts beside which others may stand.
func (p *person) sets() (out []*fact) {
	for _, f := range p.list() {
		if f.say.topic == "" {
			out = append(out, f)
		}
	}
	return out
}

// list are the facts in an order that is the same each time.
func (p *person) list() []*fact {
	var out []*fact
	for _, f := range p.facts {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *fact) int { return strings.Compare(a.mark, b.mark) })
	return out
}

// settle waits until everything that was said is learned.
func (p *person) settle() {
	if p.last.session != "" {
		w := p.who
		w.session = p.last.session
		poll(p.t, fmt.Sprintf("%+v of %s/%s is recorded", p.last, p.who.tenant, p.who.user), func() bool {
			p.count()
			return slices.ContainsFunc(p.r.turns(p.t, w), func(said turn) bool { return said.Content == p.last.words })
		})
		p.last = statementAt{}
	}
	p.count()
	if status, text := p.r.control(p.t, who{}, http.MethodPost, "/v1/learn/flush", "application/json", "{}"); status != http.StatusOK {
		p.forbidden("flush: %d %s", status, text)
	}
	for _, name := range p.pending {
		p.end(name, replaced)
	}
	p.pending = nil
	for _, f := range p.facts {
		f.settled = true
	}
}

// ask asks for a fact; a settled one must be served.
func (p *person) ask() {
	list := p.list()
	if len(list) == 0 {
		p.chatter()
		return
	}
	if p.chance(0.3) {
		p.settle()
	}
	p.askFor(list[p.rand.IntN(len(list))])
}

func (p *person) askFor(f *fact) {
	words := filled(f.say.ask[lang(f.zh)], f.mark)
	messages := []string{user(words)}
	session := fmt.Sprint("Q", p.ops)
	switch p.rand.IntN(5) {
	case 0:
		session = p.session()
	case 1:
		session = ""
	case 2:
		messages = []string{system("Answer."), user("Hi"), assistant("Hello."), user(words)}
	}
	a := p.chat(session, messages...)
	if !f.settled {
		return
	}
	p.asked.Add(1)
	switch {
	case strings.Contains(a.injected(), f.mark):
		p.served.Add(1)
	case a.late():
		p.tooLate.Add(1)
	default:
		p.t.Errorf("%s/%s asked %q in %q and was not told %s: %s\n%s", p.who.tenant, p.who.user, words, session, f.mark, a.header.Get("X-Strata-Context"), a.injected())
	}
}

// late tells that something was left out since it did not come in time.
func (a reply) late() bool {
	return a.field("reason") == "late" || a.field("reason") == "ledger" || strings.HasSuffix(a.field("skipped"), ":late")
}

func (p *person) askAll() {
	for _, f := range p.list() {
		p.askFor(f)
	}
}

// chatter is everything else that people say.
func (p *person) chatter() {
	words := []string{"What do you remember about me?", "你记得我什么？", "Thanks a lot!", "Explain what a proxy does.", "帮我写一封请假邮件", "Which gate opens first?",
		"What is the locker code of anna?", "小李的项目代号是什么？", "Where is everybody's office?"}
	p.chat(p.session(), user(words[p.rand.IntN(len(words))]))
}

// forget has a fact forgotten by asking for it.
func (p *person) forget() {
	list := p.list()
	if len(list) == 0 {
		return
	}
	p.settle()
	f := list[p.rand.IntN(len(list))]
	p.talk(filled(f.say.forget[lang(f.zh)], f.mark))
	p.drop(f)
	p.settle()
	p.end(f.mark, deleted)
	if found := holding(p.memories(), f.mark); len(found) > 0 {
		p.forbidden("%q was said, and there is still %+v", filled(f.say.forget[lang(f.zh)], f.mark), found)
	}
}

func (p *person) drop(f *fact) {
	for key, other := range p.facts {
		if other == f {
			delete(p.facts, key)
		}
	}
}

// memories lists the person's active memories and checks them.
func (p *person) memories() []kept {
	p.count()
	began := time.Now()
	list := p.r.memories(p.t, who{tenant: p.who.tenant, user: p.who.user}, "")
	topics := map[string]string{}
	for _, m := range list {
		p.checkText(p.who, p.groups, began, "the list of memories", m.Summary, true)
		if other := topics[m.Topic]; other != "" && slices.ContainsFunc(sayings, func(s saying) bool { return s.topic == m.Topic && m.Topic != "" }) {
			p.forbidden("%s/%s has two active memories about %s: %q and %q", p.who.tenant, p.who.user, m.Topic, other, m.Summary)
		}
		topics[m.Topic] = m.Summary
	}
	p.answers.Add(1)
	return list
}

// adminMemory adds, changes or deletes a memory through the control plane.
func (p *person) adminMemory() {
	p.settle()
	list := p.list()
	if len(list) == 0 || p.chance(0.4) {
		p.addMemory()
		return
	}
	f := list[p.rand.IntN(len(list))]
	found := holding(p.memories(), f.mark)
	if len(found) != 1 {
		p.forbidden("%s/%s: %d active memories hold %s, which was learned: %+v", p.who.tenant, p.who.user, len(found), f.mark, p.memories())
		return
	}
	path := "/v1/memories/" + found[0].ID
	if p.chance(0.3) {
		fresh := p.mark(p.who.tenant, p.who.user, "")
		p.admin(p.who, http.MethodPatch, path, string(mustJSON(p.t, map[string]string{"summary": strings.Replace(found[0].Summary, f.mark, fresh, 1)})), http.StatusOK)
		p.end(f.mark, edited)
		p.drop(f)
		f.mark = fresh
		p.keep(f)
		return
	}
	p.admin(p.who, http.MethodDelete, path, "", http.StatusOK)
	p.end(f.mark, deleted)
	p.drop(f)
	p.admin(p.who, http.MethodDelete, path, "", http.StatusNotFound)
	p.chat(p.session(), user(filled(f.say.ask[lang(f.zh)], "it")))
}

func (p *person) keep(f *fact) {
	key := f.say.topic
	if key == "" {
		key = f.mark
	}
	p.facts[key] = f
}

func (p *person) addMemory() {
	f := &fact{say: &sayings[p.rand.IntN(4)], zh: p.chance(0.5), mark: p.mark(p.who.tenant, p.who.user, ""), sessions: map[string]bool{}, settled: true}
	old := p.facts[f.say.topic]
	summary := filled(f.say.say[lang(f.zh)], f.mark)
	p.admin(p.who, http.MethodPost, "/v1/memories", string(mustJSON(p.t, map[string]string{
		"memory_type": []string{"preference", "conclusion", "goal", "agreement"}[p.rand.IntN(4)], "topic": f.say.topic, "summary": summary})), http.StatusCreated)
	if old != nil {
		p.end(old.mark, replaced)
	}
	p.keep(f)
}

// admin makes a call of the control plane on the person's behalf and checks
// what it answers.
func (p *person) admin(w who, method, path, body string, want int) string {
	p.count()
	p.answers.Add(1)
	began := time.Now()
	status, text := p.r.control(p.t, w, method, path, "application/json", body)
	if status != want {
		p.forbidden("%s %s for %s/%s: %d, want %d: %.300s", method, path, w.tenant, w.user, status, want, text)
	}
	p.checkText(w, p.groups, began, method+" "+path, text, false)
	return text
}

// lookAround reads what may be read, and tries what may not.
func (p *person) lookAround() {
	me := who{tenant: p.who.tenant, user: p.who.user}
	switch p.rand.IntN(8) {
	case 0:
		p.memories()
	case 1:
		for _, status := range []string{"superseded", "deleted", "expired"} {
			p.admin(me, http.MethodGet, "/v1/memories?status="+status, "", http.StatusOK)
		}
	case 2:
		p.admin(me, http.MethodGet, "/v1/sessions", "", http.StatusOK)
		w := p.who
		w.session = p.session()
		p.r.turns(p.t, w)
	case 3:
		p.export(me)
	case 4: // the operator's view of the tenant
		for _, path := range []string{"/v1/memories?limit=500", "/v1/users", "/v1/sessions?limit=500", "/v1/documents", "/v1/rejected", "/v1/stats"} {
			p.admin(who{tenant: p.who.tenant}, http.MethodGet, path, "", http.StatusOK)
		}
	case 5: // a body that is explained and not sent
		w := p.who
		w.header = w.header.Clone()
		if w.header == nil {
			w.header = http.Header{}
		}
		w.header.Set("X-Strata-Explain", "1")
		p.count()
		began := time.Now()
		a := p.r.ask(p.t, w, user("What do you remember about me?"))
		p.checkText(p.who, p.groups, began, "explained", a.body, true)
	default:
		p.tryOthers(me)
	}
}

func (p *person) export(me who) {
	p.count()
	status, text := p.r.control(p.t, me, http.MethodGet, "/v1/users/"+url.PathEscape(me.user), "", "")
	if status == http.StatusNotFound {
		return
	}
	p.answers.Add(1)
	p.checkText(me, p.groups, time.Now(), "export", text, false)
	var v struct {
		Memories []json.RawMessage `json:"memories"`
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		p.forbidden("export: %v", err)
	}
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	for _, m := range v.Memories {
		for _, name := range generatedMark.FindAllString(string(m), -1) {
			if x := p.marks[name]; x != nil && x.ending == deleted {
				p.forbidden("%s/%s: the export has %s, which was deleted: %s", me.tenant, me.user, name, m)
			}
		}
	}
}

// tryOthers asks for rows of others by their ids.
func (p *person) tryOthers(me who) {
	other := who{tenant: p.who.tenant, user: []string{"anna", "bela", "小李", "o'neil 4"}[p.rand.IntN(4)]}
	if p.chance(0.5) || other.user == me.user {
		other = who{tenant: tenants[p.rand.IntN(3)], user: me.user}
	}
	if other.tenant == me.tenant && other.user == me.user {
		return
	}
	p.count()
	theirs := p.r.memories(p.t, other, "")
	if len(theirs) == 0 {
		return
	}
	path := "/v1/memories/" + theirs[p.rand.IntN(len(theirs))].ID
	p.admin(me, http.MethodGet, path, "", http.StatusNotFound)
	p.admin(me, http.MethodDelete, path, "", http.StatusNotFound)
	p.admin(me, http.MethodPatch, path, `{"summary":"mine"}`, http.StatusNotFound)
	if other.user != me.user {
		p.admin(me, http.MethodGet, "/v1/users/"+url.PathEscape(other.user), "", http.StatusNotFound)
	}
}

// deleteSession deletes a session, and with it what rests on nothing else.
func (p *person) deleteSession() {
	session := p.session()
	p.settle()
	p.count()
	status, text := p.r.control(p.t, p.who, http.MethodDelete, "/v1/sessions/"+session, "", "")
	if status == http.StatusNotFound {
		return
	}
	if status != http.StatusOK {
		p.forbidden("deleting a session: %d %s", status, text)
	}
	for _, f := range p.list() {
		if f.sessions[session] {
			delete(f.sessions, session)
			if len(f.sessions) == 0 {
				p.end(f.mark, deleted)
				p.drop(f)
			}
		}
	}
}

// erase removes everything of this person.
func (p *person) erase() {
	p.admin(p.who, http.MethodDelete, "/v1/users/"+url.PathEscape(p.who.user), "", http.StatusOK)
	p.world.mu.Lock()
	for _, m := range p.marks {
		if m.tenant == p.who.tenant && m.user == p.who.user {
			m.ended, m.ending = time.Now(), deleted
		}
	}
	p.world.mu.Unlock()
	p.facts, p.pending, p.last = map[string]*fact{}, nil, statementAt{}
	p.admin(p.who, http.MethodGet, "/v1/users/"+url.PathEscape(p.who.user), "", http.StatusNotFound)
	p.askNothing()
}

func (p *person) askNothing() {
	a := p.chat(p.session(), user("What do you remember about me?"))
	for _, name := range generatedMark.FindAllString(a.injected(), -1) {
		p.forbidden("an erased user was told %s", name)
	}
}

// document puts, replaces or deletes one of the person's documents.
func (p *person) document() {
	d := p.docs[p.rand.IntN(len(p.docs))]
	operator := who{tenant: p.who.tenant}
	path := "/v1/documents/" + d.id
	switch {
	case d.mark != "" && p.chance(0.2):
		p.admin(operator, http.MethodDelete, path, "", http.StatusOK)
		for _, name := range append(d.old, d.mark) {
			p.end(name, deleted)
		}
		*d = doc{id: d.id}
		p.admin(operator, http.MethodGet, path, "", http.StatusNotFound)
	case d.mark != "" && p.chance(0.2):
		if again := p.put(d); !again.Unchanged || again.Version != d.version {
			p.forbidden("the same document again: %+v, version %d was there", again, d.version)
		}
	default:
		old := d.mark
		d.group = []string{"", "", "alpha", "beta"}[p.rand.IntN(4)]
		d.mark = p.mark(p.who.tenant, "", d.group)
		put := p.put(d)
		d.version = put.Version
		p.end(old, replaced)
		d.old = append(d.old, old)
		if text := p.admin(operator, http.MethodGet, path, "", http.StatusOK); !strings.Contains(text, d.mark) || old != "" && strings.Contains(text, old) {
			p.forbidden("version %d of %s should hold %s and not %q: %s", d.version, d.id, d.mark, old, text)
		}
	}
}

func (p *person) put(d *doc) stored {
	p.count()
	id := d.id
	if d.group != "" {
		id += "?groups=" + d.group
	}
	return p.r.putDocument(p.t, p.who.tenant, id, fmt.Sprintf("# Gate %s\n\nGate %s opens at the sign %s.\n\n## Lamps\n\nThe lamps of %s are green (%s).\n", d.id, d.id, d.mark, d.id, d.mark))
}

// askDocument asks for a document, one's own or another's of the same or
// another tenant.
func (p *person) askDocument() {
	d := p.docs[p.rand.IntN(len(p.docs))]
	id := d.id
	if p.chance(0.4) {
		id = fmt.Sprintf("guide-%d-%d", p.rand.IntN(len(tenants)*usersPerTenant), p.rand.IntN(len(p.docs)))
	}
	w := p.who
	if p.chance(0.5) {
		w.header = w.header.Clone()
		if w.header == nil {
			w.header = http.Header{}
		}
		w.header.Set("X-Strata-Intent", "rag")
	}
	p.count()
	w.session = []string{"", p.session()}[p.rand.IntN(2)]
	began := time.Now()
	a := p.r.ask(p.t, w, user("According to the guide, at which sign does the gate "+id+" open?"))
	p.checkText(p.who, p.groups, began, "upstream", a.injected(), true)
	if id != d.id || d.mark == "" || d.group != "" && !slices.Contains(p.groups, d.group) {
		return
	}
	p.asked.Add(1)
	switch {
	case strings.Contains(a.injected(), d.mark):
		p.served.Add(1)
	case a.late():
		p.tooLate.Add(1)
	default:
		p.t.Errorf("%s/%s asked for %s and was not told %s: %s; %s\n%s", p.who.tenant, p.who.user, d.id, d.mark, a.header.Get("X-Strata-Intent"), a.header.Get("X-Strata-Context"), a.injected())
	}
}
