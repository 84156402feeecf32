package ledger

import (
	"context"
	"time"

	"strata/stores"
)

// openSession finds what a walk starts with in one row. Its session ($3) is
// named; openLinked puts the one that the request continues in its place.
const (
	openColumns = `
SELECT l.session, CASE WHEN s.session IS NULL THEN 0 ELSE 1 END,
  COALESCE(u.user_gen, 0), COALESCE(t.kb_gen, 0), COALESCE(u.stable_gen, 0),
  COALESCE(t.memories, 0) + COALESCE(u.memories, 0) + (SELECT COUNT(*) FROM memories m
    WHERE m.tenant = $1 AND m.scope = 'session' AND m.user_id = $2 AND m.owner = l.session AND m.status = 'active'),
  COALESCE(t.documents, 0),
  COALESCE(s.pinned, ''), COALESCE(s.pinned_gen, 0), COALESCE(s.last_intent, ''), COALESCE(s.last_history, 0), COALESCE(s.turns, 0),
  COALESCE(x.turn_id, ''), COALESCE(x.items, ''), COALESCE(x.stable, ''), COALESCE(x.intent, ''), COALESCE(x.finished, 0), COALESCE(x.at, 0)
FROM l
LEFT JOIN tenants t ON t.tenant = $1
LEFT JOIN users u ON u.tenant = $1 AND u.user_id = $2
LEFT JOIN sessions s ON s.tenant = $1 AND s.user_id = $2 AND s.session = l.session
LEFT JOIN exchanges x ON x.seq = (SELECT y.seq FROM exchanges y
  WHERE y.turn_key = $4 AND y.turn_key <> '' AND y.tenant = $1 AND y.user_id = $2 AND y.session = l.session
  ORDER BY y.seq DESC LIMIT 1)`

	openSession = `WITH l AS MATERIALIZED (SELECT $3 AS session)` + openColumns

	// A turn that is recorded already belongs to its session. Else the session
	// with the longest run of the pairs from the latest on; among equals the
	// one that ends with it, then the one used last. $3 is what stands for none.
	openLinked = `WITH r AS MATERIALIZED (
  SELECT x.session || '' AS session,
    MAX(CASE WHEN x.pair_key = $5 THEN 1 ELSE 0 END) AS a, MAX(CASE WHEN x.pair_key = $6 THEN 1 ELSE 0 END) AS b,
    MAX(CASE WHEN x.pair_key = $7 THEN 1 ELSE 0 END) AS c, MAX(CASE WHEN x.pair_key = $8 THEN 1 ELSE 0 END) AS d
  FROM exchanges x
  WHERE x.tenant = $1 AND x.user_id = $2 AND x.pair_key IN ($5, $6, $7, $8) AND x.pair_key <> '' AND x.named = 0
  GROUP BY x.session || ''),
l AS MATERIALIZED (SELECT COALESCE(
  (SELECT x.session FROM exchanges x
    WHERE x.turn_key = $4 AND x.turn_key <> '' AND x.tenant = $1 AND x.user_id = $2 AND x.named = 0 AND (x.finished = 0 OR x.at > $9)
    ORDER BY x.seq DESC LIMIT 1),
  (SELECT r.session FROM r LEFT JOIN sessions s ON s.tenant = $1 AND s.user_id = $2 AND s.session = r.session
    WHERE r.a = 1
    ORDER BY r.b + r.b * r.c + r.b * r.c * r.d DESC, CASE WHEN s.tip = $5 THEN 1 ELSE 0 END DESC, s.updated_at DESC, r.session
    LIMIT 1),
  $3) AS session)` + openColumns
)

// sameWordsFor is how long the same first words are the same conversation.
// Later they are a new one: people begin with "hello" every day.
const sameWordsFor = 10 * time.Minute

// sameWords is the time from which an answered turn with the same turn key is
// the request's own: any, where the request carries what was said before it.
func (l *Ledger) sameWords(links stores.Links) int64 {
	if len(links.Pairs) > 0 {
		return 0
	}
	return micros(l.clock().Add(-sameWordsFor))
}

// maxPairs is how many pairs a session is looked for by.
const maxPairs = 4

// Open is the one read that starts a walk. A scope with a session names it;
// without one the session is linked by l. Without a user only what concerns
// the tenant is told.
func (l *Ledger) Open(ctx context.Context, scope stores.Scope, links stores.Links) (stores.Opening, error) {
	if err := scope.CheckTenant(); err != nil {
		return stores.Opening{}, err
	}
	query, args := openSession, append(make([]any, 0, 4+maxPairs), scope.Tenant, scope.User, "", "")
	if scope.User != "" {
		args[2], args[3] = scope.Session, links.Turn
		if scope.Session == "" {
			query = openLinked
			for i := range maxPairs {
				pair := ""
				if i < len(links.Pairs) {
					pair = links.Pairs[i]
				}
				args = append(args, pair)
			}
			args = append(args, l.sameWords(links))
		}
	}
	var (
		o              stores.Opening
		turn           stores.OpenTurn
		pinned         string
		items, stable  string
		turnAt         int64
		known, history int64
		finished       int64
		counts         [3]int64 // *int takes a detour through text in database/sql
	)
	_, err := one(l.reader(ctx), query, args, &o.Session, &known, &o.UserGen, &o.KBGen, &o.StableGen, &counts[0], &counts[1],
		&pinned, &o.PinnedGen, &o.LastIntent, &history, &counts[2],
		&turn.ID, &items, &stable, &turn.Intent, &finished, &turnAt)
	if err != nil {
		return stores.Opening{}, err
	}
	o.Memories, o.Documents, o.Turns = int(counts[0]), int(counts[1]), int(counts[2])
	o.Known, o.LastHistory, o.Pinned = known == 1, history == 1, unpackList(pinned)
	if turn.ID != "" {
		turn.Items, turn.Stable, turn.Finished, turn.At = unpackList(items), unpackList(stable), finished == 1, moment(turnAt)
		o.Turn = &turn
	}
	return o, nil
}
