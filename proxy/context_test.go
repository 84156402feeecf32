package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/assemble"
	"strata/intent"
	"strata/internal/upstreamtest"
	"strata/policy"
	"strata/proxy"
	"strata/stores"
)

// ledger is a system of record that tests look into.
type ledger struct {
	mu       sync.Mutex
	opening  stores.Opening
	openErr  error
	recorded []stores.Exchange
	hang     bool // Record takes until its context ends
	scopes   []stores.Scope
}

func (l *ledger) Open(_ context.Context, scope stores.Scope, _ stores.Links) (stores.Opening, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scopes = append(l.scopes, scope)
	o := l.opening
	if o.Session == "" {
		o.Session = scope.Session
	}
	return o, l.openErr
}

func (l *ledger) Record(ctx context.Context, e stores.Exchange) error {
	l.mu.Lock()
	hang := l.hang
	l.recorded = append(l.recorded, e)
	l.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (l *ledger) all() []stores.Exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]stores.Exchange(nil), l.recorded...)
}

// assembler gives the same blocks to every question.
type assembler struct {
	mu      sync.Mutex
	result  assemble.Result
	queries []assemble.Query
}

func (a *assembler) Assemble(_ context.Context, q assemble.Query, _ policy.Plan, _ stores.Opening) assemble.Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queries = append(a.queries, q)
	return a.result
}

func (a *assembler) Probe(context.Context, stores.Scope, string) (float64, int, bool, bool) {
	return 0, 0, false, false
}

// walkTest is a data plane with a ledger and an assembler to look into.
type walkTest struct {
	*strata
	up       *upstreamtest.Server
	ledger   *ledger
	assembly *assembler
	finished chan proxy.Finished
}

func startWalk(t *testing.T, handler upstreamtest.Handler, change func(*proxy.Config)) *walkTest {
	t.Helper()
	if handler == nil {
		handler = upstreamtest.Always(upstreamtest.JSON(200, chatAnswer))
	}
	w := &walkTest{up: upstreamtest.New(t, handler), ledger: new(ledger), finished: make(chan proxy.Finished, 1000)}
	w.assembly = &assembler{result: assemble.Result{Stable: "STABLE", Volatile: "VOLATILE", Context: "full", Tokens: 7,
		StableIDs: []string{"mem_1"}, Items: []string{"psg_1"}, Layers: []assemble.LayerUse{{Name: "memory", IDs: []string{"mem_1"}, Tokens: 7}}}}
	identity, err := policy.NewIdentity(policy.IdentityConfig{Tenant: "T1", Mode: policy.On, Stage: policy.Recall, Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	w.strata = start(t, w.up.URL(), func(c *proxy.Config) {
		c.Context = &proxy.Context{Identity: identity, Keys: policy.NewKeys([]byte("0123456789abcdef0123456789abcdef")),
			Classifier: intent.New(), Plans: policy.DefaultTable(), Ledger: w.ledger, Assembler: w.assembly,
			Finished: func(f proxy.Finished) { w.finished <- f }}
		if change != nil {
			change(c)
		}
	})
	return w
}

func (w *walkTest) ask(t *testing.T, body string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	return post(t, client(t), w.url+"/v1/chat/completions", []byte(body), append([]string{"X-Strata-User", "U1"}, headers...)...)
}

const systemBody = `{"model":"m","messages":[{"role":"system","content":"be kind"},{"role":"user","content":"hi there, what is up"}]}`

// What is gathered stands in the two places, and the answer says so.
func TestInsertion(t *testing.T) {
	w := startWalk(t, nil, nil)
	resp, got := w.ask(t, systemBody)
	want := `{"model":"m","messages":[{"role":"system","content":"be kind\n\nSTABLE"},{"role":"user","content":"hi there, what is up\n\nVOLATILE"}]}`
	if sent := string(lastRequest(t, w.up, 1).Body); sent != want {
		t.Errorf("upstream got\n%s\nwant\n%s", sent, want)
	}
	if string(got) != chatAnswer {
		t.Errorf("answer %q", got)
	}
	if h := resp.Header.Get("X-Strata-Context"); h != "full; tokens=7" {
		t.Errorf("X-Strata-Context: %q", h)
	}
	if h := resp.Header.Get("X-Strata-Intent"); !strings.HasPrefix(h, "chat; confidence=") {
		t.Errorf("X-Strata-Intent: %q", h)
	}
	if h := resp.Header.Get("X-Strata-Session"); !strings.HasPrefix(h, "ses_") {
		t.Errorf("X-Strata-Session: %q", h)
	}
	e := w.ledger.all()
	if len(e) != 1 || e[0].Asked != "hi there, what is up" || e[0].Answer != "hello" || e[0].Status != stores.Complete || !e[0].Finished || !e[0].Learn ||
		e[0].AnswerID != "chatcmpl-1" || e[0].Scope.User != "U1" || e[0].Scope.Session != resp.Header.Get("X-Strata-Session") || e[0].ID != resp.Header.Get("X-Strata-Request-Id") {
		t.Errorf("recorded %+v", e)
	}
	f := <-w.finished
	if f.Tokens != 7 || f.User != "U1" || f.Context != "full" || f.Status != "complete" || len(f.Layers) != 1 {
		t.Errorf("finished %+v", f)
	}
}

// The record is there before the client has the end of the answer, whatever
// its form.
func TestRecordedBeforeTheEnd(t *testing.T) {
	stream := []byte("data: {\"id\":\"s1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\n")
	done := []byte("data: [DONE]\n\n")
	for name, script := range map[string]*upstreamtest.Script{
		"length":             upstreamtest.JSON(200, chatAnswer),
		"stream":             upstreamtest.SSE(append(bytes.Clone(stream), done...), nil, 0),
		"stream without end": upstreamtest.SSE(stream, nil, 0),
		"stream to the end of the connection": upstreamtest.Pieces(upstreamtest.Respond(200).Header("Content-Type", "text/event-stream").
			Frame(upstreamtest.CloseDelimited), [][]byte{stream, done}, 0),
	} {
		t.Run(name, func(t *testing.T) {
			w := startWalk(t, upstreamtest.Always(script), nil)
			w.ask(t, systemBody) // returns at the end of the body
			if e := w.ledger.all(); len(e) != 1 || e[0].Answer != "hello" || e[0].Status != stores.Complete {
				t.Errorf("recorded %+v", e)
			}
		})
	}
}

// A record that hangs costs a bounded time and is counted.
func TestLateRecord(t *testing.T) {
	w := startWalk(t, nil, nil)
	w.ledger.hang = true
	began := time.Now()
	if _, got := w.ask(t, systemBody); string(got) != chatAnswer {
		t.Errorf("answer %q", got)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
	if n := w.counter(t, "strata_exchanges_late_total"); n != 1 {
		t.Errorf("late %v, want 1", n)
	}
}

// What ends badly is recorded as such and not learned from.
func TestRecordedStatus(t *testing.T) {
	cut := upstreamtest.Respond(200).Header("Content-Type", "text/event-stream").
		Write([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hal\"}}]}\n\n")).Reset()
	tools := `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	for _, c := range []struct {
		name     string
		script   *upstreamtest.Script
		status   stores.ExchangeStatus
		finished bool
	}{
		{"error status", upstreamtest.JSON(500, `{"error":{"message":"x"}}`), stores.Failed, false},
		{"tool calls", upstreamtest.JSON(200, tools), stores.Complete, false},
		{"cut", cut, stores.Aborted, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := startWalk(t, upstreamtest.Always(c.script), nil)
			req, _ := http.NewRequest("POST", w.url+"/v1/chat/completions", strings.NewReader(systemBody))
			req.Header.Set("X-Strata-User", "U1")
			if resp, err := client(t).Do(req); err == nil {
				_, _ = new(bytes.Buffer).ReadFrom(resp.Body)
				resp.Body.Close()
			}
			<-w.finished
			if e := w.ledger.all(); len(e) != 1 || e[0].Status != c.status || e[0].Finished != c.finished || e[0].Learn {
				t.Errorf("recorded %+v", e)
			}
		})
	}
}

// Modes and callers decide what is inserted and what is kept.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		name           string
		headers        []string
		context        string // begins
		injected, turn bool
		learn          bool
	}{
		{"on", nil, "full; tokens=7", true, true, true},
		{"observe", []string{"X-Strata-Mode", "observe"}, "none; tokens=0; reason=observe", false, true, false},
		{"read-only", []string{"X-Strata-Mode", "read-only"}, "full; tokens=7", true, false, false},
		{"write-only", []string{"X-Strata-Mode", "write-only"}, "none; tokens=0", false, true, true},
		{"unknown mode", []string{"X-Strata-Mode", "maybe"}, "full; tokens=7", true, true, true},
		{"no user", []string{"X-Strata-User", ""}, "full; tokens=7", true, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := startWalk(t, nil, nil)
			resp, _ := w.ask(t, systemBody, c.headers...)
			if h := resp.Header.Get("X-Strata-Context"); !strings.HasPrefix(h, c.context) {
				t.Errorf("X-Strata-Context: %q", h)
			}
			if sent := string(lastRequest(t, w.up, 1).Body); strings.Contains(sent, "VOLATILE") != c.injected {
				t.Errorf("upstream got %s", sent)
			}
			e := w.ledger.all()
			if len(e) != 1 || e[0].ReceiptOnly == c.turn || (e[0].Asked != "") != c.turn || e[0].Learn != c.learn || len(e[0].Receipt) == 0 {
				t.Errorf("recorded %+v", e)
			}
		})
	}
}

// A tenant that is named wrongly is nobody's: nothing is read or kept.
func TestWrongTenant(t *testing.T) {
	w := startWalk(t, nil, nil)
	resp, got := w.ask(t, systemBody, "X-Strata-Tenant", "a,b")
	if h := resp.Header.Get("X-Strata-Context"); string(got) != chatAnswer || h != "none; tokens=0; reason=no_user; fix=identity; cause=list" {
		t.Errorf("%q %q", h, got)
	}
	if len(w.ledger.all()) != 0 || len(w.ledger.scopes) != 0 {
		t.Errorf("recorded %v, read %v", w.ledger.all(), w.ledger.scopes)
	}
}

// Helper calls and mode off go through as they are and leave no trace.
func TestBypassed(t *testing.T) {
	title := `{"model":"m","messages":[{"role":"user","content":"### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Guidelines:\n- x\n### Output:\nJSON format: { \"title\": \"t\" }\n### Chat History:\n<chat_history>\nUSER: a\n</chat_history>"}]}`
	for name, c := range map[string]struct {
		body    string
		headers []string
		reason  string
	}{
		"off":      {systemBody, []string{"X-Strata-Mode", "off"}, "off"},
		"task":     {systemBody, []string{"X-Strata-Task", "title"}, "helper"},
		"template": {title, nil, "helper"},
		"signed":   {systemBody, []string{"Content-Digest", "sha-256=:x:"}, "signed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := startWalk(t, nil, nil)
			resp, _ := w.ask(t, c.body, c.headers...)
			if h := resp.Header.Get("X-Strata-Context"); h != "bypassed; tokens=0; reason="+c.reason {
				t.Errorf("X-Strata-Context: %q", h)
			}
			if sent := string(lastRequest(t, w.up, 1).Body); sent != c.body {
				t.Errorf("upstream got %s", sent)
			}
			if e := w.ledger.all(); len(e) != 0 {
				t.Errorf("recorded %+v", e)
			}
		})
	}
}

// Without an answer of the ledger nothing is served, and the call goes on.
func TestLedgerAway(t *testing.T) {
	w := startWalk(t, nil, nil)
	w.ledger.openErr = errors.New("away")
	resp, got := w.ask(t, systemBody)
	if string(got) != chatAnswer || resp.Header.Get("X-Strata-Context") != "none; tokens=0; reason=ledger" {
		t.Errorf("%q %q", resp.Header.Get("X-Strata-Context"), got)
	}
	if sent := string(lastRequest(t, w.up, 1).Body); sent != systemBody {
		t.Errorf("upstream got %s", sent)
	}
}

// A refused request with context is sent once more without it; the third time
// the model gets none for a while.
func TestRefusedContext(t *testing.T) {
	w := startWalk(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		if bytes.Contains(r.Body, []byte("VOLATILE")) {
			return upstreamtest.JSON(400, `{"error":{"message":"System message must be at the beginning"}}`)
		}
		return upstreamtest.JSON(200, chatAnswer)
	}, nil)
	for i := range 4 {
		resp, got := w.ask(t, systemBody)
		if resp.StatusCode != 200 || string(got) != chatAnswer || resp.Header.Get("X-Strata-Context") != "none; tokens=0; reason=refused" {
			t.Errorf("%d: %d %q %q", i, resp.StatusCode, resp.Header.Get("X-Strata-Context"), got)
		}
	}
	if n := w.up.Calls(); n != 7 {
		t.Errorf("%d calls upstream, want 2+2+2+1", n)
	}
	for _, e := range w.ledger.all() {
		if len(e.Items) > 0 || e.Status != stores.Complete {
			t.Errorf("recorded %+v", e)
		}
	}
	// An error that is the client's own stays the client's.
	bad := strings.Replace(systemBody, `"m"`, `"other"`, 1)
	w.up.SetHandler(upstreamtest.Always(upstreamtest.JSON(422, `{"error":{"message":"own"}}`)))
	if resp, got := w.ask(t, bad); resp.StatusCode != 422 || !strings.Contains(string(got), "own") {
		t.Errorf("%d %q", resp.StatusCode, got)
	}
}

// Explaining shows the decision and the bytes, and calls nobody.
func TestExplain(t *testing.T) {
	w := startWalk(t, nil, nil)
	resp, got := w.ask(t, systemBody, "X-Strata-Explain", "1")
	var e struct {
		Intent, Stage, Context, Body string
		Stable                       string `json:"stable_block"`
		Volatile                     string `json:"volatile_block"`
		Layers                       []assemble.LayerUse
		Skipped                      []assemble.Skipped
	}
	if err := json.Unmarshal(got, &e); err != nil {
		t.Fatalf("%v in %q", err, got)
	}
	if resp.StatusCode != 200 || e.Intent != "chat" || e.Stable != "STABLE" || e.Volatile != "VOLATILE" || len(e.Layers) != 1 || e.Skipped == nil ||
		!strings.Contains(e.Body, `be kind\n\nSTABLE`) {
		t.Errorf("%d %+v", resp.StatusCode, e)
	}
	if _, got := w.ask(t, systemBody, "X-Strata-Explain", "1", "X-Strata-Mode", "off"); !strings.Contains(string(got), `"reason":"off"`) {
		t.Errorf("bypassed: %q", got)
	}
	if w.up.Calls() != 0 || len(w.ledger.all()) != 0 {
		t.Errorf("%d calls, recorded %v", w.up.Calls(), w.ledger.all())
	}
}

func TestExplainNeedsTrust(t *testing.T) {
	w := startWalk(t, nil, func(c *proxy.Config) { c.Loopback, c.AdminToken = false, "secret" })
	if resp, _ := w.ask(t, systemBody, "X-Strata-Explain", "1"); resp.StatusCode != 403 || resp.Header.Get("X-Strata-Error") != "explain_not_allowed" {
		t.Errorf("%d", resp.StatusCode)
	}
	if resp, _ := w.ask(t, systemBody, "X-Strata-Explain", "1", "Authorization", "Bearer secret"); resp.StatusCode != 200 {
		t.Errorf("with the token: %d", resp.StatusCode)
	}
	if w.up.Calls() != 0 {
		t.Errorf("%d calls", w.up.Calls())
	}
}

// C086: answers are recorded under their own questions, whichever ends first.
func TestPairsAtOnce(t *testing.T) {
	w := startWalk(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		word := string(r.Body[bytes.Index(r.Body, []byte("word-"))+5:])
		word = word[:strings.IndexByte(word, ' ')]
		wait := time.Millisecond
		if strings.HasPrefix(word, "A") {
			wait = 50 * time.Millisecond
		}
		return upstreamtest.ChatStream([]string{"ans-", word}, wait)
	}, nil)
	var wg sync.WaitGroup
	for i := range 25 {
		for _, kind := range []string{"A", "B"} {
			wg.Add(1)
			go func() {
				defer wg.Done()
				body := fmt.Sprintf(`{"model":"m","stream":true,"messages":[{"role":"user","content":"word-%s-%d please"}]}`, kind, i)
				w.ask(t, body, "X-Strata-Session", "S1")
			}()
		}
	}
	wg.Wait()
	all := w.ledger.all()
	if len(all) != 50 {
		t.Errorf("%d recorded, want 50", len(all))
	}
	for _, e := range all {
		word := strings.TrimSuffix(strings.TrimPrefix(e.Asked, "word-"), " please")
		if e.Answer != "ans-"+word || e.Scope.Session != "S1" {
			t.Errorf("%q has the answer %q in %q", e.Asked, e.Answer, e.Scope.Session)
		}
	}
}

// Off the record: the turn is known to have been, its words are not kept.
func TestOffTheRecord(t *testing.T) {
	w := startWalk(t, nil, nil)
	for _, words := range []string{"Off the record: my wife is ill.", "这段不要记：我妻子生病了。"} {
		w.ask(t, `{"model":"m","messages":[{"role":"user","content":"`+words+`"}]}`)
	}
	for _, e := range w.ledger.all() {
		if e.Asked != "" || e.Answer != "" || e.Learn {
			t.Errorf("recorded %+v", e)
		}
	}
}
