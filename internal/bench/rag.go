package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// runRAG asks questions of a store of many passages, one at a time, through
// the bare forwarder and through Strata.
func runRAG(b *bench) ([]row, error) {
	passages, batches := 10_000, 7
	if b.quick {
		passages, batches = 2_000, 3
	}
	own, err := b.startStrata(oneCore)
	if err != nil {
		return nil, err
	}
	defer own.stop()
	questions, err := b.fill(own, passages)
	if err != nil {
		return nil, err
	}
	var p50, p99, bare, strata []float64
	for batch := range batches + 1 {
		plain, added, err := b.ask(own, questions)
		if err != nil {
			return nil, err
		}
		if batch == 0 {
			continue // warms up
		}
		slices.Sort(added)
		p50, p99 = append(p50, median(added)), append(p99, added[len(added)*99/100])
		bare, strata = append(bare, plain), append(strata, plain+median(added))
	}
	line := func(what string, figures []float64) row {
		result := spreadOf(figures)
		return row{Case: "rag", What: fmt.Sprintf("RAG over %d,000 passages, English and Chinese: added latency %s", passages/1000, what), Unit: "ms", Result: &result, ResultUnit: "ms"}
	}
	middle, slow := line("p50", p50), line("p99", p99)
	middle.Bare, middle.Strata, middle.Aim = median(bare), median(strata), atMost(5, *middle.Result)
	return []row{middle, slow}, nil
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
