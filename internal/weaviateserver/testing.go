package weaviateserver

import (
	"errors"
	"os"
	"sync"
	"testing"
)

// ForTest starts a server of the test's own and ends it with the test. Where
// none is installed the test is skipped, or fails under STRATA_E2E_REQUIRE=1.
// env are further variables, NAME=value.
func ForTest(t testing.TB, env ...string) *Server {
	t.Helper()
	s := Prepare(t, env...)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// Prepare is ForTest without the start.
func Prepare(t testing.TB, env ...string) *Server {
	t.Helper()
	s, err := New(Config{Dir: t.TempDir(), Env: env})
	if err != nil {
		missing(t, err)
	}
	t.Cleanup(func() {
		// Nothing of it is wanted any more.
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func missing(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, ErrMissing) && os.Getenv("STRATA_E2E_REQUIRE") != "1" {
		t.Skipf("skipped: %v", err)
	}
	t.Fatal(err)
}

// Shared is one server for all tests of a program that leave it as it is. Its
// zero value starts one when it is asked for first.
type Shared struct {
	once   sync.Once
	server *Server
	err    error
	dir    string
}

// For returns the server to a test, or skips it as ForTest does.
func (s *Shared) For(t testing.TB) *Server {
	t.Helper()
	s.once.Do(func() {
		if s.dir, s.err = os.MkdirTemp("", "strata-weaviate-"); s.err != nil {
			return
		}
		if s.server, s.err = New(Config{Dir: s.dir}); s.err == nil {
			s.err = s.server.Start(t.Context())
		}
	})
	if s.err != nil {
		missing(t, s.err)
	}
	return s.server
}

// Close ends the server, if there is one; for TestMain.
func (s *Shared) Close() {
	if s.server != nil {
		_ = s.server.Kill()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}
