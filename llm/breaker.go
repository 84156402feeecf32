package llm

import (
	"sync"
	"time"
)

const (
	// breakAfter is how many failures in a row end the calls for pause.
	breakAfter = 5
	pause      = time.Minute
)

// breaker keeps calls away from an API that fails all the time.
type breaker struct {
	clock func() time.Time
	trial time.Duration // how long a call takes at most

	mu     sync.Mutex
	failed int       // in a row
	until  time.Time // no call before
}

// allow tells whether to call. After a pause one call goes first, to find out.
func (b *breaker) allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	if b.failed < breakAfter {
		return true
	}
	if now.Before(b.until) {
		return false
	}
	b.until = now.Add(b.trial)
	return true
}

// note takes down how a call ended.
func (b *breaker) note(good bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if good {
		b.failed = 0
		return
	}
	if b.failed++; b.failed >= breakAfter {
		b.until = b.clock().Add(pause)
	}
}
