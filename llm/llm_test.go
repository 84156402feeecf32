package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"strata/internal/upstreamtest"
	"strata/llm"
)

const key = "sk-proj-abcdefghijklmnopqrstuv"

func answer(text string) *upstreamtest.Script {
	content, _ := json.Marshal(text)
	return upstreamtest.JSON(200, `{"id":"c","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":`+string(content)+`}}]}`)
}

// asked is what a model was sent.
type asked struct {
	Model    string
	Messages []struct{ Role, Content string }
	Max      int `json:"max_tokens"`
	MaxAll   int `json:"max_completion_tokens"`
	Stream   bool
}

func TestAsk(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(answer("rag")))
	c := llm.New(llm.Config{BaseURL: up.URL() + "/v1", APIKey: key})
	for model, limit := range map[string][2]int{"small": {7, 0}, "gpt-5-mini": {0, 7}, "o3": {0, 7}} {
		got, err := c.Ask(t.Context(), model, "sort it", "年假几天？", 7)
		if err != nil || got != "rag" {
			t.Fatalf("%s: %q, %v", model, got, err)
		}
		sent := up.Requests()[up.Calls()-1]
		var a asked
		if err := json.Unmarshal(sent.Body, &a); err != nil {
			t.Fatal(err)
		}
		if a.Model != model || a.Stream || len(a.Messages) != 2 || a.Messages[0].Role != "system" || a.Messages[0].Content != "sort it" ||
			a.Messages[1].Role != "user" || a.Messages[1].Content != "年假几天？" || a.Max != limit[0] || a.MaxAll != limit[1] {
			t.Errorf("%s: sent %s", model, sent.Body)
		}
		if sent.Target != "/v1/chat/completions" || sent.Get("Authorization") != "Bearer "+key {
			t.Errorf("%s: sent to %s with %q", model, sent.Target, sent.Get("Authorization"))
		}
	}
}

// What goes wrong is told without the key and without what the API wrote, and
// nothing is sent twice.
func TestFailures(t *testing.T) {
	elsewhere := upstreamtest.New(t, upstreamtest.Always(answer("chat")))
	echo := `{"error":{"message":"bad key ` + key + `","type":"invalid_request_error","code":"` + key + `"}}`
	for name, c := range map[string]struct {
		script *upstreamtest.Script
		want   string
	}{
		"refused":     {upstreamtest.JSON(401, echo), "status 401"},
		"overloaded":  {upstreamtest.JSON(529, "try "+key), "status 529"},
		"redirect":    {upstreamtest.Respond(307).Header("Location", elsewhere.URL()+"/v1/chat/completions?key="+key), "redirect"},
		"no JSON":     {upstreamtest.JSON(200, "<html>"), "invalid character"},
		"no choice":   {upstreamtest.JSON(200, `{"choices":[]}`), "without a choice"},
		"cut":         {upstreamtest.Respond(200).Header("Content-Length", "100").Write([]byte(`{"choices"`)).Reset(), ""},
		"no end":      {upstreamtest.Respond(200).Frame(upstreamtest.CloseDelimited).Write([]byte(`{"id":"` + strings.Repeat("a", 2<<20) + `","choices":[{"message":{"content":"rag"}}]}`)), "longer"},
		"no HTTP":     {upstreamtest.Respond(200).Interim([]byte("Bearer " + key + "\r\n\r\n")).CloseNow(), "malformed"},
		"silence":     {upstreamtest.Respond(200).Silence(), "in time"},
		"half a body": {upstreamtest.Respond(200).Header("Content-Length", "100").Write([]byte(`{"choices":`)).Silence(), "in time"},
	} {
		t.Run(name, func(t *testing.T) {
			up := upstreamtest.New(t, upstreamtest.Always(c.script))
			client := llm.New(llm.Config{BaseURL: up.URL() + "/v1", APIKey: key, Timeout: 300 * time.Millisecond})
			began := time.Now()
			got, err := client.Ask(t.Context(), "m", "s", "u", 5)
			if err == nil || got != "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q, %v; want an error with %q", got, err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), key) || strings.Contains(err.Error(), elsewhere.URL())) {
				t.Errorf("the error tells too much: %v", err)
			}
			if errors.Is(err, llm.ErrTimeout) != (c.want == "in time") || time.Since(began) > 5*time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			if up.Calls() != 1 || elsewhere.Calls() != 0 {
				t.Errorf("%d calls, %d elsewhere", up.Calls(), elsewhere.Calls())
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	_, err = llm.New(llm.Config{BaseURL: "http://" + ln.Addr().String(), APIKey: key}).Ask(t.Context(), "m", "s", "u", 5)
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}

// Five failures in a row end the calls for a minute; then one finds out.
func TestBreaker(t *testing.T) {
	var good atomic.Bool
	var client *llm.Client
	beside := make(chan error, 100) // what another call gets while one is under way
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		if strings.Contains(string(r.Body), "trial") {
			_, err := client.Ask(t.Context(), "m", "s", "u", 5)
			beside <- err
		}
		if good.Load() {
			return answer("data")
		}
		return upstreamtest.JSON(500, "{}")
	})
	now := time.Now()
	client = llm.New(llm.Config{BaseURL: up.URL(), Clock: func() time.Time { return now }})
	step := func(what string, calls int, want error, fails bool) {
		t.Helper()
		_, err := client.Ask(t.Context(), "m", "s", what, 5)
		if up.Calls() != calls || (err != nil) != fails || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v, %d calls, want %d", what, err, up.Calls(), calls)
		}
	}
	for i := range 4 {
		step("failing", i+1, nil, true)
	}
	good.Store(true)
	step("good again", 5, nil, false)
	good.Store(false)
	for i := range 5 {
		step("failing again", 6+i, nil, true)
	}
	step("paused", 10, llm.ErrPaused, true)
	now = now.Add(59 * time.Second)
	step("still paused", 10, llm.ErrPaused, true)
	now = now.Add(2 * time.Second)
	step("a trial", 11, nil, true)
	if err := <-beside; !errors.Is(err, llm.ErrPaused) {
		t.Errorf("another call beside the trial: %v", err)
	}
	step("paused again", 11, llm.ErrPaused, true)
	now = now.Add(61 * time.Second)
	good.Store(true)
	step("a good one", 12, nil, false)
	good.Store(false)
	step("failing once more", 13, nil, true)
	step("and asked still", 14, nil, true)
}

// A caller that leaves is no failure of the API.
func TestCallerLeaves(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Respond(200).Silence()))
	client := llm.New(llm.Config{BaseURL: up.URL()})
	for n := range 6 {
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			for up.Calls() == n && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			leave()
		}()
		if _, err := client.Ask(ctx, "m", "s", "u", 5); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		leave()
	}
	if up.Calls() != 6 {
		t.Errorf("%d calls, want 6", up.Calls())
	}
}
