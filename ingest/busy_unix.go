//go:build unix

package ingest

import (
	"time"

	"golang.org/x/sys/unix"
)

// busyFor is how long this process has kept processors at work. Waiting is not
// in it, so that a machine with much else to do ends no honest reader.
func busyFor() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
