package storestest

import (
	"testing"

	"strata/stores"
)

// repeatedTurns checks that recent turns do not serve what was deleted, and
// say where what they hold was replaced.
func repeatedTurns(t *testing.T, open Opener) {
	s := in(anna, "s")
	recent := func(f *fixture, s stores.Scope, want ...string) {
		f.Helper()
		turns, err := f.Recent(f.Context(), s, 10)
		f.must(err)
		var got []string
		for _, turn := range turns {
			if turn.Role == "user" && turn.Former {
				turn.Content += " (former)"
			}
			if turn.Role == "user" {
				got = append(got, turn.Content)
			}
		}
		f.same("recent of "+s.User, got, want)
	}
	// told has anna state a code, and hear and repeat it in several ways.
	told := func(f *fixture) stores.Memory {
		f.Helper()
		e := f.say(s, "t1", "my code is new", "ok")
		l := f.lesson(f.lease())
		l.Add = []stores.Memory{learned("code", "The user's code is ZEBRA-41", e.ID)}
		f.must(f.Learn(f.Context(), l))
		list, err := f.Memories(f.Context(), s)
		f.must(err)
		given := f.exchange(s, "t2", "which code?", "the one you told me")
		given.Items = []string{"pas_1", list[0].ID, "req_1/user"}
		f.record(given)
		standing := f.exchange(s, "t3", "good morning", "Good morning!")
		standing.Stable = []string{list[0].ID}
		f.record(standing)
		for i, words := range [][2]string{{"read it out", "It is zebra-41."}, {"so ZEBRA-41?", "Yes."}, {"thanks", "You are welcome."}} {
			e := f.exchange(s, "t4"+words[0], words[0], words[1])
			e.Stable = []string{list[0].ID}
			f.record(e)
			f.same("learned", i, i)
		}
		e = f.exchange(in(bela, "s"), "t1", "so ZEBRA-41?", "Yes.")
		f.record(e)
		f.clock.Advance(10e9)
		return list[0]
	}
	t.Run("deleted", func(t *testing.T) {
		f := start(t, open)
		m := told(f)
		recent(f, s, "my code is new", "which code?", "good morning", "read it out", "so ZEBRA-41?", "thanks")
		f.must(f.DeleteMemory(f.Context(), anna, m.ID))
		recent(f, s, "good morning", "thanks")
		recent(f, in(bela, "s"), "so ZEBRA-41?")
		f.same("on record", len(f.session(s)), 12)
	})
	t.Run("answered while it was deleted", func(t *testing.T) {
		f := start(t, open)
		m := told(f)
		late, standing := f.exchange(s, "t8", "which code?", "ZEBRA-41"), f.exchange(s, "t9", "which code, please?", "ZEBRA-41")
		late.Items, standing.Stable = []string{m.ID}, []string{m.ID}
		f.must(f.DeleteMemory(f.Context(), anna, m.ID))
		f.record(late)
		f.record(standing)
		recent(f, s, "good morning", "thanks")
		f.clock.Advance(10e9)
		f.say(s, "t10", "what now?", "Nothing.")
		recent(f, s, "good morning", "thanks", "what now?")
	})
	t.Run("with its session", func(t *testing.T) {
		f := start(t, open)
		m := told(f)
		there := f.exchange(in(anna, "x"), "t8", "which code?", "ZEBRA-41")
		there.Items = []string{m.ID}
		f.record(there)
		f.must(f.DeleteSession(f.Context(), "acme", "anna", "s"))
		recent(f, in(anna, "x"))
	})
	t.Run("documents", func(t *testing.T) {
		f := start(t, open)
		publish := func(d stores.Draft) string {
			f.put(d)
			f.work(index{})
			all, _, err := f.Document(f.Context(), "acme", d.ID)
			f.must(err)
			return f.allPassages(d.ID, all.Version)[0].ID
		}
		one, two := publish(draft("one", "The gate opens at 0815.", 1)), publish(draft("two", "The lift holds 4400 kg.", 1, "hr"))
		hr := s
		hr.Groups = []string{"hr"}
		given := f.exchange(s, "t1", "when?", "At 0815.")
		given.Items = []string{one}
		f.record(given)
		f.clock.Advance(10e9)
		secret := f.exchange(s, "t2", "how much?", "4400 kg.")
		secret.Items = []string{two}
		f.record(secret)
		f.clock.Advance(10e9)
		again := f.exchange(s, "t3", "when, you said?", "I said 0815.")
		again.Items = []string{given.ID + "/user", given.ID + "/assistant"}
		f.record(again)
		recent(f, hr, "when?", "how much?", "when, you said?")
		recent(f, s, "when?", "when, you said?")
		publish(draft("one", "The gate opens at 0900.", 1))
		recent(f, hr, "when? (former)", "how much?", "when, you said? (former)")
		f.must(f.DeleteDocument(f.Context(), "acme", "one"))
		recent(f, hr, "how much?")
	})
	t.Run("replaced", func(t *testing.T) {
		f := start(t, open)
		m := told(f)
		next := memory("code", "The user's code is ZEBRA-42")
		_, err := f.AddMemory(f.Context(), anna, next)
		f.must(err)
		recent(f, s, "my code is new (former)", "which code? (former)", "good morning", "read it out (former)", "so ZEBRA-41? (former)", "thanks")
		f.must(f.DeleteMemory(f.Context(), anna, m.ID))
		recent(f, s, "good morning", "thanks")
	})
}
