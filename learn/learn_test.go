package learn_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"strata/learn"
	"strata/stores"
	"strata/stores/ledger"
)

func exchange(id, asked string, at time.Time) stores.Exchange {
	return stores.Exchange{ID: id, Scope: stores.Scope{Tenant: "T1", User: "U1", Session: "S1"}, Asked: asked, Answer: "ok", Status: stores.Complete, Finished: true, Learn: true, At: at}
}

// A failure pauses, keeps the exchange, and is tried again; the end of the
// context ends Run at once.
func TestRunRetriesAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Now)
		tries := 0
		f.failLearn = func() error {
			if tries++; tries < 3 {
				return errors.New("disk full")
			}
			return nil
		}
		l := learn.New(learn.Config{Ledger: f})
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { l.Run(ctx) })
		synctest.Wait()
		if err := f.Record(ctx, exchange("x1", "My employee id is A-1007.", time.Now())); err != nil {
			t.Fatal(err)
		}
		l.Notify()
		time.Sleep(5 * time.Minute) // of the bubble's clock: leases end by themselves
		synctest.Wait()
		if n, _ := f.Unlearned(ctx); n != 0 || tries != 3 {
			t.Errorf("%d wait after %d tries", n, tries)
		}
		began := time.Now()
		cancel()
		done.Wait()
		if time.Since(began) != 0 {
			t.Error("Run did not end at once")
		}
	})
}

// What changed between reading and writing is read again.
func TestConflictIsDecidedAgain(t *testing.T) {
	f := newFake(time.Now)
	ctx := t.Context()
	first := true
	f.failLearn = func() error {
		if first {
			first = false
			f.memories = append(f.memories, stores.Memory{ID: "m1", Scope: stores.UserScope, User: "U1", Topic: "employee_id", Slot: "employee_id", Summary: "The user's employee id is A-1007", Status: stores.Active, UpdatedAt: noon})
			f.gen[userKey(stores.Scope{Tenant: "T1", User: "U1"})]++
			return stores.ErrConflict
		}
		return nil
	}
	if err := f.Record(ctx, exchange("x1", "My employee id is A-1007.", noon.Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	if n, err := learn.New(learn.Config{Ledger: f}).Flush(ctx); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if len(f.memories) != 1 || len(f.memories[0].Sources) != 1 {
		t.Errorf("%+v", f.memories)
	}
}

// Whoever asks is told what an exchange changed, once, and after it is written.
func TestLearnedIsTold(t *testing.T) {
	f := newFake(time.Now)
	tries := 0
	f.failLearn = func() error {
		if tries++; tries == 1 {
			return stores.ErrConflict
		}
		return nil
	}
	var told []learn.Change
	l := learn.New(learn.Config{Ledger: f, Learned: func(c learn.Change) { told = append(told, c) }})
	scope := stores.Scope{Tenant: "T1", User: "U1", Session: "S1"}
	for i, c := range []struct {
		words string
		want  []learn.Change
	}{
		{"My employee id is A-1007. I live in Chengdu.", []learn.Change{{Scope: scope, Exchange: "a", New: 2}}},
		{"Nice weather, is it not?", nil},
		{"I live in Chengdu.", nil}, // is known
		{"I live in Porto now.", []learn.Change{{Scope: scope, Exchange: "d", Replaced: 1}}},
		{"Forget my employee id.", []learn.Change{{Scope: scope, Exchange: "e", Erased: 1}}},
	} {
		told = nil
		if err := f.Record(t.Context(), exchange(string(rune('a'+i)), c.words, noon.Add(time.Duration(i)*time.Hour))); err != nil {
			t.Fatal(err)
		}
		if n, err := l.Flush(t.Context()); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		if !reflect.DeepEqual(told, c.want) {
			t.Errorf("%q: told %+v, want %+v", c.words, told, c.want)
		}
	}
	f.failLearn = func() error { return errors.New("disk full") }
	told = nil
	if err := f.Record(t.Context(), exchange("z", "My office is in building 3.", noon.Add(9*time.Hour))); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Flush(t.Context()); err == nil || told != nil {
		t.Errorf("told %+v of a lesson that was not written (%v)", told, err)
	}
}

// A session that is deleted while it is learned from holds up nobody: not the
// other sessions, nor what is said in it afterwards.
func TestDeletedWhileLearned(t *testing.T) {
	l, err := ledger.New(t.Context(), ledger.Config{Path: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	say := func(id, session, words string) {
		e := exchange(id, words, time.Now())
		e.Scope.Session = session
		if err := l.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	say("x1", "S1", "My employee id is A-1007.")
	say("x2", "S2", "My office is in building 3.")
	during := &deletesFirst{Ledger: l, session: "S1", then: func() { say("x3", "S1", "I live in Chengdu.") }}
	if n, err := learn.New(learn.Config{Ledger: during}).Flush(t.Context()); n != 0 || err != nil {
		t.Fatalf("%d pending, %v", n, err)
	}
	list, _, err := l.UserMemories(t.Context(), stores.Scope{Tenant: "T1", User: "U1"})
	if err != nil || summaries(list) != "The user's office is in building 3 | The user lives in Chengdu" {
		t.Errorf("%q, %v", summaries(list), err)
	}
}

// deletesFirst deletes a session before its first lesson is written.
type deletesFirst struct {
	*ledger.Ledger
	session string
	then    func()
}

func (d *deletesFirst) Learn(ctx context.Context, lesson stores.Lesson) error {
	if lesson.Scope.Session == d.session {
		d.session = ""
		if err := d.DeleteSession(ctx, lesson.Scope.Tenant, lesson.Scope.User, lesson.Scope.Session); err != nil {
			return err
		}
		d.then()
	}
	return d.Ledger.Learn(ctx, lesson)
}

func TestFlushStopsWithItsContext(t *testing.T) {
	f := newFake(time.Now)
	if err := f.Record(t.Context(), exchange("x1", "My employee id is A-1007.", noon)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := learn.New(learn.Config{Ledger: f}).Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n, _ := f.Unlearned(t.Context()); n != 1 {
		t.Error("the exchange is gone")
	}
}

func TestTextsAreRedactedWhenLearned(t *testing.T) {
	f := newFake(time.Now)
	ctx := t.Context()
	list := []stores.Exchange{exchange("x1", "my password is hunter2", noon), exchange("x2", "Off the record: the merger is on.", noon), exchange("x3", "call 13912345678", noon)}
	list[2].Learn = false
	for _, e := range list {
		if err := f.Record(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := learn.New(learn.Config{Ledger: f}).Flush(ctx); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if got := f.row("x1").Asked; strings.Contains(got, "hunter2") || !strings.Contains(got, "my password is") {
		t.Errorf("%q", got)
	}
	if r := f.row("x2"); r.Asked != "" || r.Answer != "" {
		t.Errorf("kept off the record: %q", r.Asked)
	}
	if r := f.row("x3"); r.state != "skipped" || strings.Contains(r.Asked, "139") {
		t.Errorf("%+v", r)
	}
	for _, r := range f.rejected {
		if strings.Contains(r.Text, "hunter2") || r.ID == "" || r.Exchange == "" || r.At.IsZero() {
			t.Errorf("%+v", r)
		}
	}
}

// Two learners on one ledger never learn an exchange twice.
func TestTwoLearners(t *testing.T) {
	f := newFake(time.Now)
	ctx := t.Context()
	for i := range 30 {
		e := exchange("x"+string(rune('A'+i)), "My employee id is A-1007.", noon.Add(time.Duration(i)*time.Minute))
		e.Scope.Session = string(rune('a' + i%6))
		if err := f.Record(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		l := learn.New(learn.Config{Ledger: f, Worker: name})
		wg.Go(func() { l.Flush(ctx) })
	}
	wg.Wait()
	list, _ := f.Memories(ctx, stores.Scope{Tenant: "T1", User: "U1"})
	if n, _ := f.Unlearned(ctx); n != 0 || len(list) != 1 || len(list[0].Sources) != 30 {
		t.Errorf("%d wait, %+v", n, list)
	}
}
