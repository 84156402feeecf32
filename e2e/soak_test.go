package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

// soakWorkers is how many clients are at it at the same time.
const soakWorkers = 24

// soakConnUses closes an upstream connection after so many answers without a
// word, so that kept connections are found dead again and again.
const soakConnUses = 40

// TestSoak loads a race-built program for STRATA_SOAK, a duration, with calls
// that end in every way a call can end, and wants everything back afterwards.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("STRATA_SOAK"))
	if err != nil || length <= 0 {
		t.Skip("skipped: set STRATA_SOAK to a duration such as 30s")
	}
	binary := filepath.Join(t.TempDir(), "strata-race")
	if err := compile(binary, "CGO_ENABLED=1", "-race"); err != nil {
		missing(t, fmt.Sprintf("install a C compiler, which the race detector takes (%v)", err))
	}
	up := upstreamtest.New(t, soakUpstream(), upstreamtest.NoRecord(), upstreamtest.MaxRequests(soakConnUses))
	p := launch(t, exec.Command(binary, "serve"), t.TempDir(), up.Addr(), settings{"STRATA_LOG_LEVEL=error"})
	p.waitReady(t)

	s := &soak{t: t, url: "http://" + p.addr + "/v1", counts: make([]atomic.Int64, len(soakCalls))}
	s.load(2 * time.Second) // everything that is made once is made
	before := settled(t, p, up)
	s.load(length / 2)
	middle := settled(t, p, up)
	s.load(length / 2)
	after := settled(t, p, up)
	s.report()
	t.Logf("at the start %v; half way %v; at the end %v", before, middle, after)

	// Kept upstream connections and threads waiting for work are no leak.
	if max := before.goroutines + 2*soakWorkers; after.goroutines > max {
		t.Errorf("%d goroutines are left, want at most %d", after.goroutines, max)
	}
	if max := before.files + soakWorkers; after.files > max {
		t.Errorf("%d files are open, want at most %d", after.files, max)
	}
	if max := before.threads + soakWorkers; after.threads > max {
		t.Errorf("%d threads are left, want at most %d", after.threads, max)
	}
	if max := middle.most + middle.most/4 + 32<<20; after.most > max {
		t.Errorf("memory grew from %.0f to %.0f MB in the second half", mb(middle.most), mb(after.most))
	}
	p.stop(t)
	for _, word := range []string{"DATA RACE", "panic", "internal error"} {
		if strings.Contains(p.stderr.String(), word) {
			t.Errorf("the program said %q:\n%s", word, p.stderr)
		}
	}
}

// usage is what a program holds.
type usage struct{ goroutines, files, threads, most int }

func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d files, %d threads, %.0f MB", u.goroutines, u.files, u.threads, mb(u.most))
}

// settled waits until no call is in flight and only kept connections are left,
// then reads what the program holds.
func settled(t *testing.T, p *program, up *upstreamtest.Server) usage {
	t.Helper()
	p.waitUntil(t, "no request is in flight", func() bool { return p.metric(t, "strata_requests_in_flight") == 0 })
	if err := up.WaitOpenConns(within(t), soakWorkers); err != nil {
		t.Errorf("upstream connections outlive their calls: %v", err)
	}
	last := -1 // goroutines and sockets end a moment after their call
	p.waitUntil(t, "the number of goroutines is stable", func() bool {
		now := int(p.metric(t, "go_goroutines"))
		stable := now == last
		last = now
		if !stable {
			time.Sleep(200 * time.Millisecond)
		}
		return stable
	})
	// The most memory so far: what is held at a moment goes by when the collector
	// ran last.
	return usage{last, p.openFiles(t), p.status(t, "Threads"), p.memory(t, "VmHWM")}
}

// soakUpstream does what the model of a call names.
func soakUpstream() upstreamtest.Handler {
	api := upstreamtest.OpenAI()
	words := strings.SplitAfter(strings.Repeat("some words that flow ", 8), " ")
	named := map[string]*upstreamtest.Script{
		"slow":      upstreamtest.ChatStream(words, 2*time.Millisecond),
		"reset":     upstreamtest.Stream().WriteString(event(0)).Pause(3 * time.Millisecond).WriteString(event(1)).Reset(),
		"broken":    upstreamtest.Stream().WriteString(event(0)).CloseNow(),
		"no-answer": upstreamtest.NoAnswer(),
		"thinking":  upstreamtest.Hang(),
		"silent":    upstreamtest.Stream().WriteString(event(0)).Silence(),
	}
	return func(r *upstreamtest.Request) *upstreamtest.Script {
		for name, script := range named {
			if bytes.Contains(r.Body[:min(len(r.Body), 64)], []byte(`"model":"`+name+`"`)) {
				return script
			}
		}
		return api(r)
	}
}

// soak is the load: workers that make calls until a time.
type soak struct {
	t      *testing.T
	url    string
	counts []atomic.Int64 // calls made, in the order of soakCalls
}

// soakCalls are the ways a call can go. Each returns an error when the program
// did what it must not.
var soakCalls = []struct {
	name string
	run  func(*soakClient) error
}{
	{"plain", (*soakClient).plain},
	{"stream", (*soakClient).stream},
	{"upload", (*soakClient).upload},
	{"leave mid-stream", func(c *soakClient) error { return c.leave("slow") }},
	{"leave in silence", func(c *soakClient) error { return c.leave("silent") }},
	{"leave before the head", func(c *soakClient) error { return c.leave("thinking") }},
	{"leave mid-upload", (*soakClient).leaveUpload},
	{"upstream resets", func(c *soakClient) error { return c.broken("reset") }},
	{"upstream breaks off", func(c *soakClient) error { return c.broken("broken") }},
	{"upstream hangs up", (*soakClient).noAnswer},
}

func (s *soak) load(length time.Duration) {
	ctx, cancel := context.WithTimeout(s.t.Context(), length)
	defer cancel()
	var workers sync.WaitGroup
	for n := range soakWorkers {
		workers.Go(func() {
			c := &soakClient{
				url: s.url, http: &http.Client{Timeout: patience, Transport: &http.Transport{}},
				rand: rand.New(rand.NewPCG(uint64(n), uint64(length))),
			}
			defer c.http.CloseIdleConnections()
			for ctx.Err() == nil {
				i := c.rand.IntN(len(soakCalls))
				if err := soakCalls[i].run(c); err != nil {
					s.t.Errorf("%s: %v", soakCalls[i].name, err)
				}
				s.counts[i].Add(1)
			}
		})
	}
	workers.Wait()
}

func (s *soak) report() {
	total := int64(0)
	for i, call := range soakCalls {
		n := s.counts[i].Load()
		total += n
		s.t.Logf("%6d × %s", n, call.name)
	}
	s.t.Logf("%6d calls", total)
}

// soakClient is one worker's; its calls follow one another.
type soakClient struct {
	url  string
	http *http.Client
	rand *rand.Rand
}

func (c *soakClient) post(ctx context.Context, path, contentType string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", contentType)
	// Some of a few users, in some of their conversations, some nobody.
	if n := c.rand.IntN(8); n > 0 {
		req.Header.Set("X-Strata-User", fmt.Sprintf("user-%d", n))
		if c.rand.IntN(2) == 0 {
			req.Header.Set("X-Strata-Session", fmt.Sprintf("session-%d", c.rand.IntN(20)))
		}
	}
	return c.http.Do(req)
}

func (c *soakClient) chat(ctx context.Context, model string, stream bool) (*http.Response, error) {
	words := fmt.Sprintf("call %d %s", c.rand.Uint32(), strings.Repeat("more ", c.rand.IntN(2000)))
	switch c.rand.IntN(4) {
	case 0:
		words = fmt.Sprintf("Remember: my locker code is %d.", c.rand.IntN(1000))
	case 1:
		words = "What is my locker code?"
	}
	body := fmt.Sprintf(`{"model":%q,"stream":%v,"messages":[{"role":"user","content":%q}]}`, model, stream, words)
	return c.post(ctx, "/chat/completions", "application/json", strings.NewReader(body))
}

// whole reads an answer that must be complete and of status 200.
func whole(resp *http.Response, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, b)
	}
	return b, err
}

func (c *soakClient) plain() error {
	b, err := whole(c.chat(context.Background(), "gpt-4o-mini", false))
	if err == nil && !json.Valid(b) {
		err = fmt.Errorf("the answer is not JSON: %q", b)
	}
	return err
}

func (c *soakClient) stream() error {
	b, err := whole(c.chat(context.Background(), "slow", true))
	if err == nil && !bytes.HasSuffix(b, []byte("data: [DONE]\n\n")) {
		err = fmt.Errorf("the stream ends in %q", b[max(0, len(b)-80):])
	}
	return err
}

func (c *soakClient) upload() error {
	size := c.rand.IntN(2 << 20)
	file := make([]byte, size)
	for i := 0; i < size; i += 512 {
		file[i] = byte(c.rand.Uint32())
	}
	var body bytes.Buffer
	const head = "--cut\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n"
	fmt.Fprintf(&body, "%s%s\r\n--cut--\r\n", head, file)
	sum := sha256.Sum256(file)
	b, err := whole(c.post(context.Background(), "/files", "multipart/form-data; boundary=cut", &body))
	if err == nil && !bytes.Contains(b, []byte(hex.EncodeToString(sum[:]))) {
		err = fmt.Errorf("other bytes arrived: %s", b)
	}
	return err
}

// leave goes away after a moment, wherever the answer is then.
func (c *soakClient) leave(model string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(c.rand.IntN(20_000))*time.Microsecond)
	defer cancel()
	resp, err := c.chat(ctx, model, true)
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return nil
}

func (c *soakClient) leaveUpload() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sent := io.LimitReader(&pattern{left: 4 << 20, rand: rand.NewChaCha8([32]byte{2})}, int64(c.rand.IntN(1<<20)))
	body := io.MultiReader(sent, readFunc(func([]byte) (int, error) { cancel(); return 0, io.ErrUnexpectedEOF }))
	if resp, err := c.post(ctx, "/files", "application/octet-stream", body); err == nil {
		resp.Body.Close()
		return fmt.Errorf("half an upload was answered with status %d", resp.StatusCode)
	}
	return nil
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

// broken wants a stream that upstream broke to be broken here, too.
func (c *soakClient) broken(model string) error {
	resp, err := c.chat(context.Background(), model, true)
	if err != nil {
		return nil // the reset overtook the head
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode == http.StatusOK {
		return fmt.Errorf("a broken answer ended as a complete one: %q", b)
	}
	return nil
}

// noAnswer wants an error that says what happened.
func (c *soakClient) noAnswer() error {
	resp, err := c.chat(context.Background(), "no-answer", false)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusBadGateway {
		return fmt.Errorf("status %d, want 502", resp.StatusCode)
	}
	return err
}
