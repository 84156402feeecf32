// Package proxy is the data plane: it takes every HTTP call an app makes,
// passes it to the one upstream and the answer back, unchanged but for what
// the walk inserts into a chat request. It decides how bytes travel (routes,
// connections, limits, time-outs, what happens when either side leaves) and in
// which order a chat request meets the parts that choose its context; it must
// not know how they choose, store or word it.
package proxy

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"strata/policy"
)

// Config holds everything the data plane needs. All fields but those marked
// optional must be set.
type Config struct {
	Upstream       *url.URL    // base URL, http or https
	UpstreamAPIKey string      // optional; replaces the client's Authorization
	UpstreamTLS    *tls.Config // optional; roots and minimum version for https

	MaxConnections   int           // upstream connections, also requests in flight
	QueueWait        time.Duration // how long a request waits for one of them
	ConnectTimeout   time.Duration // connecting and TLS handshake
	FirstByteTimeout time.Duration // silence before the answer's head
	IdleTimeout      time.Duration // silence within an answer, or a client not reading

	MaxHeaderBytes     int           // of a request's and an answer's head
	MaxBodyBytes       int           // of a request's body
	EnrichMaxBodyBytes int           // chat bodies above it stream through unread
	EnrichBufferBytes  int           // for all chat bodies held at one time
	ReadHeaderTimeout  time.Duration // for a request's head, and the slack of its body

	Mode         string   // default of X-Strata-Mode
	Context      *Context // optional; without it no request gets context until SetContext
	NoContext    string   // optional; the reason then
	SuppliesUser bool     // callers that name no user get one
	AdminToken   string   // optional; lets X-Strata-Explain in on other listeners
	AllowOrigins []string // optional; browser origins that may call
	AllowHosts   []string // optional; further Host names on a loopback listener
	Loopback     bool     // the listener is a loopback address

	Logger  *slog.Logger
	Metrics prometheus.Registerer
}

// ownNames are read before anything is known of the caller.
var ownNames = []string{"x-strata-mode", "x-strata-task", "x-strata-explain"}

// clientIdle is how long a client's connection may rest between requests:
// longer than what the usual HTTP clients keep theirs (Go 90 s).
const clientIdle = 2 * time.Minute

// Server passes requests on. Make it with New.
type Server struct {
	cfg      Config
	http     *fasthttp.Server
	upstream *upstream
	gone     *goneWatcher
	metrics  *metrics
	log      *slog.Logger

	context   atomic.Pointer[Context]
	exchanges sync.Pool
	frames    sync.Pool
	refusing  refusing
	zones     policy.Zones
	late      lateRecords

	buffered atomic.Int64   // bytes of chat bodies held
	tunnels  sync.WaitGroup // upgraded connections, which fasthttp no longer counts
	draining atomic.Bool
}

// New makes a server; it opens no connection. The error names a setting that
// cannot work.
func New(cfg Config) (*Server, error) {
	up, err := newUpstream(cfg)
	if err != nil {
		return nil, err
	}
	gone, err := newGoneWatcher()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, upstream: up, gone: gone, metrics: newMetrics(cfg.Metrics), log: cfg.Logger}
	if cfg.Context != nil {
		s.SetContext(cfg.Context)
	}
	s.exchanges.New = func() any { return newExchange(s) }
	s.frames.New = func() any { return new(frame) }
	s.http = &fasthttp.Server{
		Handler:      s.handle,
		ErrorHandler: s.refuseUnparsed,
		Logger:       slogPrinter{cfg.Logger},

		ReadBufferSize:     cfg.MaxHeaderBytes,
		ReadTimeout:        cfg.ReadHeaderTimeout,
		IdleTimeout:        clientIdle,
		MaxRequestBodySize: cfg.MaxBodyBytes,
		StreamRequestBody:  true,
		CloseOnShutdown:    true,
		LazyRequestTime:    true,

		DisablePreParseMultipartForm:  true,
		DisableHeaderNamesNormalizing: true,
		NoDefaultServerHeader:         true,
		NoDefaultDate:                 true,
		NoDefaultContentType:          true,
		SecureErrorLogMessage:         true, // heads hold keys
	}
	return s, nil
}

// SetContext gives requests context from now on. Those under way go on with
// what they began with.
func (s *Server) SetContext(c *Context) {
	parts := *c
	parts.headers = slices.Concat(ownNames, c.Identity.HeaderNames())
	parts.known = newExampleCache(c.Examples, c.Classifier, s.log)
	s.context.Store(&parts)
}

// Serve answers on ln until Shutdown, then returns nil.
func (s *Server) Serve(ln net.Listener) error {
	return s.http.Serve(&listener{Listener: ln, gone: s.gone})
}

// Shutdown closes the listener and lets what is in flight end by itself. When
// ctx ends first, the rest is cut, as a broken connection on both sides, and
// ctx's error is returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	err := s.http.ShutdownWithContext(ctx)
	tunnels := make(chan struct{})
	go func() { s.tunnels.Wait(); close(tunnels) }()
	if err == nil {
		select {
		case <-tunnels:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		s.gone.each(func(c *clientConn) {
			c.left()
			_ = c.Conn.Close()
		})
		last, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = s.http.ShutdownWithContext(last)
		<-tunnels
	}
	s.upstream.close()
	s.gone.close()
	return err
}

// slogPrinter carries fasthttp's own log lines, which concern connections
// that broke, at debug level.
type slogPrinter struct{ log *slog.Logger }

func (p slogPrinter) Printf(format string, args ...any) {
	if p.log.Enabled(context.Background(), slog.LevelDebug) {
		p.log.Debug("http: "+format, "args", args)
	}
}
