package ledger

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"strata/internal/ids"
	"strata/stores"
)

const memoryColumns = `m.id, m.user_id, m.scope, m.session, m.type, m.kind, m.topic, m.summary, m.importance, m.confidence, m.status,
m.created_at, m.updated_at, m.expires_at, m.sources, m.supersedes, m.scores, m.scorer, m.source, m.standing, m.slot, m.tokens`

func collectMemories(out *[]stores.Memory) func(func(...any) error) error {
	return func(scan func(...any) error) error {
		var (
			m                         stores.Memory
			created, updated, expires int64
			sources, scope, kind, now string
			scores, standing          int64 // *int takes a detour through text in database/sql
			importance, tokens        int64
		)
		err := scan(&m.ID, &m.User, &scope, &m.Session, &kind, &m.Kind, &m.Topic, &m.Summary, &importance, &m.Confidence, &now,
			&created, &updated, &expires, &sources, &m.Supersedes, &scores, &m.Scorer, &m.Source, &standing, &m.Slot, &tokens)
		m.Scope, m.Type, m.Status = stores.MemoryScope(scope), stores.MemoryType(kind), stores.MemoryStatus(now)
		m.Importance, m.Tokens = int(importance), int(tokens)
		m.CreatedAt, m.UpdatedAt, m.ExpiresAt = moment(created), moment(updated), moment(expires)
		m.Sources, m.Scores, m.Standing = unpackList(sources), unpackScores(int(scores)), standing == 1
		*out = append(*out, m)
		return err
	}
}

const (
	inForce = ` AND m.status = 'active' AND (m.expires_at = 0 OR m.expires_at > $2)`

	workspaceMemories = `SELECT ` + memoryColumns + ` FROM memories m
WHERE m.tenant = $1 AND m.scope = 'workspace' AND m.user_id = '' AND m.owner = ''` + inForce
	userMemories = ` UNION ALL SELECT ` + memoryColumns + ` FROM memories m
WHERE m.tenant = $1 AND m.scope = 'user' AND m.user_id = $3 AND m.owner = $3` + inForce
	sessionMemories = ` UNION ALL SELECT ` + memoryColumns + ` FROM memories m
WHERE m.tenant = $1 AND m.scope = 'session' AND m.user_id = $3 AND m.owner = $4` + inForce
)

// Memories returns what may be served to the scope now: the workspace's, the
// user's and the session's active memories, the oldest first. Without a user,
// the workspace's alone.
func (l *Ledger) Memories(ctx context.Context, scope stores.Scope) ([]stores.Memory, error) {
	if err := scope.CheckTenant(); err != nil {
		return nil, err
	}
	query, args := workspaceMemories, []any{scope.Tenant, l.now()}
	if scope.User != "" {
		query, args = query+userMemories, append(args, scope.User)
		if scope.Session != "" {
			query, args = query+sessionMemories, append(args, scope.Session)
		}
	}
	return directly(ctx, l.direct, func(s source) (out []stores.Memory, err error) {
		err = each(s, query, args, collectMemories(&out))
		slices.SortFunc(out, func(a, b stores.Memory) int {
			return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
		})
		return out, err
	})
}

// UserMemories returns all memories of the user that are in force, of every
// session, the oldest first, and the generation they were read at or one
// before it.
func (l *Ledger) UserMemories(ctx context.Context, scope stores.Scope) ([]stores.Memory, int64, error) {
	if err := scope.CheckUser(); err != nil {
		return nil, 0, err
	}
	type memories struct {
		list []stores.Memory
		gen  int64
	}
	now := l.now()
	m, err := directly(ctx, l.direct, func(s source) (m memories, err error) {
		if m.gen, err = userGen(s, scope); err == nil {
			err = each(s, `SELECT `+memoryColumns+` FROM memories m WHERE m.tenant = $1 AND m.user_id = $3`+inForce+` ORDER BY m.created_at, m.id`,
				[]any{scope.Tenant, now, scope.User}, collectMemories(&m.list))
		}
		return m, err
	})
	return m.list, m.gen, err
}

func userGen(s source, scope stores.Scope) (gen int64, err error) {
	_, err = one(s, `SELECT user_gen FROM users WHERE tenant = $1 AND user_id = $2`, []any{scope.Tenant, scope.User}, &gen)
	return gen, err
}

// Memory returns one memory of any status; a deleted one has id and time only.
// An empty user means any of the tenant's, the workspace's too.
func (l *Ledger) Memory(ctx context.Context, tenant, user, id string) (stores.Memory, error) {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return stores.Memory{}, err
	}
	return memoryOf(l.reader(ctx), tenant, id, func(m stores.Memory) bool { return user == "" || m.User == user })
}

// memoryOf returns the memory with this id if it is whose says.
func memoryOf(s source, tenant, id string, whose func(stores.Memory) bool) (stores.Memory, error) {
	var found []stores.Memory
	err := each(s, `SELECT `+memoryColumns+` FROM memories m WHERE m.tenant = $1 AND m.id = $2`, []any{tenant, id}, collectMemories(&found))
	if err != nil {
		return stores.Memory{}, err
	}
	if len(found) == 0 || !whose(found[0]) {
		return stores.Memory{}, stores.ErrNotFound
	}
	return found[0], nil
}

// ListMemories lists the memories of one status, by user, the newest first.
func (l *Ledger) ListMemories(ctx context.Context, tenant string, f stores.MemoryFilter) ([]stores.Memory, string, error) {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return nil, "", err
	}
	after, err := unpackCursor(f.Cursor, 3)
	if err != nil {
		return nil, "", err
	}
	limit := pageSize(f.Limit)
	q := listing(`SELECT `+memoryColumns+` FROM memories m WHERE m.tenant = #1 AND m.status = #2`, tenant, string(cmp.Or(f.Status, stores.Active)))
	if f.User != "" {
		q.add(` AND m.user_id = #1`, f.User)
	}
	if f.Type != "" {
		q.add(` AND m.type = #1`, string(f.Type))
	}
	if after != nil {
		q.add(` AND (m.user_id > #1 OR (m.user_id = #1 AND (m.created_at < #2 OR (m.created_at = #2 AND m.id > #3))))`, after[0], number(after[1]), after[2])
	}
	q.add(` ORDER BY m.user_id, m.created_at DESC, m.id LIMIT #1`, limit+1)
	var out []stores.Memory
	err = each(l.reader(ctx), q.query, q.args, collectMemories(&out))
	if err != nil || len(out) <= limit {
		return out, "", err
	}
	last := out[limit-1]
	return out[:limit], packCursor(last.User, strconv.FormatInt(micros(last.CreatedAt), 10), last.ID), nil
}

// ownerOf is who a memory's slot belongs to beside the user.
func ownerOf(m stores.Memory) string {
	switch m.Scope {
	case stores.SessionScope:
		return m.Session
	case stores.WorkspaceScope:
		return ""
	}
	return m.User
}

// AddMemory adds what a person has stated outright. It takes the place of the
// active memory with the same slot, if there is one. A memory without a scope
// is the user's.
func (l *Ledger) AddMemory(ctx context.Context, scope stores.Scope, m stores.Memory) (stores.Memory, error) {
	m.Scope = cmp.Or(m.Scope, stores.UserScope)
	m.User = scope.User
	check := scope.CheckUser
	switch m.Scope {
	case stores.WorkspaceScope:
		check, m.User = scope.CheckTenant, ""
	case stores.SessionScope:
		m.Session = cmp.Or(scope.Session, m.Session)
		if m.Session == "" {
			return stores.Memory{}, stores.ErrScope
		}
	}
	if err := check(); err != nil {
		return stores.Memory{}, err
	}
	return update(ctx, l, func(t *tx) (stores.Memory, error) {
		m := m
		if err := l.supersedeSlot(t, scope.Tenant, &m); err != nil {
			return m, err
		}
		proof, err := findEvidence(t, scope.Tenant, m.User, m.Sources)
		if err != nil {
			return m, err
		}
		if err := l.insertMemory(t, scope.Tenant, &m, proof); err != nil {
			return m, err
		}
		return m, l.touch(t, scope.Tenant, m.User, m.Standing)
	})
}

// supersedeSlot closes the active memory whose slot m takes.
func (l *Ledger) supersedeSlot(t *tx, tenant string, m *stores.Memory) error {
	if m.Slot == "" {
		return nil
	}
	var old string
	found, err := one(t, `SELECT id FROM memories WHERE tenant = $1 AND scope = $2 AND user_id = $3 AND owner = $4 AND slot = $5 AND status = 'active'
AND (expires_at = 0 OR expires_at > $6)`, []any{tenant, string(m.Scope), m.User, ownerOf(*m), m.Slot, l.now()}, &old)
	if err != nil || !found {
		return err
	}
	m.Supersedes = cmp.Or(m.Supersedes, old)
	return l.supersede(t, tenant, m.User, old)
}

// supersede makes an active memory a superseded one; ErrConflict when it is not
// active, or not the user's.
func (l *Ledger) supersede(t *tx, tenant, user, id string) error {
	n, err := t.exec(`UPDATE memories SET status = 'superseded', updated_at = $4 WHERE tenant = $1 AND user_id = $2 AND id = $3 AND status = 'active'`,
		tenant, user, id, l.now())
	if err == nil && n == 0 {
		return stores.ErrConflict
	}
	if err == nil {
		err = l.outdate(t, tenant, id, repeatsReplaced)
	}
	return err
}

// insertMemory writes m as an active one and fills in what is unset. A slot
// whose memory has expired is free.
func (l *Ledger) insertMemory(t *tx, tenant string, m *stores.Memory, proof []said) error {
	now := l.clock()
	if m.ID == "" {
		m.ID = ids.New("mem")
	}
	if m.CreatedAt.IsZero() {
		m.CreatedAt = now
	}
	if m.UpdatedAt.IsZero() {
		m.UpdatedAt = now
	}
	m.Slot = cmp.Or(m.Slot, m.ID)
	m.Status = stores.Active
	m.CreatedAt, m.UpdatedAt, m.ExpiresAt = moment(micros(m.CreatedAt)), moment(micros(m.UpdatedAt)), moment(micros(m.ExpiresAt))
	m.Sources = nil
	for _, p := range proof {
		m.Sources = append(m.Sources, p.id)
	}
	owner := ownerOf(*m)
	if _, err := t.exec(`UPDATE memories SET status = 'expired', updated_at = $6 WHERE tenant = $1 AND scope = $2 AND user_id = $3 AND owner = $4
AND slot = $5 AND status = 'active' AND expires_at > 0 AND expires_at <= $6`, tenant, string(m.Scope), m.User, owner, m.Slot, micros(now)); err != nil {
		return err
	}
	_, err := t.exec(`INSERT INTO memories (id, tenant, user_id, scope, owner, session, type, kind, topic, summary, importance, confidence, status,
created_at, updated_at, expires_at, sources, supersedes, scores, scorer, source, standing, slot, tokens)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'active', $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)`,
		m.ID, tenant, m.User, string(m.Scope), owner, m.Session, string(m.Type), m.Kind, m.Topic, m.Summary, m.Importance, m.Confidence,
		micros(m.CreatedAt), micros(m.UpdatedAt), micros(m.ExpiresAt), packList(m.Sources), m.Supersedes, packScores(m.Scores), m.Scorer, m.Source,
		flag(m.Standing), m.Slot, m.Tokens)
	if err != nil {
		return err
	}
	return insertEvidence(t, tenant, m.User, m.ID, proof)
}

// PatchMemory lets edit change an active memory of the scope's user, or of
// the workspace when it names none. Whose it is and what it replaced stay. edit
// must be quick and may be called again. A slot that another memory holds is
// ErrConflict.
func (l *Ledger) PatchMemory(ctx context.Context, scope stores.Scope, id string, edit func(*stores.Memory) error) (stores.Memory, error) {
	if err := scope.CheckTenant(); err != nil {
		return stores.Memory{}, err
	}
	return update(ctx, l, func(t *tx) (stores.Memory, error) {
		old, err := memoryOf(t, scope.Tenant, id, func(m stores.Memory) bool { return m.User == scope.User && m.Status == stores.Active })
		if err != nil {
			return old, err
		}
		m := old
		m.UpdatedAt = l.clock()
		if err := edit(&m); err != nil {
			return old, err
		}
		if m.Summary != old.Summary {
			if err := l.outdate(t, scope.Tenant, id, repeatsReplaced); err != nil {
				return old, err
			}
		}
		_, err = t.exec(`UPDATE memories SET type = $3, kind = $4, topic = $5, summary = $6, importance = $7, confidence = $8, updated_at = $9,
expires_at = $10, scores = $11, scorer = $12, source = $13, standing = $14, slot = $15, tokens = $16 WHERE tenant = $1 AND id = $2`,
			scope.Tenant, id, string(m.Type), m.Kind, m.Topic, m.Summary, m.Importance, m.Confidence, micros(m.UpdatedAt),
			micros(m.ExpiresAt), packScores(m.Scores), m.Scorer, m.Source, flag(m.Standing), cmp.Or(m.Slot, id), m.Tokens)
		if err != nil {
			return old, err
		}
		if err := l.touch(t, scope.Tenant, scope.User, old.Standing || m.Standing); err != nil {
			return old, err
		}
		return memoryOf(t, scope.Tenant, id, func(stores.Memory) bool { return true })
	})
}

// DeleteMemory deletes a memory of the scope's user, or of the workspace when
// it names none, with all that it replaced. What was said up to now does not
// bring it back.
func (l *Ledger) DeleteMemory(ctx context.Context, scope stores.Scope, id string) error {
	if err := scope.CheckTenant(); err != nil {
		return err
	}
	return l.change(ctx, func(t *tx) error {
		_, err := memoryOf(t, scope.Tenant, id, func(m stores.Memory) bool { return m.User == scope.User && m.Status != stores.Deleted })
		if err != nil {
			return err
		}
		if err := l.forget(t, scope.Tenant, id, l.now()); err != nil {
			return err
		}
		return l.touch(t, scope.Tenant, scope.User, false)
	})
}

// forget wipes a memory and all that it replaced, and leaves tombstones for
// their slots.
func (l *Ledger) forget(t *tx, tenant, id string, at int64) error {
	for id != "" {
		m, err := memoryOf(t, tenant, id, func(m stores.Memory) bool { return m.Status != stores.Deleted })
		if err == stores.ErrNotFound {
			return nil
		}
		if err == nil && m.User != "" {
			err = bury(t, tenant, l.userKey(tenant, m.User), "slot", l.slotKey(m), at, 0)
		}
		if err == nil {
			err = l.outdate(t, tenant, id, repeatsDeleted)
		}
		if err == nil {
			err = l.wipe(t, tenant, id)
		}
		if err != nil {
			return err
		}
		id = m.Supersedes
	}
	return nil
}

func (l *Ledger) slotKey(m stores.Memory) string {
	return l.digest("slot", string(m.Scope), ownerOf(m), m.Slot)
}

// wipe leaves id, owner and time of a memory.
func (l *Ledger) wipe(t *tx, tenant, id string) error {
	_, err := t.exec(`UPDATE memories SET status = 'deleted', updated_at = $3, owner = '', session = '', type = '', kind = '', topic = '', summary = '',
importance = 0, confidence = 0, expires_at = 0, sources = '', supersedes = '', scores = 0, scorer = '', source = '', standing = 0, slot = '', tokens = 0
WHERE tenant = $1 AND id = $2`, tenant, id, l.now())
	if err == nil {
		_, err = t.exec(`DELETE FROM evidence WHERE tenant = $1 AND memory = $2`, tenant, id)
	}
	return err
}
