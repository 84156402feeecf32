package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

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
