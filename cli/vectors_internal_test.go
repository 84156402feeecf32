package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"strata/ingest"
	"strata/internal/upstreamtest"
	"strata/llm"
	"strata/stores"
	"strata/stores/cached"
)

func TestChooseSpace(t *testing.T) {
	old := stores.Space{ID: "old", Model: "m", Dims: 2, Probe: []float32{1, 0}}
	same := stores.Space{ID: "new", Model: "m", Dims: 2, Probe: []float32{1, 0.01}}
	other := stores.Space{ID: "other", Model: "n", Dims: 2, Probe: []float32{1, 0}}
	for _, c := range []struct {
		name  string
		has   bool
		found stores.Space
		force bool
		want  string // "" = none
	}{
		{"none is kept", false, other, false, "other"},
		{"the same", true, same, false, "old"},
		{"the same, and forced", true, same, true, "old"},
		{"another", true, other, false, ""},
		{"another, and forced", true, other, true, "other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, use := chooseSpace(old, c.has, c.found, c.force)
			if use != (c.want != "") || use && got.ID != c.want {
				t.Errorf("%s, %v", got.ID, use)
			}
		})
	}
}

// nearIndex answers with the tenant, the space and the first number it was
// asked with.
type nearIndex struct {
	index
	mu    sync.Mutex
	asked []float32
	err   error
}

func (x *nearIndex) Nearest(_ context.Context, tenant, space string, v []float32, _ int) ([]stores.Hit, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = append(x.asked, v[0])
	return []stores.Hit{{ID: tenant + "/" + space, Score: float64(v[0])}}, x.err
}

// model makes vectors of texts, and takes down which.
type model struct {
	mu    sync.Mutex
	of    func(text string) []float32
	err   error
	texts []string
}

func (e *model) Embed(_ context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([][]float32, len(texts))
	for i, text := range texts {
		e.texts = append(e.texts, text)
		out[i] = e.of(text)
	}
	return out, e.err
}

func (e *model) EmbedAll(ctx context.Context, texts []string) ([][]float32, error) {
	return e.Embed(ctx, texts)
}

func (e *model) EmbedProven(ctx context.Context, texts []string, _ llm.Proof) ([][]float32, error) {
	return e.Embed(ctx, texts)
}

func testMeaning(t *testing.T) (*meaning, *nearIndex, *model) {
	t.Helper()
	cache, err := cached.NewVectors(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cache.Close)
	x, e := &nearIndex{}, &model{of: func(text string) []float32 { return []float32{float32(len(text))} }}
	return meaningOf(func() embedder { return e }, "m", false, nil, x, cache, slog.New(slog.DiscardHandler)), x, e
}

// One list a question comes back, in their order, and a question is embedded
// once.
func TestQuestionsByMeaning(t *testing.T) {
	m, x, e := testMeaning(t)
	if _, err := m.Nearest(t.Context(), "T", []string{"a"}, 5); !errors.Is(err, errNoVectors) {
		t.Errorf("without a space: %v", err)
	}
	m.begin(newLife(e, stores.Space{ID: "s1", Noise: map[string]stores.Noise{"en": {Mean: 0.1}}}, "1"))
	for range 2 {
		near, err := m.Nearest(t.Context(), "T", []string{"four", "and more", "x"}, 5)
		if err != nil || len(near.Hits) != 3 || near.Noise["en"].Mean != 0.1 {
			t.Fatalf("%+v, %v", near, err)
		}
		if near.Hits[0][0] != (stores.Hit{ID: "T/s1", Score: 4}) || near.Hits[2][0].Score != 1 {
			t.Errorf("%+v", near.Hits)
		}
		for _, text := range e.texts { // it takes in what is offered by and by
			for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if _, ok := m.cache.Get("1", text); ok {
					break
				}
			}
		}
	}
	if want := []string{"four", "and more", "x"}; !slices.Equal(e.texts, want) {
		t.Errorf("embedded: %q, want %q", e.texts, want)
	}
	m.begin(newLife(e, stores.Space{ID: "s2"}, "2"))
	if near, err := m.Nearest(t.Context(), "T", []string{"four"}, 5); err != nil || near.Hits[0][0].ID != "T/s2" || len(e.texts) != 4 {
		t.Errorf("in another space: %+v, %v, %q", near, err, e.texts)
	}
	x.err = errors.New("down")
	if _, err := m.Nearest(t.Context(), "T", []string{"four"}, 5); !errors.Is(err, x.err) {
		t.Errorf("an index that is down: %v", err)
	}
	e.err = x.err
	if _, err := m.Nearest(t.Context(), "T", []string{"never asked"}, 5); !errors.Is(err, x.err) {
		t.Errorf("an embedder that is down: %v", err)
	}
}

func (x *nearIndex) KeepSpace(context.Context, string) error { return nil }

// spaceLedger keeps a space.
type spaceLedger struct {
	ingest.Ledger
	mu   sync.Mutex
	kept stores.Space
}

func (l *spaceLedger) Space(context.Context) (stores.Space, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept, l.kept.ID != "", nil
}

func (l *spaceLedger) SetSpace(_ context.Context, s stores.Space) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = s
	return 0, nil
}

func (l *spaceLedger) EmbedRows(context.Context) (int, error) { return 0, nil }

func (l *spaceLedger) EmbedQueue(context.Context, int) ([]stores.OutboxEntry, error) { return nil, nil }

// An embedder that has changed waits until it is asked for, unless it need not.
// One that becomes the former one again while it waits is used.
func TestAChangedEmbedderWaits(t *testing.T) {
	for _, auto := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e := &model{of: turned(1)}
			former, err := ingest.Survey(t.Context(), "m", (&model{of: turned(0)}).EmbedAll)
			if err != nil {
				t.Fatal(err)
			}
			l := &spaceLedger{kept: former}
			m := meaningOf(func() embedder { return e }, "m", auto, l, &nearIndex{}, nil, slog.New(slog.DiscardHandler))
			ctx, stop := context.WithCancel(t.Context())
			var works sync.WaitGroup
			works.Go(func() { m.run(ctx, ingest.New(ingest.Config{Ledger: l})) })
			defer works.Wait()
			defer stop()
			synctest.Wait()
			if (l.kept.ID != former.ID) != auto || (m.ready() == 1) != auto {
				t.Errorf("auto %v: %s is kept, %v", auto, l.kept.ID, m.ready())
			}
			if auto {
				return
			}
			e.mu.Lock()
			e.of = turned(0)
			e.mu.Unlock()
			time.Sleep(lookEvery + time.Second)
			if m.ready() != 1 || l.kept.ID != former.ID {
				t.Errorf("the former one is back: %s is kept, %v", l.kept.ID, m.ready())
			}
			e.mu.Lock()
			e.of = turned(2)
			e.mu.Unlock()
			m.renew()
			synctest.Wait()
			if m.ready() != 1 || l.kept.ID == former.ID {
				t.Errorf("asked for: %s is kept, %v", l.kept.ID, m.ready())
			}
		})
	}
}

// turned is a model that takes texts apart, each number another one.
func turned(n int) func(text string) []float32 {
	return func(text string) []float32 { return upstreamtest.Embedding(fmt.Sprint(n, text), 32) }
}
