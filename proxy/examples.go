package proxy

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"strata/intent"
	"strata/stores"
)

// Examples gives the messages of a tenant whose intent was put right, the
// oldest first.
type Examples interface {
	Examples(ctx context.Context, tenant string) ([]stores.IntentExample, error)
}

const (
	exampleWait  = 20 * time.Millisecond // that requests wait for a read
	exampleRead  = 2 * time.Second       // that a read may take
	exampleRetry = time.Second           // after a read that failed
	// What is held of all tenants together. What the classifier makes of a text
	// takes about ten times its bytes.
	exampleTenants = 256
	exampleBytes   = 4 << 20
)

// exampleCache holds tenants' examples, as the classifier wants them, from one
// change of the tenant's knowledge to the next.
type exampleCache struct {
	source     Examples
	classifier *intent.Classifier
	log        *slog.Logger

	mu    sync.Mutex
	held  map[string]*tenantExamples
	clock int // counts the uses
}

// tenantExamples are one tenant's as of a generation. Once done is closed,
// nothing of them changes but used.
type tenantExamples struct {
	gen   int64
	began time.Time
	used  int
	done  chan struct{}

	list  []stores.IntentExample
	made  *intent.Examples // nil: the read failed
	bytes int
}

// newExampleCache returns nil where there are none to hold.
func newExampleCache(source Examples, c *intent.Classifier, log *slog.Logger) *exampleCache {
	if source == nil {
		return nil
	}
	return &exampleCache{source: source, classifier: c, log: log, held: map[string]*tenantExamples{}}
}

// of returns the tenant's examples as of a generation or a later one; nil when
// they do not come in time.
func (c *exampleCache) of(ctx context.Context, tenant string, gen int64) *tenantExamples {
	if c == nil {
		return nil
	}
	e := c.entry(tenant, gen)
	select {
	case <-e.done:
		return e.orNone()
	default:
	}
	// One read is waited for once, not by every request that comes meanwhile.
	late := time.NewTimer(exampleWait - time.Since(e.began))
	defer late.Stop()
	select {
	case <-e.done:
		return e.orNone()
	case <-late.C:
	case <-ctx.Done():
	}
	return nil
}

func (e *tenantExamples) orNone() *tenantExamples {
	if e.made == nil {
		return nil
	}
	return e
}

// entry returns what is held, and begins to read where that is too old.
func (c *exampleCache) entry(tenant string, gen int64) *tenantExamples {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	old := c.held[tenant]
	if old != nil && old.gen >= gen && !old.toRetry() {
		old.used = c.clock
		return old
	}
	e := &tenantExamples{gen: gen, began: time.Now(), used: c.clock, done: make(chan struct{})}
	c.held[tenant] = e
	go c.read(tenant, e, old)
	return e
}

// toRetry tells of a read that failed some time ago.
func (e *tenantExamples) toRetry() bool {
	select {
	case <-e.done:
		return e.made == nil && time.Since(e.began) > exampleRetry
	default:
		return false
	}
}

// read fills e, or leaves it empty.
func (c *exampleCache) read(tenant string, e, old *tenantExamples) {
	defer c.bound(e)
	defer close(e.done)
	if err := c.fill(tenant, e, old); err != nil {
		c.log.Warn("the examples of intents cannot be read", "error", err)
	}
}

// fill reads e. Most changes of a tenant's knowledge are not of its examples,
// and then what was made of them stays. A panic, which would end the process,
// is an error.
func (c *exampleCache) fill(tenant string, e, old *tenantExamples) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a panic: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), exampleRead)
	defer cancel()
	list, err := c.source.Examples(ctx, tenant)
	if err != nil {
		return err
	}
	if old != nil && old.holds(list) {
		e.list, e.made, e.bytes = old.list, old.made, old.bytes
		return nil
	}
	examples := make([]intent.Example, len(list))
	for i, x := range list {
		examples[i] = intent.Example{ID: x.ID, Text: x.Text, Intent: intent.Intent(x.Intent)}
		e.bytes += len(x.Text)
	}
	e.list, e.made = list, c.classifier.Examples(examples)
	return nil
}

// holds tells whether a finished read gave the same list.
func (e *tenantExamples) holds(list []stores.IntentExample) bool {
	select {
	case <-e.done:
		return e.made != nil && slices.Equal(e.list, list)
	default:
		return false
	}
}

// bound lets go of the tenants that were not asked for the longest.
func (c *exampleCache) bound(fresh *tenantExamples) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		bytes, oldest := 0, ""
		for tenant, e := range c.held {
			select {
			case <-e.done:
				bytes += e.bytes
			default:
				continue
			}
			if e != fresh && (oldest == "" || e.used < c.held[oldest].used) {
				oldest = tenant
			}
		}
		if oldest == "" || len(c.held) <= exampleTenants && bytes <= exampleBytes {
			return
		}
		delete(c.held, oldest)
	}
}

// examples are what hints hand to the classifier. A verdict names them by id:
// their words are somebody's, and receipts are read and kept by others.
func (x *exchange) examples() *intent.Examples {
	if x.d.opening.Examples == 0 || x.d.caller.Forced != "" {
		return nil
	}
	if e := x.parts.known.of(x.context, x.d.caller.Tenant, x.d.opening.KBGen); e != nil {
		return e.made
	}
	return nil
}
