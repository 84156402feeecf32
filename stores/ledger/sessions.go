package ledger

import (
	"context"
	"slices"
	"strconv"

	"strata/stores"
)

// spoken is one turn of a session: what was asked and the answer.
type spoken struct {
	id, status    string
	at, ended     int64
	asked, answer string
	items, stable []string
	repeats       int // what holds no longer, see the repeats* constants
}

// Which turns turnsOf reads.
const (
	allTurns    = ""
	servedTurns = " AND x.finished = 1 AND x.status = 'complete' AND x.repeats < 2"
)

// turnsOf returns the last n turns of a session, the latest first, each as it
// was answered last.
func turnsOf(s source, scope stores.Scope, which string, n int) (turns []spoken, err error) {
	err = each(s, `SELECT x.id, x.status, x.at, x.ended, x.items, x.stable, x.repeats, x.asked, x.answer FROM exchanges x
WHERE x.tenant = $1 AND x.user_id = $2 AND x.session = $3 AND x.part = 'turn'`+which+`
ORDER BY x.turn_at DESC, x.seq DESC LIMIT $4`, []any{scope.Tenant, scope.User, scope.Session, n}, func(scan func(...any) error) error {
		var t spoken
		var items, stable string
		err := scan(&t.id, &t.status, &t.at, &t.ended, &items, &stable, &t.repeats, &t.asked, &t.answer)
		t.items, t.stable = unpackList(items), unpackList(stable)
		turns = append(turns, t)
		return err
	})
	return turns, err
}

// messages are the texts of turns that come the latest first, oldest first.
func messages(turns []spoken) []stores.Turn {
	out := make([]stores.Turn, 0, 2*len(turns))
	for _, t := range slices.Backward(turns) {
		asked := stores.Turn{Exchange: t.id, Role: "user", Content: t.asked, At: moment(t.at), Status: stores.ExchangeStatus(t.status), Former: t.repeats > 0}
		answered := asked
		answered.Role, answered.Content, answered.At = "assistant", t.answer, moment(t.ended)
		for _, m := range []stores.Turn{asked, answered} {
			if m.Content != "" {
				out = append(out, m)
			}
		}
	}
	return out
}

const sessionColumns = `s.session, s.user_id,
  (SELECT COUNT(*) FROM exchanges x WHERE x.tenant = s.tenant AND x.user_id = s.user_id AND x.session = s.session AND x.part = 'turn'),
  s.created_at, s.updated_at, s.closed`

func collectSessions(out *[]stores.SessionInfo) func(func(...any) error) error {
	return func(scan func(...any) error) error {
		var (
			i                stores.SessionInfo
			created, updated int64
			closed           int
		)
		err := scan(&i.ID, &i.User, &i.Turns, &created, &updated, &closed)
		i.CreatedAt, i.UpdatedAt, i.Closed = moment(created), moment(updated), closed == 1
		*out = append(*out, i)
		return err
	}
}

// Sessions lists the sessions of one user, or of the tenant when user is "",
// the newest first.
func (l *Ledger) Sessions(ctx context.Context, tenant, user, cursor string, limit int) ([]stores.SessionInfo, string, error) {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return nil, "", err
	}
	after, err := unpackCursor(cursor, 3)
	if err != nil {
		return nil, "", err
	}
	limit = pageSize(limit)
	q := listing(`SELECT `+sessionColumns+` FROM sessions s WHERE s.tenant = #1`, tenant)
	if user != "" {
		q.add(` AND s.user_id = #1`, user)
	}
	if after != nil {
		q.add(` AND (s.created_at < #1 OR (s.created_at = #1 AND (s.user_id > #2 OR (s.user_id = #2 AND s.session > #3))))`, number(after[0]), after[1], after[2])
	}
	q.add(` ORDER BY s.created_at DESC, s.user_id, s.session LIMIT #1`, limit+1)
	var out []stores.SessionInfo
	err = each(l.reader(ctx), q.query, q.args, collectSessions(&out))
	if err != nil || len(out) <= limit {
		return out, "", err
	}
	last := out[limit-1]
	return out[:limit], packCursor(strconv.FormatInt(micros(last.CreatedAt), 10), last.User, last.ID), nil
}

// findSession returns the one session with this id; ErrAmbiguous when user is
// "" and several users have one.
func findSession(s source, tenant, user, id string) (stores.SessionInfo, error) {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return stores.SessionInfo{}, err
	}
	query, args := `SELECT `+sessionColumns+` FROM sessions s WHERE s.tenant = $1 AND s.session = $2`, []any{tenant, id}
	if user != "" {
		query, args = query+` AND s.user_id = $3`, append(args, user)
	}
	var found []stores.SessionInfo
	err := each(s, query+` LIMIT 2`, args, collectSessions(&found))
	switch {
	case err != nil:
		return stores.SessionInfo{}, err
	case len(found) == 0:
		return stores.SessionInfo{}, stores.ErrNotFound
	case len(found) > 1:
		return stores.SessionInfo{}, stores.ErrAmbiguous
	}
	return found[0], nil
}

// Session returns one session and its turns, oldest first. An empty user
// means any of the tenant's.
func (l *Ledger) Session(ctx context.Context, tenant, user, id string) (stores.SessionInfo, []stores.Turn, error) {
	r := l.reader(ctx)
	info, err := findSession(r, tenant, user, id)
	if err != nil {
		return info, nil, err
	}
	turns, err := turnsOf(r, stores.Scope{Tenant: tenant, User: info.User, Session: id}, allTurns, 1<<30)
	return info, messages(turns), err
}

// CloseSession marks a session as ended, so that it is learned from at once.
func (l *Ledger) CloseSession(ctx context.Context, tenant, user, id string) error {
	return l.change(ctx, func(t *tx) error {
		info, err := findSession(t, tenant, user, id)
		if err != nil {
			return err
		}
		_, err = t.exec(`UPDATE sessions SET closed = 1 WHERE tenant = $1 AND user_id = $2 AND session = $3`, tenant, info.User, id)
		return err
	})
}

// DeleteSession removes a session, what was said in it, examples of intents
// too, and the memories that rest on nothing else. What began in it before and ends later is not
// recorded.
func (l *Ledger) DeleteSession(ctx context.Context, tenant, user, id string) error {
	return l.change(ctx, func(t *tx) error {
		info, err := findSession(t, tenant, user, id)
		if err != nil {
			return err
		}
		scope := stores.Scope{Tenant: tenant, User: info.User, Session: id}
		if err := l.deleteLearned(t, scope); err != nil {
			return err
		}
		for _, table := range []string{"exchanges", "rejected", "sessions", "evidence"} {
			if _, err := t.exec(`DELETE FROM `+table+` WHERE tenant = $1 AND user_id = $2 AND session = $3`, tenant, info.User, id); err != nil {
				return err
			}
		}
		if _, err := dropExamples(t, tenant, `user_id = $2 AND session = $3`, info.User, id); err != nil {
			return err
		}
		owner := l.userKey(tenant, info.User)
		if err := bury(t, tenant, owner, "session", l.digest("session", id), l.now(), 0); err != nil {
			return err
		}
		return l.touchUser(t, tenant, info.User, false)
	})
}

// deleteLearned deletes what only this session speaks for, and what held for
// it alone, and takes its exchanges from the sources of the others.
func (l *Ledger) deleteLearned(t *tx, scope stores.Scope) error {
	args := []any{scope.Tenant, scope.User, scope.Session}
	var gone, stay []string
	err := each(t, `SELECT e.memory, MAX(CASE WHEN o.memory IS NULL THEN 0 ELSE 1 END) FROM evidence e
LEFT JOIN evidence o ON o.tenant = e.tenant AND o.memory = e.memory AND o.session <> e.session
WHERE e.tenant = $1 AND e.user_id = $2 AND e.session = $3 GROUP BY e.memory`, args, func(scan func(...any) error) error {
		var id string
		var others int
		err := scan(&id, &others)
		if others == 1 {
			stay = append(stay, id)
		} else {
			gone = append(gone, id)
		}
		return err
	})
	if err == nil {
		err = each(t, `SELECT id FROM memories WHERE tenant = $1 AND user_id = $2 AND scope = 'session' AND owner = $3 AND status <> 'deleted'`,
			args, func(scan func(...any) error) error {
				var id string
				err := scan(&id)
				gone = append(gone, id)
				return err
			})
	}
	for _, id := range gone {
		if err == nil {
			err = l.outdate(t, scope.Tenant, id, repeatsDeleted)
		}
		if err == nil { // deleting what replaced it must still find what it replaced
			_, err = t.exec(`UPDATE memories SET supersedes = COALESCE((SELECT o.supersedes FROM memories o WHERE o.tenant = $1 AND o.id = $3), '')
WHERE tenant = $1 AND user_id = $2 AND supersedes = $3`, scope.Tenant, scope.User, id)
		}
		if err == nil {
			err = l.wipe(t, scope.Tenant, id)
		}
	}
	for _, id := range stay {
		if err == nil {
			_, err = t.exec(`DELETE FROM evidence WHERE tenant = $1 AND memory = $2 AND user_id = $3 AND session = $4`, scope.Tenant, id, scope.User, scope.Session)
		}
		if err == nil {
			err = writeSources(t, scope.Tenant, id)
		}
	}
	return err
}
