package main

import (
	"errors"
	"fmt"
	"time"
)

const (
	heldStreams = 1000
	closeLimit  = 15 * time.Second // for a proxy to let go of what clients left
	spareFiles  = 16               // descriptors that may come besides connections
)

// runMemory opens streams that stay silent after their first chunk, twice: the
// second wave shows what a heap that was used before costs.
func runMemory(b *bench) ([]row, error) {
	bare, err := b.startBare()
	if err != nil {
		return nil, err
	}
	defer bare.stop()
	strata, err := b.startStrata()
	if err != nil {
		return nil, err
	}
	defer strata.stop()
	settle := time.Second
	if err := pause(b.ctx, settle); err != nil {
		return nil, err
	}
	idle, err := megabytes(strata)
	if err != nil {
		return nil, err
	}
	bareIdle, err := megabytes(bare)
	if err != nil {
		return nil, err
	}
	// The bare forwarder does not notice that clients left while upstream is
	// silent, so it has no second wave.
	bareFirst, err := b.holdStreams(bare)
	if err != nil {
		return nil, fmt.Errorf("bare: %w", err)
	}
	bare.stop()
	var waves [2]float64
	for i := range waves {
		if waves[i], err = b.wave(strata); err != nil {
			return nil, fmt.Errorf("strata, wave %d: %w", i+1, err)
		}
	}
	return []row{
		memoryRow("resident memory after the start", bareIdle, idle, 40),
		memoryRow("resident memory with 1,000 open streams", bareFirst, waves[0], 100),
		memoryRow("the same, a second wave after the first has closed", 0, waves[1], 100),
	}, nil
}

func memoryRow(what string, bare, strata, limit float64) row {
	result := spread{Median: strata, Min: strata, Max: strata}
	return row{Case: "memory", What: what, Unit: "MB", Bare: bare, Strata: strata, Result: &result, ResultUnit: "MB", Aim: atMost(limit, result)}
}

// wave is holdStreams, and waits until the proxy has closed what it held.
func (b *bench) wave(t *target) (float64, error) {
	before, err := openFiles(t.pid())
	if err != nil {
		return 0, err
	}
	mb, err := b.holdStreams(t)
	if err != nil {
		return 0, err
	}
	for end := time.Now().Add(closeLimit); ; {
		n, err := openFiles(t.pid())
		switch {
		case err != nil:
			return 0, err
		case n <= before+spareFiles:
			return mb, nil
		case time.Now().After(end):
			return 0, fmt.Errorf("%d descriptors still open after all clients left, %d before they came", n, before)
		}
		if err := pause(b.ctx, 50*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// holdStreams opens all streams, waits for the first chunk of each, and
// returns the most resident memory seen while all were open. All are closed
// when it returns.
func (b *bench) holdStreams(t *target) (float64, error) {
	p, err := dialPool(b.ctx, t.addr, heldStreams, streamRequest(modelHeld))
	if err != nil {
		return 0, err
	}
	defer p.close()
	n, err := p.run(b.ctx, 0, (*client).firstChunk)
	if err != nil {
		return 0, err
	}
	if n != heldStreams {
		return 0, errors.New("not all streams opened")
	}
	most := 0.0
	for range 20 {
		mb, err := megabytes(t)
		if err != nil {
			return 0, err
		}
		most = max(most, mb)
		if err := pause(b.ctx, 50*time.Millisecond); err != nil {
			return 0, err
		}
	}
	return most, nil
}

func megabytes(t *target) (float64, error) {
	n, err := residentMemory(t.pid())
	return float64(n) / 1e6, err
}
