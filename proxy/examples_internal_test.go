package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"strata/intent"
	"strata/stores"
)

type readExamples func(tenant string) ([]stores.IntentExample, error)

func (f readExamples) Examples(_ context.Context, tenant string) ([]stores.IntentExample, error) {
	return f(tenant)
}

func cacheOf(f readExamples) *exampleCache {
	return newExampleCache(f, intent.New(), slog.New(slog.DiscardHandler))
}

// Of a slow read the requests under way wait 20 ms together, and what it gives
// is there later.
func TestExamplesThatComeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		hold, broken := make(chan struct{}), error(nil)
		c := cacheOf(func(string) ([]stores.IntentExample, error) {
			reads.Add(1)
			<-hold
			return []stores.IntentExample{{ID: "iex_1", Text: "blue whales", Intent: "data"}}, broken
		})
		there := func(gen int64) bool { return c.of(t.Context(), "T1", gen) != nil }
		began := time.Now()
		for range 3 {
			if there(1) {
				t.Error("there before they were read")
			}
		}
		if took := time.Since(began); took != 20*time.Millisecond || reads.Load() != 1 {
			t.Errorf("%d reads were waited for %v", reads.Load(), took)
		}
		close(hold)
		synctest.Wait()
		if !there(1) || !there(0) || reads.Load() != 1 {
			t.Error("not there after they were read")
		}
		broken = errors.New("broken")
		for range 2 {
			if there(2) {
				t.Error("those of the generation before are served")
			}
		}
		broken = nil
		time.Sleep(exampleRetry + 1)
		if !there(2) || reads.Load() != 3 {
			t.Errorf("a failed read is not tried again after a second, or earlier: %d reads", reads.Load())
		}
	})
}

// What is held is bounded; the tenants asked for last stay.
func TestExamplesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := map[string]int{}
		c := cacheOf(func(tenant string) ([]stores.IntentExample, error) {
			reads[tenant]++
			if tenant == "large" {
				return []stores.IntentExample{{ID: "iex_1", Text: strings.Repeat("word ", 1<<20), Intent: "rag"}}, nil
			}
			return nil, nil
		})
		for i := range exampleTenants + 50 {
			c.of(t.Context(), fmt.Sprint("T", i), 1)
			c.of(t.Context(), "T0", 1)
			synctest.Wait()
		}
		if n := len(c.held); n != exampleTenants || reads["T0"] != 1 {
			t.Errorf("%d tenants held, the one in use read %d times", n, reads["T0"])
		}
		if c.of(t.Context(), "large", 1) == nil {
			t.Error("a large one is not served")
		}
		synctest.Wait()
		if n := len(c.held); n != 1 {
			t.Errorf("%d tenants held beside a large one", n-1)
		}
	})
}

// What was made of unchanged examples is not made again.
func TestUnchangedExamplesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := []stores.IntentExample{{ID: "iex_1", Text: "blue whales", Intent: "data"}}
		c := cacheOf(func(string) ([]stores.IntentExample, error) { return slices.Clone(list), nil })
		first, second := c.of(t.Context(), "T1", 1), c.of(t.Context(), "T1", 2)
		list[0].Intent = "rag"
		third := c.of(t.Context(), "T1", 3)
		if first == second || first.made != second.made || second.made == third.made {
			t.Errorf("made %p, %p, and of other examples %p", first.made, second.made, third.made)
		}
	})
}

// A verdict names a tenant's example by its id, and quotes nothing of it.
func TestRuleOfAnExample(t *testing.T) {
	list := []stores.IntentExample{{ID: "iex_1", Text: "who said “never again” to the blue whales", Intent: "data"}}
	synctest.Test(t, func(t *testing.T) {
		c := cacheOf(func(string) ([]stores.IntentExample, error) { return list, nil })
		e := c.of(t.Context(), "T1", 1)
		v := c.classifier.Classify([]intent.Message{{Role: "user", Text: list[0].Text}}, intent.Hints{Examples: e.made})
		if v.Stage != "example" || v.Rule != "example iex_1" {
			t.Errorf("%+v", v)
		}
	})
}
