package admin_test

import (
	"strings"
	"testing"

	"strata/admin"
	"strata/admin/admintest"
)

// shown is an example of an intent as the control plane shows it.
type shown struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	Intent  string `json:"intent"`
	Source  string `json:"source"`
	Request string `json:"request_id"`
	User    string `json:"user"`
	Session string `json:"session_id"`
}

func TestIntentExamples(t *testing.T) {
	p := newPlane(t)
	p.store.Say("default", "alice", "s1", "req_1", "How many days of leave do I have? Call me at 13800138000.", "30")
	p.store.Say("default", "bob", "s2", "req_2", "画一张各门店的柱状图", "好")
	var first, second, third shown
	p.want(201, &first, "POST", "/v1/intents/examples", `{"request_id":"req_1","intent":"rag"}`)
	want := shown{first.ID, "How many days of leave do I have? Call me at [redacted:phone].", "rag", "fix", "req_1", "alice", "s1"}
	if first != want {
		t.Errorf("of a request:\n got %+v\nwant %+v", first, want)
	}
	p.want(201, &second, "POST", "/v1/intents/examples", `{"request_id":"chatcmpl-req_2","intent":"data"}`, "X-Strata-User", "bob")
	p.want(201, &third, "POST", "/v1/intents/examples", `{"text":" what does 谢谢 mean, key sk-proj-Ab12Cd34Ef56Gh78Ij90Kl12Mn34Op56Qr78St90 ","intent":"chat"}`)
	if third.Source != "import" || third.User != "" || !strings.HasPrefix(third.Text, "what does 谢谢 mean, key [redacted:") {
		t.Errorf("of a text: %+v", third)
	}

	var page struct {
		Examples []shown `json:"examples"`
		Next     string  `json:"next_cursor"`
	}
	p.want(200, &page, "GET", "/v1/intents/examples?limit=2", "")
	if len(page.Examples) != 2 || page.Examples[0] != third || page.Examples[1] != second || page.Next == "" {
		t.Errorf("the first page: %+v", page)
	}
	p.want(200, &page, "GET", "/v1/intents/examples?cursor="+page.Next, "")
	if len(page.Examples) != 1 || page.Examples[0] != first || page.Next != "" {
		t.Errorf("the last page: %+v", page)
	}
	p.want(200, &page, "GET", "/v1/intents/examples?user=bob", "")
	if len(page.Examples) != 1 || page.Examples[0] != second {
		t.Errorf("bob's: %+v", page)
	}
	rows := `{"lang":"en","label":"RAG","text":"How many days of leave do I have? Call me at [redacted:phone].","source":"fix"}
{"lang":"zh","label":"DATA","text":"画一张各门店的柱状图","source":"fix"}
{"lang":"en","label":"CHAT","text":"what does 谢谢 mean, key [redacted:key]","source":"fix"}`
	if got := p.want(200, nil, "GET", "/v1/intents/examples.jsonl", ""); got != rows {
		t.Errorf("as training rows:\n%s\nwant\n%s", got, rows)
	}
	if got := p.want(200, nil, "GET", "/v1/intents/examples.jsonl", "", "X-Strata-Tenant", "other"); got != "" {
		t.Errorf("another tenant's rows: %s", got)
	}
	if got := p.want(200, nil, "GET", "/v1/users/alice", ""); !strings.Contains(got, `"intent_examples":[{"id":"`+first.ID+`"`) {
		t.Errorf("alice's export: %s", got)
	}
	p.want(404, nil, "DELETE", "/v1/intents/examples/"+first.ID+"?user=bob", "")
	p.want(404, nil, "DELETE", "/v1/intents/examples/"+first.ID, "", "X-Strata-Tenant", "other")
	p.want(200, nil, "DELETE", "/v1/intents/examples/"+first.ID, "")
	p.want(404, nil, "DELETE", "/v1/intents/examples/"+first.ID, "")
}

// Where the words of a request are not there, the text in their place is taken.
func TestIntentExampleByText(t *testing.T) {
	p := newPlane(t)
	p.store.Say("default", "alice", "s1", "req_quiet", "", "ok")
	for id, want := range map[string]shown{
		"req_quiet": {"", "How many days?", "rag", "fix", "req_quiet", "alice", ""},
		"req_none":  {"", "How many hours?", "rag", "import", "", "", ""},
	} {
		code := map[string]string{"req_quiet": "words_not_recorded", "req_none": "not_found"}[id]
		status, got := p.ask("POST", "/v1/intents/examples", `{"request_id":"`+id+`","intent":"rag"}`)
		if status/100 != 4 || !strings.Contains(got, code) || !strings.Contains(got, "send the message itself as text") {
			t.Errorf("%s: %d %s", id, status, got)
		}
		var e shown
		p.want(201, &e, "POST", "/v1/intents/examples", `{"request_id":"`+id+`","intent":"rag","text":"`+want.Text+`"}`)
		if e.ID, e.Session = "", ""; e != want {
			t.Errorf("%s:\n got %+v\nwant %+v", id, e, want)
		}
	}
	// A long text is kept as far as the classifier sees it.
	var e shown
	long := "请按制度回答" + strings.Repeat("中", 5000) + "报销要几天"
	p.want(201, &e, "POST", "/v1/intents/examples", `{"text":"`+long+`","intent":"rag"}`)
	if len(e.Text) > 4000 || !strings.HasPrefix(e.Text, "请按制度回答中") || !strings.HasSuffix(e.Text, "中报销要几天") || strings.Contains(e.Text, "\uFFFD") {
		t.Errorf("a long text: %d bytes, %q", len(e.Text), e.Text[:20])
	}
}

func TestIntentExampleMistakes(t *testing.T) {
	p := newPlane(t)
	p.store.Say("default", "alice", "s1", "req_1", "hello there", "30")
	for _, c := range []struct {
		name, body string
		want       int
		code       string
		headers    []string
	}{
		{"an unknown intent", `{"request_id":"req_1","intent":"sql"}`, 400, "“sql” is none; one of chat, rag, data", nil},
		{"another spelling", `{"request_id":"req_1","intent":"RAG"}`, 400, "“RAG” is none", nil},
		{"no intent", `{"request_id":"req_1"}`, 400, "intent", nil},
		{"neither request nor text", `{"intent":"rag","text":" "}`, 400, "request_id", nil},
		{"no word", `{"intent":"rag","text":"?!"}`, 400, "holds no word", nil},
		{"a mistyped field", `{"intent":"rag","txt":"a"}`, 400, "unknown_field", nil},
		{"another user's request", `{"request_id":"req_1","intent":"rag"}`, 404, "not_found", []string{"X-Strata-User", "bob"}},
		{"another tenant's request", `{"request_id":"req_1","intent":"rag"}`, 404, "not_found", []string{"X-Strata-Tenant", "other"}},
	} {
		if status, got := p.ask("POST", "/v1/intents/examples", c.body, c.headers...); status != c.want || !strings.Contains(got, c.code) {
			t.Errorf("%s: %d %s, want %d %s", c.name, status, got, c.want, c.code)
		}
	}
	off := newPlane(t, func(c *admin.Config) { c.Intents = nil })
	off.want(503, nil, "GET", "/v1/intents/examples", "")
}

var _ admin.Intents = (*admintest.Store)(nil)
