// Package pace keeps long work from making requests wait where there is one
// processor. It knows nothing of what is done.
package pace

import (
	"context"
	"runtime"
	"time"
)

// Work is how long is worked between two rests of Rest. The system makes a rest
// some 1 ms where nothing else is to be done.
const (
	Work = 2 * time.Millisecond
	Rest = 100 * time.Microsecond
)

// Pace is that of one piece of work; the zero value is its beginning.
type Pace struct{ since time.Time }

// Keep is called between steps of the work. On one processor it rests when it is
// time to, or until ctx ends. A yield would not do: Go's scheduler asks the
// network only when nothing else can run, so that a request would wait for some
// 10 ms at each of its turns. With more processors another one asks.
func (p *Pace) Keep(ctx context.Context) {
	now := time.Now()
	switch {
	case p.since.IsZero():
		p.since = now
	case now.Sub(p.since) < Work:
	case runtime.GOMAXPROCS(0) > 1:
		p.since = now
	default:
		select {
		case <-ctx.Done():
		case <-time.After(Rest):
		}
		p.since = time.Now()
	}
}
