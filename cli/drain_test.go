package cli_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"strata/cli"
)

// streaming starts a binary, with one answer in flight that has begun and
// ends when end is called.
func streaming(t *testing.T, env ...string) (s *serving, answer io.Reader, end func()) {
	t.Helper()
	gate := make(chan struct{})
	end = sync.OnceFunc(func() { close(gate) })
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first ")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-gate:
			_, _ = io.WriteString(w, "last")
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { end(); up.Close() })
	s = serve(t, t.TempDir(), append(env, "STRATA_UPSTREAM_BASE_URL="+up.URL+"/v1")...)
	resp, err := http.Get(s.data + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	first := make([]byte, len("first "))
	if _, err := io.ReadFull(resp.Body, first); err != nil {
		t.Fatal(err)
	}
	return s, resp.Body, end
}

// term sends SIGTERM and waits until the drain shows.
func (s *serving) term(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		code, body := get(t, s.admin+"/readyz", "")
		if code == 503 && strings.Contains(body, "draining") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("/readyz says %d %s after SIGTERM", code, body)
		}
	}
}

func (s *serving) exitCode(t *testing.T) int {
	t.Helper()
	select {
	case err := <-s.done:
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		return 0
	case <-time.After(10 * time.Second):
		t.Fatalf("still running\n%s", s.log)
		return -1
	}
}

func TestDrainLetsAnAnswerEnd(t *testing.T) {
	s, answer, end := streaming(t)
	s.term(t)
	if code, _ := get(t, s.admin+"/livez", ""); code != 200 {
		t.Errorf("/livez says %d while draining, want 200", code)
	}
	end()
	if rest, err := io.ReadAll(answer); err != nil || string(rest) != "last" {
		t.Errorf("the answer ended with %q, %v", rest, err)
	}
	if code := s.exitCode(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.log)
	}
}

func TestDrainEnds(t *testing.T) {
	s, answer, _ := streaming(t, "STRATA_DRAIN_MAX=200ms")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(answer); err == nil {
		t.Errorf("a cut answer came as a whole one: %q", rest)
	}
	if code := s.exitCode(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.log)
	}
	if !strings.Contains(s.log.String(), "drain.max") {
		t.Errorf("the cut is not logged\n%s", s.log)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	s, answer, _ := streaming(t, "STRATA_DRAIN_MAX=10m")
	s.term(t)
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := s.exitCode(t); code != 1 {
		t.Errorf("exit code %d, want 1\n%s", code, s.log)
	}
	if rest, err := io.ReadAll(answer); err == nil {
		t.Errorf("a cut answer came as a whole one: %q", rest)
	}
}

// Several replicas that start on one folder end with one token.
func TestTokenOfTwoStarts(t *testing.T) {
	dir := t.TempDir()
	data := "STRATA_DATA_DIR=" + dir + "/data"
	var all []*serving
	for range 3 {
		all = append(all, launch(t, dir, data))
	}
	for _, s := range all {
		s.awaitBanner(t)
	}
	b, err := os.ReadFile(dir + "/data/admin.token")
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(b))
	for _, s := range all {
		if status, body := get(t, s.admin+"/v1/nothing", token); status != 404 {
			t.Errorf("the token of the folder is refused: %d %s", status, body)
		}
		s.stop(t)
	}
}

// here runs serve inside the test process, where the race detector sees it.
// The end gives its exit code, after all that it logs.
func here(t *testing.T, env map[string]string) (s *serving, code <-chan int) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, value := range map[string]string{"HOME": dir, "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": "", "STRATA_LISTEN": "127.0.0.1:0",
		"STRATA_ADMIN_LISTEN": "127.0.0.1:0", "STRATA_HEALTH_LISTEN": "127.0.0.1:0", "STRATA_LOG_FORMAT": "json"} {
		t.Setenv(name, value)
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Main([]string{"serve"}, strings.NewReader(""), io.Discard, write)
		_ = write.Close()
	}()
	s = &serving{log: new(bytes.Buffer), done: make(chan error, 1)}
	s.lines = bufio.NewScanner(io.TeeReader(read, s.log))
	s.awaitAddresses()
	go func() {
		for s.lines.Scan() {
		}
		s.done <- nil
	}()
	return s, ended
}

// end terminates what here began and returns its exit code and how long that
// took. The log is whole then.
func (s *serving) end(t *testing.T, code <-chan int) (int, time.Duration) {
	t.Helper()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := self.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-code:
		<-s.done
		return got, time.Since(began)
	case <-time.After(20 * time.Second):
		t.Fatal("still running")
		return 0, 0
	}
}

// The whole life of serve.
func TestServeInProcess(t *testing.T) {
	s, code := here(t, nil)
	if status, body := get(t, s.admin+"/readyz", ""); status != 200 {
		t.Errorf("/readyz: %d %s", status, body)
	}
	if got, _ := s.end(t, code); got != 0 {
		t.Errorf("exit code %d", got)
	}
	if !strings.Contains(s.log.String(), `"msg":"stopped"`) {
		t.Errorf("the end is not logged\n%s", s.log)
	}
}
