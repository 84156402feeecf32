package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"strata/admin"
	"strata/admin/admintest"
	"strata/cli"
	"strata/stores"
)

// TestDocsShowJSON: what is printed some passages at a time is the answer.
func TestDocsShowJSON(t *testing.T) {
	_, url := control(t)
	dir := t.TempDir()
	for _, text := range []string{"One & <two>.", "One.\n\nTwo \"三\".\n\nThree."} {
		ok(t, url, []string{"ingest", write(t, dir, "a.md", text), "--id", "a"})
		req, _ := http.NewRequest("GET", url+"/v1/documents/a", nil)
		req.Header.Set("Authorization", "Bearer t")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		var want strings.Builder
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(json.RawMessage(answer)); err != nil {
			t.Fatal(err)
		}
		if got := ok(t, url, []string{"docs", "show", "a", "--json"}); got != want.String() {
			t.Errorf("got\n%s\nwant\n%s", got, want.String())
		}
	}
}

// An answer that is broken off is an error, and nothing of it is shown; the
// history needs no passages.
func TestDocsBrokenOff(t *testing.T) {
	store, url := control(t)
	dir, tmp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for _, end := range []string{"Four.", "Five."} {
		ok(t, url, []string{"ingest", write(t, dir, "a.md", strings.Repeat("One.", 5000)+"\n\nTwo.\n\nThree.\n\n"+end), "--id", "a"})
	}
	store.Read = func(_ string, first int) error {
		if first > 0 {
			return errors.New("disk")
		}
		return nil
	}
	for _, args := range [][]string{{"show", "a"}, {"show", "a", "--json"}, {"diff", "a"}, {"diff", "a", "--json"}} {
		if code, stdout, stderr := verb(t, url, append([]string{"docs"}, args...)...); code != 1 || stdout != "" || !strings.Contains(stderr, "broke off its answer; try again") {
			t.Errorf("%v: exit code %d, %q, %s", args, code, stdout, stderr)
		}
	}
	store.Read = func(string, int) error { return errors.New("disk") }
	ok(t, url, []string{"docs", "history", "a"}, "replaced")
	store.Read = nil
	ok(t, url, []string{"docs", "diff", "a"}, "-Four.\n+Five.\n")
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// What is no document of Strata's is told as such.
func TestDocsForeign(t *testing.T) {
	answer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
	defer server.Close()
	for _, answer = range []string{"", "[]", "hello", `{"id":"a"}`, `{"id":7,"passages":[]}`, `{"id":"a","passages":{}}`, `{"id":"a","passages":[7]}`, `{"id":"a","passages":[{"id":"b"}`} {
		if code, _, stderr := verb(t, server.URL, "docs", "show", "a"); code != 1 || !strings.Contains(stderr, "something else than Strata's control plane") {
			t.Errorf("%s: exit code %d, %s", answer, code, stderr)
		}
	}
}

// manual is a store with two versions of a long document, which differ in a few
// lines.
type manual struct {
	*admintest.Store
	passages int
}

func (m *manual) Document(context.Context, string, string) (stores.Document, []stores.Version, error) {
	return stores.Document{ID: "a", Version: 2, Status: "published", Passages: m.passages}, []stores.Version{{Version: 2, Status: "current"}, {Version: 1, Status: "replaced"}}, nil
}

func (m *manual) DocumentPassages(_ context.Context, _, _ string, version, first int) (page []stores.Passage, err error) {
	for n := first; n < min(first+64, m.passages); n++ {
		p := stores.Passage{ID: fmt.Sprint("psg_", n), Version: version, Ordinal: n, Text: strings.Repeat(fmt.Sprint("Rule ", n, ".\n"), 200)}
		if n%1000 == 0 { // a few sections, one of which is half of the document
			p.Heading = fmt.Sprint("Chapter ", n)
		}
		if version == 2 && (n == m.passages/2 || n%1000 == 0) {
			p.Text += "Another rule.\n"
		}
		page = append(page, p)
	}
	return page, nil
}

// TestDocsMemory compares two versions of 16 MB, shows one, and looks at what is
// in memory meanwhile, of the server too.
func TestDocsMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // so that little of it is garbage
	m := &manual{admintest.New(), 7_000}
	cfg := m.Config()
	cfg.Documents = m
	server := httptest.NewServer(admin.New(cfg))
	defer server.Close()
	for _, args := range [][]string{{"diff", "a"}, {"diff", "a", "--json"}, {"show", "a"}, {"show", "a", "--json"}} {
		var most atomic.Uint64
		runtime.GC()
		before := inUse()
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
					most.Store(max(most.Load(), inUse()))
				}
			}
		}()
		code := cli.Main(append([]string{"docs"}, append(args, "--server", server.URL, "--token", "t")...), strings.NewReader(""), io.Discard, io.Discard)
		close(stop)
		<-stopped
		t.Logf("%v: %d KB in use at most, %d KB before", args, most.Load()>>10, before>>10)
		if code != 0 || most.Load() == 0 || most.Load() > before+8<<20 {
			t.Errorf("%v: exit code %d, %d KB in use at most, %d KB before", args, code, most.Load()>>10, before>>10)
		}
	}
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
