package learn_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"strata/stores"
)

// fakeLedger is a ledger in memory with the ledger's promises: one lesson is
// one step, a stale generation or a taken slot is a conflict, what was deleted
// does not come back from what was said before.
type fakeLedger struct {
	mu       sync.Mutex
	clock    func() time.Time
	rows     []*exchangeRow
	memories []stores.Memory
	rejected []stores.Rejected
	gen      map[string]int64
	standing map[string]int64
	leases   map[string]lease // by session key
	buried   map[string]time.Time
	lessons  int

	failLearn func() error // before anything is written
}

type exchangeRow struct {
	stores.Exchange
	state string // recorded, learned, failed, raw, skipped
}

type lease struct {
	token string
	until time.Time
}

func newFake(clock func() time.Time) *fakeLedger {
	return &fakeLedger{clock: clock, gen: map[string]int64{}, standing: map[string]int64{}, leases: map[string]lease{}, buried: map[string]time.Time{}}
}

func userKey(s stores.Scope) string    { return s.Tenant + "\x00" + s.User }
func sessionKey(s stores.Scope) string { return userKey(s) + "\x00" + s.Session }

func (f *fakeLedger) Record(ctx context.Context, e stores.Exchange) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	state := "recorded"
	if !e.Learn {
		state = "raw"
	}
	f.rows = append(f.rows, &exchangeRow{e, state})
	return ctx.Err()
}

func (f *fakeLedger) Lease(ctx context.Context, worker string, limit int) ([]stores.Work, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []stores.Work
	index := map[string]int{}
	for _, r := range f.rows {
		key := sessionKey(r.Scope)
		if r.state != "recorded" || f.leases[key].until.After(f.clock()) && !has(index, key) {
			continue
		}
		if !has(index, key) {
			if len(out) == limit {
				continue
			}
			index[key] = len(out)
			token := fmt.Sprintf("%s/%d", worker, len(f.leases)+f.lessons)
			f.leases[key] = lease{token, f.clock().Add(time.Minute)}
			out = append(out, stores.Work{Scope: r.Scope, Lease: token})
		}
		w := &out[index[key]]
		w.Exchanges = append(w.Exchanges, r.Exchange)
	}
	return out, ctx.Err()
}

func has(m map[string]int, k string) bool { _, ok := m[k]; return ok }

func (f *fakeLedger) UserMemories(ctx context.Context, scope stores.Scope) ([]stores.Memory, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.active(scope), f.gen[userKey(scope)], ctx.Err()
}

func (f *fakeLedger) Memories(ctx context.Context, scope stores.Scope) ([]stores.Memory, error) {
	list, _, err := f.UserMemories(ctx, scope)
	return list, err
}

func (f *fakeLedger) active(scope stores.Scope) (out []stores.Memory) {
	for _, m := range f.memories {
		if m.User == scope.User && m.Status == stores.Active {
			m.Sources = slices.Clone(m.Sources)
			out = append(out, m)
		}
	}
	return out
}

func (f *fakeLedger) find(id string) *stores.Memory {
	for i := range f.memories {
		if f.memories[i].ID == id {
			return &f.memories[i]
		}
	}
	return nil
}

func (f *fakeLedger) row(id string) *exchangeRow {
	for _, r := range f.rows {
		if r.ID == id {
			return r
		}
	}
	return nil
}

func (f *fakeLedger) Learn(ctx context.Context, l stores.Lesson) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lessons++
	if f.failLearn != nil {
		if err := f.failLearn(); err != nil {
			return err
		}
	}
	key := userKey(l.Scope)
	if l.Decides() && l.UserGen != f.gen[key] || f.leases[sessionKey(l.Scope)].token != l.Lease {
		return stores.ErrConflict
	}
	for _, r := range l.Learned {
		if f.row(r.ID) == nil || f.row(r.ID).state != "recorded" {
			return stores.ErrConflict
		}
	}
	if err := f.checkSlots(l); err != nil {
		return err
	}
	f.apply(l)
	if len(l.Add)+len(l.Delete)+len(l.Evidence) > 0 {
		f.gen[key]++
	}
	if l.Standing {
		f.standing[key]++
	}
	for _, r := range l.Learned {
		row := f.row(r.ID)
		row.state, row.Asked, row.Answer = "learned", r.Asked, r.Answer
	}
	for _, id := range l.Failed {
		f.row(id).state = "failed"
	}
	f.rejected = append(f.rejected, l.Rejected...)
	f.leases[sessionKey(l.Scope)] = lease{l.Lease, f.clock().Add(time.Minute)}
	for _, r := range f.rows {
		if r.state == "recorded" && sessionKey(r.Scope) == sessionKey(l.Scope) {
			return nil
		}
	}
	delete(f.leases, sessionKey(l.Scope))
	return nil
}

func (f *fakeLedger) checkSlots(l stores.Lesson) error {
	for _, m := range l.Add {
		for _, a := range f.active(l.Scope) {
			if a.Scope == m.Scope && a.Slot == m.Slot && a.ID != m.Supersedes && !slices.Contains(l.Delete, a.ID) {
				return stores.ErrConflict
			}
		}
		if m.Supersedes != "" {
			if old := f.find(m.Supersedes); old == nil || old.Status != stores.Active {
				return stores.ErrConflict
			}
		}
	}
	return nil
}

func (f *fakeLedger) apply(l stores.Lesson) {
	last := time.Time{}
	for _, r := range l.Learned {
		if at := f.row(r.ID).At; at.After(last) {
			last = at
		}
	}
	fresh := l.Add[:0:0]
	for _, m := range l.Add {
		if at, gone := f.buried[m.User+m.Slot]; !gone || m.UpdatedAt.After(at) {
			fresh = append(fresh, m)
		}
	}
	for _, id := range l.Delete {
		m := f.find(id)
		f.buried[m.User+m.Slot] = last
		*m = stores.Memory{ID: m.ID, User: m.User, Status: stores.Deleted}
	}
	for _, m := range fresh {
		if m.Supersedes != "" {
			f.find(m.Supersedes).Status = stores.Superseded
		}
		f.memories = append(f.memories, m)
	}
	for _, e := range l.Evidence {
		m, row := f.find(e.MemoryID), f.row(e.ExchangeID)
		if m == nil || m.Status != stores.Active || slices.Contains(m.Sources, e.ExchangeID) {
			continue
		}
		m.Sources = append(m.Sources, e.ExchangeID)
		if row.At.After(m.UpdatedAt) {
			m.UpdatedAt = row.At
		}
	}
}

func (f *fakeLedger) Unlearned(ctx context.Context) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rows {
		if r.state == "recorded" {
			n++
		}
	}
	return n, ctx.Err()
}

func (f *fakeLedger) Unredacted(ctx context.Context, limit int) (out []stores.Exchange, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rows {
		if r.state == "raw" && len(out) < limit {
			out = append(out, r.Exchange)
		}
	}
	return out, ctx.Err()
}

func (f *fakeLedger) Redact(ctx context.Context, _ string, texts []stores.Redaction) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range texts {
		row := f.row(t.ID)
		row.state, row.Asked, row.Answer = "skipped", t.Asked, t.Answer
	}
	return ctx.Err()
}

// Sync has nothing to wait for: the fake writes at once.
func (f *fakeLedger) Sync(context.Context) error { return nil }
