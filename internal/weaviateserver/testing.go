package weaviateserver

import (
	"errors"
	"os"
	"testing"
)

// ForTest starts a server of the test's own and ends it with the test. Where
// none is installed the test is skipped, or fails under STRATA_E2E_REQUIRE=1.
func ForTest(t testing.TB) *Server {
	t.Helper()
	s, err := New(Config{Dir: t.TempDir()})
	switch {
	case errors.Is(err, ErrMissing) && os.Getenv("STRATA_E2E_REQUIRE") != "1":
		t.Skipf("skipped: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Nothing of it is wanted any more.
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
	})
	return s
}
