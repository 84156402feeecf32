//go:build scratch

package ledger

import (
	"context"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"strata/stores"
)

func scratch(b *testing.B) *Ledger {
	l, err := New(context.Background(), Config{Path: filepath.Join(b.TempDir(), "ledger.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	for u := range 100 {
		s := stores.Scope{Tenant: "acme", User: fmt.Sprint("user-", u, "@example.org"), Session: fmt.Sprint("chat-", u)}
		for i := range 20 {
			if _, err := l.AddMemory(context.Background(), s, stores.Memory{Type: stores.Preference, Summary: "prefers short answers with a table at the end", Slot: fmt.Sprint("slot", i), Tokens: 9}); err != nil {
				b.Fatal(err)
			}
		}
		for i := range 20 {
			if err := l.Record(context.Background(), stores.Exchange{ID: fmt.Sprint("req_", u, ".", i), Scope: s, Links: stores.Links{Turn: fmt.Sprintf("%032d-%d", u, i)}, PairKey: fmt.Sprintf("%032d-%d", u, i),
				Asked: "x", Answer: "y", Status: stores.Complete, Finished: true, Learn: true, At: time.Now()}); err != nil {
				b.Fatal(err)
			}
		}
	}
	return l
}

func BenchmarkScratch(b *testing.B) {
	l := scratch(b)
	conn, _ := l.read.Conn(context.Background())
	defer conn.Close()
	ctx := context.Background()
	queries := map[string]struct {
		q string
		n int
	}{
		"pk":    {"SELECT user_gen FROM users WHERE tenant = $1 AND user_id = $2", 2},
		"open":  {openSession, 4},
		"one":   {"WITH q AS (" + openSession + ") SELECT 1 FROM q", 4},
		"const": {"SELECT 1", 0},
		"packed": {`SELECT concat_ws(char(31), CASE WHEN s.session IS NULL THEN 0 ELSE 1 END,
  COALESCE(u.user_gen, 0), COALESCE(t.kb_gen, 0), COALESCE(u.stable_gen, 0),
  COALESCE(t.memories, 0) + COALESCE(u.memories, 0), (SELECT COUNT(*) FROM memories m
    WHERE m.tenant = $1 AND m.scope = 'session' AND m.user_id = $2 AND m.owner = $3 AND m.status = 'active'),
  COALESCE(t.documents, 0),
  COALESCE(s.pinned, ''), COALESCE(s.pinned_gen, 0), COALESCE(s.last_intent, ''), COALESCE(s.last_history, 0), COALESCE(s.turns, 0),
  COALESCE(x.turn_id, ''), COALESCE(x.items, ''), COALESCE(x.stable, ''), COALESCE(x.intent, ''), COALESCE(x.finished, 0), COALESCE(x.at, 0))
FROM (SELECT 1) l
LEFT JOIN tenants t ON t.tenant = $1
LEFT JOIN users u ON u.tenant = $1 AND u.user_id = $2
LEFT JOIN sessions s ON s.tenant = $1 AND s.user_id = $2 AND s.session = $3
LEFT JOIN exchanges x ON x.seq = (SELECT y.seq FROM exchanges y
  WHERE y.turn_key = $4 AND y.turn_key <> '' AND y.tenant = $1 AND y.user_id = $2 AND y.session = $3
  ORDER BY y.seq DESC LIMIT 1)`, 4},
	}
	for name, q := range queries {
		b.Run(name+"/raw", func(b *testing.B) {
			err := conn.Raw(func(dc any) error {
				st, err := dc.(driver.ConnPrepareContext).PrepareContext(ctx, q.q)
				if err != nil {
					return err
				}
				defer st.Close()
				all := []driver.NamedValue{{Ordinal: 1, Value: "acme"}, {Ordinal: 2, Value: "user-7@example.org"}, {Ordinal: 3, Value: "chat-7"}, {Ordinal: 4, Value: "a new turn"}}[:q.n]
				b.ReportAllocs()
				dest := make([]driver.Value, 32)
				for b.Loop() {
					rows, err := st.(driver.StmtQueryContext).QueryContext(ctx, all)
					if err != nil {
						return err
					}
					if err := rows.Next(dest[:len(rows.Columns())]); err != nil {
						return err
					}
					rows.Close()
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
	cctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	s := stores.Scope{Tenant: "acme", User: "user-7@example.org", Session: "chat-7"}
	b.Run("Open/background", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l.Open(ctx, s, stores.Links{Turn: "a new turn"})
		}
	})
	b.Run("Open/cancellable", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l.Open(cctx, s, stores.Links{Turn: "a new turn"})
		}
	})
}
