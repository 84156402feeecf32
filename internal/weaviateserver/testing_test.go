package weaviateserver

import (
	"fmt"
	"runtime"
	"testing"
)

// told is a test that tells how it ended.
type told struct {
	testing.TB
	how string
}

func (t *told) Helper() {}

func (t *told) Fatal(args ...any) { t.end("failed: " + fmt.Sprint(args...)) }

func (t *told) Skipf(format string, args ...any) { t.end("skipped: " + fmt.Sprintf(format, args...)) }

func (t *told) end(how string) {
	t.how = how
	runtime.Goexit()
}

// Where no server is installed tests are skipped, and fail where all must run.
func TestNoServerInstalled(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for require, want := range map[string]string{"": "skipped: skipped: " + ErrMissing.Error(), "1": "failed: " + ErrMissing.Error()} {
		t.Setenv("STRATA_E2E_REQUIRE", require)
		for name, use := range map[string]func(testing.TB){
			"own":    func(tb testing.TB) { ForTest(tb) },
			"shared": func(tb testing.TB) { var s Shared; defer s.Close(); s.For(tb) },
		} {
			tb := &told{TB: t}
			done := make(chan struct{})
			go func() { defer close(done); use(tb) }()
			<-done
			if tb.how != want {
				t.Errorf("%s, STRATA_E2E_REQUIRE=%q: %q, want %q", name, require, tb.how, want)
			}
		}
	}
}
