package ledger

import (
	"context"

	"strata/stores"
)

// Indexed reports whether an index must have something of a tenant: passages,
// or where a space is named, vectors in it.
func (l *Ledger) Indexed(ctx context.Context, tenant, space string) (bool, error) {
	r := l.reader(ctx)
	condition, ok, err := indexed(r, space)
	if err != nil || !ok {
		return false, err
	}
	return one(r, `SELECT 1 FROM versions WHERE tenant = $1 AND `+condition+` LIMIT 1`, []any{tenant}, new(int))
}

// RequeueTenant asks for what an index must have of a tenant to be put again,
// passages or the vectors in a space, and returns how many versions that are.
// What waits already is not asked for a second time.
func (l *Ledger) RequeueTenant(ctx context.Context, tenant, space string) (int, error) {
	return update(ctx, l, func(t *tx) (int, error) {
		condition, ok, err := indexed(t, space)
		if err != nil || !ok {
			return 0, err
		}
		if space == "" {
			condition += ` AND NOT EXISTS (SELECT 1 FROM outbox o
WHERE o.tenant = versions.tenant AND o.document = versions.document AND o.version = versions.version AND o.op = 'put')`
		}
		return eachVersion(t, `tenant = $1 AND `+condition, []any{tenant}, func(e stores.OutboxEntry, ids []string) error {
			if space != "" {
				return l.enqueueEmbed(t, e.Tenant, e.Document, e.Version, ids)
			}
			return l.enqueue(t, e.Tenant, e.Document, e.Version, stores.OutboxPut, ids)
		})
	})
}

// indexed is the condition of versions that an index must have something of,
// false where it must have nothing in that space.
func indexed(r source, space string) (condition string, ok bool, err error) {
	if space == "" {
		return served, true, nil
	}
	kept, ok, err := spaceOf(r)
	return served + ` AND vectors = '` + vectorsReady + `'`, ok && kept.ID == space, err
}
