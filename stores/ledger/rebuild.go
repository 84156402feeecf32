package ledger

import (
	"context"

	"strata/stores"
)

// Rebuild tells whether the index is to be filled anew.
func (l *Ledger) Rebuild(ctx context.Context) (state stores.RebuildState, err error) {
	_, err = one(l.reader(ctx), `SELECT value FROM meta WHERE name = 'rebuild'`, nil, &state)
	return state, err
}

// MoveRebuild changes that from one state to another, and reports whether it
// was the one. Of several that try, one succeeds.
func (l *Ledger) MoveRebuild(ctx context.Context, from, to stores.RebuildState) (bool, error) {
	return update(ctx, l, func(t *tx) (bool, error) {
		var now stores.RebuildState
		if _, err := one(t, `SELECT value FROM meta WHERE name = 'rebuild'`, nil, &now); err != nil || now != from {
			return false, err
		}
		if to == stores.NoRebuild {
			_, err := t.exec(`DELETE FROM meta WHERE name = 'rebuild'`)
			return err == nil, err
		}
		_, err := t.exec(`INSERT INTO meta (name, value) VALUES ('rebuild', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, string(to))
		return err == nil, err
	})
}
