package storestest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"strata/stores"
)

// asSaid keeps a user's words as they are recorded.
func asSaid(asked string) (string, error) { return asked, nil }

func (f *fixture) fix(scope stores.Scope, id, intent string) stores.IntentExample {
	f.Helper()
	x, err := f.FixIntent(f.Context(), scope, id, intent, asSaid)
	f.must(err)
	return x
}

// examples are text and intent of what the tenant's classifier is given.
func (f *fixture) examples(tenant string) (out []string) {
	f.Helper()
	list, err := f.Store.Examples(f.Context(), tenant)
	f.must(err)
	for _, x := range list {
		out = append(out, x.Text+": "+x.Intent)
	}
	return out
}

// told are what an opening tells of examples: by a user, linked and named, and
// by nobody.
func (f *fixture) told(scope stores.Scope) (count, gen int) {
	f.Helper()
	o := f.opening(scope, stores.Links{Turn: "none", Pairs: []string{"none"}})
	for _, same := range []stores.Opening{f.opening(in(scope, "s"), stores.Links{}), f.opening(stores.Scope{Tenant: scope.Tenant}, stores.Links{})} {
		f.same("examples and generation of the openings", []int64{int64(same.Examples), same.KBGen}, []int64{int64(o.Examples), o.KBGen})
	}
	return o.Examples, int(o.KBGen)
}

// Examples checks messages whose intent was put right: whose they are, when
// they count, and with what they go.
func Examples(t *testing.T, open Opener) {
	t.Run("kept, replaced, deleted", func(t *testing.T) { examplesChange(t, open) })
	t.Run("the next turn leans on it", func(t *testing.T) {
		f := start(t, open)
		scope := in(anna, "s")
		first := f.say(scope, "t1", "and the northern ones", "1")
		f.fix(scope, first.ID, "data")
		f.same("of the latest exchange", f.opening(scope, stores.Links{}).LastIntent, "data")
		f.clock.Advance(time.Second)
		f.say(scope, "t2", "thanks", "2")
		last := f.opening(scope, stores.Links{}).LastIntent
		f.fix(scope, first.ID, "rag")
		f.same("of an earlier one", f.opening(scope, stores.Links{}).LastIntent, last)
	})
	t.Run("whose they are", func(t *testing.T) { examplesOwned(t, open) })
	t.Run("gone with what they came from", func(t *testing.T) { examplesGone(t, open) })
	t.Run("pages", func(t *testing.T) { examplesPaged(t, open) })
}

func examplesChange(t *testing.T, open Opener) {
	f := start(t, open)
	s := in(anna, "s")
	e := f.say(s, "t1", "How many days of leave do I have?", "30")
	count, gen := f.told(anna)
	f.same("none", count, 0)
	x := f.fix(anna, e.ID, "rag")
	f.same("all fields", x, stores.IntentExample{ID: x.ID, Text: e.Asked, Intent: "rag", Source: "fix", Exchange: e.ID, User: "anna", Session: "s", CreatedAt: f.clock.Now()})
	count, changed := f.told(anna)
	f.same("one, noticed", []int{count, changed}, []int{1, gen + 1})
	f.same("served", f.examples("acme"), []string{e.Asked + ": rag"})

	f.clock.Advance(time.Minute)
	f.same("again", f.fix(anna, e.ID, "rag"), x)
	_, same := f.told(anna)
	f.same("nothing new", same, changed)

	y := f.fix(stores.Scope{Tenant: "acme"}, e.AnswerID, "data")
	f.same("by the answer's id, another intent", []any{y.ID, y.Intent, y.Exchange}, []any{x.ID, "data", e.ID})
	added, err := f.AddExample(f.Context(), stores.Scope{Tenant: "acme"}, stores.IntentExample{Text: e.Asked, Intent: "chat", Source: stores.SourceImport})
	f.must(err)
	f.same("given as a text, it stays whose it was", []any{added.ID, added.Intent, added.User, added.Session, added.Source}, []any{x.ID, "chat", "anna", "s", "fix"})
	f.clock.Advance(time.Minute)
	_, err = f.AddExample(f.Context(), stores.Scope{Tenant: "acme"}, stores.IntentExample{Text: "画一张图", Intent: "data", Source: stores.SourceImport})
	f.must(err)
	f.same("the newest last", f.examples("acme"), []string{e.Asked + ": chat", "画一张图: data"})
	stats, err := f.Stats(f.Context(), "acme")
	f.must(err)
	f.same("counted", stats.Examples, 2)

	_, gen = f.told(anna)
	f.must(f.DeleteExample(f.Context(), "acme", "", x.ID))
	f.wants(f.DeleteExample(f.Context(), "acme", "", x.ID), stores.ErrNotFound)
	count, changed = f.told(anna)
	f.same("deleted, noticed", []int{count, changed}, []int{1, gen + 1})
	f.same("left", f.examples("acme"), []string{"画一张图: data"})

	refused := errors.New("refused")
	_, err = f.FixIntent(f.Context(), anna, e.ID, "rag", func(string) (string, error) { return "", refused })
	f.wants(err, refused)
	_, err = f.FixIntent(f.Context(), anna, "req_none", "rag", asSaid)
	f.wants(err, stores.ErrNotFound)
	count, same = f.told(anna)
	f.same("what fails changes nothing", []int{count, same}, []int{1, changed})
}

func examplesOwned(t *testing.T, open Opener) {
	f := start(t, open)
	a := f.say(in(anna, "s"), "t1", "same words", "1")
	b := f.say(in(bela, "s"), "t2", "other words", "2")
	o := f.exchange(in(other, "s"), "t1", "same words", "3")
	o.ID = a.ID // ids are a tenant's
	f.record(o)
	x := f.fix(stores.Scope{Tenant: "acme"}, a.ID, "rag")
	for _, s := range []stores.Scope{bela, {Tenant: "acme", User: "nobody"}, {Tenant: "initech"}} {
		_, err := f.FixIntent(f.Context(), s, a.ID, "data", asSaid)
		f.wants(err, stores.ErrNotFound)
		f.wants(f.DeleteExample(f.Context(), s.Tenant, s.User, x.ID), stores.ErrNotFound)
	}
	f.wants(f.DeleteExample(f.Context(), "umbrella", "", x.ID), stores.ErrNotFound)
	f.same("another tenant's", f.examples("umbrella"), []string(nil))
	count, _ := f.told(other)
	f.same("another tenant's count", count, 0)
	f.clock.Advance(time.Second)
	f.fix(bela, b.ID, "data")
	f.fix(other, o.ID, "chat")
	f.same("the same text in two tenants", []any{f.examples("acme"), f.examples("umbrella")}, []any{[]string{"same words: rag", "other words: data"}, []string{"same words: chat"}})
	list, _, err := f.ListExamples(f.Context(), "acme", "anna", "", 10)
	f.must(err)
	f.same("of one user", list, []stores.IntentExample{x})
	export, err := f.ExportUser(f.Context(), "acme", "anna")
	f.must(err)
	f.same("in the export", export.Examples, []stores.IntentExample{x})

	_, err = f.AddExample(f.Context(), stores.Scope{Tenant: "acme", User: "carl"}, stores.IntentExample{Text: "my words", Intent: "chat", Source: stores.SourceImport})
	f.must(err)
	export, err = f.ExportUser(f.Context(), "acme", "carl")
	f.must(err)
	f.same("of who has nothing else", len(export.Examples), 1)

	receipt := f.exchange(in(bela, "s"), "t3", "", "")
	receipt.ReceiptOnly = true
	f.record(receipt)
	words := "not asked"
	y, err := f.FixIntent(f.Context(), stores.Scope{Tenant: "acme"}, receipt.ID, "rag", func(asked string) (string, error) { words = asked; return "given", nil })
	f.must(err)
	f.same("a receipt alone has no words, and a user", []string{words, y.Text, y.User}, []string{"", "given", "bela"})
}

func examplesGone(t *testing.T, open Opener) {
	f := start(t, open)
	a := f.say(in(anna, "s"), "t1", "one", "1")
	b := f.say(in(anna, "s2"), "t2", "two", "2")
	c := f.say(in(bela, "s"), "t3", "three", "3")
	for _, e := range []stores.Exchange{a, b, c} {
		f.fix(e.Scope, e.ID, "rag")
		f.clock.Advance(time.Second)
	}
	count, gen := f.told(anna)
	f.same("before", count, 3)
	f.must(f.DeleteSession(f.Context(), "acme", "anna", "s"))
	count, changed := f.told(anna)
	f.same("with the session, noticed", []int{count, changed}, []int{2, gen + 1})
	f.same("left", f.examples("acme"), []string{"two: rag", "three: rag"})
	_, err := f.FixIntent(f.Context(), anna, a.ID, "rag", asSaid)
	f.wants(err, stores.ErrNotFound)

	rows, err := f.EraseUser(f.Context(), "acme", "anna")
	f.must(err)
	f.same("erased rows", rows["intent_examples"], 1)
	count, gen = f.told(anna)
	f.same("with the user, noticed", []int{count, gen}, []int{1, changed + 1})
	f.same("another's stays", f.examples("acme"), []string{"three: rag"})

	d := f.say(in(bela, "s3"), "t4", "between us", "4")
	f.fix(bela, d.ID, "rag")
	works, err := f.Lease(f.Context(), "worker", 10)
	f.must(err)
	for _, w := range works {
		l := f.lesson(w)
		for i := range l.Learned {
			if l.Learned[i].ID == d.ID {
				l.Learned[i].Asked, l.Learned[i].Answer = "", ""
			}
		}
		f.must(f.Learn(f.Context(), l))
	}
	f.same("what turns out to be off the record", f.examples("acme"), []string{"three: rag"})
}

func examplesPaged(t *testing.T, open Opener) {
	f := start(t, open)
	var want []string
	for i := range 7 {
		if i != 3 && i != 4 { // several of one moment
			f.clock.Advance(time.Second)
		}
		text := fmt.Sprint("text ", i)
		_, err := f.AddExample(f.Context(), stores.Scope{Tenant: "acme"}, stores.IntentExample{Text: text, Intent: "rag", Source: stores.SourceImport})
		f.must(err)
		want = append(want, text)
	}
	var got []string
	pages := 0
	for cursor := ""; ; pages++ {
		list, next, err := f.ListExamples(f.Context(), "acme", "", cursor, 2)
		f.must(err)
		for _, x := range list {
			got = append(got, x.Text)
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	f.same("pages", pages, 3)
	f.same("newest first", []string{got[0], got[6]}, []string{"text 6", "text 0"})
	f.same("each once", sorted(slices.Clone(got)), want)
	_, _, err := f.ListExamples(f.Context(), "acme", "", "nonsense", 3)
	f.wants(err, stores.ErrCursor)
}
