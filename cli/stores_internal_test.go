package cli

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The figures come in time although the store hangs and does not hear of the
// context's end.
func TestGaugeOfAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var reads atomic.Int32
		answer := func() (int, error) { return 7, nil }
		gauge := bounded(time.Second, func(context.Context) (int, error) {
			reads.Add(1)
			<-hang
			return answer()
		})
		for i := range 3 {
			begun := time.Now()
			if v := gauge(); v != -1 {
				t.Errorf("%d: %v, want -1", i, v)
			}
			if took := time.Since(begun); took > time.Second {
				t.Errorf("%d took %v", i, took)
			}
		}
		if n := reads.Load(); n != 1 {
			t.Errorf("%d reads under way, want 1", n)
		}
		close(hang)
		synctest.Wait()
		if v := gauge(); v != 7 {
			t.Errorf("%v, want 7", v)
		}
		answer = func() (int, error) { return 7, errors.New("broken") }
		if v := gauge(); v != -1 {
			t.Errorf("%v for a failed read, want -1", v)
		}
	})
}
