package storestest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"strata/stores"
)

func contains(k string, s stores.Scope) bool {
	return strings.Contains(k, fmt.Sprintf("%q %q", s.Tenant, s.User))
}

func versionKey(tenant, document string, number int) string {
	return fmt.Sprint(tenant, "/", document, "/", number)
}

// putOne puts a new version of one of few documents.
func (m *model) putOne() {
	s := m.scope()
	document := fmt.Sprint("doc", m.pick(3))
	d := draft(document, m.text(s), 1+m.pick(3), s.Groups...)
	if m.chance(0.3) {
		d.Effective = m.clock.Now().Add(time.Duration(m.pick(60)-20) * time.Second)
	}
	if m.chance(0.3) {
		d.Expires = m.clock.Now().Add(time.Duration(m.pick(90)) * time.Second)
	}
	r, err := m.PutDocument(m.Context(), s.Tenant, d)
	m.must(err)
	m.versions[versionKey(s.Tenant, document, r.Version)] = &modelVersion{tenant: s.Tenant, document: document, number: r.Version, draft: d}
}

// carryOut works off a part of the outbox.
func (m *model) carryOut() {
	entries, err := m.Outbox(m.Context(), 3)
	m.must(err)
	for _, e := range entries {
		v := m.versions[versionKey(e.Tenant, e.Document, e.Version)]
		if e.Op == stores.OutboxPut {
			for _, p := range e.Passages {
				m.passages[p.ID] = v
			}
		}
		m.must(m.OutboxDone(m.Context(), []int64{e.Seq}))
		v.published = v.published || e.Op == stores.OutboxPut
	}
}

func (m *model) deleteDocument() {
	s := m.scope()
	document := fmt.Sprint("doc", m.pick(3))
	there := false
	for _, v := range m.versions {
		if v.tenant == s.Tenant && v.document == document && !v.gone {
			there, v.gone = true, true
		}
	}
	err := m.DeleteDocument(m.Context(), s.Tenant, document)
	if !there {
		m.wants(err, stores.ErrNotFound)
		return
	}
	m.must(err)
}

// served tells whether a version is the one in force.
func (m *model) served(v *modelVersion) bool {
	now := m.clock.Now()
	if !v.published || v.gone || v.draft.Effective.After(now) || !v.draft.Expires.IsZero() && !v.draft.Expires.After(now) {
		return false
	}
	for _, o := range m.versions {
		if o.tenant == v.tenant && o.document == v.document && o.number > v.number && o.published && !o.gone && !o.draft.Effective.After(now) {
			return false
		}
	}
	return true
}

// lookUp asks for every passage that was ever put, of all tenants.
func (m *model) lookUp(s stores.Scope) {
	var ids, want []string
	counted := map[*modelVersion]bool{}
	for id, v := range m.passages {
		ids = append(ids, id)
		allowed := len(v.draft.Groups) == 0 || slices.ContainsFunc(v.draft.Groups, func(g string) bool { return slices.Contains(s.Groups, g) })
		if v.tenant == s.Tenant && allowed && m.served(v) && !counted[v] {
			counted[v] = true
			for _, p := range v.draft.Passages {
				want = append(want, p.Text)
			}
		}
	}
	list, err := m.Passages(m.Context(), s, ids)
	m.must(err)
	var got []string
	for _, p := range list {
		got = append(got, p.Text)
	}
	m.same("passages", sorted(got), sorted(want))
}
