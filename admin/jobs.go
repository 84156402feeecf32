package admin

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

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
	errStopped = &problem{http.StatusServiceUnavailable, "stopping", "Strata is stopping; send the document again, unless a job of it was accepted: that goes on at the next start."}
	errCrashed = &problem{http.StatusInternalServerError, "gave_up", "Strata ended three times while it took this document in, and does not try again; send it in parts."}
)

// Jobs runs ingests: those of one document one after the other, in the order
// they came, and large ones one at a time behind their callers' backs. Make it
// with NewJobs.
type Jobs struct {
	ctx  context.Context
	stop context.CancelCauseFunc
	heap chan struct{} // held by the large one that runs

	spool  *spool    // nil = jobs end with the process
	resume sync.Once // what the process before left

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

	progress atomic.Pointer[ingest.Progress] // nil while it waits for its turn
}

// work is what a job does with its document.
type work func(ctx context.Context, source ingest.Source) (ingest.Result, error)

// jobAnswer is a job as GET /v1/jobs/{id} shows it.
type jobAnswer struct {
	Job    string         `json:"job"`
	ID     string         `json:"id"`              // the document's
	Status string         `json:"status"`          // pending, done, failed
	Stage  string         `json:"stage,omitempty"` // of a pending one: waiting, reading, indexing
	Done   int            `json:"passages_done"`   // that can be searched already
	Total  int            `json:"passages_total"`  // 0 until the document is read
	Result *ingest.Result `json:"result,omitempty"`
	Error  *errorBody     `json:"error,omitempty"`
}

// NewJobs returns a runner without jobs. Large documents are kept in the folder
// dir until their jobs have ended, also across the end of the process; with ""
// they are not.
func NewJobs(dir string) *Jobs {
	js := newJobs()
	if dir != "" {
		js.spool = &spool{dir}
	}
	return js
}

func newJobs() *Jobs {
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

// start does work once the document's earlier jobs have ended. A large one
// gets an id under which its outcome is told: keep's, if it is one that was
// kept, else a new one under which it is kept with its file. The file is the
// job's from here on, also after an error.
func (js *Jobs) start(parent context.Context, keep spooled, source ingest.Source, do work) (*job, error) {
	ctx, cancel := context.WithCancelCause(parent)
	large := source.File != ""
	j := &job{id: keep.Job, key: documentKey{keep.Tenant, keep.ID}, cancel: cancel, done: make(chan struct{})}
	before, err := js.accept(j, &keep, &source)
	if err != nil {
		cancel(err)
		return nil, err
	}
	source.Progress = func(p ingest.Progress) { j.progress.Store(&p) }
	go func() {
		defer js.leave(j)
		detach := context.AfterFunc(js.ctx, func() { cancel(errStopped) })
		defer detach()
		if before != nil {
			<-before.done
		}
		j.result, j.err = js.run(ctx, large, func(ctx context.Context) (ingest.Result, error) {
			js.tried(&keep, 1)
			return do(ctx, source)
		})
		if j.err != nil && js.ctx.Err() != nil && context.Cause(ctx) != errDeleted && js.spool != nil {
			js.tried(&keep, -1) // it goes on at the next start, as if it had not begun
		} else {
			js.drop(j.id, source)
		}
		if p, ok := context.Cause(ctx).(*problem); ok && j.err != nil {
			j.err = p
		}
		cancel(nil)
	}()
	return j, nil
}

// tried writes down how often a kept job was begun, before what may be the end
// of the process. Where it cannot be written, the job goes on uncounted.
func (js *Jobs) tried(keep *spooled, more int) {
	if js.spool != nil && keep.Job != "" && keep.Tries+more >= 0 {
		keep.Tries += more
		_ = js.spool.note(*keep)
	}
}

// accept gives a large document's job its id, keeps it and queues it. It
// returns the job before it.
func (js *Jobs) accept(j *job, keep *spooled, source *ingest.Source) (before *job, err error) {
	large := source.File != ""
	fresh := j.id == ""
	if large && fresh {
		j.id = ids.New("job")
		if keep.Job = j.id; js.spool != nil {
			if err := js.spool.keep(*keep, source.File); err != nil {
				return nil, err
			}
			source.File = js.spool.body(j.id)
		}
	}
	if before, err = js.enter(j, large && fresh); err != nil && fresh { // what was accepted before stays
		js.drop(j.id, *source)
	}
	return before, err
}

// drop removes what was kept of a large document.
func (js *Jobs) drop(id string, source ingest.Source) {
	switch {
	case source.File == "":
	case js.spool != nil:
		js.spool.drop(id)
	default:
		_ = os.Remove(source.File)
	}
}

// upload opens a file for a large document; without a spool in dir.
func (js *Jobs) upload(dir string) (*os.File, error) {
	if js.spool != nil {
		return js.spool.create()
	}
	return os.CreateTemp(dir, "upload-")
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

// enter queues j and returns the job before it. limited refuses a large one
// where too many wait.
func (js *Jobs) enter(j *job, limited bool) (before *job, err error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	switch {
	case js.closed:
		return nil, errStopped
	case limited && js.waiting >= maxWaiting:
		return nil, &problem{http.StatusServiceUnavailable, "busy", "Too many large documents are being ingested; send this one again later."}
	}
	if j.id != "" {
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
	if js.spool != nil && js.ctx.Err() != nil { // jobs that were stopped for the next process
		js.spool.forget(tenant, id)
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
	return j.answer(), true
}

// list returns the large jobs of a tenant that are known, by their ids.
func (js *Jobs) list(tenant string) []jobAnswer {
	js.mu.Lock()
	var of []*job
	for _, j := range js.known {
		if j.key.tenant == tenant {
			of = append(of, j)
		}
	}
	js.mu.Unlock()
	slices.SortFunc(of, func(a, b *job) int { return strings.Compare(a.id, b.id) })
	out := make([]jobAnswer, len(of))
	for i, j := range of {
		out[i] = j.answer()
	}
	return out
}

// answer is the state of a job.
func (j *job) answer() jobAnswer {
	a := jobAnswer{Job: j.id, ID: j.key.id, Status: jobPending, Stage: "waiting"}
	if p := j.progress.Load(); p != nil {
		a.Stage, a.Done, a.Total = p.Stage, p.Done, p.Total
	}
	select {
	case <-j.done:
		a.Stage = ""
	default:
		return a
	}
	if j.err == nil {
		a.Status, a.Result = jobDone, &j.result
		a.Done, a.Total = j.result.Passages, j.result.Passages
		return a
	}
	p, _ := asProblem(j.err)
	if errors.Is(j.err, context.Canceled) {
		p = errStopped
	}
	body := p.body()
	a.Status, a.Error = jobFailed, &body
	return a
}
