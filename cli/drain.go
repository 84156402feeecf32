package cli

import (
	"context"
	"errors"
	"os"
	"time"
)

// leastToClose is what the stores get to write out what waits, however long
// the answers in flight took.
const leastToClose = 2 * time.Second

// drain lets answers in flight end and closes the stores, within drain.max or
// soon after. Another signal ends the process.
func (s *server) drain(signals <-chan os.Signal) error {
	s.setNotReady("draining")
	s.log.Info("draining", "max", s.cfg.Drain.Max.String())
	ended := make(chan struct{})
	go func() { s.windUp(time.Now().Add(s.cfg.Drain.Max)); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-signals:
		return errors.New("ended by a second signal; answers in flight were cut, and what was not written yet is lost")
	}
}

// windUp ends what serve runs, from the outside in.
func (s *server) windUp(end time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	cut := s.proxy.Shutdown(ctx)
	if cut != nil {
		s.log.Warn("answers still in flight after drain.max were cut", "max", s.cfg.Drain.Max.String())
	}
	s.feed.Close()
	s.closeControl()
	if s.closeStores(end) && cut == nil {
		s.log.Info("stopped")
	}
}

// closeStores ends the opening of the stores, or closes them, and tells
// whether they took all that was to be written before end.
func (s *server) closeStores(end time.Time) bool {
	if least := time.Now().Add(leastToClose); end.Before(least) {
		end = least
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	if s.reopening.end(ctx) != nil {
		return true // they were never open
	}
	b := s.backends.Load()
	if b == nil {
		return true
	}
	err := b.close(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		s.log.Error("the stores did not close in time; what they have not written is lost", "exchanges", b.recorder.late.Load(), "error", err)
	case err != nil:
		s.log.Error("the stores did not close well", "error", err)
	}
	return err == nil
}
