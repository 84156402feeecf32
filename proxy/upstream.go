package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/http/httpproxy"
)

// How long an upstream connection is kept: shorter than the idle limits of
// the usual servers and load balancers (60 s), and not for ever, so that a
// change of address in DNS is followed.
const (
	maxIdle = 55 * time.Second
	maxAge  = 10 * time.Minute
)

// upstream owns the connections to the one upstream: one connection per
// request in flight, a limit with a queue, and a free list of idle ones, last
// used first.
type upstream struct {
	base
	host   string // Host header
	addr   string // host:port to connect to
	tls    *tls.Config
	via    *url.URL // HTTP proxy from the environment, or nil
	dialer net.Dialer

	headerLimit int
	queueWait   time.Duration
	slots       chan struct{}

	mu     sync.Mutex
	idle   []*upstreamConn
	closed bool
	reaper *time.Timer
}

// upstreamConn carries one request at a time.
type upstreamConn struct {
	net.Conn
	raw       syscall.RawConn // the socket, below TLS
	br        *bufio.Reader
	born      time.Time
	idleSince time.Time
	reused    bool
}

func newUpstream(cfg Config) (*upstream, error) {
	u := cfg.Upstream
	up := &upstream{
		base:        newBase(u),
		host:        u.Host,
		addr:        u.Host,
		dialer:      net.Dialer{Timeout: cfg.ConnectTimeout},
		headerLimit: cfg.MaxHeaderBytes,
		queueWait:   cfg.QueueWait,
		slots:       make(chan struct{}, cfg.MaxConnections),
	}
	port := "80"
	if u.Scheme == "https" {
		port = "443"
		up.tls = cfg.UpstreamTLS.Clone()
		if up.tls == nil {
			up.tls = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		up.tls.ServerName = u.Hostname()
		up.tls.NextProtos = []string{"http/1.1"}
		up.tls.ClientSessionCache = tls.NewLRUClientSessionCache(64)
	}
	if u.Port() == "" {
		up.addr = net.JoinHostPort(u.Hostname(), port)
	}
	via, err := httpproxy.FromEnvironment().ProxyFunc()(u)
	if err != nil {
		return nil, fmt.Errorf("the proxy variable for %s is not a URL", u.Scheme)
	}
	if via != nil && via.Scheme != "http" {
		return nil, fmt.Errorf("a proxy of scheme %q is not supported; set HTTPS_PROXY or HTTP_PROXY to an http:// address", via.Scheme)
	}
	up.via = via
	up.reaper = time.AfterFunc(maxIdle, up.reap)
	return up, nil
}

// acquire waits for a place and returns a connection. errBusy means that no
// place came free in time; the caller holds the place until release or drop.
func (up *upstream) acquire(ctx context.Context) error {
	select {
	case up.slots <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(up.queueWait)
	defer timer.Stop()
	select {
	case up.slots <- struct{}{}:
		return nil
	case <-timer.C:
		return errBusy
	case <-ctx.Done():
		return errGone
	}
}

// leave gives the place back.
func (up *upstream) leave() { <-up.slots }

// connect returns an idle connection that is still good, or a new one.
func (up *upstream) connect(ctx context.Context, now time.Time) (*upstreamConn, error) {
	for {
		c := up.pop()
		if c == nil {
			return up.dial(ctx, now)
		}
		if now.Sub(c.idleSince) < maxIdle && now.Sub(c.born) < maxAge && idleUsable(c.raw) {
			c.reused = true
			return c, nil
		}
		_ = c.Close()
	}
}

func (up *upstream) pop() *upstreamConn {
	up.mu.Lock()
	defer up.mu.Unlock()
	n := len(up.idle)
	if n == 0 {
		return nil
	}
	c := up.idle[n-1]
	up.idle[n-1] = nil
	up.idle = up.idle[:n-1]
	return c
}

// keep puts a connection back whose answer was read to its end.
func (up *upstream) keep(c *upstreamConn, now time.Time) {
	c.idleSince = now
	up.mu.Lock()
	if up.closed {
		up.mu.Unlock()
		_ = c.Close()
		return
	}
	up.idle = append(up.idle, c)
	up.mu.Unlock()
}

// reap closes what was idle for too long. The list is in order of idleSince.
func (up *upstream) reap() {
	limit := time.Now().Add(-maxIdle)
	up.mu.Lock()
	n := 0
	for n < len(up.idle) && up.idle[n].idleSince.Before(limit) {
		n++
	}
	old := append([]*upstreamConn(nil), up.idle[:n]...)
	up.idle = append(up.idle[:0], up.idle[n:]...)
	if !up.closed {
		up.reaper.Reset(maxIdle / 4)
	}
	up.mu.Unlock()
	for _, c := range old {
		_ = c.Close()
	}
}

func (up *upstream) close() {
	up.mu.Lock()
	up.closed = true
	idle := up.idle
	up.idle = nil
	up.reaper.Stop()
	up.mu.Unlock()
	for _, c := range idle {
		_ = c.Close()
	}
}

// dial connects, through the environment's proxy if there is one, and does
// the TLS handshake, all within the connect timeout.
func (up *upstream) dial(ctx context.Context, now time.Time) (*upstreamConn, error) {
	ctx, cancel := context.WithTimeout(ctx, up.dialer.Timeout)
	defer cancel()
	addr := up.addr
	if up.via != nil {
		addr = up.via.Host
		if up.via.Port() == "" {
			addr = net.JoinHostPort(up.via.Hostname(), "80")
		}
	}
	conn, err := up.dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &upstreamConn{Conn: conn, raw: rawConn(conn), born: now}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	if up.via != nil {
		err = up.tunnel(conn)
	}
	if err == nil && up.tls != nil {
		tc := tls.Client(conn, up.tls)
		err = tc.HandshakeContext(ctx)
		c.Conn = tc
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	c.br = bufio.NewReaderSize(c.Conn, up.headerLimit)
	return c, nil
}

// tunnel asks an HTTP proxy for a way through to upstream.
func (up *upstream) tunnel(conn net.Conn) error {
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	req.Header.SetMethod(http.MethodConnect)
	req.Header.SetRequestURI(up.addr)
	req.Header.SetHost(up.addr)
	if user := up.via.User; user != nil {
		password, _ := user.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if _, err := conn.Write(req.Header.Header()); err != nil {
		return err
	}
	// Upstream speaks only when spoken to, so nothing follows this head.
	var head fasthttp.ResponseHeader
	if err := head.Read(bufio.NewReader(conn)); err != nil {
		return errors.New("the proxy's answer to CONNECT is not HTTP")
	}
	if head.StatusCode() != http.StatusOK {
		return fmt.Errorf("the proxy refused CONNECT with status %d", head.StatusCode())
	}
	return nil
}

// rawConn gives access to a connection's socket, nil where it has none.
func rawConn(c net.Conn) syscall.RawConn {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
