package main

import (
	"context"
	"fmt"
	"time"
)

const (
	plainConns  = 32  // keep-alive connections of the JSON cases
	streamConns = 200 // streams at one time
	warmUp      = 500 * time.Millisecond
)

// contender is one way through one proxy.
type contender struct {
	target  *target
	request []byte
	vary    func() func() []byte        // optional: gives each connection its way to make requests
	settle  func(context.Context) error // optional: has the work done that exchanges leave behind; it counts

	pool  pool
	cpu   []float64 // microseconds per exchange, one for each round
	rate  []float64 // exchanges per second
	reads []float64 // reads of the client per exchange
}

// contest lets the contenders take turns at saturating their proxy: the first
// for d, the second for d, and so on, for some rounds.
type contest struct {
	conns    int
	rounds   int
	d        time.Duration
	exchange func(*client) error
}

func (c contest) run(ctx context.Context, contenders ...*contender) error {
	defer func() {
		for _, x := range contenders {
			x.pool.close()
		}
	}()
	for _, x := range contenders {
		var err error
		if x.pool, err = dialPool(ctx, x.target.addr, c.conns, x.request); err != nil {
			return err
		}
		if x.vary != nil {
			for _, client := range x.pool {
				client.next = x.vary()
			}
		}
		if _, err := x.pool.run(ctx, min(c.d, warmUp), c.exchange); err != nil {
			return fmt.Errorf("%s: %w", x.target.name, err)
		}
	}
	for range c.rounds {
		for _, x := range contenders {
			if err := c.round(ctx, x); err != nil {
				return fmt.Errorf("%s: %w", x.target.name, err)
			}
		}
	}
	return nil
}

func (c contest) round(ctx context.Context, x *contender) error {
	before, err := cpuTime(x.target.pid())
	if err != nil {
		return err
	}
	reads, start := x.pool.reads(), time.Now()
	n, err := x.pool.run(ctx, c.d, c.exchange)
	if err != nil {
		return err
	}
	wall := time.Since(start)
	if x.settle != nil {
		if err := x.settle(ctx); err != nil {
			return err
		}
	}
	after, err := cpuTime(x.target.pid())
	if err != nil {
		return err
	}
	x.cpu = append(x.cpu, microseconds(after-before)/float64(n))
	x.rate = append(x.rate, float64(n)/wall.Seconds())
	x.reads = append(x.reads, float64(x.pool.reads()-reads)/float64(n))
	return nil
}

// cpuRow compares the CPU time of two contenders.
func cpuRow(name, what string, bare, strata *contender, limit float64) row {
	result := spreadOf(pairwise(strata.cpu, bare.cpu, ratio))
	r := row{Case: name, What: what, Unit: "µs", Bare: median(bare.cpu), Strata: median(strata.cpu), Result: &result, ResultUnit: "x"}
	if limit > 0 {
		r.Aim = atMost(limit, result)
	}
	return r
}

func rateRow(name, what string, bare, strata *contender, limit float64) row {
	result := spreadOf(strata.rate)
	r := row{Case: name, What: what, Unit: "/s", Bare: median(bare.rate), Strata: result.Median, Result: &result, ResultUnit: "/s"}
	if limit > 0 {
		r.Aim = atLeast(limit, result)
	}
	return r
}

func (b *bench) plainContest() contest {
	c := contest{conns: plainConns, rounds: 17, d: 800 * time.Millisecond, exchange: (*client).exchange}
	if b.quick {
		c.rounds, c.d = 5, 200*time.Millisecond
	}
	return c
}

func runPassThrough(b *bench) ([]row, error) {
	bare := &contender{target: b.bare, request: embeddingsRequest()}
	strata := &contender{target: b.strata, request: embeddingsRequest()}
	if err := b.plainContest().run(b.ctx, bare, strata); err != nil {
		return nil, err
	}
	return []row{
		cpuRow("pass", "embeddings passed through (4 KB in, 1 KB out): CPU per request", bare, strata, 1.3),
		rateRow("pass", "requests per second, 32 connections", bare, strata, 3000),
	}, nil
}

func runWalk(b *bench) ([]row, error) {
	bare := &contender{target: b.bare, request: chatRequest()}
	strata := &contender{target: b.strata, request: chatRequest()}
	off := &contender{target: b.strata, request: chatRequest("X-Strata-Mode: off")}
	if err := b.plainContest().run(b.ctx, bare, strata, off); err != nil {
		return nil, err
	}
	return []row{
		cpuRow("walk", "chat of no user: nothing to inject (4 KB in, 1 KB out): CPU per request", bare, strata, 1.5),
		cpuRow("walk", "the same with X-Strata-Mode: off", bare, off, 0),
		rateRow("walk", "chat requests per second, 32 connections", bare, strata, 0),
	}, nil
}

func runStreams(b *bench) ([]row, error) {
	c := contest{conns: streamConns, rounds: 13, d: 1400 * time.Millisecond,
		exchange: func(c *client) error { return c.stream(nil) }}
	if b.quick {
		c.rounds, c.d = 3, 500*time.Millisecond
	}
	bare := &contender{target: b.bare, request: streamRequest("bench")}
	strata := &contender{target: b.strata, request: streamRequest("bench")}
	if err := c.run(b.ctx, bare, strata); err != nil {
		return nil, err
	}
	return []row{
		cpuRow("streams", "200 streams at one time (20 chunks, 5 ms apart): CPU per stream", bare, strata, 1.2),
		{Case: "streams", What: "reads of the client per stream (fewer: pieces were written together)", Unit: "reads",
			Bare: median(bare.reads), Strata: median(strata.reads)},
	}, nil
}
