package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"strata/admin"
)

// seed gives two users and a second tenant something of each kind.
func (p *plane) seed() (alices, workspaces added) {
	alices = p.remember("alice", `{"memory_type":"goal","topic":"audit","summary":"Alice passes the audit"}`)
	p.remember("bob", `{"memory_type":"goal","topic":"audit","summary":"Bob sells more"}`)
	p.want(201, &workspaces, "POST", "/v1/memories", `{"scope":"workspace","memory_type":"agreement","topic":"currency","summary":"EUR"}`)
	p.store.Say("default", "alice", "s1", "req_a", "Alice asks", "answer")
	p.store.Say("default", "bob", "s2", "req_b", "Bob asks", "answer")
	p.store.Say("default", "alice", "both", "req_c", "Alice says", "answer")
	p.store.Say("default", "bob", "both", "req_d", "Bob says", "answer")
	p.store.Say("other", "alice", "s9", "req_o", "other asks", "answer")
	p.want(200, nil, "PUT", "/v1/documents/d", "text")
	return alices, workspaces
}

// Whatever names another user or tenant finds nothing.
func TestForeign(t *testing.T) {
	p := newPlane(t)
	alices, workspaces := p.seed()
	bob, other := []string{"X-Strata-User", "bob"}, []string{"X-Strata-Tenant", "other"}
	for _, c := range []struct {
		method, path, body string
		headers            []string
	}{
		{"GET", "/v1/memories/" + alices.ID, "", bob},
		{"GET", "/v1/memories/" + alices.ID + "?user=bob", "", nil},
		{"PATCH", "/v1/memories/" + alices.ID, `{"summary":"x"}`, bob},
		{"DELETE", "/v1/memories/" + alices.ID, "", bob},
		{"DELETE", "/v1/memories/" + workspaces.ID, "", other},
		{"GET", "/v1/sessions/s1", "", bob},
		{"DELETE", "/v1/sessions/s1?user=bob", "", nil},
		{"POST", "/v1/sessions/s1/close", "{}", bob},
		{"GET", "/v1/receipts/req_a", "", bob},
		{"GET", "/v1/receipts/chatcmpl-req_a?user=bob", "", nil},
		{"GET", "/v1/users/alice", "", bob},
		{"DELETE", "/v1/users/alice?user=bob", "", nil},
		{"GET", "/v1/memories/" + alices.ID, "", other},
		{"PATCH", "/v1/memories/" + alices.ID, `{"summary":"x"}`, other},
		{"DELETE", "/v1/memories/" + alices.ID, "", other},
		{"GET", "/v1/sessions/s1", "", other},
		{"DELETE", "/v1/sessions/s1", "", other},
		{"GET", "/v1/receipts/req_a", "", other},
		{"GET", "/v1/users/bob", "", other},
		{"GET", "/v1/documents/d", "", other},
		{"DELETE", "/v1/documents/d", "", other},
	} {
		if status, got := p.ask(c.method, c.path, c.body, c.headers...); status != 404 || strings.Contains(got, "Alice") {
			t.Errorf("%s %s %v: %d %s, want 404", c.method, c.path, c.headers, status, got)
		}
	}
	for _, c := range []struct{ path, want string }{
		{"/v1/memories?user=carol", `{"memories":[],"next_cursor":""}`}, {"/v1/sessions?user=carol", `{"sessions":[],"next_cursor":""}`},
		{"/v1/users?user=carol", `{"users":[],"next_cursor":""}`}, {"/v1/rejected?user=carol", `{"rejected":[]}`},
	} {
		if got := p.want(200, nil, "GET", c.path, ""); got != c.want {
			t.Errorf("%s: %s", c.path, got)
		}
	}
	for _, path := range []string{"/v1/memories?user=bob", "/v1/sessions?user=bob", "/v1/users?user=bob", "/v1/receipts/last?user=bob"} {
		if got := p.want(200, nil, "GET", path, ""); strings.Contains(strings.ToLower(got), "alice") || got == "" {
			t.Errorf("%s shows another user's: %s", path, got)
		}
	}
	for _, path := range []string{"/v1/memories", "/v1/documents"} {
		if got := p.want(200, nil, "GET", path, "", other...); !strings.Contains(got, ":[],") {
			t.Errorf("%s of another tenant: %s", path, got)
		}
	}
	p.want(200, nil, "GET", "/v1/memories/"+alices.ID+"?user=alice", "")
	p.want(200, nil, "DELETE", "/v1/memories/"+workspaces.ID, "")
}

// Malformed or repeated identities are refused, never the operator's view.
func TestMalformedIdentity(t *testing.T) {
	p := newPlane(t)
	alices, _ := p.seed()
	long := strings.Repeat("a", 257)
	for _, headers := range [][]string{
		{"X-Strata-User", "a\tb"}, {"X-Strata-User", long}, {"X-Strata-User", "\xff"}, {"X-Strata-User", "bob", "X-Strata-User", "alice"},
		{"X-Strata-User", "bob", "x-strata-user", "bob"}, {"X-Strata-User", "", "X-Strata-User", "bob"},
		{"X-Strata-Tenant", "a\tb"}, {"X-Strata-Tenant", long}, {"X-Strata-Tenant", "default", "X-Strata-Tenant", "other"},
		{"X-Strata-Session", "a\tb"}, {"X-Strata-Groups", long}, {"X-Strata-Timezone", "Mars/Olympus"}, {"X-Strata-Timezone", "../etc"},
	} {
		for _, c := range [][2]string{{"GET", "/v1/memories"}, {"GET", "/v1/sessions"}, {"GET", "/v1/users"}, {"GET", "/v1/stats"}, {"GET", "/v1/documents"},
			{"GET", "/v1/receipts/last"}, {"DELETE", "/v1/memories/" + alices.ID}, {"DELETE", "/v1/users/alice"}, {"GET", "/v1/events"}} {
			if status, got := p.ask(c[0], c[1], "", headers...); status != 400 {
				t.Errorf("%s %s with %q: %d %s, want 400", c[0], c[1], headers, status, got)
			}
		}
	}
	for _, query := range []string{"?user=a&user=b", "?user=a&user=a", "?user=%00", "?user=" + long, "?user=%ff", "?user=%zz", "?User=bob", "?users=bob"} {
		if status, got := p.ask("GET", "/v1/memories"+query, ""); status != 400 {
			t.Errorf("%s: %d %s, want 400", query, status, got)
		}
	}
	if status, _ := p.ask("GET", "/v1/memories?user=alice", "", "X-Strata-User", "bob"); status != 400 {
		t.Errorf("two users named: %d, want 400", status)
	}
	p.want(200, nil, "GET", "/v1/memories?user=alice", "", "X-Strata-User", "alice", "X-Strata-Tenant", "")
	p.want(200, nil, "GET", "/v1/memories/"+alices.ID, "")
}

func TestPages(t *testing.T) {
	p := newPlane(t)
	for i := range 7 {
		p.remember("alice", fmt.Sprintf(`{"memory_type":"goal","topic":"t%d","summary":"%d"}`, i, i))
		p.want(200, nil, "PUT", fmt.Sprintf("/v1/documents/d%d", i), "text")
		p.store.Say("default", fmt.Sprintf("u%d", i), fmt.Sprintf("s%d", i), fmt.Sprintf("r%d", i), "a", "b")
	}
	for name, path := range map[string]string{"memories": "/v1/memories?limit=3", "documents": "/v1/documents?limit=3", "sessions": "/v1/sessions?limit=3", "users": "/v1/users?limit=3"} {
		seen, pages := map[string]bool{}, 0
		for cursor := ""; pages < 5; {
			var got map[string]json.RawMessage
			p.want(200, &got, "GET", path+"&cursor="+cursor, "")
			var rows []struct {
				ID     string `json:"id"`
				Memory string `json:"memory_id"`
			}
			if err := json.Unmarshal(got[name], &rows); err != nil || len(rows) > 3 {
				t.Fatalf("%s: %v %d rows", name, err, len(rows))
			}
			for _, r := range rows {
				seen[r.ID+r.Memory] = true
			}
			pages++
			if cursor = strings.Trim(string(got["next_cursor"]), `"`); cursor == "" {
				break
			}
		}
		if want := map[string]int{"users": 8}[name]; len(seen) != max(want, 7) || pages != 3 {
			t.Errorf("%s: %d rows on %d pages", name, len(seen), pages)
		}
		for _, wrong := range []string{"limit=0", "limit=501", "limit=x", "limit=-1", "limit=3&limit=3", "cursor=zz"} {
			if status, got := p.ask("GET", "/v1/"+name+"?"+wrong, ""); status != 400 {
				t.Errorf("%s?%s: %d %s, want 400", name, wrong, status, got)
			}
		}
		p.want(200, nil, "GET", "/v1/"+name+"?limit=500", "")
	}
}

func TestSessions(t *testing.T) {
	p := newPlane(t)
	p.seed()
	p.remember("alice", `{"scope":"session","session_id":"s1","memory_type":"summary","topic":"so far","summary":"Asked about the audit"}`)
	var s struct {
		ID, User, Summary string
		Turns             []struct{ Role, Content, At, Status string }
		State             any
	}
	got := p.want(200, &s, "GET", "/v1/sessions/s1", "")
	if s.ID != "s1" || s.User != "alice" || len(s.Turns) != 2 || s.Turns[0].Role != "user" || s.Turns[0].Content != "Alice asks" || s.Turns[1].Status != "complete" || s.Summary != "Asked about the audit" || !strings.Contains(got, `"state":null`) {
		t.Errorf("read: %s", got)
	}
	for _, c := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"POST", "/close"}} {
		if status, got := p.ask(c[0], "/v1/sessions/both"+c[1], "{}"); status != 409 || !strings.Contains(got, "?user=") {
			t.Errorf("%s: %d %s, want 409", c[0], status, got)
		}
	}
	p.want(200, &s, "GET", "/v1/sessions/both?user=bob", "")
	if s.Turns[0].Content != "Bob says" {
		t.Errorf("bob's: %+v", s)
	}
	if got := p.want(200, nil, "POST", "/v1/sessions/both/close?user=bob", "{}"); got != `{"id":"both","closed":true}` || p.store.Notified() != 1 {
		t.Errorf("closed: %s, learner told %d times", got, p.store.Notified())
	}
	p.store.Say("default", "alice", "odd/id ?#", "req_q", "x", "y")
	p.want(200, nil, "GET", "/v1/sessions/odd%2Fid%20%3F%23", "")
	p.want(200, nil, "DELETE", "/v1/sessions/odd%2Fid%20%3F%23", "")
	p.want(404, nil, "GET", "/v1/sessions/odd%2Fid%20%3F%23", "")
	p.want(404, nil, "POST", "/v1/sessions/none/close", "{}")
}

func TestReceipts(t *testing.T) {
	p := newPlane(t)
	p.want(404, nil, "GET", "/v1/receipts/last", "")
	p.seed()
	for path, want := range map[string]string{"req_a": "req_a", "chatcmpl-req_b": "req_b", "last": "req_d", "last?user=alice": "req_c", "req_a?user=alice": "req_a"} {
		var r struct {
			RequestID string `json:"request_id"`
			Intent    string
			Tokens    int `json:"block_tokens"`
		}
		p.want(200, &r, "GET", "/v1/receipts/"+path, "")
		if r.RequestID != want || r.Intent != "rag" || r.Tokens != 40 {
			t.Errorf("%s: %+v", path, r)
		}
	}
	p.want(404, nil, "GET", "/v1/receipts/none", "")
}

func TestUsers(t *testing.T) {
	p := newPlane(t)
	p.seed()
	if got := p.want(200, nil, "GET", "/v1/users", ""); !strings.HasPrefix(got, `{"users":[{"id":"alice","sessions":2,"memories":1,"last_seen":"`) {
		t.Errorf("listed: %s", got)
	}
	var e struct {
		User     string
		Memories []added
		Sessions []struct {
			ID    string
			Turns []struct{ Content string }
		}
		Receipts []struct {
			ID string `json:"request_id"`
		}
		Rejected []any
	}
	got := p.want(200, &e, "GET", "/v1/users/alice", "")
	if e.User != "alice" || len(e.Memories) != 1 || len(e.Sessions) != 2 || e.Sessions[0].Turns[0].Content != "Alice asks" || len(e.Receipts) != 2 || e.Rejected == nil || strings.Contains(got, "Bob") {
		t.Errorf("exported: %s", got)
	}
	p.want(404, nil, "GET", "/v1/users/nobody", "")
	if got := p.want(200, nil, "DELETE", "/v1/users/alice", ""); !strings.HasPrefix(got, `{"user":"alice","erased":{"exchanges":2,"memories":1,"sessions":2},"rows":5,"at":"`) {
		t.Errorf("erased: %s", got)
	}
	p.want(404, nil, "GET", "/v1/users/alice", "")
	p.want(200, nil, "GET", "/v1/users/bob", "")
	p.want(200, nil, "GET", "/v1/users/alice", "", "X-Strata-Tenant", "other")
}

func TestStatsAndFlush(t *testing.T) {
	p := newPlane(t)
	p.seed()
	p.store.SetPending(2)
	var s struct {
		Version, Tenant string
		Rows, Waiting   map[string]int
		Memories        map[string]map[string]int
	}
	p.want(200, &s, "GET", "/v1/stats", "")
	if s.Version != "1.2.3" || s.Tenant != "default" || s.Rows["memories"] != 3 || s.Rows["sessions"] != 4 || s.Waiting["learning"] != 2 || s.Memories["by_source"]["admin"] != 3 {
		t.Errorf("stats: %+v", s)
	}
	if got := p.want(200, nil, "POST", "/v1/learn/flush", ""); got != `{"pending":2}` {
		t.Errorf("flush: %s", got)
	}
}

func TestOffAndWrongMethod(t *testing.T) {
	p := newPlane(t, func(c *admin.Config) {
		*c = admin.Config{Token: "t", Tenant: "x", NotReady: func() string { return "" }, Metrics: http.NotFoundHandler()}
	})
	for _, path := range []string{"/v1/documents", "/v1/memories", "/v1/sessions", "/v1/receipts/last", "/v1/users", "/v1/stats", "/v1/events", "/v1/jobs/x"} {
		if status, got := p.ask("GET", path, ""); status != 503 || !strings.Contains(got, "store_unavailable") {
			t.Errorf("%s: %d %s, want 503", path, status, got)
		}
	}
	for _, c := range [][2]string{{"DELETE", "/v1/stats"}, {"GET", "/v1/learn/flush"}, {"PUT", "/v1/memories"}, {"POST", "/v1/documents/x"}, {"DELETE", "/v1/receipts/last"}} {
		if status, got := p.ask(c[0], c[1], ""); status != 405 || !strings.Contains(got, "method_not_allowed") {
			t.Errorf("%s %s: %d %s, want 405", c[0], c[1], status, got)
		}
	}
	if status, _ := p.ask("GET", "/v1/stats", "", "Authorization", "x"); status != 503 {
		t.Errorf("the first Authorization counts: %d", status)
	}
	noTenant := newPlane(t, func(c *admin.Config) { c.Tenant = "" })
	if status, got := noTenant.ask("GET", "/v1/memories", ""); status != 400 {
		t.Errorf("no tenant: %d %s, want 400", status, got)
	}
}
