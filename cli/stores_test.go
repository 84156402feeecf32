package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"strata/stores/textindex"
)

// model is an upstream that answers every chat and keeps the last request.
func model(t *testing.T) (env string, last func() string) {
	t.Helper()
	bodies := make(chan string, 1)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		select {
		case <-bodies:
		default:
		}
		bodies <- string(b)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Noted."}}]}`)
	}))
	t.Cleanup(up.Close)
	return "STRATA_UPSTREAM_BASE_URL=" + up.URL + "/v1", func() string { return <-bodies }
}

// chat asks as alice and returns X-Strata-Context.
func (s *serving) chat(t *testing.T, words string) string {
	t.Helper()
	req, err := http.NewRequest("POST", s.data+"/v1/chat/completions", strings.NewReader(fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]}`, words)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Strata-User", "alice")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 || !bytes.Contains(b, []byte("Noted.")) {
		t.Fatalf("%d %s, %v", resp.StatusCode, b, err)
	}
	return resp.Header.Get("X-Strata-Context")
}

// eventually polls until done, for 20 s at most.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// put uploads a document.
func (s *serving) put(t *testing.T, id, text string) {
	t.Helper()
	req, err := http.NewRequest("PUT", s.admin+"/v1/documents/"+id, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer t")
	req.Header.Set("Content-Type", "text/markdown")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 {
		t.Fatalf("%d %s", resp.StatusCode, b)
	}
}

// Stores that cannot be opened at the start are opened as soon as they can be,
// and requests get context from then on.
func TestStoresThatOpenLater(t *testing.T) {
	upstream, _ := model(t)
	data := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(data, nil, 0o600); err != nil { // in the folder's place
		t.Fatal(err)
	}
	s, code := here(t, map[string]string{"STRATA_DATA_DIR": data, "STRATA_ADMIN_TOKEN": "t", "STRATA_UPSTREAM_BASE_URL": strings.TrimPrefix(upstream, "STRATA_UPSTREAM_BASE_URL=")})
	if got := s.chat(t, "I live in Porto."); got != "none; tokens=0; reason=store_unavailable" {
		t.Errorf("without stores: X-Strata-Context %q", got)
	}
	if status, _ := get(t, s.admin+"/v1/memories", "t"); status != 503 {
		t.Errorf("without stores: the control plane answers %d, want 503", status)
	}
	if err := os.Remove(data); err != nil {
		t.Fatal(err)
	}
	eventually(t, "requests get context", func() bool { return !strings.Contains(s.chat(t, "I live in Lagos."), "store_unavailable") })
	eventually(t, "the control plane answers", func() bool { status, _ := get(t, s.admin+"/v1/memories", "t"); return status == 200 })
	if _, metrics := get(t, s.admin+"/metrics", ""); !strings.Contains(metrics, "strata_stores_ready 1") || !strings.Contains(metrics, "strata_outbox_rows 0") {
		t.Error("the metrics do not tell that the stores are open")
	}
	s.chat(t, "My office is in building 3.")
	eventually(t, "what is said now is learned", func() bool {
		_, list := get(t, s.admin+"/v1/memories?user=alice", "t")
		return strings.Contains(list, "building 3") && !strings.Contains(list, "Porto")
	})
	if got, _ := s.end(t, code); got != 0 || !strings.Contains(s.log.String(), "tried again until they open") || !strings.Contains(s.log.String(), `"msg":"stopped"`) {
		t.Errorf("exit code %d\n%s", got, s.log)
	}
}

// The end does not wait for stores that cannot be opened.
func TestEndWhileStoresAreTried(t *testing.T) {
	upstream, _ := model(t)
	data := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(data, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, code := here(t, map[string]string{"STRATA_DATA_DIR": data, "STRATA_UPSTREAM_BASE_URL": strings.TrimPrefix(upstream, "STRATA_UPSTREAM_BASE_URL=")})
	if got, took := s.end(t, code); got != 0 || took > 5*time.Second {
		t.Errorf("exit code %d after %v, want 0 at once", got, took)
	}
}

// withRegister is a folder in which a Strata that has stopped took in a
// document, the path of its index, and what another one there is started with.
func withRegister(t *testing.T) (dir, index string, env []string, last func() string) {
	t.Helper()
	upstream, last := model(t)
	dir, env = t.TempDir(), []string{upstream, "STRATA_ADMIN_TOKEN=t"}
	s := serve(t, dir, env...)
	s.put(t, "register.md", "# Harbour\n\nThe crane register number is ZEBRA-41.\n")
	s.stop(t)
	return dir, filepath.Join(dir, ".local/share/strata/index.db"), env, last
}

// A damaged index is put aside, told of once, and built anew from the ledger,
// while requests go on with what does not need it.
func TestDamagedIndex(t *testing.T) {
	dir, index, env, last := withRegister(t)
	garbage := strings.Repeat("this was an index once ", 1000)
	if err := os.WriteFile(index, []byte(garbage), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, dir, env...)
	eventually(t, "the document is found again", func() bool {
		got := s.chat(t, "What is the crane register number?")
		found := strings.Contains(last(), "ZEBRA-41")
		if !found && !strings.Contains(got, "skipped=knowledge:filling; reason=store_unavailable") {
			t.Errorf("what cannot be searched yet is told as X-Strata-Context %q", got)
		}
		return found
	})
	s.stop(t)
	kept, err := filepath.Glob(index + ".broken-*")
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept: %q, %v", kept, err)
	}
	if b, err := os.ReadFile(kept[0]); err != nil || string(b) != garbage {
		t.Errorf("what was put aside has changed: %.40q, %v", b, err)
	}
	if n := strings.Count(s.log.String(), "put aside"); n != 1 || !strings.Contains(s.log.String(), kept[0]) {
		t.Errorf("%d lines tell of it, want one that names %s\n%s", n, kept[0], s.log)
	}
	s = serve(t, dir, env...)
	s.stop(t)
	if again, _ := filepath.Glob(index + ".broken-*"); len(again) != 1 || strings.Contains(s.log.String(), "put aside") {
		t.Errorf("a second start puts aside %q", again)
	}
}

// Until what a lost index had is in it again, a question is not told that
// nothing fits it.
func TestIndexBeingFilled(t *testing.T) {
	dir, path, env, last := withRegister(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	x, err := textindex.New(t.Context(), textindex.Config{Path: path})
	if err == nil {
		err = x.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path) // keeps it from being filled
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	s := serve(t, dir, env...)
	if got := s.chat(t, "What is the crane register number?"); !strings.Contains(got, "none;") || !strings.Contains(got, "skipped=knowledge:filling; reason=store_unavailable") {
		t.Errorf("X-Strata-Context %q", got)
	}
	last()
	if _, err := db.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the document is found again", func() bool {
		got := s.chat(t, "What is the crane register number?")
		return strings.Contains(last(), "ZEBRA-41") && !strings.Contains(got, "filling")
	})
	s.stop(t)
}

// A watcher hears of what was learned from a request.
func TestLearnedIsTold(t *testing.T) {
	upstream, _ := model(t)
	s := serve(t, t.TempDir(), upstream, "STRATA_ADMIN_TOKEN=t")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.admin+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer t")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Scan() // of life
	s.chat(t, "My office is in building 3.")
	learned, request := "", false
	for learned == "" || !request {
		if !lines.Scan() {
			t.Fatalf("the stream ends: %v", lines.Err())
		}
		switch line := lines.Text(); {
		case strings.Contains(line, `"event":"learned"`):
			learned = line
		case strings.Contains(line, `"event":"request"`):
			request = true
		}
	}
	if !strings.Contains(learned, `"user":"alice"`) || !strings.Contains(learned, `"new":1,"replaced":0,"erased":0`) {
		t.Errorf("told %s", learned)
	}
	s.stop(t)
}
