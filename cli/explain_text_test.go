package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A text goes to the running program as a request of one message, and the
// answer shows how likely each intent is and what weighed.
func TestExplainText(t *testing.T) {
	_, url := control(t)
	var seen *http.Request
	var sent []byte
	data := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		sent, _ = io.ReadAll(r.Body)
		fmt.Fprint(w, `{"intent":"rag","confidence":0.93,"stage":"model","rule":"permit","probabilities":{"chat":0.02,"rag":0.93,"data":0.05},`+
			`"why":[{"what":"words leave policy","weight":1.234},{"what":"cue permit","weight":0.5}],"context":"full","block_tokens":7,"layers":[{"name":"knowledge","ids":["psg_1","psg_2"],"scores":[0.714,0.06],"cosines":[0,0.8],"tokens":7,"ms":1.5},{"name":"memory","ids":["mem_1"],"scores":[0.4],"tokens":1,"ms":0.1}],`+
			`"skipped":[{"name":"knowledge","reason":"rerank_late"}],"volatile_block":"Leave: 30 days","body":"{}"}`)
	}))
	defer data.Close()
	const text = `What does "the leave policy" allow?`
	ok(t, url, []string{"explain", text, "--proxy", data.URL, "--user", "alice"},
		"rag  confidence 0.93  by model permit\nlikely    rag 0.93  data 0.05  chat 0.02\nbecause   “leave policy” +1.23, cue permit +0.50\n", "volatile block\n  Leave: 30 days",
		"PASSAGE  BY WORDS  BY VECTORS\npsg_1    0.71      -\npsg_2    0.06      0.80\n", "knowledge  rerank_late")
	var body struct {
		Model    string
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(sent, &body); err != nil || body.Model == "" || len(body.Messages) != 1 || body.Messages[0].Role != "user" || body.Messages[0].Content != text {
		t.Errorf("%v: sent %s", err, sent)
	}
	if seen.Header.Get("X-Strata-Explain") != "1" || seen.Header.Get("X-Strata-User") != "alice" {
		t.Errorf("sent %v", seen.Header)
	}
	if got := object(t, url, "explain", text, "--proxy", data.URL); got["volatile_block"] != "Leave: 30 days" || got["probabilities"].(map[string]any)["rag"] != .93 {
		t.Errorf("as JSON: %v", got)
	}
	code, _, stderr := verb(t, url, "explain", " ", "--proxy", data.URL)
	if code != 2 || !strings.Contains(stderr, "empty text") {
		t.Errorf("nothing asked: %d %s", code, stderr)
	}
}

// Without a program the verdict stands alone and says so; a program that
// refuses is another matter.
func TestExplainTextAlone(t *testing.T) {
	dir := t.TempDir()
	explain := func(args ...string) (int, string, string) {
		return run(t, dir, []string{"STRATA_LISTEN=127.0.0.1:1"}, append([]string{"explain"}, args...)...)
	}
	code, stdout, stderr := explain("How many days of annual leave does the policy allow?")
	if code != 0 || !strings.Contains(stdout, "intent    rag  confidence ") || !strings.Contains(stdout, "\nlikely    rag ") || !strings.Contains(stdout, "\nbecause   ") ||
		!strings.Contains(stderr, "no program is running at http://127.0.0.1:1") {
		t.Errorf("%d %s%s", code, stdout, stderr)
	}
	code, stdout, _ = explain("统计每个部门的加班时长", "--json")
	var v struct {
		Intent, Reason string
		Probabilities  *struct{ Data float64 }
		Why            []struct{ What string }
	}
	if err := json.Unmarshal([]byte(stdout), &v); code != 0 || err != nil || v.Intent != "data" || v.Reason != "not_running" || v.Probabilities == nil || v.Probabilities.Data < .5 || len(v.Why) == 0 {
		t.Errorf("as JSON: %d %v %s", code, err, stdout)
	}
	if code, stdout, _ = explain("hello", "--intent", "data"); code != 0 || !strings.Contains(stdout, "data  confidence 1.00  by header") || strings.Contains(stdout, "likely") {
		t.Errorf("forced: %d %s", code, stdout)
	}
	config := write(t, dir, "strata.yaml", "intent:\n  keywords:\n    rag: [kestrel]\n")
	if code, stdout, stderr = explain("polish kestrel", "--config", config); code != 0 || !strings.Contains(stdout, "rag  confidence 1.00  by example keyword “kestrel”") {
		t.Errorf("with what is configured: %d %s%s", code, stdout, stderr)
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"not allowed"}}`, http.StatusForbidden)
	}))
	defer refusing.Close()
	if code, stdout, stderr = explain("hello", "--proxy", refusing.URL); code != 1 || stdout != "" || !strings.Contains(stderr, "not allowed") {
		t.Errorf("refused: %d %q %q", code, stdout, stderr)
	}
}
