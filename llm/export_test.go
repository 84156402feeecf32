package llm

import (
	"context"
	"time"
)

// Impatient has EmbedAll give a call limit, and pause by the given function.
func (e *Embedder) Impatient(limit time.Duration, pause func(context.Context, time.Duration) error) {
	e.limit, e.pause = limit, pause
}
