package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// writerPause is between two documents of the writer: some five a second, 100
// passages, is more than a firm's documents change.
const writerPause = 200 * time.Millisecond

// runRAG asks questions of a store of many passages while documents are
// written to it.
func runRAG(b *bench) ([]row, error) {
	passages, batches := 10_000, 7
	if b.quick {
		passages, batches = 2_000, 3
	}
	rows, _, err := b.askAll("rag", passages, batches, 5, 20)
	return rows, err
}

// runLargeCorpus is runRAG over ten times as many, and tells the memory.
func runLargeCorpus(b *bench) ([]row, error) {
	passages, batches := 100_000, 3
	if b.quick {
		passages, batches = 10_000, 1
	}
	rows, mb, err := b.askAll("corpus", passages, batches, 25, 0)
	if err != nil {
		return nil, err
	}
	result := spread{mb, mb, mb}
	return append(rows, row{Case: "corpus", What: "resident memory then", Unit: "MB", Strata: mb, Result: &result, ResultUnit: "MB"}), nil
}

// askAll asks questions of so many passages, one at a time, through the bare
// forwarder and through Strata, while one writer puts documents. The aims are
// milliseconds that are added in the middle and at the 99th percentile, 0 for
// none. It also returns Strata's memory in MB.
func (b *bench) askAll(name string, passages, batches int, aim50, aim99 float64) ([]row, float64, error) {
	own, err := b.startStrata(oneCore)
	if err != nil {
		return nil, 0, err
	}
	defer own.stop()
	questions, err := b.fill(own, passages)
	if err != nil {
		return nil, 0, err
	}
	writing := b.write(own)
	var p50, p99, bare, strata []float64
	for batch := range batches + 1 {
		plain, added, err := b.ask(own, questions)
		if err != nil {
			return nil, 0, errors.Join(err, writing())
		}
		if batch == 0 {
			continue // warms up
		}
		slices.Sort(added)
		p50, p99 = append(p50, median(added)), append(p99, added[len(added)*99/100])
		bare, strata = append(bare, plain), append(strata, plain+median(added))
	}
	if err := writing(); err != nil {
		return nil, 0, err
	}
	mb, err := megabytes(own)
	line := func(what string, figures []float64, aim float64) row {
		result := spreadOf(figures)
		r := row{Case: name, What: fmt.Sprintf("RAG over %d,000 passages, English and Chinese, one writer: added latency %s", passages/1000, what), Unit: "ms", Result: &result, ResultUnit: "ms"}
		if aim > 0 {
			r.Aim = atMost(aim, result)
		}
		return r
	}
	middle, slow := line("p50", p50, aim50), line("p99", p99, aim99)
	middle.Bare, middle.Strata = median(bare), median(strata)
	return []row{middle, slow}, mb, err
}

// write puts documents, one after the other, until the function that it
// returns is called, which tells what went wrong.
func (b *bench) write(t *target) (stop func() error) {
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() {
		c := newCorpus()
		for n := 0; ; n++ {
			err := t.call(ctx, http.MethodPut, fmt.Sprintf("/v1/documents/new-%d", n%50), "", "text/markdown", c.document(n), nil)
			if ctx.Err() != nil {
				err = nil
			}
			if err != nil || ctx.Err() != nil || pause(ctx, writerPause) != nil {
				done <- err
				return
			}
		}
	}()
	return func() error { cancel(); return <-done }
}

// fill puts documents with so many passages through the control plane, and
// returns the requests of questions about them.
func (b *bench) fill(t *target, want int) ([][]byte, error) {
	c := newCorpus()
	documents := make([][]byte, want/docSections)
	for n := range documents {
		documents[n] = c.document(n)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	passages := 0
	for worker := range 4 {
		wg.Go(func() {
			for n := worker; n < len(documents); n += 4 {
				var put struct {
					Passages int `json:"passages"`
				}
				err := t.call(b.ctx, http.MethodPut, fmt.Sprintf("/v1/documents/rules-%03d", n), "", "text/markdown", documents[n], &put)
				mu.Lock()
				passages += put.Passages
				failed = errors.Join(failed, err)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if failed == nil && passages < want {
		failed = fmt.Errorf("%d passages were stored, want %d", passages, want)
	}
	var requests [][]byte
	for _, q := range c.questions {
		requests = append(requests, httpRequest("/v1/chat/completions", askBody("bench", false, "", q), "X-Strata-User: reader", "X-Strata-Intent: rag"))
	}
	return requests, failed
}

// ask sends each question both ways. It returns the middle time through the
// bare forwarder and what each exchange through Strata took longer than that,
// in milliseconds.
func (b *bench) ask(t *target, questions [][]byte) (plain float64, added []float64, err error) {
	var times [2][]float64
	full := 0
	for way, to := range [...]*target{b.bare, t} {
		p, err := dialPool(b.ctx, to.addr, 1, nil)
		if err != nil {
			return 0, nil, err
		}
		defer p.close()
		for _, q := range questions {
			p[0].request = q
			start := time.Now()
			if _, err := p.run(b.ctx, 0, (*client).exchange); err != nil {
				return 0, nil, fmt.Errorf("%s: %w", to.name, err)
			}
			times[way] = append(times[way], milliseconds(time.Since(start)))
			if to == t {
				said, err := p[0].answerHeader("X-Strata-Context")
				if err != nil {
					return 0, nil, err
				}
				if strings.HasPrefix(said, "full;") {
					full++
				}
			}
		}
	}
	if full*10 < len(questions)*9 {
		return 0, nil, fmt.Errorf("only %d of %d questions got passages", full, len(questions))
	}
	plain = median(times[0])
	for _, ms := range times[1] {
		added = append(added, ms-plain)
	}
	return plain, added, nil
}
