package cli

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

func testMeaning(t *testing.T) (m *meaning, x *nearIndex, texts *[]string) {
	t.Helper()
	cache, err := cached.NewVectors(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cache.Close)
	x, texts = &nearIndex{}, new([]string)
	m = &meaning{index: x, cache: cache, log: slog.New(slog.DiscardHandler), surveyed: make(chan struct{}), forced: make(chan struct{}, 1)}
	m.embed = func(_ context.Context, list []string) ([][]float32, error) {
		out := make([][]float32, len(list))
		for i, text := range list {
			*texts = append(*texts, text)
			out[i] = []float32{float32(len(text))}
		}
		return out, nil
	}
	return m, x, texts
}

// One list a question comes back, in their order, and a question is embedded
// once.
func TestQuestionsByMeaning(t *testing.T) {
	m, x, texts := testMeaning(t)
	if _, err := m.Nearest(t.Context(), "T", []string{"a"}, 5); !errors.Is(err, errNoVectors) {
		t.Errorf("without a space: %v", err)
	}
	m.space.Store(&stores.Space{ID: "s1", Noise: map[string]stores.Noise{"en": {Mean: 0.1}}})
	for range 2 {
		near, err := m.Nearest(t.Context(), "T", []string{"four", "and more", "x"}, 5)
		if err != nil || len(near.Hits) != 3 || near.Noise["en"].Mean != 0.1 {
			t.Fatalf("%+v, %v", near, err)
		}
		if near.Hits[0][0] != (stores.Hit{ID: "T/s1", Score: 4}) || near.Hits[2][0].Score != 1 {
			t.Errorf("%+v", near.Hits)
		}
		for _, text := range *texts { // it takes in what is offered by and by
			for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if _, ok := m.cache.Get("s1", text); ok {
					break
				}
			}
		}
	}
	if want := []string{"four", "and more", "x"}; !slices.Equal(*texts, want) {
		t.Errorf("embedded: %q, want %q", *texts, want)
	}
	m.space.Store(&stores.Space{ID: "s2"})
	if near, err := m.Nearest(t.Context(), "T", []string{"four"}, 5); err != nil || near.Hits[0][0].ID != "T/s2" || len(*texts) != 4 {
		t.Errorf("in another space: %+v, %v, %q", near, err, *texts)
	}
	x.err = errors.New("down")
	if _, err := m.Nearest(t.Context(), "T", []string{"four"}, 5); !errors.Is(err, x.err) {
		t.Errorf("an index that is down: %v", err)
	}
	m.embed = func(context.Context, []string) ([][]float32, error) { return nil, x.err }
	if _, err := m.Nearest(t.Context(), "T", []string{"never asked"}, 5); !errors.Is(err, x.err) {
		t.Errorf("an embedder that is down: %v", err)
	}
}

// spaceLedger keeps a space.
type spaceLedger struct {
	vectorLedger
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

// An embedder that has changed waits until it is asked for, unless it need not.
func TestAChangedEmbedderWaits(t *testing.T) {
	for _, auto := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := &spaceLedger{kept: stores.Space{ID: "old", Model: "old", Dims: 1, Probe: []float32{1}}}
			m := &meaning{ledger: l, auto: auto, log: slog.New(slog.DiscardHandler), forced: make(chan struct{}, 1),
				found: stores.Space{ID: "new", Model: "new", Dims: 1, Probe: []float32{1}}}
			adopted := make(chan bool, 1)
			go func() { adopted <- m.adopt(t.Context()) }()
			synctest.Wait()
			if kept, _, _ := l.Space(t.Context()); (kept.ID == "new") != auto || (m.space.Load() != nil) != auto {
				t.Errorf("auto %v: %s is kept, %v is used", auto, kept.ID, m.space.Load())
			}
			if !auto {
				m.renew()
			}
			if !<-adopted || m.space.Load().ID != "new" {
				t.Errorf("auto %v: %v is used", auto, m.space.Load())
			}
		})
	}
}
