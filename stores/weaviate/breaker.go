package weaviate

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// breakAfter is how many failed searches in a row end searching for
	// breakFor; then one goes first to find out.
	breakAfter = 5
	breakFor   = 2 * time.Second
	// patience is from when a search that was given up counts as failed: a
	// shorter wait tells of the caller's haste.
	patience = 100 * time.Millisecond
)

// breaker spares requests the wait for a server that hangs.
type breaker struct {
	clock func() time.Time

	mu     sync.Mutex
	failed int       // in a row
	until  time.Time // no search before
}

func (b *breaker) allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed < breakAfter {
		return true
	}
	now := b.clock()
	if now.Before(b.until) {
		return false
	}
	b.until = now.Add(breakFor)
	return true
}

// note takes down how a search ended. That a caller left says nothing, and an
// error that the server answered with is an answer.
func (b *breaker) note(err error, took time.Duration) {
	late := errors.Is(err, context.DeadlineExceeded)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil || answered(err):
		b.failed = 0
	case errors.Is(err, context.Canceled), late && took < patience:
	default:
		if b.failed++; b.failed >= breakAfter {
			b.until = b.clock().Add(breakFor)
		}
	}
}
