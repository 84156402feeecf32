package cli

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"strata/assemble"
	"strata/ingest"
	"strata/llm"
	"strata/stores"
	"strata/stores/cached"
)

// errNoVectors is that of questions while no vectors can be compared.
var errNoVectors = errors.New("cli: the embedder is not known yet, or is another one than that of the documents")

const (
	// vectorCheck is how often the embedder is asked who it is while that fails,
	// and the ledger whether all has vectors.
	vectorCheck = time.Second
	maxCheck    = time.Minute
	// slowSurvey is after what time an embedder that does not answer is told of.
	slowSurvey = 5 * time.Second
	// atOnce is how many questions of one call the index is asked at a time.
	atOnce = 4
)

// vectorLedger is what meaning needs of the ledger.
type vectorLedger interface {
	Space(ctx context.Context) (stores.Space, bool, error)
	SetSpace(ctx context.Context, s stores.Space) (versions int, err error)
	EmbedRows(ctx context.Context) (int, error)
}

// meaning finds passages by what they mean: it joins the embedder, a cache of
// questions, and the index, in the space that the ledger keeps. Whether the
// embedder is that of the space is found out in the background; until then, and
// while it is another one, there are no vectors.
type meaning struct {
	model    string
	embed    func(context.Context, []string) ([][]float32, error) // while a request waits
	embedAll func(context.Context, []string) ([][]float32, error) // with patience
	auto     bool                                                 // a changed embedder is taken over without being asked
	ledger   vectorLedger
	index    index
	cache    *cached.Vectors
	log      *slog.Logger

	surveyed chan struct{}                // closed when found is known
	found    stores.Space                 // what the embedder is
	forced   chan struct{}                // holds a wish to take it over whatever it is
	space    atomic.Pointer[stores.Space] // in which questions are asked, nil = none
	all      atomic.Bool                  // everything had its vectors once, and no others are kept
}

// newMeaning is nil where no embedder is configured.
func (s *server) newMeaning(l vectorLedger, x index) (*meaning, error) {
	e, ok := s.cfg.embedder()
	if !ok {
		return nil, nil
	}
	cache, err := cached.NewVectors(0)
	return meaningOf(e, s.cfg.Embedder.Model, s.cfg.Embedder.Rebuild == "auto", l, x, cache, s.log), err
}

func meaningOf(e *llm.Embedder, model string, auto bool, l vectorLedger, x index, cache *cached.Vectors, log *slog.Logger) *meaning {
	return &meaning{model: model, embed: e.Embed, embedAll: e.EmbedAll, auto: auto, ledger: l, index: x, cache: cache, log: log,
		surveyed: make(chan struct{}), forced: make(chan struct{}, 1)}
}

// Nearest implements assemble.Vectors.
func (m *meaning) Nearest(ctx context.Context, tenant string, queries []string, limit int) (assemble.Near, error) {
	space := m.space.Load()
	if space == nil {
		return assemble.Near{}, errNoVectors
	}
	vectors, err := m.vectorsOf(ctx, space.ID, queries)
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
func (m *meaning) vectorsOf(ctx context.Context, space string, queries []string) ([][]float32, error) {
	out := make([][]float32, len(queries))
	var texts []string
	var places []int
	for i, text := range queries {
		if v, ok := m.cache.Get(space, text); ok {
			out[i] = v
			continue
		}
		texts, places = append(texts, text), append(places, i)
	}
	if len(texts) == 0 {
		return out, nil
	}
	vectors, err := m.embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	for i, v := range vectors {
		out[places[i]] = v
		m.cache.Set(space, texts[i], v)
	}
	return out, nil
}

// run finds out who the embedder is, and gives passages their vectors with it
// once it is the one whose space is kept, until ctx ends.
func (m *meaning) run(ctx context.Context, g *ingest.Ingester) {
	if !m.survey(ctx) {
		return
	}
	close(m.surveyed)
	if !m.adopt(ctx) {
		return
	}
	var works sync.WaitGroup
	works.Go(func() { m.finish(ctx) })
	g.RunVectors(ctx)
	works.Wait()
}

// survey asks the embedder until it answers. It reports whether ctx goes on.
func (m *meaning) survey(ctx context.Context) bool {
	silent := time.AfterFunc(slowSurvey, func() {
		m.log.Error("the embedder does not answer: documents are found by their words alone until it does", "model", m.model)
	})
	defer silent.Stop()
	for pause := vectorCheck; ; pause = min(2*pause, maxCheck) {
		space, err := ingest.Survey(ctx, m.model, m.embedAll)
		if err == nil {
			m.found = space
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		m.log.Error("the embedder cannot be used: documents are found by their words alone; that is tried again", "model", m.model, "again_in", pause.String(), "error", err)
		if !sleep(ctx, pause) {
			return false
		}
	}
}

// adopt waits until the embedder's space is the one that is kept. It reports
// whether ctx goes on.
func (m *meaning) adopt(ctx context.Context) bool {
	force := m.auto
	for told := false; ; {
		kept, has, err := m.ledger.Space(ctx)
		space, use := chooseSpace(kept, has, m.found, force)
		versions := 0
		if err == nil && use {
			versions, err = m.ledger.SetSpace(ctx, space)
		}
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil:
			m.log.Error("the space of vectors cannot be read or written; that is tried again", "error", err)
			if !sleep(ctx, maxCheck) {
				return false
			}
			continue
		case use:
			if has && space.ID != kept.ID {
				m.log.Warn("the embedder has changed: all documents are embedded anew, and found by their words until they are", "had_model", kept.Model, "model", space.Model)
			}
			m.space.Store(&space)
			m.log.Info("documents are found by what they mean too", "model", space.Model, "dimensions", space.Dims, "space", space.ID, "versions_to_embed", versions)
			return true
		case !told:
			m.log.Error("THE EMBEDDER HAS CHANGED: its vectors cannot be compared with those that documents have, so documents are found by their words alone. "+
				"Run `strata index rebuild`, or set embedder.rebuild to auto and restart, to embed all documents anew; or configure the former embedder again",
				"had_model", kept.Model, "had_dimensions", kept.Dims, "model", m.found.Model, "dimensions", m.found.Dims)
			told = true
		}
		select {
		case <-ctx.Done():
			return false
		case <-m.forced:
			force = true
		}
	}
}

// chooseSpace tells in which space an embedder that was found to be so is used,
// and whether it is at all: in the one that is kept if that is the same, else
// in its own where none is kept or that may be given up.
func chooseSpace(kept stores.Space, has bool, found stores.Space, force bool) (stores.Space, bool) {
	if has && ingest.Same(kept, found) {
		return kept, true
	}
	return found, force || !has
}

// finish waits until everything has its vectors and then takes those of other
// spaces out of the index.
func (m *meaning) finish(ctx context.Context) {
	id := m.space.Load().ID
	for pause := vectorCheck; sleep(ctx, pause); {
		left, err := m.ledger.EmbedRows(ctx)
		if err == nil && left > 0 {
			pause = vectorCheck
			continue
		}
		if err == nil {
			err = m.index.KeepSpace(ctx, id)
		}
		if err == nil {
			m.all.Store(true)
			m.log.Info("all documents have their vectors", "space", id)
			return
		}
		pause = min(2*pause, maxCheck)
		m.log.Warn("vectors of other spaces cannot be taken out of the index; that is tried again", "again_in", pause.String(), "error", err)
	}
}

// renew has the embedder taken over, whatever the space was before.
func (m *meaning) renew() {
	select {
	case m.forced <- struct{}{}:
	default:
	}
}

// left is how much has no vectors yet: rows of the ledger, and one more until
// the embedder is known and its space alone is kept.
func (m *meaning) left(ctx context.Context) (int, error) {
	n, err := m.ledger.EmbedRows(ctx)
	if !m.all.Load() {
		n++
	}
	return n, err
}

func (m *meaning) ready() float64 {
	if m.space.Load() == nil {
		return 0
	}
	return 1
}
