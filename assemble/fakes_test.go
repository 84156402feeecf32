package assemble

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"strata/intent"
	"strata/policy"
	"strata/stores"
)

var now = time.Date(2026, 3, 10, 9, 30, 0, 0, time.UTC)

func at(days int) time.Time { return now.AddDate(0, 0, -days) }

// fakeLedger serves what a real one would: its caller's rows, passages whose
// groups the caller has.
type fakeLedger struct {
	memories []stores.Memory
	passages []stores.Passage
	groups   map[string]string // passage to the group that may read it
	turns    []stores.Turn

	hold  func(ctx context.Context, what string) error // nil: answer at once
	calls struct{ memories, passages, recent atomic.Int32 }
}

func (l *fakeLedger) wait(ctx context.Context, what string) error {
	if l.hold == nil {
		return nil
	}
	return l.hold(ctx, what)
}

func (l *fakeLedger) Memories(ctx context.Context, scope stores.Scope) ([]stores.Memory, error) {
	l.calls.memories.Add(1)
	if err := l.wait(ctx, "memories"); err != nil {
		return nil, err
	}
	var out []stores.Memory
	for _, m := range l.memories {
		if m.Scope == stores.WorkspaceScope || m.User == scope.User && scope.User != "" && (m.Scope != stores.SessionScope || m.Session == scope.Session) {
			out = append(out, m)
		}
	}
	return out, nil
}

func (l *fakeLedger) Passages(ctx context.Context, scope stores.Scope, ids []string) ([]stores.Passage, error) {
	l.calls.passages.Add(1)
	if err := l.wait(ctx, "passages"); err != nil {
		return nil, err
	}
	var out []stores.Passage
	for _, id := range ids {
		for _, p := range l.passages {
			if g := l.groups[id]; p.ID == id && (g == "" || slices.Contains(scope.Groups, g)) {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

func (l *fakeLedger) Recent(ctx context.Context, _ stores.Scope, n int) ([]stores.Turn, error) {
	l.calls.recent.Add(1)
	if err := l.wait(ctx, "recent"); err != nil {
		return nil, err
	}
	return l.turns[max(0, len(l.turns)-2*n):], nil
}

// fakeIndex finds passages by the share of the query's terms they hold.
type fakeIndex struct {
	passages []stores.Passage
	hold     func(ctx context.Context, what string) error
	queries  []string
	limits   []int
	calls    atomic.Int32
}

func (x *fakeIndex) Search(ctx context.Context, _, query string, limit int) ([]stores.Hit, error) {
	if isUnrelated(query) {
		return nil, nil
	}
	x.calls.Add(1)
	if x.hold != nil {
		if err := x.hold(ctx, "search"); err != nil {
			return nil, err
		}
	} else {
		x.queries, x.limits = append(x.queries, query), append(x.limits, limit)
	}
	var hits []stores.Hit
	for i := range x.passages {
		p := &x.passages[i]
		all, set := topics(query), map[uint64]bool{}
		hold(set, p.Title+"\n"+p.Heading+"\n"+p.Text)
		held := 0.0
		total := 0.0
		for _, t := range all {
			total += t.weight
			if set[t.hash] {
				held += t.weight
			}
		}
		if held > 0 {
			hits = append(hits, stores.Hit{ID: p.ID, Score: held, Cover: held / total})
		}
	}
	slices.SortStableFunc(hits, func(a, b stores.Hit) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	return hits[:min(limit, len(hits))], nil
}

func isUnrelated(query string) bool {
	return slices.Contains(unrelatedQuestions["en"], query) || slices.Contains(unrelatedQuestions["zh"], query)
}

// heldRows is a cache that holds everything.
type heldRows struct{ rows *Rows }

func (h heldRows) Held(stores.Scope, int64, int64) (*Rows, bool) { return h.rows, true }
func (h heldRows) Memories(context.Context, stores.Scope, int64, int64) (*Rows, error) {
	return h.rows, nil
}

// The tables are the tests' own; the real one is policy's.
func planOf(i intent.Intent) policy.Plan {
	p := policy.Plan{Intent: i, Floor: 0.35, Read: true, Inject: true}
	switch i {
	case intent.RAG:
		p.Budget, p.Deadline = 2500, 150*time.Millisecond
		p.Layers = []policy.LayerPlan{{Layer: policy.LayerKnowledge, Items: 6, Share: 0.7}, {Layer: policy.LayerMemory, Items: 5, Share: 0.2}, {Layer: policy.LayerRecent, Items: 6, Share: 0.1}}
	case intent.Data:
		p.Budget, p.Deadline = 1500, 100*time.Millisecond
		p.Layers = []policy.LayerPlan{{Layer: policy.LayerState}, {Layer: policy.LayerTool}, {Layer: policy.LayerMemory, Items: 5, Share: 0.4}, {Layer: policy.LayerRecent, Items: 6, Share: 0.2}}
	default:
		p.Budget, p.Deadline = 800, 50*time.Millisecond
		p.Layers = []policy.LayerPlan{{Layer: policy.LayerMemory, Items: 3, Share: 0.5}, {Layer: policy.LayerRecent, Items: 6, Share: 0.5}}
	}
	return p
}

func ask(words string) Query {
	return Query{Scope: stores.Scope{Tenant: "T1", User: "U1", Session: "S1"}, Words: words, Room: -1, Now: now, Private: true,
		Request: func(text string) bool { return strings.Contains(words, text) }}
}

func openingOf(l *fakeLedger) stores.Opening {
	return stores.Opening{Session: "S1", UserGen: 1, KBGen: 1, StableGen: 1, Memories: len(l.memories), Documents: len(l.passages), Turns: len(l.turns) / 2, OfSession: ofSession(l.memories)}
}

func ofSession(list []stores.Memory) (n int) {
	for _, m := range list {
		if m.Scope == stores.SessionScope && m.Session == "S1" {
			n++
		}
	}
	return n
}

func memory(id string, typ stores.MemoryType, summary string, days int) stores.Memory {
	return stores.Memory{ID: id, Scope: stores.UserScope, User: "U1", Type: typ, Kind: "semantic", Summary: summary, Importance: 6,
		Status: stores.Active, CreatedAt: at(days), UpdatedAt: at(days), Tokens: 12}
}

func standing(id, summary string, days int) stores.Memory {
	m := memory(id, stores.Preference, summary, days)
	m.Standing = true
	return m
}

func passage(id, title, heading, text string) stores.Passage {
	return stores.Passage{ID: id, Document: title, Title: title, Version: 1, Heading: heading, Text: text, Tokens: 30}
}

const zebra = "User's project code (我的项目代号) is ZEBRA-41."

func assembler(l *fakeLedger) (*Assembler, *fakeIndex) {
	x := &fakeIndex{passages: l.passages}
	return New(Config{Ledger: l, Index: x}), x
}

func reasonOf(r Result, id string) string {
	for _, s := range r.Skipped {
		if s.ID == id {
			return s.Reason
		}
	}
	return ""
}

// fixedHits is an index that finds the same in no time.
type fixedHits []stores.Hit

func (h fixedHits) Search(_ context.Context, _, query string, _ int) ([]stores.Hit, error) {
	if isUnrelated(query) {
		return nil, nil
	}
	return h, nil
}

// indexFunc answers every search by its query.
type indexFunc func(query string) []stores.Hit

func (f indexFunc) Search(_ context.Context, _, query string, _ int) ([]stores.Hit, error) {
	return f(query), nil
}
