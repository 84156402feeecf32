//go:build unix

package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/internal/weaviateserver"
)

const (
	lunch    = "# Lunch\n\nThe canteen gives lunch vouchers of the colour LUNCH-55.\n"
	lunchHit = "LUNCH-55"
	parking  = "# Parking\n\nThe parking garage opens with badge colour violet, PARK-31.\n"
	parkHit  = "PARK-31"
)

func (r *rig) askLunch(t testing.TB, session string) reply {
	t.Helper()
	return r.ask(t, asRAG(u1(session)), user("Which colour have the lunch vouchers of the canteen?"))
}

func (r *rig) askParking(t testing.TB, session string) reply {
	t.Helper()
	return r.ask(t, asRAG(u1(session)), user("Which badge colour opens the parking garage?"))
}

// wantFound asks until the answer holds what it should: an index that was away
// needs its time.
func (r *rig) wantFound(t testing.TB, hit string, ask func(testing.TB, string) reply) {
	t.Helper()
	n := 0
	poll(t, hit+" is found", func() bool {
		n++
		return strings.Contains(ask(t, fmt.Sprintf("found-%s-%d", hit, n)).upBody(), hit)
	})
}

func (r *rig) wantCaughtUp(t testing.TB) {
	t.Helper()
	r.waitUntil(t, "the index has caught up", func() bool { return r.metric(t, "strata_outbox_rows") == 0 })
}

// A server that is gone costs requests the documents and nothing else. What is
// put and deleted meanwhile is made up for when it is back.
func TestWeaviateOutage(t *testing.T) {
	s := weaviateserver.ForTest(t)
	r := newRig(t, nil, append(onWeaviate(s), patient)...)
	r.putDocument(t, "", "lunch.md", lunch)
	r.putDocument(t, "", "parking.md", parking)
	r.addMemory(t, u1(""), "preference", "tone", "Likes short answers, TONE-1")
	r.askLunch(t, "before").wantTimes(t, lunchHit, 1)
	pace := r.pace(t)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	var answers []reply
	for n := range 20 {
		a := r.askLunch(t, fmt.Sprint("away-", n))
		a.wantOK(t)
		a.wantTimes(t, lunchHit, 0)
		a.wantTimes(t, "TONE-1", 1)
		if a.result() != "partial" || a.field("skipped") != "knowledge:error" {
			t.Errorf("X-Strata-Context %q, want partial with skipped=knowledge:error", a.header.Get("X-Strata-Context"))
		}
		answers = append(answers, a)
	}
	wantQuick(t, answers, 0, pace)

	if status := r.deleteDocument(t, "", "parking.md"); status != http.StatusOK {
		t.Errorf("a delete while the index is away: %d", status)
	}
	var d struct{ Status string }
	r.must(t, who{}, http.MethodPut, "/v1/documents/new.md", "text/markdown", strings.ReplaceAll(lunch, lunchHit, "NEWER-66"), &d)
	if d.Status != "pending" {
		t.Errorf("a document that was put while the index is away is %q", d.Status)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.wantFound(t, lunchHit, r.askLunch)
	r.wantFound(t, "NEWER-66", r.askLunch)
	r.wantCaughtUp(t)
	r.askParking(t, "deleted").wantTimes(t, parkHit, 0)
}

// A server that takes connections and never answers costs a request the
// deadline of its question, and after some of them not even that.
func TestWeaviateThatHangs(t *testing.T) {
	s := weaviateserver.ForTest(t)
	r := newRig(t, nil, onWeaviate(s)...)
	r.putDocument(t, "", "lunch.md", lunch)
	r.wantFound(t, lunchHit, r.askLunch)
	pace := r.pace(t)
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	thawed := false
	thaw := func() {
		if !thawed {
			thawed = true
			_ = s.Thaw()
		}
	}
	defer thaw()
	var answers []reply
	spared := 0
	for n := range 30 {
		a := r.askLunch(t, fmt.Sprint("hangs-", n))
		a.wantOK(t)
		a.wantTimes(t, lunchHit, 0)
		answers = append(answers, a)
		switch skipped := a.field("skipped"); skipped {
		case "knowledge:late":
		case "knowledge:error":
			spared++
		default:
			t.Errorf("skipped=%q, want knowledge late or given up", skipped)
		}
	}
	wantQuick(t, answers, ragLimit, pace)
	if spared < 10 {
		t.Errorf("only %d of %d requests did not wait for a server that hangs", spared, len(answers))
	}
	thaw()
	r.wantFound(t, lunchHit, r.askLunch)
}

// Strata starts without the server, says so, and takes it up when it comes.
func TestWeaviateAwayAtTheStart(t *testing.T) {
	s := weaviateserver.Prepare(t)
	r := newRig(t, nil, append(onWeaviate(s), patient)...)
	if !strings.Contains(r.stderr.String(), "the search index cannot be reached") {
		t.Errorf("the log does not say that the index is away:\n%s", r.stderr)
	}
	var d struct{ Status string }
	r.must(t, who{}, http.MethodPut, "/v1/documents/lunch.md", "text/markdown", lunch, &d)
	if d.Status != "pending" {
		t.Errorf("the document is %q", d.Status)
	}
	a := r.askLunch(t, "away")
	a.wantOK(t)
	a.wantTransparent(t)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.wantFound(t, lunchHit, r.askLunch)
}

// garages is a document of many passages, of which each has its own word.
func garages(n int) string {
	var text strings.Builder
	text.WriteString("# Garages\n\n")
	for i := range n {
		fmt.Fprintf(&text, "## Garage %d\n\nThe garage called garage%dx opens with the badge BADGE-%d. %s\n\n", i, i, i, strings.Repeat("Drive slowly and park between the lines. ", 30))
	}
	return text.String()
}

// The server crashes again and again while a document goes in, and then Strata
// does: in the end every passage is there, once.
func TestWeaviateHalfIndexed(t *testing.T) {
	s := weaviateserver.ForTest(t)
	r := newRig(t, nil, append(onWeaviate(s), patient)...)
	const n = 3000
	put := make(chan struct{})
	go func() {
		defer close(put)
		r.control(t, who{}, http.MethodPut, "/v1/documents/garages.md", "text/markdown", garages(n))
	}()
	r.waitUntil(t, "some is in the outbox", func() bool { return r.metric(t, "strata_outbox_rows") > 5 })
	for range 2 {
		time.Sleep(300 * time.Millisecond)
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left := r.metric(t, "strata_outbox_rows"); left == 0 {
		t.Log("all was put before the crashes were over")
	}
	_ = r.cmd.Process.Kill()
	<-r.exited
	<-put
	r.boot(t)
	r.waitReady(t)
	for deadline := time.Now().Add(3 * patience); r.metric(t, "strata_outbox_rows") > 0 && time.Now().Before(deadline); {
		time.Sleep(100 * time.Millisecond)
	}
	r.wantCaughtUp(t)
	if d, there := r.document(t, "", "garages.md"); !there || d.Status != "published" {
		t.Fatalf("the document is %+v", d.Status)
	}
	for _, i := range []int{0, 1, n / 3, n / 2, n - 200, n - 1} {
		a := r.ask(t, asRAG(u1(fmt.Sprint("garage-", i))), user(fmt.Sprintf("Which badge opens garage%dx?", i)))
		a.wantOK(t)
		a.wantTimes(t, fmt.Sprintf("BADGE-%d.", i), 1)
	}
}

// A server that comes back with nothing is filled again, without a restart.
func TestWeaviateThatLostAll(t *testing.T) {
	s := weaviateserver.ForTest(t)
	r := newRig(t, nil, append(onWeaviate(s), patient)...)
	r.putDocument(t, "", "lunch.md", lunch)
	r.wantFound(t, lunchHit, r.askLunch)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.Wipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.wantFound(t, lunchHit, r.askLunch)
	r.wantCaughtUp(t)
}

// A key that the server does not take is told with what to set.
func TestWeaviateRefusesTheKey(t *testing.T) {
	s := sharedWeaviate.For(t)
	key := filepath.Join(t.TempDir(), "key")
	for name, content := range map[string]string{"a wrong one": "wrong-key-of-somebody", "the right one": weaviateserver.Key + "\n"} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(key, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			r := newRig(t, nil, "STRATA_INDEX_URL="+s.URL(), "STRATA_INDEX_API_KEY_FILE="+key, patient)
			refused := strings.Contains(r.stderr.String(), "check index.api_key")
			if wrong := content != weaviateserver.Key+"\n"; refused != wrong {
				t.Errorf("refused: %v\n%s", refused, r.stderr)
			}
			if strings.Contains(r.stderr.String(), strings.TrimSpace(content)) {
				t.Error("the log holds the key")
			}
			r.askLunch(t, "key").wantOK(t)
		})
	}
}
