package ingest

import (
	"context"
	"time"
)

// Parse is what Put does before it writes anything, in this process.
var Parse = parse

// BusyFor is how long a worker may keep processors at work for so many bytes.
func BusyFor(size int64) time.Duration {
	w, _ := Worker{}.withDefaults()
	return w.busy(size)
}

// ReadApart is the same as Put does it, and returns how many passages there
// are.
func ReadApart(ctx context.Context, g *Ingester, src Source) (n int, err error) {
	d, _, done, err := g.parse(ctx, src)
	if err != nil {
		return 0, err
	}
	defer done()
	n = len(d.Passages)
	if d.More != nil {
		for _, err := range d.More {
			if err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}
