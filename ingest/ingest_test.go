package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"strata/ingest"
	"strata/stores"
)

type fixture struct {
	*ingest.Ingester
	ledger *fakeLedger
	index  *fakeIndex
}

func newFixture() fixture {
	l, x := newLedger(), newIndex()
	return fixture{ingest.New(ingest.Config{Ledger: l, Index: x}), l, x}
}

func (f fixture) put(t *testing.T, tenant, id, text string) ingest.Result {
	t.Helper()
	r, err := f.Put(t.Context(), tenant, ingest.Source{ID: id, Body: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (f fixture) check(t *testing.T, tenant string, want ...string) {
	t.Helper()
	if got := f.index.texts(tenant); !slices.Equal(got, want) {
		t.Errorf("the index of %s holds %q, want %q", tenant, got, want)
	}
}

// TestC095: a new version replaces the old one, the same one changes nothing.
func TestC095(t *testing.T) {
	f := newFixture()
	if r := f.put(t, "t1", "contacts.md", "# 联系方式\n\n值班电话：000000\n"); r != (ingest.Result{ID: "contacts.md", Version: 1, Status: "published", Passages: 1, Vectors: "none"}) {
		t.Errorf("first: %+v", r)
	}
	if r := f.put(t, "t1", "contacts.md", "# 联系方式\n\n值班电话：114514\n"); r.Version != 2 || r.Status != "published" || r.Unchanged {
		t.Errorf("second: %+v", r)
	}
	if r := f.put(t, "t1", "contacts.md", "# 联系方式\n\n值班电话：114514\n"); r.Version != 2 || r.Status != "published" || !r.Unchanged {
		t.Errorf("third: %+v", r)
	}
	f.check(t, "t1", "值班电话：114514")
}

// TestC097: nothing of a deleted document stays, also when it was being put.
func TestC097(t *testing.T) {
	f := newFixture()
	f.put(t, "t1", "a.md", "One text.")
	if err := f.Delete(t.Context(), "t1", "a.md"); err != nil {
		t.Fatal(err)
	}
	f.put(t, "t1", "b.md", "Another text.") // works the removal off
	f.check(t, "t1", "Another text.")
	if err := f.Delete(t.Context(), "t1", "none.md"); !errors.Is(err, stores.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}

	once := sync.Once{}
	f.index.after = func() { once.Do(func() { _ = f.ledger.DeleteDocument(t.Context(), "t1", "c.md") }) }
	if r := f.put(t, "t1", "c.md", longText(10)); r.Status != ingest.StatusDeleted {
		t.Errorf("deleted meanwhile: %+v", r)
	}
	f.put(t, "t1", "d.md", "A last text.")
	f.check(t, "t1", "Another text.", "A last text.")
}

// TestC115: what one tenant puts and deletes is no other's business.
func TestC115(t *testing.T) {
	f := newFixture()
	f.put(t, "t1", "contacts.md", "Number 1.")
	f.put(t, "t2", "contacts.md", "Number 2.")
	if err := f.Delete(t.Context(), "t1", "contacts.md"); err != nil {
		t.Fatal(err)
	}
	f.put(t, "t2", "more.md", "Number 3.")
	f.check(t, "t1")
	f.check(t, "t2", "Number 2.", "Number 3.")
	if _, err := f.Put(t.Context(), "", ingest.Source{ID: "a", Body: []byte("x")}); !errors.Is(err, stores.ErrScope) {
		t.Errorf("no tenant: %v", err)
	}
}

func longText(sections int) string {
	var b strings.Builder
	for i := range sections {
		fmt.Fprintf(&b, "# S%d\nThis is section %d of the text.\n", i, i)
	}
	return b.String()
}

// TestIndexDown: Put says pending, Run goes on, others are not held up.
func TestIndexDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		down := true
		f.index.failing = func(tenant string, _ []string) error {
			if down && tenant == "t1" {
				return errDown
			}
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { f.Run(ctx); close(done) }()
		if r := f.put(t, "t1", "a.md", longText(100)); r.Status != ingest.StatusPending {
			t.Errorf("status %s", r.Status)
		}
		if r := f.put(t, "t2", "a.md", "A text."); r.Status != ingest.StatusPublished {
			t.Errorf("another tenant's status is %s", r.Status)
		}
		synctest.Wait()
		f.check(t, "t1")
		time.Sleep(time.Minute)
		f.index.mu.Lock()
		down = false
		f.index.mu.Unlock()
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if n := len(f.index.texts("t1")); n != 100 {
			t.Errorf("%d passages after the index came back", n)
		}
		if r := f.put(t, "t1", "a.md", longText(100)); r.Status != ingest.StatusPublished || !r.Unchanged {
			t.Errorf("put again: %+v", r)
		}
		cancel()
		<-done
	})
}

// TestLedgerDown: Run waits and goes on.
func TestLedgerDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		var calls int
		f.ledger.failing = func(method string) error {
			if method == "Outbox" {
				if calls++; calls < 5 {
					return errors.New("busy")
				}
			}
			return nil
		}
		if r := f.put(t, "t1", "a.md", "A text."); r.Status != ingest.StatusPending {
			t.Errorf("status %s", r.Status)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go f.Run(ctx)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		f.check(t, "t1", "A text.")
		cancel()
		synctest.Wait()
	})
}

// TestCrashBetweenIndexAndLedger: the change is made once more.
func TestCrashBetweenIndexAndLedger(t *testing.T) {
	f := newFixture()
	f.ledger.failing = func(method string) error {
		if method == "OutboxDone" {
			return errors.New("killed")
		}
		return nil
	}
	if r := f.put(t, "t1", "a.md", "A text."); r.Status != ingest.StatusPending {
		t.Errorf("status %s", r.Status)
	}
	f.check(t, "t1", "A text.")
	f.ledger.failing = func(string) error { return nil }
	next := fixture{ingest.New(ingest.Config{Ledger: f.ledger, Index: f.index}), f.ledger, f.index}
	if r := next.put(t, "t1", "a.md", "A text."); r.Status != ingest.StatusPublished || !r.Unchanged {
		t.Errorf("after the restart: %+v", r)
	}
	f.check(t, "t1", "A text.")
}

// TestManyAtOnce: the last version wins, nothing of the others stays. One
// process works on a data folder, so it is one ingester that many call.
func TestManyAtOnce(t *testing.T) {
	f := newFixture()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			f.put(t, "t1", "a.md", fmt.Sprintf("# A\nVersion %d.\n# B\nVersion %d.\n# C\nVersion %d.\n", i, i, i))
		})
	}
	wg.Wait()
	// What is to be taken away may come after the version that was waited for.
	for i := 0; i == 0 || f.ledger.waiting() > 0 && i < 10; i++ {
		f.put(t, "t1", "z.md", fmt.Sprint("The end ", i))
	}
	texts := f.index.texts("t1")
	if len(texts) != 4 || texts[0] != texts[1] || texts[1] != texts[2] {
		t.Errorf("a mixture: %q", texts)
	}
	current := f.ledger.docs["t1/a.md"]
	if current.current != len(current.versions) || current.versions[current.current-1].draft.Passages[0].Text != texts[0] {
		t.Errorf("version %d of %d is current", current.current, len(current.versions))
	}
}

func TestRebuild(t *testing.T) {
	f := newFixture()
	for i := range 40 {
		f.put(t, "t1", fmt.Sprintf("d%02d.md", i), longText(3))
	}
	f.put(t, "t1", "d00.md", "Only this.")
	f.put(t, "t2", "a.md", "Theirs.")
	if err := f.Delete(t.Context(), "t1", "d01.md"); err != nil {
		t.Fatal(err)
	}
	f.put(t, "t2", "b.md", "More.")
	want1, want2 := f.index.texts("t1"), f.index.texts("t2")
	f.index.byID = map[string]map[string]string{}
	steps := 0
	n, err := f.Rebuild(t.Context(), func(int) { steps++ })
	if err != nil || n != 41 || steps < 2 {
		t.Errorf("%d versions in %d steps, %v", n, steps, err)
	}
	f.check(t, "t1", want1...)
	f.check(t, "t2", want2...)
	f.index.failing = func(string, []string) error { return errDown }
	if _, err := f.Rebuild(t.Context(), nil); err == nil {
		t.Error("a rebuild into a broken index says nothing")
	}
}

// TestPutEndsWithItsContext: what was written is finished later.
func TestPutEndsWithItsContext(t *testing.T) {
	f := newFixture()
	ctx, cancel := context.WithCancel(t.Context())
	f.index.after = cancel
	r, err := f.Put(ctx, "t1", ingest.Source{ID: "a.md", Body: []byte(longText(50))})
	if err != nil || r.Status != ingest.StatusPending {
		t.Errorf("%+v, %v", r, err)
	}
	f.index.after = func() {}
	if r := f.put(t, "t1", "a.md", longText(50)); r.Status != ingest.StatusPublished {
		t.Errorf("put again: %+v", r)
	}
}

// TestPutsJoin: puts of a tenant that wait go into the index together; one that
// fails keeps no other back.
func TestPutsJoin(t *testing.T) {
	f, now := newFixture(), time.Now()
	f.Ingester = ingest.New(ingest.Config{Ledger: f.ledger, Index: f.index, Clock: func() time.Time { return now }})
	down := errors.New("down")
	var calls []int
	bad := ""
	f.index.failing = func(_ string, ids []string) error {
		calls = append(calls, len(ids))
		if bad == "all" || bad != "" && slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, bad) }) {
			return down
		}
		return nil
	}
	bad = "all"
	for _, id := range []string{"a.md", "b.md", "c.md"} {
		if r := f.put(t, "t1", id, "Text of "+id); r.Status != ingest.StatusPending {
			t.Fatalf("%+v", r)
		}
	}
	f.put(t, "t2", "d.md", "Text of another tenant")
	first := f.ledger.docs["t1/b.md"].versions[0].draft.Passages[0].ID
	for _, c := range []struct {
		bad  string
		want []int
	}{{first, []int{3, 1, 1, 1, 1}}, {"", []int{3, 1}}} {
		bad, calls, now = c.bad, nil, now.Add(time.Hour)
		if _, err := f.Rebuild(t.Context(), nil); (err != nil) != (bad != "") {
			t.Errorf("without %q: %v", bad, err)
		}
		if !slices.Equal(calls, c.want) {
			t.Errorf("without %q the index was given %v, want %v", bad, calls, c.want)
		}
	}
	f.check(t, "t1", "Text of a.md", "Text of b.md", "Text of c.md")
	f.check(t, "t2", "Text of another tenant")
}
