//go:build !unix

package ingest

import "time"

var began = time.Now()

// busyFor is how long this process has been there: a reader does nothing but
// work.
func busyFor() time.Duration { return time.Since(began) }
