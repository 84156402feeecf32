//go:build !linux

package ingest

import "runtime/metrics"

// memoryInUse is the memory in bytes that Go has taken from the system and not
// given back, which is all that a reader takes.
func memoryInUse() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// limitAddresses does nothing: these systems have no limit that is kept. The
// watchdog is alone there.
func limitAddresses(int64) error { return nil }
