package cli

import (
	"context"
	"fmt"
	"sync"
	"time"

	"strata/ingest"
	"strata/stores"
)

const (
	// vectorCheck is how often the embedder is asked who it is while that fails,
	// and the ledger whether all has vectors.
	vectorCheck = time.Second
	maxCheck    = time.Minute
	// slowSurvey is after what time an embedder that does not answer is told of.
	slowSurvey = 5 * time.Second
)

// run finds out who the embedder is, and gives passages their vectors with it
// while it is the one whose space is kept, until ctx ends. An embedder that
// changes meanwhile is what one that has changed at the start is.
func (m *meaning) run(ctx context.Context, g *ingest.Ingester) {
	told := ""
	for force := m.auto; ctx.Err() == nil; {
		e, found, ok := m.survey(ctx)
		if !ok {
			return
		}
		life, kept, ok := m.adopt(ctx, e, found, force)
		switch {
		case !ok:
			return
		case life != nil:
			told = ""
			asked := m.work(ctx, g, life)
			force = m.auto || asked
		default:
			if told != found.ID {
				m.tellChanged(kept, found)
			}
			told = found.ID
			asked, goesOn := m.another(ctx)
			if force = m.auto || asked; !goesOn {
				return
			}
		}
	}
}

// survey asks the embedder until it answers. It reports whether ctx goes on.
func (m *meaning) survey(ctx context.Context) (embedder, stores.Space, bool) {
	silent := time.AfterFunc(slowSurvey, func() {
		m.log.Error("the embedder does not answer: documents are found by their words alone until it does", "model", m.model)
	})
	defer silent.Stop()
	for pause := vectorCheck; ; pause = min(2*pause, maxCheck) {
		e := m.connect()
		space, err := ingest.Survey(ctx, m.model, e.EmbedAll)
		if err == nil {
			return e, space, true
		}
		if ctx.Err() != nil {
			return nil, space, false
		}
		m.log.Error("the embedder cannot be used: documents are found by their words alone; that is tried again", "model", m.model, "again_in", pause.String(), "error", err)
		if !sleep(ctx, pause) {
			return nil, space, false
		}
	}
}

// adopt begins a life of an embedder that was found to be so, if its space is
// the one that is kept or may take that one's place. It reports whether ctx goes
// on.
func (m *meaning) adopt(ctx context.Context, e embedder, found stores.Space, force bool) (l *life, kept stores.Space, ok bool) {
	for {
		kept, has, err := m.ledger.Space(ctx)
		space, use := chooseSpace(kept, has, found, force)
		if err == nil && !use {
			m.begin(nil)
			return nil, kept, true
		}
		versions := 0
		if err == nil {
			m.all.Store(false)
			versions, err = m.ledger.SetSpace(ctx, space)
		}
		if err == nil {
			if has && space.ID != kept.ID {
				m.log.Warn("the embedder has changed: all documents are embedded anew, and found by their words until they are", "had_model", kept.Model, "model", space.Model)
			}
			m.wished.Store(false)
			m.lives++
			l := newLife(e, space, fmt.Sprint(m.lives, " ", space.ID))
			m.begin(l)
			m.log.Info("documents are found by what they mean too", "model", space.Model, "dimensions", space.Dims, "space", space.ID, "versions_to_embed", versions)
			return l, kept, true
		}
		if ctx.Err() != nil {
			return nil, kept, false
		}
		m.log.Error("the space of vectors cannot be read or written; that is tried again", "error", err)
		if !sleep(ctx, maxCheck) {
			return nil, kept, false
		}
	}
}

// begin ends the life before: what it was asked and has not answered yet is not
// compared any more.
func (m *meaning) begin(l *life) {
	if old := m.life.Swap(l); old != nil {
		old.doubts.Add(1)
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

func (m *meaning) tellChanged(kept, found stores.Space) {
	m.log.Error("THE EMBEDDER HAS CHANGED: its vectors cannot be compared with those that documents have, so documents are found by their words alone. "+
		"Run `strata index rebuild`, or set embedder.rebuild to auto and restart, to embed all documents anew; or have the former embedder answer again",
		"had_model", kept.Model, "had_dimensions", kept.Dims, "model", found.Model, "dimensions", found.Dims)
}

// another waits while the embedder is another one: until it is to be taken over,
// or it is time to see whether the former one is back.
func (m *meaning) another(ctx context.Context) (asked, goesOn bool) {
	timer := time.NewTimer(m.every)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, false
	case <-m.forced:
		return true, true
	case <-timer.C:
		return false, true
	}
}

// work gives passages their vectors for as long as a life goes on, and reports
// whether somebody has asked for the next one to take over.
func (m *meaning) work(ctx context.Context, g *ingest.Ingester, l *life) (asked bool) {
	ctx, stop := context.WithCancel(ctx)
	var works sync.WaitGroup
	works.Go(func() { m.finish(ctx, l.space.ID) })
	works.Go(func() { g.RunVectors(ctx) })
	asked = l.watch(ctx, m.forced, m.pause, m.log)
	stop()
	works.Wait()
	return asked
}

// passages embeds for the index.
func (m *meaning) passages(ctx context.Context, space stores.Space, texts []string) ([][]float32, error) {
	l := m.life.Load()
	if l == nil {
		return nil, errNoVectors
	}
	return l.passages(ctx, space, texts)
}

// finish waits until everything has its vectors and then takes those of other
// spaces out of the index.
func (m *meaning) finish(ctx context.Context, space string) {
	for pause := vectorCheck; sleep(ctx, pause); {
		left, err := m.ledger.EmbedRows(ctx)
		if err == nil && left > 0 {
			pause = vectorCheck
			continue
		}
		if err == nil {
			err = m.index.KeepSpace(ctx, space)
		}
		if err == nil {
			m.all.Store(true)
			m.log.Info("all documents have their vectors", "space", space)
			return
		}
		pause = min(2*pause, maxCheck)
		m.log.Warn("vectors of other spaces cannot be taken out of the index; that is tried again", "again_in", pause.String(), "error", err)
	}
}
