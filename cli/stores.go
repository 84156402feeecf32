package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"strata/admin"
	"strata/assemble"
	"strata/ingest"
	"strata/internal/tokens"
	"strata/learn"
	"strata/policy"
	"strata/proxy"
	"strata/stores"
	"strata/stores/cached"
	"strata/stores/ledger"
)

// backends is everything that stands on the stores.
type backends struct {
	ledger   *ledger.Ledger
	recorder *recorder // of ledger
	index    index
	losses   *losses
	filling  filling
	meaning  *meaning // nil = no embedder
	cache    *cached.Cache[*assemble.Rows]
	learner  *learn.Learner
	judge    *judging // nil = off
	ingester *ingest.Ingester
	jobs     *admin.Jobs
	tmp      string // folder for documents on their way, "" = the system's

	stop  context.CancelFunc
	works sync.WaitGroup
}

// expireEvery is how often what time has done is written down. Reads go by
// the dates themselves.
const expireEvery = time.Minute

// jobsEnd is how long large documents that are being taken in may go on when
// the process ends.
const jobsEnd = 2 * time.Second

// openBackends opens the stores and starts what works on them. opening bounds
// the opening alone.
func (s *server) openBackends(opening context.Context) (_ *backends, err error) {
	ctx, stop := context.WithCancel(context.Background())
	b := &backends{stop: stop}
	detach := context.AfterFunc(opening, stop)
	defer detach()
	defer func() {
		if err != nil {
			_ = b.closeAll(opening)
		}
	}()
	b.tmp = s.freshTmp()
	if err = b.open(ctx, s); err != nil {
		return nil, err
	}
	b.cache, err = cached.New(b.ledger, cached.Config[*assemble.Rows]{Prepare: assemble.Prepare, Bytes: (*assemble.Rows).Bytes})
	if err != nil {
		return nil, err
	}
	b.learner = learn.New(learn.Config{Ledger: b.ledger, Logger: s.log, Count: tokens.Count, Zone: s.zone(), Learned: s.publishLearned})
	b.recorder = &recorder{Ledger: b.ledger, learner: b.learner}
	b.jobs = admin.NewJobs(filepath.Join(s.cfg.DataDir, "uploads"))
	if s.cfg.Intent.Judge.Model != "" {
		b.judge = s.newJudging(b.ledger)
		b.run(func() { b.judge.Run(ctx) })
	}
	if b.index.NeedsRebuild() {
		b.filling.begin() // before the first question
	}
	b.fill(ctx)
	b.run(func() { b.learner.Run(ctx) })
	b.run(func() { b.expire(ctx, s) })
	b.run(func() { b.keepFilled(ctx, s) })
	b.run(func() { b.takeWishes(ctx, s) })
	return b, nil
}

// tmpDir is where documents are on their way. It is in the data folder since a
// container may have no other one that can be written.
func (s *server) tmpDir() string { return filepath.Join(s.cfg.DataDir, "incoming") }

// freshTmp makes tmpDir and takes out what a crash has left there. Where that
// fails, the system's own folder is all there is to try.
func (s *server) freshTmp() string {
	dir := s.tmpDir()
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		s.log.Warn("documents on their way are put into the system's temporary folder", "error", err)
		return ""
	}
	return dir
}

func (b *backends) run(work func()) {
	b.works.Add(1)
	go func() { defer b.works.Done(); work() }()
}

func (b *backends) expire(ctx context.Context, s *server) {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for {
		if _, err := b.ledger.Expire(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("what has expired could not be written down", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// close is closeAll until ctx ends. A store that another process holds may keep
// it for longer; the end of the process does the rest.
func (b *backends) close(ctx context.Context) error {
	closed := make(chan error, 1)
	go func() { closed <- b.closeAll(ctx) }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closeAll ends the works, the large documents among them before ctx ends, and
// then the stores; what is recorded stays to be learned at the next start.
func (b *backends) closeAll(ctx context.Context) (err error) {
	if b.jobs != nil {
		ctx, cancel := context.WithTimeout(ctx, jobsEnd)
		_ = b.jobs.Close(ctx)
		cancel()
	}
	b.stop()
	b.works.Wait()
	if b.cache != nil {
		b.cache.Close()
	}
	if b.meaning != nil {
		b.meaning.cache.Close()
	}
	if b.index != nil {
		err = b.index.Close()
	}
	if b.ledger != nil {
		err = errors.Join(err, b.ledger.Close())
	}
	if b.tmp != "" {
		_ = os.Remove(b.tmp) // nothing is on its way any more; else the next start takes it out
	}
	return err
}

func (s *server) storePath(configured, name string) string {
	if configured == "" {
		return filepath.Join(s.cfg.DataDir, name)
	}
	return strings.TrimPrefix(configured, "file://")
}

// storeError is what is wrong with a store, in a sentence that says what helps.
type storeError struct {
	sentence string
	cause    error
}

func (e *storeError) Error() string { return e.sentence }
func (e *storeError) Unwrap() error { return e.cause }

func newStoreError(key, path string, err error) error {
	says := func(format string, args ...any) error {
		return &storeError{key + ": " + path + " " + fmt.Sprintf(format, args...), err}
	}
	switch {
	case errors.Is(err, stores.ErrNewer):
		return says("was written by a newer version of Strata and was left as it is; run that version, or name another file with %s", key)
	case errors.Is(err, stores.ErrUnreadable):
		return says("is damaged or not a store of Strata and was left as it is; put a backup in its place, or move it away to begin anew")
	case errors.Is(err, os.ErrPermission):
		return says("cannot be opened for writing; give this user the right, or set data_dir to a folder of its own")
	}
	return says("cannot be opened: %v; check the folder, or set data_dir to another one", err)
}

// walkContext is what the data plane's walk works with.
func (s *server) walkContext(b *backends) (*proxy.Context, error) {
	identity, err := policy.NewIdentity(s.identityConfig())
	if err != nil {
		return nil, err
	}
	plans, err := policy.DefaultTable().With(s.cfg.planChanges())
	if err != nil {
		return nil, err
	}
	if s.cfg.asksNetwork() {
		plans = plans.WithRemoteEmbedder()
	}
	classifier, err := s.cfg.classifier()
	if err != nil {
		return nil, err
	}
	c := &proxy.Context{
		Identity: identity, Keys: policy.NewKeys(b.ledger.Secret()), Classifier: classifier, Plans: plans, Ledger: b.recorder, Examples: b.ledger,
		Assembler: assemble.New(s.assembly(b)),
		Recorded:  b.learner.Notify, Finished: s.publish, Citations: s.cfg.Citations == "header",
	}
	if len(s.cfg.Models) > 0 {
		c.Window = s.cfg.Models.Window
	}
	if len(s.cfg.Intent.Defaults) > 0 {
		c.DefaultIntent = s.cfg.Intent.Defaults.For
	}
	if b.judge != nil {
		c.Unsure = b.judge.offer
	}
	return c, nil
}

// assembly is what context is made of.
func (s *server) assembly(b *backends) assemble.Config {
	c := assemble.Config{Ledger: b.ledger, Index: b.index, Cache: b.cache}
	c.Filling = func(ctx context.Context, tenant string) bool { return b.filling.of(ctx, tenant, b.ledger.Waits) }
	if b.meaning != nil {
		c.Vectors = b.meaning
	}
	if r, ok := s.cfg.reranker(); ok {
		c.Rerank = r.Rerank
	}
	return c
}

func (s *server) identityConfig() policy.IdentityConfig {
	c := s.cfg
	zone := c.Timezone
	if zone == "" {
		zone = localZone()
	}
	return policy.IdentityConfig{
		Tenant: c.Tenant, DefaultUser: c.Identity.DefaultUser, Preset: c.Identity.Preset, Body: c.Identity.Body,
		Headers:  policy.IdentityHeaders{Tenant: c.Identity.TenantHeader, User: c.Identity.UserHeader, Session: c.Identity.SessionHeader, Groups: c.Identity.GroupsHeader},
		UserText: c.UserText.Pattern, Mode: policy.Mode(c.Mode), Stage: policy.Stage(c.Stage),
		Loopback: isLoopback(s.data.Addr().String()), Trusted: c.Auth.Mode == "trusted-network", Zone: zone,
	}
}

// zone is where the users' days begin and end, where they do not say.
func (s *server) zone() *time.Location {
	if zone, err := time.LoadLocation(s.identityConfig().Zone); err == nil {
		return zone
	}
	return time.UTC
}

// localZone is the IANA name of this machine's zone, "" when it has none.
func localZone() string {
	if tz := os.Getenv("TZ"); tz != "" {
		if _, err := time.LoadLocation(strings.TrimPrefix(tz, ":")); err == nil {
			return strings.TrimPrefix(tz, ":")
		}
	}
	target, err := os.Readlink("/etc/localtime")
	if err != nil {
		return ""
	}
	_, name, _ := strings.Cut(target, "zoneinfo/")
	if _, err := time.LoadLocation(name); err != nil {
		return ""
	}
	return name
}

// publish tells those who watch of a finished walk.
func (s *server) publish(f proxy.Finished) {
	s.feed.Publish(admin.Event{
		Kind: admin.EventRequest, At: f.At, ID: f.ID, Tenant: f.Tenant, User: f.User, Session: f.Session,
		Figures: &admin.Figures{
			Intent: f.Intent, Stage: f.Stage, Confidence: f.Confidence,
			Context: f.Context, Reason: f.Reason, Tokens: f.Tokens, Layers: f.Layers, Millis: f.Millis,
		},
	})
}

// publishLearned tells them what the memory has become by one.
func (s *server) publishLearned(c learn.Change) {
	s.feed.Publish(admin.Event{
		Kind: admin.EventLearned, At: time.Now(), ID: c.Exchange, Tenant: c.Scope.Tenant, User: c.Scope.User, Session: c.Scope.Session,
		Change: &admin.Change{New: c.New, Replaced: c.Replaced, Erased: c.Erased},
	})
}

// metrics are read when somebody asks for them.
func (b *backends) metrics(registry prometheus.Registerer) {
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "strata_outbox_rows",
		Help: "Changes of documents that the search index still has to make; -1 while the ledger does not say."},
		bounded(time.Second, b.ledger.OutboxRows)))
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "strata_embed_rows",
		Help: "Batches of passages that wait for their vectors; -1 while the ledger does not say."},
		bounded(time.Second, b.ledger.EmbedRows)))
	if b.meaning != nil {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "strata_vectors_ready",
			Help: "1 while questions are compared by vectors, 0 while the embedder is not known, or is or may be another one than that of the documents."}, b.meaning.ready))
	}
	if b.judge != nil {
		registry.MustRegister(b.judge.results)
	}
}

// bounded makes a gauge of a count in a store: -1 when it fails or takes
// longer than limit. A store that hangs may not hear of the context's end, and
// the figures must come when it hangs above all; so one read is under way at
// most, and whoever comes meanwhile gets what was read last.
func bounded(limit time.Duration, count func(context.Context) (int, error)) func() float64 {
	reading := make(chan struct{}, 1)
	var last atomic.Int64
	read := func(done chan<- struct{}) {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		n, err := count(ctx)
		if err != nil {
			n = -1
		}
		last.Store(int64(n))
		<-reading
		close(done)
	}
	return func() float64 {
		select {
		case reading <- struct{}{}:
		default:
			return float64(last.Load())
		}
		done := make(chan struct{})
		go read(done)
		select {
		case <-done:
		case <-time.After(limit):
			last.Store(-1)
		}
		return float64(last.Load())
	}
}
