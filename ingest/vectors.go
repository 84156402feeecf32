package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"strata/policy"
	"strata/stores"
)

// VectorIndex is where vectors are kept. Both methods may be repeated.
type VectorIndex interface {
	PutVectors(ctx context.Context, tenant string, space stores.Space, vectors []stores.Vector) error
	// Missing returns those of the passages that have no vector in a space.
	Missing(ctx context.Context, tenant, space string, ids []string) ([]string, error)
}

const (
	// maxEmbedText is how much of a passage is embedded, in bytes. Passages are
	// shorter, unless a single table row or line is longer.
	maxEmbedText = 8 << 10
	// maxRefused is how many entries in a row the embedder may refuse before it
	// is left alone for a while.
	maxRefused    = 3
	maxEmbedPause = 5 * time.Minute
)

// errIndex is that of an index which does not take vectors.
type errIndex struct{ error }

func (e errIndex) Unwrap() error { return e.error }

// RunVectors gives passages their vectors in the space that the ledger keeps,
// until ctx ends. It goes by itself, so text never waits for it. What fails is
// tried again after 200 ms, doubling up to 5 min, and never given up; a passage
// that has its vector already is not embedded again. One call may run at a time.
func (g *Ingester) RunVectors(ctx context.Context) {
	w := embedding{Ingester: g, held: map[int64]hold{}}
	for pause := time.Duration(0); ctx.Err() == nil; {
		err := w.pass(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			pause = min(max(2*pause, firstPause), maxEmbedPause)
			g.log.Warn("passages wait for their vectors", "again_in", pause, "error", err)
		default:
			pause = 0
		}
		w.wait(ctx, pause)
	}
}

// embedding is one run of RunVectors.
type embedding struct {
	*Ingester
	held map[int64]hold
}

// wait returns after pause, or without one when there may be something to do.
func (w *embedding) wait(ctx context.Context, pause time.Duration) {
	var woken <-chan struct{}
	wait := pause
	if pause == 0 {
		woken, wait = w.searchable, pollEvery
		for _, h := range w.held {
			wait = min(wait, max(h.until.Sub(w.clock()), firstPause/2))
		}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-woken:
	}
}

// pass works on the queue until all that is left is held back. Its error is one
// that all entries would meet.
func (w *embedding) pass(ctx context.Context) error {
	refused := 0
	for limit := pageSize; ; {
		space, kept, err := w.ledger.Space(ctx)
		if err != nil || !kept {
			return err
		}
		page, err := w.ledger.EmbedQueue(ctx, limit)
		if err != nil {
			return err
		}
		progress := false
		for _, e := range page {
			if h, ok := w.held[e.Seq]; ok && w.clock().Before(h.until) {
				continue
			}
			err := w.do(ctx, space, e)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil {
				delete(w.held, e.Seq)
				refused, progress = 0, true
				continue
			}
			if errors.As(err, new(errIndex)) {
				return err
			}
			w.hold(e, err)
			if refused++; refused == maxRefused {
				return fmt.Errorf("ingest: the embedder refuses: %w", err)
			}
		}
		switch {
		case !progress && (len(page) < limit || limit >= maxPage):
			return nil
		case !progress: // nothing but held entries: look behind them
			limit *= 4
		}
	}
}

func (w *embedding) hold(e stores.OutboxEntry, err error) {
	h := w.held[e.Seq]
	h.pause = min(max(2*h.pause, firstPause), maxEmbedPause)
	h.until = w.clock().Add(h.pause)
	w.held[e.Seq] = h
	w.log.Warn("passages were not embedded; that is tried again", "document", e.Document, "version", e.Version, "again_in", h.pause, "error", err)
}

// do gives the passages of an entry their vectors and takes it out. What was
// cancelled is taken out alone; the ledger then has removed what came too late.
func (w *embedding) do(ctx context.Context, space stores.Space, e stores.OutboxEntry) error {
	if e.Op == stores.OutboxEmbed {
		passages, err := w.lacking(ctx, space, e)
		if err != nil {
			return errIndex{err}
		}
		vectors, err := w.embedPassages(ctx, space, passages)
		if err != nil {
			return err
		}
		if err := w.vectors.PutVectors(ctx, e.Tenant, space, vectors); err != nil {
			return errIndex{err}
		}
	}
	if err := w.ledger.EmbedDone(ctx, []int64{e.Seq}); err != nil {
		return errIndex{err}
	}
	w.Notify() // what was cancelled meanwhile is to be removed now
	return nil
}

// lacking are the passages of an entry that have no vectors yet.
func (w *embedding) lacking(ctx context.Context, space stores.Space, e stores.OutboxEntry) ([]stores.Passage, error) {
	ids := make([]string, len(e.Passages))
	byID := make(map[string]stores.Passage, len(ids))
	for i, p := range e.Passages {
		ids[i], byID[p.ID] = p.ID, p
	}
	missing, err := w.vectors.Missing(ctx, e.Tenant, space.ID, ids)
	out := make([]stores.Passage, len(missing))
	for i, id := range missing {
		out[i] = byID[id]
	}
	return out, err
}

func (w *embedding) embedPassages(ctx context.Context, space stores.Space, passages []stores.Passage) ([]stores.Vector, error) {
	if len(passages) == 0 {
		return nil, nil
	}
	texts := make([]string, len(passages))
	for i, p := range passages {
		texts[i] = embedText(p)
	}
	values, err := w.embed(ctx, space, texts)
	if err == nil && len(values) != len(texts) {
		err = fmt.Errorf("ingest: %d vectors for %d texts", len(values), len(texts))
	}
	if err != nil {
		return nil, err
	}
	out := make([]stores.Vector, len(passages))
	for i, p := range passages {
		out[i] = stores.Vector{Passage: p.ID, Values: values[i]}
	}
	return out, nil
}

// embedText is what of a passage goes to the embedder: no secrets and personal
// data, and where it stands along with what it says.
func embedText(p stores.Passage) string {
	var parts []string
	for _, part := range []string{p.Title, p.Heading, p.Text} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text, _ := policy.Redact(strings.Join(parts, "\n"))
	if len(text) > maxEmbedText {
		end := maxEmbedText
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	return text
}
