package storestest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"strata/stores"
)

// large is a document of n passages that are read one by one. each is called
// before passage i is given; an error of it is the reader's.
func large(id, text string, n int, each func(i int) error) stores.Draft {
	d := draft(id, text, 1)
	d.More = iter.Seq2[stores.Passage, error](func(yield func(stores.Passage, error) bool) {
		for i := 1; i < n; i++ {
			if err := each(i); err != nil {
				yield(stores.Passage{}, err)
				return
			}
			if !yield(stores.Passage{Heading: "H", Text: fmt.Sprintf("%s %d", text, i), Tokens: 2}, nil) {
				return
			}
		}
	})
	return d
}

// largeDocuments checks documents that are too large for one transaction.
func largeDocuments(t *testing.T, open Opener) {
	const many = 1000
	ok := func(int) error { return nil }
	whole := func(f *fixture, version int, text string) {
		f.Helper()
		passages := f.allPassages("a.md", version)
		if len(passages) != many {
			f.Fatalf("%d passages, want %d", len(passages), many)
		}
		for i, p := range passages {
			if p.Ordinal != i || p.Text != fmt.Sprintf("%s %d", text, i) {
				f.Fatalf("passage %d is number %d, %q", i, p.Ordinal, p.Text)
			}
		}
	}
	none := func(f *fixture) {
		f.Helper()
		if _, _, err := f.Document(f.Context(), "acme", "a.md"); !errors.Is(err, stores.ErrNotFound) {
			f.Errorf("the document: %v", err)
		}
		if n, err := f.OutboxRows(f.Context()); err != nil || n > 0 {
			f.Errorf("%d entries, %v", n, err)
		}
	}

	t.Run("others write meanwhile", func(t *testing.T) {
		f := start(t, open)
		x := index{}
		f.put(draft("a.md", "old", 3))
		f.work(x)
		r := f.put(large("a.md", "new", many, func(i int) error {
			if i%300 == 0 {
				f.say(in(anna, "s"), fmt.Sprint("t", i), "q", "a")
				f.same("served meanwhile", f.readable(anna, x), []string{"old 0", "old 1", "old 2"})
			}
			return nil
		}))
		f.same("result", r, stores.PutResult{Version: 2, Passages: many, Vectors: "none"})
		whole(f, 2, "new")
		f.work(x)
		f.same("served", len(f.readable(anna, x)), many)
		again := f.put(large("a.md", "new", many, func(int) error { return errors.New("it is not read again") }))
		f.same("again", again, stores.PutResult{Version: 2, Unchanged: true, Passages: many, Vectors: "none"})
	})

	t.Run("what breaks leaves nothing", func(t *testing.T) {
		f := start(t, open)
		broken := errors.New("the file is cut off")
		_, err := f.PutDocument(f.Context(), "acme", large("a.md", "cut", many, func(i int) error {
			if i == 700 {
				return broken
			}
			return nil
		}))
		f.wants(err, broken)
		none(f)
		ctx, cancel := context.WithCancel(f.Context())
		_, err = f.PutDocument(ctx, "acme", large("a.md", "stopped", many, func(i int) error {
			if i == 700 {
				cancel()
			}
			return nil
		}))
		f.wants(err, context.Canceled)
		none(f)
		f.same("version", f.put(large("a.md", "new", many, ok)).Version, 1)
		whole(f, 1, "new")
	})

	t.Run("deleted or replaced meanwhile", func(t *testing.T) {
		f := start(t, open)
		f.put(draft("a.md", "old", 3))
		f.work(index{})
		_, err := f.PutDocument(f.Context(), "acme", large("a.md", "new", many, func(i int) error {
			if i == 700 {
				f.must(f.DeleteDocument(f.Context(), "acme", "a.md"))
				f.work(index{})
			}
			return nil
		}))
		f.wants(err, stores.ErrConflict)
		none(f)
		_, err = f.PutDocument(f.Context(), "acme", large("a.md", "new", many, func(i int) error {
			if i == 700 {
				f.put(draft("a.md", "other", 2))
			}
			return nil
		}))
		f.wants(err, stores.ErrConflict)
		passages := f.allPassages("a.md", 2)
		f.same("passages of the other", len(passages), 2)
	})

	t.Run("read some at a time", func(t *testing.T) {
		f := start(t, open)
		f.put(large("a.md", "old", many, ok))
		f.work(index{})
		some, err := f.DocumentPassages(f.Context(), "acme", "a.md", 1, 0)
		f.must(err)
		if len(some) == 0 || len(some) == many {
			t.Fatalf("%d passages at once", len(some))
		}
		f.put(large("a.md", "new", many, func(i int) error {
			if i == 700 {
				_, err := f.DocumentPassages(f.Context(), "acme", "a.md", 2, 0)
				f.wants(err, stores.ErrNotFound) // it is still written
			}
			return nil
		}))
		f.work(index{})
		whole(f, 1, "old")
		none, err := f.DocumentPassages(f.Context(), "acme", "a.md", 1, many)
		f.same("after the last", []any{len(none), err}, []any{0, nil})
		f.must(f.DeleteDocument(f.Context(), "acme", "a.md"))
		for _, first := range []int{len(some), many} {
			_, err = f.DocumentPassages(f.Context(), "acme", "a.md", 1, first)
			f.wants(err, stores.ErrNotFound)
		}
	})
}
