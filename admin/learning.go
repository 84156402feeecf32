package admin

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Learner learns from what is recorded.
type Learner interface {
	Notify()                                // something is due
	Flush(ctx context.Context) (int, error) // works off what is due, returns what is still pending
}

// maxFlush is how long a flush is waited for.
const maxFlush = 30 * time.Second

func (c *calls) learnRoutes() []route {
	return []route{
		{"POST /v1/learn/flush", nil, c.cfg.Learner == nil, c.flush},
		{"GET /v1/events", nil, c.cfg.Events == nil, c.streamEvents},
	}
}

func (c *calls) flush(w http.ResponseWriter, r *request) error {
	ctx, cancel := context.WithTimeout(r.Context(), maxFlush)
	defer cancel()
	pending, err := c.cfg.Learner.Flush(ctx)
	// What is left when the time is up is an answer, not an error.
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	answer(w, http.StatusOK, map[string]int{"pending": pending})
	return nil
}
