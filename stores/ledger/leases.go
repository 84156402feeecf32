package ledger

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"strata/stores"
)

const (
	leaseTime  = time.Minute
	maxLearned = 64 // exchanges of one session in one lease
)

// leases are the sessions that somebody learns from. They are kept in memory
// and end with the process: should another one learn from the same file, its
// lessons and these keep each other out, since an exchange is learned once.
type leases struct {
	mu   sync.Mutex
	held map[talk]*held
}

// talk names a session.
type talk struct{ tenant, user, session string }

func talkOf(s stores.Scope) talk { return talk{s.Tenant, s.User, s.Session} }

type held struct {
	token   string
	until   time.Time
	waiting map[string]bool // exchanges that were in no lesson yet
}

// take leases up to limit sessions of the list that nobody holds.
func (s *leases) take(list []stores.Scope, worker string, now time.Time, limit int) (out []stores.Work) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, scope := range list {
		if h := s.held[talkOf(scope)]; len(out) == limit || h != nil && h.until.After(now) {
			continue
		}
		token := worker + "/" + rand.Text()
		s.held[talkOf(scope)] = &held{token: token, until: now.Add(leaseTime)}
		out = append(out, stores.Work{Scope: scope, Lease: token})
	}
	return out
}

// trim forgets the leases that have ended and returns how many are left.
func (s *leases) trim(now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for of, h := range s.held {
		if !h.until.After(now) {
			delete(s.held, of)
		}
	}
	return len(s.held)
}

// fill notes the exchanges of a lease that was just taken.
func (s *leases) fill(w stores.Work) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[talkOf(w.Scope)]
	if h == nil || h.token != w.Lease {
		return
	}
	if len(w.Exchanges) == 0 {
		delete(s.held, talkOf(w.Scope))
		return
	}
	h.waiting = make(map[string]bool, len(w.Exchanges))
	for i := range w.Exchanges {
		h.waiting[w.Exchanges[i].ID] = true
	}
}

func (s *leases) check(lesson stores.Lesson) error {
	if lesson.Lease == "" && len(lesson.Learned)+len(lesson.Failed) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.held[talkOf(lesson.Scope)]; h == nil || h.token != lesson.Lease {
		return fmt.Errorf("%w: the lease is gone", stores.ErrConflict)
	}
	return nil
}

// learned gives the holder another minute while some of its exchanges wait,
// and ends the lease after the last.
func (s *leases) learned(lesson stores.Lesson, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[talkOf(lesson.Scope)]
	if h == nil || h.token != lesson.Lease {
		return
	}
	for _, r := range lesson.Learned {
		delete(h.waiting, r.ID)
	}
	for _, id := range lesson.Failed {
		delete(h.waiting, id)
	}
	if h.until = now.Add(leaseTime); len(h.waiting) == 0 {
		delete(s.held, talkOf(lesson.Scope))
	}
}

// end gives up a lease.
func (s *leases) end(lesson stores.Lesson) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.held[talkOf(lesson.Scope)]; h != nil && h.token == lesson.Lease {
		delete(s.held, talkOf(lesson.Scope))
	}
}

const (
	// anyDue finds out at little cost that there is nothing to learn.
	anyDue = `SELECT x.seq FROM exchanges x WHERE x.learn = 'recorded' LIMIT 1`

	// due are the sessions with something to learn, the one that waits longest
	// first.
	due = `SELECT x.tenant, x.user_id, x.session FROM exchanges x WHERE x.learn = 'recorded'
GROUP BY x.tenant, x.user_id, x.session ORDER BY MIN(x.seq) LIMIT $1`

	dueOfSession = `SELECT ` + exchangeColumns + ` FROM exchanges x WHERE x.tenant = $1 AND x.user_id = $2 AND x.session = $3 AND x.learn = 'recorded'
ORDER BY x.turn_at, x.seq LIMIT $4`
)

// Lease hands out up to limit sessions with exchanges to learn from. Nobody
// else gets them before all are in a Lesson, or a minute has passed since the
// lease or its last Lesson.
func (l *Ledger) Lease(ctx context.Context, worker string, limit int) ([]stores.Work, error) {
	now := l.clock()
	most := limit + l.leases.trim(now)
	return directly(ctx, l.direct, func(s source) ([]stores.Work, error) {
		var seq int64
		if found, err := one(s, anyDue, nil, &seq); err != nil || !found {
			return nil, err
		}
		var waiting []stores.Scope
		if err := each(s, due, []any{most}, collectScopes(&waiting)); err != nil {
			return nil, err
		}
		var out []stores.Work
		for _, w := range l.leases.take(waiting, worker, now, limit) {
			err := each(s, dueOfSession, []any{w.Scope.Tenant, w.Scope.User, w.Scope.Session, maxLearned}, collectDue(&w.Exchanges))
			l.leases.fill(w)
			if err != nil {
				return nil, err
			}
			if len(w.Exchanges) > 0 { // somebody else may have been quicker
				out = append(out, w)
			}
		}
		return out, nil
	})
}

func collectScopes(out *[]stores.Scope) func(func(...any) error) error {
	return func(scan func(...any) error) error {
		var s stores.Scope
		err := scan(&s.Tenant, &s.User, &s.Session)
		*out = append(*out, s)
		return err
	}
}

func collectDue(out *[]stores.Exchange) func(func(...any) error) error {
	return func(scan func(...any) error) error {
		e, err := scanExchange(scan)
		e.Learn = true
		*out = append(*out, e)
		return err
	}
}
