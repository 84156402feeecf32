package e2e_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A model with vectors of another length, under another name: requests go on,
// the log names both, nothing is thrown away unasked, and after the rebuild all
// is found again.
func TestC089EmbedderWithOtherDimensions(t *testing.T) { onBothIndexes(t, embedderWithOtherDimensions) }

func embedderWithOtherDimensions(t *testing.T, set ...string) {
	e := newEmbedder(t)
	e.set(func(e *embedder) { e.dims = 8 })
	r := newRig(t, nil, append(set, e.settings("small-8", patient)...)...)
	w := u1("C089")
	for i := range 20 {
		r.addMemory(t, w, "agreement", fmt.Sprint("locker ", i), fmt.Sprintf("The locker of the team called TEAM%02d is LOCKER-%02d.", i, i))
	}
	r.putForVectors(t, "leave.md", "# Absence\n\nStaff are granted TWENTY-FIVE days of annual leave.\n")
	r.waitVectors(t, "leave.md")
	r.waitUntil(t, "all has vectors", func() bool { return strings.Contains(r.stderr.String(), "all documents have their vectors") })

	r.stop(t)
	e.set(func(e *embedder) { e.dims = 16 })
	r.set = append(settings{"TZ=Asia/Shanghai"}, append(set, e.settings("large-16", patient)...)...)
	r.boot(t)
	r.waitReady(t)
	r.waitUntil(t, "the log names both", func() bool {
		log := r.stderr.String()
		return strings.Contains(log, `"had_model":"small-8"`) && strings.Contains(log, `"model":"large-16"`)
	})
	found := func(when string) {
		t.Helper()
		for i := range 20 {
			a := r.ask(t, w, user(fmt.Sprintf("which locker has the team TEAM%02d?", i)))
			if a.wantOK(t); !strings.Contains(a.upBody(), fmt.Sprintf("LOCKER-%02d", i)) {
				t.Errorf("%s: memory %d is not found", when, i)
			}
		}
		if a := r.ask(t, asRAG(w), user("How many days of annual leave are granted to staff?")); !strings.Contains(a.upBody(), "TWENTY-FIVE") {
			t.Errorf("%s: the document is not found (%s)", when, a.header.Get("X-Strata-Context"))
		}
	}
	found("before the rebuild")
	r.putForVectors(t, "lunch.md", "# Lunch\n\nLunch costs ELEVEN crowns.\n") // writing goes on too
	if got := r.vectorsOf(t, "leave.md"); got != "ready" {
		t.Errorf("the former vectors: %s", got)
	}

	cmd := exec.CommandContext(within(t), build.binary, "index", "rebuild")
	cmd.Env = slices.Clone(r.cmd.Env)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r.waitMetric(t, "strata_vectors_ready", 1)
	r.waitVectors(t, "leave.md", "lunch.md")
	found("after the rebuild")
}

// A text of 60 MB, in 400,000 lines (a tenth of it, unless STRATA_LONG is set):
// taken in, embedded and found to its last line, while chats go on as before. A
// line of 20 MB without a space is no trouble either, and one that is deleted
// under way ends soon.
func TestC109HugeDocument(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("measures memory and pace")
	}
	lines, longLine := 40_000, 2<<20
	if os.Getenv("STRATA_LONG") != "" {
		lines, longLine = 400_000, 20<<20
	}
	e := newEmbedder(t)
	e.set(func(e *embedder) { e.slow = 50 * time.Millisecond })
	r := newRig(t, nil, e.settings("m1", patient)...)
	r.waitMetric(t, "strata_vectors_ready", 1)
	chats := r.chatting(t)
	time.Sleep(3 * time.Second)
	usual := chats()
	before := r.memory(t, "VmRSS")
	r.resetPeak(t)

	chats = r.chatting(t)
	var text strings.Builder
	for n := range lines {
		fmt.Fprintf(&text, "第%d行 口令 K%05d %s\n", n, n*7%100_000, strings.Repeat("交接班记录须当日归档。", 4))
	}
	began := time.Now()
	r.putHuge(t, "huge.txt", text.String())
	published := time.Since(began)
	r.putHuge(t, "line.txt", strings.Repeat("一行没有空格的文字", longLine/27)+"末尾口令TAIL42")
	r.deletedSoon(t, "gone.txt", text.String())
	a := r.ask(t, asRAG(u1("C109")), user(fmt.Sprintf("第%d行的口令是什么？", lines-1)))
	if want := fmt.Sprintf("K%05d", (lines-1)*7%100_000); !strings.Contains(a.upBody(), want) {
		t.Errorf("the last line is not found (%s)", a.header.Get("X-Strata-Context"))
	}
	if a := r.ask(t, asRAG(u1("C109")), user("末尾口令TAIL42是什么？")); !strings.Contains(a.upBody(), "TAIL42\\n") {
		t.Errorf("the end of the long line is not found (%s)", a.header.Get("X-Strata-Context"))
	}
	meanwhile, grown := chats(), r.memory(t, "VmHWM")-before
	t.Logf("%.1f MB published in %v; chats' p99 %v, before %v; memory grew by %.0f MB at most", float64(text.Len())/(1<<20), published, meanwhile, usual, mb(grown))
	if grown > 300<<20 {
		t.Errorf("memory grew by %.0f MB, want at most 300", mb(grown))
	}
	if meanwhile > 2*usual+500*time.Millisecond { // others use the machine too
		t.Errorf("chats took up to %v, before %v", meanwhile, usual)
	}

	conn, err := net.Dial("tcp", r.program.admin)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(conn, "PUT /v1/documents/larger.txt HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", r.program.admin, r.token, 300<<20)
	status, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(status, " 413 ") {
		t.Errorf("a document above the limit: %q %v", status, err)
	}
}

// putHuge takes a large document in and waits until it is published.
func (r *rig) putHuge(t *testing.T, id, text string) {
	t.Helper()
	r.must(t, who{}, http.MethodPut, "/v1/documents/"+id, "text/plain", text, nil)
	until := time.Now().Add(8 * time.Minute)
	for time.Now().Before(until) {
		var list struct {
			Documents []struct{ ID, Status string }
		}
		r.must(t, who{}, http.MethodGet, "/v1/documents", "", "", &list) // one alone comes with all its text
		for _, d := range list.Documents {
			if d.ID == id && d.Status == "published" {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	_, jobs := r.control(t, who{}, http.MethodGet, "/v1/jobs", "", "")
	t.Fatalf("%s is not published: %s", id, jobs)
}

// deletedSoon deletes a large document while it is taken in and wants the work
// on it to end.
func (r *rig) deletedSoon(t *testing.T, id, text string) {
	t.Helper()
	var job struct{ Job string }
	r.must(t, who{}, http.MethodPut, "/v1/documents/"+id, "text/plain", text, &job)
	if job.Job == "" {
		return // it was taken in at once
	}
	r.deleteDocument(t, "", id)
	began := time.Now()
	poll(t, "the job has ended", func() bool {
		_, text := r.control(t, who{}, http.MethodGet, "/v1/jobs/"+job.Job, "", "")
		return !strings.Contains(text, `"status":"pending"`)
	})
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("a deleted document was worked on for another %v", took)
	}
	if _, there := r.document(t, "", id); there {
		t.Error("a deleted document is there")
	}
}

// chatting sends five chats a second until the function that it returns is
// called, which tells the time of the slowest but one in a hundred.
func (r *rig) chatting(t *testing.T) (p99 func() time.Duration) {
	end := make(chan struct{})
	var all sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	all.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			all.Go(func() {
				a := r.ask(t, u1(fmt.Sprint("chat-", n)), user("tell me a story about the sea"))
				mu.Lock()
				defer mu.Unlock()
				took = append(took, a.took)
			})
		}
	})
	return func() time.Duration {
		close(end)
		all.Wait()
		slices.Sort(took)
		return took[len(took)*99/100]
	}
}
