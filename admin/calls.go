package admin

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"strata/ingest"
)

// calls are the calls behind the door.
type calls struct {
	cfg  Config
	jobs *Jobs
}

// route is one call.
type route struct {
	pattern string   // method and path
	params  []string // query parameters besides user
	off     bool     // the part behind it is not there
	serve   func(http.ResponseWriter, *request) error
}

// paged are the parameters of every list.
var paged = []string{"limit", "cursor"}

func newCalls(cfg Config) http.Handler {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	if cfg.MaxDocument == 0 {
		cfg.MaxDocument = ingest.MaxSize
	}
	c := &calls{cfg: cfg, jobs: cfg.Jobs}
	if c.jobs == nil {
		c.jobs = NewJobs("")
	}
	if c.jobs.spool != nil && cfg.Ingester != nil {
		c.jobs.resume.Do(c.resume)
	}
	mux := http.NewServeMux()
	methods := map[string][]string{} // by path
	for _, r := range slices.Concat(c.documentRoutes(), c.memoryRoutes(), c.sessionRoutes(), c.userRoutes(), c.intentRoutes(), c.learnRoutes()) {
		mux.Handle(r.pattern, c.handler(r))
		method, path, _ := strings.Cut(r.pattern, " ")
		methods[path] = append(methods[path], method)
	}
	for path, allowed := range methods {
		for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			if !slices.Contains(allowed, m) {
				mux.HandleFunc(m+" "+path, wrongMethod(strings.Join(allowed, ", ")))
			}
		}
	}
	mux.HandleFunc("/", notFound)
	return mux
}

func wrongMethod(allowed string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", allowed)
		fail(w, http.StatusMethodNotAllowed, "invalid_request_error", "method_not_allowed", "This path takes "+allowed+".")
	}
}

// handler reads the identity, serves and turns the error into an answer. What
// was asked and answered never shows in the log.
func (c *calls) handler(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		req, err := c.read(hr, r.params)
		if err == nil && r.off {
			err = &problem{http.StatusServiceUnavailable, "store_unavailable", "The part behind this call is not running; the log says why."}
		}
		if err == nil {
			err = r.serve(w, req)
		}
		if err == nil {
			return
		}
		p, ours := asProblem(err)
		if ours {
			c.cfg.Logger.Error("a call of the control plane failed", "call", r.pattern, "error", err)
		}
		if errors.Is(err, errBrokenOff) {
			// The connection is closed in the middle of the body, which no client
			// takes for a whole one.
			panic(http.ErrAbortHandler)
		}
		if p.status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		answer(w, p.status, map[string]errorBody{"error": p.body()})
	})
}

func parseQuery(raw string) (url.Values, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, &problem{http.StatusBadRequest, "invalid_query", "The query is wrongly escaped."}
	}
	return query, nil
}
