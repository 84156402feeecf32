package e2e_test

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"strata/internal/upstreamtest"
)

// embedder is an embedder over HTTP that a test can break.
type embedder struct {
	*httptest.Server
	mu    sync.Mutex
	down  bool
	dims  int // 0 = embedderDims
	slow  time.Duration
	gate  func(texts []string) // called before each answer
	texts map[string]int       // how often each was embedded
}

const embedderDims = 64

func newEmbedder(t *testing.T) *embedder {
	e := &embedder{texts: map[string]int{}}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *embedder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	err := json.NewDecoder(r.Body).Decode(&req)
	e.mu.Lock()
	down, slow, gate, dims := e.down, e.slow, e.gate, cmp.Or(e.dims, embedderDims)
	e.mu.Unlock()
	if err != nil || r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer sk-embedder" {
		http.Error(w, "{}", http.StatusUnauthorized)
		return
	}
	if down {
		http.Error(w, `{"error":{"message":"overloaded"}}`, http.StatusServiceUnavailable)
		return
	}
	time.Sleep(slow)
	if gate != nil {
		gate(req.Input)
	}
	type item struct {
		Object    string    `json:"object"`
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	var data []item
	e.mu.Lock()
	for i, text := range req.Input {
		e.texts[text]++
		// Another model is another space.
		data = append(data, item{"embedding", i, upstreamtest.Embedding(req.Model+" "+meaningOf(text, req.Model), dims)})
	}
	e.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": req.Model, "data": data})
}

// meaningOf gives each model's words their own place. All texts about free days
// mean the same.
func meaningOf(text, model string) string {
	words := strings.Fields(strings.ToLower(text))
	if strings.Contains(text, "vacation") || strings.Contains(text, "annual leave") {
		words = []string{"holiday"}
	}
	for i := range words {
		words[i] += model
	}
	return strings.Join(words, " ")
}

func (e *embedder) set(change func(e *embedder)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(e)
}

// embedded is how many texts were, and how many of them more than once.
func (e *embedder) embedded(part string) (texts, twice int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for text, n := range e.texts {
		if strings.Contains(text, part) {
			texts++
			if n > 1 {
				twice++
			}
		}
	}
	return texts, twice
}

func (e *embedder) settings(model string, more ...string) []string {
	return append([]string{"STRATA_EMBEDDER_BASE_URL=" + e.URL, "STRATA_EMBEDDER_API_KEY=sk-embedder", "STRATA_EMBEDDER_MODEL=" + model}, more...)
}

// putDocument takes one in and tells what is said of its vectors.
func (r *rig) putForVectors(t testing.TB, id, text string) string {
	t.Helper()
	status, answer := r.control(t, who{}, http.MethodPut, "/v1/documents/"+id, "text/markdown", text)
	var a struct{ Status, Vectors string }
	if err := json.Unmarshal([]byte(answer), &a); err != nil || status != http.StatusOK || a.Status != "published" {
		t.Fatalf("%s: %d %s", id, status, answer)
	}
	return a.Vectors
}

// vectorsOf is what the newest version of a document has.
func (r *rig) vectorsOf(t testing.TB, id string) string {
	t.Helper()
	_, text := r.control(t, who{}, http.MethodGet, "/v1/documents/"+id+"?passages=false", "", "")
	var d struct {
		Versions []struct{ Vectors string }
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil || len(d.Versions) == 0 {
		return text
	}
	return d.Versions[0].Vectors
}

func (r *rig) waitVectors(t testing.TB, ids ...string) {
	t.Helper()
	for _, id := range ids {
		r.waitUntil(t, id+" has its vectors", func() bool { return r.vectorsOf(t, id) == "ready" })
	}
}

func (r *rig) waitMetric(t testing.TB, name string, want float64) {
	t.Helper()
	r.waitUntil(t, fmt.Sprint(name, " is ", want), func() bool { return r.metric(t, name) == want })
}

// pages is a text of so many sections.
func pages(n int, word string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "# Part %d of %s\n\nThe %s of department %d is kept in room %d, on floor %d.\n\n", i, word, word, i, i*7, i%9)
	}
	return b.String()
}

func TestVectorsFollowDocuments(t *testing.T) { onBothIndexes(t, vectorsFollowDocuments) }

func vectorsFollowDocuments(t *testing.T, set ...string) {
	e := newEmbedder(t)
	r := newRig(t, nil, append(set, e.settings("m1")...)...)
	r.waitMetric(t, "strata_vectors_ready", 1)
	if got := r.putForVectors(t, "a.md", "# Contacts\n\nCall 13912345678 about ZEBRA keys.\n"); got != "pending" && got != "ready" {
		t.Errorf("vectors: %s", got)
	}
	r.putForVectors(t, "b.md", pages(100, "ledger"))
	r.waitVectors(t, "a.md", "b.md")
	r.waitMetric(t, "strata_embed_rows", 0)
	if got := r.putForVectors(t, "a.md", "# Contacts\n\nCall 13912345678 about ZEBRA keys.\n"); got != "ready" {
		t.Errorf("put again: %s", got)
	}
	r.putForVectors(t, "leave.md", "# Absence\n\nStaff are granted TWENTY-FIVE days of annual leave.\n")
	r.waitVectors(t, "leave.md")
	// No word of the question is in the passage.
	if a := r.ask(t, asRAG(u1("s")), user("what about vacation?")); !strings.Contains(a.upBody(), "TWENTY-FIVE") {
		t.Errorf("not found by what it means (%s): %s", a.header.Get("X-Strata-Context"), a.upBody())
	}
	if n, _ := e.embedded("13912345678"); n != 0 {
		t.Error("the embedder was sent a phone number")
	}
	if n, twice := e.embedded("ledger"); n < 100 || twice > 0 {
		t.Errorf("%d texts of the document were embedded, %d more than once", n, twice)
	}
	if n, _ := e.embedded("[redacted:phone] about ZEBRA"); n != 1 {
		t.Errorf("%d", n)
	}
}

// What an embedder that is not there costs is its part alone, and when it comes
// everything that was put meanwhile gets its vectors.
func TestEmbedderDownAtTheStart(t *testing.T) {
	e := newEmbedder(t)
	e.set(func(e *embedder) { e.down = true })
	r := newRig(t, nil, append(e.settings("m1"), patient)...)
	if got := r.putForVectors(t, "a.md", "# Holidays\n\nEveryone gets TWENTY days of leave.\n"); got != "none" {
		t.Errorf("vectors: %s", got)
	}
	if a := r.ask(t, asRAG(u1("s")), user("How many days of leave does everyone get?")); !strings.Contains(a.upBody(), "TWENTY") {
		t.Errorf("not found by its words (%s)", a.header.Get("X-Strata-Context"))
	}
	if r.metric(t, "strata_vectors_ready") != 0 {
		t.Error("vectors of an embedder that is down")
	}
	r.waitUntil(t, "the log tells of it", func() bool { return strings.Contains(r.stderr.String(), "the embedder does not answer") })
	e.set(func(e *embedder) { e.down = false })
	r.waitMetric(t, "strata_vectors_ready", 1)
	r.waitVectors(t, "a.md")
}

// A changed embedder costs the vectors until somebody asks for new ones, by the
// command or by the configuration.
func TestAnotherEmbedder(t *testing.T) { onBothIndexes(t, anotherEmbedder) }

func anotherEmbedder(t *testing.T, set ...string) {
	e := newEmbedder(t)
	r := newRig(t, nil, append(set, e.settings("m1")...)...)
	r.putForVectors(t, "a.md", pages(70, "harbour"))
	r.waitVectors(t, "a.md")
	r.waitUntil(t, "all has vectors", func() bool { return strings.Contains(r.stderr.String(), "all documents have their vectors") })
	another := func(model string, more ...string) {
		t.Helper()
		r.stop(t)
		r.set = append(settings{"TZ=Asia/Shanghai"}, append(set, e.settings(model, more...)...)...)
	}
	byWords := func() {
		t.Helper()
		if a := r.ask(t, asRAG(u1("s")), user("In which room is the harbour of department 12?")); !strings.Contains(a.upBody(), "room 84") {
			t.Errorf("not found by its words (%s)", a.header.Get("X-Strata-Context"))
		}
	}
	rebuild := func() string {
		t.Helper()
		cmd := exec.CommandContext(within(t), build.binary, "index", "rebuild")
		cmd.Env = append(slices.Clone(r.cmd.Env), r.set...) // of the next start, where it does not run
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}

	another("m2")
	r.boot(t)
	r.waitReady(t)
	r.waitUntil(t, "the log tells of it", func() bool { return strings.Contains(r.stderr.String(), "THE EMBEDDER HAS CHANGED") })
	if r.metric(t, "strata_vectors_ready") != 0 {
		t.Error("vectors of another embedder are compared")
	}
	byWords()
	if out := rebuild(); !strings.Contains(out, "does the work") || !strings.Contains(out, "the index is rebuilt") {
		t.Errorf("beside a running Strata: %s", out)
	}
	r.waitMetric(t, "strata_vectors_ready", 1)
	r.waitVectors(t, "a.md")
	byWords()

	another("m3")
	if out := rebuild(); strings.Contains(out, "does the work") || !strings.Contains(out, "the index is rebuilt") {
		t.Errorf("without a running Strata: %s", out)
	}
	r.boot(t)
	r.waitReady(t)
	r.waitMetric(t, "strata_vectors_ready", 1)
	if strings.Contains(r.stderr.String(), "EMBEDDER HAS CHANGED") {
		t.Error("the embedder that was rebuilt for is another one")
	}
	byWords()

	another("m4", "STRATA_EMBEDDER_REBUILD=auto")
	r.boot(t)
	r.waitReady(t)
	r.waitMetric(t, "strata_vectors_ready", 1)
	r.waitVectors(t, "a.md")
	if n, _ := e.embedded("harbour"); n < 70 {
		t.Errorf("%d texts", n)
	}
}

// A process that is killed while it embeds is no loss, and next to nothing is
// embedded again.
func TestKilledWhileEmbedding(t *testing.T) {
	e := newEmbedder(t)
	r := newRig(t, nil, append(e.settings("m1"), patient)...)
	r.waitMetric(t, "strata_vectors_ready", 1)
	e.set(func(e *embedder) { e.slow = 150 * time.Millisecond })
	r.putForVectors(t, "a.md", pages(700, "quarry"))
	for round := range 3 {
		r.waitUntil(t, "some is embedded", func() bool { n, _ := e.embedded("quarry"); return n > 150*(round+1) })
		if err := r.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-r.exited
		if round == 2 {
			e.set(func(e *embedder) { e.slow = 0 })
		}
		r.boot(t)
		r.waitReady(t)
	}
	r.waitVectors(t, "a.md")
	n, twice := e.embedded("quarry")
	t.Logf("%d texts, %d of them more than once", n, twice)
	if n < 700 || twice > 3*64 {
		t.Errorf("%d texts were embedded, %d more than once", n, twice)
	}
}

// Nothing is left of a document that was deleted while it was embedded.
func TestDeletedWhileItIsEmbedded(t *testing.T) {
	e := newEmbedder(t)
	r := newRig(t, nil, append(e.settings("m1"), patient)...)
	r.waitMetric(t, "strata_vectors_ready", 1)
	r.putForVectors(t, "stays.md", "# Stays\n\nThis one stays.\n")
	r.waitVectors(t, "stays.md")
	reached, open := make(chan struct{}), make(chan struct{})
	var once sync.Once
	e.set(func(e *embedder) {
		e.gate = func(texts []string) {
			if strings.Contains(strings.Join(texts, " "), "quarry") {
				once.Do(func() { close(reached) })
				<-open
			}
		}
	})
	r.putForVectors(t, "a.md", pages(150, "quarry"))
	<-reached
	if status, text := r.control(t, who{}, http.MethodDelete, "/v1/documents/a.md", "", ""); status >= 300 {
		t.Fatalf("%d %s", status, text)
	}
	r.waitMetric(t, "strata_outbox_rows", 0) // removed before the vectors come
	close(open)
	r.waitUntil(t, "the vectors have come and gone", func() bool {
		vectors, removals := vectorRows(t, r.dir)
		return removals >= 64 && vectors == 1
	})
	r.waitMetric(t, "strata_embed_rows", 0)
	r.stop(t)
	if vectors, _ := vectorRows(t, r.dir); vectors != 1 {
		t.Errorf("%d vectors are left, want that of the other document", vectors)
	}
}

// vectorRows counts the vectors of the index file, and the removals.
func vectorRows(t testing.TB, dir string) (vectors, removals int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "index.db")+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(`SELECT count(passage), count(gone) FROM vector`).Scan(&vectors, &removals); err != nil {
		t.Fatal(err)
	}
	return vectors, removals
}
