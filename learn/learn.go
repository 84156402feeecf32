// Package learn decides after the answer what a user's words add to the
// memory: it takes recorded exchanges session by session, extracts statements
// by rules for Chinese and English, judges and merges them, and hands the
// ledger one lesson at a time. It reads the user's own words only: never the
// assistant's, a tool's or injected text. It must not know how anything is
// stored or served.
package learn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"strata/policy"
	"strata/stores"
)

// Ledger is where exchanges wait and lessons go.
type Ledger interface {
	// Lease hands out sessions with exchanges to learn from.
	Lease(ctx context.Context, worker string, limit int) ([]stores.Work, error)
	// UserMemories returns the active memories of a user and the generation
	// they were read at.
	UserMemories(ctx context.Context, scope stores.Scope) ([]stores.Memory, int64, error)
	// Learn writes a lesson in one transaction; ErrConflict when something
	// changed since it was decided.
	Learn(ctx context.Context, lesson stores.Lesson) error
	// Sync returns when everything recorded so far is written.
	Sync(ctx context.Context) error
	// Unlearned counts the exchanges that wait.
	Unlearned(ctx context.Context) (int, error)
	// Unredacted returns exchanges that are not to be learned from and whose
	// texts are still as they were said; Redact replaces these.
	Unredacted(ctx context.Context, limit int) ([]stores.Exchange, error)
	Redact(ctx context.Context, tenant string, texts []stores.Redaction) error
}

// Config is what a Learner works with.
type Config struct {
	Ledger Ledger
	Clock  func() time.Time      // nil = time.Now
	Logger *slog.Logger          // nil = none
	Count  func(text string) int // tokens of a summary
	Zone   *time.Location        // of exchanges without one, nil = UTC
	Worker string                // names this process in leases, "" = learner
	Poll   time.Duration         // how often it looks without being notified, 0 = 15 s

	// Learned is told what the memory has become by an exchange, once that is
	// committed; nil = nobody. It may be called from several goroutines at once
	// and holds up who calls it.
	Learned func(Change)
}

// Change is how many memories one exchange made, put in the place of others,
// and erased. One that the ledger kept out, because it was deleted since it was
// said, counts as made.
type Change struct {
	Scope                 stores.Scope
	Exchange              string
	New, Replaced, Erased int
}

const (
	sessionsAtOnce = 32 // their lessons share commits
	conflictTries  = 6
	redactAtOnce   = 64
	firstPause     = time.Second
	longestPause   = time.Minute
)

// Learner learns from what is recorded. Make it with New; Notify and Flush may
// be called from anywhere while Run runs.
type Learner struct {
	c     Config
	zones policy.Zones
	wake  chan struct{}
	turn  chan struct{} // held by whoever works
	ready atomic.Bool   // the rules are
}

// New returns a learner.
func New(c Config) *Learner {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Count == nil {
		c.Count = func(s string) int { return (len(s) + 3) / 4 }
	}
	if c.Zone == nil {
		c.Zone = time.UTC
	}
	c.Worker = cmp.Or(c.Worker, "learner")
	c.Poll = cmp.Or(c.Poll, 15*time.Second)
	return &Learner{c: c, wake: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
}

// Notify tells that something was recorded. It never waits.
func (l *Learner) Notify() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx ends: when notified, and now and then by itself. What
// fails stays in the ledger and is tried again, with growing pauses.
func (l *Learner) Run(ctx context.Context) {
	warm()
	l.ready.Store(true)
	debug.FreeOSMemory() // making the rules ready takes more than they keep
	pause := firstPause
	for ctx.Err() == nil {
		err := l.work(ctx)
		wake, wait := l.wake, l.c.Poll
		if err != nil && ctx.Err() == nil {
			l.c.Logger.Warn("learning failed, will be tried again", "error", err, "in", pause)
			wake, wait = nil, pause
			pause = min(2*pause, longestPause)
		} else {
			pause = firstPause
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Flush works off everything that waits and returns how many exchanges still
// do: those that failed, those another process holds, or those left when ctx
// ended.
func (l *Learner) Flush(ctx context.Context) (pending int, err error) {
	if err := l.c.Ledger.Sync(ctx); err != nil {
		return 0, err
	}
	err = l.work(ctx)
	pending, countErr := l.c.Ledger.Unlearned(ctx)
	return pending, errors.Join(err, countErr)
}

// work leases and learns until nothing waits. One at a time: what a user said
// first is learned first.
func (l *Learner) work(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.turn }()
	var failed error
	for ctx.Err() == nil {
		list, err := l.c.Ledger.Lease(ctx, l.c.Worker, sessionsAtOnce)
		if err != nil {
			return errors.Join(failed, err)
		}
		if len(list) == 0 {
			break
		}
		failed = l.batch(ctx, list)
		if failed != nil { // the leases of what failed end by themselves
			return failed
		}
	}
	return errors.Join(failed, ctx.Err(), l.redactRest(ctx))
}

// batch learns from leased sessions: those of one user one after the other, as
// they began, and users side by side.
func (l *Learner) batch(ctx context.Context, list []stores.Work) error {
	slices.SortStableFunc(list, func(a, b stores.Work) int { return begun(a).Compare(begun(b)) })
	type person struct{ tenant, user string }
	byUser := map[person][]stores.Work{}
	for _, w := range list {
		p := person{w.Scope.Tenant, w.Scope.User}
		byUser[p] = append(byUser[p], w)
	}
	failed := make(chan error, len(list))
	var users sync.WaitGroup
	for _, sessions := range byUser {
		users.Go(func() {
			for _, w := range sessions {
				failed <- l.session(ctx, w)
			}
		})
	}
	users.Wait()
	close(failed)
	var all error
	for err := range failed {
		all = errors.Join(all, err)
	}
	return all
}

func begun(w stores.Work) time.Time {
	if len(w.Exchanges) == 0 {
		return time.Time{}
	}
	return w.Exchanges[0].At
}

// session learns from the exchanges of one lease. When some were deleted or
// tried again meanwhile, the ledger hands out anew what is left of them.
func (l *Learner) session(ctx context.Context, w stores.Work) error {
	err := l.lessons(ctx, w)
	if errors.Is(err, stores.ErrConflict) {
		l.c.Logger.Debug("a session changed while it was learned from", "error", err)
		return nil
	}
	return err
}

// lessons goes through exchanges in their order: a lesson for each that says
// something, with those before it that say nothing.
func (l *Learner) lessons(ctx context.Context, w stores.Work) error {
	var quiet []stores.Redaction
	for i := range w.Exchanges {
		e := &w.Exchanges[i]
		found, ok := l.read(e)
		if !ok {
			if err := l.teach(ctx, w, nil, Found{}, quiet, []string{e.ID}); err != nil {
				return err
			}
			quiet = nil
			continue
		}
		quiet = append(quiet, redaction(e, found.OffRecord))
		if found.empty() {
			continue
		}
		if err := l.teach(ctx, w, e, found, quiet, nil); err != nil {
			return err
		}
		quiet = nil
	}
	if len(quiet) == 0 {
		return nil
	}
	return l.teach(ctx, w, nil, Found{}, quiet, nil)
}

// redaction is how an exchange's texts are kept from now on.
func redaction(e *stores.Exchange, blank bool) stores.Redaction {
	r := stores.Redaction{ID: e.ID}
	if !blank {
		r.Asked, _ = policy.Redact(e.Asked)
		r.Answer, _ = policy.Redact(e.Answer)
	}
	return r
}

// read extracts what an exchange says. A text that breaks the rules is given
// up, so that it does not hold up its session for good.
func (l *Learner) read(e *stores.Exchange) (found Found, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			l.c.Logger.Error("an exchange could not be read", "exchange", e.ID, "panic", fmt.Sprint(p))
			found, ok = Found{}, false
		}
	}()
	if e.Status != "" && e.Status != stores.Complete {
		return Found{}, true
	}
	return Extract(e.Asked, e.At, l.zones.Find(e.Timezone, l.c.Zone)), true
}

func (f *Found) empty() bool {
	return len(f.Candidates)+len(f.Corrections)+len(f.Refused)+len(f.Forget) == 0 && !f.ForgetAll && !f.ForgetLast
}

// teach decides one lesson on the memories as they are and writes it; when
// they changed meanwhile it decides again.
func (l *Learner) teach(ctx context.Context, w stores.Work, e *stores.Exchange, found Found, done []stores.Redaction, failed []string) error {
	var err error
	for range conflictTries {
		lesson := stores.Lesson{Scope: w.Scope, Lease: w.Lease, Learned: done, Failed: failed}
		if e != nil {
			active, gen, readErr := l.c.Ledger.UserMemories(ctx, w.Scope)
			if readErr != nil {
				return readErr
			}
			lesson.UserGen = gen
			d := decision{lesson: &lesson, exchange: e, scope: w.Scope, zone: l.zones.Find(e.Timezone, l.c.Zone), count: l.c.Count}
			d.see(active, l.c.Clock())
			d.decide(found)
		}
		if err = l.c.Ledger.Learn(ctx, lesson); errors.Is(err, stores.ErrConflict) {
			continue
		}
		if err == nil && e != nil {
			l.tell(e.ID, &lesson)
		}
		return err
	}
	return fmt.Errorf("session not learned: %w", err)
}

// tell says what a written lesson changed, if it did.
func (l *Learner) tell(exchange string, lesson *stores.Lesson) {
	c := Change{Scope: lesson.Scope, Exchange: exchange, New: len(lesson.Add), Erased: len(lesson.Delete)}
	for i := range lesson.Add {
		if lesson.Add[i].Supersedes != "" {
			c.New--
			c.Replaced++
		}
	}
	if l.c.Learned != nil && c.New+c.Replaced+c.Erased > 0 {
		l.c.Learned(c)
	}
}

// redactRest takes secrets out of exchanges that are recorded and not learned
// from.
func (l *Learner) redactRest(ctx context.Context) error {
	for ctx.Err() == nil {
		list, err := l.c.Ledger.Unredacted(ctx, redactAtOnce)
		if err != nil || len(list) == 0 {
			return err
		}
		byTenant := map[string][]stores.Redaction{}
		for i := range list {
			e := &list[i]
			byTenant[e.Scope.Tenant] = append(byTenant[e.Scope.Tenant], redaction(e, offRecord(e.Asked)))
		}
		for tenant, texts := range byTenant {
			if err := l.c.Ledger.Redact(ctx, tenant, texts); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}
