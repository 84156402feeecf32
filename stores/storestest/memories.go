package storestest

import (
	"errors"
	"testing"
	"time"

	"strata/stores"
)

// Memories checks what is served, and what a person does to it.
func Memories(t *testing.T, open Opener) {
	t.Run("partitions", func(t *testing.T) {
		f := start(t, open)
		f.add(anna, "language", "answers in Chinese")
		f.add(bela, "language", "answers in English")
		f.add(other, "language", "answers in German")
		session := memory("tone", "short answers here")
		session.Scope = stores.SessionScope
		if _, err := f.AddMemory(f.Context(), in(anna, "s"), session); err != nil {
			t.Fatal(err)
		}
		workspace := memory("units", "metric units")
		workspace.Scope = stores.WorkspaceScope
		if _, err := f.AddMemory(f.Context(), stores.Scope{Tenant: "acme"}, workspace); err != nil {
			t.Fatal(err)
		}
		f.same("anna", sorted(f.summaries(anna)), []string{"answers in Chinese", "metric units"})
		f.same("anna in s", sorted(f.summaries(in(anna, "s"))), []string{"answers in Chinese", "metric units", "short answers here"})
		f.same("anna elsewhere", sorted(f.summaries(in(anna, "s2"))), []string{"answers in Chinese", "metric units"})
		f.same("bela in s", sorted(f.summaries(in(bela, "s"))), []string{"answers in English", "metric units"})
		f.same("other tenant", f.summaries(in(other, "s")), []string{"answers in German"})
		f.same("no user", f.summaries(stores.Scope{Tenant: "acme"}), []string{"metric units"})
		f.same("counts", []int{f.opening(in(anna, "s"), stores.Links{}).Memories, f.opening(anna, stores.Links{}).Memories,
			f.opening(stores.Scope{Tenant: "acme"}, stores.Links{}).Memories, f.opening(other, stores.Links{}).Memories}, []int{3, 2, 1, 1})
		all, _, err := f.UserMemories(f.Context(), anna)
		f.must(err)
		f.same("for deciding", len(all), 2)
	})

	t.Run("all fields come back", func(t *testing.T) {
		f := start(t, open)
		e := f.say(in(anna, "s"), "t1", "hi", "hello")
		want := memory("office", "办公室在3号楼")
		want.ExpiresAt, want.Sources, want.Standing, want.Session = f.clock.Now().Add(time.Hour), []string{e.ID}, true, "s"
		added, err := f.AddMemory(f.Context(), anna, want)
		f.must(err)
		want.ID, want.Scope, want.User, want.Status = added.ID, stores.UserScope, "anna", stores.Active
		want.CreatedAt, want.UpdatedAt = f.clock.Now(), f.clock.Now()
		for _, user := range []string{"anna", ""} {
			got, err := f.Memory(f.Context(), "acme", user, added.ID)
			f.must(err)
			f.same("memory", got, want)
		}
		f.same("as added", added, want)
		_, err = f.Memory(f.Context(), "acme", "bela", added.ID)
		f.wants(err, stores.ErrNotFound)
		_, err = f.Memory(f.Context(), "umbrella", "", added.ID)
		f.wants(err, stores.ErrNotFound)
	})

	t.Run("one active row of a slot", func(t *testing.T) {
		f := start(t, open)
		old := f.add(anna, "office", "building 3")
		now := f.add(anna, "office", "building 5")
		f.same("served", f.summaries(anna), []string{"building 5"})
		f.same("supersedes", now.Supersedes, old.ID)
		m, err := f.Memory(f.Context(), "acme", "anna", old.ID)
		f.must(err)
		f.same("status", m.Status, stores.Superseded)
		f.same("count", f.opening(anna, stores.Links{}).Memories, 1)
		third := f.add(anna, "city", "Prague")
		_, err = f.PatchMemory(f.Context(), anna, third.ID, func(m *stores.Memory) error { m.Slot = "office"; return nil })
		f.wants(err, stores.ErrConflict)
		f.add(anna, "", "no slot")
		f.add(anna, "", "no slot either")
		f.same("served", len(f.summaries(anna)), 4)
	})

	t.Run("patch", func(t *testing.T) {
		f := start(t, open)
		m := f.add(anna, "office", "building 3")
		gen := f.opening(anna, stores.Links{}).UserGen
		f.clock.Advance(time.Minute)
		patched, err := f.PatchMemory(f.Context(), anna, m.ID, func(m *stores.Memory) error {
			m.Summary, m.User, m.Status, m.Standing = "building 4", "bela", stores.Deleted, true
			return nil
		})
		f.must(err)
		f.same("patched", []any{patched.Summary, patched.User, patched.Status, patched.UpdatedAt}, []any{"building 4", "anna", stores.Active, f.clock.Now()})
		o := f.opening(anna, stores.Links{})
		f.same("generations", []int64{o.UserGen, o.StableGen}, []int64{gen + 1, 1})
		refused := errors.New("refused")
		_, err = f.PatchMemory(f.Context(), anna, m.ID, func(m *stores.Memory) error { m.Summary = "no"; return refused })
		f.wants(err, refused)
		_, err = f.PatchMemory(f.Context(), anna, m.ID, func(*stores.Memory) error { panic("a broken edit") })
		if err == nil {
			t.Error("a panic is no error")
		}
		for _, scope := range []stores.Scope{bela, other, {Tenant: "acme"}} {
			_, err = f.PatchMemory(f.Context(), scope, m.ID, func(*stores.Memory) error { return nil })
			f.wants(err, stores.ErrNotFound)
			f.wants(f.DeleteMemory(f.Context(), scope, m.ID), stores.ErrNotFound)
		}
		f.same("served", f.summaries(anna), []string{"building 4"})
	})

	t.Run("C074 deleted is gone", func(t *testing.T) {
		f := start(t, open)
		old := f.add(anna, "code", "ZEBRA-40")
		m := f.add(anna, "code", "ZEBRA-41")
		gen := f.opening(anna, stores.Links{}).UserGen
		f.must(f.DeleteMemory(f.Context(), anna, m.ID))
		f.same("served", f.summaries(anna), []string(nil))
		o := f.opening(anna, stores.Links{})
		f.same("opening", []int64{o.UserGen, int64(o.Memories)}, []int64{gen + 1, 0})
		for _, id := range []string{m.ID, old.ID} {
			left, err := f.Memory(f.Context(), "acme", "anna", id)
			f.must(err)
			f.same("what is left", []any{left.Status, left.Summary, left.Topic, left.Slot, left.Type}, []any{stores.Deleted, "", "", "", ""})
		}
		f.wants(f.DeleteMemory(f.Context(), anna, m.ID), stores.ErrNotFound)
		f.add(anna, "code", "ZEBRA-42")
		f.same("said anew", f.summaries(anna), []string{"ZEBRA-42"})
	})

	t.Run("expired is not served", func(t *testing.T) {
		f := start(t, open)
		m := memory("trip", "in Vienna until Friday")
		m.ExpiresAt = f.clock.Now().Add(time.Hour)
		m, err := f.AddMemory(f.Context(), anna, m)
		f.must(err)
		f.clock.Advance(time.Hour - time.Microsecond)
		f.same("before", len(f.summaries(anna)), 1)
		f.clock.Advance(time.Microsecond)
		f.same("at its end", len(f.summaries(anna)), 0)
		gen := f.opening(anna, stores.Links{}).UserGen
		n, err := f.Expire(f.Context())
		f.must(err)
		f.same("expired", n, 1)
		o := f.opening(anna, stores.Links{})
		f.same("opening", []int64{o.UserGen, int64(o.Memories)}, []int64{gen + 1, 0})
		m, err = f.Memory(f.Context(), "acme", "anna", m.ID)
		f.must(err)
		f.same("status", m.Status, stores.Expired)
		n, err = f.Expire(f.Context())
		f.must(err)
		f.same("again", n, 0)
	})

	t.Run("an expired row frees its slot", func(t *testing.T) {
		f := start(t, open)
		m := memory("trip", "in Vienna")
		m.ExpiresAt = f.clock.Now().Add(time.Hour)
		if _, err := f.AddMemory(f.Context(), anna, m); err != nil {
			t.Fatal(err)
		}
		e := f.say(in(anna, "s"), "t1", "I am in Graz", "ok")
		f.clock.Advance(2 * time.Hour)
		l := f.lesson(f.lease())
		l.Add = []stores.Memory{learned("trip", "in Graz", e.ID)}
		f.must(f.Learn(f.Context(), l))
		f.same("served", f.summaries(anna), []string{"in Graz"})
	})
}
