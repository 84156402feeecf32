package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/intent"
	"strata/internal/upstreamtest"
	"strata/stores"
	"strata/stores/ledger"
)

// unsureWords are words that may be of two kinds, and what is decided of them.
func unsureWords(t *testing.T) (words string, decided intent.Intent) {
	t.Helper()
	for _, words := range []string{"how about numbers", "数据安全", "客户情况", "budget", "总结一下这个报告", "客户投诉处理", "sales rules", "the overview"} {
		if v := intent.New().Classify([]intent.Message{{Role: "user", Text: words}}, intent.Hints{}); v.NearMiss() {
			return words, v.Intent
		}
	}
	t.Fatal("the classifier is sure of all these words; add some that may be of two kinds")
	return "", ""
}

// judged runs the program before an upstream whose model small answers by
// script, says words, and returns what that model is asked.
func judged(t *testing.T, script *upstreamtest.Script, words string) (s *serving, code <-chan int, data string, asked <-chan string) {
	t.Helper()
	questions := make(chan string, 10)
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		var body struct {
			Model    string
			Messages []struct{ Content string }
		}
		if json.Unmarshal(r.Body, &body) == nil && body.Model == "small" && r.Get("Authorization") == "Bearer sk-upstream" {
			questions <- body.Messages[1].Content
			return script
		}
		return upstreamtest.JSON(200, `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Noted."}}]}`)
	})
	data = filepath.Join(t.TempDir(), "data")
	s, code = here(t, map[string]string{"STRATA_DATA_DIR": data, "STRATA_ADMIN_TOKEN": "t", "STRATA_UPSTREAM_BASE_URL": up.URL(),
		"STRATA_UPSTREAM_API_KEY": "sk-upstream", "STRATA_INTENT_JUDGE_MODEL": "small"})
	s.sayIn(t, "s1", words)
	return s, code, data, questions
}

// sayIn says something as alice in a session.
func (s *serving) sayIn(t *testing.T, session, words string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.data+"/v1/chat/completions", strings.NewReader(fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]}`, words)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Strata-User", "alice")
	req.Header.Set("X-Strata-Session", session)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%d %s, %v", resp.StatusCode, b, err)
	}
}

// next is what the model is asked next.
func next(t *testing.T, asked <-chan string) string {
	t.Helper()
	select {
	case question := <-asked:
		return question
	case <-time.After(20 * time.Second):
		t.Fatal("the model is not asked")
		return ""
	}
}

// A model that sees another kind has the last word, for the turns that follow.
func TestJudged(t *testing.T) {
	words, decided := unsureWords(t)
	other := map[intent.Intent]string{intent.Chat: "rag", intent.RAG: "data", intent.Data: "chat"}[decided]
	s, code, data, asked := judged(t, upstreamtest.JSON(200, `{"choices":[{"message":{"role":"assistant","content":"`+other+`."}}]}`), words)
	if question := next(t, asked); question != "<message>\n"+words+"\n</message>" {
		t.Errorf("asked %q", question)
	}
	eventually(t, "the verdict is counted", func() bool {
		_, metrics := get(t, s.admin+"/metrics", "")
		return strings.Contains(metrics, `strata_intent_judged_total{result="changed"} 1`)
	})
	if got, _ := s.end(t, code); got != 0 {
		t.Errorf("exit code %d\n%s", got, s.log)
	}
	l, err := ledger.New(t.Context(), ledger.Config{Path: filepath.Join(data, "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o, err := l.Open(t.Context(), stores.Scope{Tenant: "default", User: "alice", Session: "s1"}, stores.Links{})
	if err != nil || o.LastIntent != other {
		t.Errorf("the session's last intent is %q, want %q, %v", o.LastIntent, other, err)
	}
}

// A model that never answers costs neither the client nor the end any time.
func TestEndWhileJudging(t *testing.T) {
	words, _ := unsureWords(t)
	s, code, _, asked := judged(t, upstreamtest.Respond(200).Silence(), words)
	next(t, asked)
	began := time.Now()
	if s.sayIn(t, "s2", "good morning"); time.Since(began) > 3*time.Second {
		t.Error("a request waited for the model")
	}
	if _, metrics := get(t, s.admin+"/metrics", ""); !strings.Contains(metrics, `strata_intent_judged_total{result="dropped"} 0`) {
		t.Error("the metric is not there from the start")
	}
	got, took := s.end(t, code)
	if got != 0 || took > 3*time.Second || strings.Contains(s.log.String(), "sk-upstream") {
		t.Errorf("exit code %d after %v\n%s", got, took, s.log)
	}
}
