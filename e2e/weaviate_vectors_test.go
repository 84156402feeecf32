//go:build unix

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"strata/internal/weaviateserver"
)

const (
	absence    = "# Absence\n\nStaff are granted TWENTY-FIVE days of annual leave.\n"
	absenceHit = "TWENTY-FIVE"
)

// askVacation asks with none of the document's words.
func (r *rig) askVacation(t testing.TB, session string) reply {
	t.Helper()
	return r.ask(t, asRAG(u1(session)), user("what about vacation?"))
}

// onServer asks the server itself.
func onServer(t *testing.T, s *weaviateserver.Server, method, path string, body, result any) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+weaviateserver.Key)
	req.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s", method, path, a.Status)
	}
	if result != nil {
		if err := json.NewDecoder(a.Body).Decode(result); err != nil {
			t.Fatal(err)
		}
	}
}

// What collections' names begin with.
const (
	passagesPrefix = "StrataKnowledge"
	vectorsPrefix  = "StrataVectors_"
)

// collections are those on the server whose names begin so.
func collections(t *testing.T, s *weaviateserver.Server, prefix string) (names []string) {
	t.Helper()
	var schema struct{ Classes []struct{ Class string } }
	onServer(t, s, http.MethodGet, "/v1/schema", nil, &schema)
	for _, c := range schema.Classes {
		if strings.HasPrefix(c.Class, prefix) {
			names = append(names, c.Class)
		}
	}
	return names
}

// collection is the one on the server whose name begins so.
func collection(t *testing.T, s *weaviateserver.Server, prefix string) string {
	t.Helper()
	names := collections(t, s, prefix)
	if len(names) != 1 {
		t.Fatalf("collections that begin with %s: %v", prefix, names)
	}
	return names[0]
}

// vectorsOn is how many vectors all tenants have on the server.
func vectorsOn(t *testing.T, s *weaviateserver.Server) (n int) {
	t.Helper()
	for _, c := range collections(t, s, vectorsPrefix) {
		n += objectsIn(t, s, c)
	}
	return n
}

// objectsIn is how many objects all tenants have in a collection.
func objectsIn(t *testing.T, s *weaviateserver.Server, c string) (n int) {
	t.Helper()
	for _, tenant := range tenantsIn(t, s, c) {
		var got struct {
			Data struct {
				Aggregate map[string][]struct{ Meta struct{ Count int } }
			}
		}
		query := fmt.Sprintf(`{Aggregate{%s(tenant:%q){meta{count}}}}`, c, tenant)
		onServer(t, s, http.MethodPost, "/v1/graphql", map[string]string{"query": query}, &got)
		for _, a := range got.Data.Aggregate[c] {
			n += a.Meta.Count
		}
	}
	return n
}

// tenantsIn are those of a collection that are no notes.
func tenantsIn(t *testing.T, s *weaviateserver.Server, c string) (names []string) {
	t.Helper()
	var all []struct{ Name string }
	onServer(t, s, http.MethodGet, "/v1/schema/"+c+"/tenants", nil, &all)
	for _, tenant := range all {
		if !strings.HasSuffix(tenant.Name, "-filled") && !strings.Contains(tenant.Name, "-v-") {
			names = append(names, tenant.Name)
		}
	}
	return names
}

// A server that is gone costs what is found by meaning too, and nothing else.
// What is put and deleted meanwhile is made up for when it is back.
func TestWeaviateOutageOfVectors(t *testing.T) {
	s := weaviateserver.ForTest(t)
	e := newEmbedder(t)
	r := newRig(t, nil, append(e.settings("m1", onWeaviate(s)...), patient)...)
	r.putForVectors(t, "absence.md", absence)
	r.putForVectors(t, "parking.md", parking)
	r.waitVectors(t, "absence.md", "parking.md")
	r.askVacation(t, "before").wantTimes(t, absenceHit, 1)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		a := r.askVacation(t, fmt.Sprint("away-", n))
		a.wantOK(t)
		a.wantTransparent(t)
	}
	if status := r.deleteDocument(t, "", "absence.md"); status != http.StatusOK {
		t.Errorf("a delete while the index is away: %d", status)
	}
	r.must(t, who{}, http.MethodPut, "/v1/documents/new.md", "text/markdown", strings.ReplaceAll(absence, absenceHit, "THIRTY-TWO"), nil)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.waitVectors(t, "new.md")
	r.wantFound(t, "THIRTY-TWO", r.askVacation)
	r.wantCaughtUp(t)
	r.askVacation(t, "after").wantTimes(t, absenceHit, 0)
	r.waitUntil(t, "vectors of what was deleted are gone", func() bool { return vectorsOn(t, s) == 2 })
}

// A server that loses its vectors, alone or with all else, is filled again
// without a restart; meanwhile questions go on by what is left.
func TestWeaviateThatLostVectors(t *testing.T) {
	s := weaviateserver.ForTest(t)
	e := newEmbedder(t)
	r := newRig(t, nil, append(e.settings("m1", onWeaviate(s)...), patient)...)
	r.putForVectors(t, "absence.md", absence)
	r.waitVectors(t, "absence.md")
	r.wantFound(t, absenceHit, r.askVacation)
	vectors := collection(t, s, vectorsPrefix)
	onServer(t, s, http.MethodDelete, "/v1/schema/"+vectors, nil, nil)
	a := r.ask(t, asRAG(u1("by-words")), user("How many days of annual leave are staff granted?"))
	a.wantOK(t)
	a.wantTimes(t, absenceHit, 1)
	r.wantFound(t, absenceHit, r.askVacation)

	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.Wipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.wantFound(t, absenceHit, r.askVacation)
	r.wantCaughtUp(t)
}

// A tenant that an operator deletes is filled again by the next question, or by
// the next document, which makes it anew with its own passages alone.
func TestWeaviateTenantThatSomebodyDeletes(t *testing.T) {
	s := weaviateserver.ForTest(t)
	e := newEmbedder(t)
	r := newRig(t, nil, append(e.settings("m1", onWeaviate(s)...), patient)...)
	r.putForVectors(t, "absence.md", absence)
	r.waitVectors(t, "absence.md")
	r.wantFound(t, absenceHit, r.askVacation)
	r.wantCaughtUp(t)
	passages := collection(t, s, passagesPrefix)
	vectors := collection(t, s, vectorsPrefix)
	drop := func(name string) {
		t.Helper()
		onServer(t, s, http.MethodDelete, "/v1/schema/"+name+"/tenants", tenantsIn(t, s, name), nil)
	}
	wantAll := func(documents int) {
		t.Helper()
		r.waitUntil(t, "all is there again", func() bool {
			return objectsIn(t, s, passages) == documents && objectsIn(t, s, vectors) == documents
		})
	}
	wantAll(1)
	drop(passages)
	drop(vectors)
	a := r.askVacation(t, "gone")
	a.wantOK(t)
	if got := a.header.Get("X-Strata-Context"); !strings.Contains(got, "reason=store_unavailable") {
		t.Errorf("the answer does not say what is missing: %s", got)
	}
	r.wantFound(t, absenceHit, r.askVacation)
	wantAll(1)

	drop(passages)
	drop(vectors)
	r.putForVectors(t, "parking.md", parking)
	wantAll(2)
	r.wantCaughtUp(t)
	if n := strings.Count(r.stderr.String(), "has lost all that it had"); n != 4 {
		t.Errorf("the log tells of %d losses, want 4", n)
	}
}

// The server crashes again and again while a document gets its vectors, and then
// Strata does: in the end every passage has one, and hardly any was embedded
// twice.
func TestWeaviateHalfEmbedded(t *testing.T) {
	s := weaviateserver.ForTest(t)
	e := newEmbedder(t)
	r := newRig(t, nil, append(e.settings("m1", onWeaviate(s)...), patient)...)
	const n = 1500
	e.set(func(e *embedder) { e.slow = 20 * time.Millisecond })
	r.putForVectors(t, "garages.md", garages(n))
	r.waitUntil(t, "some have vectors", func() bool { return vectorsOn(t, s) > 50 })
	for range 2 {
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
	}
	if r.metric(t, "strata_embed_rows") == 0 {
		t.Log("all had vectors before the crashes were over")
	}
	_ = r.cmd.Process.Kill()
	<-r.exited
	r.boot(t)
	r.waitReady(t)
	for deadline := time.Now().Add(3 * patience); r.vectorsOf(t, "garages.md") != "ready" && time.Now().Before(deadline); {
		time.Sleep(100 * time.Millisecond)
	}
	r.waitVectors(t, "garages.md")
	d, _ := r.document(t, "", "garages.md")
	if got := vectorsOn(t, s); got != len(d.Passages) || got < n {
		t.Errorf("%d vectors for %d passages", got, len(d.Passages))
	}
	if texts, twice := e.embedded("Garages"); texts < n || twice > texts/4 {
		t.Errorf("of %d texts %d were embedded more than once", texts, twice)
	}
}
