package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

// rig is a running Strata with its stores in front of a scripted upstream.
type rig struct {
	*program
	up    *upstreamtest.Server
	dir   string // data_dir; a restart keeps it
	set   settings
	token string // of the control plane

	calls  atomic.Int64
	mu     sync.Mutex
	got    map[int64][]*upstreamtest.Request // by the number of the call
	client http.Client
}

// callHeader tells the calls of a test apart at upstream.
const callHeader = "X-Test-Call"

// newRig starts Strata in front of an upstream that answers every request as
// handler says; nil answers "好的。OK." always, whatever is asked.
func newRig(t testing.TB, handler upstreamtest.Handler, set ...string) *rig {
	t.Helper()
	r := prepareRig(t, handler, set...)
	r.boot(t)
	r.waitReady(t)
	return r
}

// prepareRig is newRig without the start, for tests that put something into
// the data folder before.
func prepareRig(t testing.TB, handler upstreamtest.Handler, set ...string) *rig {
	t.Helper()
	if build.err != nil {
		t.Fatal(build.err)
	}
	if handler == nil {
		handler = upstreamtest.Always(said("好的。OK."))
	}
	r := &rig{dir: filepath.Join(t.TempDir(), "data"), set: append(settings{"TZ=Asia/Shanghai"}, set...),
		got: map[int64][]*upstreamtest.Request{}}
	r.client = http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	t.Cleanup(r.client.CloseIdleConnections)
	r.up = upstreamtest.New(t, func(req *upstreamtest.Request) *upstreamtest.Script {
		if n, err := strconv.ParseInt(req.Get(callHeader), 10, 64); err == nil {
			r.mu.Lock()
			r.got[n] = append(r.got[n], req)
			r.mu.Unlock()
		}
		return handler(req)
	})
	return r
}

// boot runs the binary on the rig's folder and does not wait for it.
func (r *rig) boot(t testing.TB) {
	t.Helper()
	r.client.CloseIdleConnections()
	r.program = launch(t, exec.Command(build.binary, "serve"), r.dir, r.up.Addr(), r.set)
}

// restart ends the program well and starts it on the same folder.
func (r *rig) restart(t testing.TB) {
	t.Helper()
	r.stop(t)
	r.boot(t)
	r.waitReady(t)
}

// said is a finished plain answer with this text.
func said(text string) *upstreamtest.Script {
	return upstreamtest.JSON(200, jsonOf(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": "m-test",
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop",
			"message": map[string]any{"role": "assistant", "content": text}}},
	}))
}

// wantsTool is an answer that calls one tool.
func wantsTool(id, name, arguments string) *upstreamtest.Script {
	return upstreamtest.JSON(200, jsonOf(map[string]any{
		"id": "chatcmpl-2", "object": "chat.completion", "created": 1700000000, "model": "m-test",
		"choices": []any{map[string]any{"index": 0, "finish_reason": "tool_calls",
			"message": map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
				"id": id, "type": "function", "function": map[string]any{"name": name, "arguments": arguments}}}}}},
	}))
}

// jsonOf writes v as clients do: <, > and & stay as they are.
func jsonOf(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Messages of a chat body, as JSON.

func message(role, text string) string {
	return fmt.Sprintf(`{"role":%q,"content":%s}`, role, jsonOf(text))
}

func system(text string) string    { return message("system", text) }
func user(text string) string      { return message("user", text) }
func assistant(text string) string { return message("assistant", text) }

// chatBody is a chat request of these messages.
func chatBody(messages ...string) string {
	return `{"model":"m-test","messages":[` + strings.Join(messages, ",") + `]}`
}

// who asks, and what else the request says.
type who struct {
	tenant, user, session string
	header                http.Header // further ones
}

// u1 is the one person most tests are about.
func u1(session string) who { return who{user: "U1", session: session} }

func (w who) set(h http.Header) {
	for name, value := range map[string]string{"X-Strata-Tenant": w.tenant, "X-Strata-User": w.user, "X-Strata-Session": w.session} {
		if value != "" {
			h.Set(name, value)
		}
	}
	for name, values := range w.header {
		h[http.CanonicalHeaderKey(name)] = values
	}
}

// reply is an answer, and what upstream got for it.
type reply struct {
	status int
	header http.Header
	body   string
	up     *upstreamtest.Request // the last one for this call; nil when nothing reached upstream
	sends  int                   // how many there were
	sent   string                // the client's body
	took   time.Duration
}

// ask sends a chat request of these messages. It may be called from many
// goroutines; an answer that is none is an error of the test.
func (r *rig) ask(t testing.TB, w who, messages ...string) reply {
	t.Helper()
	return r.askBody(t, w, chatBody(messages...))
}

// askBody is ask with the body as it is.
func (r *rig) askBody(t testing.TB, w who, body string) reply {
	t.Helper()
	got, err := r.tryBody(w, body)
	if err != nil {
		t.Error(err)
		return reply{sent: body, header: http.Header{}}
	}
	return got
}

// tryBody is askBody for tests in which the program may be killed.
func (r *rig) tryBody(w who, body string) (reply, error) {
	n := r.calls.Add(1)
	req, err := http.NewRequest(http.MethodPost, "http://"+r.addr+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer sk-of-the-client")
	req.Header.Set(callHeader, strconv.FormatInt(n, 10))
	w.set(req.Header)
	began := time.Now()
	resp, err := r.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{}, err
	}
	a := reply{status: resp.StatusCode, header: resp.Header, body: string(text), sent: body, took: time.Since(began)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.sends = len(r.got[n]); a.sends > 0 {
		a.up = r.got[n][a.sends-1]
	}
	return a, nil
}

// wantOK checks that the answer is a good one, from the first send.
func (a reply) wantOK(t testing.TB) {
	t.Helper()
	if a.status != http.StatusOK || a.sends != 1 {
		t.Errorf("status %d after %d sends (%s), want 200 after one: %.500s", a.status, a.sends, a.header.Get("X-Strata-Context"), a.body)
	}
}

// upBody is the body that upstream got.
func (a reply) upBody() string {
	if a.up == nil {
		return ""
	}
	return string(a.up.Body)
}

// result is the first word of X-Strata-Context; field one of its members.
func (a reply) result() string {
	result, _, _ := strings.Cut(a.header.Get("X-Strata-Context"), ";")
	return result
}

func (a reply) field(name string) string {
	for part := range strings.SplitSeq(a.header.Get("X-Strata-Context"), ";") {
		if value, ok := strings.CutPrefix(strings.TrimSpace(part), name+"="); ok {
			return value
		}
	}
	return ""
}

var (
	inserted = regexp.MustCompile(`,?\{"type":"text","text":"<strata-(?:preferences|context)>.*?</strata-(?:preferences|context)>"\}` +
		`|(?:\\n\\n)?<strata-(?:preferences|context)>.*?</strata-(?:preferences|context)>`)
	stableBlock   = regexp.MustCompile(`<strata-preferences>.*?</strata-preferences>`)
	volatileBlock = regexp.MustCompile(`<strata-context>.*?</strata-context>`)
)

// injected is everything inserted into a request, in order, as JSON text.
func (a reply) injected() string { return strings.Join(inserted.FindAllString(a.upBody(), -1), "\x00") }

// stable and volatile are the two blocks as they stand in the JSON, "" if they
// are not there.
func (a reply) stable() string   { return stableBlock.FindString(a.upBody()) }
func (a reply) volatile() string { return volatileBlock.FindString(a.upBody()) }

// wantClientBytes checks that upstream got the client's bytes and nothing else
// but what stands between Strata's delimiters.
func (a reply) wantClientBytes(t testing.TB) {
	t.Helper()
	if a.up == nil {
		t.Errorf("nothing reached upstream (status %d: %.300s)", a.status, a.body)
		return
	}
	if rest := inserted.ReplaceAllString(a.upBody(), ""); rest != a.sent {
		t.Errorf("without what was inserted upstream got\n%s\nthe client sent\n%s\nwhole:\n%s", rest, a.sent, a.upBody())
	}
}

// wantTransparent checks that upstream got exactly what the client sent.
func (a reply) wantTransparent(t testing.TB) {
	t.Helper()
	if a.up == nil || a.upBody() != a.sent {
		t.Errorf("upstream got\n%s\nthe client sent\n%s", a.upBody(), a.sent)
	}
}

// wantTimes checks how often upstream got a text.
func (a reply) wantTimes(t testing.TB, text string, want int) {
	t.Helper()
	if got := strings.Count(a.upBody(), text); got != want {
		t.Errorf("upstream got %q %d times, want %d (%s; %s):\n%s", text, got, want, a.header.Get("X-Strata-Intent"), a.header.Get("X-Strata-Context"), a.upBody())
	}
}

// wantRoles checks the roles of the messages at upstream.
func (a reply) wantRoles(t testing.TB, want ...string) {
	t.Helper()
	if got := strings.Join(roles(a.upBody()), " "); got != strings.Join(want, " ") {
		t.Errorf("roles at upstream are %q, want %q", got, strings.Join(want, " "))
	}
}

// roles of the messages of a chat body.
func roles(body string) []string {
	var v struct {
		Messages []struct {
			Role string `json:"role"`
		} `json:"messages"`
	}
	if json.Unmarshal([]byte(body), &v) != nil {
		return nil
	}
	var out []string
	for _, m := range v.Messages {
		out = append(out, m.Role)
	}
	return out
}

// control makes a call of the control plane; query and path are as they go over
// the wire.
func (r *rig) control(t testing.TB, w who, method, path, contentType, body string) (int, string) {
	t.Helper()
	if r.token == "" {
		b, err := os.ReadFile(filepath.Join(r.dir, "admin.token"))
		if err != nil {
			t.Fatal(err)
		}
		r.token = strings.TrimSpace(string(b))
	}
	req, err := http.NewRequest(method, "http://"+r.program.admin+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	if body != "" {
		req.Header.Set("Content-Type", contentType)
	}
	w.set(req.Header)
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// must is control for a call that has to succeed; v, if any, takes the answer.
func (r *rig) must(t testing.TB, w who, method, path, contentType, body string, v any) {
	t.Helper()
	status, text := r.control(t, w, method, path, contentType, body)
	if status/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	if v != nil {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
}

// stored is what a document's upload is answered with.
type stored struct {
	ID        string `json:"id"`
	Version   int    `json:"version"`
	Status    string `json:"status"`
	Passages  int    `json:"passages"`
	Unchanged bool   `json:"unchanged"`
}

// putDocument uploads Markdown for a tenant ("" is the configured one). id may
// carry a query.
func (r *rig) putDocument(t testing.TB, tenant, id, text string) stored {
	t.Helper()
	var d stored
	r.must(t, who{tenant: tenant}, http.MethodPut, "/v1/documents/"+id, "text/markdown", text, &d)
	if d.Status != "published" {
		t.Errorf("document %s is %q after its upload was answered, want published", id, d.Status)
	}
	return d
}

// deleteDocument returns the status of the answer.
func (r *rig) deleteDocument(t testing.TB, tenant, id string) int {
	t.Helper()
	status, _ := r.control(t, who{tenant: tenant}, http.MethodDelete, "/v1/documents/"+id, "", "")
	return status
}

// kept is one memory as the control plane shows it.
type kept struct {
	ID         string   `json:"memory_id"`
	Scope      string   `json:"scope"`
	User       string   `json:"user"`
	Session    string   `json:"session_id"`
	Type       string   `json:"memory_type"`
	Kind       string   `json:"kind"`
	Topic      string   `json:"topic"`
	Summary    string   `json:"summary"`
	Status     string   `json:"status"`
	Supersedes string   `json:"supersedes"`
	Source     string   `json:"source"`
	ExpiresAt  string   `json:"expires_at"`
	Sources    []string `json:"source_message_ids"`
	Importance int      `json:"importance"`
}

// memories lists a user's active memories; query may add filters ("status=deleted").
func (r *rig) memories(t testing.TB, w who, query string) []kept {
	t.Helper()
	var v struct {
		Memories []kept `json:"memories"`
	}
	q := "?limit=200"
	if w.user != "" {
		q += "&user=" + url.QueryEscape(w.user)
	}
	if query != "" {
		q += "&" + query
	}
	r.must(t, who{tenant: w.tenant}, http.MethodGet, "/v1/memories"+q, "", "", &v)
	return v.Memories
}

// addMemory stores a memory of the user's through the control plane.
func (r *rig) addMemory(t testing.TB, w who, memoryType, topic, summary string) kept {
	t.Helper()
	return r.addMemoryJSON(t, w, map[string]any{"scope": "user", "memory_type": memoryType, "topic": topic, "summary": summary})
}

func (r *rig) addMemoryJSON(t testing.TB, w who, fields map[string]any) kept {
	t.Helper()
	var m kept
	r.must(t, w, http.MethodPost, "/v1/memories", "application/json", string(jsonOf(fields)), &m)
	return m
}

// deleteMemory returns the status of the answer.
func (r *rig) deleteMemory(t testing.TB, w who, id string) int {
	t.Helper()
	status, _ := r.control(t, w, http.MethodDelete, "/v1/memories/"+id, "", "")
	return status
}

// written returns when all that was recorded before is in the store: an answer
// does not wait longer than 50 ms for that. Writes keep their order, and
// closing a session that is not there is one that changes nothing.
func (r *rig) written(t testing.TB) {
	t.Helper()
	if status, text := r.control(t, who{}, http.MethodPost, "/v1/sessions/not-there/close?user=nobody", "application/json", "{}"); status != http.StatusNotFound {
		t.Errorf("closing a session that is not there: %d %s", status, text)
	}
}

// flush makes Strata learn from all that is recorded.
func (r *rig) flush(t testing.TB) {
	t.Helper()
	var v struct {
		Pending *int `json:"pending"`
	}
	r.must(t, who{}, http.MethodPost, "/v1/learn/flush", "application/json", "{}", &v)
	if v.Pending == nil || *v.Pending != 0 {
		t.Errorf("after a flush pending is %v, want 0", v.Pending)
	}
}

// turn is one recorded message.
type turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Status  string `json:"status"`
}

// turns are what is recorded of a session; nil when there is none.
func (r *rig) turns(t testing.TB, w who) []turn {
	t.Helper()
	r.written(t)
	status, text := r.control(t, who{tenant: w.tenant}, http.MethodGet,
		"/v1/sessions/"+url.PathEscape(w.session)+"?user="+url.QueryEscape(w.user), "", "")
	if status == http.StatusNotFound {
		return nil
	}
	var v struct {
		Turns []turn `json:"turns"`
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil || status != http.StatusOK {
		t.Fatalf("session %s: %d %s", w.session, status, text)
	}
	return v.Turns
}
