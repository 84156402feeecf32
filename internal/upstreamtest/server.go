// Package upstreamtest is a scripted upstream with real wire behaviour: what a
// test hands back as a Script is what appears on the socket, write by write.
//
// It decides how bytes are framed, when they are written and when a connection
// ends, and it records what the peer sent, byte for byte. It must not know the
// program that calls it: no header, rule or record of the proxy appears here,
// so that a test compares the proxy with the wire and not with itself.
package upstreamtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// closeGrace bounds how long Close waits for handlers that are still running.
const closeGrace = 5 * time.Second

// ErrHandlerRunning is returned by Close when a handler did not return in time.
var ErrHandlerRunning = errors.New("upstreamtest: a handler is still running")

// Handler answers one request with a script. It runs on the goroutine of the
// connection; a nil script closes the connection without an answer. The same
// script may be returned for any number of requests at the same time.
type Handler func(*Request) *Script

// Server is a running upstream. All methods are safe for concurrent use.
type Server struct {
	opts    options
	handler atomic.Pointer[Handler]
	ln      net.Listener
	tls     *tls.Config
	pool    *x509.CertPool

	closed    chan struct{}
	closeOnce sync.Once
	running   sync.WaitGroup

	calls    atomic.Int64
	accepted atomic.Int64
	waiting  atomic.Int32

	mu        sync.Mutex
	conns     map[*conn]struct{}
	requests  []*Request
	malformed []string
	changed   chan struct{} // closed and replaced while someone waits
}

// New starts a server on a free port of 127.0.0.1 and closes it when t ends.
func New(t testing.TB, handler Handler, opts ...Option) *Server {
	t.Helper()
	s, err := Start("127.0.0.1:0", handler, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeIn(t, s) })
	return s
}

// NewTLS is New over TLS (HTTP/1.1 only) with a certificate made for this
// server; CertPool holds what a client must trust.
func NewTLS(t testing.TB, handler Handler, opts ...Option) *Server {
	t.Helper()
	s, err := StartTLS("127.0.0.1:0", handler, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeIn(t, s) })
	return s
}

func closeIn(t testing.TB, s *Server) {
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Start starts a server on addr (host:port, port 0 = a free one).
func Start(addr string, handler Handler, opts ...Option) (*Server, error) {
	return start(addr, nil, nil, handler, opts)
}

// StartTLS is Start over TLS with a self-signed certificate.
func StartTLS(addr string, handler Handler, opts ...Option) (*Server, error) {
	conf, pool, err := selfSigned()
	if err != nil {
		return nil, err
	}
	return start(addr, conf, pool, handler, opts)
}

func start(addr string, conf *tls.Config, pool *x509.CertPool, handler Handler, opts []Option) (*Server, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("upstreamtest: listen: %w", err)
	}
	s := &Server{
		ln: ln, tls: conf, pool: pool,
		closed:  make(chan struct{}),
		conns:   make(map[*conn]struct{}),
		changed: make(chan struct{}),
	}
	for _, o := range opts {
		o(&s.opts)
	}
	s.SetHandler(handler)
	s.running.Add(1)
	go s.accept()
	return s, nil
}

// SetHandler replaces the handler for requests that are read from now on.
func (s *Server) SetHandler(h Handler) { s.handler.Store(&h) }

// Addr is the host:port the server listens on.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// URL is the base address without a trailing slash, such as http://127.0.0.1:4711.
func (s *Server) URL() string {
	if s.tls != nil {
		return "https://" + s.Addr()
	}
	return "http://" + s.Addr()
}

// CertPool holds the certificate of a TLS server; nil for a plain one.
func (s *Server) CertPool() *x509.CertPool { return s.pool }

// Close stops listening, closes every connection and waits for the handlers.
// It may be called more than once.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		close(s.closed)
		s.ln.Close()
		s.mu.Lock()
		for c := range s.conns {
			c.tcp.Close() // not through TLS: its Close waits for a stuck Write
		}
		s.mu.Unlock()
	})
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-done:
		return nil
	case <-grace.C:
		return ErrHandlerRunning
	}
}

func (s *Server) accept() {
	defer s.running.Done()
	for {
		nc, err := s.ln.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(time.Millisecond) // out of descriptors: let some close
			continue
		}
		c := s.open(nc.(*net.TCPConn))
		if c == nil {
			nc.Close()
			return
		}
		go c.serve()
	}
}

// open registers a connection, or returns nil when the server has closed.
func (s *Server) open(tcp *net.TCPConn) *conn {
	c := &conn{server: s, tcp: tcp, nc: tcp, remote: tcp.RemoteAddr().String()}
	if s.tls != nil {
		c.nc = tls.Server(tcp, s.tls)
	}
	tcp.SetNoDelay(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return nil
	default:
	}
	s.running.Add(1)
	s.conns[c] = struct{}{}
	c.number = int(s.accepted.Add(1))
	s.notifyLocked()
	return c
}

func (s *Server) gone(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.notifyLocked()
	s.mu.Unlock()
	s.running.Done()
}

// Calls is the number of requests that were read completely, and of those that
// were answered from their head alone.
func (s *Server) Calls() int { return int(s.calls.Load()) }

// Accepted is the number of connections accepted since the start.
func (s *Server) Accepted() int { return int(s.accepted.Load()) }

// OpenConns is the number of connections that the server holds open.
func (s *Server) OpenConns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Requests returns the recorded requests in the order in which they were
// complete. The slice is the caller's; the requests are shared.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Malformed returns what was refused as a request: the bytes read up to the
// fault, one entry per connection.
func (s *Server) Malformed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.malformed)
}

// Forget drops the records and sets Calls to 0; connections stay.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.malformed = nil, nil
	s.calls.Store(0)
}

// WaitCalls waits until Calls is at least n, or returns the context's error.
func (s *Server) WaitCalls(ctx context.Context, n int) error {
	err := s.waitFor(ctx, func() bool { return s.Calls() >= n })
	if err != nil {
		return fmt.Errorf("upstreamtest: %d of %d calls: %w", s.Calls(), n, err)
	}
	return nil
}

// WaitOpenConns waits until at most n connections are open, or returns the
// context's error.
func (s *Server) WaitOpenConns(ctx context.Context, n int) error {
	err := s.waitFor(ctx, func() bool { return s.OpenConns() <= n })
	if err != nil {
		return fmt.Errorf("upstreamtest: %d connections open, want at most %d: %w", s.OpenConns(), n, err)
	}
	return nil
}

func (s *Server) waitFor(ctx context.Context, done func() bool) error {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// record counts a request and keeps it. Without records it takes no lock, which
// keeps the counter out of the way of a load test.
func (s *Server) record(r *Request) {
	if s.opts.noRecord {
		s.calls.Add(1)
		if s.waiting.Load() == 0 {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.notifyLocked()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls.Add(1)
	s.requests = append(s.requests, r)
	s.notifyLocked()
}

func (s *Server) refused(raw string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.malformed = append(s.malformed, raw)
}

func (s *Server) notifyLocked() {
	if s.waiting.Load() > 0 {
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// selfSigned makes a certificate for loopback names that is its own authority.
func selfSigned() (*tls.Config, *x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("upstreamtest: key: %w", err)
	}
	tmpl := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "upstreamtest"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		return nil, nil, fmt.Errorf("upstreamtest: certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, fmt.Errorf("upstreamtest: certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	conf := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}},
		NextProtos:   []string{"http/1.1"},
		MinVersion:   tls.VersionTLS12,
	}
	return conf, pool, nil
}
