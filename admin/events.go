package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What an event tells of.
const (
	EventRequest = "request" // a request has ended: its Figures
	EventLearned = "learned" // memories changed by a request that had ended: its Change
)

// Event tells of one request. It holds no texts.
type Event struct {
	Kind    string    `json:"event"`
	At      time.Time `json:"at"` // a request's begin, or when its Change was written
	ID      string    `json:"request_id"`
	Tenant  string    `json:"tenant"`
	User    string    `json:"user,omitempty"`
	Session string    `json:"session,omitempty"`

	// Of these there is the one that Kind tells. Readers share it.
	*Figures
	*Change
}

// Figures are what a request got.
type Figures struct {
	Intent     string   `json:"intent,omitempty"`
	Stage      string   `json:"stage,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	Context    string   `json:"context"`          // full, partial, none, bypassed
	Reason     string   `json:"reason,omitempty"` // of what is missing
	Tokens     int      `json:"tokens"`           // of the block
	Layers     []string `json:"layers"`           // that gave something
	Millis     float64  `json:"ms"`               // that Strata added before upstream was called
}

// Change is how many memories are new, took the place of others, and are gone.
type Change struct {
	New      int `json:"new"`
	Replaced int `json:"replaced"`
	Erased   int `json:"erased"`
}

// Events gives the events from now on, until ctx ends; the channel is closed
// then, or when there will be no more.
type Events interface {
	Subscribe(ctx context.Context) <-chan Event
}

// backlog is how many events a reader may be behind.
const backlog = 256

// Feed fans events out to everybody who listens. Make it with NewFeed.
type Feed struct {
	mu      sync.Mutex
	readers map[chan Event]struct{}
	closed  bool
	count   atomic.Int32 // of readers, so that nobody listening costs no lock
	dropped atomic.Uint64
}

// NewFeed returns a feed without readers.
func NewFeed() *Feed { return &Feed{readers: map[chan Event]struct{}{}} }

// Publish gives e to each reader and never waits: a reader that is too far
// behind misses it.
func (f *Feed) Publish(e Event) {
	if f.count.Load() == 0 {
		return
	}
	if e.Figures != nil && e.Layers == nil {
		figures := *e.Figures
		figures.Layers = list(figures.Layers)
		e.Figures = &figures
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for reader := range f.readers {
		select {
		case reader <- e:
		default:
			f.dropped.Add(1)
		}
	}
}

// Dropped is how many events readers missed.
func (f *Feed) Dropped() uint64 { return f.dropped.Load() }

// Subscribe implements Events.
func (f *Feed) Subscribe(ctx context.Context) <-chan Event {
	reader := make(chan Event, backlog)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		close(reader)
		return reader
	}
	f.readers[reader] = struct{}{}
	f.count.Add(1)
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.remove(reader)
	})
	return reader
}

func (f *Feed) remove(reader chan Event) {
	if _, there := f.readers[reader]; there {
		delete(f.readers, reader)
		f.count.Add(-1)
		close(reader)
	}
}

// Close ends all subscriptions, so that calls that read them end.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for reader := range f.readers {
		f.remove(reader)
	}
}

const (
	heartbeat  = 15 * time.Second // of silence, then a sign of life
	writeLimit = 30 * time.Second // for one event, or one page of a document, to be taken
)

// streamEvents answers GET /v1/events: one JSON object a line, or server-sent
// events to who asks for them. The listener's own deadlines end no stream.
func (c *calls) streamEvents(w http.ResponseWriter, r *request) error {
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Time{})
	events := c.cfg.Events.Subscribe(r.Context())
	before, after, silence, kind := "", "\n", "\n", "application/x-ndjson"
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		before, after, silence, kind = "data: ", "\n\n", ":\n\n", "text/event-stream"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	send := func(text string) bool {
		_ = conn.SetWriteDeadline(time.Now().Add(writeLimit))
		_, err := w.Write([]byte(text))
		return err == nil && conn.Flush() == nil
	}
	quiet := time.NewTicker(heartbeat)
	defer quiet.Stop()
	for alive := send(silence); alive; {
		select {
		case e, more := <-events:
			if !more {
				return nil
			}
			if e.Tenant != r.tenant || r.user != "" && e.User != r.user {
				continue
			}
			line, err := json.Marshal(e)
			if err != nil {
				continue // a number that JSON has no word for
			}
			alive = send(before + string(line) + after)
		case <-quiet.C:
			alive = send(silence)
		}
	}
	return nil
}
