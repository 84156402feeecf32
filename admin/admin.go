// Package admin is the control plane's HTTP side: health, metrics, the door in
// front of everything else (token, Host, Origin, content type) and the calls
// behind it: documents, memories, sessions, receipts, users, intents, learning,
// events.
// It decides who may ask and whose rows are meant; it must not know how answers
// are made nor how anything is kept.
package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"strata/internal/hostcheck"
)

// Config is what the control plane needs. A part that is nil answers its calls
// with 503.
type Config struct {
	Token        string        // bearer token; must not be empty for New
	NotReady     func() string // why the data plane takes no requests ("draining"), "" while it does
	Metrics      http.Handler  // /metrics
	Loopback     bool          // the listener is a loopback address: Host is checked
	AllowHosts   []string      // optional; further Host names
	AllowOrigins []string      // optional; browser origins that may call

	Tenant  string           // of calls without X-Strata-Tenant
	Zone    *time.Location   // of dates without a time; nil = UTC
	Version string           // of the program, told by GET /v1/stats
	Logger  *slog.Logger     // nil = slog.Default()
	Clock   func() time.Time // nil = time.Now

	Documents Documents
	Ingester  Ingester
	Jobs      *Jobs // runs the ingests; nil = one that ends with the process
	Memories  Memories
	Sessions  Sessions
	Receipts  Receipts
	Users     Users
	Intents   Intents
	Learner   Learner
	Events    Events

	// TmpDir is where large uploads are kept while they are read; "" = the
	// system's.
	TmpDir string
	// MaxDocument is the largest upload in bytes, 0 = ingest.MaxSize.
	MaxDocument int64
}

// New returns the control plane. /livez, /readyz and /metrics need no token,
// everything else does.
func New(cfg Config) http.Handler {
	if cfg.Token == "" {
		panic("BUG: admin without a token")
	}
	mux := http.NewServeMux()
	health(mux, cfg)
	mux.Handle("/", authorised(cfg.Token, newCalls(cfg)))
	return guarded(cfg, mux)
}

// Health returns /livez, /readyz and /metrics alone, for an address that
// probes can reach.
func Health(cfg Config) http.Handler {
	mux := http.NewServeMux()
	health(mux, cfg)
	mux.HandleFunc("/", notFound)
	return guarded(cfg, mux)
}

func health(mux *http.ServeMux, cfg Config) {
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := cfg.NotReady(); why != "" {
			fail(w, http.StatusServiceUnavailable, "server_error", "not_ready", "Strata takes no requests: "+why+".")
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.Handle("GET /metrics", cfg.Metrics)
}

func notFound(w http.ResponseWriter, r *http.Request) {
	fail(w, http.StatusNotFound, "invalid_request_error", "not_found", "There is no "+r.Method+" "+r.URL.Path+" here.")
}

// authorised asks for the token. Digests are compared, so that neither
// content nor length shows in the time it takes.
func authorised(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		have := sha256.Sum256([]byte(given))
		if !ok || subtle.ConstantTimeCompare(want[:], have[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, http.StatusUnauthorized, "invalid_request_error", "invalid_token",
				"The admin token is missing or wrong; send it as a Bearer token (admin.token, or data_dir/admin.token).")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// guarded keeps web pages out: by name (DNS rebinding), by origin, and by
// refusing writes that a form could send.
func guarded(cfg Config, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case cfg.Loopback && !hostcheck.Allowed(r.Host, cfg.AllowHosts):
			fail(w, http.StatusForbidden, "invalid_request_error", "host_not_allowed", "This Host name is not allowed; add it to allow_hosts.")
		case !originAllowed(cfg, r):
			fail(w, http.StatusForbidden, "invalid_request_error", "origin_not_allowed", "Pages of this origin may not call; add it to allow_origins.")
		case !writeAllowed(r):
			fail(w, http.StatusUnsupportedMediaType, "invalid_request_error", "unsupported_media_type", "Send application/json, or use PUT.")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func originAllowed(cfg Config, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		site := r.Header.Get("Sec-Fetch-Site")
		return site != "cross-site" && site != "same-site"
	}
	return origin == "http://"+r.Host || origin == "https://"+r.Host || hostcheck.OriginAllowed(origin, cfg.AllowOrigins)
}

func writeAllowed(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPatch:
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		return err == nil && kind == "application/json"
	}
	return true
}
