package storestest

import (
	"maps"
	"slices"

	"strata/stores"
)

type modelExample struct {
	stores.IntentExample
	tenant string
}

// of tells whether s's user said it.
func (x *modelExample) of(s stores.Scope) bool { return x.tenant == s.Tenant && x.User == s.User }

// fixOne names the intent of something that was said, or of a text that
// nobody said.
func (m *model) fixOne() {
	s := m.scope()
	intent := []string{"chat", "rag", "data"}[m.pick(3)]
	said := slices.DeleteFunc(slices.Sorted(maps.Keys(m.exchanges)), func(id string) bool { return m.exchanges[id].Scope.Tenant != s.Tenant })
	if m.chance(0.2) || len(said) == 0 {
		s.User = ""
		x, err := m.AddExample(m.Context(), s, stores.IntentExample{Text: m.text(s), Intent: intent, Source: stores.SourceImport})
		m.must(err)
		m.examples[x.ID] = &modelExample{x, s.Tenant}
		return
	}
	e := m.exchanges[said[m.pick(len(said))]]
	_, err := m.FixIntent(m.Context(), m.stranger(e.Scope), e.ID, intent, asSaid)
	m.wants(err, stores.ErrNotFound)
	x, err := m.FixIntent(m.Context(), e.Scope, e.ID, intent, asSaid)
	m.must(err)
	m.same("fixed", []string{x.Text, x.User, x.Session, x.Intent}, []string{e.Asked, e.Scope.User, e.Scope.Session, intent})
	m.examples[x.ID] = &modelExample{x, s.Tenant}
}

// stranger is somebody else than s.
func (m *model) stranger(s stores.Scope) stores.Scope {
	for {
		if o := m.scope(); !sameUser(o, s) {
			return o
		}
	}
}

func (m *model) unfixOne() {
	all := slices.Sorted(maps.Keys(m.examples))
	if len(all) == 0 {
		return
	}
	x := m.examples[all[m.pick(len(all))]]
	if x.User != "" {
		o := m.stranger(stores.Scope{Tenant: x.tenant, User: x.User})
		m.wants(m.DeleteExample(m.Context(), o.Tenant, o.User, x.ID), stores.ErrNotFound)
	}
	m.must(m.DeleteExample(m.Context(), x.tenant, x.User, x.ID))
	delete(m.examples, x.ID)
}

func (m *model) dropExamples(which func(*modelExample) bool) {
	maps.DeleteFunc(m.examples, func(_ string, x *modelExample) bool { return which(x) })
}

func (m *model) lookAtExamples(s stores.Scope, o stores.Opening) {
	var want []string
	for _, x := range m.examples {
		if x.tenant == s.Tenant {
			want = append(want, x.Text+" "+x.Intent)
		}
	}
	list, err := m.Examples(m.Context(), s.Tenant)
	m.must(err)
	var got []string
	for _, x := range list {
		got = append(got, x.Text+" "+x.Intent)
	}
	m.same("examples", sorted(got), sorted(want))
	m.same("examples of the opening", o.Examples, len(want))
}
