package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"strata/internal/weaviateserver"
)

// asRAG makes the question one for the documents, so that what is tested is
// the search and not the kind of question.
func asRAG(w who) who {
	w.header = http.Header{"X-Strata-Intent": {"rag"}}
	return w
}

// document is what the control plane tells of one.
type document struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Version  int    `json:"version"`
	Passages []struct {
		ID      string `json:"id"`
		Heading string `json:"heading"`
		Text    string `json:"text"`
	} `json:"passages"`
	Versions []struct {
		Version int    `json:"version"`
		Status  string `json:"status"`
	} `json:"versions"`
}

// document returns false when there is no such document.
func (r *rig) document(t testing.TB, tenant, id string) (d document, there bool) {
	t.Helper()
	status, text := r.control(t, who{tenant: tenant}, http.MethodGet, "/v1/documents/"+id, "", "")
	switch status {
	case http.StatusNotFound:
		return d, false
	case http.StatusOK:
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		return d, true
	}
	t.Fatalf("document %s: %d %s", id, status, text)
	return d, false
}

// cited are the sections of the documents in a request, in their order.
func (a reply) cited() []string {
	var out []string
	for _, m := range regexp.MustCompile(`<document title=\\"(.*?)\\"(?: section=\\"(.*?)\\")?`).FindAllStringSubmatch(a.upBody(), -1) {
		if m[2] == "" {
			m[2] = m[1]
		}
		out = append(out, m[2])
	}
	return out
}

// onBothIndexes runs a test with the index in a file and with one on a Weaviate.
func onBothIndexes(t *testing.T, test func(t *testing.T, set ...string)) {
	t.Run("file", func(t *testing.T) { test(t, patient) })
	t.Run("weaviate", func(t *testing.T) { test(t, append(onWeaviate(sharedWeaviate.For(t)), patient)...) })
}

func onWeaviate(s *weaviateserver.Server) []string {
	return []string{"STRATA_INDEX_URL=" + s.URL(), "STRATA_INDEX_API_KEY=" + weaviateserver.Key}
}

func TestC095NewVersionReplacesTheOldOne(t *testing.T) { onBothIndexes(t, newVersionReplacesTheOldOne) }

func newVersionReplacesTheOldOne(t *testing.T, set ...string) {
	r := newRig(t, nil, set...)
	first := r.putDocument(t, "", "contacts.md", caseFile(t, "C095v1.md"))
	a := r.ask(t, u1("C095-1"), user("值班电话是多少？"))
	a.wantClientBytes(t)
	a.wantTimes(t, "000000", 1)

	second := r.putDocument(t, "", "contacts.md", caseFile(t, "C095v2.md"))
	if second.Version != first.Version+1 || second.Unchanged {
		t.Errorf("the second upload: %+v after %+v", second, first)
	}
	wantNew := func(session string, w who) {
		t.Helper()
		for _, question := range []string{"值班电话是多少？", "夜里有事打哪个值班电话？", "what is the 值班电话 number?"} {
			w.session = session
			a := r.ask(t, w, user(question))
			a.wantClientBytes(t)
			a.wantTimes(t, "114514", 1)
			a.wantTimes(t, "000000", 0)
			session += "x"
		}
	}
	wantNew("C095-2", u1(""))
	wantNew("C095-3", who{}) // somebody without a name
	r.restart(t)
	wantNew("C095-4", u1(""))

	third := r.putDocument(t, "", "contacts.md", caseFile(t, "C095v2.md"))
	d, _ := r.document(t, "", "contacts.md")
	if !third.Unchanged || third.Version != second.Version || third.Passages != second.Passages || len(d.Passages) != second.Passages {
		t.Errorf("the third upload: %+v, %d passages; the second: %+v", third, len(d.Passages), second)
	}
	wantNew("C095-5", u1(""))

	// Many versions in a row, asked for at once: never one that was replaced.
	for n := range 20 {
		r.putDocument(t, "", "contacts.md", fmt.Sprintf("# 联系方式\n\n值班电话：7700%02d\n", n))
		a := r.ask(t, u1(fmt.Sprintf("C095-6-%d", n)), user("值班电话是多少？"))
		a.wantTimes(t, fmt.Sprintf("7700%02d", n), 1)
		a.wantTimes(t, "7700", 1)
		a.wantTimes(t, "114514", 0)
	}
}

func TestC097DeletedDocumentIsGone(t *testing.T) { onBothIndexes(t, deletedDocumentIsGone) }

func deletedDocumentIsGone(t *testing.T, set ...string) {
	r := newRig(t, nil, set...)
	const text = "# Parking\n\nThe parking garage opens with badge colour violet, PARK-31.\n"
	ask := func(session string) reply {
		t.Helper()
		return r.ask(t, u1(session), user("Which badge colour opens the parking garage?"))
	}
	r.putDocument(t, "", "parking.md", text)
	ask("C097-1").wantTimes(t, "PARK-31", 1)
	ask("C097-2").wantTimes(t, "PARK-31", 1)
	if status := r.deleteDocument(t, "", "parking.md"); status != http.StatusOK {
		t.Errorf("the delete was answered with %d", status)
	}
	ask("C097-3").wantTransparent(t)
	ask("C097-4").wantTransparent(t)
	r.restart(t)
	ask("C097-5").wantTransparent(t)
	for _, id := range []string{"parking.md", "never-there.md"} {
		if status := r.deleteDocument(t, "", id); status != http.StatusNotFound {
			t.Errorf("deleting %s, which is not there: %d, want 404", id, status)
		}
	}
	// It may come back, and then it is served again.
	r.putDocument(t, "", "parking.md", text)
	ask("C097-6").wantTimes(t, "PARK-31", 1)
}

// TestC097DeletedInTheMiddleOfATurn: the calls of a tool loop get the same
// text, but never what has been deleted meanwhile.
func TestC097DeletedInTheMiddleOfATurn(t *testing.T) { onBothIndexes(t, deletedInTheMiddleOfATurn) }

func deletedInTheMiddleOfATurn(t *testing.T, set ...string) {
	r := newRig(t, loopUpstream, set...)
	r.putDocument(t, "", "register.md", registerText)
	w := u1("C097-loop")
	r.ask(t, w, toolLoop("what is my project code", 0)...).wantTimes(t, registerHit, 1)
	r.deleteDocument(t, "", "register.md")
	a := r.ask(t, w, toolLoop("what is my project code", 1)...)
	a.wantOK(t)
	a.wantTransparent(t)
}

func TestC097DeleteDuringIngestion(t *testing.T) { onBothIndexes(t, deleteDuringIngestion) }

func deleteDuringIngestion(t *testing.T, set ...string) {
	r := newRig(t, nil, set...)
	var text strings.Builder
	text.WriteString("# Parking\n\n")
	for n := 0; text.Len() < 9<<20; n++ {
		fmt.Fprintf(&text, "## Garage %d\n\nThe parking garage %d opens with badge colour violet, PARK-31. %s\n\n", n, n, strings.Repeat("Drive slowly and park between the lines. ", 40))
	}
	large, small := text.String(), text.String()[:4<<20]

	// Above 8 MB the upload is a job.
	var job struct {
		Job string `json:"job"`
	}
	r.must(t, who{}, http.MethodPut, "/v1/documents/large.md", "text/markdown", large, &job)
	if job.Job == "" {
		t.Error("the answer to a large upload names no job")
	}
	if status := r.deleteDocument(t, "", "large.md"); status != http.StatusOK {
		t.Errorf("deleting what is being taken in: %d, want 200", status)
	}
	// Below, its caller waits.
	put := make(chan int, 1)
	go func() {
		status, _ := r.control(t, who{}, http.MethodPut, "/v1/documents/small.md", "text/markdown", small)
		put <- status
	}()
	poll(t, "the upload can be deleted", func() bool { return r.deleteDocument(t, "", "small.md") == http.StatusOK })
	t.Logf("the upload that was deleted under way was answered with %d", <-put)
	poll(t, "the jobs have ended", func() bool {
		_, text := r.control(t, who{}, http.MethodGet, "/v1/jobs/"+job.Job, "", "")
		return !strings.Contains(text, `"status":"pending"`) && !strings.Contains(text, `"status":"running"`)
	})
	for _, id := range []string{"large.md", "small.md"} {
		if d, there := r.document(t, "", id); there {
			t.Errorf("%s was deleted while it was taken in and is there: %s, version %d", id, d.Status, d.Version)
		}
	}
	a := r.ask(t, u1("C097-7"), user("Which badge colour opens the parking garage?"))
	a.wantTransparent(t)
	r.waitUntil(t, "the index has caught up", func() bool { return r.metric(t, "strata_outbox_rows") == 0 })
	r.ask(t, u1("C097-8"), user("Which badge colour opens the parking garage?")).wantTransparent(t)
}

func TestC098TwoCharacterWords(t *testing.T) { onBothIndexes(t, twoCharacterWords) }

func twoCharacterWords(t *testing.T, set ...string) {
	r := newRig(t, nil, set...)
	r.putDocument(t, "", "manual.md", caseFile(t, "C098.md"))
	for question, want := range map[string]string{
		"部署": "一", "部署方案": "一", "谁负责值守": "二", "静默发布怎么回滚？": "三", "營造": "四", "rollback": "三",
		"Rollback": "三", "机房": "二", "预算": "一", "公寓": "四",
	} {
		a := r.ask(t, asRAG(u1("C098 "+question)), user(question))
		a.wantOK(t)
		a.wantClientBytes(t)
		if got := a.cited(); len(got) == 0 || !strings.HasSuffix(got[0], want) {
			t.Errorf("%q found %q (%s), want section %s first", question, got, a.header.Get("X-Strata-Context"), want)
		}
	}
	a := r.ask(t, asRAG(u1("C098-1")), user("部"))
	a.wantOK(t)
	if a.field("skipped") != "" || a.result() == "partial" {
		t.Errorf("a query of one character: %s", a.header.Get("X-Strata-Context"))
	}
}

func TestC115DocumentsOfAnotherTenant(t *testing.T) { onBothIndexes(t, documentsOfAnotherTenant) }

func documentsOfAnotherTenant(t *testing.T, set ...string) {
	r := newRig(t, nil, set...)
	contacts := func(number string) string {
		return "# Contacts\n\n## Night\nThe on-call number at night is " + number + "-N.\n\n## Day\nThe on-call number by day is " + number +
			"-D.\n\n## Weekend\nThe on-call number at the weekend is " + number + "-W.\n"
	}
	r.putDocument(t, "T1", "contacts.md", contacts("555100"))
	r.putDocument(t, "T2", "contacts.md", contacts("555200"))
	var many strings.Builder
	for n := range 500 {
		fmt.Fprintf(&many, "## On-call number %d\nWhat is the on-call number? The on-call number is 555300, number %d.\n\n", n, n)
	}
	r.putDocument(t, "T2", "more.md", many.String())
	ask := func(tenant, session string) reply {
		t.Helper()
		a := r.ask(t, asRAG(who{tenant: tenant, user: "U1", session: session}), user("What is the on-call number?"))
		a.wantOK(t)
		a.wantClientBytes(t)
		return a
	}
	wantOwn := func(a reply) {
		t.Helper()
		for _, which := range []string{"N", "D", "W"} {
			a.wantTimes(t, "555100-"+which, 1)
		}
		a.wantTimes(t, "555200", 0)
		a.wantTimes(t, "555300", 0)
	}
	wantOwn(ask("T1", "C115-1"))
	ask("T2", "C115-1").wantTimes(t, "555100", 0) // the same user and session names
	wantOwn(ask("T1", "C115-2"))                  // behind T2's, caches are warm
	for _, tenant := range []string{"", "T3", "t1", "T1 "} {
		a := ask(tenant, "C115-3")
		if tenant == "T1 " { // HTTP cuts blanks around a value
			wantOwn(a)
			continue
		}
		a.wantTransparent(t)
	}
	// What one tenant deletes stays the other's.
	if status := r.deleteDocument(t, "T1", "contacts.md"); status != http.StatusOK {
		t.Errorf("the delete was answered with %d", status)
	}
	if status := r.deleteDocument(t, "T1", "more.md"); status != http.StatusNotFound {
		t.Errorf("deleting another tenant's document: %d, want 404", status)
	}
	ask("T1", "C115-4").wantTransparent(t)
	if d, there := r.document(t, "T2", "contacts.md"); !there || len(d.Passages) == 0 || d.Status != "published" {
		t.Errorf("T2's document after T1's delete: %+v", d)
	}
	r.deleteDocument(t, "T2", "more.md")
	r.waitUntil(t, "the index has caught up", func() bool { return r.metric(t, "strata_outbox_rows") == 0 })
	a := ask("T2", "C115-4")
	for _, which := range []string{"N", "D", "W"} {
		a.wantTimes(t, "555200-"+which, 1)
	}
}

// TestGroupsOfDocuments: what is for one group alone is found by its members,
// and takes nobody else's place in the ranks.
func TestGroupsOfDocuments(t *testing.T) { onBothIndexes(t, groupsOfDocuments) }

func groupsOfDocuments(t *testing.T, set ...string) {
	r := newRig(t, nil, set...)
	var bands strings.Builder
	for n := range 600 {
		fmt.Fprintf(&bands, "## Level five, %d\nWhat is the salary band of level five? The salary band of level five is BAND-90, note %d.\n\n", n, n)
	}
	r.putDocument(t, "", "bands.md?groups=people-team", bands.String())
	asked := 0
	ask := func(groups string) reply {
		t.Helper()
		asked++
		w := asRAG(u1(fmt.Sprintf("groups-%d", asked)))
		if groups != "" {
			w.header.Set("X-Strata-Groups", groups)
		}
		a := r.ask(t, w, user("What is the salary band of level five?"))
		a.wantOK(t)
		if member := strings.Contains(groups, "people-team"); strings.Contains(a.upBody(), "BAND-90") != member {
			t.Errorf("groups %q: %s\n%s", groups, a.header.Get("X-Strata-Context"), a.upBody())
		}
		return a
	}
	ask("").wantTransparent(t)
	ask("people-team")
	ask("sales,people-team")
	ask("sales").wantTransparent(t)
	r.putDocument(t, "", "public.md", "# Salaries\n\nThe salary band of each level is in the contract, PUBLIC-12. Ask your lead about yours and read the guide before.\n")
	ask("").wantTimes(t, "PUBLIC-12", 1)
	ask("sales").wantTimes(t, "PUBLIC-12", 1)
}

func TestC126ReadRightAfterAWrite(t *testing.T) {
	r := newRig(t, nil, patient)
	// A thin client's next turn, within a millisecond, carries the one before.
	const sessions, workers = 1000, 16
	next := make(chan int, sessions)
	for n := range sessions {
		next <- n
	}
	close(next)
	var missed, skipped atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for n := range next {
				w := who{user: fmt.Sprintf("U%d", n%100), session: fmt.Sprintf("C126-%d", n)}
				marker := fmt.Sprintf("TURN-%d-ONE", n)
				r.ask(t, w, user("Let us speak about the garden, "+marker))
				a := r.ask(t, w, user("And what about the roses in it?"))
				switch strings.Count(a.upBody(), marker) {
				case 1:
				case 0:
					missed.Add(1)
					if strings.Contains(a.header.Get("X-Strata-Context"), "skipped=recent:late") {
						skipped.Add(1)
					}
					t.Logf("the second turn of session %d does not carry the first (%s)", n, a.header.Get("X-Strata-Context"))
				default:
					t.Errorf("the second turn of session %d carries the first more than once:\n%s", n, a.upBody())
				}
			}
		})
	}
	wg.Wait()
	// Only what is told as late may be missed: an answer does not wait longer
	// for its record, nor a request for the store or for the turns.
	late := float64(skipped.Load()) + r.metric(t, "strata_exchanges_late_total") + float64(strings.Count(r.stderr.String(), "no context: the ledger did not answer"))
	if float64(missed.Load()) > late {
		t.Errorf("%d turns were missed, %v were counted as late", missed.Load(), late)
	}
	r.readAfterWrite(t)
}

// readAfterWrite writes, changes and deletes memories from many sides and
// reads each right after.
func (r *rig) readAfterWrite(t *testing.T) {
	const writers, rounds = 64, 8
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			w := who{user: fmt.Sprintf("W%d", n)}
			for round := range rounds {
				marker := fmt.Sprintf("GOAL-%d-%d-END", n, round)
				m := r.addMemory(t, w, "goal", "garden", "Wants to plant roses in the garden, "+marker)
				w.session = fmt.Sprintf("W%d-%d", n, round)
				if a := r.ask(t, w, user("Which roses do I want to plant in the garden?")); strings.Count(a.upBody(), marker) != 1 && !a.late() {
					t.Errorf("a question right after the write does not carry it (%s):\n%s", a.header.Get("X-Strata-Context"), a.upBody())
				}
				if status := r.deleteMemory(t, w, m.ID); status != http.StatusOK {
					t.Errorf("deleting a memory: %d", status)
				}
				w.session += "-after"
				if a := r.ask(t, w, user("Which roses do I want to plant in the garden?")); strings.Contains(a.upBody(), "GOAL-") {
					t.Errorf("a question right after the delete carries it:\n%s", a.upBody())
				}
			}
		})
	}
	wg.Wait()
}

// patient lets a busy machine take its time; deadlines have tests of their own.
const patient = "STRATA_PLAN_RAG_DEADLINE=5s"
