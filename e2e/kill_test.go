package e2e_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestKill ends the program with SIGKILL at random moments while chats,
// uploads and admin calls are under way, starts it again on the same folder
// each time, and wants everything back that was answered.
func TestKill(t *testing.T) {
	points := 15
	switch {
	case os.Getenv("STRATA_LONG") != "":
		points = 100
	case testing.Short():
		points = 4
	}
	r := newRig(t, nil, "STRATA_LOG_LEVEL=debug")
	k := &killing{t: t, r: r, rand: rand.New(rand.NewPCG(7, uint64(points))), late: map[string]bool{}}
	k.control(who{}, http.MethodGet, "/v1/stats", "", "") // reads the token
	for round := range points {
		k.round = round
		k.load()
		k.check(false)
	}
	k.check(true)
	k.report(points)
	r.restart(t)
	k.check(true)
}

// killUsers is how many people there are, each with two sessions' clients.
const killUsers = 4

// killing is what was answered so far. mu guards all but the first three.
type killing struct {
	t     *testing.T
	r     *rig
	rand  *rand.Rand
	round int

	mu       sync.Mutex
	said     []statement
	stored   []knownMemory
	uploads  map[string]*upload
	late     map[string]bool // request ids that were said to be late
	answered int
	lost     int // late ones that were not there after the kill
}

// statement is one thing that a user said once, and whether its answer came
// through in full.
type statement struct {
	w       who
	words   string
	marker  string
	request string // id, "" without an answer
	lost    bool
	asks    bool // a question, which states nothing
}

// knownMemory is one that was added by an answered call.
type knownMemory struct {
	w      who
	id     string
	marker string
	gone   bool // a delete was answered
	asked  bool // a delete was sent
}

// upload is a document: what an upload was answered for, and what was sent.
type upload struct {
	version   int
	marker    string
	sent      []string // markers of uploads since without an answer
	deleted   bool     // a delete was answered
	deleting  bool     // one was sent and not answered
	forbidden []string // markers that were replaced, or deleted
}

// errDown is what calls end with once the program is killed.
var errDown = errors.New("the program is down")

// control is rig.control for a program that may be killed meanwhile.
func (k *killing) control(w who, method, path, contentType, body string) (int, string, error) {
	if k.r.token == "" {
		k.r.control(k.t, who{}, http.MethodGet, "/v1/stats", "", "")
	}
	req, err := http.NewRequest(method, "http://"+k.r.program.admin+path, strings.NewReader(body))
	if err != nil {
		k.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+k.r.token)
	if body != "" {
		req.Header.Set("Content-Type", contentType)
	}
	w.set(req.Header)
	resp, err := k.r.client.Do(req)
	if err != nil {
		return 0, "", errDown
	}
	text, err := whole(resp, nil)
	if err != nil && resp.StatusCode == http.StatusOK {
		return 0, "", errDown
	}
	return resp.StatusCode, string(text), nil
}

// load lets clients work until a random moment, then kills the program and
// starts it again.
func (k *killing) load() {
	stop := make(chan struct{})
	var clients sync.WaitGroup
	run := func(seed int, work func(rnd *rand.Rand, n int) error) {
		rnd := rand.New(rand.NewPCG(uint64(seed), uint64(k.round)))
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := work(rnd, n); err != nil {
					return
				}
			}
		})
	}
	for c := range 2 * killUsers {
		run(c, func(rnd *rand.Rand, n int) error { return k.speak(c, n, rnd) })
	}
	run(10, k.keepMemory)
	run(11, k.keepMemory)
	run(12, k.putOne)
	time.Sleep(time.Duration(30+k.rand.IntN(450)) * time.Millisecond) // any moment will do
	if err := k.r.cmd.Process.Kill(); err != nil {
		k.t.Fatal(err)
	}
	<-k.r.exited
	close(stop)
	clients.Wait()
	for _, m := range lateLine.FindAllStringSubmatch(k.r.stderr.String(), -1) {
		k.late[m[1]] = true
	}
	k.r.boot(k.t)
	k.r.waitReady(k.t)
}

var lateLine = regexp.MustCompile(`"msg":"the exchange was not recorded in time","request":"([^"]+)"`)

// speak states one thing, in one of many sessions.
func (k *killing) speak(client, n int, rnd *rand.Rand) error {
	time.Sleep(time.Duration(rnd.IntN(5_000)) * time.Microsecond) // people think, a little
	w := who{user: fmt.Sprint("U", client%killUsers), session: fmt.Sprintf("S%d-%d", client, rnd.IntN(3))}
	s := statement{w: w, marker: fmt.Sprintf("ZEBRA-%d%03d%04d", client+1, k.round, n)}
	kind := rnd.IntN(6)
	s.words = fmt.Sprintf([]string{"Remember: the code of hall %s is blue", "请记住：%s号门要先敲门", "I like %s tea",
		"What colour has the code of hall %s?", "%s号门在哪里？", "How is %s tea made?"}[kind], s.marker)
	s.asks = kind > 2
	body := chatBody(user(s.words))
	if rnd.IntN(2) == 0 {
		body = strings.Replace(body, `{"model"`, `{"stream":true,"model"`, 1)
	}
	a, err := k.r.tryBody(w, body)
	if err == nil && a.status != http.StatusOK {
		k.t.Errorf("status %d: %s", a.status, a.body)
	}
	if err == nil {
		s.request = a.header.Get("X-Strata-Request-Id")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.said = append(k.said, s)
	if err == nil {
		k.answered++
	}
	return err
}

// keepMemory adds memories, and deletes some that are known.
func (k *killing) keepMemory(rnd *rand.Rand, n int) error {
	time.Sleep(time.Duration(rnd.IntN(10_000)) * time.Microsecond)
	if at := k.someMemory(rnd); at >= 0 && rnd.IntN(4) == 0 {
		k.mu.Lock()
		k.stored[at].asked = true
		m := k.stored[at]
		k.mu.Unlock()
		status, text, err := k.control(m.w, http.MethodDelete, "/v1/memories/"+m.id, "", "")
		if err == nil && status != http.StatusOK {
			k.t.Errorf("delete: %d %s", status, text)
		}
		k.mu.Lock()
		k.stored[at].gone = err == nil
		k.mu.Unlock()
		return err
	}
	m := knownMemory{w: who{user: fmt.Sprint("U", rnd.IntN(killUsers))}, marker: fmt.Sprintf("YAK-%d%03d%04d", rnd.Uint32()%1000, k.round, n)}
	status, text, err := k.control(m.w, http.MethodPost, "/v1/memories", "application/json",
		fmt.Sprintf(`{"memory_type":"conclusion","topic":"note","summary":"The lamp of yard %s is green."}`, m.marker))
	if err != nil {
		return err
	}
	if status != http.StatusCreated {
		k.t.Errorf("add: %d %s", status, text)
	}
	m.id = memoryID.FindString(text)
	k.mu.Lock()
	k.stored = append(k.stored, m)
	k.mu.Unlock()
	return nil
}

var memoryID = regexp.MustCompile(`mem_[0-9a-f]+`)

// someMemory draws a memory whose delete has not been sent; -1 for none.
func (k *killing) someMemory(rnd *rand.Rand) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.stored) == 0 {
		return -1
	}
	at := rnd.IntN(len(k.stored))
	if k.stored[at].asked {
		return -1
	}
	return at
}

// putOne puts a new document or version, or deletes one. Only one client does.
func (k *killing) putOne(rnd *rand.Rand, n int) error {
	if k.uploads == nil {
		k.uploads = map[string]*upload{}
	}
	id := fmt.Sprint("doc-", rnd.IntN(8))
	u := k.uploads[id]
	if u == nil {
		u = &upload{}
		k.uploads[id] = u
	}
	if u.version > 0 && !u.deleted && rnd.IntN(5) == 0 {
		u.deleting = true
		status, text, err := k.control(who{}, http.MethodDelete, "/v1/documents/"+id, "", "")
		if err != nil {
			return err
		}
		if status != http.StatusOK && status != http.StatusNotFound {
			k.t.Errorf("delete: %d %s", status, text)
		}
		*u = upload{deleted: true, forbidden: append(append(u.forbidden, u.sent...), u.marker)}
		return nil
	}
	marker := fmt.Sprintf("GNU-%03d%04d", k.round, n)
	u.sent = append(u.sent, marker)
	status, text, err := k.control(who{}, http.MethodPut, "/v1/documents/"+id, "text/markdown", killDocument(id, marker))
	if err != nil {
		return err
	}
	if status != http.StatusOK || !strings.Contains(text, `"published"`) {
		k.t.Errorf("put: %d %s", status, text)
	}
	forbidden := append(append(u.forbidden, u.sent[:len(u.sent)-1]...), u.marker)
	*u = upload{version: u.version + 1, marker: marker, forbidden: forbidden}
	return nil
}

func killDocument(id, marker string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Guide %s\n\n## Opening hours of gate %s\n\nThe gate %s opens at the bell %s.\n", id, id, id, marker)
	for i := range 12 {
		fmt.Fprintf(&b, "\n## Part %d\n\nThe lamp %d of %s stands beside the fence, see %s.\n", i, i, id, marker)
	}
	return b.String()
}

// check compares what is there with what was answered; learned wants all of it
// learned, too.
func (k *killing) check(learned bool) {
	k.t.Helper()
	for _, word := range []string{`"level":"ERROR"`, "NOT OPEN", "damaged"} {
		if strings.Contains(k.r.stderr.String(), word) {
			k.t.Fatalf("round %d: the program says %q after the kill:\n%.3000s", k.round, word, k.r.stderr)
		}
	}
	k.checkTurns()
	k.checkMemories()
	k.checkDocuments()
	if learned {
		k.checkLearned()
	}
}

// checkTurns wants each answered exchange recorded once, unless it was said to
// be late, and others at most once.
func (k *killing) checkTurns() {
	k.t.Helper()
	recorded := map[string]int{}
	sessions := map[string]bool{}
	for i := range k.said {
		w := k.said[i].w
		if key := w.user + " " + w.session; sessions[key] {
			continue
		} else {
			sessions[key] = true
		}
		for _, said := range k.r.turns(k.t, w) {
			if said.Role == "user" {
				recorded[said.Content]++
			}
		}
	}
	for i := range k.said {
		s := &k.said[i]
		n := recorded[s.words]
		switch {
		case n > 1:
			k.t.Errorf("round %d: %q is recorded %d times", k.round, s.words, n)
		case n == 1 || s.request == "" || s.lost:
		case k.late[s.request]:
			s.lost = true
			k.lost++
		default:
			k.t.Errorf("round %d: %q was answered (%s) and is not recorded", k.round, s.words, s.request)
		}
	}
}

func (k *killing) checkMemories() {
	k.t.Helper()
	active := map[string]bool{}
	for u := range killUsers {
		for _, m := range k.allMemories(fmt.Sprint("U", u)) {
			active[m.ID] = true
		}
	}
	for _, m := range k.stored {
		switch {
		case m.gone && active[m.id]:
			k.t.Errorf("round %d: %s was deleted and is back", k.round, m.marker)
		case !m.asked && !active[m.id]:
			k.t.Errorf("round %d: %s was stored and is not active", k.round, m.marker)
		}
	}
}

// allMemories are all active memories of a user.
func (k *killing) allMemories(name string) (out []kept) {
	k.t.Helper()
	for cursor := ""; ; {
		var v struct {
			Memories []kept `json:"memories"`
			Next     string `json:"next_cursor"`
		}
		k.r.must(k.t, who{}, http.MethodGet, "/v1/memories?limit=500&user="+name+"&cursor="+url.QueryEscape(cursor), "", "", &v)
		out = append(out, v.Memories...)
		if cursor = v.Next; cursor == "" {
			return out
		}
	}
}

func (k *killing) checkDocuments() {
	k.t.Helper()
	for id, u := range k.uploads {
		status, text := k.r.control(k.t, who{}, http.MethodGet, "/v1/documents/"+id+"?passages=false", "", "")
		sent := len(u.sent) > 0
		if u.version > 0 && !u.deleting && (status != http.StatusOK || !strings.Contains(text, `"status":"published"`)) {
			k.t.Errorf("round %d: %s was published and is now %d %.200s", k.round, id, status, text)
		}
		if u.deleted && !sent && status != http.StatusNotFound {
			k.t.Errorf("round %d: %s was deleted and is now %d %.200s", k.round, id, status, text)
		}
		a := k.r.askServed(k.t, who{user: "reader", header: http.Header{"X-Strata-Intent": {"rag"}}}, user("When does the gate "+id+" open, at which bell?"))
		for _, old := range u.forbidden {
			if old != "" && strings.Contains(a.injected(), old) {
				k.t.Errorf("round %d: %s is served and was replaced or deleted: %s", k.round, old, a.injected())
			}
		}
		if u.version > 0 && !u.deleting && !sent && !strings.Contains(a.injected(), u.marker) {
			k.t.Errorf("round %d: %s is not found: %s\n%s", k.round, u.marker, a.header.Get("X-Strata-Context"), a.injected())
		}
		k.settle(id, u)
	}
}

// settle takes over what has become of calls without an answer.
func (k *killing) settle(id string, u *upload) {
	if len(u.sent) == 0 && !u.deleting {
		return
	}
	// Either happened or not: put one that is known.
	d := k.r.putDocument(k.t, "", id, killDocument(id, fmt.Sprintf("GNU-settled-%d-%s", k.round, id)))
	u.forbidden = append(append(u.forbidden, u.sent...), u.marker)
	u.version, u.marker, u.sent, u.deleted, u.deleting = d.Version, fmt.Sprintf("GNU-settled-%d-%s", k.round, id), nil, false, false
}

// learnAll has everything learned that is recorded, which after many rounds
// takes more than one flush.
func (k *killing) learnAll() {
	k.t.Helper()
	client := http.Client{Timeout: 2 * patience}
	for range 20 {
		req, err := http.NewRequest(http.MethodPost, "http://"+k.r.program.admin+"/v1/learn/flush", strings.NewReader("{}"))
		if err != nil {
			k.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+k.r.token)
		req.Header.Set("Content-Type", "application/json")
		text, err := whole(client.Do(req))
		if err != nil {
			k.t.Fatal(err)
		}
		if strings.TrimSpace(string(text)) == `{"pending":0}` {
			return
		}
	}
	k.t.Fatal("there is always something left to learn from")
}

// checkLearned wants each statement that is recorded learned once.
func (k *killing) checkLearned() {
	k.t.Helper()
	k.learnAll()
	found := map[string][]kept{}
	for u := range killUsers {
		name := fmt.Sprint("U", u)
		for _, m := range k.allMemories(name) {
			if marker := zebraMarker.FindString(m.Summary); marker != "" {
				found[name+marker] = append(found[name+marker], m)
			}
		}
	}
	for i := range k.said {
		s := &k.said[i]
		list := found[s.w.user+s.marker]
		delete(found, s.w.user+s.marker)
		switch {
		case len(list) > 1, len(list) == 1 && len(list[0].Sources) != 1:
			k.t.Errorf("%q was said once and is remembered as %+v", s.words, list)
		case s.asks && len(list) > 0:
			k.t.Errorf("%q is a question and is remembered as %+v", s.words, list)
		case len(list) == 0 && s.request != "" && !s.lost && !s.asks:
			k.t.Errorf("%q was said and is not remembered", s.words)
		}
	}
	for key, list := range found {
		k.t.Errorf("%s was never said: %+v", key, list)
	}
}

var zebraMarker = regexp.MustCompile(`ZEBRA-\d+`)

func (k *killing) report(points int) {
	unanswered := 0
	for i := range k.said {
		if k.said[i].request == "" {
			unanswered++
		}
	}
	k.t.Logf("%d kills: %d exchanges answered (%d reported late, %d of them lost), %d cut; %d memories stored by the admin",
		points, k.answered, len(k.late), k.lost, unanswered, len(k.stored))
}
