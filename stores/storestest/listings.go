package storestest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"strata/stores"
)

// Listings checks what admins page through.
func Listings(t *testing.T, open Opener) {
	t.Run("sessions", func(t *testing.T) {
		f := start(t, open)
		for i := range 7 {
			f.say(in(anna, fmt.Sprint("s", i)), fmt.Sprint("t", i), "hi", "hello")
		}
		f.say(in(bela, "s0"), "b", "hi", "hello")
		f.say(in(other, "s0"), "o", "hi", "hello")
		var got []string
		pages := 0
		for cursor := ""; ; pages++ {
			list, next, err := f.Sessions(f.Context(), "acme", "anna", cursor, 3)
			f.must(err)
			for _, s := range list {
				got = append(got, s.ID)
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		f.same("pages", pages, 2)
		f.same("newest first", got, []string{"s6", "s5", "s4", "s3", "s2", "s1", "s0"})
		list, _, err := f.Sessions(f.Context(), "acme", "", "", 100)
		f.must(err)
		f.same("of the tenant", len(list), 8)
		_, _, err = f.Session(f.Context(), "acme", "", "s0")
		f.wants(err, stores.ErrAmbiguous)
		f.wants(f.DeleteSession(f.Context(), "acme", "", "s0"), stores.ErrAmbiguous)
		info, turns, err := f.Session(f.Context(), "acme", "", "s1")
		f.must(err)
		f.same("session", []any{info.User, info.Turns, len(turns), info.Closed}, []any{"anna", 1, 2, false})
		f.must(f.CloseSession(f.Context(), "acme", "anna", "s1"))
		info, _, err = f.Session(f.Context(), "acme", "anna", "s1")
		f.must(err)
		f.same("closed", info.Closed, true)
		f.wants(f.CloseSession(f.Context(), "acme", "bela", "s1"), stores.ErrNotFound)
		_, _, err = f.Sessions(f.Context(), "acme", "anna", "nonsense", 3)
		if err == nil {
			t.Error("a malformed cursor is taken")
		}
	})

	t.Run("memories", func(t *testing.T) {
		f := start(t, open)
		for i := range 5 {
			f.add(anna, fmt.Sprint("a", i), fmt.Sprint("anna ", i))
			f.add(bela, fmt.Sprint("b", i), fmt.Sprint("bela ", i))
			f.clock.Advance(time.Second)
		}
		all := func(filter stores.MemoryFilter) (out []string) {
			for {
				list, next, err := f.ListMemories(f.Context(), "acme", filter)
				f.must(err)
				for _, m := range list {
					out = append(out, m.Summary)
				}
				if filter.Cursor = next; next == "" {
					return out
				}
			}
		}
		f.same("anna's", all(stores.MemoryFilter{User: "anna", Limit: 2}), []string{"anna 4", "anna 3", "anna 2", "anna 1", "anna 0"})
		f.same("all", len(all(stores.MemoryFilter{Limit: 3})), 10)
		f.same("goals", len(all(stores.MemoryFilter{Type: stores.Goal})), 0)
		list, _, err := f.ListMemories(f.Context(), "acme", stores.MemoryFilter{User: "anna", Limit: 1})
		f.must(err)
		f.must(f.DeleteMemory(f.Context(), anna, list[0].ID))
		deleted, _, err := f.ListMemories(f.Context(), "acme", stores.MemoryFilter{Status: stores.Deleted, Limit: 10})
		f.must(err)
		f.same("deleted", deleted, []stores.Memory{{ID: list[0].ID, User: "anna", Scope: stores.UserScope, Status: stores.Deleted,
			CreatedAt: list[0].CreatedAt, UpdatedAt: f.clock.Now()}})
	})

	t.Run("documents", func(t *testing.T) {
		f := start(t, open)
		x := index{}
		for i := range 5 {
			f.put(draft(fmt.Sprint("d", i), "text", 2, "g"))
		}
		f.work(x)
		var got []string
		for cursor := ""; ; {
			list, next, err := f.Documents(f.Context(), "acme", cursor, 2)
			f.must(err)
			for _, d := range list {
				got = append(got, fmt.Sprint(d.ID, d.Version, d.Status, d.Groups, d.Passages, d.Title))
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		f.same("documents", len(got), 5)
		f.same("the first", got[0], "d01published[g] 2Title of d0")
		list, _, err := f.Documents(f.Context(), "umbrella", "", 10)
		f.must(err)
		f.same("another tenant's", len(list), 0)
	})

	t.Run("users, export and stats", func(t *testing.T) {
		f := start(t, open)
		e := f.say(in(anna, "s"), "t1", "hi", "hello")
		f.say(in(anna, "s2"), "t2", "hi", "hello")
		f.say(in(bela, "s"), "t3", "hi", "hello")
		m := f.add(anna, "a", "one")
		f.add(anna, "b", "two")
		f.must(f.DeleteMemory(f.Context(), anna, m.ID))
		users, next, err := f.Users(f.Context(), "acme", "", 1)
		f.must(err)
		f.same("anna", users[0], stores.UserInfo{ID: "anna", Sessions: 2, Memories: 1, LastSeen: f.clock.Now()})
		users, next, err = f.Users(f.Context(), "acme", next, 1)
		f.must(err)
		f.same("bela", []any{users[0].ID, users[0].Memories, next}, []any{"bela", 0, ""})

		x, err := f.ExportUser(f.Context(), "acme", "anna")
		f.must(err)
		f.same("export", []any{x.User, len(x.Memories), len(x.Sessions), len(x.Sessions[0].History), len(x.Receipts)}, []any{"anna", 2, 2, 2, 2})
		if !slices.ContainsFunc(x.Receipts, func(r []byte) bool { return string(r) == string(e.Receipt) }) {
			t.Error("a receipt is missing in the export")
		}
		last, err := f.LastReceipt(f.Context(), "acme", "anna")
		f.must(err)
		f.same("last receipt", string(last), string(x.Receipts[0]))

		stats, err := f.Stats(f.Context(), "acme")
		f.must(err)
		f.same("stats", []int{stats.Users, stats.Sessions, stats.Exchanges, stats.Memories, stats.Unlearned, stats.MemoriesBySource["admin"], stats.MemoriesByScope["user"]},
			[]int{2, 3, 3, 1, 3, 1, 1})
		stats, err = f.Stats(f.Context(), "umbrella")
		f.must(err)
		f.same("another tenant's", stats.Users+stats.Sessions+stats.Exchanges+stats.Memories, 0)
	})
}

// Scopes checks that nothing is read or written without saying for whom.
func Scopes(t *testing.T, open Opener) {
	f := start(t, open)
	ctx := f.Context()
	nobody, nowhere := stores.Scope{Tenant: "acme"}, stores.Scope{User: "anna"}
	keep := func(*stores.Memory) error { return nil }
	calls := map[string]func(stores.Scope) error{
		"Recent":       func(s stores.Scope) error { _, err := f.Recent(ctx, s, 1); return err },
		"UserMemories": func(s stores.Scope) error { _, _, err := f.UserMemories(ctx, s); return err },
		"Learn":        func(s stores.Scope) error { return f.Learn(ctx, stores.Lesson{Scope: s}) },
		"AddMemory":    func(s stores.Scope) error { _, err := f.AddMemory(ctx, s, memory("a", "b")); return err },
		"ExportUser":   func(s stores.Scope) error { _, err := f.ExportUser(ctx, s.Tenant, s.User); return err },
		"EraseUser":    func(s stores.Scope) error { _, err := f.EraseUser(ctx, s.Tenant, s.User); return err },
	}
	for name, call := range calls {
		for _, s := range []stores.Scope{nobody, nowhere, {}} {
			if err := call(s); err == nil {
				t.Errorf("%s by %+v: no error", name, s)
			} else {
				f.wants(err, stores.ErrScope)
			}
		}
	}
	tenantWide := map[string]func(stores.Scope) error{
		"Examples":     func(s stores.Scope) error { _, err := f.Examples(ctx, s.Tenant); return err },
		"ListExamples": func(s stores.Scope) error { _, _, err := f.ListExamples(ctx, s.Tenant, s.User, "", 1); return err },
		"AddExample": func(s stores.Scope) error {
			_, err := f.AddExample(ctx, s, stores.IntentExample{Text: "a"})
			return err
		},
		"FixIntent":     func(s stores.Scope) error { _, err := f.FixIntent(ctx, s, "a", "chat", asSaid); return err },
		"DeleteExample": func(s stores.Scope) error { return f.DeleteExample(ctx, s.Tenant, s.User, "a") },
		"Open":          func(s stores.Scope) error { _, err := f.Open(ctx, s, stores.Links{}); return err },
		"Record":        func(s stores.Scope) error { return f.Record(ctx, f.exchange(s, "t", "a", "b")) },
		"Memories":      func(s stores.Scope) error { _, err := f.Memories(ctx, s); return err },
		"Passages":      func(s stores.Scope) error { _, err := f.Passages(ctx, s, []string{"a"}); return err },
		"Memory":        func(s stores.Scope) error { _, err := f.Memory(ctx, s.Tenant, s.User, "a"); return err },
		"PatchMemory":   func(s stores.Scope) error { _, err := f.PatchMemory(ctx, s, "a", keep); return err },
		"DeleteMemory":  func(s stores.Scope) error { return f.DeleteMemory(ctx, s, "a") },
		"ListMemories": func(s stores.Scope) error {
			_, _, err := f.ListMemories(ctx, s.Tenant, stores.MemoryFilter{})
			return err
		},
		"RejectedOf":       func(s stores.Scope) error { _, err := f.RejectedOf(ctx, s.Tenant, s.User, 1); return err },
		"Sessions":         func(s stores.Scope) error { _, _, err := f.Sessions(ctx, s.Tenant, s.User, "", 1); return err },
		"Session":          func(s stores.Scope) error { _, _, err := f.Session(ctx, s.Tenant, s.User, "a"); return err },
		"DeleteSession":    func(s stores.Scope) error { return f.DeleteSession(ctx, s.Tenant, s.User, "a") },
		"CloseSession":     func(s stores.Scope) error { return f.CloseSession(ctx, s.Tenant, s.User, "a") },
		"Receipt":          func(s stores.Scope) error { _, err := f.Receipt(ctx, s.Tenant, s.User, "a"); return err },
		"LastReceipt":      func(s stores.Scope) error { _, err := f.LastReceipt(ctx, s.Tenant, s.User); return err },
		"Users":            func(s stores.Scope) error { _, _, err := f.Users(ctx, s.Tenant, "", 1); return err },
		"Stats":            func(s stores.Scope) error { _, err := f.Stats(ctx, s.Tenant); return err },
		"Redact":           func(s stores.Scope) error { return f.Redact(ctx, s.Tenant, nil) },
		"PutDocument":      func(s stores.Scope) error { _, err := f.PutDocument(ctx, s.Tenant, draft("a", "b", 1)); return err },
		"DeleteDocument":   func(s stores.Scope) error { return f.DeleteDocument(ctx, s.Tenant, "a") },
		"Documents":        func(s stores.Scope) error { _, _, err := f.Documents(ctx, s.Tenant, "", 1); return err },
		"DocumentPassages": func(s stores.Scope) error { _, err := f.DocumentPassages(ctx, s.Tenant, "a", 1, 0); return err },
		"Document":         func(s stores.Scope) error { _, _, err := f.Document(ctx, s.Tenant, "a"); return err },
	}
	for name, call := range tenantWide {
		if err := call(nowhere); err == nil {
			t.Errorf("%s without a tenant: no error", name)
		} else {
			f.wants(err, stores.ErrScope)
		}
	}
}
