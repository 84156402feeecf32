package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"strata/internal/upstreamtest"
)

// A conversation of the prefix test, made from its number alone.
type conversation struct {
	number  int
	zh      bool   // else English
	parts   bool   // contents are lists
	system  string // "", string, parts, developer
	named   bool   // the client names the session
	loops   bool   // every other turn calls tools
	states  bool   // a standing preference is stated on the way, and changed later
	deleted bool   // a standing memory is deleted on the way, once within a tool loop
	history []string
}

const conversations = 20

func converse(n int) *conversation {
	return &conversation{
		number: n, zh: n%2 == 1, parts: n/2%2 == 1, system: []string{"string", "", "parts", "developer", "string"}[n%5],
		named: n/3%2 == 0, loops: n%3 != 1, states: n%4 == 2, deleted: n%4 == 1,
	}
}

func (c *conversation) who() who {
	w := who{tenant: "prefix", user: fmt.Sprintf("P%d", c.number)}
	if c.named {
		w.session = fmt.Sprintf("prefix-%d", c.number)
	}
	return w
}

// say is one of two texts.
func (c *conversation) say(en, zh string) string {
	if c.zh {
		return zh
	}
	return en
}

func (c *conversation) message(role, text string) string {
	if !c.parts || role == "assistant" {
		return message(role, text)
	}
	return fmt.Sprintf(`{"role": %q, "content": [ {"type":"text","text":%s}, {"type": "text", "text": "…"} ]}`, role, jsonOf(text))
}

// begin is what the client sends before everything.
func (c *conversation) begin() {
	text := c.say("You are the assistant of a shipyard. Be brief. ", "你是一家造船厂的助手，请简短回答。") + strings.Repeat("§", 200)
	switch c.system {
	case "string":
		c.history = append(c.history, system(text))
	case "developer":
		c.history = append(c.history, message("developer", text))
	case "parts":
		c.history = append(c.history, fmt.Sprintf(`{"role":"system","content":[{"type":"text","text":%s,"cache_control":{"type":"ephemeral"}}]}`, jsonOf(text)))
	}
}

// questions are the turns: small talk, matters of the documents, and matters
// of the memories. The fourth states a preference where the conversation does.
func (c *conversation) questions() []string {
	list := []string{
		c.say("Good morning! Please help me write a short greeting.", "早上好！请帮我写一句简短的问候。"),
		c.say("What is the pressure limit of the blue valve?", "蓝色阀门的压力上限是多少？"),
		c.say("What did we decide about the harbour crane?", "关于港口起重机我们是怎么决定的？"),
		c.say("And who signs for it?", "那由谁签字？"),
		c.say("Write a sentence about the sea.", "写一句关于大海的话。"),
		c.say("How long may the blue valve be closed?", "蓝色阀门最多可以关闭多久？"),
		c.say("Thanks. What is left to do for the crane?", "谢谢。起重机还有什么没做？"),
	}
	if c.states {
		list[3] = c.say("From now on always answer in bullet points.", "以后回答都用分点列表。")
		list[5] = c.say("From now on please always answer in English, never in French.", "以后请一直用英文回答。")
	}
	return list
}

// stood is what happened before a request that may change the stable block.
type stood struct {
	reply
	loop     bool // of the same turn as the one before
	standing bool // a standing memory was added, changed or removed since
	expected bool // and the block must show it
}

// prefixUpstream calls a tool twice where tools are offered, and says
// something else in every answer.
func prefixUpstream(req *upstreamtest.Request) *upstreamtest.Script {
	body := string(req.Body)
	last := roles(body)
	results := 0
	for i := len(last) - 1; i >= 0 && last[i] != "user"; i-- {
		if last[i] == "tool" {
			results++
		}
	}
	if strings.Contains(body, `"tools":`) && results < 2 {
		return wantsTool(fmt.Sprintf("call_%d_%d", len(last), results), "lookup", fmt.Sprintf(`{"n":%d}`, results))
	}
	return said(fmt.Sprintf("Answer to message %d. 答复。", len(last)))
}

// prefixRig has documents and memories that match what is asked.
func prefixRig(t *testing.T) *rig {
	r := newRig(t, prefixUpstream)
	r.putDocument(t, "prefix", "valves.md", "# Valves\n\n## Blue valve\nThe pressure limit of the blue valve is 16 bar. The blue valve may be closed for at most 40 minutes.\n\n"+
		"## 蓝色阀门\n蓝色阀门的压力上限是 16 巴。蓝色阀门最多可以关闭 40 分钟。\n")
	r.putDocument(t, "prefix", "yard.md", "# Yard\n\n## Signatures\nThe master of the yard signs for every crane.\n\n## 签字\n每台起重机由场长签字。\n")
	return r
}

// seed gives the user of a conversation what is remembered before it begins.
// Those whose number is a multiple of five have nothing that stands.
func (c *conversation) seed(t *testing.T, r *rig) {
	w := c.who()
	if c.number%5 != 0 {
		r.addMemory(t, w, "preference", "address", c.say("Wants to be called Robin.", "希望被称为小罗。"))
		r.addMemory(t, w, "agreement", "review", c.say("Every plan is reviewed by Mona first.", "每个方案都先由莫娜审阅。"))
	}
	r.addMemory(t, w, "conclusion", "crane", c.say("It was decided to repair the harbour crane in spring.", "关于港口起重机，决定春天修理。"))
}

// run goes through the conversation as a client does: with all that was said,
// as it was said, and never with what Strata inserted.
func (c *conversation) run(t *testing.T, r *rig) (requests []stood) {
	c.begin()
	w := c.who()
	for i, question := range c.questions() {
		standing, expected := c.between(t, r, i)
		c.history = append(c.history, c.message("user", question))
		tools := ""
		if c.loops && i%2 == 1 {
			tools = `"tools":[{"type":"function","function":{"name":"lookup","parameters":{"type":"object","properties":{"n":{"type":"integer"}}}}}],`
		}
		for call := 0; ; call++ {
			a := r.askBody(t, w, `{"model":"m-test",`+tools+`"messages":[`+strings.Join(c.history, ", ")+`]}`)
			a.wantOK(t)
			requests = append(requests, stood{a, call > 0, standing, expected})
			if t.Failed() {
				t.Fatalf("conversation %d, turn %d, call %d", c.number, i, call)
			}
			standing, expected = false, false
			if !strings.Contains(a.body, `"tool_calls"`) {
				break
			}
			c.history = append(c.history,
				fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d_%d","type":"function","function":{"name":"lookup","arguments":"{}"}}]}`, i, call),
				fmt.Sprintf(`{"role":"tool","tool_call_id":"call_%d_%d","content":"{\"blue valve\": %d, \"crane\": \"ready\"}"}`, i, call, call))
			c.disturb(t, r, i, call) // its writes stand behind the record of this call
			if c.deleted && i == 5 && call == 0 {
				standing = c.deleteStanding(t, r)
				expected = standing
			}
		}
		var text string
		if _, behind, ok := strings.Cut(requests[len(requests)-1].body, `"content":"`); ok {
			text, _, _ = strings.Cut(behind, `"`)
		}
		c.history = append(c.history, assistant(text))
	}
	return requests
}

// between does what may happen between two turns, and tells whether the stable
// block may change by it, and whether it must.
func (c *conversation) between(t *testing.T, r *rig, turn int) (standing, expected bool) {
	c.disturb(t, r, turn, 9)
	switch {
	case c.states && (turn == 4 || turn == 6): // what was stated in the turn before is learned
		r.flush(t)
		return true, true
	case c.deleted && turn == 3:
		gone := c.deleteStanding(t, r)
		return gone, gone
	}
	return false, false
}

// disturb changes what must not change the stable block of this session: its
// user's passing memories, other people's, documents, other sessions.
func (c *conversation) disturb(t *testing.T, r *rig, turn, call int) {
	w := c.who()
	name := fmt.Sprintf("note_%d_%d", turn, call)
	r.addMemory(t, w, "conclusion", name, c.say("The harbour crane got note ", "港口起重机有备注 ")+name+".")
	other := who{tenant: "prefix", user: "somebody else"}
	r.addMemory(t, other, "preference", name, "Prefers note "+name+".")
	if turn%3 == 2 {
		r.addMemoryJSON(t, who{tenant: "prefix"}, map[string]any{"scope": "workspace", "memory_type": "agreement", "topic": fmt.Sprintf("rule_%d_%s", c.number, name),
			"summary": c.say("The yard closes at six on day ", "船厂关门时间规定 ") + name + "."})
		id := "notes.md"
		if call < 9 { // within a turn a version that it was given would have to go
			id = fmt.Sprintf("notes-%d-%s.md", c.number, name)
		}
		r.putDocument(t, "prefix", id, fmt.Sprintf("# Notes\n\nThe blue valve was painted, note %d %s.\n", c.number, name))
	}
	if turn%3 == 1 {
		elsewhere := w
		elsewhere.session = fmt.Sprintf("elsewhere-%d-%s", c.number, name)
		r.ask(t, elsewhere, user(c.say("What is a keel?", "龙骨是什么？")))
	}
}

// tidy takes away what the conversation made for the whole workspace.
func (c *conversation) tidy(t *testing.T, r *rig) {
	w := who{tenant: "prefix"}
	for _, m := range r.memories(t, w, "") {
		if m.Scope == "workspace" {
			r.deleteMemory(t, w, m.ID)
		}
	}
}

// deleteStanding deletes one of the user's own standing memories.
func (c *conversation) deleteStanding(t *testing.T, r *rig) bool {
	for _, m := range r.memories(t, c.who(), "") {
		if m.Type == "preference" || m.Type == "agreement" {
			if status := r.deleteMemory(t, c.who(), m.ID); status != http.StatusOK {
				t.Errorf("deleting a memory: %d", status)
			}
			return true
		}
	}
	return false
}

// TestPromptPrefixStays is the sixth promise: what a provider has cached of a
// conversation stays as it is, turn after turn and call after call, but where
// the user changes what stands.
func TestPromptPrefixStays(t *testing.T) {
	r := prefixRig(t)
	var figures struct{ requests, stable, volatile, changed, loops, late int }
	for n := range conversations {
		c := converse(n)
		c.seed(t, r)
		requests := c.run(t, r)
		c.tidy(t, r)
		for i, now := range requests {
			figures.requests++
			now.wantClientBytes(t)
			if now.stable() != "" {
				figures.stable++
			}
			if now.volatile() != "" {
				figures.volatile++
			}
			if now.late() { // a busy machine: this promise gives way to the one about time
				figures.late++
			} else if i > 0 && !requests[i-1].late() {
				c.compare(t, requests[i-1], now)
				if now.standing && now.stable() != requests[i-1].stable() {
					figures.changed++
				}
				if now.loop {
					figures.loops++
				}
			}
			if t.Failed() {
				t.Fatalf("conversation %d (%+v), request %d", n, *converse(n), i)
			}
		}
	}
	// Had nothing been inserted, nothing would have been tested.
	if figures.late > figures.requests/10 || figures.requests < 150 || figures.stable < 100 || figures.volatile < 60 || figures.changed < 10 || figures.loops < 40 {
		t.Errorf("too little happened, or too late: %+v", figures)
	}
	t.Logf("%+v", figures)
}

// compare holds two neighbouring requests of a conversation against each other.
func (c *conversation) compare(t *testing.T, before, now stood) {
	t.Helper()
	switch {
	case now.standing:
	case now.loop:
		if now.injected() != before.injected() {
			t.Errorf("the inserted text changes within a tool loop:\n%s\n%s", before.injected(), now.injected())
		}
		wantPrefix(t, before.sentMessages(), now.reply)
	default:
		if now.stable() != before.stable() {
			t.Errorf("the stable block changes though nothing that stands has changed:\n%s\n%s", before.stable(), now.stable())
		}
		wantPrefix(t, before.cached(), now.reply)
	}
	if now.expected && now.stable() == before.stable() {
		t.Errorf("the stable block stays though what stands has changed:\n%s", now.stable())
	}
}

// TestStatementLearnedWithinALoop: what the user stated a turn ago may be
// learned while the next turn's tool loop runs. The loop goes on as it began;
// from the turn after it the statement stands.
func TestStatementLearnedWithinALoop(t *testing.T) {
	r := newRig(t, loopUpstream)
	w := u1("learned-late")
	r.addMemory(t, w, "preference", "address", "Wants to be called Robin.")
	messages := []string{system("Use tools."), user("Good morning!"), assistant("Good morning."), user("From now on always answer in bullet points.")}
	r.ask(t, w, append(messages, toolLoop("", 2)[2:]...)...).wantOK(t)
	messages = append(messages, assistant("Done."), user("What is a keel?"))
	first := r.ask(t, w, append(messages, toolLoop("", 0)[2:]...)...)
	r.flush(t)
	second := r.ask(t, w, append(messages, toolLoop("", 1)[2:]...)...)
	third := r.ask(t, w, append(messages, toolLoop("", 2)[2:]...)...)
	for _, a := range []reply{first, second, third} {
		a.wantOK(t)
		a.wantClientBytes(t)
		a.wantTimes(t, "Robin", 1)
		if a.injected() != first.injected() {
			t.Errorf("the inserted text changes within a tool loop:\n%s\n%s", first.injected(), a.injected())
		}
	}
	messages = append(messages, toolLoop("", 2)[2:]...)
	a := r.ask(t, w, append(messages, assistant("Done."), user("And what is a mast?"))...)
	a.wantOK(t)
	if !strings.Contains(a.stable(), "bullet points") || !strings.Contains(a.stable(), "Robin") {
		t.Errorf("the next turn's stable block:\n%s", a.stable())
	}
}
