package admin

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"strata/ingest"
	"strata/internal/ids"
)

// The states of a job.
const (
	jobPending = "pending"
	jobDone    = "done"
	jobFailed  = "failed"
)

const (
	maxWaiting  = 4   // large uploads held at one time
	maxFinished = 100 // jobs whose outcome is still told
)

var (
	errDeleted = &problem{http.StatusConflict, "deleted", "The document was deleted while it was ingested."}
	errStopped = &problem{http.StatusServiceUnavailable, "stopping", "Strata is stopping; send the document again."}
)

// Jobs runs ingests: those of one document one after the other, in the order
// they came, and large ones one at a time behind their callers' backs. Make it
// with NewJobs.
type Jobs struct {
	ctx  context.Context
	stop context.CancelCauseFunc
	heap chan struct{} // held by the large one that runs

	mu      sync.Mutex
	wg      sync.WaitGroup
	closed  bool
	queues  map[documentKey][]*job // unfinished ones, oldest first
	known   map[string]*job        // large ones, by id
	ended   []string               // ids of large ones that finished, oldest first
	waiting int                    // large ones that have not
}

type documentKey struct{ tenant, id string }

// job is one ingest. result and err may be read once done is closed.
type job struct {
	id     string // "" for one whose caller waits
	key    documentKey
	cancel context.CancelCauseFunc
	done   chan struct{}
	result ingest.Result
	err    error
}

// jobAnswer is a job as GET /v1/jobs/{id} shows it.
type jobAnswer struct {
	Job    string         `json:"job"`
	ID     string         `json:"id"`     // the document's
	Status string         `json:"status"` // pending, done, failed
	Result *ingest.Result `json:"result,omitempty"`
	Error  *errorBody     `json:"error,omitempty"`
}

// NewJobs returns a runner without jobs.
func NewJobs() *Jobs {
	ctx, stop := context.WithCancelCause(context.Background())
	return &Jobs{ctx: ctx, stop: stop, heap: make(chan struct{}, 1), queues: map[documentKey][]*job{}, known: map[string]*job{}}
}

// Close cancels what runs, waits for it until ctx ends, and takes nothing more.
func (js *Jobs) Close(ctx context.Context) error {
	js.mu.Lock()
	js.closed = true
	js.mu.Unlock()
	js.stop(errStopped)
	ended := make(chan struct{})
	go func() { js.wg.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start runs work once the document's earlier jobs have ended. A large one
// gets an id under which its outcome is told.
func (js *Jobs) start(parent context.Context, tenant, id string, large bool, work func(context.Context) (ingest.Result, error)) (*job, error) {
	ctx, cancel := context.WithCancelCause(parent)
	j := &job{key: documentKey{tenant, id}, cancel: cancel, done: make(chan struct{})}
	before, err := js.enter(j, large)
	if err != nil {
		cancel(err)
		return nil, err
	}
	go func() {
		defer js.leave(j)
		detach := context.AfterFunc(js.ctx, func() { cancel(errStopped) })
		defer detach()
		if before != nil {
			<-before.done
		}
		j.result, j.err = js.run(ctx, large, work)
		if p, ok := context.Cause(ctx).(*problem); ok && j.err != nil {
			j.err = p
		}
		cancel(nil)
	}()
	return j, nil
}

func (js *Jobs) run(ctx context.Context, large bool, work func(context.Context) (ingest.Result, error)) (ingest.Result, error) {
	if large {
		select {
		case js.heap <- struct{}{}:
			defer func() { <-js.heap }()
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return ingest.Result{}, ctx.Err()
	}
	return work(ctx)
}

// enter queues j and returns the job before it.
func (js *Jobs) enter(j *job, large bool) (before *job, err error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	switch {
	case js.closed:
		return nil, errStopped
	case large && js.waiting >= maxWaiting:
		return nil, &problem{http.StatusServiceUnavailable, "busy", "Too many large documents are being ingested; send this one again later."}
	}
	if large {
		j.id = ids.New("job")
		js.known[j.id] = j
		js.waiting++
	}
	queue := js.queues[j.key]
	if len(queue) > 0 {
		before = queue[len(queue)-1]
	}
	js.queues[j.key] = append(queue, j)
	js.wg.Add(1)
	return before, nil
}

func (js *Jobs) leave(j *job) {
	js.mu.Lock()
	defer js.mu.Unlock()
	queue := slices.DeleteFunc(js.queues[j.key], func(other *job) bool { return other == j })
	if js.queues[j.key] = queue; len(queue) == 0 {
		delete(js.queues, j.key)
	}
	if j.id != "" {
		js.waiting--
		if js.ended = append(js.ended, j.id); len(js.ended) > maxFinished {
			delete(js.known, js.ended[0])
			js.ended = js.ended[1:]
		}
	}
	close(j.done)
	js.wg.Done()
}

// cancel ends the document's unfinished jobs, waits for their end and tells
// whether there was one.
func (js *Jobs) cancel(ctx context.Context, tenant, id string) bool {
	js.mu.Lock()
	queue := slices.Clone(js.queues[documentKey{tenant, id}])
	js.mu.Unlock()
	for _, j := range queue {
		j.cancel(errDeleted)
	}
	for _, j := range queue {
		select {
		case <-j.done:
		case <-ctx.Done():
		}
	}
	return len(queue) > 0
}

// find returns the state of a large job of the tenant's.
func (js *Jobs) find(tenant, id string) (jobAnswer, bool) {
	js.mu.Lock()
	j := js.known[id]
	js.mu.Unlock()
	if j == nil || j.key.tenant != tenant {
		return jobAnswer{}, false
	}
	a := jobAnswer{Job: j.id, ID: j.key.id, Status: jobPending}
	select {
	case <-j.done:
	default:
		return a, true
	}
	if j.err == nil {
		a.Status, a.Result = jobDone, &j.result
		return a, true
	}
	p, _ := asProblem(j.err)
	if errors.Is(j.err, context.Canceled) {
		p = errStopped
	}
	body := p.body()
	a.Status, a.Error = jobFailed, &body
	return a, true
}
