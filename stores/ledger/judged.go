package ledger

import (
	"context"

	"strata/stores"
)

// SetIntent puts the intent of an exchange right after the event. Where no
// later exchange has ended in its session, it becomes the session's last
// intent too, which the next turn leans on. It returns ErrNotFound when the
// exchange is gone, or only its receipt is left.
func (l *Ledger) SetIntent(ctx context.Context, scope stores.Scope, exchange, intent string) error {
	if err := scope.CheckUser(); err != nil {
		return err
	}
	return l.change(ctx, func(t *tx) error {
		n, err := setIntent(t, scope, exchange, intent)
		if err == nil && n == 0 {
			err = stores.ErrNotFound
		}
		return err
	})
}

// setIntent returns how many exchanges it has put right.
func setIntent(t *tx, scope stores.Scope, exchange, intent string) (int, error) {
	args := []any{scope.Tenant, scope.User, scope.Session, exchange, intent}
	n, err := t.exec(`UPDATE exchanges SET intent = $5
WHERE tenant = $1 AND id = $4 AND user_id = $2 AND session = $3 AND part <> 'receipt'`, args...)
	if err != nil || n == 0 {
		return n, err
	}
	_, err = t.exec(`UPDATE sessions SET last_intent = $5 WHERE tenant = $1 AND user_id = $2 AND session = $3
AND updated_at = (SELECT x.ended FROM exchanges x WHERE x.tenant = $1 AND x.id = $4)`, args...)
	return n, err
}
