package ledger

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"strata/stores"
)

// What was written of versions that did not come about goes at once where that
// can be, and else when a day has passed.
func TestPartsOfNothing(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	l, err := New(t.Context(), Config{Path: filepath.Join(t.TempDir(), "ledger.db"), Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want := func(when string, passages, marks int) {
		t.Helper()
		var n, m int
		_, err := one(l.reader(t.Context()), `SELECT (SELECT COUNT(*) FROM passages), (SELECT COUNT(*) FROM meta WHERE name LIKE 'parts %')`, nil, &n, &m)
		if err != nil || n != passages || m != marks {
			t.Errorf("%s: %d passages, %d marks, want %d and %d (%v)", when, n, m, passages, marks, err)
		}
	}
	d := stores.Draft{ID: "a.md", SHA256: "s", Passages: make([]stores.Passage, 2*partSize+1)}
	broken := errors.New("cut off")
	d.More = func(yield func(stores.Passage, error) bool) {
		want("while it is read", 2*partSize, 1)
		yield(stores.Passage{}, broken)
	}
	if _, err := l.PutDocument(t.Context(), "acme", d); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	want("after an error", 0, 0)

	killed := parts{Tenant: "acme", Document: "a.md", Version: 1, owner: "1772323200000000 put_x"}
	if err := l.change(t.Context(), killed.own); err != nil {
		t.Fatal(err)
	}
	d.More = nil
	if _, err := l.writeParts(t.Context(), killed, d); err != nil {
		t.Fatal(err)
	}
	expire := func() {
		t.Helper()
		if _, err := l.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(23 * time.Hour)
	expire()
	want("within a day", 2*partSize+1, 1)
	now = now.Add(2 * time.Hour)
	expire()
	want("after a day", 0, 0)

	small := stores.Draft{ID: "a.md", SHA256: "t", Passages: make([]stores.Passage, 1)}
	if err := l.change(t.Context(), killed.own); err != nil {
		t.Fatal(err)
	}
	if _, err := l.writeParts(t.Context(), killed, d); err != nil {
		t.Fatal(err)
	}
	if _, err := l.PutDocument(t.Context(), "acme", small); err != nil {
		t.Fatal(err)
	}
	want("when somebody else put the version", 1, 0)
	if _, err := l.writeParts(t.Context(), killed, d); !errors.Is(err, stores.ErrConflict) {
		t.Errorf("the other goes on: %v", err)
	}
}
