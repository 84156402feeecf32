package e2e_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests; nothing takes that long unless
// it is broken.
const patience = 20 * time.Second

// program is a running Strata.
type program struct {
	addr, admin string // host:port
	stderr      *logBuffer
	cmd         *exec.Cmd
	exited      chan struct{} // closed at its end; then code is set
	code        int
}

// settings are variables of the program, KEY=value.
type settings []string

// start runs the binary in front of upstream (host:port) and waits until it
// says that it is ready.
func start(t testing.TB, upstream string, set ...string) *program {
	t.Helper()
	if build.err != nil {
		t.Fatal(build.err)
	}
	p := launch(t, exec.Command(build.binary, "serve"), t.TempDir(), upstream, set)
	p.waitReady(t)
	return p
}

// launch starts cmd with an environment of its own, so that nothing of the
// developer's configuration takes part.
func launch(t testing.TB, cmd *exec.Cmd, dataDir, upstream string, set settings) *program {
	t.Helper()
	home := t.TempDir()
	p := &program{stderr: &logBuffer{}, cmd: cmd, exited: make(chan struct{})}
	if cmd.Dir == "" {
		cmd.Dir = home // no strata.yaml there
	}
	cmd.Env = append([]string{
		"HOME=" + home,
		"PATH=" + os.Getenv("PATH"),
		"STRATA_LISTEN=127.0.0.1:0",
		"STRATA_ADMIN_LISTEN=127.0.0.1:0",
		"STRATA_DATA_DIR=" + dataDir,
		"STRATA_UPSTREAM_BASE_URL=http://" + upstream + "/v1",
	}, set...)
	cmd.Stdout, cmd.Stderr = p.stderr, p.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		err := cmd.Wait()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			p.code = exit.ExitCode()
		} else if err != nil {
			p.code = -1
		}
		close(p.exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.exited
		if t.Failed() {
			said := p.stderr.String()
			t.Logf("what the program said at last:\n%s", said[max(0, len(said)-8000):])
		}
	})
	p.readAddresses(t)
	return p
}

// told is where the program listens: in the log as soon as it does, and, where
// that is too quiet, among what it greets with.
var told = regexp.MustCompile(`"msg":"listening","listen":"([^"]+)","admin":"([^"]+)"|(?m:^  listening  http://(\S+)\n)(?s:.+?)(?m:^  admin      http://(\S+)\n)`)

// readAddresses waits until the program says where it listens. One that ends
// before has no addresses.
func (p *program) readAddresses(t testing.TB) {
	t.Helper()
	poll(t, "the program says where it listens", func() bool {
		ended := false
		select {
		case <-p.exited:
			ended = true
		default:
		}
		if m := told.FindStringSubmatch(p.stderr.String()); m != nil {
			p.addr, p.admin = m[1]+m[3], m[2]+m[4]
			return true
		}
		return ended
	})
}

func (p *program) waitReady(t testing.TB) {
	t.Helper()
	p.waitUntil(t, "it is ready", func() bool { return p.readiness() == http.StatusOK })
}

// waitUntil polls done; the end of the program ends the wait with a failure.
func (p *program) waitUntil(t testing.TB, what string, done func() bool) {
	t.Helper()
	poll(t, what, func() bool {
		select {
		case <-p.exited:
			t.Fatalf("the program ended (code %d) before %s:\n%s", p.code, what, p.stderr)
		default:
		}
		return done()
	})
}

func poll(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if done() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %v until %s", patience, what)
		}
	}
}

// readiness is the status of /readyz, 0 when nobody answers.
func (p *program) readiness() int {
	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + p.admin + "/readyz")
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func (p *program) signal(t testing.TB, sig os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// exitCode waits at most limit for the end of the program.
func (p *program) exitCode(t testing.TB, limit time.Duration) int {
	t.Helper()
	select {
	case <-p.exited:
		return p.code
	case <-time.After(limit):
		t.Fatalf("the program still runs after %v:\n%s", limit, p.stderr)
		return 0
	}
}

// stop ends the program the way an orchestrator does and wants a clean exit.
func (p *program) stop(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	if code := p.exitCode(t, patience); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0", code)
	}
}

// memory reads one line of /proc/PID/status in bytes: VmRSS is what the
// program holds now, VmHWM the most it held.
func (p *program) memory(t testing.TB, field string) int {
	t.Helper()
	return p.status(t, field) << 10 // the file counts in KiB
}

// status reads a number of /proc/PID/status.
func (p *program) status(t testing.TB, field string) int {
	t.Helper()
	text, err := os.ReadFile(p.proc("status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name == field {
			n, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s in /proc/PID/status", field)
	return 0
}

// resetPeak makes VmHWM start again from what is held now.
func (p *program) resetPeak(t testing.TB) {
	t.Helper()
	if err := os.WriteFile(p.proc("clear_refs"), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

// openFiles is the number of file descriptors the program holds.
func (p *program) openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir(p.proc("fd"))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func (p *program) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), name)
}

// metric reads one sample without labels from /metrics.
func (p *program) metric(t testing.TB, name string) float64 {
	t.Helper()
	resp, err := http.Get("http://" + p.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("/metrics (status %d) has no %s", resp.StatusCode, name)
	return 0
}

// within is a context that ends after patience, or with the test.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// dial connects to the data plane; every read and write is bounded.
func (p *program) dial(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}

// chatCall writes a chat request by hand and returns the reader of its answer
// with the head read.
func (p *program) chatCall(t testing.TB, body string) (net.Conn, *http.Response) {
	t.Helper()
	c := p.dial(t)
	_, err := fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", p.addr, len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, resp
}

// readSome reads exactly the bytes of want and compares.
func readSome(t testing.TB, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(r, got); err != nil {
		t.Fatalf("read %d of %d bytes: %v", n, len(want), err)
	}
	if string(got) != want {
		t.Fatalf("read %q, want %q", got, want)
	}
}

// logBuffer keeps what a program writes.
type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
