package ledger

import (
	"context"

	"strata/stores"
)

// Stats counts what a tenant keeps. It looks at every row: seconds for a
// store of millions.
func (l *Ledger) Stats(ctx context.Context, tenant string) (stores.Stats, error) {
	out := stores.Stats{MemoriesBySource: map[string]int{}, MemoriesByType: map[string]int{}, MemoriesByScope: map[string]int{}, ExchangesByIntent: map[string]int{}}
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return out, err
	}
	if err := l.Sync(ctx); err != nil {
		return out, err
	}
	r := l.reader(ctx)
	_, err := one(r, `SELECT
  (SELECT COUNT(*) FROM users WHERE tenant = $1), (SELECT COUNT(*) FROM sessions WHERE tenant = $1),
  (SELECT COUNT(*) FROM documents WHERE tenant = $1 AND published = 1),
  (SELECT COALESCE(SUM(passages), 0) FROM versions WHERE tenant = $1 AND state IN ('published', 'scheduled')),
  (SELECT COUNT(*) FROM rejected WHERE tenant = $1),
  (SELECT COUNT(*) FROM exchanges WHERE tenant = $1 AND learn = 'recorded'),
  (SELECT COUNT(*) FROM outbox WHERE tenant = $1 AND cancelled = 0),
  (SELECT COUNT(*) FROM embeds WHERE tenant = $1 AND cancelled = 0),
  (SELECT COUNT(*) FROM intent_examples WHERE tenant = $1)`, []any{tenant},
		&out.Users, &out.Sessions, &out.Documents, &out.Passages, &out.Rejected, &out.Unlearned, &out.Outbox, &out.Embeds, &out.Examples)
	if err != nil {
		return out, err
	}
	count := func(query string, add func(key string, n int)) {
		if err == nil {
			err = each(r, query, []any{tenant}, func(scan func(...any) error) error {
				var key string
				var n int
				err := scan(&key, &n)
				add(key, n)
				return err
			})
		}
	}
	active := ` FROM memories WHERE tenant = $1 AND status = 'active' GROUP BY `
	count(`SELECT source, COUNT(*)`+active+`source`, func(k string, n int) { out.MemoriesBySource[k] = n; out.Memories += n })
	count(`SELECT type, COUNT(*)`+active+`type`, func(k string, n int) { out.MemoriesByType[k] = n })
	count(`SELECT scope, COUNT(*)`+active+`scope`, func(k string, n int) { out.MemoriesByScope[k] = n })
	count(`SELECT intent, COUNT(*) FROM exchanges WHERE tenant = $1 AND part = 'turn' GROUP BY intent`,
		func(k string, n int) { out.ExchangesByIntent[k] = n; out.Exchanges += n })
	return out, err
}
