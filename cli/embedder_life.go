package cli

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"strata/ingest"
	"strata/llm"
	"strata/stores"
)

const (
	// lookEvery is how often an embedder in use is asked for the fixed text, and
	// one that is another than that of the documents whether it still is.
	lookEvery = 10 * time.Minute
	// lookPause is the least time between two looks.
	lookPause = 10 * time.Second
)

// embedder is what is asked for vectors.
type embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)    // while a request waits
	EmbedAll(ctx context.Context, texts []string) ([][]float32, error) // with patience
	EmbedProven(ctx context.Context, texts []string, proof llm.Proof) ([][]float32, error)
}

// life is an embedder as it was found to be, until it is found to be another
// one or is surveyed again.
type life struct {
	embedder
	space stores.Space // in which its vectors are
	key   string       // of its questions in the cache: no vector of another life is found there

	failed atomic.Bool  // the last call for a question
	doubts atomic.Int64 // how often it was said that it may be another one,
	solved atomic.Int64 // and how many of those a look has answered
	looked atomic.Int64 // when it was seen to be the same, or to be looked at for its age, in Unix nanoseconds
	wake   chan struct{}
}

func newLife(e embedder, space stores.Space, key string) *life {
	l := &life{embedder: e, space: space, key: key, wake: make(chan struct{}, 1)}
	l.looked.Store(time.Now().UnixNano())
	return l
}

// question is Embed, as long as nothing speaks against the embedder being the
// same. A vector that comes when something does is not given out.
func (l *life) question(ctx context.Context, texts []string) ([][]float32, error) {
	if l.doubtful() {
		return nil, errDoubtful
	}
	vectors, err := l.Embed(ctx, texts)
	l.note(err)
	switch {
	case err != nil:
		return nil, err
	case l.doubtful():
		return nil, errDoubtful
	}
	return vectors, nil
}

// note takes down how a call ended. A server that failed may have come back
// with another model: when it answers again it is looked at, and after so many
// failures that it was given up for a while, before its answers count.
func (l *life) note(err error) {
	switch {
	case err == nil:
		if l.failed.Swap(false) {
			l.look()
		}
	case errors.Is(err, llm.ErrPaused), errors.Is(err, llm.ErrOther):
		l.doubt()
	case !errors.Is(err, context.Canceled):
		l.failed.Store(true)
	}
}

// passages embeds for the index, with the fixed text in each call.
func (l *life) passages(ctx context.Context, space stores.Space, texts []string) ([][]float32, error) {
	vectors, err := l.EmbedProven(ctx, texts, llm.Proof{Text: ingest.Probe, Holds: func(v []float32) bool { return ingest.IsProbeAmong(space, v) }})
	if errors.Is(err, llm.ErrOther) {
		l.doubt()
	}
	return vectors, err
}

// doubt keeps questions from being compared until a look has shown that the
// embedder is the same.
func (l *life) doubt() {
	l.doubts.Add(1)
	l.look()
}

func (l *life) doubtful() bool { return l.solved.Load() != l.doubts.Load() }

// look has the embedder looked at, soon and in the background.
func (l *life) look() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// used is called for each question. It has the embedder looked at when that was
// not done for so long.
func (l *life) used(every time.Duration) {
	now, last := time.Now().UnixNano(), l.looked.Load()
	if now-last >= int64(every) && l.looked.CompareAndSwap(last, now) {
		l.look()
	}
}

// watch looks at the embedder when it is to be, until it is another one or
// asked for, or ctx ends.
func (l *life) watch(ctx context.Context, forced <-chan struct{}, pause time.Duration, log *slog.Logger) (force bool) {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-forced:
			return true
		case <-l.wake:
		}
		if !l.same(ctx, log) {
			return false
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-forced:
			timer.Stop()
			return true
		case <-timer.C:
		}
	}
}

// same asks for the fixed text until there is an answer, and reports whether
// that is what it was. Until the next survey has said more, questions are not
// compared then.
func (l *life) same(ctx context.Context, log *slog.Logger) bool {
	for wait := vectorCheck; ; wait = min(2*wait, maxCheck) {
		doubts := l.doubts.Load()
		vectors, err := l.EmbedAll(ctx, []string{ingest.Probe})
		switch {
		case ctx.Err() != nil:
			return true
		case err == nil && ingest.IsProbe(l.space, vectors[0]):
			l.looked.Store(time.Now().UnixNano())
			l.solved.Store(doubts)
			return true
		case err == nil || errors.Is(err, llm.ErrOther):
			log.Warn("the embedder answers otherwise than before: who it is is found out anew, and documents are found by their words alone until it is known", "model", l.space.Model)
			l.doubts.Add(1)
			return false
		}
		log.Warn("the embedder cannot be asked whether it is still the same; that is tried again", "again_in", wait.String(), "error", err)
		if !sleep(ctx, wait) {
			return true
		}
	}
}
