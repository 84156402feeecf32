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
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"strata/admin"
	"strata/proxy"
)

func (p *program) serveCommand() *cobra.Command {
	flags := map[string]string{}
	var listen, upstream string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the proxy",
		Long: `Run the proxy until SIGTERM or Ctrl-C. Answers in flight may then end, for
drain.max at most; a second signal ends everything at once.`,
		Example: `  strata serve
  strata serve --upstream http://127.0.0.1:11434/v1
  STRATA_UPSTREAM_BASE_URL=https://api.deepseek.com strata serve`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("listen") {
				flags["listen"] = listen
			}
			if cmd.Flags().Changed("upstream") {
				flags["upstream.base_url"] = upstream
			}
			l, err := p.load(flags)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return p.serve(ctx, l)
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
	ready atomic.Bool

	data, adminLn, healthLn net.Listener // the last two may be nil
	control                 []*http.Server
}

// serve runs until ctx ends, then drains.
func (p *program) serve(ctx context.Context, l *loaded) error {
	s := &server{cfg: &l.Config, log: p.logger(&l.Config)}
	p.warn(l)
	if err := s.listen(); err != nil {
		return usageError{err}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	token, warning := adminToken(s.cfg.Admin.Token, s.cfg.DataDir)
	if warning != "" {
		s.log.Warn(warning)
	}
	// Health answers before anything slow is built.
	s.serveControl(token, registry)
	var err error
	if s.proxy, err = proxy.New(s.proxyConfig(registry)); err != nil {
		return usageError{err}
	}
	failed := make(chan error, 1)
	go func() { failed <- s.proxy.Serve(s.data) }()
	s.ready.Store(true)
	if s.cfg.Auth.Mode == "trusted-network" {
		s.log.Warn("auth.mode is trusted-network: whoever reaches the listener is trusted", "listen", s.data.Addr().String())
	}
	s.banner(p.stderr)
	select {
	case err := <-failed:
		return fmt.Errorf("the listener failed: %w", err)
	case <-ctx.Done():
	}
	return s.drain()
}

func (p *program) logger(c *Config) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Log.Level)) // validated
	options := &slog.HandlerOptions{Level: level}
	if c.Log.Format == "text" || c.Log.Format == "" && isTerminal(p.stderr) {
		return slog.New(slog.NewTextHandler(p.stderr, options))
	}
	return slog.New(slog.NewJSONHandler(p.stderr, options))
}

// isTerminal tells whether w is a character device that is not /dev/null.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || f.Name() == os.DevNull {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
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

func (s *server) closeListeners() {
	for _, ln := range []net.Listener{s.data, s.adminLn, s.healthLn} {
		if ln != nil {
			_ = ln.Close()
		}
	}
}

func (s *server) serveControl(token string, registry *prometheus.Registry) {
	cfg := admin.Config{
		Token: token, Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		Ready: s.ready.Load, AllowHosts: s.cfg.AllowHosts, AllowOrigins: s.cfg.AllowOrigins,
	}
	start := func(ln net.Listener, handler http.Handler) {
		hs := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
			ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
		s.control = append(s.control, hs)
		go func() { _ = hs.Serve(ln) }()
	}
	if s.adminLn != nil {
		cfg.Loopback = isLoopback(s.adminLn.Addr().String())
		start(s.adminLn, admin.New(cfg))
	}
	if s.healthLn != nil {
		start(s.healthLn, admin.Health(cfg))
	}
}

func (s *server) proxyConfig(registry prometheus.Registerer) proxy.Config {
	c := s.cfg
	u, err := url.Parse(c.Upstream.BaseURL)
	if err != nil {
		panic("BUG: upstream.base_url was not validated: " + err.Error())
	}
	return proxy.Config{
		Upstream: u, UpstreamAPIKey: c.Upstream.APIKey,
		MaxConnections: c.Upstream.MaxConnections, QueueWait: c.Upstream.QueueWait, ConnectTimeout: c.Upstream.ConnectTimeout,
		FirstByteTimeout: c.Upstream.FirstByteTimeout, IdleTimeout: c.Upstream.IdleTimeout,
		MaxHeaderBytes: int(c.Limits.Header), MaxBodyBytes: int(c.Limits.Body), ReadHeaderTimeout: c.Limits.HeaderTimeout,
		EnrichMaxBodyBytes: int(c.Enrich.MaxBody), EnrichBufferBytes: int(c.Enrich.Buffers),
		Mode: c.Mode, AllowOrigins: c.AllowOrigins, AllowHosts: c.AllowHosts, Loopback: isLoopback(s.data.Addr().String()),
		Logger: s.log, Metrics: registry,
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
	key := "the client's own"
	if s.cfg.Upstream.APIKey != "" {
		key = "upstream.api_key"
	}
	line("key", key)
	fmt.Fprintf(w, "Point your app at it: OPENAI_BASE_URL=http://%s/v1\n", addr)
}

// drain lets answers in flight end. A second signal ends the process.
func (s *server) drain() error {
	s.ready.Store(false)
	again := make(chan os.Signal, 1)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(again)
	s.log.Info("draining", "max", s.cfg.Drain.Max.String())
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Drain.Max)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.proxy.Shutdown(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-again:
		return errors.New("ended by a second signal; answers in flight were cut")
	}
	for _, hs := range s.control {
		_ = hs.Close()
	}
	if err != nil {
		s.log.Warn("answers still in flight after drain.max were cut", "max", s.cfg.Drain.Max.String())
		return nil
	}
	s.log.Info("stopped")
	return nil
}
