package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"strata/admin"
	"strata/admin/admintest"
	"strata/cli"
	"strata/stores"
)

// control is a control plane on a real socket with a store in memory.
func control(t *testing.T) (*admintest.Store, string) {
	t.Helper()
	store := admintest.New()
	server := httptest.NewServer(admin.New(store.Config()))
	t.Cleanup(server.Close)
	return store, server.URL
}

// verb runs a command against url.
func verb(t *testing.T, url string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Main(append(args, "--server", url, "--token", "t"), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// ok runs a command that must succeed and print all of want.
func ok(t *testing.T, url string, args []string, want ...string) string {
	t.Helper()
	code, stdout, stderr := verb(t, url, args...)
	if code != 0 {
		t.Fatalf("%v: exit code %d, %s", args, code, stderr)
	}
	for _, w := range want {
		if !strings.Contains(stdout, w) {
			t.Errorf("%v: no %q in\n%s", args, w, stdout)
		}
	}
	return stdout
}

// object runs a command with --json.
func object(t *testing.T, url string, args ...string) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(ok(t, url, append(args, "--json"))), &v); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return v
}

func TestMemoryVerbs(t *testing.T) {
	store, url := control(t)
	out := ok(t, url, []string{"memories", "add", "--user", "alice", "--type", "preference", "--topic", "language", "以后用英文回答"}, "added mem_")
	first := strings.Fields(out)[1]
	out = ok(t, url, []string{"memories", "add", "-u", "alice", "--type", "preference", "--topic", "language", "以后用中文回答"}, "replaces "+first)
	second := strings.Fields(out)[1]
	ok(t, url, []string{"memories", "add", "--scope", "workspace", "--type", "agreement", "The key is AKIAIOSFODNN7EXAMPLE"}, "stored as: The key is [redacted:")
	ok(t, url, []string{"memories", "ls"}, "ID", "SUMMARY", second, "以后用中文回答", "workspace")
	if out := ok(t, url, []string{"memories", "ls", "--user", "alice", "--type", "preference"}); strings.Contains(out, first) || !strings.Contains(out, second) {
		t.Errorf("only the active one: %s", out)
	}
	if got := object(t, url, "memories", "ls", "--status", "superseded"); len(got["memories"].([]any)) != 1 {
		t.Errorf("superseded: %v", got)
	}
	ok(t, url, []string{"memories", "why", second}, "以后用中文回答", "source     admin", "10 of 10 by admin: reuse 3 of 3, irrecoverable 2 of 2, stability 2 of 2, impact 3 of 3", "replaced   以后用英文回答 ("+first+")")
	if why := object(t, url, "memories", "why", second); why["memory"].(map[string]any)["memory_id"] != second || why["replaced"].(map[string]any)["memory_id"] != first {
		t.Errorf("why as JSON: %v", why)
	}
	store.Reject("default", stores.Rejected{User: "alice", Text: "thanks!\x1b[31m", Reason: "acknowledgement", Scores: stores.Scores{Reuse: 1}})
	if out := ok(t, url, []string{"memories", "why", "--rejected", "--user", "alice"}, "acknowledgement", "1/0/0/0", "thanks!"); strings.Contains(out, "\x1b") {
		t.Error("a text commands the terminal")
	}
	ok(t, url, []string{"memories", "rm", second}, "deleted "+second)
	code, stdout, stderr := verb(t, url, "memories", "rm", second, first)
	if code != 1 || !strings.Contains(stdout, "deleted "+first) || !strings.Contains(stderr, second) {
		t.Errorf("one gone, one there: %d %q %q", code, stdout, stderr)
	}
}

// The evidence of a memory is what the user said.
func TestWhyEvidence(t *testing.T) {
	store, url := control(t)
	store.Say("default", "alice", "s1", "req_1", "Our fiscal year begins in April.", "Noted.")
	m, err := store.AddMemory(t.Context(), stores.Scope{Tenant: "default", User: "alice"}, stores.Memory{ID: "mem_1", Scope: stores.UserScope, User: "alice", Session: "s1",
		Type: stores.Conclusion, Topic: "fiscal_year", Summary: "April", Status: stores.Active, Sources: []string{"req_1"}, Source: "rules", Scorer: "rules"})
	if err != nil {
		t.Fatal(err)
	}
	if out := ok(t, url, []string{"memories", "why", m.ID}, "evidence", "Our fiscal year begins in April.", "source     rules"); strings.Contains(out, "Noted") {
		t.Errorf("an answer is no evidence: %s", out)
	}
}

func TestSessionAndUserVerbs(t *testing.T) {
	store, url := control(t)
	for i := range 3 {
		store.Say("default", "alice", fmt.Sprintf("s/%d", i), fmt.Sprintf("req_%d", i), "问题", "Answer\nin two lines")
	}
	store.Say("default", "bob", "s/0", "req_b", "x", "y")
	ok(t, url, []string{"sessions", "ls", "--user", "alice"}, "s/0", "TURNS")
	code, stdout, stderr := verb(t, url, "sessions", "ls", "--limit", "2")
	if code != 0 || strings.Count(stdout, "\n") != 3 || !strings.Contains(stderr, "--limit 0") {
		t.Errorf("two rows: %d %q %q", code, stdout, stderr)
	}
	if got := object(t, url, "sessions", "ls", "--limit", "0"); len(got["sessions"].([]any)) != 4 || got["next_cursor"] != "" {
		t.Errorf("all: %v", got)
	}
	first := object(t, url, "sessions", "ls", "--limit", "1")
	if rest := object(t, url, "sessions", "ls", "--cursor", first["next_cursor"].(string)); len(rest["sessions"].([]any)) != 3 {
		t.Errorf("from the cursor on: %v", rest)
	}
	ok(t, url, []string{"sessions", "show", "s/1"}, "user alice", "问题", "  Answer\n  in two lines")
	if code, _, stderr := verb(t, url, "sessions", "show", "s/0"); code != 1 || !strings.Contains(stderr, "Several users") {
		t.Errorf("ambiguous: %d %s", code, stderr)
	}
	ok(t, url, []string{"sessions", "show", "s/0", "--user", "bob"}, "user bob")
	ok(t, url, []string{"sessions", "rm", "s/1", "s/2"}, "deleted s/1\ndeleted s/2\n")
	ok(t, url, []string{"users", "ls"}, "alice", "bob", "LAST SEEN")
	file := filepath.Join(t.TempDir(), "alice.json")
	ok(t, url, []string{"users", "export", "alice", "--out", file}, "written")
	if b, _ := os.ReadFile(file); !json.Valid(b) || !bytes.Contains(b, []byte("问题")) {
		t.Errorf("exported: %s", b)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: others can read it", info.Mode(), err)
	}
	if code, _, stderr := verb(t, url, "users", "export", "alice", "--out", file); code != 2 || !strings.Contains(stderr, "not overwritten") {
		t.Errorf("over a file: %d %s", code, stderr)
	}
	if code, _, stderr := verb(t, url, "users", "rm", "alice"); code != 2 || !strings.Contains(stderr, "--yes") {
		t.Errorf("erased without asking: %d %s", code, stderr)
	}
	ok(t, url, []string{"users", "rm", "alice", "--yes"}, "erased alice: 4 rows", "sessions   1")
	if code, _, _ := verb(t, url, "users", "export", "alice"); code != 1 {
		t.Error("still there after the erase")
	}
}

func TestStatsAndFlushVerbs(t *testing.T) {
	store, url := control(t)
	store.Say("default", "alice", "s1", "req_1", "x", "y")
	ok(t, url, []string{"stats"}, "Strata 1.2.3, tenant default", "sessions", "waiting for learning")
	if got := object(t, url, "stats"); got["version"] != "1.2.3" {
		t.Errorf("stats: %v", got)
	}
	ok(t, url, []string{"flush"}, "nothing is pending")
	store.SetPending(3)
	if code, _, stderr := verb(t, url, "flush"); code != 1 || !strings.Contains(stderr, "3 exchanges") {
		t.Errorf("pending: %d %s", code, stderr)
	}
}

func TestExplainVerb(t *testing.T) {
	store, url := control(t)
	if code, _, stderr := verb(t, url, "explain", "last"); code != 1 || !strings.Contains(stderr, "nothing is recorded yet") {
		t.Errorf("nothing yet: %d %s", code, stderr)
	}
	store.Say("default", "alice", "s1", "req_1", "x", "y")
	store.Say("default", "bob", "s1", "req_2", "x", "y")
	ok(t, url, []string{"explain", "last", "--user", "alice"}, "req_1", "rag  confidence 0.83  by model", "full  40 tokens", "knowledge", "memory", "floor")
	ok(t, url, []string{"explain", "chatcmpl-req_2"}, "req_2")
	if got := object(t, url, "explain", "req_2"); got["request_id"] != "req_2" {
		t.Errorf("as JSON: %v", got)
	}
	if code, _, stderr := verb(t, url, "explain", "req_9"); code != 1 || !strings.Contains(stderr, "req_9") {
		t.Errorf("unknown: %d %s", code, stderr)
	}
}

func TestExplainFile(t *testing.T) {
	_, url := control(t)
	var seen *http.Request
	var sent []byte
	data := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		sent, _ = io.ReadAll(r.Body)
		fmt.Fprint(w, `{"intent":"rag","confidence":0.5,"stage":"rule","context":"full","block_tokens":7,"layers":[{"name":"knowledge","ids":["p1"],"tokens":7,"ms":2}],"skipped":[],"stable_block":"Answers in English","volatile_block":"Leave: 30 days","body":"{}"}`)
	}))
	defer data.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/none") {
			http.NotFound(w, r)
		}
		fmt.Fprint(w, `{"choices":[]}`)
	}))
	defer other.Close()
	file := write(t, t.TempDir(), "request.json", `{"model":"m"}`)
	ok(t, url, []string{"explain", file, "--proxy", data.URL + "/v1", "--user", "alice", "--session", "s1"}, "by rule", "stable block\n  Answers in English", "volatile block\n  Leave: 30 days")
	if seen.URL.Path != "/v1/chat/completions" || seen.Header.Get("X-Strata-Explain") != "1" || seen.Header.Get("X-Strata-User") != "alice" || seen.Header.Get("X-Strata-Session") != "s1" || string(sent) != `{"model":"m"}` {
		t.Errorf("sent %v %s %s", seen.Header, seen.URL, sent)
	}
	if seen.Header.Get("Authorization") != "" {
		t.Error("the admin token went to a loopback address, which asks for none")
	}
	for _, c := range []struct {
		name, want string
		args       []string
		code       int
	}{
		{"not JSON", "not JSON", []string{"explain", write(t, t.TempDir(), "x.json", "hi"), "--proxy", data.URL}, 2},
		{"no file", "nowhere.json", []string{"explain", "nowhere.json", "--proxy", data.URL}, 2},
		{"another server", "--proxy", []string{"explain", file, "--proxy", other.URL}, 1},
		{"a server with another path", "--proxy", []string{"explain", file, "--proxy", other.URL + "/none"}, 1},
		{"nothing there", "--proxy", []string{"explain", file, "--proxy", "http://127.0.0.1:1"}, 1},
		{"no URL", "--proxy", []string{"explain", file, "--proxy", "localhost:4470"}, 2},
	} {
		if code, _, stderr := verb(t, url, c.args...); code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: %d %s", c.name, code, stderr)
		}
	}
}

// Mistakes and absent servers are one sentence that names the fix.
func TestVerbMistakes(t *testing.T) {
	_, url := control(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"docs", "show"}, 2, "one document id"},
		{[]string{"docs", "show", "nothing"}, 1, "no such record"},
		{[]string{"docs", "rm"}, 2, "document ids"},
		{[]string{"docs", "ls", "--limit", "-1"}, 2, "--limit"},
		{[]string{"memories", "add", "x"}, 2, "--type"},
		{[]string{"memories", "add", "x", "--type", "goal"}, 2, "--user"},
		{[]string{"memories", "add", "x", "--type", "fact", "--user", "a"}, 1, "memory_type: one of preference"},
		{[]string{"memories", "why"}, 2, "--rejected"},
		{[]string{"explain"}, 2, "last"},
		{[]string{"ingest"}, 2, "a file or folder"},
		{[]string{"ingest", "nowhere"}, 2, "nowhere"},
		{[]string{"ingest", ".", "--id", "x"}, 2, "--id"},
		{[]string{"ingest", "cli.go", "--sync"}, 2, "--sync"},
	} {
		if code, _, stderr := verb(t, url, c.args...); code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d, %q; want %d, %q", c.args, code, stderr, c.code, c.want)
		}
	}
	var out, errs bytes.Buffer
	if code := cli.Main([]string{"docs", "shwo"}, strings.NewReader(""), &out, &errs); code != 2 || !strings.Contains(errs.String(), "ls, rm, show") {
		t.Errorf("docs shwo: %d %s", code, &errs)
	}
	for _, c := range []struct {
		server, token string
		code          int
		want          string
	}{
		{"http://127.0.0.1:1", "t", 1, "strata serve is not running at http://127.0.0.1:1; start it or pass --server"},
		{"127.0.0.1:4471", "t", 2, "--server"},
		{url, "wrong", 1, "--token"},
	} {
		errs.Reset()
		if code := cli.Main([]string{"stats", "--server", c.server, "--token", c.token}, strings.NewReader(""), &out, &errs); code != c.code || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.server, code, &errs, c.code, c.want)
		}
	}
}

// Address and token come from the configuration and the data folder.
func TestFindsTheServer(t *testing.T) {
	_, url := control(t)
	dir := t.TempDir()
	t.Setenv("STRATA_ADMIN_LISTEN", strings.TrimPrefix(url, "http://"))
	t.Setenv("STRATA_DATA_DIR", dir)
	stats := func() (int, string) {
		var out, errs bytes.Buffer
		return cli.Main([]string{"stats"}, strings.NewReader(""), &out, &errs), out.String() + errs.String()
	}
	if code, got := stats(); code != 2 || !strings.Contains(got, "admin.token") || !strings.Contains(got, "--token") {
		t.Errorf("no token yet: %d %s", code, got)
	}
	if _, err := os.Stat(filepath.Join(dir, "admin.token")); err == nil {
		t.Error("reading made a token")
	}
	write(t, dir, "admin.token", "t\n")
	if code, got := stats(); code != 0 || !strings.Contains(got, "tenant default") {
		t.Errorf("with the token's file: %d %s", code, got)
	}
	t.Setenv("STRATA_ADMIN_TOKEN", "wrong")
	if code, got := stats(); code != 1 || !strings.Contains(got, "token") {
		t.Errorf("the configured token comes first: %d %s", code, got)
	}
	t.Setenv("STRATA_ADMIN_LISTEN", "off")
	if code, got := stats(); code != 2 || !strings.Contains(got, "admin.listen is off") {
		t.Errorf("no control plane: %d %s", code, got)
	}
}

// Every verb has an example in its help, and columns stay aligned with
// Chinese text.
func TestHelpAndTables(t *testing.T) {
	_, url := control(t)
	for _, args := range []string{"ingest", "docs ls", "docs show", "docs rm", "memories ls", "memories add", "memories rm", "memories why", "sessions ls", "sessions show",
		"sessions rm", "users ls", "users export", "users rm", "intent fix", "intent ls", "intent rm", "intent export", "explain", "tail", "stats", "flush"} {
		ok(t, url, append(strings.Fields(args), "--help"), "Examples:\n", "strata "+args, "--server")
	}
	for _, m := range []string{"短", "很长的一句话"} {
		ok(t, url, []string{"memories", "add", "--user", "用户" + m, "--type", "goal", m})
	}
	out := ok(t, url, []string{"memories", "ls"})
	cells := regexp.MustCompile(`[^\x00-\x7f]`).ReplaceAllString(out, "xx") // two cells each
	lines := strings.Split(strings.TrimSpace(cells), "\n")
	for _, l := range lines[1:] {
		if !strings.Contains(l, "user ") || strings.Index(l, " goal ") != strings.Index(lines[1], " goal ") || strings.Index(lines[0], "TYPE") != strings.Index(l, " goal ")+1 {
			t.Errorf("not aligned:\n%s", out)
		}
	}
}
