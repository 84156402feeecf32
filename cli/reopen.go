package cli

import (
	"context"
	"errors"
	"time"

	"strata/stores"
)

// Pauses between two tries to open the stores.
const (
	firstReopen = time.Second
	lastReopen  = time.Minute
)

// reopening is the work of opening the stores while the process serves without
// them.
type reopening struct {
	stop  context.CancelFunc
	ended chan struct{}
}

// mayHeal tells whether the stores may be opened later although that failed:
// another process lets go of them, the disk has room again. A store that a
// newer program wrote, or that is damaged, stays as it is until somebody acts.
func mayHeal(err error) bool {
	return err != nil && !errors.Is(err, stores.ErrNewer) && !errors.Is(err, stores.ErrUnreadable)
}

// reopen begins to open the stores again and again, until they are open.
func (s *server) reopen() *reopening {
	ctx, stop := context.WithCancel(context.Background())
	r := &reopening{stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		for pause := firstReopen; s.stillClosed(ctx, pause); {
			pause = min(2*pause, lastReopen)
		}
	}()
	return r
}

// end stops it and waits for that until ctx ends.
func (r *reopening) end(ctx context.Context) error {
	if r == nil {
		return nil
	}
	r.stop()
	select {
	case <-r.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stillClosed tries once, after a pause, and tells whether to try again.
func (s *server) stillClosed(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	}
	b, err := s.openBackends(ctx)
	switch {
	case ctx.Err() != nil:
		if b != nil {
			_ = b.closeAll(ctx)
		}
		return false
	case err == nil:
		s.begin(b)
		return false
	case mayHeal(err):
		s.log.Warn("the stores still cannot be opened", "error", err, "again_in", min(2*pause, lastReopen).String())
		return true
	}
	s.log.Error("the stores cannot be opened, and are not tried again before the next start", "error", err)
	return false
}

// begin gives requests context, and the control plane its calls.
func (s *server) begin(b *backends) {
	c, err := s.takeUp(b)
	if err != nil {
		s.log.Error("requests get no context", "error", err)
		return
	}
	s.serveAdmin()
	s.proxy.SetContext(c)
	s.log.Info("the stores are open: requests get context from now on")
}
