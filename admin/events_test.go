package admin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"strata/admin"
	"strata/admin/admintest"
)

// listen opens the stream and waits for its first sign of life.
func listen(t *testing.T, url string, headers ...string) *bufio.Reader {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer t")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	r := bufio.NewReader(resp.Body)
	if line, err := r.ReadString('\n'); err != nil || strings.Trim(line, ":\n") != "" {
		t.Fatalf("first line %q, %v", line, err)
	}
	return r
}

func TestEvents(t *testing.T) {
	p := newPlane(t)
	all, bobs, sse := listen(t, p.url), listen(t, p.url, "X-Strata-User", "bob"), listen(t, p.url, "Accept", "text/event-stream")
	p.feed.Publish(admin.Event{Kind: admin.EventRequest, ID: "req_1", Tenant: "other", User: "bob", Figures: &admin.Figures{}})
	p.feed.Publish(admin.Event{Kind: admin.EventRequest, ID: "req_2", Tenant: "default", User: "alice",
		Figures: &admin.Figures{Intent: "rag", Context: "full", Tokens: 412, Layers: []string{"knowledge"}, Millis: 1.5}})
	p.feed.Publish(admin.Event{Kind: admin.EventRequest, ID: "req_3", Tenant: "default", User: "bob", Figures: &admin.Figures{}})
	next := func(r *bufio.Reader, prefix string) (e admin.Event) {
		t.Helper()
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok && text != "" && text != ":" {
				if err := json.Unmarshal([]byte(text), &e); err != nil || e.Figures == nil || e.Layers == nil {
					t.Fatalf("%q: %v", text, err)
				}
				return e
			}
		}
	}
	if a, b := next(all, ""), next(all, ""); a.ID != "req_2" || b.ID != "req_3" || a.Tokens != 412 || a.Layers[0] != "knowledge" {
		t.Errorf("all: %+v, %+v", a, b)
	}
	if e := next(bobs, ""); e.ID != "req_3" {
		t.Errorf("bob's: %+v", e)
	}
	if a, b := next(sse, "data: "), next(sse, "data: "); a.ID != "req_2" || b.ID != "req_3" {
		t.Errorf("server-sent: %+v, %+v", a, b)
	}
	p.feed.Close()
	if rest, err := io.ReadAll(all); err != nil || len(strings.TrimSpace(string(rest))) != 0 {
		t.Errorf("a closed feed: %q, %v, want the end", rest, err)
	}
}

// What was learned from a request is told as soon as it is known, and holds
// nothing of what the request's own event tells; nor does that.
func TestLearnedEvents(t *testing.T) {
	p := newPlane(t)
	bobs := listen(t, p.url, "X-Strata-User", "bob")
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p.feed.Publish(admin.Event{Kind: admin.EventLearned, ID: "req_1", Tenant: "default", User: "alice", Change: &admin.Change{New: 1}})
	p.feed.Publish(admin.Event{Kind: admin.EventLearned, At: at, ID: "req_2", Tenant: "default", User: "bob", Session: "s1", Change: &admin.Change{New: 2, Erased: 1}})
	p.feed.Publish(admin.Event{Kind: admin.EventRequest, At: at, ID: "req_3", Tenant: "default", User: "bob", Figures: &admin.Figures{Context: "none"}})
	for _, want := range []string{
		`{"event":"learned","at":"2026-03-01T12:00:00Z","request_id":"req_2","tenant":"default","user":"bob","session":"s1","new":2,"replaced":0,"erased":1}`,
		`{"event":"request","at":"2026-03-01T12:00:00Z","request_id":"req_3","tenant":"default","user":"bob","context":"none","tokens":0,"layers":[],"ms":0}`,
	} {
		if line, err := bobs.ReadString('\n'); err != nil || strings.TrimSpace(line) != want {
			t.Errorf("%v\n got %swant %s", err, line, want)
		}
	}
}

// The listener's deadlines are for calls, not for streams.
func TestEventsOutliveDeadlines(t *testing.T) {
	feed := admin.NewFeed()
	cfg := admintest.New().Config()
	cfg.Events = feed
	server := httptest.NewUnstartedServer(admin.New(cfg))
	server.Config.ReadTimeout, server.Config.WriteTimeout = 50*time.Millisecond, 50*time.Millisecond
	server.Start()
	defer server.Close()
	defer feed.Close()
	stream := listen(t, server.URL)
	<-time.After(150 * time.Millisecond) // both deadlines have passed
	feed.Publish(admin.Event{ID: "req_1", Tenant: "default"})
	if line, err := stream.ReadString('\n'); err != nil || !strings.Contains(line, "req_1") {
		t.Errorf("%q, %v", line, err)
	}
}

func TestFeed(t *testing.T) {
	f := admin.NewFeed()
	f.Publish(admin.Event{}) // nobody listens
	ctx, cancel := context.WithCancel(t.Context())
	slow, fast := f.Subscribe(ctx), f.Subscribe(t.Context())
	got := 0
	for range 300 {
		f.Publish(admin.Event{})
		<-fast
		got++
	}
	if got != 300 || f.Dropped() != 300-256 || len(slow) != 256 {
		t.Errorf("fast got %d, %d dropped, slow holds %d", got, f.Dropped(), len(slow))
	}
	cancel()
	for range slow {
	}
	f.Close()
	if _, more := <-fast; more {
		t.Error("a closed feed goes on")
	}
	if _, more := <-f.Subscribe(t.Context()); more {
		t.Error("a closed feed takes readers")
	}
	f.Publish(admin.Event{})
}
