package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"strata/stores"
)

// retryAge is how long after its end the same turn, asked again, is a retry
// of the client and not a wish for another answer.
const retryAge = 5 * time.Second

// What an exchange is learned as.
const (
	learnRecorded = "recorded"
	learnLearned  = "learned"
	learnFailed   = "failed"
	learnSkipped  = "skipped"
	learnRaw      = "raw" // skipped, and its texts are as they were said
)

// What an exchange is in its turn.
const (
	partTurn    = "turn"
	partBranch  = "branch"
	partReceipt = "receipt"
)

// Record keeps what was asked and answered and returns when it is committed.
// An id that is there already changes nothing, and neither does what began
// before its session was deleted or its user erased. Without a user, or when
// the exchange says so, only the receipt is kept, and not waited for: it is
// written with others, a tenth of a second later at most. When ctx ends
// first, the exchange is still recorded, later.
func (l *Ledger) Record(ctx context.Context, e stores.Exchange) error {
	if err := e.Scope.CheckTenant(); err != nil {
		return err
	}
	if e.ID == "" {
		return fmt.Errorf("ledger: an exchange without an id")
	}
	if e.At.IsZero() {
		e.At = l.clock()
	}
	if e.Ended.IsZero() {
		e.Ended = e.At
	}
	if e.Scope.User == "" {
		return l.writer.later(func(t *tx) error { return insertReceipt(t, e) })
	}
	if e.Scope.Session == "" && !e.ReceiptOnly {
		return fmt.Errorf("%w: an exchange without a session", stores.ErrScope)
	}
	owner := l.userKey(e.Scope.Tenant, e.Scope.User)
	deleted := l.digest("session", e.Scope.Session)
	if e.ReceiptOnly {
		return l.writer.later(func(t *tx) error { return recordReceipt(t, e, owner, deleted) })
	}
	// On a busy machine ctx may have ended already.
	return l.writer.put(&op{ctx: ctx, run: func(t *tx) error { return record(t, e, owner, deleted, l.sameWords(e.Links)) }})
}

// Sync returns when all that was recorded before is written, also what nobody
// waits for any more. Reads of receipts, and of the users that have nothing
// else, begin with it.
func (l *Ledger) Sync(ctx context.Context) error {
	return l.change(ctx, func(*tx) error { return nil })
}

// recordState is all that a new exchange depends on, in one row.
const recordState = `
SELECT ` + packed + `CASE WHEN EXISTS (SELECT 1 FROM exchanges WHERE tenant = $1 AND id = $5) THEN 1 ELSE 0 END,
  COALESCE((SELECT at FROM tombstones WHERE tenant = $1 AND owner = $6 AND kind = 'user' AND name = ''), 0),
  COALESCE((SELECT at FROM tombstones WHERE tenant = $1 AND owner = $6 AND kind = 'session' AND name = $7), 0),
  CASE WHEN u.user_id IS NULL THEN 0 ELSE 1 END,
  COALESCE(s.pinned, ''), COALESCE(s.pinned_gen, 0),
  COALESCE(x.seq, 0), COALESCE(x.turn_id, ''), COALESCE(x.turn_at, 0), COALESCE(x.finished, 0),
  COALESCE(x.learn, ''), COALESCE(x.again, 0), COALESCE(x.part, ''), COALESCE(x.at, 0), COALESCE(x.ended, 0), COALESCE(x.session, ''))
FROM (SELECT 1 AS one) o
LEFT JOIN users u ON u.tenant = $1 AND u.user_id = $2
LEFT JOIN sessions s ON s.tenant = $1 AND s.user_id = $2 AND s.session = $3
LEFT JOIN exchanges x ON x.seq = (SELECT y.seq FROM exchanges y
  WHERE y.turn_key = $4 AND y.turn_key <> '' AND y.tenant = $1 AND y.user_id = $2 AND (y.session = $3 OR ($8 = 0 AND y.named = 0 AND (y.finished = 0 OR y.at > $9)))
  ORDER BY y.seq DESC LIMIT 1)`

// before is the exchange that the same turn was recorded with last.
type before struct {
	seq             int64
	session, turnID string
	turnAt          int64
	finished, again bool
	learn, part     string
	at, ended       int64
}

// fate is what a new exchange is to the turn it belongs to.
type fate int

const (
	fresh   fate = iota // the first of its turn
	replace             // takes the place of the try before
	branch              // another answer to an answered turn
	aside               // a try that broke, of an answered turn
	late                // the same, begun before that answer
)

// judge tells what e is, given what was recorded for its turn key before.
func judge(e stores.Exchange, b before) fate {
	switch {
	case b.seq == 0:
		return fresh
	case !b.finished:
		return replace
	case e.Links.Thin:
		return fresh // the same words again are the next turn
	case e.Status != stores.Complete && micros(e.At) <= b.at:
		return late
	case e.Status != stores.Complete:
		return aside
	case micros(e.At)-max(b.ended, b.at) < retryAge.Microseconds():
		return replace
	}
	return branch
}

// known is what a row of recordState says.
type known struct {
	before
	there, user     bool
	erased, deleted int64 // when
	pinned          string
	pinnedGen       int64
}

func unpackKnown(row string) (k known, err error) {
	const fields = 16
	p := strings.SplitN(row, separator, fields)
	if len(p) != fields {
		return k, fmt.Errorf("%w: a state of %d fields", stores.ErrUnreadable, len(p))
	}
	k = known{there: p[0] == "1", erased: number(p[1]), deleted: number(p[2]), user: p[3] == "1", pinned: p[4], pinnedGen: number(p[5])}
	k.before = before{seq: number(p[6]), turnID: p[7], turnAt: number(p[8]), finished: p[9] == "1", learn: p[10], again: p[11] == "1",
		part: p[12], at: number(p[13]), ended: number(p[14]), session: p[15]}
	return k, nil
}

func record(t *tx, e stores.Exchange, owner, deletedSession string, sameWords int64) error {
	tenant, user, at := e.Scope.Tenant, e.Scope.User, micros(e.At)
	var state string
	_, err := one(t, recordState, []any{tenant, user, e.Scope.Session, e.Links.Turn, e.ID, owner, deletedSession, flag(e.Named || e.Links.Thin), sameWords}, &state)
	if err != nil {
		return err
	}
	k, err := unpackKnown(state)
	if err != nil || k.there || at <= k.erased || at <= k.deleted {
		return err
	}
	if !k.user {
		if err := insertUser(t, tenant, user, owner); err != nil {
			return err
		}
	}
	r := place(e, k.before)
	if err := makeRoom(t, e, k.before, r); err != nil {
		return err
	}
	if err := insertExchange(t, e, r); err != nil {
		return err
	}
	pin := e.Pin && pinMark(e) > k.pinnedGen
	return upsertSession(t, e, r, pin)
}

// recordReceipt keeps the receipt alone, of a user and a session that were
// not deleted since.
func recordReceipt(t *tx, e stores.Exchange, owner, deletedSession string) error {
	n, err := t.exec(insertLiveReceipt, e.ID, e.Scope.Tenant, e.Scope.User, micros(e.At), e.AnswerID, e.Receipt, owner, deletedSession)
	if err != nil || n == 0 {
		return err
	}
	var known int
	found, err := one(t, `SELECT 1 FROM users WHERE tenant = $1 AND user_id = $2`, []any{e.Scope.Tenant, e.Scope.User}, &known)
	if err != nil || found {
		return err
	}
	return insertUser(t, e.Scope.Tenant, e.Scope.User, owner)
}

const insertLiveReceipt = `INSERT INTO exchanges (id, tenant, user_id, part, learn, at, answer_id, receipt)
SELECT $1, $2, $3, 'receipt', 'skipped', $4, $5, $6
WHERE COALESCE((SELECT at FROM tombstones WHERE tenant = $2 AND owner = $7 AND kind = 'user' AND name = ''), -1) < $4
  AND COALESCE((SELECT at FROM tombstones WHERE tenant = $2 AND owner = $7 AND kind = 'session' AND name = $8), -1) < $4
ON CONFLICT (tenant, id) DO NOTHING`

// row is how an exchange is written.
type row struct {
	fate   fate
	part   string
	learn  string
	again  bool
	turnID string
	turnAt int64
	turns  int // by how many finished turns the session grows
}

func place(e stores.Exchange, b before) row {
	r := row{fate: judge(e, b), part: partTurn, learn: learnRaw, turnID: e.ID, turnAt: micros(e.At)}
	ended := e.Finished && e.Status == stores.Complete
	switch r.fate {
	case replace:
		r.again = b.again || b.learn == learnLearned || b.learn == learnFailed
		if b.part == partBranch && e.Status != stores.Complete {
			r.part = partBranch
		}
	case branch:
		r.again = true
	case aside:
		r.again, r.part = true, partBranch
	case late:
		r.again, r.part = true, partReceipt
	}
	if r.fate != fresh {
		r.turnID, r.turnAt = b.turnID, min(b.turnAt, r.turnAt)
	}
	switch learnable := e.Learn && ended && !r.again; {
	case learnable && e.Settled:
		r.learn = learnLearned
	case learnable:
		r.learn = learnRecorded
	case e.Settled:
		r.learn = learnSkipped
	}
	counted := r.fate != fresh && b.session == e.Scope.Session && (b.finished || b.again)
	if ended && r.part == partTurn && !counted {
		r.turns = 1
	}
	return r
}

// makeRoom changes what was recorded of the turn before.
func makeRoom(t *tx, e stores.Exchange, b before, r row) error {
	if r.fate == replace {
		if _, err := t.exec(`UPDATE exchanges SET part = 'receipt', learn = 'skipped', asked = '', answer = '', pair_key = '',
turn_key = '', items = '', stable = '' WHERE seq = $1`, b.seq); err != nil {
			return err
		}
		if b.session != e.Scope.Session {
			return leaveSession(t, e.Scope, b)
		}
	}
	if r.part == partTurn && r.fate != fresh {
		if b.part == partTurn && b.session == e.Scope.Session { // the usual case; a turn has one such row at most
			if r.fate == replace {
				return nil
			}
			_, err := t.exec(`UPDATE exchanges SET part = 'branch' WHERE seq = $1`, b.seq)
			return err
		}
		_, err := t.exec(`UPDATE exchanges SET part = 'branch' WHERE turn_key = $1 AND turn_key <> '' AND tenant = $2 AND user_id = $3
AND session = $4 AND turn_id = $5 AND part = 'turn'`, e.Links.Turn, e.Scope.Tenant, e.Scope.User, e.Scope.Session, b.turnID)
		return err
	}
	return nil
}

// leaveSession takes a replaced try out of another session: two tries of a
// first turn may have begun before either was recorded.
func leaveSession(t *tx, scope stores.Scope, b before) error {
	args := []any{scope.Tenant, scope.User, b.session}
	n, err := t.exec(`DELETE FROM sessions WHERE tenant = $1 AND user_id = $2 AND session = $3 AND NOT EXISTS
(SELECT 1 FROM exchanges WHERE tenant = $1 AND user_id = $2 AND session = $3 AND part <> 'receipt')`, args...)
	if err != nil || n > 0 || !b.finished || b.again {
		return err
	}
	_, err = t.exec(`UPDATE sessions SET turns = turns - 1 WHERE tenant = $1 AND user_id = $2 AND session = $3`, args...)
	return err
}

func insertReceipt(t *tx, e stores.Exchange) error {
	_, err := t.exec(`INSERT INTO exchanges (id, tenant, user_id, part, learn, at, answer_id, receipt)
VALUES ($1, $2, $3, 'receipt', 'skipped', $4, $5, $6) ON CONFLICT (tenant, id) DO NOTHING`,
		e.ID, e.Scope.Tenant, e.Scope.User, micros(e.At), e.AnswerID, e.Receipt)
	return err
}

func insertExchange(t *tx, e stores.Exchange, r row) error {
	if r.part == partReceipt {
		return insertReceipt(t, e)
	}
	_, err := t.exec(`INSERT INTO exchanges (id, tenant, user_id, session, named, part, learn, again, status, finished, turn_key, turn_id,
turn_at, pair_key, history, at, ended, intent, timezone, model, answer_id, items, stable, receipt, asked, answer)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26)`,
		e.ID, e.Scope.Tenant, e.Scope.User, e.Scope.Session, flag(e.Named || e.Links.Thin), r.part, r.learn, flag(r.again),
		string(e.Status), flag(e.Finished), e.Links.Turn, r.turnID, r.turnAt, e.PairKey, flag(e.History), micros(e.At), micros(e.Ended),
		e.Intent, e.Timezone, e.Model, e.AnswerID, packList(e.Items), packList(e.Stable), e.Receipt, e.Asked, e.Answer)
	return err
}

// pinMark is what sessions.pinned_gen holds: 0 until a stable block is chosen,
// then one more than the generation it was chosen at.
func pinMark(e stores.Exchange) int64 { return e.StableGen + 1 }

func upsertSession(t *tx, e stores.Exchange, r row, pin bool) error {
	if r.part == partReceipt {
		return nil
	}
	tip, pinned, pinnedGen := "", "", int64(0)
	if r.part == partTurn && e.Finished && e.Status == stores.Complete {
		tip = e.PairKey
	}
	if pin {
		pinned, pinnedGen = packList(e.Stable), pinMark(e)
	}
	_, err := t.exec(`INSERT INTO sessions (tenant, user_id, session, named, created_at, updated_at, last_intent, last_history, turns, tip, pinned, pinned_gen)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (tenant, user_id, session) DO UPDATE SET
  updated_at = CASE WHEN excluded.updated_at > sessions.updated_at THEN excluded.updated_at ELSE sessions.updated_at END,
  last_intent = CASE WHEN excluded.updated_at >= sessions.updated_at THEN excluded.last_intent ELSE sessions.last_intent END,
  last_history = CASE WHEN excluded.updated_at >= sessions.updated_at THEN excluded.last_history ELSE sessions.last_history END,
  turns = sessions.turns + excluded.turns,
  tip = CASE WHEN excluded.tip <> '' THEN excluded.tip ELSE sessions.tip END,
  pinned = CASE WHEN $13 = 1 THEN excluded.pinned ELSE sessions.pinned END,
  pinned_gen = CASE WHEN $13 = 1 THEN excluded.pinned_gen ELSE sessions.pinned_gen END,
  closed = 0`,
		e.Scope.Tenant, e.Scope.User, e.Scope.Session, flag(e.Named || e.Links.Thin), micros(e.At), micros(e.Ended),
		e.Intent, flag(e.History), r.turns, tip, pinned, pinnedGen, flag(pin))
	return err
}
