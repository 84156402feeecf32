package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"strata/admin"
	"strata/ingest"
	"strata/stores"
)

func TestDocuments(t *testing.T) {
	p := newPlane(t)
	put := func(path, body string) (r ingest.Result) {
		t.Helper()
		p.want(200, &r, "PUT", path, body)
		return r
	}
	if r := put("/v1/documents/handbook/leave.md?title=Leave&groups=hr,+managers,hr", "One.\n\nTwo."); r != (ingest.Result{ID: "handbook/leave.md", Version: 1, Status: "published", Passages: 2, Vectors: "none"}) {
		t.Errorf("stored %+v", r)
	}
	// The same id with its slash escaped.
	if r := put("/v1/documents/handbook%2Fleave.md?title=Leave&groups=hr,managers", "One.\n\nTwo."); !r.Unchanged || r.Version != 1 {
		t.Errorf("the same again: %+v", r)
	}
	if r := put("/v1/documents/handbook/leave.md?title=Leave", "One.\n\n二。\n\nThree."); r.Version != 2 || r.Passages != 3 {
		t.Errorf("changed: %+v", r)
	}
	var one struct {
		ID, Title, Status string
		Version           int
		Groups            []string
		Versions          []struct {
			Version         int
			Status, Vectors string
		}
		Passages []struct {
			ID      string
			Ordinal int
			Heading *string
			Text    string
		}
	}
	p.want(200, &one, "GET", "/v1/documents/handbook/leave.md", "")
	if one.ID != "handbook/leave.md" || one.Title != "Leave" || one.Version != 2 || one.Groups == nil || len(one.Versions) != 2 || one.Versions[1].Status != "replaced" ||
		len(one.Passages) != 3 || one.Passages[1].Text != "二。" || one.Passages[1].Ordinal != 1 || one.Passages[0].Heading == nil {
		t.Errorf("read back: %+v", one)
	}
	list := p.want(200, nil, "GET", "/v1/documents", "")
	if !strings.Contains(list, `"documents":[{"id":"handbook/leave.md","title":"Leave","version":2,"status":"published","groups":[],"passages":3,"updated_at":"`) || !strings.HasSuffix(list, `"next_cursor":""}`) {
		t.Errorf("listed: %s", list)
	}
	if got := p.want(200, nil, "DELETE", "/v1/documents/handbook%2Fleave.md", ""); got != `{"id":"handbook/leave.md","deleted":true}` {
		t.Errorf("deleted: %s", got)
	}
	p.want(404, nil, "GET", "/v1/documents/handbook/leave.md", "")
	p.want(404, nil, "DELETE", "/v1/documents/handbook/leave.md", "")
}

// A document is written some passages at a time, and reads as if it were not.
func TestDocumentPassages(t *testing.T) {
	p := newPlane(t)
	for n := range 6 {
		text := "One & <two>.\n\n二。"
		for i := range n {
			text += fmt.Sprintf("\n\nNumber %d.", i)
		}
		p.want(200, nil, "PUT", "/v1/documents/a", text)
		got := p.want(200, nil, "GET", "/v1/documents/a", "")
		var d struct {
			Versions []stores.Version `json:"versions"`
			Passages []stores.Passage `json:"passages"`
		}
		if err := json.Unmarshal([]byte(got), &d); err != nil || len(d.Passages) != n+2 || len(d.Versions) != n+1 {
			t.Fatalf("%d passages, %v in %s", len(d.Passages), err, got)
		}
		for i, passage := range d.Passages {
			if passage.Ordinal != i || passage.Version != n+1 {
				t.Errorf("passage %d of version %d: %+v", i, n+1, passage)
			}
		}
		id := d.Passages[0].ID
		if want := `],"passages":[{"id":"` + id + `","version":` + fmt.Sprint(n+1) + `,"ordinal":0,"heading":"","text":"One & <two>.","tokens":`; !strings.Contains(got, want) || !strings.HasPrefix(got, `{"id":"a","title":"a","version":`) {
			t.Errorf("written as %s\nwant %s", got, want)
		}
	}
	var old, none map[string]any
	p.want(200, &old, "GET", "/v1/documents/a?version=1", "")
	if passages := old["passages"].([]any); len(passages) != 2 || old["version"] != 6.0 {
		t.Errorf("version 1: %v", old)
	}
	p.store.Read = func(string, int) error { t.Error("passages are read that nobody asked for"); return nil }
	for _, path := range []string{"?passages=false", "?version=2&passages=false"} {
		p.want(200, &none, "GET", "/v1/documents/a"+path, "")
		if _, there := none["passages"]; there || len(none["versions"].([]any)) != 6 {
			t.Errorf("%s: %v", path, none)
		}
	}
	for path, want := range map[string]int{"?version=7": 404, "?version=7&passages=false": 404, "?version=0": 400, "?version=x": 400, "?passages=no": 400} {
		p.want(want, nil, "GET", "/v1/documents/a"+path, "")
	}
}

// What fails before the first passage is answered as an error, what fails later
// breaks the connection: no client may take a part for the whole.
func TestDocumentBreaksOff(t *testing.T) {
	var log bytes.Buffer
	p := newPlane(t, func(c *admin.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	p.want(200, nil, "PUT", "/v1/documents/a", strings.Repeat("One.", 5000)+"\n\nTwo.\n\nThree.\n\nFour.\n\nPrivate.")
	get := func() (*http.Response, error) {
		req, _ := http.NewRequest("GET", p.url+"/v1/documents/a", nil)
		req.Header.Set("Authorization", "Bearer t")
		return http.DefaultClient.Do(req)
	}
	for _, c := range []struct {
		first  int
		err    error
		status int // 0 = the answer is broken off
		logged string
	}{
		{0, errors.New("disk"), 500, "disk"},
		{0, stores.ErrNotFound, 404, ""},
		{2, errors.New("disk"), 0, "disk"},
		{4, errors.New("disk"), 0, "disk"},
		{5, stores.ErrNotFound, 0, ""}, // all its text is written
	} {
		log.Reset()
		p.store.Read = func(_ string, first int) error {
			if first >= c.first {
				return c.err
			}
			return nil
		}
		resp, err := get()
		var body []byte
		if err == nil {
			body, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		switch {
		case c.status == 0 && (!errors.Is(err, io.ErrUnexpectedEOF) || json.Valid(body)):
			t.Errorf("%v at passage %d: %v, %.200s", c.err, c.first, err, body)
		case c.status != 0 && (err != nil || resp.StatusCode != c.status):
			t.Errorf("%v at passage %d: %v, %s", c.err, c.first, err, body)
		}
		if got := log.String(); c.logged == "" != (got == "") || !strings.Contains(got, c.logged) || strings.Contains(got, "Private") {
			t.Errorf("%v at passage %d: logged %q", c.err, c.first, got)
		}
	}
	if resp, err := http.Get(p.url + "/livez"); err != nil || resp.StatusCode != 200 {
		t.Errorf("afterwards: %v", err)
	}
}

func TestDocumentHead(t *testing.T) {
	p := newPlane(t)
	p.want(200, nil, "PUT", "/v1/documents/a", "One.\n\nTwo.\n\nThree.")
	p.store.Read = func(_ string, first int) error {
		if first > 0 {
			t.Error("all passages are read for nobody")
		}
		return nil
	}
	for path, want := range map[string]int{"a": 200, "a?passages=false": 200, "a?version=2": 404, "b": 404} {
		req, _ := http.NewRequest("HEAD", p.url+"/v1/documents/"+path, nil)
		req.Header.Set("Authorization", "Bearer t")
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s: %v, want %d", path, err, want)
		}
	}
}

// Dates and odd ids reach the ingester as they are meant.
func TestDocumentSource(t *testing.T) {
	var got ingest.Source
	shanghai := time.FixedZone("", 8*3600)
	p := newPlane(t)
	p.store.Gate = func(_ context.Context, s ingest.Source) error { got = s; return nil }
	for _, c := range []struct {
		path, id           string
		effective, expires time.Time
		headers            []string
	}{
		{"/v1/documents/a%2F%2Fb%3F", "a//b?", time.Time{}, time.Time{}, nil},
		{"/v1/documents/%2E%2E", "..", time.Time{}, time.Time{}, nil},
		{"/v1/documents/%E5%81%87%E6%9C%9F.md?effective=2026-01-01&expires=2026-12-31", "假期.md", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC), nil},
		{"/v1/documents/z?effective=2026-01-01&expires=2026-12-31", "z", time.Date(2026, 1, 1, 0, 0, 0, 0, shanghai), time.Date(2026, 12, 31, 23, 59, 59, 0, shanghai), []string{"X-Strata-Timezone", "Asia/Shanghai"}},
		{"/v1/documents/o?effective=2026-01-01T10:00:00%2B08:00", "o", time.Date(2026, 1, 1, 10, 0, 0, 0, shanghai), time.Time{}, nil},
		{"/v1/documents/p?effective=2026-01-01T10:00:00+08:00", "p", time.Date(2026, 1, 1, 10, 0, 0, 0, shanghai), time.Time{}, nil},
	} {
		p.want(200, nil, "PUT", c.path, "text", c.headers...)
		if got.ID != c.id || !got.Effective.Equal(c.effective) || !got.Expires.Equal(c.expires) || string(got.Body) != "text" || got.MediaType != "text/markdown" {
			t.Errorf("%s: %+v", c.path, got)
		}
	}
}

func TestDocumentMistakes(t *testing.T) {
	p := newPlane(t, func(c *admin.Config) { c.MaxDocument = 100 })
	for _, c := range []struct {
		name, path, body string
		want             int
		code             string
		headers          []string
	}{
		{"a kind that is not read", "/v1/documents/a", "x", 415, "unsupported_media_type", []string{"Content-Type", "image/png"}},
		{"empty", "/v1/documents/a", " ", 400, "empty_document", nil},
		{"too large", "/v1/documents/a", strings.Repeat("x", 101), 413, "body_too_large", nil},
		{"a date", "/v1/documents/a?effective=tomorrow", "x", 400, "effective:", nil},
		{"a time without an offset", "/v1/documents/a?expires=2026-01-01T00:00:00", "x", 400, "expires:", nil},
		{"over before it begins", "/v1/documents/a?effective=2026-02-01&expires=2026-01-01", "x", 400, "expires:", nil},
		{"groups without a name", "/v1/documents/a?groups=,+,", "x", 400, "groups:", nil},
		{"a mistyped parameter", "/v1/documents/a?expire=2026-01-01", "x", 400, "unknown_parameter", nil},
		{"no id", "/v1/documents/", "x", 404, "not_found", nil},
		{"control characters in the id", "/v1/documents/a%0Ab", "x", 400, "id:", nil},
		{"a long id", "/v1/documents/" + strings.Repeat("a", 513), "x", 400, "id:", nil},
	} {
		if status, got := p.ask("PUT", c.path, c.body, c.headers...); status != c.want || !strings.Contains(got, c.code) {
			t.Errorf("%s: %d %s, want %d %s", c.name, status, got, c.want, c.code)
		}
	}
}

// large is an upload that its caller does not wait for.
var large = "Large.\n\n" + strings.Repeat("x", 8<<20)

type job struct {
	Job, ID, Status string
	Result          *ingest.Result
	Error           *struct{ Code string }
}

// wait asks for a job until it has ended.
func (p *plane) wait(id string) (j job) {
	p.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		p.want(200, &j, "GET", "/v1/jobs/"+id, "")
		if j.Status != "pending" {
			return j
		}
	}
	p.t.Fatalf("job %s did not end", id)
	return j
}

func TestLargeDocument(t *testing.T) {
	p := newPlane(t)
	go_, began := make(chan struct{}), make(chan string, 10)
	p.store.Gate = func(ctx context.Context, s ingest.Source) error {
		began <- s.ID
		select {
		case <-go_:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var first, second job
	p.want(202, &first, "PUT", "/v1/documents/big/a", large)
	<-began
	p.want(202, &second, "PUT", "/v1/documents/big/b", large)
	if first.Status != "pending" || first.ID != "big/a" || first.Job == "" {
		t.Errorf("accepted: %+v", first)
	}
	p.want(404, nil, "GET", "/v1/jobs/"+first.Job, "", "X-Strata-Tenant", "other")
	p.want(404, nil, "GET", "/v1/jobs/none", "")
	// The second waits for its turn and is deleted meanwhile.
	p.want(200, nil, "DELETE", "/v1/documents/big/b", "")
	if j := p.wait(second.Job); j.Status != "failed" || j.Error == nil || j.Error.Code != "deleted" || len(began) != 0 {
		t.Errorf("deleted while it waited: %+v", j)
	}
	close(go_)
	if j := p.wait(first.Job); j.Status != "done" || j.Result == nil || j.Result.Version != 1 || j.Result.Passages != 2 {
		t.Errorf("done: %+v", j)
	}
	p.want(200, nil, "GET", "/v1/documents/big/a", "")
	p.want(404, nil, "GET", "/v1/documents/big/b", "")
}

// What is being ingested must not come back after a delete has answered.
func TestDeleteWhileIngesting(t *testing.T) {
	p := newPlane(t)
	began := make(chan struct{})
	p.store.Gate = func(ctx context.Context, _ ingest.Source) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	}
	answered := make(chan string)
	go func() {
		status, got := p.ask("PUT", "/v1/documents/a", "text")
		answered <- http.StatusText(status) + got
	}()
	<-began
	p.want(200, nil, "DELETE", "/v1/documents/a", "")
	if got := <-answered; !strings.Contains(got, "Conflict") || !strings.Contains(got, `"deleted"`) {
		t.Errorf("the upload: %s", got)
	}
	p.want(404, nil, "GET", "/v1/documents/a", "")
}

// Uploads of one document become versions in the order in which they came.
func TestUploadsInOrder(t *testing.T) {
	p := newPlane(t)
	began, go_ := make(chan string, 10), make(chan struct{})
	p.store.Gate = func(_ context.Context, s ingest.Source) error {
		began <- string(s.Body[:5])
		<-go_
		return nil
	}
	p.want(202, nil, "PUT", "/v1/documents/a", large)
	<-began
	second := make(chan ingest.Result)
	go func() {
		var r ingest.Result
		_, got := p.ask("PUT", "/v1/documents/a", "small")
		_ = json.Unmarshal([]byte(got), &r)
		second <- r
	}()
	select {
	case got := <-began:
		t.Errorf("%q began before the one ahead had ended", got)
	case <-time.After(50 * time.Millisecond):
	}
	close(go_)
	if r := <-second; r.Version != 2 {
		t.Errorf("the later upload: %+v, want version 2", r)
	}
}

// A parser that panics ends one call, and the log has no text of the document.
func TestIngestPanics(t *testing.T) {
	var log bytes.Buffer
	p := newPlane(t, func(c *admin.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	p.store.Gate = func(_ context.Context, s ingest.Source) error {
		if s.ID == "broken" {
			return errors.New("disk")
		}
		panic("index out of range")
	}
	for _, id := range []string{"a", "broken"} {
		if got := p.want(500, nil, "PUT", "/v1/documents/"+id, "very private text"); strings.Contains(got, "disk") || strings.Contains(got, "range") {
			t.Errorf("the answer tells of the inside: %s", got)
		}
	}
	if got := log.String(); !strings.Contains(got, "index out of range") || strings.Contains(got, "private") || strings.Contains(got, "Bearer") {
		t.Errorf("logged: %s", got)
	}
}

func TestJobsEnd(t *testing.T) {
	jobs := admin.NewJobs("")
	p := newPlane(t, func(c *admin.Config) { c.Jobs = jobs })
	began := make(chan struct{})
	p.store.Gate = func(ctx context.Context, _ ingest.Source) error { close(began); <-ctx.Done(); return ctx.Err() }
	var j job
	p.want(202, &j, "PUT", "/v1/documents/a", large)
	<-began
	if err := jobs.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if j = p.wait(j.Job); j.Status != "failed" || j.Error.Code != "stopping" {
		t.Errorf("a job of a stopping server: %+v", j)
	}
	p.want(503, nil, "PUT", "/v1/documents/b", "text")
}
