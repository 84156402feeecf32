package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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

// caseFile is the input of one of the recorded cases.
func caseFile(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
