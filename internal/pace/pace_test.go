package pace_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"strata/internal/pace"
)

// on makes the test run on so many processors.
func on(t *testing.T, processors int) {
	before := runtime.GOMAXPROCS(processors)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// Work goes on without a rest until it is time for one, and again after it.
func TestKeep(t *testing.T) {
	on(t, 1)
	synctest.Test(t, func(t *testing.T) {
		var p pace.Pace
		for range 3 {
			for _, c := range []struct{ worked, rests time.Duration }{
				{0, 0}, {pace.Work / 2, 0}, {pace.Work / 2, pace.Rest}, {0, 0},
			} {
				time.Sleep(c.worked)
				began := time.Now()
				p.Keep(t.Context())
				if rested := time.Since(began); rested != c.rests {
					t.Errorf("after %v: a rest of %v, want %v", c.worked, rested, c.rests)
				}
			}
		}
	})
}

// Who has to end does not rest.
func TestKeepEnds(t *testing.T) {
	on(t, 1)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var p pace.Pace
		p.Keep(ctx)
		time.Sleep(pace.Work)
		began := time.Now()
		if p.Keep(ctx); time.Since(began) != 0 {
			t.Errorf("rested for %v", time.Since(began))
		}
	})
}

// Where there are others, nobody waits for this one.
func TestKeepOnTwo(t *testing.T) {
	on(t, 2)
	synctest.Test(t, func(t *testing.T) {
		var p pace.Pace
		for range 3 {
			began := time.Now()
			if p.Keep(t.Context()); time.Since(began) != 0 {
				t.Errorf("rested for %v", time.Since(began))
			}
			time.Sleep(pace.Work)
		}
	})
}
