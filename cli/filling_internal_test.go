package cli

import (
	"context"
	"errors"
	"testing"
)

// Whoever asks while the index is filled is told so until all of his tenant is
// in it, and the outbox is not asked before, after, or again.
func TestFilling(t *testing.T) {
	asked, left, failed := 0, true, error(nil)
	waits := func(context.Context, string) (bool, error) { asked++; return left, failed }
	var f filling
	want := func(when string, missing bool, calls int) {
		t.Helper()
		if got := f.of(t.Context(), "T", waits); got != missing || asked != calls {
			t.Errorf("%s: missing %v after %d calls, want %v after %d", when, got, asked, missing, calls)
		}
	}
	f.queued()
	want("an index that has everything", false, 0)
	f.begin()
	want("before anything is queued", true, 0)
	f.queued()
	want("while it is put", true, 1)
	left, failed = false, errors.New("busy")
	want("while the ledger does not say", true, 2)
	failed = nil
	want("when it is put", false, 3)
	left = true
	want("while a new document is put", false, 3)
	f.begin()
	f.queued()
	want("when it was lost again", true, 4)
	f.end()
	want("when all is in", false, 4)
}
