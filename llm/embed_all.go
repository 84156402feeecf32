package llm

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
	"unicode/utf8"
)

const (
	// A batch at first. Servers that take fewer texts are found out.
	batchTexts = 64
	batchRunes = 100_000
	// batchTimeout is for one batch, on a machine without an accelerator too.
	batchTimeout = time.Minute
	// Between tries, doubled each time and a little spread. A server that
	// names a time gets it, up to longestWait.
	firstWait   = time.Second
	lastWait    = time.Minute
	longestWait = 10 * time.Minute
	// doubtAfter is how many times a server may fail at the same texts before
	// it is asked whether it fails at others too.
	doubtAfter = 3
)

// EmbedAll returns the vector of each text, of length 1, for ingest: in
// batches, and with patience. A batch that the API refuses is halved; a single
// text that it refuses is cut in half until it is taken. When the API is not
// there, fails, or wants less haste, it is asked again until ctx ends, later
// each time and not before it said. Other failures end it: a wrong key, no
// such model, other dimensions than before, a text refused in any length. No
// error holds the key or what the API wrote.
func (e *Embedder) EmbedAll(ctx context.Context, texts []string) ([][]float32, error) {
	return e.all(ctx, texts, nil)
}

func (e *Embedder) all(ctx context.Context, texts []string, proof *Proof) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for rest := texts; len(rest) > 0; {
		n := fit(rest, int(e.most.Load()))
		some, _, err := e.batch(ctx, rest[:n], proof)
		if err != nil {
			return nil, told(e.key, err)
		}
		vectors, rest = append(vectors, some...), rest[n:]
	}
	return vectors, nil
}

// fit is how many of texts, at least one, go into one call.
func fit(texts []string, most int) int {
	n, runes := 0, 0
	for n < len(texts) && n < most {
		if runes += utf8.RuneCountInString(texts[n]); runes > batchRunes && n > 0 {
			break
		}
		n++
	}
	return n
}

// batch embeds texts by one call, or by several when the API does not take
// them together. It tells whether they were taken whole, as one.
func (e *Embedder) batch(ctx context.Context, texts []string, proof *Proof) (vectors [][]float32, whole bool, err error) {
	if most := int(e.most.Load()); len(texts) > most { // found out by an earlier half
		return e.parts(ctx, texts, most, proof)
	}
	vectors, err = e.patiently(ctx, texts, proof)
	switch {
	case err == nil:
		return vectors, true, nil
	case !tooMuch(err):
		return nil, false, err
	case len(texts) > 1:
		return e.parts(ctx, texts, half(len(texts), proof), proof)
	}
	shorter := firstRunes(texts[0], utf8.RuneCountInString(texts[0])/2)
	if shorter == "" {
		return nil, false, err
	}
	vectors, _, err = e.batch(ctx, []string{shorter}, proof)
	return vectors, false, err
}

// half is how many of n texts are asked for after all were too many: with a
// proof half a call less its text, since limits are mostly powers of two.
func half(n int, proof *Proof) int {
	if proof == nil {
		return n / 2
	}
	return max(1, (n+1)/2-1)
}

// parts embeds texts in parts of size at most. When each of them is taken as
// it is, then it was their number that was too large, and batches stay that
// small. Otherwise a single text is to blame.
func (e *Embedder) parts(ctx context.Context, texts []string, size int, proof *Proof) ([][]float32, bool, error) {
	var vectors [][]float32
	all := true
	for len(texts) > 0 {
		n := min(size, len(texts))
		some, whole, err := e.batch(ctx, texts[:n], proof)
		if err != nil {
			return nil, false, err
		}
		vectors, texts, all = append(vectors, some...), texts[n:], all && whole
	}
	if all {
		e.most.Store(min(e.most.Load(), int64(size)))
	}
	return vectors, false, nil
}

// patiently asks until there is an answer or a refusal. An API that fails at
// these texts again and again but not at another has refused them: some answer
// a text that is too long with a failure of their own.
func (e *Embedder) patiently(ctx context.Context, texts []string, proof *Proof) (vectors [][]float32, err error) {
	for try := 1; ; try++ {
		err = e.within(ctx, e.limit, func(ctx context.Context) error {
			vectors, err = e.proven(ctx, texts, proof)
			return err
		})
		if err == nil || ctx.Err() != nil || tooMuch(err) || !later(err) {
			return vectors, err
		}
		if try%doubtAfter == 0 && failsAlone(err) && e.healthy(ctx) {
			return nil, &wrongAnswer{told(e.key, err).Error()}
		}
		if err := e.pause(ctx, wait(try, err, e.breaker.clock())); err != nil {
			return nil, err
		}
	}
}

// healthy tells whether the API embeds a text that nobody can refuse.
func (e *Embedder) healthy(ctx context.Context) bool {
	return e.within(ctx, e.limit, func(ctx context.Context) error {
		_, _, err := e.ask(ctx, []string{"a"})
		return err
	}) == nil
}

// tooMuch tells whether fewer or shorter texts may be taken.
func tooMuch(err error) bool {
	if _, ok := errors.AsType[*wrongAnswer](err); ok {
		return true
	}
	return refused(err) || errors.Is(err, errTooLong)
}

// later tells whether the same call may succeed later.
func later(err error) bool {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status >= 500 || e.status == http.StatusTooManyRequests || e.status == http.StatusRequestTimeout
	}
	return !errors.Is(err, ErrOther)
}

// failsAlone tells failures that may be about the texts that were sent: an
// error of the server's own, or no answer in time.
func failsAlone(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.status == http.StatusInternalServerError || errors.Is(err, ErrTimeout)
}

// wait is how long to wait after the nth failure in a row.
func wait(try int, err error, now time.Time) time.Duration {
	d := lastWait
	if try < 7 {
		d = min(firstWait<<(try-1), lastWait)
	}
	d += rand.N(d / 4)
	if e, ok := errors.AsType[*statusError](err); ok {
		d = max(d, min(retryAfter(e.after, now), longestWait))
	}
	return d
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
