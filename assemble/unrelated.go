package assemble

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// fewDocuments is below how many nothing is measured, unless their passages
	// are many: so little is found by chance that the plan's floor is enough.
	fewDocuments = 8
	measuring    = 2                // at a time
	measureLimit = 10 * time.Second // of one
	measureAgain = 10 * time.Minute
	measureSoon  = 30 * time.Second // where the index was away
	measuredMost = 10_000           // tenants and languages that are remembered
	measureHits  = 5                // looked at for each question
)

// unrelated is what questions find in a tenant's knowledge that have nothing to
// do with it. How much is found by chance depends on what the documents speak
// of and on how long passages are: the same cover means little in an
// encyclopedia and much in a contract.
type unrelated struct {
	fit   float64 // mean of the highest quarter, as a logarithm
	known bool    // enough of them find anything for fit to tell something
}

// measured are the tenants' figures, each in a language.
type measured struct {
	mu   sync.Mutex
	of   map[measuredKey]*measurement
	gate chan struct{}
}

type measuredKey struct{ tenant, language string }

type measurement struct {
	figures   unrelated // zero = not known
	documents int
	at        time.Time
	away      bool          // the index was
	done      chan struct{} // of the one under way
	running   bool
}

// unrelated returns the tenant's figures for a language, none while they are not
// known. The first request that needs them waits, for half of its time at most;
// later ones get the former figures while they are measured anew.
func (a *Assembler) unrelated(ctx context.Context, tenant, language string, documents int) unrelated {
	m := a.measured.entry(measuredKey{tenant, language})
	a.measured.mu.Lock()
	now := a.cfg.Clock()
	first := m.at.IsZero()
	if !m.running && m.stale(now, documents) {
		select {
		case a.measured.gate <- struct{}{}:
			m.running, m.done = true, make(chan struct{})
			go a.measure(m, tenant, language, documents)
		default:
		}
	}
	done, figures := m.done, m.figures
	a.measured.mu.Unlock()
	if !first || done == nil {
		return figures
	}
	ctx, cancel := shareOf(ctx, 0.5)
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
	}
	a.measured.mu.Lock()
	defer a.measured.mu.Unlock()
	return m.figures
}

func (m *measured) entry(key measuredKey) *measurement {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.of[key]
	if e == nil {
		if m.of == nil || len(m.of) >= measuredMost {
			m.of = map[measuredKey]*measurement{}
		}
		e = new(measurement)
		m.of[key] = e
	}
	return e
}

// stale tells whether it is time to measure: at first, when the documents have
// become an eighth more or less, and now and then.
func (m *measurement) stale(now time.Time, documents int) bool {
	age := now.Sub(m.at)
	switch {
	case m.at.IsZero() || age > measureAgain:
		return true
	case m.away:
		return age > measureSoon
	}
	return 8*max(documents-m.documents, m.documents-documents) > m.documents && age > time.Second
}

// measure asks the tenant's knowledge the unrelated questions of a language. It
// belongs to no request.
func (a *Assembler) measure(m *measurement, tenant, language string, documents int) {
	defer func() { <-a.measured.gate }()
	ctx, cancel := context.WithTimeout(context.Background(), measureLimit)
	defer cancel()
	asked := unrelatedQuestions[language]
	fits, err := guarded(ctx, func(ctx context.Context) ([]float64, error) { return a.fitsOf(ctx, tenant, asked) })
	a.measured.mu.Lock()
	defer a.measured.mu.Unlock()
	m.at, m.documents, m.away, m.running = a.cfg.Clock(), documents, err != nil, false
	if err == nil {
		m.figures = unrelatedOf(fits)
	}
	close(m.done)
}

// fitsOf are the logarithms of the best fits of questions.
func (a *Assembler) fitsOf(ctx context.Context, tenant string, questions []string) ([]float64, error) {
	out := make([]float64, len(questions))
	for i, q := range questions {
		hits, err := a.cfg.Index.Search(ctx, tenant, q, measureHits)
		if err != nil {
			return nil, err
		}
		best := 0.0
		for _, h := range hits {
			best = max(best, fitOfHit(h))
		}
		out[i] = logFit(best)
	}
	return out, nil
}

func unrelatedOf(fits []float64) unrelated {
	top := quarter(fits)
	return unrelated{fit: highest(fits), known: len(top) > 0 && top[0] > leastFit}
}

// quarter is the highest quarter of list, in rising order.
func quarter(list []float64) []float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)-(len(sorted)+3)/4:]
}

// highest is the mean of the highest quarter.
func highest(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sum, top := 0.0, quarter(list)
	for _, v := range top {
		sum += v
	}
	return sum / float64(len(top))
}
