package ingest

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// memoryInUse is the memory of this process in bytes that is really there.
func memoryInUse() int64 { return statm(1) }

// statm returns a figure of /proc/self/statm in bytes, 0 if it cannot be read.
func statm(field int) int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if fields := bytes.Fields(b); err == nil && len(fields) > field {
		pages, _ := strconv.ParseInt(string(fields[field]), 10, 64)
		return pages * int64(os.Getpagesize())
	}
	return 0
}

// limitAddresses has the system refuse what goes far beyond the limit between
// two looks of the watchdog. Go reserves addresses ahead, so that limit is
// counted from what is reserved now, with as much again.
func limitAddresses(limit int64) error {
	now := statm(0)
	if now == 0 {
		return nil
	}
	most := uint64(now + 2*limit)
	return unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: most, Max: most})
}
