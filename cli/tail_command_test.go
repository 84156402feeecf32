package cli_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"strata/admin"
	"strata/admin/admintest"
)

// announced is a feed that tells when somebody subscribes.
type announced struct {
	*admin.Feed
	came chan struct{}
}

func (a announced) Subscribe(ctx context.Context) <-chan admin.Event {
	c := a.Feed.Subscribe(ctx)
	a.came <- struct{}{}
	return c
}

// tailed serves events on an address until close is called.
func tailed(t *testing.T, addr string) (feed announced, at string, closeAll func()) {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	feed = announced{admin.NewFeed(), make(chan struct{}, 10)}
	cfg := admintest.New().Config()
	cfg.Events = feed
	server := &http.Server{Handler: admin.New(cfg)}
	go func() { _ = server.Serve(ln) }()
	closeAll = func() { feed.Close(); _ = server.Close() }
	t.Cleanup(closeAll)
	return feed, ln.Addr().String(), closeAll
}

func request(user string, f admin.Figures) admin.Event {
	return admin.Event{Kind: admin.EventRequest, At: time.Now(), Tenant: "default", User: user, Figures: &f}
}

func TestTailVerb(t *testing.T) {
	feed, addr, stop := tailed(t, "127.0.0.1:0")
	cmd := command(t, t.TempDir(), nil, "tail", "--server", "http://"+addr, "--token", "t", "--user", "alice")
	stdout, _ := cmd.StdoutPipe()
	stderr, _ := cmd.StderrPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() }).Stop()
	lines, notes := bufio.NewReader(stdout), bufio.NewReader(stderr)
	<-feed.came
	feed.Publish(request("bob", admin.Figures{}))
	feed.Publish(request("alice", admin.Figures{Intent: "rag", Context: "partial", Reason: "late", Tokens: 412, Layers: []string{"knowledge", "memory"}, Millis: 23.44}))
	feed.Publish(admin.Event{Kind: admin.EventLearned, At: time.Now(), ID: "req_1", Tenant: "default", User: "alice", Change: &admin.Change{New: 2, Erased: 1}})
	for _, want := range []string{"alice rag 412 tok knowledge,memory 23.4 ms partial late", "alice learned 2 new, 1 erased from req_1"} {
		line, err := lines.ReadString('\n')
		if err != nil || strings.Contains(line, "\x1b") {
			t.Fatalf("%q, %v", line, err)
		}
		if fields := strings.Join(strings.Fields(line)[1:], " "); fields != want {
			t.Errorf("a line: %q, want %q", fields, want)
		}
	}
	stop()
	if note, _ := notes.ReadString('\n'); !strings.Contains(note, "waiting for the server") {
		t.Errorf("the server is gone: %q", note)
	}
	feed, _, _ = tailed(t, addr)
	<-feed.came
	if note, _ := notes.ReadString('\n'); !strings.Contains(note, "connected again") {
		t.Errorf("the server is back: %q", note)
	}
	feed.Publish(request("alice", admin.Figures{Intent: "chat"}))
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "chat") {
		t.Errorf("after coming back: %q, %v", line, err)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	_, _ = io.Copy(io.Discard, lines)
	if err := cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C ends with %v, want 0", err)
	}
}

func TestTailNeedsAServer(t *testing.T) {
	if code, _, stderr := verb(t, "http://127.0.0.1:1", "tail"); code != 1 || !strings.Contains(stderr, "not running") {
		t.Errorf("no server: %d %s", code, stderr)
	}
}
