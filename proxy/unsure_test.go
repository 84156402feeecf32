package proxy_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"strata/intent"
	"strata/internal/upstreamtest"
	"strata/proxy"
)

// torn are words that may be of two kinds, and the messages that end with them.
func torn(t *testing.T) (messages, words string) {
	t.Helper()
	return tornWith(t, "")
}

// tornWith are such words with an ending.
func tornWith(t *testing.T, ending string) (messages, words string) {
	t.Helper()
	const before = `{"role":"user","content":"How many days of leave?"},{"role":"assistant","content":"25 days."},`
	for _, words := range []string{"how about numbers", "数据安全", "客户情况", "budget", "what about the numbers then", "总结一下这个报告", "客户投诉处理"} {
		words += ending
		v := intent.New().Classify([]intent.Message{{Role: "user", Text: "How many days of leave?"}, {Role: "assistant", Text: "25 days."}, {Role: "user", Text: words}}, intent.Hints{})
		if v.NearMiss() {
			return before + `{"role":"user","content":"` + words + `"}`, words
		}
	}
	t.Fatal("the classifier is sure of all these words; add some that may be of two kinds")
	return "", ""
}

// Recorded exchanges whose intent was a near miss are told, and only those
// that somebody may look at again.
func TestUnsure(t *testing.T) {
	messages, words := torn(t)
	private, _ := tornWith(t, ". Off the record.")
	var mu sync.Mutex
	var told []proxy.Unsure
	w := startWalk(t, nil, func(c *proxy.Config) {
		c.Context.Unsure = func(u proxy.Unsure) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, u)
		}
	})
	body := `{"model":"m","messages":[` + messages + `]}`
	resp, _ := w.ask(t, body, "X-Strata-Session", "s1")
	mu.Lock()
	if len(told) != 1 || told[0].Words != words || told[0].Before != "How many days of leave?" || told[0].Scope.User != "U1" || told[0].Scope.Session != "s1" ||
		told[0].ID != resp.Header.Get("X-Strata-Request-Id") || !strings.HasPrefix(resp.Header.Get("X-Strata-Intent"), string(told[0].Intent)+";") {
		t.Errorf("told %+v", told)
	}
	told = nil
	mu.Unlock()

	w.ask(t, `{"model":"m","messages":[{"role":"user","content":"Translate this sentence into French, please: good morning, how are you today?"}]}`)
	w.ask(t, `{"model":"m","messages":[`+private+`]}`)
	for _, headers := range [][]string{{"X-Strata-Intent", "data"}, {"X-Strata-Mode", "read-only"}, {"X-Strata-Mode", "observe"}, {"X-Strata-Mode", "write-only"},
		{"X-Strata-Mode", "off"}, {"X-Strata-User", ""}, {"X-Strata-Task", "title"}} {
		w.ask(t, body, headers...)
	}
	calls := `{"id":"c","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}`
	w.up.SetHandler(upstreamtest.Always(upstreamtest.JSON(200, calls)))
	w.ask(t, body)
	w.up.SetHandler(upstreamtest.Always(upstreamtest.JSON(500, `{"error":{"message":"x"}}`)))
	w.ask(t, body)
	w.up.SetHandler(upstreamtest.Always(upstreamtest.JSON(200, chatAnswer)))
	w.ledger.mu.Lock()
	w.ledger.hang = true
	w.ledger.mu.Unlock()
	w.ask(t, body)
	mu.Lock()
	defer mu.Unlock()
	for _, u := range told {
		t.Errorf("told of %q too", u.Words)
	}
}

// What decides where the words do not is asked with the model and the path
// that the client wrote.
func TestDefaultIntent(t *testing.T) {
	asked := make(chan string, 10)
	w := startWalk(t, nil, func(c *proxy.Config) {
		c.Context.DefaultIntent = func(model, path string) intent.Intent {
			asked <- model + " " + path
			return intent.RAG
		}
	})
	for path, want := range map[string]string{"/hr/v1/chat/completions?x=1": "/hr/v1/chat/completions", "/v1/v1/chat/completions": "/v1/v1/chat/completions"} {
		resp, _ := post(t, client(t), w.url+path, []byte(`{"model":"m","messages":[{"role":"user","content":"?"}]}`), "X-Strata-User", "U1")
		if got := resp.Header.Get("X-Strata-Intent"); !strings.HasPrefix(got, "rag; ") || !strings.HasSuffix(got, "stage=abstain") {
			t.Errorf("%s: X-Strata-Intent: %q", path, got)
		}
		select {
		case got := <-asked:
			if got != "m "+want {
				t.Errorf("%s: asked about %s", path, got)
			}
		case <-time.After(time.Second):
			t.Errorf("%s: not asked", path)
		}
	}
	resp, _ := w.ask(t, `{"model":"m","messages":[{"role":"user","content":"Translate this sentence into French: good morning, how are you?"}]}`)
	if got := resp.Header.Get("X-Strata-Intent"); !strings.HasPrefix(got, "chat; ") {
		t.Errorf("words that say it: %q", got)
	}
}
