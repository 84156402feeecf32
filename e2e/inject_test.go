package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

const (
	projectCode  = "ZEBRA-41"
	registerText = "# Project register\n\n## Project codes\nEvery project code is listed in the register of the PMO. Ask for the register under REGISTER-77.\n"
	registerHit  = "REGISTER-77"
)

// remember lets the user say what the cases speak of, and waits until it is learned.
func (r *rig) remember(t *testing.T, w who) {
	t.Helper()
	w.session = "said-before"
	r.ask(t, w, user("Remember: my project code is "+projectCode)).wantOK(t)
	r.flush(t)
	if got := r.memories(t, w, ""); len(got) != 1 || !strings.Contains(got[0].Summary, projectCode) {
		t.Fatalf("memories of %s after being told to remember: %+v", w.user, got)
	}
}

// contextRig has a memory of U1 and a document, and an upstream with rules.
func contextRig(t *testing.T, handler upstreamtest.Handler) *rig {
	t.Helper()
	r := newRig(t, handler)
	r.remember(t, u1(""))
	r.putDocument(t, "", "register.md", registerText)
	return r
}

// refusing answers 400 to bodies that broken says something about.
func refusing(broken func(body string) string) upstreamtest.Handler {
	return func(req *upstreamtest.Request) *upstreamtest.Script {
		if why := broken(string(req.Body)); why != "" {
			return upstreamtest.JSON(400, jsonOf(map[string]any{"error": map[string]any{"message": why, "type": "invalid_request_error"}}))
		}
		return said("OK.")
	}
}

// instructions wants at most one system or developer message, and it first.
func instructions(body string) string {
	for i, role := range roles(body) {
		if i > 0 && (role == "system" || role == "developer") {
			return "System message must be at the beginning."
		}
	}
	return ""
}

// alternation wants user and assistant in turn, after one system message.
func alternation(body string) string {
	list := roles(body)
	if len(list) > 0 && list[0] == "system" {
		list = list[1:]
	}
	for i, role := range list {
		if want := []string{"user", "assistant"}[i%2]; role != want {
			return "Conversation roles must alternate user/assistant/user/assistant/..."
		}
	}
	return ""
}

// toolAnswers wants every tool call answered at once, and no answer without a call.
func toolAnswers(body string) string {
	var v struct {
		Messages []struct {
			Role       string `json:"role"`
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID string `json:"id"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		return err.Error()
	}
	var open []string
	for _, m := range v.Messages {
		if m.Role == "tool" {
			i := slices.Index(open, m.ToolCallID)
			if i < 0 {
				return "A tool message must follow its call."
			}
			open = slices.Delete(open, i, i+1)
			continue
		}
		if len(open) > 0 {
			return "An assistant message with tool_calls must be followed by tool messages."
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return "Tool calls without an answer."
	}
	return ""
}

func TestC051OneSystemMessageFirst(t *testing.T) {
	r := contextRig(t, refusing(instructions))
	with := caseFile(t, "C051.json")
	without := strings.Replace(with, `{"role":"system","content":"You are the desk of ACME. Reply in one sentence."},`, "", 1)
	for name, body := range map[string]string{"with": with, "without": without} {
		a := r.askBody(t, u1("C051-"+name), body)
		a.wantOK(t)
		a.wantClientBytes(t)
		a.wantTimes(t, projectCode, 1)
		a.wantTimes(t, registerHit, 1)
		want := []string{"system", "user", "assistant", "user", "assistant", "user"}
		if name == "without" {
			want = want[1:]
		} else if at := strings.Index(a.upBody(), "You are the desk of ACME. Reply in one sentence."); at < 0 || strings.Index(a.upBody(), "<strata-") < at {
			t.Errorf("the client's system text is not before what was inserted:\n%s", a.upBody())
		}
		a.wantRoles(t, want...)
	}
}

func TestC053AlternatingRolesStay(t *testing.T) {
	r := contextRig(t, refusing(alternation))
	body := caseFile(t, "C053.json")
	a := r.askBody(t, u1("C053-a"), body)
	a.wantOK(t)
	a.wantTimes(t, projectCode, 1)
	a.wantRoles(t, "user", "assistant", "user")

	// The same where the store holds turns and a summary of this session.
	thin := u1("C053-b")
	r.ask(t, thin, user("hi")).wantOK(t)
	r.ask(t, thin, user("which desk is open on Friday? OLD-TURN-5")).wantOK(t)
	r.addMemoryJSON(t, thin, map[string]any{"scope": "session", "session_id": thin.session, "memory_type": "summary",
		"topic": "summary", "summary": "So far the project code and the desk were talked about. SUMMARY-8"})
	a = r.askBody(t, thin, body)
	a.wantOK(t)
	a.wantClientBytes(t)
	a.wantTimes(t, projectCode, 1)
	a.wantRoles(t, "user", "assistant", "user")
	a.wantTimes(t, "OLD-TURN-5", 0) // the client's messages are the conversation
}

func TestC055NothingBetweenCallsAndResults(t *testing.T) {
	r := contextRig(t, refusing(toolAnswers))
	w := u1("C055")
	r.addMemoryJSON(t, w, map[string]any{"scope": "session", "session_id": w.session, "memory_type": "summary",
		"topic": "summary", "summary": "The weather and the project code were talked about. SUMMARY-8"})
	a := r.askBody(t, w, caseFile(t, "C055.json"))
	a.wantOK(t)
	a.wantClientBytes(t)
	a.wantTimes(t, projectCode, 1)
	a.wantTimes(t, "SUMMARY-8", 1)
	a.wantRoles(t, "system", "user", "assistant", "tool", "tool")
	_, behind, _ := strings.Cut(a.upBody(), `"role":"assistant"`)
	if strings.Contains(behind, "strata-") {
		t.Errorf("something was inserted behind the user's message:\n%s", behind)
	}
}

// loop is the messages of a tool loop after n calls.
func toolLoop(question string, n int) []string {
	messages := []string{system("Use tools."), user(question)}
	for i := range n {
		messages = append(messages,
			fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"lookup","arguments":"{\"n\":%d}"}}]}`, i, i),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"call_%d","content":"{\"rows\":[\"warehouse gate opening hours in Rotterdam\"],\"n\":%d}"}`, i, i))
	}
	return messages
}

// loopUpstream calls a tool until it has two results.
func loopUpstream(req *upstreamtest.Request) *upstreamtest.Script {
	if n := strings.Count(string(req.Body), `"role":"tool"`); n < 2 && strings.Contains(string(req.Body), "Use tools.") {
		return wantsTool(fmt.Sprintf("call_%d", n), "lookup", fmt.Sprintf(`{"n":%d}`, n))
	}
	return said("Done.")
}

func TestC056ToolLoopIsOneTurn(t *testing.T) {
	r := contextRig(t, loopUpstream)
	r.putDocument(t, "", "gates.md", "# Gates\n\nThe warehouse gate opening hours in Rotterdam are 06:00 to 22:00. GATE-DOC-3\n")
	r.addMemory(t, u1(""), "goal", "project_goal", "The project code must be printed on every label. LABEL-6")
	w := u1("C056")
	var blocks []string
	for n := range 3 {
		if n == 2 {
			r.addMemory(t, w, "conclusion", "project_code_check", "The project code was checked twice against the register. LATER-9")
		}
		a := r.ask(t, w, toolLoop("what is my project code", n)...)
		a.wantOK(t)
		a.wantClientBytes(t)
		a.wantTimes(t, projectCode, 1)
		a.wantTimes(t, "LABEL-6", 1)
		a.wantTimes(t, registerHit, 1)
		a.wantTimes(t, "GATE-DOC-3", 0) // the tool's words are no question
		a.wantTimes(t, "LATER-9", 0)
		blocks = append(blocks, a.injected())
	}
	if blocks[0] == "" || blocks[1] != blocks[0] || blocks[2] != blocks[0] {
		t.Errorf("the inserted text changes within a tool loop:\n%s\n%s\n%s", blocks[0], blocks[1], blocks[2])
	}
	turns := r.turns(t, w)
	if len(turns) != 2 || turns[0].Content != "what is my project code" || turns[1].Content != "Done." {
		t.Errorf("recorded turns: %+v, want the question once and its last answer", turns)
	}
	a := r.ask(t, w, append(toolLoop("what is my project code", 2), assistant("Done."), user("and who has checked my project code?"))...)
	a.wantOK(t)
	a.wantTimes(t, "LATER-9", 1) // from the next turn of the user on
}

var (
	clockTime   = regexp.MustCompile(`\b\d{1,2}:\d\d\b|\d{4}-\d\d-\d\d[T ]\d\d`)
	madeID      = regexp.MustCompile(`\b(?:mem|req|ses|psg|doc)_[0-9a-f]{6,}|\b[0-9a-f]{16,}\b`)
	scoreFigure = regexp.MustCompile(`\b[01]\.\d{2,}\b`)
)

func TestC057PromptCachePrefixStaysStill(t *testing.T) {
	answers := 0
	r := newRig(t, func(*upstreamtest.Request) *upstreamtest.Script {
		answers++
		return said(fmt.Sprintf("Answer number %d.", answers))
	})
	r.putDocument(t, "", "register.md", registerText)
	w := u1("C057")
	r.addMemory(t, w, "preference", "address", "Call me Robin. STANDING-1")
	topics := []string{"harbour crane", "winter tyres", "solar panels", "bread recipe", "tax return"}
	for i, topic := range topics {
		r.addMemory(t, w, "conclusion", "topic_"+fmt.Sprint(i), fmt.Sprintf("About the %s it was decided to wait until spring. HIT-%d-END", topic, i))
	}
	messages := []string{system(strings.Repeat("You are the assistant of a shipyard. ", 4000/37+1))}
	var before reply
	for i, topic := range topics {
		messages = append(messages, user(fmt.Sprintf("What did we decide about the %s?", topic)))
		a := r.ask(t, w, messages...)
		a.wantOK(t)
		a.wantClientBytes(t)
		a.wantTimes(t, "STANDING-1", 1)
		for j := range topics {
			a.wantTimes(t, fmt.Sprintf("HIT-%d-END", j), map[bool]int{true: 1}[i == j])
		}
		for _, never := range []*regexp.Regexp{clockTime, madeID, scoreFigure} {
			if found := never.FindString(a.injected()); found != "" {
				t.Errorf("the inserted text holds %q:\n%s", found, a.injected())
			}
		}
		if before.up != nil {
			wantPrefix(t, before.cached(), a)
			// The first one alone would be the next turn of a thin client.
			if again := r.ask(t, w, messages...); again.upBody() != a.upBody() {
				t.Errorf("the same request again got\n%s\nbefore\n%s", again.injected(), a.injected())
			}
		}
		var answer struct {
			Choices []struct {
				Message struct {
					Content string `json:"content"`
				} `json:"message"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(a.body), &answer); err != nil {
			t.Fatal(err)
		}
		before, messages = a, append(messages, assistant(answer.Choices[0].Message.Content))
	}
}

// sentMessages are the messages at upstream as they stand in the body, without
// the end of their list.
func (a reply) sentMessages() string {
	_, list, _ := strings.Cut(a.upBody(), `"messages":`)
	return strings.TrimSuffix(list, "]}")
}

// cached is what a provider may keep of the messages for the next turn of the
// user: everything but what was inserted into the last user message, and what
// follows it.
func (a reply) cached() string {
	list := a.sentMessages()
	at := strings.LastIndex(list, `"user"`)
	if at < 0 {
		return list
	}
	if cut := inserted.FindStringIndex(list[at:]); cut != nil {
		return list[:at+cut[0]]
	}
	return list
}

// wantPrefix checks that upstream gets these messages again, byte for byte and
// before all others.
func wantPrefix(t *testing.T, prefix string, after reply) {
	t.Helper()
	got := after.sentMessages()
	if strings.HasPrefix(got, prefix) {
		return
	}
	i := 0
	for i < min(len(got), len(prefix)) && got[i] == prefix[i] {
		i++
	}
	t.Errorf("the kept messages break at byte %d of %d:\nbefore …%s\nafter  …%s", i, len(prefix),
		prefix[max(0, i-60):min(len(prefix), i+200)], got[max(0, i-60):min(len(got), i+200)])
}

func TestC060SystemPromptSurvivesBoth(t *testing.T) {
	r := newRig(t, refusing(instructions))
	r.remember(t, who{tenant: "with-documents", user: "with-memory"})
	r.remember(t, who{tenant: "without-documents", user: "with-memory"})
	r.putDocument(t, "with-documents", "register.md", registerText)
	parts := caseFile(t, "C060.json")
	systemKinds := map[string]string{
		"list":   parts,
		"string": chatBody(system("PART-ONE. PART-TWO."), user("what is my project code")),
		"none":   chatBody(user("what is my project code")),
	}
	client := map[string]string{
		"list":   `{"role":"system","content":[{"type":"text","text":"PART-ONE","cache_control":{"type":"ephemeral"}},{"type":"text","text":"PART-TWO"}`,
		"string": `{"role":"system","content":"PART-ONE. PART-TWO.`,
		"none":   `{"role":"user","content":"what is my project code`,
	}
	count := map[bool]int{true: 1}
	for n := range 24 {
		memory, document, summary := n&1 > 0, n&2 > 0, n&4 > 0
		kind := []string{"list", "string", "none"}[n>>3]
		w := who{tenant: "without-documents", user: "without-memory", session: fmt.Sprintf("C060-%d", n)}
		if document {
			w.tenant = "with-documents"
		}
		if memory {
			w.user = "with-memory"
		}
		if summary {
			r.addMemoryJSON(t, w, map[string]any{"scope": "session", "session_id": w.session, "memory_type": "summary",
				"topic": "summary", "summary": "The project code and its label were talked about. SUMMARY-8"})
		}
		a := r.askBody(t, w, systemKinds[kind])
		a.wantOK(t)
		a.wantClientBytes(t)
		a.wantTimes(t, projectCode, count[memory])
		a.wantTimes(t, registerHit, count[document])
		a.wantTimes(t, "SUMMARY-8", count[summary])
		if at := strings.Index(a.upBody(), `"messages":[`) + len(`"messages":[`); !strings.HasPrefix(a.upBody()[at:], client[kind]) {
			t.Errorf("memory %v, document %v, summary %v, system %s: the client's instructions are not unchanged and first:\n%s", memory, document, summary, kind, a.upBody())
		}
		if !memory && !document && !summary {
			a.wantTransparent(t)
		}
		if kind == "list" && memory {
			a.wantTimes(t, `{"type":"text","text":"<strata-preferences>`, 1)
		}
		if t.Failed() {
			t.Fatalf("memory %v, document %v, summary %v, system %s", memory, document, summary, kind)
		}
	}
}

func TestC061HelperCallsArePassedThrough(t *testing.T) {
	gate := make(chan struct{})
	script, whole := gated(gate)
	r := contextRig(t, func(req *upstreamtest.Request) *upstreamtest.Script {
		if strings.Contains(string(req.Body), `"stream":true`) {
			return script
		}
		return said("A Title")
	})
	w := u1("C061")
	before := r.memories(t, w, "")

	// The real question streams while the front end asks for itself.
	question := caseFile(t, "C061a.json")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.addr+"/v1/chat/completions", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	w.set(req.Header)
	began := time.Now()
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stream := bufio.NewReader(resp.Body)
	readSome(t, stream, event(0))
	if took := time.Since(began); took > 100*time.Millisecond {
		t.Errorf("the first event took %v", took)
	}
	var wg sync.WaitGroup
	for _, name := range []string{"C061b.json", "C061c.json"} {
		wg.Go(func() {
			a := r.askBody(t, w, caseFile(t, name))
			a.wantOK(t)
			a.wantTransparent(t)
			if a.field("reason") != "helper" {
				t.Errorf("%s: X-Strata-Context %q, want reason=helper", name, a.header.Get("X-Strata-Context"))
			}
		})
	}
	wg.Wait()
	close(gate)
	rest, err := io.ReadAll(stream)
	if err != nil || event(0)+string(rest) != whole {
		t.Errorf("the real answer came as %q, %v", rest, err)
	}
	if got := string(r.up.Requests()[1].Body); !strings.Contains(got, projectCode) {
		t.Errorf("the real question got no context:\n%s", got)
	}
	r.flush(t)
	if got := r.turns(t, w); len(got) != 2 || got[0].Content != "what is my project code" {
		t.Errorf("recorded turns: %+v, want the real one", got)
	}
	if got := r.memories(t, w, ""); len(got) != len(before) {
		t.Errorf("memories after the helper calls: %+v, before %+v", got, before)
	}

	// A call can also be marked by header, and a user may really want a title.
	marked := w
	marked.header = http.Header{"X-Strata-Task": {"title"}}
	r.ask(t, marked, user("what is my project code")).wantTransparent(t)
	a := r.ask(t, w, user("Generate a title for my thesis about the project code"))
	a.wantClientBytes(t)
	a.wantTimes(t, projectCode, 1)
	if got := r.turns(t, w); len(got) != 4 {
		t.Errorf("recorded turns: %+v, want two", got)
	}
}

func TestC062StructuredOutputStaysStructured(t *testing.T) {
	asksForForm := []string{"cite", "citation", "list the sources", "注明出处", "标注来源", "markdown", "JSON", "json", "link"}
	r := contextRig(t, func(req *upstreamtest.Request) *upstreamtest.Script {
		answer := `{"code": "ZEBRA-41"}`
		for _, word := range asksForForm[:5] {
			if strings.Contains(string(req.Body), word) {
				answer += "\n\nSources: [1] register.md"
			}
		}
		return said(answer)
	})
	r.putDocument(t, "", "codes.md", "# 项目代号\n\n项目代号登记在项目管理办公室的登记册中。REGISTER-ZH-7\n")
	body := caseFile(t, "C062.json")
	for name, question := range map[string]string{"en": body, "zh": strings.Replace(body, "what is my project code", "我的项目代号是什么？", 1)} {
		a := r.askBody(t, u1("C062-"+name), question)
		a.wantOK(t)
		a.wantClientBytes(t)
		a.wantTimes(t, projectCode, 1)
		a.wantTimes(t, map[string]string{"en": registerHit, "zh": "REGISTER-ZH-7"}[name], 1)
		format := body[strings.Index(body, `"response_format"`):strings.Index(body, `,"messages"`)]
		a.wantTimes(t, format, 1)
		for _, word := range asksForForm {
			if strings.Contains(a.injected(), word) {
				t.Errorf("the inserted text says %q:\n%s", word, a.injected())
			}
		}
		if want := string(r.upAnswer(t, a)); a.body != want {
			t.Errorf("the client got %q, upstream said %q", a.body, want)
		}
		var v struct {
			Choices []struct {
				Message struct {
					Content string `json:"content"`
				} `json:"message"`
			} `json:"choices"`
		}
		var code map[string]string
		if json.Unmarshal([]byte(a.body), &v) != nil || json.Unmarshal([]byte(v.Choices[0].Message.Content), &code) != nil || code["code"] != projectCode {
			t.Errorf("the answer is not the schema's: %s", a.body)
		}
	}
}

// upAnswer asks upstream the same as a did, without Strata between.
func (r *rig) upAnswer(t *testing.T, a reply) []byte {
	t.Helper()
	resp, err := http.Post("http://"+r.up.Addr()+"/v1/chat/completions", "application/json", strings.NewReader(a.upBody()))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestC064StoredTurnsFillInWhatIsMissing(t *testing.T) {
	r := newRig(t, func(req *upstreamtest.Request) *upstreamtest.Script {
		found := regexp.MustCompile(`ASK-\d`).FindAllString(string(req.Body), -1)
		n := "0"
		for _, f := range found {
			n = max(n, f[4:])
		}
		return said("Reply to it: TOLD-" + n)
	})
	question := func(n int) string { return fmt.Sprintf("Tell me a fact about day %d of the voyage, ASK-%d", n, n) }
	answer := func(n int) string { return fmt.Sprintf("Reply to it: TOLD-%d", n) }
	wantTurns := func(a reply, from, to int) {
		t.Helper()
		at := 0
		for n := 1; n <= 6; n++ {
			for _, marker := range []string{fmt.Sprintf("ASK-%d", n), fmt.Sprintf("TOLD-%d", n)} {
				times := strings.Count(a.injected(), marker)
				if want := map[bool]int{true: 1}[n >= from && n <= to]; times != want {
					t.Errorf("%s was inserted %d times, want %d:\n%s", marker, times, want, a.upBody())
				} else if want == 1 {
					if i := strings.Index(a.injected(), marker); i < at {
						t.Errorf("%s is out of order:\n%s", marker, a.injected())
					} else {
						at = i
					}
				}
			}
		}
	}
	store := func(w who) {
		for n := 1; n <= 6; n++ {
			r.ask(t, w, user(question(n))).wantOK(t)
		}
	}
	// Run b: a thin client, which sends the seventh alone.
	thin := u1("C064-b")
	store(thin)
	a := r.ask(t, thin, user(question(7)))
	a.wantClientBytes(t)
	wantTurns(a, 1, 6)
	r.restart(t)
	a = r.ask(t, thin, user(question(8)))
	wantTurns(a, 1, 6)
	a.wantTimes(t, "ASK-7", 1)

	// Run a: all that was said, and a seventh.
	whole := u1("C064-a")
	store(whole)
	var messages []string
	for n := 1; n <= 6; n++ {
		messages = append(messages, user(question(n)), assistant(answer(n)))
	}
	a = r.ask(t, whole, append(messages, user(question(7)))...)
	a.wantClientBytes(t)
	wantTurns(a, 0, -1)

	// Run c: the last three, trimmed.
	some := u1("C064-c")
	store(some)
	messages = nil
	for n := 5; n <= 6; n++ {
		messages = append(messages, user("  "+question(n)+"\n"), assistant(answer(n)+" \n"))
	}
	a = r.ask(t, some, append(messages, user(question(7)))...)
	a.wantClientBytes(t)
	for n := 5; n <= 6; n++ {
		for _, marker := range []string{fmt.Sprintf("ASK-%d", n), fmt.Sprintf("TOLD-%d", n)} {
			if strings.Contains(a.injected(), marker) {
				t.Errorf("%s was inserted though the client sends it:\n%s", marker, a.injected())
			}
		}
	}

	// Many long turns stay within the budget, the latest first.
	long := u1("C064-long")
	for n := range 30 {
		r.ask(t, long, user(fmt.Sprintf("Tell me a fact about the sea, LONG-%02d. %s", n, strings.Repeat("wave after wave after wave ", 60)))).wantOK(t)
	}
	a = r.ask(t, long, user("Thank you, and now a joke about seagulls"))
	a.wantTimes(t, "LONG-29", 1)
	a.wantTimes(t, "LONG-00", 0)
	var tokens int
	if _, err := fmt.Sscan(a.field("tokens"), &tokens); err != nil || tokens == 0 || tokens > 2500 {
		t.Errorf("tokens=%s (%v), want some within the budget", a.field("tokens"), err)
	}
}
