package ledger

import (
	"context"
	"slices"
	"strconv"

	"strata/internal/ids"
	"strata/stores"
)

// maxExamples bounds what is read for the classifier.
const maxExamples = 2000

const servedExamples = `SELECT i.id, i.intent, i.text FROM intent_examples i WHERE i.tenant = $1 ORDER BY i.created_at DESC, i.id DESC LIMIT $2`

const exampleColumns = `i.id, i.intent, i.source, i.exchange, i.user_id, i.session, i.created_at, i.text`

func collectExamples(out *[]stores.IntentExample) func(func(...any) error) error {
	return func(scan func(...any) error) error {
		var e stores.IntentExample
		var created int64
		err := scan(&e.ID, &e.Intent, &e.Source, &e.Exchange, &e.User, &e.Session, &created, &e.Text)
		e.CreatedAt = moment(created)
		*out = append(*out, e)
		return err
	}
}

// Examples returns what the classifier of a tenant is to know: id, intent and
// text of the newest examples, the oldest of them first.
func (l *Ledger) Examples(ctx context.Context, tenant string) ([]stores.IntentExample, error) {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return nil, err
	}
	return directly(ctx, l.direct, func(s source) (out []stores.IntentExample, err error) {
		err = each(s, servedExamples, []any{tenant, maxExamples}, func(scan func(...any) error) error {
			var e stores.IntentExample
			err := scan(&e.ID, &e.Intent, &e.Text)
			out = append(out, e)
			return err
		})
		slices.Reverse(out)
		return out, err
	})
}

// ListExamples lists the examples of a tenant, the newest first. A user
// narrows it to what that one said.
func (l *Ledger) ListExamples(ctx context.Context, tenant, user, cursor string, limit int) ([]stores.IntentExample, string, error) {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return nil, "", err
	}
	after, err := unpackCursor(cursor, 2)
	if err != nil {
		return nil, "", err
	}
	limit = pageSize(limit)
	q := listing(`SELECT `+exampleColumns+` FROM intent_examples i WHERE i.tenant = #1`, tenant)
	if user != "" {
		q.add(` AND i.user_id = #1`, user)
	}
	if after != nil {
		q.add(` AND (i.created_at < #1 OR (i.created_at = #1 AND i.id < #2))`, number(after[0]), after[1])
	}
	q.add(` ORDER BY i.created_at DESC, i.id DESC LIMIT #1`, limit+1)
	var out []stores.IntentExample
	err = each(l.reader(ctx), q.query, q.args, collectExamples(&out))
	if err != nil || len(out) <= limit {
		return out, "", err
	}
	last := out[limit-1]
	return out[:limit], packCursor(strconv.FormatInt(micros(last.CreatedAt), 10), last.ID), nil
}

// AddExample keeps a message as an example of an intent. The same text again
// replaces the intent.
func (l *Ledger) AddExample(ctx context.Context, scope stores.Scope, e stores.IntentExample) (stores.IntentExample, error) {
	if err := scope.CheckTenant(); err != nil {
		return stores.IntentExample{}, err
	}
	e.User, e.Session, e.Exchange = scope.User, "", ""
	return update(ctx, l, func(t *tx) (stores.IntentExample, error) { return l.keepExample(t, scope.Tenant, e) })
}

// FixIntent is AddExample for what was said in an exchange, named by its id or
// its answer's: words makes the text to keep of the user's own words as they
// are recorded, "" where none are. It must be quick and may be called again. The
// exchange's intent is put right too, and the session's if that was its latest.
func (l *Ledger) FixIntent(ctx context.Context, scope stores.Scope, id, intent string, words func(asked string) (string, error)) (stores.IntentExample, error) {
	if err := scope.CheckTenant(); err != nil {
		return stores.IntentExample{}, err
	}
	return update(ctx, l, func(t *tx) (e stores.IntentExample, err error) {
		e = stores.IntentExample{Intent: intent, Source: stores.SourceFix}
		var asked string
		found, err := one(t, `SELECT r.id, r.user_id, r.session, r.asked FROM (
  SELECT x.id, x.user_id, x.session, x.asked, x.seq, 1 AS own FROM exchanges x WHERE x.tenant = $1 AND x.id = $3 AND ($2 = '' OR x.user_id = $2)
  UNION ALL
  SELECT x.id, x.user_id, x.session, x.asked, x.seq, 0 FROM exchanges x WHERE x.answer_id = $3 AND x.answer_id <> '' AND x.tenant = $1 AND ($2 = '' OR x.user_id = $2)) r
ORDER BY r.own DESC, r.seq DESC LIMIT 1`, []any{scope.Tenant, scope.User, id}, &e.Exchange, &e.User, &e.Session, &asked)
		if err == nil && !found {
			err = stores.ErrNotFound
		}
		if err == nil {
			e.Text, err = words(asked)
		}
		if err == nil { // the turn that follows leans on it too
			_, err = setIntent(t, stores.Scope{Tenant: scope.Tenant, User: e.User, Session: e.Session}, e.Exchange, intent)
		}
		if err != nil {
			return stores.IntentExample{}, err
		}
		return l.keepExample(t, scope.Tenant, e)
	})
}

// keepExample writes e, or its intent where the text is there already. Whose
// words they are is kept unless e names somebody: who said it can still have
// it erased.
func (l *Ledger) keepExample(t *tx, tenant string, e stores.IntentExample) (stores.IntentExample, error) {
	var there []stores.IntentExample
	err := each(t, `SELECT `+exampleColumns+` FROM intent_examples i WHERE i.tenant = $1 AND i.text = $2`, []any{tenant, e.Text}, collectExamples(&there))
	if err != nil {
		return e, err
	}
	e.ID = ids.New("iex")
	if len(there) > 0 {
		old := there[0]
		e.ID = old.ID
		if e.User == "" {
			e.Source, e.Exchange, e.User, e.Session = old.Source, old.Exchange, old.User, old.Session
		}
		if e.CreatedAt = old.CreatedAt; e == old {
			return e, nil
		}
	}
	now := l.now()
	e.CreatedAt = moment(now)
	_, err = t.exec(`INSERT INTO intent_examples (tenant, id, intent, source, exchange, user_id, session, created_at, text)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (tenant, text) DO UPDATE SET intent = excluded.intent, source = excluded.source, exchange = excluded.exchange,
  user_id = excluded.user_id, session = excluded.session, created_at = excluded.created_at`,
		tenant, e.ID, e.Intent, e.Source, e.Exchange, e.User, e.Session, now, e.Text)
	if err == nil && e.User != "" { // whose rows can be exported is somebody who is there
		err = insertUser(t, tenant, e.User, l.userKey(tenant, e.User))
	}
	if err == nil {
		err = touchTenant(t, tenant)
	}
	return e, err
}

// DeleteExample deletes an example. An empty user means any of the tenant's.
func (l *Ledger) DeleteExample(ctx context.Context, tenant, user, id string) error {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return err
	}
	return l.change(ctx, func(t *tx) error {
		n, err := dropExamples(t, tenant, `id = $2 AND ($3 = '' OR user_id = $3)`, id, user)
		if err == nil && n == 0 {
			err = stores.ErrNotFound
		}
		return err
	})
}

// dropExamples deletes those of a tenant's examples that a condition on $2 and
// what follows names, and lets the tenant's classifier notice.
func dropExamples(t *tx, tenant, which string, args ...any) (int, error) {
	n, err := t.exec(`DELETE FROM intent_examples WHERE tenant = $1 AND `+which, append([]any{tenant}, args...)...)
	if err == nil && n > 0 {
		err = touchTenant(t, tenant)
	}
	return n, err
}
