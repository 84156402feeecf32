package llm_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"strata/internal/upstreamtest"
	"strata/llm"
)

// pauses takes down how long an embedder would have waited.
type pauses struct {
	mu  sync.Mutex
	all []time.Duration
}

func (p *pauses) sleep(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, d)
	return ctx.Err()
}

// picky embeds what verdict lets through, and counts the texts of each call.
type picky struct {
	up      *upstreamtest.Server
	pauses  pauses
	mu      sync.Mutex
	batches []int
	longest int // characters of the longest text that was taken
}

// newPicky returns an embedder of a server that verdict may answer for: nil
// takes the texts.
func newPicky(t *testing.T, verdict func(call int, texts []string) *upstreamtest.Script) (*llm.Embedder, *picky) {
	p := &picky{}
	p.up = upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		texts := readEmbed(t, r).Input
		p.mu.Lock()
		p.batches = append(p.batches, len(texts))
		call := len(p.batches)
		p.mu.Unlock()
		if s := verdict(call, texts); s != nil {
			return s
		}
		p.mu.Lock()
		for _, text := range texts {
			p.longest = max(p.longest, utf8.RuneCountInString(text))
		}
		p.mu.Unlock()
		return telling(t, r)
	})
	e := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: p.up.URL() + "/v1", APIKey: key, Model: "m"})
	e.Impatient(time.Minute, p.pauses.sleep)
	return e, p
}

func refuses(status int) *upstreamtest.Script {
	return upstreamtest.JSON(status, `{"error":{"message":"too much, `+key+`"}}`)
}

// Too large a batch is halved, each text keeps its vector, and the size that is
// taken is kept for what follows.
func TestBatchesHalve(t *testing.T) {
	for _, c := range []struct {
		status, most int
		want         string // sizes of the calls for 150 texts
	}{
		{400, 1000, "[64 64 22]"},
		{413, 32, "[64 32 32 32 32 22]"},
		{422, 10, "[64 32 16" + strings.Repeat(" 8", 18) + " 6]"},
	} {
		e, p := newPicky(t, func(_ int, texts []string) *upstreamtest.Script {
			if len(texts) > c.most {
				return refuses(c.status)
			}
			return nil
		})
		vectors, err := e.EmbedAll(t.Context(), numbered(150))
		if err != nil {
			t.Fatal(err)
		}
		checkTelling(t, vectors, 150)
		if got := fmt.Sprint(p.batches); got != c.want {
			t.Errorf("limit of %d: %s, want %s", c.most, got, c.want)
		}
		if len(p.pauses.all) != 0 {
			t.Errorf("limit of %d: waited %v", c.most, p.pauses.all)
		}
	}
}

// A text that is too long is cut until it is taken, and makes no later batch
// smaller.
func TestLongTexts(t *testing.T) {
	const longest = 700
	for _, status := range []int{400, 413, 422, 500} {
		e, p := newPicky(t, func(_ int, texts []string) *upstreamtest.Script {
			for _, text := range texts {
				if utf8.RuneCountInString(text) > longest {
					return refuses(status)
				}
			}
			return nil
		})
		texts := numbered(130)
		texts[70] = "70" + strings.Repeat("长", 2000)
		vectors, err := e.EmbedAll(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		checkTelling(t, vectors, 130)
		if p.longest != 500 {
			t.Errorf("%d: %d characters were taken, want 500", status, p.longest)
		}
		before := len(p.batches)
		if _, err := e.EmbedAll(t.Context(), numbered(64)); err != nil || fmt.Sprint(p.batches[before:]) != "[64]" {
			t.Errorf("%d: afterwards %v, %v", status, p.batches[before:], err)
		}
	}
}

// Long batches are short of texts.
func TestBatchesByLength(t *testing.T) {
	e, p := newPicky(t, func(int, []string) *upstreamtest.Script { return nil })
	texts := numbered(6)
	for i := range texts {
		texts[i] += strings.Repeat("字", 40_000)
	}
	texts[5] += strings.Repeat("字", 100_000)
	vectors, err := e.EmbedAll(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	checkTelling(t, vectors, 6)
	if fmt.Sprint(p.batches) != "[2 2 1 1]" {
		t.Errorf("%v", p.batches)
	}
}

// An API that is busy, fails, breaks off or is not there is asked again until
// it answers, later each time, and not before it said.
func TestPatience(t *testing.T) {
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		script *upstreamtest.Script
		want   []time.Duration // at least, and at most a quarter more
	}{
		"busy":          {refuses(429), []time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute, time.Minute}},
		"timed out":     {refuses(408), []time.Duration{1 * time.Second, 2 * time.Second}},
		"overloaded":    {refuses(503), []time.Duration{1 * time.Second, 2 * time.Second}},
		"broken off":    {upstreamtest.Respond(200).Header("Content-Length", "99").WriteString(`{"data"`).Reset(), []time.Duration{1 * time.Second, 2 * time.Second}},
		"no HTTP":       {upstreamtest.Respond(200).Interim([]byte("Bearer " + key + "\r\n\r\n")).CloseNow(), []time.Duration{1 * time.Second, 2 * time.Second}},
		"a front page":  {upstreamtest.JSON(200, "<html>starting up"), []time.Duration{1 * time.Second, 2 * time.Second}},
		"seconds":       {upstreamtest.JSON(429, "").Header("Retry-After", "20"), []time.Duration{20 * time.Second, 20 * time.Second}},
		"a date":        {upstreamtest.JSON(503, "").Header("Retry-After", "Sun, 01 Mar 2026 12:00:30 GMT"), []time.Duration{30 * time.Second}},
		"a past date":   {upstreamtest.JSON(503, "").Header("Retry-After", "Sun, 01 Mar 2026 11:00:00 GMT"), []time.Duration{time.Second}},
		"for ever":      {upstreamtest.JSON(429, "").Header("Retry-After", "999999999"), []time.Duration{10 * time.Minute}},
		"less than own": {upstreamtest.JSON(429, "").Header("Retry-After", "0"), []time.Duration{time.Second}},
		"nonsense":      {upstreamtest.JSON(429, "").Header("Retry-After", "-5"), []time.Duration{time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			n := len(c.want)
			up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
				if n--; n >= 0 {
					return c.script
				}
				return telling(t, r)
			})
			e := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: up.URL(), APIKey: key, Clock: func() time.Time { return day }})
			var p pauses
			e.Impatient(time.Minute, p.sleep)
			vectors, err := e.EmbedAll(t.Context(), numbered(3))
			if err != nil {
				t.Fatal(err)
			}
			checkTelling(t, vectors, 3)
			if len(p.all) != len(c.want) {
				t.Fatalf("waited %v, want %v", p.all, c.want)
			}
			for i, want := range c.want {
				if p.all[i] < want || p.all[i] > want+want/4 {
					t.Errorf("waited %v, want %v", p.all, c.want)
				}
			}
		})
	}
}

// While nobody listens the texts wait; when the caller gives up, they stop.
func TestPatienceEnds(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	e := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: "http://" + ln.Addr().String(), APIKey: key})
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	e.Impatient(time.Minute, func(ctx context.Context, _ time.Duration) error {
		if tries++; tries == 20 {
			cancel()
		}
		return ctx.Err()
	})
	if vectors, err := e.EmbedAll(ctx, numbered(3)); !errors.Is(err, context.Canceled) || vectors != nil || tries != 20 {
		t.Errorf("%v, %v after %d tries", vectors, err, tries)
	}

	up := upstreamtest.New(t, upstreamtest.Always(upstreamtest.Respond(200).Silence()))
	hanging := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: up.URL()})
	ctx, cancel = context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := hanging.EmbedAll(ctx, numbered(3)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// A server that hangs over a batch but not otherwise is too slow for it.
func TestHangingBatches(t *testing.T) {
	e, p := newPicky(t, func(_ int, texts []string) *upstreamtest.Script {
		if len(texts) > 2 {
			return upstreamtest.Respond(200).Silence()
		}
		return nil
	})
	e.Impatient(60*time.Millisecond, p.pauses.sleep)
	vectors, err := e.EmbedAll(t.Context(), numbered(4))
	if err != nil {
		t.Fatal(err)
	}
	checkTelling(t, vectors, 4)
	if got := fmt.Sprint(p.batches); got != "[4 4 4 1 2 2]" {
		t.Errorf("calls of %s", got)
	}
}

// One that fails at everything refuses nothing: no text is cut for it.
func TestFailingAtAll(t *testing.T) {
	e, p := newPicky(t, func(call int, _ []string) *upstreamtest.Script {
		if call <= 10 {
			return refuses(500)
		}
		return nil
	})
	texts := []string{"0" + strings.Repeat("x", 99)}
	vectors, err := e.EmbedAll(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	checkTelling(t, vectors, 1)
	if p.longest != 100 {
		t.Errorf("%d characters were taken, want 100", p.longest)
	}
}

// What will never work ends at once, and tells no secret.
func TestHopeless(t *testing.T) {
	elsewhere := upstreamtest.New(t, upstreamtest.Always(entries("[1,2]")))
	for name, c := range map[string]struct {
		script *upstreamtest.Script
		want   string
		calls  int
	}{
		"key":        {refuses(401), "status 401", 1},
		"forbidden":  {refuses(403), "status 403", 1},
		"model":      {refuses(404), "status 404", 1},
		"redirect":   {upstreamtest.Respond(308).Header("Location", elsewhere.URL()+"/v1/embeddings"), "redirect", 1},
		"dimensions": {entries("[1,2]", "[1,2,3]", "[1,2]"), "other dimensions", 1},
		"everything": {refuses(400), "status 400", 5}, // 3 texts, 1, and its first 4, 2 and 1 characters
		"zeros":      {entries("[0,0]"), "without direction", 5},
		"endless":    {upstreamtest.JSON(200, strings.Repeat(" ", 17<<20)), "longer", 5},
	} {
		t.Run(name, func(t *testing.T) {
			up := upstreamtest.New(t, upstreamtest.Always(c.script))
			e := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: up.URL() + "/v1", APIKey: key})
			var p pauses
			e.Impatient(time.Minute, p.sleep)
			vectors, err := e.EmbedAll(t.Context(), numbered(3))
			if err == nil || vectors != nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), key) || strings.Contains(err.Error(), up.URL()) {
				t.Errorf("%v, %v", vectors, err)
			}
			if len(p.all) != 0 || up.Calls() != c.calls || elsewhere.Calls() != 0 {
				t.Errorf("%d calls, waited %v", up.Calls(), p.all)
			}
		})
	}
}

// A batch whose answer is wrong is tried in halves: one text may be to blame.
func TestWrongAnswerInBatch(t *testing.T) {
	e, p := newPicky(t, func(_ int, texts []string) *upstreamtest.Script {
		if len(texts) > 1 {
			return entries("[1,2]")
		}
		return nil
	})
	vectors, err := e.EmbedAll(t.Context(), numbered(3))
	if err != nil {
		t.Fatal(err)
	}
	checkTelling(t, vectors, 3)
	if got := fmt.Sprint(p.batches); got != "[3 1 1 1]" {
		t.Errorf("calls of %s", got)
	}
}
