package ledger

import (
	"context"
)

// owned names a row by tenant and user, or by tenant and document.
type owned struct{ tenant, name string }

func collectOwned(out *[]owned) func(func(...any) error) error {
	return func(scan func(...any) error) error {
		var o owned
		err := scan(&o.tenant, &o.name)
		*out = append(*out, o)
		return err
	}
}

const (
	expiredMemories = `SELECT DISTINCT tenant, user_id FROM memories WHERE status = 'active' AND expires_at > 0 AND expires_at <= $1`
	dueVersions     = `SELECT tenant, document FROM versions WHERE state = 'scheduled' AND effective <= $1
UNION SELECT tenant, document FROM versions WHERE state = 'published' AND expires > 0 AND expires <= $1`
)

// Expire writes down what time has done: memories that have ended, versions
// that came into force or ended. Reads do not wait for it, they go by the
// dates; what is kept by generation does. It returns how many users,
// workspaces and documents have changed, and is to be called every minute or
// so.
func (l *Ledger) Expire(ctx context.Context) (int, error) {
	now := l.now()
	r := l.reader(ctx)
	users, documents, err := findExpired(r, now)
	if err == nil {
		err = l.removeOldParts(ctx)
	}
	if err != nil {
		return 0, err
	}
	var cancelled int
	forgotten := now - cancelledFor.Microseconds()
	if _, err := one(r, `SELECT COUNT(*) FROM outbox WHERE cancelled = 1 AND at <= $1`, []any{forgotten}, &cancelled); err != nil {
		return 0, err
	}
	if len(users)+len(documents)+cancelled == 0 {
		return 0, nil
	}
	return update(ctx, l, func(t *tx) (int, error) {
		users, documents, err := findExpired(t, now)
		if err != nil {
			return 0, err
		}
		_, err = t.exec(`UPDATE memories SET status = 'expired', updated_at = $1 WHERE status = 'active' AND expires_at > 0 AND expires_at <= $1`, now)
		for _, u := range users {
			if err == nil {
				err = l.touch(t, u.tenant, u.name, false)
			}
		}
		for _, d := range documents {
			if err == nil {
				err = l.settleVersions(t, d.tenant, d.name)
			}
		}
		if err == nil {
			_, err = t.exec(`DELETE FROM outbox WHERE cancelled = 1 AND at <= $1`, forgotten)
		}
		return len(users) + len(documents), err
	})
}

func findExpired(s source, now int64) (users, documents []owned, err error) {
	err = each(s, expiredMemories, []any{now}, collectOwned(&users))
	if err == nil {
		err = each(s, dueVersions, []any{now}, collectOwned(&documents))
	}
	return users, documents, err
}
