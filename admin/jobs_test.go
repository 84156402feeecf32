package admin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/admin"
	"strata/ingest"
)

// files counts what a folder holds.
func files(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(entries)
}

// blocked is a plane whose ingests report that they index and then hang, as
// those of a process that is killed do: nothing more of them is written until
// stop ends it in good order.
func blocked(t *testing.T, dir string) (p *plane, began chan ingest.Source, stop func()) {
	t.Helper()
	jobs := admin.NewJobs(dir)
	began = make(chan ingest.Source, 10)
	p = newPlane(t, func(c *admin.Config) { c.Jobs, c.Ingester = jobs, hanging{c.Ingester, began} })
	stop = func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = jobs.Close(ctx)
	}
	t.Cleanup(stop)
	return p, began, stop
}

// hanging tells of each source and never takes it in.
type hanging struct {
	admin.Ingester
	began chan ingest.Source
}

func (h hanging) Put(ctx context.Context, _ string, s ingest.Source) (ingest.Result, error) {
	s.Progress(ingest.Progress{Stage: "indexing", Done: 64, Total: 500})
	h.began <- s
	<-ctx.Done()
	return ingest.Result{}, ctx.Err()
}

// TestJobsResume: what was accepted is taken in by the next process, with all
// that was said of it and under the same id.
func TestJobsResume(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "uploads")
	first, began, _ := blocked(t, dir)
	var j job
	first.want(202, &j, "PUT", "/v1/documents/big?title=Big&groups=hr&effective=2026-02-01", large)
	<-began
	for _, at := range []string{"/v1/jobs/" + j.Job, "/v1/jobs"} {
		if got := first.want(200, nil, "GET", at, ""); !strings.Contains(got, `"status":"pending","stage":"indexing","passages_done":64,"passages_total":500`) {
			t.Errorf("%s: %s", at, got)
		}
	}
	if got := first.want(200, nil, "GET", "/v1/jobs", "", "X-Strata-Tenant", "other"); !strings.Contains(got, `"jobs":[]`) {
		t.Errorf("another tenant's: %s", got)
	}
	if n := files(t, dir); n != 2 {
		t.Errorf("%d files are kept, want 2", n)
	}
	// The first process hangs as if it were killed; the second finds its files.
	if err := os.WriteFile(filepath.Join(dir, "job_cut.body"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := make(chan ingest.Source, 1)
	second := newPlane(t, func(c *admin.Config) {
		c.Jobs = admin.NewJobs(dir)
		c.Ingester = gated{c.Ingester, seen}
	})
	s := <-seen
	if s.ID != "big" || s.Title != "Big" || len(s.Groups) != 1 || s.MediaType != "text/markdown" || !s.Effective.Equal(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)) || string(s.Body) != large {
		t.Errorf("taken up: %q %q %q %v, %d bytes", s.ID, s.Title, s.Groups, s.Effective, len(s.Body))
	}
	if got := second.wait(j.Job); got.Status != "done" || got.Result.Passages != 2 {
		t.Errorf("the job: %+v", got)
	}
	second.want(200, nil, "GET", "/v1/documents/big", "")
	if n := files(t, dir); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

// gated tells of each source before it is taken in.
type gated struct {
	admin.Ingester
	seen chan ingest.Source
}

func (g gated) Put(ctx context.Context, tenant string, s ingest.Source) (ingest.Result, error) {
	if s.File != "" { // it goes with its job
		body, err := os.ReadFile(s.File)
		if err != nil {
			return ingest.Result{}, err
		}
		s.Body = body
	}
	g.seen <- s
	return g.Ingester.Put(ctx, tenant, s)
}

// TestJobsGiveUp: a document that ends the process each time is not tried for
// ever, and one that is deleted does not come back.
func TestJobsGiveUp(t *testing.T) {
	dir := t.TempDir()
	p, began, _ := blocked(t, dir)
	var j, gone job
	p.want(202, &j, "PUT", "/v1/documents/big", large)
	p.want(202, &gone, "PUT", "/v1/documents/gone", large)
	p.want(200, nil, "DELETE", "/v1/documents/gone", "")
	<-began
	for range 2 { // further starts that end while it is taken in
		_, again, _ := blocked(t, dir)
		<-again
	}
	last, again, _ := blocked(t, dir)
	if got := last.wait(j.Job); got.Status != "failed" || got.Error == nil || got.Error.Code != "gave_up" || len(again) != 0 {
		t.Errorf("%+v", got)
	}
	last.want(404, nil, "GET", "/v1/jobs/"+gone.Job, "")
	if n := files(t, dir); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

// TestJobsStop: the end of the process leaves accepted documents to the next.
func TestJobsStop(t *testing.T) {
	dir := t.TempDir()
	jobs := admin.NewJobs(dir)
	p := newPlane(t, func(c *admin.Config) { c.Jobs = jobs })
	began := make(chan struct{})
	p.store.Gate = func(ctx context.Context, _ ingest.Source) error { close(began); <-ctx.Done(); return ctx.Err() }
	var j job
	p.want(202, &j, "PUT", "/v1/documents/a", large)
	<-began
	if err := jobs.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 4 { // stopped again and again, which is no fault of the document's
		_, began, stop := blocked(t, dir)
		<-began
		stop()
	}
	next := newPlane(t, func(c *admin.Config) { c.Jobs = admin.NewJobs(dir) })
	if got := next.wait(j.Job); got.Status != "done" {
		t.Errorf("%+v", got)
	}
}

// TestJobsStopAndDelete: what is deleted while the process stops does not come
// back with the next one, and a process that stops as it starts loses nothing.
func TestJobsStopAndDelete(t *testing.T) {
	dir := t.TempDir()
	p, began, stop := blocked(t, dir)
	p.want(202, nil, "PUT", "/v1/documents/a", large)
	p.want(202, nil, "PUT", "/v1/documents/b", large)
	<-began
	stop()
	p.ask("DELETE", "/v1/documents/a", "")
	closed := admin.NewJobs(dir)
	if err := closed.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	newPlane(t, func(c *admin.Config) { c.Jobs = closed })
	if err := os.WriteFile(filepath.Join(dir, "job_cut.json~"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := make(chan ingest.Source, 2)
	next := newPlane(t, func(c *admin.Config) { c.Jobs, c.Ingester = admin.NewJobs(dir), gated{c.Ingester, seen} })
	if s := <-seen; s.ID != "b" {
		t.Errorf("%s came back", s.ID)
	}
	for deadline := time.Now().Add(10 * time.Second); files(t, dir) > 0 && time.Now().Before(deadline); {
		time.Sleep(2 * time.Millisecond)
	}
	next.want(404, nil, "GET", "/v1/documents/a", "")
	next.want(200, nil, "GET", "/v1/documents/b", "")
}

// TestJobsResumeInOrder: what was accepted first is taken in first.
func TestJobsResumeInOrder(t *testing.T) {
	dir := t.TempDir()
	p, began, stop := blocked(t, dir)
	const several = 4
	for n := range several {
		p.want(202, nil, "PUT", "/v1/documents/a?title="+strings.Repeat("x", n+1), large)
	}
	<-began
	stop()
	seen := make(chan ingest.Source, several)
	newPlane(t, func(c *admin.Config) { c.Jobs, c.Ingester = admin.NewJobs(dir), gated{c.Ingester, seen} })
	for n := range several {
		if s := <-seen; len(s.Title) != n+1 {
			t.Errorf("the upload %d was taken up at place %d", len(s.Title), n+1)
		}
	}
}
