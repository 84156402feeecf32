//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// holdLedger keeps the running program's ledger from writing, as another
// process would that hangs in a transaction, and gives it something to write.
func holdLedger(t *testing.T, env ...string) *serving {
	t.Helper()
	upstream, _ := model(t)
	dir := t.TempDir()
	s := serve(t, dir, append(env, upstream)...)
	f, err := os.OpenFile(filepath.Join(dir, ".local/share/strata/ledger.db-shm"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // which gives the lock back
	// The byte of SQLite's writer.
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: 120, Len: 1}
	eventually(t, "nobody writes", func() bool { return syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock) == nil })
	for range 3 {
		s.chat(t, "I live in Porto.")
	}
	return s
}

// However long another process holds the ledger, the end comes soon after
// drain.max, and what it costs is said.
func TestDrainWithAHeldLedger(t *testing.T) {
	s := holdLedger(t, "STRATA_DRAIN_MAX=1s")
	began := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.exitCode(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.log)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("ended after %v", took)
	}
	if !strings.Contains(s.log.String(), `what they have not written is lost","exchanges":3`) || strings.Contains(s.log.String(), `"msg":"stopped"`) {
		t.Errorf("not told what is lost\n%s", s.log)
	}
}

// Another signal ends the process also when only the stores are waited for.
func TestSecondSignalWhileStoresClose(t *testing.T) {
	s := holdLedger(t, "STRATA_DRAIN_MAX=10m")
	s.term(t)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if code := s.exitCode(t); code != 1 || time.Since(began) > 3*time.Second {
		t.Errorf("exit code %d after %v\n%s", code, time.Since(began), s.log)
	}
}
