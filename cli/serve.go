package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"os/user"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"strata/admin"
	"strata/proxy"
)

func (p *program) serveCommand() *cobra.Command {
	var listen, upstream string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the proxy",
		Long: `Run the proxy until SIGTERM or Ctrl-C. Answers in flight may then end, for
drain.max at most; a second signal ends everything at once.`,
		Example: `  strata serve
  strata serve --upstream http://127.0.0.1:11434/v1
  STRATA_UPSTREAM_BASE_URL=https://api.deepseek.com strata serve`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var given []flagValue
			for _, f := range []flagValue{{"listen", "listen", listen}, {"upstream", "upstream.base_url", upstream}} {
				if cmd.Flags().Changed(f.name) {
					given = append(given, f)
				}
			}
			l, err := p.load(given...)
			if err != nil {
				return err
			}
			signals := make(chan os.Signal, 2)
			signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
			defer signal.Stop(signals)
			return p.serve(signals, l)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address for apps (key listen)")
	cmd.Flags().StringVar(&upstream, "upstream", "", "base URL of the API behind Strata (key upstream.base_url)")
	return cmd
}

// server is everything that serve runs.
type server struct {
	cfg   *Config
	log   *slog.Logger
	proxy *proxy.Server
	// temporary is true where nothing is to stay on an index's server.
	temporary bool
	// notReady is why no requests are taken, "" while they are.
	notReady atomic.Pointer[string]

	data, adminLn, healthLn net.Listener // the last two may be nil
	control                 []*http.Server
	controlPlane            atomic.Pointer[http.Handler] // of the admin listener
	registry                *prometheus.Registry

	backends   atomic.Pointer[backends] // nil while the stores are not open
	ready      prometheus.Gauge         // 1 while they are
	reopening  *reopening               // nil when there is nothing to wait for
	adminToken string
	feed       *admin.Feed
}

// serve runs until a signal comes, then drains.
func (p *program) serve(signals <-chan os.Signal, l *loaded) error {
	s := newServer(&l.Config, p.logger(&l.Config))
	for _, warning := range l.warnings {
		s.log.Warn(warning)
	}
	terminal := isTerminal(p.stderr)
	s.assumePerson(terminal && l.file == "")
	if err := s.start(terminal); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- s.proxy.Serve(s.data) }()
	s.setNotReady("")
	if s.cfg.Auth.Mode == "trusted-network" {
		s.log.Warn("auth.mode is trusted-network: whoever reaches the listener is trusted", "listen", s.data.Addr().String())
	}
	s.log.Info("serving", "listen", s.data.Addr().String(), "upstream", s.cfg.Upstream.BaseURL, "mode", s.cfg.Mode)
	s.banner(p.stderr)
	select {
	case err := <-failed:
		s.closeControl()
		s.closeStores(time.Now().Add(leastToClose))
		return fmt.Errorf("the listener failed: %w", err)
	case <-signals:
	}
	return s.drain(signals)
}

func newServer(cfg *Config, log *slog.Logger) *server {
	s := &server{cfg: cfg, log: log, feed: admin.NewFeed(), registry: prometheus.NewRegistry()}
	s.ready = prometheus.NewGauge(prometheus.GaugeOpts{Name: "strata_stores_ready", Help: "1 while the stores are open, 0 when requests pass through without context."})
	s.registry.MustRegister(s.ready)
	s.setNotReady("starting")
	return s
}

// start opens the listeners and the stores and wires everything together.
// strict makes stores that cannot be opened an error where the configuration
// leaves it open.
func (s *server) start(strict bool) (err error) {
	if err := s.listen(); err != nil {
		return usageError{err}
	}
	defer func() {
		if err != nil {
			s.closeControl()
			s.closeListeners()
			s.closeStores(time.Now().Add(leastToClose))
		}
	}()
	s.log.Info("listening", "listen", address(s.data), "admin", address(s.adminLn), "health", address(s.healthLn))
	s.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	// Health answers before anything slow is built.
	s.serveControl()
	cfg := s.proxyConfig()
	failed, err := s.openStores(&cfg, strict)
	if err != nil {
		return usageError{err}
	}
	if s.proxy, err = proxy.New(cfg); err != nil {
		return usageError{err}
	}
	s.adminToken = cfg.AdminToken
	s.serveAdmin()
	if mayHeal(failed) {
		s.reopening = s.reopen()
	}
	return nil
}

// openStores opens what the walk needs. When that failed, requests pass
// through without context: a broken store is no reason to refuse them.
func (s *server) openStores(cfg *proxy.Config, strict bool) (failed, err error) {
	cfg.NoContext = "store_unavailable"
	b, failed := s.openBackends(context.Background())
	if failed == nil {
		cfg.Context, err = s.takeUp(b)
		return nil, err
	}
	if s.cfg.Store.OnError == "exit" || s.cfg.Store.OnError == "" && strict {
		return nil, failed
	}
	s.log.Error("the stores cannot be opened: every request passes through without context, and nothing is recorded", "error", failed, "tried_again", mayHeal(failed))
	return failed, nil
}

// takeUp makes opened stores those of the server, and of them what the walk
// works with.
func (s *server) takeUp(b *backends) (*proxy.Context, error) {
	s.backends.Store(b)
	c, err := s.walkContext(b)
	if err == nil {
		s.ready.Set(1)
		b.metrics(s.registry)
	}
	return c, err
}

// assumePerson makes the person at the keyboard the user of requests that name
// none, where nobody has configured anything.
func (s *server) assumePerson(alone bool) {
	if !alone || s.cfg.Identity.DefaultUser != "" || s.cfg.Identity.Preset != "" || !isLoopback(s.cfg.Listen) {
		return
	}
	if u, err := user.Current(); err == nil {
		s.cfg.Identity.DefaultUser = u.Username
	}
}

func (s *server) setNotReady(why string) { s.notReady.Store(&why) }

func (p *program) logger(c *Config) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Log.Level)) // validated
	options := &slog.HandlerOptions{Level: level}
	if c.Log.Format == "text" || c.Log.Format == "" && isTerminal(p.stderr) {
		return slog.New(slog.NewTextHandler(p.stderr, options))
	}
	return slog.New(slog.NewJSONHandler(p.stderr, options))
}

// isTerminal tells whether a person sits at w. Other devices, such as the null
// device behind a redirection, are none.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// listen opens all listeners or none.
func (s *server) listen() error {
	for _, l := range []struct {
		key, addr string
		ln        *net.Listener
	}{{"listen", s.cfg.Listen, &s.data}, {"admin.listen", s.cfg.Admin.Listen, &s.adminLn}, {"health.listen", s.cfg.Health.Listen, &s.healthLn}} {
		if l.addr == "off" {
			continue
		}
		ln, err := net.Listen("tcp", l.addr)
		if err != nil {
			s.closeListeners()
			if errors.Is(err, syscall.EADDRINUSE) {
				return fmt.Errorf("%s: %s is in use; stop what listens there, or set %s (%s) to another address", l.key, l.addr, l.key, variable(l.key))
			}
			return fmt.Errorf("%s: cannot listen on %s; set %s (%s) to an address of this machine and a free port", l.key, l.addr, l.key, variable(l.key))
		}
		*l.ln = ln
	}
	return nil
}

// address is where a listener that may be off listens.
func address(ln net.Listener) string {
	if ln == nil {
		return "off"
	}
	return ln.Addr().String()
}

func (s *server) closeListeners() {
	for _, ln := range []net.Listener{s.data, s.adminLn, s.healthLn} {
		if ln != nil {
			_ = ln.Close()
		}
	}
}

// serveControl answers on the control plane's listeners, on the admin's with
// health alone until serveAdmin.
func (s *server) serveControl() {
	start := func(ln net.Listener, handler http.Handler) {
		hs := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Minute,
			IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
		s.control = append(s.control, hs)
		go func() {
			if err := hs.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
				s.log.Error("the control plane's listener failed", "listen", ln.Addr().String(), "error", err)
			}
		}()
	}
	if s.healthLn != nil {
		start(s.healthLn, admin.Health(s.adminConfig(s.healthLn)))
	}
	if s.adminLn != nil {
		health := admin.Health(s.adminConfig(s.adminLn))
		s.controlPlane.Store(&health)
		start(s.adminLn, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*s.controlPlane.Load()).ServeHTTP(w, r) }))
	}
}

// serveAdmin puts all calls of the control plane behind its listener, those of
// the stores as far as they are open.
func (s *server) serveAdmin() {
	if s.adminLn == nil {
		return
	}
	cfg := s.adminConfig(s.adminLn)
	cfg.Token, cfg.Tenant, cfg.Version, cfg.Events = s.adminToken, s.cfg.Tenant, buildVersion().Version, s.feed
	cfg.Zone = s.zone()
	if b := s.backends.Load(); b != nil {
		cfg.Documents, cfg.Memories, cfg.Sessions, cfg.Receipts, cfg.Users = b.ledger, b.ledger, b.ledger, b.ledger, b.ledger
		cfg.Intents = b.ledger
		cfg.Ingester, cfg.Jobs, cfg.Learner = b.ingester, b.jobs, b.learner
		cfg.TmpDir = b.tmp
	}
	all := admin.New(cfg)
	s.controlPlane.Store(&all)
}

func (s *server) adminConfig(ln net.Listener) admin.Config {
	return admin.Config{
		Metrics:  promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}),
		NotReady: func() string { return *s.notReady.Load() }, AllowHosts: s.cfg.AllowHosts, AllowOrigins: s.cfg.AllowOrigins,
		Loopback: isLoopback(ln.Addr().String()), Logger: s.log,
	}
}

// closeControl lets calls of the control plane end, for a second.
func (s *server) closeControl() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, hs := range s.control {
		if hs.Shutdown(ctx) != nil {
			_ = hs.Close()
		}
	}
}

func (s *server) proxyConfig() proxy.Config {
	c := s.cfg
	u, err := url.Parse(c.Upstream.BaseURL)
	if err != nil {
		panic("BUG: upstream.base_url was not validated: " + err.Error())
	}
	token := ""
	if s.adminLn != nil {
		var warning string
		if token, warning = adminToken(c.Admin.Token, c.DataDir); warning != "" {
			s.log.Warn(warning)
		}
	}
	return proxy.Config{
		AdminToken: token, SuppliesUser: c.Identity.DefaultUser != "",
		Upstream: u, UpstreamAPIKey: c.Upstream.APIKey,
		MaxConnections: c.Upstream.MaxConnections, QueueWait: c.Upstream.QueueWait, ConnectTimeout: c.Upstream.ConnectTimeout,
		FirstByteTimeout: c.Upstream.FirstByteTimeout, IdleTimeout: c.Upstream.IdleTimeout,
		MaxHeaderBytes: int(c.Limits.Header), MaxBodyBytes: int(c.Limits.Body), ReadHeaderTimeout: c.Limits.HeaderTimeout,
		EnrichMaxBodyBytes: int(c.Enrich.MaxBody), EnrichBufferBytes: int(c.Enrich.Buffers),
		Mode: c.Mode, AllowOrigins: c.AllowOrigins, AllowHosts: c.AllowHosts, Loopback: isLoopback(s.data.Addr().String()),
		Logger: s.log, Metrics: s.registry,
	}
}

// banner tells a person what runs and what to do next.
func (s *server) banner(w io.Writer) {
	addr := s.data.Addr().String()
	if host, port, err := net.SplitHostPort(addr); err == nil && net.ParseIP(host).IsUnspecified() {
		addr = net.JoinHostPort("127.0.0.1", port)
	}
	line := func(what, value string) { fmt.Fprintf(w, "  %-10s %s\n", what, value) }
	fmt.Fprintf(w, "Strata %s\n", buildVersion().Version)
	line("listening", "http://"+s.data.Addr().String())
	line("upstream", s.cfg.Upstream.BaseURL)
	if s.adminLn != nil {
		line("admin", "http://"+s.adminLn.Addr().String())
	}
	if s.healthLn != nil {
		line("health", "http://"+s.healthLn.Addr().String())
	}
	line("mode", s.cfg.Mode)
	line("data", s.cfg.DataDir)
	if s.backends.Load() == nil {
		stores := "NOT OPEN: no context, nothing is recorded (the log says why)"
		if s.reopening != nil {
			stores += "; tried again until they open"
		}
		line("stores", stores)
	}
	switch user := s.cfg.Identity.DefaultUser; {
	case user != "":
		line("user", user+", for requests that name none (identity.default_user)")
	default:
		line("user", "from X-Strata-User; requests without one get documents only")
	}
	key := "the client's own"
	if s.cfg.Upstream.APIKey != "" {
		key = "upstream.api_key"
	}
	line("key", key)
	fmt.Fprintf(w, "Point your app at it: OPENAI_BASE_URL=http://%s/v1\n", addr)
}
