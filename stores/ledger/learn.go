package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"strata/stores"
)

const exchangeColumns = `x.id, x.tenant, x.user_id, x.session, x.named, x.status, x.finished, x.turn_key, x.pair_key, x.history, x.at, x.ended,
x.intent, x.timezone, x.model, x.answer_id, x.items, x.stable, x.asked, x.answer`

func scanExchange(scan func(...any) error) (e stores.Exchange, err error) {
	var (
		named, finished, history int
		at, ended                int64
		items, stable            string
	)
	err = scan(&e.ID, &e.Scope.Tenant, &e.Scope.User, &e.Scope.Session, &named, &e.Status, &finished, &e.Links.Turn, &e.PairKey, &history, &at, &ended,
		&e.Intent, &e.Timezone, &e.Model, &e.AnswerID, &items, &stable, &e.Asked, &e.Answer)
	e.Named, e.Finished, e.History, e.At, e.Ended = named == 1, finished == 1, history == 1, moment(at), moment(ended)
	e.Items, e.Stable = unpackList(items), unpackList(stable)
	return e, err
}

// Learn writes what was decided in one transaction. It returns ErrConflict,
// and has written nothing, when the lease is another's, the user's memories
// have changed, an exchange is not waiting any more, or a slot is taken. A
// memory that only rests on what was said before its slot was deleted, or on
// nothing that is still there, is left out.
func (l *Ledger) Learn(ctx context.Context, lesson stores.Lesson) error {
	if err := lesson.Scope.CheckUser(); err != nil {
		return err
	}
	for _, m := range lesson.Add {
		if m.Scope == stores.WorkspaceScope {
			return fmt.Errorf("%w: nobody's words are the workspace's", stores.ErrScope)
		}
	}
	err := l.change(ctx, func(t *tx) error { return l.learn(t, lesson) })
	switch {
	case err == nil:
		l.leases.learned(lesson, l.clock())
	case errors.Is(err, errNotWaiting):
		l.leases.end(lesson)
	}
	return err
}

// errNotWaiting says that an exchange of a work was deleted, or replaced by
// another try. What is left of the work is due again at once.
var errNotWaiting = fmt.Errorf("%w: an exchange is not waiting", stores.ErrConflict)

func (l *Ledger) learn(t *tx, lesson stores.Lesson) error {
	if err := l.leases.check(lesson); err != nil {
		return err
	}
	if lesson.Decides() {
		if err := l.decided(t, lesson); err != nil {
			return err
		}
	}
	if err := settle(t, lesson); err != nil {
		return err
	}
	return insertRejected(t, lesson.Scope, lesson.Rejected, l.now())
}

// decided changes the memories as the lesson says, if they are still those it
// was decided on.
func (l *Ledger) decided(t *tx, lesson stores.Lesson) error {
	scope := lesson.Scope
	gen, err := userGen(t, scope)
	if err != nil {
		return err
	}
	if gen != lesson.UserGen {
		return fmt.Errorf("%w: the user's memories", stores.ErrConflict)
	}
	var said int64
	if len(lesson.Delete) > 0 {
		if said, err = lastSaid(t, lesson); err != nil {
			return err
		}
	}
	changed, err := l.rewrite(t, lesson, cmp.Or(said, l.now()))
	if err != nil || !changed && !lesson.Standing {
		return err
	}
	return l.touchUser(t, scope.Tenant, scope.User, lesson.Standing)
}

// lastSaid is when the newest of the lesson's exchanges began: a wish to
// forget in it reaches back from there, not over what was said since.
func lastSaid(t *tx, lesson stores.Lesson) (last int64, err error) {
	for _, r := range lesson.Learned {
		var at int64
		if _, err := one(t, `SELECT at FROM exchanges WHERE tenant = $1 AND id = $2 AND user_id = $3`, []any{lesson.Scope.Tenant, r.ID, lesson.Scope.User}, &at); err != nil {
			return 0, err
		}
		last = max(last, at)
	}
	return last, nil
}

// rewrite deletes, adds and strengthens memories. Only tombstones from before
// this lesson keep its memories out: who decided it knew of its own deletes.
func (l *Ledger) rewrite(t *tx, lesson stores.Lesson, forgotten int64) (changed bool, err error) {
	scope := lesson.Scope
	type addition struct {
		memory stores.Memory
		proof  []said
	}
	var add []addition
	for _, m := range lesson.Add {
		if m.Scope == "" {
			m.Scope = stores.UserScope
		}
		if m.User = scope.User; m.Session == "" {
			m.Session = scope.Session
		}
		proof, err := findEvidence(t, scope.Tenant, scope.User, m.Sources)
		if err != nil {
			return false, err
		}
		stale, err := l.undead(t, scope.Tenant, m, proof)
		if err != nil {
			return false, err
		}
		if !stale {
			add = append(add, addition{m, proof})
		}
	}
	for _, id := range lesson.Delete {
		_, err := memoryOf(t, scope.Tenant, id, func(m stores.Memory) bool { return m.User == scope.User && m.Status == stores.Active })
		if err == nil {
			err = l.forget(t, scope.Tenant, id, forgotten)
		}
		if err != nil {
			return false, err
		}
	}
	for _, a := range add {
		if a.memory.Supersedes != "" {
			if err := l.supersede(t, scope.Tenant, scope.User, a.memory.Supersedes); err != nil {
				return false, err
			}
		}
		if err := l.insertMemory(t, scope.Tenant, &a.memory, a.proof); err != nil {
			return false, err
		}
	}
	n, err := l.addEvidence(t, scope, lesson.Evidence)
	return len(add)+len(lesson.Delete)+n > 0, err
}

// undead tells whether a memory would only repeat what was said before its
// slot was deleted, or rests on exchanges that are all gone.
func (l *Ledger) undead(t *tx, tenant string, m stores.Memory, proof []said) (bool, error) {
	if len(proof) == 0 && len(m.Sources) > 0 {
		return true, nil
	}
	var at int64
	buried, err := one(t, `SELECT at FROM tombstones WHERE tenant = $1 AND owner = $2 AND kind = 'slot' AND name = $3`,
		[]any{tenant, l.userKey(tenant, m.User), l.slotKey(m)}, &at)
	if err != nil || !buried {
		return false, err
	}
	for _, p := range proof {
		if p.at > at {
			return false, nil
		}
	}
	return true, nil
}

// settle marks exchanges as done with; each must be waiting.
func settle(t *tx, lesson stores.Lesson) error {
	s := lesson.Scope
	must := func(n int, err error) error {
		if err == nil && n != 1 {
			return errNotWaiting
		}
		return err
	}
	for _, r := range lesson.Learned {
		err := must(t.exec(`UPDATE exchanges SET learn = 'learned', asked = $5, answer = $6
WHERE tenant = $1 AND id = $2 AND user_id = $3 AND session = $4 AND learn = 'recorded'`, s.Tenant, r.ID, s.User, s.Session, r.Asked, r.Answer))
		if err == nil && r.Asked == "" { // off the record, and so no example either
			_, err = dropExamples(t, s.Tenant, `exchange = $2`, r.ID)
		}
		if err != nil {
			return err
		}
	}
	for _, id := range lesson.Failed {
		err := must(t.exec(`UPDATE exchanges SET learn = 'failed'
WHERE tenant = $1 AND id = $2 AND user_id = $3 AND session = $4 AND learn = 'recorded'`, s.Tenant, id, s.User, s.Session))
		if err != nil {
			return err
		}
	}
	return nil
}

// said is an exchange as evidence.
type said struct {
	id, session string
	at          int64
}

// findEvidence returns those of the exchanges that are there and the user's.
func findEvidence(t *tx, tenant, user string, exchanges []string) (out []said, err error) {
	seen := map[string]bool{}
	for _, id := range exchanges {
		e := said{id: id}
		found, err := one(t, `SELECT session, at FROM exchanges WHERE tenant = $1 AND id = $2 AND user_id = $3`, []any{tenant, id, user}, &e.session, &e.at)
		if err != nil {
			return nil, err
		}
		if found && !seen[id] {
			seen[id] = true
			out = append(out, e)
		}
	}
	return out, nil
}

func insertEvidence(t *tx, tenant, user, memory string, proof []said) error {
	for _, e := range proof {
		_, err := t.exec(`INSERT INTO evidence (tenant, memory, exchange, user_id, session, at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant, memory, exchange) DO NOTHING`, tenant, memory, e.id, user, e.session, e.at)
		if err != nil {
			return err
		}
	}
	return nil
}

// addEvidence strengthens active memories of the user, which are then as new
// as what was said last for them; others are not there any more and need none.
func (l *Ledger) addEvidence(t *tx, scope stores.Scope, list []stores.Evidence) (n int, err error) {
	for _, e := range list {
		proof, err := findEvidence(t, scope.Tenant, scope.User, []string{e.ExchangeID})
		if err != nil {
			return n, err
		}
		if len(proof) == 0 {
			continue
		}
		changed, err := t.exec(`UPDATE memories SET updated_at = CASE WHEN updated_at < $4 THEN $4 ELSE updated_at END
WHERE tenant = $1 AND user_id = $2 AND id = $3 AND status = 'active'`, scope.Tenant, scope.User, e.MemoryID, proof[0].at)
		if err != nil {
			return n, err
		}
		if changed == 0 {
			continue
		}
		n++
		if err := insertEvidence(t, scope.Tenant, scope.User, e.MemoryID, proof); err != nil {
			return n, err
		}
		if err := writeSources(t, scope.Tenant, e.MemoryID); err != nil {
			return n, err
		}
	}
	return n, nil
}

// writeSources copies a memory's evidence into its row, where reads find it.
func writeSources(t *tx, tenant, memory string) error {
	var sources []string
	err := each(t, `SELECT exchange FROM evidence WHERE tenant = $1 AND memory = $2 ORDER BY at, exchange`, []any{tenant, memory}, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		sources = append(sources, id)
		return err
	})
	if err == nil {
		_, err = t.exec(`UPDATE memories SET sources = $3 WHERE tenant = $1 AND id = $2`, tenant, memory, packList(sources))
	}
	return err
}

// Unlearned counts the exchanges of all tenants that wait to be learned from.
func (l *Ledger) Unlearned(ctx context.Context) (n int, err error) {
	_, err = one(l.reader(ctx), `SELECT COUNT(*) FROM exchanges WHERE learn = 'recorded'`, nil, &n)
	return n, err
}
