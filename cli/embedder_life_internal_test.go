package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/ingest"
	"strata/internal/upstreamtest"
	"strata/llm"
	"strata/stores"
	"strata/stores/cached"
	"strata/stores/ledger"
	"strata/stores/textindex"
)

// swapped is an embeddings server behind one address, whose model a test
// changes.
type swapped struct {
	*httptest.Server
	mu    sync.Mutex
	which int // the model
	name  string
	dims  int
	down  bool
	calls int
	asked map[string]int // texts of passages
}

func (s *swapped) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *swapped) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct{ Input []string }
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || s.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var data []map[string]any
	for i, text := range req.Input {
		if strings.Contains(text, "harbour") {
			s.asked[text]++
		}
		data = append(data, map[string]any{"index": i, "embedding": vectorBy(s.which, text, s.dims)})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"model": s.name, "data": data})
}

func vectorBy(model int, text string, dims int) []float32 {
	words := strings.Fields(text)
	for i := range words {
		words[i] += fmt.Sprint("m", model)
	}
	return upstreamtest.Embedding(strings.Join(words, " "), dims)
}

// comparing takes down which vectors questions are compared by.
type comparing struct {
	index
	mu    sync.Mutex
	asked [][]float32
}

func (x *comparing) Nearest(ctx context.Context, tenant, space string, v []float32, limit int) ([]stores.Hit, error) {
	x.mu.Lock()
	x.asked = append(x.asked, v)
	x.mu.Unlock()
	return x.index.Nearest(ctx, tenant, space, v, limit)
}

// output is a log that is read while it is written.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) has(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Contains(o.b.String(), text)
}

// swapRig is what gives a tenant's documents vectors of a model that can be
// swapped.
type swapRig struct {
	*meaning
	*swapped
	ingester *ingest.Ingester
	index    *comparing
	log      output
	n        int
}

func newSwapRig(t *testing.T, auto bool, every time.Duration) *swapRig {
	t.Helper()
	r := &swapRig{swapped: &swapped{which: 1, name: "m", dims: 64, asked: map[string]int{}}}
	r.Server = httptest.NewServer(r.swapped)
	t.Cleanup(r.Close)
	l, err := ledger.New(t.Context(), ledger.Config{Path: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	x, err := textindex.New(t.Context(), textindex.Config{Path: filepath.Join(t.TempDir(), "index.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	cache, err := cached.NewVectors(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cache.Close)
	r.index = &comparing{index: x}
	connect := func() embedder {
		return llm.NewEmbedder(llm.EmbedderConfig{BaseURL: r.URL + "/v1", Model: "m"})
	}
	r.meaning = meaningOf(connect, "m", auto, l, r.index, cache, slog.New(slog.NewTextHandler(&r.log, nil)))
	r.every, r.pause = every, time.Millisecond
	r.ingester = ingest.New(ingest.Config{Ledger: l, Index: x, Vectors: x, Embed: r.passages})
	ctx, stop := context.WithCancel(context.Background())
	var works sync.WaitGroup
	works.Go(func() { r.ingester.Run(ctx) })
	works.Go(func() { r.run(ctx, r.ingester) })
	t.Cleanup(func() { stop(); works.Wait() })
	r.put(t, "a.md", "The harbour opens at six.")
	r.wait(t, "vectors", r.complete)
	return r
}

func (r *swapRig) put(t *testing.T, id, text string) {
	t.Helper()
	if _, err := r.ingester.Put(t.Context(), "T", ingest.Source{ID: id, Title: "t", Body: []byte(text), MediaType: "text/markdown"}); err != nil {
		t.Fatal(err)
	}
}

func (r *swapRig) complete() bool {
	left, err := r.left(context.Background())
	return err == nil && left == 0
}

func (r *swapRig) wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not: %s\n%s", what, &r.log.b)
		}
	}
}

// ask puts a question that was never asked before, and tells whether it was
// compared.
func (r *swapRig) ask(t *testing.T) error {
	t.Helper()
	r.n++
	_, err := r.Nearest(t.Context(), "T", []string{harbour(r.n)}, 3)
	return err
}

// foreign are the lengths of vectors by which questions were compared and which
// the first model has not made.
func (r *swapRig) foreign() (lengths []int) {
	r.index.mu.Lock()
	defer r.index.mu.Unlock()
	for _, v := range r.index.asked {
		own := false
		for n := 1; n <= r.n && !own; n++ {
			want := vectorBy(1, harbour(n), 64)
			own = slices.EqualFunc(v, want, func(a, b float32) bool { return a-b < 1e-5 && b-a < 1e-5 })
		}
		if !own {
			lengths = append(lengths, len(v))
		}
	}
	return lengths
}

func harbour(n int) string { return fmt.Sprintf("When does harbour %d open", n) }

const capitals = "THE EMBEDDER HAS CHANGED"

// Another model under the same name, of the same size, without an outage: it is
// noticed when it is time to look, nothing is compared from then on, and when the
// former one is back, so are its vectors.
func TestAModelSwappedInSilence(t *testing.T) {
	r := newSwapRig(t, false, time.Millisecond)
	if err := r.ask(t); err != nil {
		t.Fatal(err)
	}
	r.set(func() { r.which = 2 })
	r.wait(t, "noticed", func() bool { _ = r.ask(t); return r.log.has(capitals) })
	before := len(r.foreign())
	r.put(t, "b.md", "The harbour closes at nine.")
	for range 20 {
		if err := r.ask(t); !errors.Is(err, errNoVectors) {
			t.Fatal(err)
		}
	}
	if n := len(r.foreign()); n != before || r.ready() != 0 {
		t.Errorf("%d questions were compared by another model afterwards; ready: %v", n-before, r.ready())
	}
	r.set(func() { r.which = 1 })
	r.wait(t, "back", func() bool { return r.ask(t) == nil })
	r.wait(t, "the vectors of what came meanwhile", r.complete)
	for text, n := range r.asked {
		if n != 1 && strings.Contains(text, "six") {
			t.Errorf("%q was embedded %d times", text, n)
		}
	}
}

// What tells by itself that another model answers is never compared, not even
// the first time.
func TestAModelThatTellsIsNeverCompared(t *testing.T) {
	for name, swap := range map[string]func(r *swapRig){
		"another name": func(r *swapRig) { r.which, r.name = 2, "m-v2" },
		"another size": func(r *swapRig) { r.which, r.dims = 2, 32 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newSwapRig(t, false, time.Hour)
			r.set(func() { swap(r) })
			if err := r.ask(t); !errors.Is(err, llm.ErrOther) {
				t.Errorf("%v", err)
			}
			r.wait(t, "noticed", func() bool { _ = r.ask(t); return r.log.has(capitals) })
			if n := r.foreign(); len(n) > 0 {
				t.Errorf("questions were compared by vectors of %d numbers", n)
			}
		})
	}
}

// The same model under another name is asked for the fixed text once, and used.
func TestAnotherNameOfTheSameModel(t *testing.T) {
	r := newSwapRig(t, false, time.Hour)
	r.set(func() { r.name = "m@2" })
	if err := r.ask(t); !errors.Is(err, llm.ErrOther) {
		t.Errorf("%v", err)
	}
	r.wait(t, "known", func() bool { return r.ask(t) == nil })
	if r.log.has(capitals) || r.log.has("answers otherwise") {
		t.Errorf("%s", &r.log.b)
	}
}

// A server that was given up and comes back with another model is looked at
// before anything is compared; after a single failure soon after it answers.
func TestAModelSwappedInAnOutage(t *testing.T) {
	for failures, most := range map[int]int{1: 1 << 30, 6: 0} {
		r := newSwapRig(t, false, time.Hour)
		r.set(func() { r.down = true })
		for range failures {
			if err := r.ask(t); err == nil {
				t.Fatal("found while it is down")
			}
		}
		r.set(func() { r.down, r.which = false, 2 })
		r.wait(t, "noticed", func() bool { _ = r.ask(t); return r.log.has(capitals) })
		if n := len(r.foreign()); n > most {
			t.Errorf("after %d failures %d questions were compared by another model", failures, n)
		}
	}
}

// No passage gets a vector of another model in the space of the first, however
// late it is noticed.
func TestPassagesOfAModelThatWasSwapped(t *testing.T) {
	for _, auto := range []bool{false, true} {
		r := newSwapRig(t, auto, time.Hour)
		r.set(func() { r.which = 2 })
		former := r.life.Load().space
		r.put(t, "b.md", "The harbour closes at nine.")
		if auto {
			r.wait(t, "taken over", func() bool { l := r.life.Load(); return l != nil && l.space.ID != former.ID && r.complete() })
			for text, n := range r.asked {
				if n < 2 {
					t.Errorf("%q was embedded %d times", text, n)
				}
			}
			if err := r.ask(t); err != nil {
				t.Error(err)
			}
			continue
		}
		r.wait(t, "noticed", func() bool { return r.log.has(capitals) })
		if near, err := r.index.index.Nearest(t.Context(), "T", former.ID, vectorBy(1, "x", 64), 9); err != nil || len(near) != 1 {
			t.Errorf("%d vectors of the first model, %v", len(near), err)
		}
	}
}

// A wish to rebuild takes a model over that nobody has noticed.
func TestARebuildTakesTheModelThatIsThere(t *testing.T) {
	r := newSwapRig(t, false, time.Hour)
	former := r.life.Load().space.ID
	r.set(func() { r.which = 2 })
	r.renew()
	if r.complete() {
		t.Error("nothing is left before the wish was heard")
	}
	r.wait(t, "taken over", r.complete)
	if l := r.life.Load(); l.space.ID == former {
		t.Error("the former space is used")
	}
}

// Questions have the embedder looked at now and then, not each time.
func TestLooksAreRare(t *testing.T) {
	r := newSwapRig(t, false, time.Hour)
	before := r.calls
	for range 50 {
		if err := r.ask(t); err != nil {
			t.Fatal(err)
		}
	}
	r.life.Load().looked.Store(time.Now().Add(-2 * time.Hour).UnixNano())
	for range 50 {
		if err := r.ask(t); err != nil {
			t.Fatal(err)
		}
	}
	r.wait(t, "looked", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.calls == before+101 })
}
