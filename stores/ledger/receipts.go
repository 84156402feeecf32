package ledger

import (
	"context"

	"strata/stores"
)

// Receipt returns the receipt of a request, by its id or by its answer's. An
// empty user means any of the tenant's.
func (l *Ledger) Receipt(ctx context.Context, tenant, user, id string) ([]byte, error) {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return nil, err
	}
	if id == "" {
		return nil, stores.ErrNotFound
	}
	if err := l.Sync(ctx); err != nil {
		return nil, err
	}
	var receipt []byte
	found, err := one(l.reader(ctx), `SELECT receipt FROM (
  SELECT x.receipt, x.seq, 1 AS own FROM exchanges x WHERE x.tenant = $1 AND x.id = $3 AND ($2 = '' OR x.user_id = $2)
  UNION ALL
  SELECT x.receipt, x.seq, 0 FROM exchanges x WHERE x.answer_id = $3 AND x.answer_id <> '' AND x.tenant = $1 AND ($2 = '' OR x.user_id = $2)) r
ORDER BY r.own DESC, r.seq DESC LIMIT 1`, []any{tenant, user, id}, &receipt)
	return foundReceipt(receipt, found, err)
}

// LastReceipt returns the receipt of the latest request. An empty user means
// any of the tenant's.
func (l *Ledger) LastReceipt(ctx context.Context, tenant, user string) ([]byte, error) {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return nil, err
	}
	if err := l.Sync(ctx); err != nil {
		return nil, err
	}
	query, args := `SELECT receipt FROM exchanges WHERE seq = (SELECT MAX(x.seq) FROM exchanges x WHERE x.tenant = $1`, []any{tenant}
	if user != "" {
		query, args = query+` AND x.user_id = $2`, append(args, user)
	}
	var receipt []byte
	found, err := one(l.reader(ctx), query+`)`, args, &receipt)
	return foundReceipt(receipt, found, err)
}

func foundReceipt(receipt []byte, found bool, err error) ([]byte, error) {
	if err == nil && (!found || len(receipt) == 0) {
		err = stores.ErrNotFound
	}
	return receipt, err
}

// receiptsOf returns all receipts of a user, the newest first.
func (l *Ledger) receiptsOf(s source, tenant, user string) (out [][]byte, err error) {
	err = each(s, `SELECT receipt FROM exchanges WHERE tenant = $1 AND user_id = $2 ORDER BY seq DESC`, []any{tenant, user}, func(scan func(...any) error) error {
		var receipt []byte
		err := scan(&receipt)
		if len(receipt) > 0 {
			out = append(out, receipt)
		}
		return err
	})
	return out, err
}
