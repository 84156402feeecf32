package cli

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"strata/assemble"
	"strata/stores"
	"strata/stores/cached"
)

// Errors of questions while no vectors can be compared.
var (
	errNoVectors = errors.New("cli: the embedder is not known yet, or is another one than that of the documents")
	errDoubtful  = errors.New("cli: the embedder may be another one than that of the documents")
)

// atOnce is how many questions of one call the index is asked at a time.
const atOnce = 4

// vectorLedger is what meaning needs of the ledger.
type vectorLedger interface {
	Space(ctx context.Context) (stores.Space, bool, error)
	SetSpace(ctx context.Context, s stores.Space) (versions int, err error)
	EmbedRows(ctx context.Context) (int, error)
}

// meaning finds passages by what they mean: it joins the embedder, a cache of
// questions, and the index, in the space that the ledger keeps. Whether the
// embedder is that of the space is found out in the background, at the start and
// whenever it may have changed; until then, and while it is another one, there
// are no vectors.
type meaning struct {
	model   string
	connect func() embedder // each survey has one of its own, which knows nothing of the last model
	auto    bool            // a changed embedder is taken over without being asked
	ledger  vectorLedger
	index   index
	cache   *cached.Vectors
	log     *slog.Logger
	every   time.Duration // lookEvery, but in tests
	pause   time.Duration // lookPause

	forced chan struct{} // holds a wish to take the embedder over whatever it is
	wished atomic.Bool   // there is one that is not fulfilled
	lives  int
	life   atomic.Pointer[life] // the embedder of the documents, nil = not known or another one
	all    atomic.Bool          // everything had its vectors once, and no others are kept
}

// newMeaning is nil where no embedder is configured.
func (s *server) newMeaning(l vectorLedger, x index) (*meaning, error) {
	if _, ok := s.cfg.embedder(); !ok {
		return nil, nil
	}
	connect := func() embedder {
		e, _ := s.cfg.embedder()
		return e
	}
	cache, err := cached.NewVectors(0)
	return meaningOf(connect, s.cfg.Embedder.Model, s.cfg.Embedder.Rebuild == "auto", l, x, cache, s.log), err
}

func meaningOf(connect func() embedder, model string, auto bool, l vectorLedger, x index, cache *cached.Vectors, log *slog.Logger) *meaning {
	return &meaning{connect: connect, model: model, auto: auto, ledger: l, index: x, cache: cache, log: log,
		every: lookEvery, pause: lookPause, forced: make(chan struct{}, 1)}
}

// Nearest implements assemble.Vectors.
func (m *meaning) Nearest(ctx context.Context, tenant string, queries []string, limit int) (assemble.Near, error) {
	life := m.life.Load()
	if life == nil {
		return assemble.Near{}, errNoVectors
	}
	life.used(m.every)
	space := life.space
	vectors, err := m.vectorsOf(ctx, life, queries)
	if err != nil {
		return assemble.Near{}, err
	}
	near := assemble.Near{Hits: make([][]stores.Hit, len(queries)), Noise: space.Noise}
	failed := make([]error, len(queries))
	var group sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for i, v := range vectors {
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			near.Hits[i], failed[i] = m.index.Nearest(ctx, tenant, space.ID, v, limit)
		})
	}
	group.Wait()
	return near, errors.Join(failed...)
}

// vectorsOf embeds questions. Those that were asked before are at hand.
func (m *meaning) vectorsOf(ctx context.Context, life *life, queries []string) ([][]float32, error) {
	out := make([][]float32, len(queries))
	var texts []string
	var places []int
	for i, text := range queries {
		if v, ok := m.cache.Get(life.key, text); ok {
			out[i] = v
			continue
		}
		texts, places = append(texts, text), append(places, i)
	}
	if len(texts) == 0 {
		return out, nil
	}
	vectors, err := life.question(ctx, texts)
	if err != nil {
		return nil, err
	}
	for i, v := range vectors {
		out[places[i]] = v
		m.cache.Set(life.key, texts[i], v)
	}
	return out, nil
}

// renew has the embedder taken over, whatever the space was before.
func (m *meaning) renew() {
	m.wished.Store(true)
	select {
	case m.forced <- struct{}{}:
	default:
	}
}

// left is how much has no vectors yet: rows of the ledger, and one more until
// the embedder is known and its space alone is kept.
func (m *meaning) left(ctx context.Context) (int, error) {
	n, err := m.ledger.EmbedRows(ctx)
	if m.wished.Load() || !m.all.Load() {
		n++
	}
	return n, err
}

func (m *meaning) ready() float64 {
	if l := m.life.Load(); l == nil || l.doubtful() {
		return 0
	}
	return 1
}
