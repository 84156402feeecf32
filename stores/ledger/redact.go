package ledger

import (
	"context"

	"strata/stores"
)

// Unredacted returns exchanges of all tenants that are not to be learned from
// and whose texts are still as they were said, the oldest first. Redact is
// what they wait for.
func (l *Ledger) Unredacted(ctx context.Context, limit int) ([]stores.Exchange, error) {
	var out []stores.Exchange
	err := each(l.reader(ctx), `SELECT `+exchangeColumns+` FROM exchanges x WHERE x.learn = 'raw' ORDER BY x.seq LIMIT $1`, []any{limit},
		func(scan func(...any) error) error {
			e, err := scanExchange(scan)
			out = append(out, e)
			return err
		})
	return out, err
}

// Redact replaces the texts of exchanges that Unredacted returned. Those that
// have gone meanwhile are passed over.
func (l *Ledger) Redact(ctx context.Context, tenant string, texts []stores.Redaction) error {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return err
	}
	return l.change(ctx, func(t *tx) error {
		for _, r := range texts {
			_, err := t.exec(`UPDATE exchanges SET learn = 'skipped', asked = $3, answer = $4 WHERE tenant = $1 AND id = $2 AND learn = 'raw'`,
				tenant, r.ID, r.Asked, r.Answer)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func insertRejected(t *tx, scope stores.Scope, list []stores.Rejected, now int64) error {
	for _, r := range list {
		at := micros(r.At)
		if at == 0 {
			at = now
		}
		_, err := t.exec(`INSERT INTO rejected (id, tenant, user_id, session, exchange, text, reason, scores, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			r.ID, scope.Tenant, scope.User, scope.Session, r.Exchange, r.Text, r.Reason, packScores(r.Scores), at)
		if err != nil {
			return err
		}
	}
	return nil
}

// RejectedOf returns candidates that were not kept, the newest first. An empty
// user means any of the tenant's.
func (l *Ledger) RejectedOf(ctx context.Context, tenant, user string, limit int) ([]stores.Rejected, error) {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return nil, err
	}
	query, args := `SELECT id, user_id, exchange, text, reason, scores, at FROM rejected WHERE tenant = $1`, []any{tenant, limit}
	if user != "" {
		query, args = query+` AND user_id = $3`, append(args, user)
	}
	var out []stores.Rejected
	err := each(l.reader(ctx), query+` ORDER BY seq DESC LIMIT $2`, args, func(scan func(...any) error) error {
		var (
			r      stores.Rejected
			scores int
			at     int64
		)
		err := scan(&r.ID, &r.User, &r.Exchange, &r.Text, &r.Reason, &scores, &at)
		r.Scores, r.At = unpackScores(scores), moment(at)
		out = append(out, r)
		return err
	})
	return out, err
}
