package storestest

import (
	"fmt"
	"testing"

	"strata/stores"
)

// embed works the queue of embeds off into x, where a passage's vector is as
// good as its text, and returns how many passages that were.
func (f *fixture) embed(x index) (passages int) {
	f.Helper()
	for {
		entries, err := f.EmbedQueue(f.Context(), 3)
		f.must(err)
		if len(entries) == 0 {
			return passages
		}
		for _, e := range entries {
			passages += len(e.Passages)
			f.embedOne(x, e)
		}
	}
}

func (f *fixture) embedOne(x index, e stores.OutboxEntry) {
	f.Helper()
	for _, p := range e.Passages {
		x[p.ID] = "vector of " + p.Text
	}
	f.must(f.EmbedDone(f.Context(), []int64{e.Seq}))
}

// workBoth carries removals out in both indexes, and puts in that of text.
func (f *fixture) workBoth(text, vectors index) {
	f.Helper()
	for {
		entries, err := f.Outbox(f.Context(), 2)
		f.must(err)
		if len(entries) == 0 {
			return
		}
		for _, e := range entries {
			text.apply(e)
			if e.Op == stores.OutboxRemove {
				vectors.apply(e)
			}
			f.must(f.OutboxDone(f.Context(), []int64{e.Seq}))
		}
	}
}

// vectorsOf tells what the versions of a document have, the newest first.
func (f *fixture) vectorsOf(document string) string {
	f.Helper()
	_, versions, err := f.Document(f.Context(), "acme", document)
	f.must(err)
	out := ""
	for _, v := range versions {
		out += v.Vectors + " "
	}
	return out
}

func (f *fixture) setSpace(id string) int {
	f.Helper()
	n, err := f.SetSpace(f.Context(), stores.Space{ID: id, Model: "m", Dims: 3, Probe: []float32{0, 1, 0}, Noise: map[string]stores.Noise{"en": {Mean: 0.1, SD: 0.05}}})
	f.must(err)
	return n
}

func (f *fixture) embedRows() int {
	f.Helper()
	n, err := f.EmbedRows(f.Context())
	f.must(err)
	return n
}

// Embeds checks that what may be served gets vectors of the space that is kept,
// and nothing else keeps any.
func Embeds(t *testing.T, open Opener) {
	t.Run("no space, no vectors", func(t *testing.T) {
		f := start(t, open)
		_, kept, err := f.Space(f.Context())
		f.must(err)
		f.same("space", kept, false)
		f.same("put", f.put(draft("a", "alpha", 2)).Vectors, "none")
		f.work(index{})
		f.same("waiting", []any{f.embedRows(), f.embed(index{}), f.vectorsOf("a")}, []any{0, 0, "none "})
	})

	t.Run("a space, and then all has vectors", func(t *testing.T) {
		f := start(t, open)
		text, vectors := index{}, index{}
		f.put(draft("a", "alpha", 130))
		f.put(draft("a", "newer", 70))
		f.work(text)
		f.put(draft("pending", "not there yet", 1))
		later := draft("later", "tomorrow", 1)
		later.Effective = f.clock.Now().AddDate(0, 0, 1)
		f.put(later)
		f.same("versions", f.setSpace("s1"), 3)
		s, kept, err := f.Space(f.Context())
		f.must(err)
		f.same("space", []any{kept, s.ID, s.Model, s.Dims, s.Probe, s.Noise["en"]}, []any{true, "s1", "m", 3, []float32{0, 1, 0}, stores.Noise{Mean: 0.1, SD: 0.05}})
		f.same("rows", f.embedRows(), 4)
		f.same("versions", f.vectorsOf("a"), "pending none ")
		f.same("those that can be searched", f.embed(vectors), 70)
		f.same("versions", []string{f.vectorsOf("a"), f.vectorsOf("pending")}, []string{"ready none ", "pending "})
		f.work(text)
		f.same("the rest", f.embed(vectors), 2)
		f.same("rows", f.embedRows(), 0)
		f.same("index", len(vectors), len(text))
		f.same("again", []int{f.setSpace("s1"), f.embed(vectors)}, []int{0, 0})
		f.same("another space", []int{f.setSpace("s2"), f.embed(vectors)}, []int{3, 72})
		f.same("versions", f.vectorsOf("a"), "ready none ")
	})

	t.Run("while a space is kept", func(t *testing.T) {
		f := start(t, open)
		text, vectors := index{}, index{}
		f.setSpace("s1")
		r := f.put(draft("a", "alpha", 65))
		f.same("put", r, stores.PutResult{Version: 1, Passages: 65, Vectors: "pending"})
		rows, err := f.OutboxRows(f.Context())
		f.must(err)
		f.same("rows", []int{rows, f.embedRows()}, []int{2, 2})
		f.same("before its text", f.embed(vectors), 0)
		f.work(text)
		entries, err := f.EmbedQueue(f.Context(), 10)
		f.must(err)
		first := entries[0].Passages[0]
		f.same("entry", []any{entries[0].Op, entries[0].Tenant, len(entries[0].Passages), first.Title, first.Heading, first.Text},
			[]any{stores.OutboxEmbed, "acme", 64, "Title of a", "H", "alpha 0"})
		f.embedOne(vectors, entries[0])
		f.same("halfway", f.vectorsOf("a"), "pending ")
		f.same("unchanged", f.put(draft("a", "alpha", 65)), stores.PutResult{Version: 1, Passages: 65, Unchanged: true, Vectors: "pending"})
		f.embed(vectors)
		f.same("then", f.vectorsOf("a"), "ready ")
		f.same("unchanged", f.put(draft("a", "alpha", 65)).Vectors, "ready")
		f.must(f.EmbedDone(f.Context(), []int64{entries[0].Seq, 999_999}))
		f.same("told twice", f.vectorsOf("a"), "ready ")
	})

	t.Run("a new version takes the old one's vectors away", func(t *testing.T) {
		f := start(t, open)
		text, vectors := index{}, index{}
		f.setSpace("s1")
		f.put(draft("a", "one", 2))
		f.work(text)
		under, err := f.EmbedQueue(f.Context(), 10)
		f.must(err)
		f.put(draft("a", "two", 3))
		f.workBoth(text, vectors)
		f.embedOne(vectors, under[0]) // arrives after the removal
		f.workBoth(text, vectors)
		f.embed(vectors)
		f.workBoth(text, vectors)
		f.same("index", fmt.Sprint(len(text), len(vectors)), "3 3")
		f.same("versions", f.vectorsOf("a"), "ready none ")
	})

	t.Run("deleted while it is embedded", func(t *testing.T) {
		f := start(t, open)
		text, vectors := index{}, index{}
		f.setSpace("s1")
		f.put(draft("a", "MARKER", 2))
		f.work(text)
		under, err := f.EmbedQueue(f.Context(), 10)
		f.must(err)
		f.must(f.DeleteDocument(f.Context(), "acme", "a"))
		f.same("rows", f.embedRows(), 0)
		f.workBoth(text, vectors) // the removal is done before the vectors arrive
		f.embedOne(vectors, under[0])
		f.workBoth(text, vectors)
		f.same("indexes", fmt.Sprint(len(text), len(vectors)), "0 0")
		f.same("queue", f.embed(vectors), 0)
	})

	t.Run("deleted, and whoever embedded it is gone", func(t *testing.T) {
		f := start(t, open)
		text, vectors := index{}, index{}
		f.setSpace("s1")
		f.put(draft("a", "MARKER", 2))
		f.work(text)
		under, err := f.EmbedQueue(f.Context(), 10)
		f.must(err)
		f.must(f.DeleteDocument(f.Context(), "acme", "a"))
		f.workBoth(text, vectors)
		for _, p := range under[0].Passages {
			vectors[p.ID] = p.Text // and then the process ended
		}
		f.clock.Advance(24 * 60 * 60 * 1e9)
		_, err = f.Expire(f.Context())
		f.must(err)
		f.same("embedded", f.embed(vectors), 0)
		f.workBoth(text, vectors)
		f.same("index", len(vectors), 0)
	})

	t.Run("requeue", func(t *testing.T) {
		f := start(t, open)
		text, vectors := index{}, index{}
		f.setSpace("s1")
		f.put(draft("a", "alpha", 2))
		f.put(draft("b", "beta", 1))
		f.work(text)
		f.embed(vectors)
		_, err := f.Requeue(f.Context())
		f.must(err)
		f.same("after the text", f.embed(index{}), 0)
		f.work(text)
		f.same("again", f.embed(index{}), 3)
		f.same("versions", f.vectorsOf("a")+f.vectorsOf("b"), "ready ready ")
	})

	t.Run("a tenant that the index has lost", func(t *testing.T) {
		f, text, vectors := start(t, open), index{}, index{}
		must := func(what, tenant, space string, want bool) {
			t.Helper()
			got, err := f.Indexed(f.Context(), tenant, space)
			f.must(err)
			f.same(what, got, want)
		}
		requeue := func(what, tenant, space string, want int) {
			t.Helper()
			n, err := f.RequeueTenant(f.Context(), tenant, space)
			f.must(err)
			f.same(what, n, want)
		}
		f.setSpace("s1")
		f.put(draft("a", "alpha", 2))
		must("before it was put", "acme", "", false)
		f.work(text)
		must("passages", "acme", "", true)
		must("vectors that wait", "acme", "s1", false)
		f.put(draft("b", "beta", 1))
		_, err := f.PutDocument(f.Context(), "other", draft("c", "gamma", 1))
		f.must(err)
		f.work(text)
		f.embed(vectors)
		must("vectors", "acme", "s1", true)
		must("of another space", "acme", "s2", false)
		must("of an unknown tenant", "nobody", "", false)

		requeue("of an unknown tenant", "nobody", "", 0)
		requeue("of another space", "acme", "s2", 0)
		requeue("passages", "acme", "", 2)
		requeue("what waits already", "acme", "", 0)
		must("passages that wait", "acme", "", true)
		lost := index{}
		f.work(lost)
		f.same("put again", len(lost), 3)
		f.same("with vectors", f.embed(index{}), 0)

		requeue("vectors", "acme", "s1", 2)
		requeue("vectors that wait already", "acme", "s1", 0)
		must("vectors that wait", "acme", "s1", false)
		must("of the other tenant", "other", "s1", true)
		f.same("embedded again", f.embed(index{}), 3)
		f.same("versions", f.vectorsOf("a")+f.vectorsOf("b"), "ready ready ")
	})

	t.Run("a wish to rebuild", func(t *testing.T) {
		f := start(t, open)
		for _, c := range []struct {
			from, to stores.RebuildState
			want     string
		}{
			{stores.RebuildAsked, stores.RebuildRunning, "false "},
			{stores.NoRebuild, stores.RebuildAsked, "true asked"},
			{stores.NoRebuild, stores.RebuildAsked, "false asked"},
			{stores.RebuildAsked, stores.RebuildRunning, "true running"},
			{stores.RebuildAsked, stores.RebuildRunning, "false running"},
			{stores.RebuildRunning, stores.NoRebuild, "true "},
		} {
			moved, err := f.MoveRebuild(f.Context(), c.from, c.to)
			f.must(err)
			state, err := f.Store.Rebuild(f.Context())
			f.must(err)
			f.same(fmt.Sprintf("from %q to %q", c.from, c.to), fmt.Sprint(moved, " ", state), c.want)
		}
	})
}
