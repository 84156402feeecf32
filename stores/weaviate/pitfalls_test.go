package weaviate_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"strata/internal/weaviateserver"
	"strata/stores"
	"strata/stores/weaviate"
)

// What goes wrong in silence with this server and its client, and where it is
// held:
//
//	a query's error comes with status 200            TestServersWays/ErrorInAGoodAnswer
//	a vector of a wrong size spoils a tenant         TestServersWays/FailedAndYetStored, TestVectorContract/Refused
//	a batch that failed may be stored, in part       TestFailedObjectsInAGoodAnswer, TestServersWays/FailedAndYetStored
//	one object without tenant fails its batch        TestServersWays/ObjectWithoutTenant, TestContract/ScopeAndIDs
//	texts are quoted in Go's way, names not at all   TestContract/OddText, TestVectorCollection
//	a filter without values                          TestServersWays/EmptyList
//	tenants' names are short and of few characters   TestNames, TestContract/OddText, TestContract/ExactIDs
//	a server that is not there is no error           TestNoServer
//	errors are nested, and statuses lost             TestServersWays/StatusOfErrors, TestServersWays/EndOfContext, TestRefusedKey
//	a vector of zeros is taken                       TestServersWays/ZeroVector, TestVectorContract/Refused

// New does not wait for a server that is not there, and calls fail at once.
func TestNoServer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	x := open(t, weaviate.Config{URL: "http://" + addr, Namespace: []byte("n")})
	began := time.Now()
	_, searched := x.Search(t.Context(), "T", "word", 5)
	_, counted := x.Count(t.Context(), "T")
	for name, err := range map[string]error{"search": searched, "count": counted, "put": x.Put(t.Context(), "T", []stores.Passage{{ID: "p"}}), "remove": x.Remove(t.Context(), "T", []string{"p"})} {
		if !errors.Is(err, weaviate.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("that took %v", took)
	}
	if x.NeedsRebuild() {
		t.Error("a server that is away is to be filled")
	}
}

// A refused key is an error of New, which does not hold it.
func TestRefusedKey(t *testing.T) {
	c := config(shared.For(t), t.Name())
	for _, key := range []string{"", "not-the-key"} {
		c.APIKey = key
		_, err := weaviate.New(t.Context(), c)
		if !errors.Is(err, weaviate.ErrRefused) || key != "" && strings.Contains(err.Error(), key) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// Nothing that the index connects by may block the finalizers of the program:
// files and sockets are closed by those.
func TestFinalizersStillRun(t *testing.T) {
	for range 3 {
		x, err := weaviate.New(t.Context(), config(shared.For(t), t.Name()))
		if err != nil {
			t.Fatal(err)
		}
		_ = x.Close()
	}
	for range 3 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	ran := make(chan struct{})
	runtime.SetFinalizer(&struct{ b [64]byte }{}, func(*struct{ b [64]byte }) { close(ran) })
	for deadline := time.Now().Add(5 * time.Second); ; {
		runtime.GC()
		select {
		case <-ran:
			return
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("finalizers are blocked")
		}
	}
}

// More passages go in, come out and are found than the server takes at a time.
func TestMoreThanTheServerTakesAtATime(t *testing.T) {
	if testing.Short() {
		t.Skip("puts 10,500 passages")
	}
	x := open(t, config(shared.For(t), t.Name()))
	const n = 10500
	all, ids := make([]stores.Passage, n), make([]string, n)
	for i := range all {
		ids[i] = fmt.Sprint("p", i)
		all[i] = stores.Passage{ID: ids[i], Text: fmt.Sprint("common number", i)}
	}
	if err := x.Put(t.Context(), "T", all); err != nil {
		t.Fatal(err)
	}
	if got, err := x.Count(t.Context(), "T"); err != nil || got != n {
		t.Errorf("%d passages, %v", got, err)
	}
	if hits, err := x.Search(t.Context(), "T", "common", n); err != nil || len(hits) != 4000 {
		t.Errorf("%d hits, %v", len(hits), err)
	}
	// A rare word is found behind words that all passages have.
	for _, i := range []int{0, 499, 5000, n - 1} {
		hits, err := x.Search(t.Context(), "T", fmt.Sprint("which common number", i), 5)
		if err != nil || len(hits) == 0 || hits[0].ID != ids[i] || hits[0].Cover < 0.5 {
			t.Errorf("%d: %v, %v", i, hits, err)
		}
	}
	if err := x.Remove(t.Context(), "T", ids); err != nil {
		t.Fatal(err)
	}
	if got, err := x.Count(t.Context(), "T"); err != nil || got != 0 {
		t.Errorf("%d passages are left, %v", got, err)
	}
}

// A tenant that nobody uses leaves the server's memory, its passages and its
// vectors, and comes back with the first read, write or removal.
func TestColdTenants(t *testing.T) {
	c := config(shared.For(t), t.Name())
	c.Idle = 300 * time.Millisecond
	x, ctx := open(t, c), t.Context()
	cold := func(x *weaviate.Index) {
		t.Helper()
		weaviate.Until(t, "all is cold", func() bool { texts, vectors := weaviate.Hot(t, x, "T"); return !texts && !vectors })
	}
	timed := func(what string, do func() error) {
		t.Helper()
		began := time.Now()
		if err := do(); err != nil {
			t.Errorf("%s of a cold tenant: %v", what, err)
		}
		t.Logf("%s of a cold tenant: %v", what, time.Since(began).Round(time.Millisecond))
	}
	put := func(id string) error {
		return errors.Join(x.Put(ctx, "T", []stores.Passage{{ID: id, Text: "word"}}),
			x.PutVectors(ctx, "T", plane, []stores.Vector{{Passage: id, Values: []float32{1, 0}}}))
	}
	found := func(want int) error {
		texts, err := x.Search(ctx, "T", "word", 5)
		near, err2 := x.Nearest(ctx, "T", plane.ID, []float32{1, 0}, 5)
		if len(texts) != want || len(near) != want {
			err = errors.Join(err, fmt.Errorf("%d by text and %d by vector, want %d", len(texts), len(near), want))
		}
		return errors.Join(err, err2)
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"first write", func() error { return put("p") }},
		{"read", func() error { return found(1) }},
		{"write", func() error { return put("q") }},
		{"read", func() error { return found(2) }},
		{"removal", func() error { return x.Remove(ctx, "T", []string{"q"}) }},
		{"count", func() error { _, err := x.Count(ctx, "T"); return errors.Join(err, found(1)) }},
	} {
		timed(step.what, step.do)
		cold(x)
	}
	// What was left in memory by an earlier run goes too.
	if err := errors.Join(put("p"), x.Close()); err != nil {
		t.Fatal(err)
	}
	cold(open(t, c))
}

// Of many tenants in use those leave the server's memory that were not used for
// longest, and lose nothing.
func TestTooManyTenants(t *testing.T) {
	c := config(shared.For(t), t.Name())
	c.Hot = 2
	x := open(t, c)
	for range 2 {
		for i := range 5 {
			tenant := fmt.Sprint("T", i)
			if err := x.Put(t.Context(), tenant, []stores.Passage{{ID: "p", Text: "word"}}); err != nil {
				t.Fatal(err)
			}
		}
		weaviate.Until(t, "two are left", func() bool { return weaviate.HotTenants(t, x) <= 2 })
		if hot, _ := weaviate.Hot(t, x, "T0"); hot {
			t.Error("the one that was not used for longest stays")
		}
		for i := range 5 {
			if hits, err := x.Search(t.Context(), fmt.Sprint("T", i), "word", 5); err != nil || len(hits) != 1 {
				t.Errorf("T%d: %v, %v", i, hits, err)
			}
		}
	}
}

// A server that ranks in the way that loses passages is told of, with the fix.
func TestServerThatLosesPassages(t *testing.T) {
	s := weaviateserver.ForTest(t, "USE_INVERTED_SEARCHABLE=true")
	var log bytes.Buffer
	c := config(s, t.Name())
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	open(t, c)
	if !strings.Contains(log.String(), "USE_INVERTED_SEARCHABLE=false") {
		t.Errorf("the log says %q", log.String())
	}
}
