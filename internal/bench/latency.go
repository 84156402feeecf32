package main

import (
	"fmt"
	"time"
)

// delays are what one client sees on streams through one way, as medians of a
// batch each, in milliseconds.
type delays struct {
	target    *target
	client    *client
	firstByte []float64 // from the start of sending
	chunk     []float64 // from the stamp to the receipt, chunks after the first

	first, chunks []float64 // of the batch going on
}

// runLatency sends one stream at a time, in turn straight to upstream and
// through each proxy.
func runLatency(b *bench) ([]row, error) {
	batches, perBatch := 7, 16
	if b.quick {
		batches, perBatch = 3, 4
	}
	ways := []*delays{{target: b.upstream}, {target: b.bare}, {target: b.strata}}
	for _, w := range ways {
		p, err := dialPool(b.ctx, w.target.addr, 1, streamRequest("bench"))
		if err != nil {
			return nil, err
		}
		defer p.close()
		w.client = p[0]
	}
	for batch := range batches + 1 {
		for range perBatch {
			for _, w := range ways {
				if _, err := (pool{w.client}).run(b.ctx, 0, w.measure); err != nil {
					return nil, fmt.Errorf("%s: %w", w.target.name, err)
				}
			}
		}
		for _, w := range ways {
			w.endBatch(batch > 0) // the first one warms up
		}
	}
	return latencyRows(ways[0], ways[1], ways[2]), nil
}

func (w *delays) measure(c *client) error {
	start := time.Now()
	n := 0
	return c.stream(func(at time.Time, p []byte) {
		if n == 0 {
			w.first = append(w.first, milliseconds(at.Sub(start)))
		}
		for _, sent := range stamps(p) {
			if n > 0 {
				w.chunks = append(w.chunks, milliseconds(at.Sub(sent)))
			}
			n++
		}
	})
}

func (w *delays) endBatch(keep bool) {
	if keep {
		w.firstByte = append(w.firstByte, median(w.first))
		w.chunk = append(w.chunk, median(w.chunks))
	}
	w.first, w.chunks = w.first[:0], w.chunks[:0]
}

func latencyRows(direct, bare, strata *delays) []row {
	line := func(what string, figures func(*delays) []float64, than *delays, limit float64) row {
		added := spreadOf(pairwise(figures(strata), figures(than), difference))
		return row{Case: "latency", What: what, Unit: "ms",
			Direct: median(figures(direct)), Bare: median(figures(bare)), Strata: median(figures(strata)),
			Result: &added, ResultUnit: "ms", Aim: atMost(limit, added)}
	}
	firstByte := func(d *delays) []float64 { return d.firstByte }
	chunk := func(d *delays) []float64 { return d.chunk }
	return []row{
		line("first byte of a stream, p50: added to direct", firstByte, direct, 0.3),
		line("first byte of a stream, p50: added to the bare forwarder", firstByte, bare, 0.3),
		line("each chunk from sent to received, p50: added to direct", chunk, direct, 0.1),
	}
}
