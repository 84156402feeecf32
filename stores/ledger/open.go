package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"strata/stores"
)

// openSession finds what a walk starts with in one row. Its session ($3) is
// named; openLinked puts the one that the request continues in its place.
const (
	openColumns = `
SELECT ` + packed + `CASE WHEN s.session IS NULL THEN 0 ELSE 1 END,
  COALESCE(u.user_gen, 0), COALESCE(t.kb_gen, 0), COALESCE(u.stable_gen, 0),
  COALESCE(t.memories, 0) + COALESCE(u.memories, 0), (SELECT COUNT(*) FROM memories m
    WHERE m.tenant = $1 AND m.scope = 'session' AND m.user_id = $2 AND m.owner = l.session AND m.status = 'active'),
  COALESCE(t.documents, 0),
  COALESCE(s.pinned, ''), COALESCE(s.pinned_gen, 0), COALESCE(s.last_intent, ''), COALESCE(s.last_history, 0), COALESCE(s.turns, 0),
  COALESCE(x.turn_id, ''), COALESCE(x.items, ''), COALESCE(x.stable, ''), COALESCE(x.intent, ''), COALESCE(x.finished, 0), COALESCE(x.at, 0),
  COALESCE(t.examples, 0),
  l.session)
FROM l
LEFT JOIN tenants t ON t.tenant = $1
LEFT JOIN users u ON u.tenant = $1 AND u.user_id = $2
LEFT JOIN sessions s ON s.tenant = $1 AND s.user_id = $2 AND s.session = l.session
LEFT JOIN exchanges x ON x.seq = (SELECT y.seq FROM exchanges y
  WHERE y.turn_key = $4 AND y.turn_key <> '' AND y.tenant = $1 AND y.user_id = $2 AND y.session = l.session
  ORDER BY y.seq DESC LIMIT 1)`

	// Without a user there is only the tenant.
	openTenant = `SELECT ` + packed + `kb_gen, memories, documents, examples) FROM tenants WHERE tenant = $1`

	openSession = `WITH l AS MATERIALIZED (SELECT $3 AS session)` + openColumns

	// A turn that is recorded already belongs to its session. Else the session
	// with the longest run of the pairs from the latest on; among equals the
	// one that ends with it, then the one used last. $3 is what stands for none.
	openLinked = `WITH l AS MATERIALIZED (SELECT COALESCE(
  (SELECT x.session FROM exchanges x
    WHERE x.turn_key = $4 AND x.turn_key <> '' AND x.tenant = $1 AND x.user_id = $2 AND x.named = 0 AND (x.finished = 0 OR x.at > $9)
    ORDER BY x.seq DESC LIMIT 1),
  (SELECT x.session FROM exchanges x LEFT JOIN sessions s ON s.tenant = $1 AND s.user_id = $2 AND s.session = x.session
    WHERE x.tenant = $1 AND x.user_id = $2 AND x.pair_key = $5 AND x.pair_key <> '' AND x.named = 0
    ORDER BY CASE WHEN NOT ` + holdsPair + `$6) THEN 1 WHEN NOT ` + holdsPair + `$7) THEN 2 WHEN NOT ` + holdsPair + `$8) THEN 3 ELSE 4 END DESC,
      CASE WHEN s.tip = $5 THEN 1 ELSE 0 END DESC, s.updated_at DESC, x.session
    LIMIT 1),
  $3) AS session)` + openColumns

	holdsPair = `EXISTS (SELECT 1 FROM exchanges y WHERE y.tenant = $1 AND y.user_id = $2 AND y.session = x.session AND y.pair_key <> '' AND y.named = 0 AND y.pair_key = `
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

const (
	maxPairs   = 4  // by which a session is looked for
	openFields = 20 // of openColumns
)

// Open is the one read that starts a walk. A scope with a session names it;
// without one the session is linked by l. Without a user only what concerns
// the tenant is told.
func (l *Ledger) Open(ctx context.Context, scope stores.Scope, links stores.Links) (stores.Opening, error) {
	if err := scope.CheckTenant(); err != nil {
		return stores.Opening{}, err
	}
	if scope.User == "" {
		row, err := l.text(ctx, openTenant, []any{scope.Tenant})
		if err != nil || row == "" {
			return stores.Opening{}, err
		}
		p := strings.SplitN(row, separator, 4)
		return stores.Opening{KBGen: number(p[0]), Memories: int(number(p[1])), Documents: int(number(p[2])), Examples: int(number(p[3]))}, nil
	}
	query, args := openSession, append(make([]any, 0, 5+maxPairs), scope.Tenant, scope.User, scope.Session, links.Turn)
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
	row, err := l.text(ctx, query, args)
	if err != nil {
		return stores.Opening{}, err
	}
	return unpackOpening(row)
}

// unpackOpening reads a row of openColumns.
func unpackOpening(row string) (o stores.Opening, err error) {
	var p [openFields]string
	for i := range p[:openFields-1] {
		var ok bool
		if p[i], row, ok = strings.Cut(row, separator); !ok {
			return o, fmt.Errorf("%w: an opening of %d fields", stores.ErrUnreadable, i+1)
		}
	}
	p[openFields-1] = row
	o = stores.Opening{
		Session: p[19], Known: p[0] == "1",
		UserGen: number(p[1]), KBGen: number(p[2]), StableGen: number(p[3]),
		OfSession: int(number(p[5])), Documents: int(number(p[6])), Examples: int(number(p[18])),
		Fixed: number(p[8]) > 0, Pinned: unpackList(p[7]), PinnedGen: max(0, number(p[8])-1), LastIntent: p[9], LastHistory: p[10] == "1", Turns: int(number(p[11])),
	}
	o.Memories = int(number(p[4])) + o.OfSession
	if p[12] != "" {
		o.Turn = &stores.OpenTurn{ID: p[12], Items: unpackList(p[13]), Stable: unpackList(p[14]), Intent: p[15], Finished: p[16] == "1", At: moment(number(p[17]))}
	}
	return o, nil
}
