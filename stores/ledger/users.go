package ledger

import (
	"context"

	"strata/stores"
)

// insertUser makes the row of a new user. Generations go on where those of an
// erased user of this name ended, so that nothing cached then is taken for
// new.
func insertUser(t *tx, tenant, user, key string) error {
	_, err := t.exec(`INSERT INTO users (tenant, user_id, user_gen)
VALUES ($1, $2, COALESCE((SELECT gen FROM tombstones WHERE tenant = $1 AND owner = $3 AND kind = 'user' AND name = ''), 0))
ON CONFLICT (tenant, user_id) DO NOTHING`, tenant, user, key)
	return err
}

// touchUser notes that memories of the user have changed.
func (l *Ledger) touchUser(t *tx, tenant, user string, standing bool) error {
	if err := insertUser(t, tenant, user, l.userKey(tenant, user)); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE users SET user_gen = user_gen + 1, stable_gen = stable_gen + $3, updated_at = $4,
  memories = (SELECT COUNT(*) FROM memories WHERE tenant = $1 AND scope = 'user' AND user_id = $2 AND owner = $2 AND status = 'active')
WHERE tenant = $1 AND user_id = $2`, tenant, user, flag(standing), l.now())
	return err
}

// touchTenant notes that documents, workspace memories or examples of intents
// have changed.
func touchTenant(t *tx, tenant string) error {
	_, err := t.exec(`INSERT INTO tenants (tenant, kb_gen, documents, memories, examples) VALUES ($1, 1,
  (SELECT COUNT(*) FROM documents WHERE tenant = $1 AND published = 1),
  (SELECT COUNT(*) FROM memories WHERE tenant = $1 AND scope = 'workspace' AND user_id = '' AND owner = '' AND status = 'active'),
  (SELECT COUNT(*) FROM intent_examples WHERE tenant = $1))
ON CONFLICT (tenant) DO UPDATE SET kb_gen = tenants.kb_gen + 1, documents = excluded.documents, memories = excluded.memories,
  examples = excluded.examples`, tenant)
	return err
}

// touch notes a change of the memories of one user, or of the workspace.
func (l *Ledger) touch(t *tx, tenant, user string, standing bool) error {
	if user == "" {
		return touchTenant(t, tenant)
	}
	return l.touchUser(t, tenant, user, standing)
}

// bury keeps later writes from bringing back what was deleted at this time.
func bury(t *tx, tenant, owner, kind, name string, at, gen int64) error {
	_, err := t.exec(`INSERT INTO tombstones (tenant, owner, kind, name, at, gen) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant, owner, kind, name) DO UPDATE SET
  at = CASE WHEN excluded.at > tombstones.at THEN excluded.at ELSE tombstones.at END,
  gen = CASE WHEN excluded.gen > tombstones.gen THEN excluded.gen ELSE tombstones.gen END`, tenant, owner, kind, name, at, gen)
	return err
}

// Users lists the users of a tenant by id.
func (l *Ledger) Users(ctx context.Context, tenant, cursor string, limit int) ([]stores.UserInfo, string, error) {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return nil, "", err
	}
	after, err := unpackCursor(cursor, 1)
	if err != nil {
		return nil, "", err
	}
	if after == nil {
		after = []string{""}
	}
	if err := l.Sync(ctx); err != nil {
		return nil, "", err
	}
	limit = pageSize(limit)
	var out []stores.UserInfo
	err = each(l.reader(ctx), `SELECT u.user_id,
  (SELECT COUNT(*) FROM sessions s WHERE s.tenant = u.tenant AND s.user_id = u.user_id),
  (SELECT COUNT(*) FROM memories m WHERE m.tenant = u.tenant AND m.user_id = u.user_id AND m.status = 'active'),
  u.updated_at, (SELECT COALESCE(MAX(s.updated_at), 0) FROM sessions s WHERE s.tenant = u.tenant AND s.user_id = u.user_id)
FROM users u WHERE u.tenant = $1 AND u.user_id > $2 ORDER BY u.user_id LIMIT $3`, []any{tenant, after[0], limit + 1}, func(scan func(...any) error) error {
		var u stores.UserInfo
		var changed, spoke int64
		err := scan(&u.ID, &u.Sessions, &u.Memories, &changed, &spoke)
		u.LastSeen = moment(max(changed, spoke))
		out = append(out, u)
		return err
	})
	if err != nil || len(out) <= limit {
		return out, "", err
	}
	return out[:limit], packCursor(out[limit-1].ID), nil
}

// exportPage is how many sessions an export reads at a time.
const exportPage = 200

// ExportUser returns everything that is kept about one user.
func (l *Ledger) ExportUser(ctx context.Context, tenant, user string) (stores.UserExport, error) {
	if err := (stores.Scope{Tenant: tenant, User: user}).CheckUser(); err != nil {
		return stores.UserExport{}, err
	}
	if err := l.Sync(ctx); err != nil {
		return stores.UserExport{}, err
	}
	out := stores.UserExport{User: user}
	r := l.reader(ctx)
	found, err := l.anythingOf(r, tenant, user)
	if err != nil {
		return out, err
	}
	if !found {
		return out, stores.ErrNotFound
	}
	err = each(r, `SELECT `+memoryColumns+` FROM memories m WHERE m.tenant = $1 AND m.user_id = $2 ORDER BY m.created_at, m.id`,
		[]any{tenant, user}, collectMemories(&out.Memories))
	if err != nil {
		return out, err
	}
	err = each(r, `SELECT `+exampleColumns+` FROM intent_examples i WHERE i.tenant = $1 AND i.user_id = $2 ORDER BY i.created_at, i.id`,
		[]any{tenant, user}, collectExamples(&out.Examples))
	if err != nil {
		return out, err
	}
	if out.Rejected, err = l.RejectedOf(ctx, tenant, user, 1<<30); err != nil {
		return out, err
	}
	if out.Receipts, err = l.receiptsOf(r, tenant, user); err != nil {
		return out, err
	}
	for cursor := ""; ; {
		page, next, err := l.Sessions(ctx, tenant, user, cursor, exportPage)
		if err != nil {
			return out, err
		}
		for _, info := range page {
			turns, err := turnsOf(r, stores.Scope{Tenant: tenant, User: user, Session: info.ID}, allTurns, 1<<30)
			if err != nil {
				return out, err
			}
			out.Sessions = append(out.Sessions, stores.SessionExport{SessionInfo: info, History: messages(turns)})
		}
		if cursor = next; cursor == "" {
			return out, nil
		}
	}
}

func (l *Ledger) anythingOf(s source, tenant, user string) (bool, error) {
	var n int
	return one(s, `SELECT 1 FROM users WHERE tenant = $1 AND user_id = $2`, []any{tenant, user}, &n)
}

// personal are the tables with rows of users, besides what a tenant's
// generation tells of.
var personal = []string{"evidence", "memories", "exchanges", "sessions", "rejected", "users"}

// EraseUser removes everything that is kept about one user and returns the
// rows by table. What the user began before and ends later is not recorded.
func (l *Ledger) EraseUser(ctx context.Context, tenant, user string) (map[string]int, error) {
	if err := (stores.Scope{Tenant: tenant, User: user}).CheckUser(); err != nil {
		return nil, err
	}
	owner := l.userKey(tenant, user)
	return update(ctx, l, func(t *tx) (map[string]int, error) {
		var gen int64
		found, err := one(t, `SELECT user_gen FROM users WHERE tenant = $1 AND user_id = $2`, []any{tenant, user}, &gen)
		if err != nil {
			return nil, err
		}
		rows := map[string]int{}
		for _, table := range personal {
			if rows[table], err = t.exec(`DELETE FROM `+table+` WHERE tenant = $1 AND user_id = $2`, tenant, user); err != nil {
				return nil, err
			}
		}
		if rows["intent_examples"], err = dropExamples(t, tenant, `user_id = $2`, user); err != nil {
			return nil, err
		}
		if rows["tombstones"], err = t.exec(`DELETE FROM tombstones WHERE tenant = $1 AND owner = $2 AND kind <> 'user'`, tenant, owner); err != nil {
			return nil, err
		}
		if found {
			gen++
		}
		// Also for a user that nothing is known of: a first answer may be under way.
		return rows, bury(t, tenant, owner, "user", "", l.now(), gen)
	})
}
