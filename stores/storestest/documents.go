package storestest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"strata/stores"
)

// draft is a document of n passages that say text.
func draft(id, text string, n int, groups ...string) stores.Draft {
	d := stores.Draft{ID: id, Title: "Title of " + id, SHA256: "sha of " + text, MediaType: "text/markdown", Groups: groups}
	for i := range n {
		d.Passages = append(d.Passages, stores.Passage{Heading: "H", Text: fmt.Sprintf("%s %d", text, i), Tokens: 2})
	}
	return d
}

// index is what an index would hold, by passage id.
type index map[string]string

// work carries the outbox out.
func (f *fixture) work(x index) {
	f.Helper()
	for {
		entries, err := f.Outbox(f.Context(), 2)
		f.must(err)
		if len(entries) == 0 {
			return
		}
		var seqs []int64
		for _, e := range entries {
			x.apply(e)
			seqs = append(seqs, e.Seq)
		}
		f.must(f.OutboxDone(f.Context(), seqs))
	}
}

func (x index) apply(e stores.OutboxEntry) {
	for _, p := range e.Passages {
		if e.Op == stores.OutboxPut {
			x[p.ID] = p.Text
		} else {
			delete(x, p.ID)
		}
	}
}

func (f *fixture) put(d stores.Draft) stores.PutResult {
	f.Helper()
	r, err := f.PutDocument(f.Context(), "acme", d)
	f.must(err)
	return r
}

func (f *fixture) waits(tenant string) bool {
	f.Helper()
	waits, err := f.Waits(f.Context(), tenant)
	f.must(err)
	return waits
}

// allPassages are those of a version, read some at a time.
func (f *fixture) allPassages(document string, version int) (all []stores.Passage) {
	f.Helper()
	for {
		some, err := f.DocumentPassages(f.Context(), "acme", document, version, len(all))
		f.must(err)
		if len(some) == 0 {
			return all
		}
		all = append(all, some...)
	}
}

// readable are the texts a scope gets of all passages ever put.
func (f *fixture) readable(scope stores.Scope, x index) []string {
	f.Helper()
	var ids []string
	for id := range x {
		ids = append(ids, id)
	}
	list, err := f.Passages(f.Context(), scope, append(ids, "psg_unknown"))
	f.must(err)
	var out []string
	for _, p := range list {
		out = append(out, p.Text)
	}
	return sorted(out)
}

// Documents checks that the version in force is served, to those who may read
// it, and nothing else.
func Documents(t *testing.T, open Opener) {
	t.Run("published when it can be searched", func(t *testing.T) {
		f := start(t, open)
		x := index{}
		r := f.put(draft("a.md", "alpha", 130))
		f.same("result", r, stores.PutResult{Version: 1, Passages: 130, Vectors: "none"})
		entries, err := f.Outbox(f.Context(), 10)
		f.must(err)
		if len(entries) < 2 || entries[0].Passages[0].Text != "alpha 0" || entries[0].Passages[0].Title != "Title of a.md" {
			t.Fatalf("outbox %+v", entries)
		}
		for _, e := range entries {
			x.apply(e)
		}
		f.must(f.OutboxDone(f.Context(), []int64{entries[0].Seq}))
		f.same("before the last row", []any{len(f.readable(anna, x)), f.opening(anna, stores.Links{}).Documents}, []any{0, 0})
		gen := f.opening(anna, stores.Links{}).KBGen
		f.work(x)
		o := f.opening(anna, stores.Links{})
		f.same("after it", []any{len(f.readable(anna, x)), o.Documents, o.KBGen}, []any{130, 1, gen + 1})
		f.same("another tenant", f.readable(other, x), []string(nil))
		f.same("without a user", len(f.readable(stores.Scope{Tenant: "acme"}, x)), 130)
	})

	t.Run("passages", func(t *testing.T) {
		f := start(t, open)
		x := index{}
		d := draft("a.md", "alpha", 3)
		d.Effective = f.clock.Now().Add(-time.Hour)
		f.put(d)
		f.work(x)
		all := f.allPassages("a.md", 1)
		got, err := f.Passages(f.Context(), anna, []string{all[2].ID, "psg_none", all[0].ID, all[2].ID})
		f.must(err)
		want := []stores.Passage{
			{ID: all[2].ID, Document: "a.md", Title: "Title of a.md", Version: 1, Ordinal: 2, Heading: "H", Text: "alpha 2", Tokens: 2, Effective: d.Effective},
			{ID: all[0].ID, Document: "a.md", Title: "Title of a.md", Version: 1, Heading: "H", Text: "alpha 0", Tokens: 2, Effective: d.Effective},
		}
		f.same("passages", got, want)
		got, err = f.Passages(f.Context(), anna, nil)
		f.must(err)
		f.same("none", len(got), 0)
	})

	t.Run("C095 a new version replaces the old", func(t *testing.T) {
		f := start(t, open)
		x := index{}
		f.put(draft("contacts.md", "000000", 3))
		f.work(x)
		f.put(draft("contacts.md", "114514", 2))
		f.same("until it is published", f.readable(anna, x), []string{"000000 0", "000000 1", "000000 2"})
		f.work(x)
		f.same("then", f.readable(anna, x), []string{"114514 0", "114514 1"})
		f.same("index", len(x), 2)
		r := f.put(draft("contacts.md", "114514", 2))
		f.same("again", r, stores.PutResult{Version: 2, Unchanged: true, Passages: 2, Vectors: "none"})
		rows, err := f.OutboxRows(f.Context())
		f.must(err)
		f.same("outbox", rows, 0)
		d, versions, err := f.Document(f.Context(), "acme", "contacts.md")
		f.must(err)
		passages := f.allPassages("contacts.md", d.Version)
		f.same("document", []any{d.Version, d.Status, d.Passages, len(passages), passages[0].Text}, []any{2, "published", 2, 2, "114514 0"})
		f.same("versions", []any{versions[0].Status, versions[1].Status}, []any{"current", "replaced"})
		changed := draft("contacts.md", "114514", 2)
		changed.Title = "Contacts"
		f.same("another title", f.put(changed).Version, 3)
	})

	t.Run("former versions", func(t *testing.T) {
		f := start(t, open)
		x := index{}
		f.put(draft("contacts.md", "000000", 3, "ops"))
		f.work(x)
		f.put(draft("contacts.md", "114514", 2))
		f.work(x)
		_, versions, err := f.Document(f.Context(), "acme", "contacts.md")
		f.must(err)
		f.same("groups", [][]string{versions[0].Groups, versions[1].Groups}, [][]string{nil, {"ops"}})
		f.same("title", versions[1].Title, "Title of contacts.md")
		old := f.allPassages("contacts.md", 1)
		f.same("its passages", []any{len(old), old[2].Text, old[2].Ordinal, old[2].Version}, []any{3, "000000 2", 2, 1})
		for _, of := range []struct {
			tenant, id string
			version    int
		}{{"acme", "contacts.md", 3}, {"acme", "other.md", 1}, {"umbrella", "contacts.md", 1}} {
			_, err := f.DocumentPassages(f.Context(), of.tenant, of.id, of.version, 0)
			f.same("one that is not there", errors.Is(err, stores.ErrNotFound), true)
		}
		f.must(f.DeleteDocument(f.Context(), "acme", "contacts.md"))
		_, err = f.DocumentPassages(f.Context(), "acme", "contacts.md", 1, 0)
		f.same("deleted", errors.Is(err, stores.ErrNotFound), true)
		_, err = f.DocumentPassages(f.Context(), "", "contacts.md", 1, 0)
		f.same("no tenant", errors.Is(err, stores.ErrScope), true)
	})

	t.Run("the later version wins, whoever is done first", func(t *testing.T) {
		f := start(t, open)
		x := index{}
		f.put(draft("a", "one", 1))
		f.put(draft("a", "two", 1))
		entries, err := f.Outbox(f.Context(), 10)
		f.must(err)
		for _, e := range []stores.OutboxEntry{entries[1], entries[0]} {
			x.apply(e)
			f.must(f.OutboxDone(f.Context(), []int64{e.Seq}))
			f.same("served", f.readable(anna, x), []string{"two 0"})
		}
		f.work(x)
		f.same("index", len(x), 1)
	})

	t.Run("groups", func(t *testing.T) {
		f := start(t, open)
		x := index{}
		f.put(draft("hr", "salaries", 1, "hr", "board"))
		f.work(x)
		for want, groups := range map[string][]string{"": nil, " ": {"it", "HR"}, "salaries 0": {"it", "hr"}, "salaries 0 ": {"board"}} {
			scope := anna
			scope.Groups = groups
			got := f.readable(scope, x)
			if (len(got) == 1) != (len(want) > 1) {
				t.Errorf("groups %v read %v", groups, got)
			}
		}
		f.put(draft("hr", "salaries", 1))
		f.work(x)
		f.same("opened", f.readable(anna, x), []string{"salaries 0"})
		f.put(draft("hr", "salaries", 1, "board"))
		f.work(x)
		f.same("closed", f.readable(anna, x), []string(nil))
	})

	t.Run("dates", func(t *testing.T) { dates(t, open) })
	t.Run("large", func(t *testing.T) { largeDocuments(t, open) })

	t.Run("C097 delete", func(t *testing.T) {
		f := start(t, open)
		x := index{}
		f.put(draft("a", "MARKER", 2))
		f.work(x)
		gen := f.opening(anna, stores.Links{}).KBGen
		f.must(f.DeleteDocument(f.Context(), "acme", "a"))
		f.same("served", f.readable(anna, x), []string(nil))
		o := f.opening(anna, stores.Links{})
		f.same("opening", []any{o.KBGen, o.Documents}, []any{gen + 1, 0})
		f.work(x)
		f.same("index", len(x), 0)
		for _, id := range []string{"a", "never"} {
			f.wants(f.DeleteDocument(f.Context(), "acme", id), stores.ErrNotFound)
			_, _, err := f.Document(f.Context(), "acme", id)
			f.wants(err, stores.ErrNotFound)
		}
		f.same("put again", f.put(draft("a", "MARKER", 2)).Version, 2)
		f.work(x)
		f.same("served", f.readable(anna, x), []string{"MARKER 0", "MARKER 1"})
	})

	t.Run("C097 delete while it is put", func(t *testing.T) {
		f := start(t, open)
		x := index{}
		f.put(draft("a", "MARKER", 1))
		under, err := f.Outbox(f.Context(), 10)
		f.must(err)
		f.must(f.DeleteDocument(f.Context(), "acme", "a"))
		f.work(x) // the removal is done before the put arrives
		x.apply(under[0])
		f.must(f.OutboxDone(f.Context(), []int64{under[0].Seq}))
		f.same("served", f.readable(anna, x), []string(nil))
		f.work(x)
		f.same("index", len(x), 0)
		f.wants(f.DeleteDocument(f.Context(), "acme", "a"), stores.ErrNotFound)
	})

	t.Run("requeue", func(t *testing.T) {
		f := start(t, open)
		x := index{}
		for i := range 3 {
			f.put(draft(fmt.Sprint("d", i), fmt.Sprint("text", i), 1))
		}
		f.put(draft("d0", "newer", 1))
		later := draft("d3", "of another day", 1)
		later.Effective = f.clock.Now().Add(24 * time.Hour)
		f.put(later)
		f.work(x)
		lost := index{}
		f.must(f.DeleteDocument(f.Context(), "acme", "d2"))
		f.same("waits, with a removal", f.waits("acme"), false)
		f.work(x)
		n, err := f.Requeue(f.Context())
		f.must(err)
		f.same("waits then", []bool{f.waits("acme"), f.waits("umbrella")}, []bool{true, false})
		f.work(lost)
		f.same("waits when all is put", f.waits("acme"), false)
		f.same("versions", n, 3)
		f.same("index", fmt.Sprint(lost), fmt.Sprint(x))
	})

	t.Run("refused", func(t *testing.T) {
		f := start(t, open)
		for _, d := range []stores.Draft{{}, draft("", "x", 1), draft("a", "x", 0)} {
			if _, err := f.PutDocument(f.Context(), "acme", d); err == nil || errors.Is(err, stores.ErrScope) {
				t.Errorf("%+v: %v", d, err)
			}
		}
	})
}

func dates(t *testing.T, open Opener) {
	f := start(t, open)
	x := index{}
	day := 24 * time.Hour
	status := func() string {
		t.Helper()
		d, versions, err := f.Document(f.Context(), "acme", "price")
		f.must(err)
		out := fmt.Sprint(d.Version, " ", d.Status)
		for _, v := range versions {
			out += " " + v.Status
		}
		return out
	}
	expire := func(want int) {
		t.Helper()
		n, err := f.Expire(f.Context())
		f.must(err)
		f.same("changed", n, want)
		f.work(x)
	}

	first := draft("price", "old price", 1)
	first.Effective = f.clock.Now().Add(day)
	f.put(first)
	f.same("status", status(), "0 pending pending")
	f.work(x)
	f.same("scheduled", f.readable(anna, x), []string(nil))
	f.same("status", status(), "0 scheduled scheduled")
	f.clock.Advance(day)
	f.same("on its day", f.readable(anna, x), []string{"old price 0"})
	gen := f.opening(anna, stores.Links{}).KBGen
	expire(1)
	f.same("generation", f.opening(anna, stores.Links{}).KBGen, gen+1)

	second := draft("price", "new price", 1)
	second.Effective, second.Expires = f.clock.Now().Add(day), f.clock.Now().Add(3*day)
	f.put(second)
	f.work(x)
	f.same("the one in force stays", f.readable(anna, x), []string{"old price 0"})
	f.same("status", status(), "1 published scheduled current")
	f.same("index", len(x), 2)
	f.clock.Advance(day)
	f.same("the later one", f.readable(anna, x), []string{"new price 0"})
	f.same("status", status(), "2 published current replaced")
	expire(1)
	f.same("index", len(x), 1)
	f.clock.Advance(2 * day)
	f.same("expired, and the old one stays replaced", f.readable(anna, x), []string(nil))
	f.same("status", status(), "2 expired expired replaced")
	expire(1)
	f.same("index", len(x), 0)
	f.same("documents", f.opening(anna, stores.Links{}).Documents, 0)
	expire(0)
}
