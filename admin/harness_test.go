package admin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"strata/admin"
	"strata/admin/admintest"
)

// plane is a control plane on a real socket.
type plane struct {
	t     *testing.T
	url   string
	store *admintest.Store
	feed  *admin.Feed
}

func newPlane(t *testing.T, change ...func(*admin.Config)) *plane {
	t.Helper()
	store, feed := admintest.New(), admin.NewFeed()
	cfg := store.Config()
	cfg.Events = feed
	for _, c := range change {
		c(&cfg)
	}
	server := httptest.NewServer(admin.New(cfg))
	t.Cleanup(func() { feed.Close(); server.Close() })
	return &plane{t, server.URL, store, feed}
}

// ask makes a call. headers are name and value in turns.
func (p *plane) ask(method, path, body string, headers ...string) (int, string) {
	p.t.Helper()
	req, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer t")
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPut {
		req.Header.Set("Content-Type", "text/markdown")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Content-Type" {
			req.Header.Del(headers[i])
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if resp.StatusCode >= 400 && !strings.HasPrefix(string(b), `{"error":{"message":`) {
		p.t.Errorf("%s %s: %d in another shape than OpenAI's: %s", method, path, resp.StatusCode, b)
	}
	return resp.StatusCode, strings.TrimSpace(string(b))
}

// want asks and compares the status; the answer is decoded into v if given.
func (p *plane) want(status int, v any, method, path, body string, headers ...string) string {
	p.t.Helper()
	got, answer := p.ask(method, path, body, headers...)
	if got != status {
		p.t.Fatalf("%s %s: %d %s, want %d", method, path, got, answer, status)
	}
	if v != nil {
		if err := json.Unmarshal([]byte(answer), v); err != nil {
			p.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
	return answer
}

// added is the part of a memory that tests look at.
type added struct {
	ID         string   `json:"memory_id"`
	Scope      string   `json:"scope"`
	User       string   `json:"user"`
	Session    string   `json:"session_id"`
	Type       string   `json:"memory_type"`
	Kind       string   `json:"kind"`
	Topic      string   `json:"topic"`
	Summary    string   `json:"summary"`
	Importance int      `json:"importance"`
	Status     string   `json:"status"`
	ExpiresAt  string   `json:"expires_at"`
	Sources    []string `json:"source_message_ids"`
	Supersedes string   `json:"supersedes"`
	Scorer     string   `json:"scorer"`
	Source     string   `json:"source"`
	Standing   bool     `json:"standing"`
}

// remember adds a memory of a user's.
func (p *plane) remember(user, body string, headers ...string) added {
	p.t.Helper()
	var m added
	p.want(201, &m, "POST", "/v1/memories", body, append(headers, "X-Strata-User", user)...)
	return m
}
