package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"strata/ingest"
	"strata/stores"
)

// fakeEmbedder hashes words.
type fakeEmbedder struct {
	mu    sync.Mutex
	seen  []string
	fails func(texts []string) error
}

func (e *fakeEmbedder) embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e.fails != nil {
		if err := e.fails(texts); err != nil {
			return nil, err
		}
	}
	e.seen = append(e.seen, texts...)
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = hashed(strings.Fields(t)...)
	}
	return out, nil
}

func (e *fakeEmbedder) inSpace(ctx context.Context, _ stores.Space, texts []string) ([][]float32, error) {
	return e.embed(ctx, texts)
}

func (e *fakeEmbedder) texts() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.seen)
}

func (e *fakeEmbedder) failWith(f func([]string) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fails = f
}

func hashed(words ...string) []float32 {
	v := make([]float32, 16)
	for _, w := range words {
		h := fnv.New32a()
		h.Write([]byte(w))
		v[h.Sum32()%16]++
	}
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(max(sum, 1)))
	}
	return v
}

// embedded is a fixture with an embedder whose space is kept, and the works
// running.
func embedded(t *testing.T, failing ...func(method string) error) (f fixture, e *fakeEmbedder, stop func()) {
	f.ledger, f.index, e = newLedger(), newIndex(), &fakeEmbedder{}
	for _, f.ledger.failing = range failing {
	}
	f.ledger.space = stores.Space{ID: "s1", Dims: 16}
	f.Ingester = ingest.New(ingest.Config{Ledger: f.ledger, Index: f.index, Vectors: f.index, Embed: e.inSpace})
	ctx, cancel := context.WithCancel(t.Context())
	var works sync.WaitGroup
	works.Go(func() { f.Run(ctx) })
	works.Go(func() { f.RunVectors(ctx) })
	return f, e, func() { cancel(); works.Wait() }
}

func TestPassagesGetVectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, e, stop := embedded(t)
		defer stop()
		if r := f.put(t, "t1", "a.md", "# Contacts\n\n## Duty\n\nCall 13912345678 or mail anna@example.com.\n"); r.Status != ingest.StatusPublished || r.Vectors == "none" {
			t.Errorf("%+v", r)
		}
		f.put(t, "t1", "b.md", longText(9))
		synctest.Wait()
		if n := f.index.vectorCount("t1"); n != 10 {
			t.Errorf("%d vectors", n)
		}
		// What goes out says where a passage stands, and nothing personal.
		if got := e.texts()[0]; got != "Contacts > Duty\nCall [redacted:phone] or mail [redacted:email]." {
			t.Errorf("embedded: %q", got)
		}
		if r := f.put(t, "t1", "b.md", longText(9)); !r.Unchanged || r.Vectors != "ready" {
			t.Errorf("unchanged: %+v", r)
		}
		if n := len(e.texts()); n != 10 {
			t.Errorf("%d texts were embedded", n)
		}
	})
}

// While the embedder is down texts are published, and vectors follow.
func TestEmbedderDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, e, stop := embedded(t)
		defer stop()
		calls := 0
		e.failWith(func([]string) error { calls++; return errors.New("down") })
		if r := f.put(t, "t1", "a.md", longText(100)); r.Status != ingest.StatusPublished || r.Vectors != "pending" {
			t.Errorf("%+v", r)
		}
		time.Sleep(time.Hour)
		e.mu.Lock()
		if calls < 12 || calls > 200 {
			t.Errorf("%d calls in an hour", calls)
		}
		e.mu.Unlock()
		e.failWith(nil)
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if n := f.index.vectorCount("t1"); n != 100 {
			t.Errorf("%d vectors after it came back", n)
		}
	})
}

// A passage that is refused keeps no other one waiting.
func TestRefusedPassage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, e, stop := embedded(t)
		defer stop()
		e.failWith(func(texts []string) error {
			if strings.Contains(texts[0], "POISON") {
				return errors.New("refused")
			}
			return nil
		})
		f.put(t, "t1", "a.md", "POISON")
		f.put(t, "t1", "b.md", longText(40))
		time.Sleep(time.Second)
		synctest.Wait()
		if n := f.index.vectorCount("t1"); n != 40 {
			t.Errorf("%d vectors", n)
		}
	})
}

// The ledger may be down too; nothing that has its vector is embedded again.
func TestLedgerDownWhileEmbedding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		f, e, stop := embedded(t, func(method string) error {
			if method == "EmbedDone" && down.Load() {
				return errors.New("killed")
			}
			return nil
		})
		defer stop()
		f.put(t, "t1", "a.md", longText(6))
		synctest.Wait()
		down.Store(true)
		f.put(t, "t1", "b.md", longText(2))
		time.Sleep(time.Minute)
		down.Store(false)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := f.index.vectorCount("t1"); n != 8 || len(e.texts()) != 8 {
			t.Errorf("%d vectors of %d texts", n, len(e.texts()))
		}
	})
}

// Nothing stays of a document that was deleted while it was embedded.
func TestDeletedWhileEmbedding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, e, stop := embedded(t)
		defer stop()
		var once sync.Once
		e.failWith(func([]string) error {
			once.Do(func() {
				if err := f.Delete(t.Context(), "t1", "a.md"); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second) // the removal is done before the vectors come
			})
			return nil
		})
		f.put(t, "t1", "a.md", longText(20))
		time.Sleep(5 * time.Second) // before the outbox is looked at by the clock
		synctest.Wait()
		if n := f.index.vectorCount("t1"); n != 0 {
			t.Errorf("%d vectors are left", n)
		}
		if n := f.ledger.waiting() + len(f.ledger.embeds); n != 0 {
			t.Errorf("%d entries are left", n)
		}
	})
}

func TestSurvey(t *testing.T) {
	e := &fakeEmbedder{}
	byRunes := func(ctx context.Context, texts []string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for i, text := range texts {
			out[i] = hashed(strings.Split(text, "")...)
		}
		return out, nil
	}
	a, err := ingest.Survey(t.Context(), "m", byRunes)
	if err != nil || a.Dims != 16 || a.Model != "m" || len(a.ID) == 0 || len(a.ID) > 16 || len(a.Noise) != 2 {
		t.Fatalf("%+v, %v", a, err)
	}
	for lang, n := range a.Noise {
		if n.Mean <= 0 || n.Mean >= 1 || n.SD <= 0 || n.SD > 0.5 {
			t.Errorf("%s: %+v", lang, n)
		}
	}
	if again, err := ingest.Survey(t.Context(), "m", byRunes); err != nil || again.ID != a.ID || !ingest.Same(a, again) {
		t.Errorf("again: %+v, %v", again, err)
	}
	// An embedder that knows English words only.
	english, err := ingest.Survey(t.Context(), "m", func(ctx context.Context, texts []string) ([][]float32, error) {
		out, err := e.embed(ctx, texts)
		for i, text := range texts {
			if text[0] >= 0x80 {
				out[i] = hashed("[UNK]")
			}
		}
		return out, err
	})
	if _, zh := english.Noise["zh"]; err != nil || zh || len(english.Noise) != 1 {
		t.Errorf("%+v, %v", english.Noise, err)
	}
	if ingest.Same(a, english) || a.ID == english.ID {
		t.Error("two embedders are the same")
	}
	for name, embed := range map[string]func(context.Context, []string) ([][]float32, error){
		"fails":   func(context.Context, []string) ([][]float32, error) { return nil, errDown },
		"too few": func(context.Context, []string) ([][]float32, error) { return [][]float32{{1}}, nil },
		"one": func(_ context.Context, texts []string) ([][]float32, error) {
			return slices.Repeat([][]float32{{1, 0}}, len(texts)), nil
		},
		"two sizes": func(_ context.Context, texts []string) ([][]float32, error) {
			return append(slices.Repeat([][]float32{{1, 0}}, len(texts)-1), []float32{1}), nil
		},
	} {
		if s, err := ingest.Survey(t.Context(), "m", embed); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestSame(t *testing.T) {
	base := stores.Space{ID: "a", Model: "m", Dims: 2, Probe: []float32{1, 0}}
	turned := func(degrees float64) []float32 {
		s, c := math.Sincos(degrees * math.Pi / 180)
		return []float32{float32(c), float32(s)}
	}
	for _, c := range []struct {
		name  string
		other stores.Space
		want  bool
	}{
		{"itself", base, true},
		{"another id", stores.Space{ID: "b", Model: "m", Dims: 2, Probe: turned(0)}, true},
		{"rounded otherwise", stores.Space{Model: "m", Dims: 2, Probe: turned(5)}, true},
		{"turned", stores.Space{Model: "m", Dims: 2, Probe: turned(10)}, false},
		{"another name", stores.Space{Model: "n", Dims: 2, Probe: turned(0)}, false},
		{"another size", stores.Space{Model: "m", Dims: 3, Probe: []float32{1, 0, 0}}, false},
		{"no probe", stores.Space{Model: "m", Dims: 2}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ingest.Same(base, c.other); got != c.want {
				t.Error(fmt.Sprint(got))
			}
		})
	}
}
