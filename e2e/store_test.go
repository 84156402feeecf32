//go:build unix

package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

// Bytes of a database's -shm file that SQLite locks: one for the writer, and
// with it all that readers and recovery take. Whoever holds them is another
// process to Strata, as a backup that hangs would be.
const (
	writerLock   = 120
	everyLock    = 120
	everyLockLen = 8
)

// lockStore takes locks of a store away from Strata until the returned
// function is called.
func lockStore(t testing.TB, path string, from, n int64) (release func()) {
	t.Helper()
	return lockFile(t, path+"-shm", from, n)
}

func lockFile(t testing.TB, path string, from, n int64) (release func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: 0, Start: from, Len: n}
	poll(t, "the store's locks are free", func() bool {
		return syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock) == nil
	})
	once := false
	release = func() {
		if !once {
			once = true
			_ = f.Close() // gives all locks back
		}
	}
	t.Cleanup(release)
	return release
}

// pace is how long answers take while all is well, the slowest of some: tests
// share their machine.
func (r *rig) pace(t testing.TB) (slowest time.Duration) {
	t.Helper()
	for n := range 8 {
		a := r.ask(t, u1(fmt.Sprintf("pace-%d", n)), user("what is my project code"))
		slowest = max(slowest, a.took)
	}
	return slowest
}

// wantQuick checks that a broken store cost most requests no more than limit
// and 100 ms, and none of them much more.
func wantQuick(t testing.TB, answers []reply, limit, pace time.Duration) {
	t.Helper()
	var took []time.Duration
	for _, a := range answers {
		took = append(took, a.took)
	}
	slices.Sort(took)
	limit += 100*time.Millisecond + 2*pace
	if most := took[len(took)*3/4]; most > limit {
		t.Errorf("three of four answers took up to %v, want at most %v", most, limit)
	}
	if most := took[len(took)-1]; most > 2*time.Second {
		t.Errorf("an answer took %v", most)
	}
}

// The limits that a request waits for a broken store: the opening, and the
// record at the end of its answer.
const (
	openingLimit = 50 * time.Millisecond
	recordLimit  = 50 * time.Millisecond
	ragLimit     = 150 * time.Millisecond
)

func TestC104LedgerThatHangs(t *testing.T) {
	t.Parallel()
	r := contextRig(t, nil)
	question := user("what is my project code")
	r.ask(t, u1("C104-0"), question).wantTimes(t, projectCode, 1)
	r.metric(t, "go_goroutines")

	pace := r.pace(t)
	release := lockStore(t, filepath.Join(r.dir, "ledger.db"), everyLock, everyLockLen)
	var before float64
	var answers []reply
	const hung = 40
	for n := range hung {
		a := r.ask(t, u1(fmt.Sprintf("C104-hang-%d", n)), question)
		a.wantOK(t)
		a.wantTransparent(t) // what cannot be proved undeleted is not served
		answers = append(answers, a)
		if a.result() != "none" || a.field("reason") != "ledger" {
			t.Errorf("X-Strata-Context %q, want none with reason=ledger", a.header.Get("X-Strata-Context"))
		}
		if n == 20 {
			before = r.metric(t, "go_goroutines")
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	wantQuick(t, answers, openingLimit+recordLimit, pace)
	if after := r.metric(t, "go_goroutines"); after > before+20 {
		t.Errorf("%v goroutines after 20 more requests, %v before", after, before)
	}
	release()
	r.waitUntil(t, "context comes back", func() bool {
		return r.ask(t, u1("C104-back"), question).result() == "full"
	})
	// What was said meanwhile is counted as late, and recorded now.
	if late := r.metric(t, "strata_exchanges_late_total"); late < hung {
		t.Errorf("%v exchanges are counted as late, want %d", late, hung)
	}
	for n := range hung {
		r.waitUntil(t, "what was said meanwhile is recorded", func() bool {
			return len(r.turns(t, u1(fmt.Sprintf("C104-hang-%d", n)))) == 2
		})
	}
}

// mainLock is where SQLite locks the database file itself, by readers too.
const mainLock, mainLockLen = 0x40000000, 512

// TestC104StartWhileTheStoreHangs: the start ends, requests are served, and get
// context once the store is let go of.
func TestC104StartWhileTheStoreHangs(t *testing.T) {
	t.Parallel()
	r := contextRig(t, nil)
	r.stop(t)
	release := lockFile(t, filepath.Join(r.dir, "ledger.db"), mainLock, mainLockLen)
	r.set = append(r.set, "STRATA_STORE_ON_ERROR=passthrough")
	r.boot(t)
	began := time.Now()
	var first int
	poll(t, "health is told", func() bool { first = r.readiness(); return first != 0 })
	if first != http.StatusServiceUnavailable {
		t.Errorf("/readyz says %d while the stores are waited for, want 503", first)
	}
	r.waitReady(t)
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("ready after %v, want some 5 s", took)
	}
	a := r.ask(t, u1("C104-start"), user("what is my project code"))
	a.wantOK(t)
	a.wantTransparent(t)
	if a.field("reason") != "store_unavailable" {
		t.Errorf("X-Strata-Context %q, want reason=store_unavailable", a.header.Get("X-Strata-Context"))
	}
	release()
	r.waitUntil(t, "the stores are open", func() bool { return r.metric(t, "strata_stores_ready") == 1 })
	r.waitUntil(t, "requests get context", func() bool {
		return strings.Contains(r.ask(t, u1("C104-started"), user("what is my project code")).upBody(), projectCode)
	})
}

func TestC104LedgerLockedForWriting(t *testing.T) {
	r := contextRig(t, nil)
	question := user("what is my project code")
	pace := r.pace(t)
	release := lockStore(t, filepath.Join(r.dir, "ledger.db"), writerLock, 1)
	var answers []reply
	for n := range 10 {
		a := r.ask(t, u1(fmt.Sprintf("C104-write-%d", n)), question)
		a.wantOK(t)
		a.wantClientBytes(t)
		a.wantTimes(t, projectCode, 1) // reading goes on
		answers = append(answers, a)
	}
	wantQuick(t, answers, recordLimit+ragLimit, pace)
	release()
	for n := range 10 {
		w := u1(fmt.Sprintf("C104-write-%d", n))
		r.waitUntil(t, "the turn is recorded", func() bool { return len(r.turns(t, w)) == 2 })
	}
	if late := r.metric(t, "strata_exchanges_late_total"); late < 10 {
		t.Errorf("%v exchanges counted as late, want the 10", late)
	}
}

func TestC104IndexThatHangs(t *testing.T) {
	t.Parallel()
	r := contextRig(t, nil)
	question := user("what is my project code")
	pace := r.pace(t)
	release := lockStore(t, filepath.Join(r.dir, "index.db"), everyLock, everyLockLen)
	var before float64
	var answers []reply
	for n := range 30 {
		a := r.ask(t, u1(fmt.Sprintf("C104-index-%d", n)), question)
		a.wantOK(t)
		a.wantClientBytes(t)
		a.wantTimes(t, projectCode, 1) // the layers that answer are there
		a.wantTimes(t, registerHit, 0)
		answers = append(answers, a)
		if a.result() != "partial" || !strings.Contains(a.header.Get("X-Strata-Context"), "skipped=knowledge:late") {
			t.Errorf("X-Strata-Context %q, want partial with knowledge:late", a.header.Get("X-Strata-Context"))
		}
		if n == 10 {
			before = r.metric(t, "go_goroutines")
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	wantQuick(t, answers, ragLimit+recordLimit, pace)
	if after := r.metric(t, "go_goroutines"); after > before+20 {
		t.Errorf("%v goroutines after 20 more requests, %v before", after, before)
	}
	// A question that needs no documents notices nothing.
	a := r.ask(t, u1("C104-chat"), user("Thank you. Please write a limerick about my project code"))
	a.wantOK(t)
	wantQuick(t, []reply{a}, ragLimit+recordLimit, pace)
	release()
	r.waitUntil(t, "documents come back", func() bool {
		return strings.Contains(r.ask(t, u1("C104-index-back"), question).upBody(), registerHit)
	})
}

// TestIndexRemovedWhileRunning: the index is a copy that can go at any time.
func TestIndexRemovedWhileRunning(t *testing.T) {
	r := contextRig(t, nil)
	index := filepath.Join(r.dir, "index.db")
	for _, file := range []string{index, index + "-wal", index + "-shm"} {
		_ = os.Remove(file)
	}
	a := r.ask(t, u1("removed-1"), user("what is my project code"))
	a.wantOK(t)
	a.wantClientBytes(t)
	a.wantTimes(t, projectCode, 1)
	r.restart(t)
	r.waitUntil(t, "the index is built again", func() bool {
		return strings.Contains(r.ask(t, u1("removed-2"), user("what is my project code")).upBody(), registerHit)
	})
}

// TestIndexDamagedWhileRunning: garbage in the file costs the documents and
// nothing else; put away it is built again.
func TestIndexDamagedWhileRunning(t *testing.T) {
	r := contextRig(t, nil)
	var many strings.Builder
	for n := range 300 {
		fmt.Fprintf(&many, "## Entry %d\nEntry %d about the harbour and its crane number %d.\n\n", n, n, n)
	}
	r.putDocument(t, "", "many.md", many.String())
	pace := r.pace(t)
	r.restart(t) // so that all of it is in the file itself, and no page of it in memory
	index := filepath.Join(r.dir, "index.db")
	info, err := os.Stat(index)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(index, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	garbage := bytes.Repeat([]byte{0xA5, 0x5A, 0xFF, 0x00}, int(info.Size()-4096)/4)
	if _, err := f.WriteAt(garbage, 4096); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	var answers []reply
	for n := range 5 {
		a := r.ask(t, u1(fmt.Sprintf("damaged-%d", n)), user("what is my project code"))
		a.wantOK(t)
		a.wantClientBytes(t)
		a.wantTimes(t, projectCode, 1)
		answers = append(answers, a)
		if a.result() != "partial" || a.field("reason") != "store_unavailable" {
			t.Errorf("X-Strata-Context %q, want partial with reason=store_unavailable", a.header.Get("X-Strata-Context"))
		}
	}
	wantQuick(t, answers, ragLimit+recordLimit, pace)
	r.stop(t)
	for _, file := range []string{index, index + "-wal", index + "-shm"} {
		_ = os.Remove(file)
	}
	r.boot(t)
	r.waitReady(t)
	r.waitUntil(t, "the index is built again", func() bool {
		return strings.Contains(r.ask(t, u1("damaged-back"), user("what is my project code")).upBody(), registerHit)
	})
}

// brokenStores are files that Strata must neither use nor change.
func brokenStores(t *testing.T) map[string]struct {
	file string
	data []byte
} {
	type broken = struct {
		file string
		data []byte
	}
	return map[string]broken{
		"ledger is text":     {"ledger.db", []byte("# notes\nnot a database at all, but somebody's\n")},
		"ledger is newer":    {"ledger.db", []byte(caseFile(t, "newer.db"))},
		"ledger is cut off":  {"ledger.db", append([]byte("SQLite format 3\x00"), bytes.Repeat([]byte{0x5A}, 3000)...)},
		"ledger is foreign":  {"ledger.db", bytes.Replace([]byte(caseFile(t, "newer.db")), []byte("STRA"), []byte("ABCD"), 1)},
		"index is a foreign": {"index.db", []byte(caseFile(t, "newer.db"))},
	}
}

func TestStartWithABrokenStore(t *testing.T) {
	for name, broken := range brokenStores(t) {
		t.Run(name, func(t *testing.T) {
			settings := []string{"exit", "passthrough"}
			if name == "ledger is text" {
				settings = append(settings, "") // without a terminal the same as passthrough
			}
			for _, onError := range settings {
				r := prepareRig(t, nil)
				if onError != "" {
					r.set = append(r.set, "STRATA_STORE_ON_ERROR="+onError)
				}
				if err := os.MkdirAll(r.dir, 0o700); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(r.dir, broken.file)
				if err := os.WriteFile(path, broken.data, 0o600); err != nil {
					t.Fatal(err)
				}
				r.boot(t)
				if onError == "exit" {
					r.wantRefusedStart(t, broken.file)
				} else {
					r.wantPassThrough(t)
				}
				if now, err := os.ReadFile(path); err != nil || sha256.Sum256(now) != sha256.Sum256(broken.data) {
					t.Errorf("store.on_error=%q: the file was changed (%v)", onError, err)
				}
			}
		})
	}
}

// wantRefusedStart checks the exit code and the one sentence.
func (r *rig) wantRefusedStart(t *testing.T, file string) {
	t.Helper()
	if code := r.exitCode(t, patience); code != 2 {
		t.Errorf("exit code %d, want 2", code)
	}
	var sentences []string
	for line := range strings.Lines(r.stderr.String()) {
		if strings.HasPrefix(line, "strata: ") {
			sentences = append(sentences, line)
		}
	}
	if len(sentences) != 1 || !strings.Contains(sentences[0], file) {
		t.Errorf("the program said, want one sentence that names %s:\n%s", file, r.stderr)
	}
}

// wantPassThrough checks that requests go on without context, and that it is
// told in header, metric and log.
func (r *rig) wantPassThrough(t *testing.T) {
	t.Helper()
	r.waitReady(t)
	a := r.ask(t, u1("S1"), user("what is my project code"))
	a.wantOK(t)
	a.wantTransparent(t)
	if a.result() != "none" || a.field("reason") != "store_unavailable" {
		t.Errorf("X-Strata-Context %q, want none with reason=store_unavailable", a.header.Get("X-Strata-Context"))
	}
	if r.metric(t, "strata_stores_ready") != 0 {
		t.Error("strata_stores_ready is not 0")
	}
	if log := r.stderr.String(); !strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("nothing loud in the log:\n%s", log)
	}
	if status, text := r.control(t, u1(""), http.MethodGet, "/v1/memories", "", ""); status != http.StatusServiceUnavailable {
		t.Errorf("the control plane answers %d %s, want 503", status, text)
	}
	r.stop(t)
}

// TestStartWithADamagedIndex: an index can be built anew, so that a damaged one
// turns nothing off. What it was stays beside it.
func TestStartWithADamagedIndex(t *testing.T) {
	r := contextRig(t, nil)
	index := filepath.Join(r.dir, "index.db")
	r.stop(t)
	whole, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for n, damaged := range [][]byte{
		[]byte("# notes\nnot a database at all\n"),
		whole[:len(whole)/2],
		append(slices.Clone(whole[:4096]), bytes.Repeat([]byte{0xA5, 0x5A}, 8192)...),
	} {
		if err := os.WriteFile(index, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		r.boot(t)
		r.waitReady(t)
		a := r.ask(t, u1(fmt.Sprintf("damaged-%d", n)), user("what is my project code"))
		a.wantOK(t)
		a.wantClientBytes(t)
		a.wantTimes(t, projectCode, 1)
		r.waitUntil(t, "the index is built again", func() bool {
			return strings.Contains(r.ask(t, u1(fmt.Sprintf("damaged-back-%d", n)), user("what is my project code")).upBody(), registerHit)
		})
		r.stop(t)
		files, err := filepath.Glob(index + ".broken-*")
		if err != nil || len(files) != n+1 {
			t.Fatalf("kept are %q, %v, want %d files", files, err, n+1)
		}
		if !slices.ContainsFunc(files, func(file string) bool {
			b, err := os.ReadFile(file)
			return err == nil && bytes.Equal(b, damaged)
		}) {
			t.Errorf("none of %q is what was there", files)
		}
	}
}

// TestBrokenStorePassesEverythingOn: streams, tools and errors come back as
// without Strata while the stores are not there.
func TestBrokenStorePassesEverythingOn(t *testing.T) {
	r := prepareRig(t, upstreamtest.OpenAI(), "STRATA_STORE_ON_ERROR=passthrough")
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "ledger.db"), []byte("not a database"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.boot(t)
	r.waitReady(t)
	for _, body := range []string{
		`{"model":"gpt-4o-mini","stream":true,"messages":[{"role":"user","content":"hello"}]}`,
		`{"model":"error-429","messages":[{"role":"user","content":"hello"}]}`,
		`{"model":"gpt-4o-mini","n":2,"messages":[{"role":"user","content":[{"type":"text","text":"我的项目代号是什么？"}]}]}`,
		`{"messages":`,
	} {
		a := r.askBody(t, u1("S1"), body)
		a.wantTransparent(t)
		if want := string(r.upAnswer(t, a)); a.body != want {
			t.Errorf("%s\nanswered with\n%s\nupstream says\n%s", body, a.body, want)
		}
	}
}
