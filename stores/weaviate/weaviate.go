// Package weaviate is the index of knowledge passages on a Weaviate server, by
// their texts and by their vectors. It decides how a passage is kept and ranked
// there, when a tenant goes cold, and what happens while the server cannot be
// reached; it answers with ids and scores. It knows no version, group or date:
// who may read a passage and whether it is in force is the ledger's to say. Nor
// does it know who makes vectors.
//
// All passages are in one collection, each tenant in a Weaviate tenant of its
// own, so nothing that another tenant writes can appear in an answer or move a
// rank. What is compared are the terms of package lexical, made here and kept
// as words between spaces: the server's own ways of cutting text find next to
// nothing in Chinese. The vectors of each space are in a collection of their
// own, with tenants in the same way.
package weaviate

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"strata/stores"
)

// ErrUnavailable is that of a server which cannot be reached, is not ready or
// has not been found to be set up yet. It heals by itself.
var ErrUnavailable = errors.New("weaviate: the server is not available")

// ErrRefused is that of a server which does not take the API key.
var ErrRefused = errors.New("weaviate: the server refuses the API key")

// Config says where an index is.
type Config struct {
	// URL is the server's HTTP interface, such as http://127.0.0.1:8080.
	URL string
	// APIKey is sent as Bearer and never shown; "" sends none.
	APIKey string
	// Namespace keeps the passages of one ledger apart from those of other
	// ones on the same server. It is never sent as it is.
	Namespace []byte
	// Idle is how long a tenant that nobody reads or writes stays in the
	// server's memory. 0 = 30 min.
	Idle time.Duration
	// Hot is how many tenants stay there, each collection's counted by itself;
	// those beyond go that were not used for longest. The server keeps files of
	// each open, and takes nothing any more when it may open no further ones.
	// 0 = 1,000, below 0 = any number.
	Hot int
	// Temporary has Close remove all that this ledger has on the server.
	Temporary bool
	// Lost is told of a tenant that is not on the server when its passages are
	// searched or put, or its vectors in a space that is named. It reports
	// whether some should be there, and then sees to it that they are put again.
	// Searches tell each time, puts once: made by them, the tenant is there. It
	// must not take long; nil = nothing is ever missed.
	Lost func(ctx context.Context, tenant, space string, put bool) bool
	// Logger gets what happens out of sight; nil drops it.
	Logger *slog.Logger
	// Clock is time.Now where it is nil.
	Clock func() time.Time
}

const (
	defaultIdle = 30 * time.Minute
	defaultHot  = 1000
	// firstLook is how long New waits for the server.
	firstLook = 3 * time.Second
	// Pauses between two tries to reach it.
	firstPause = 500 * time.Millisecond
	lastPause  = 15 * time.Second
)

// Index is an index on a server that need not be there: while it is not,
// searches and writes return ErrUnavailable at once. Its methods may be called
// from many goroutines.
type Index struct {
	server    *server
	host      string
	log       *slog.Logger
	clock     func() time.Time
	space     []byte
	prefix    string // of this ledger's tenants
	idle      time.Duration
	hot       int
	temporary bool                                                           // all goes with Close
	told      func(ctx context.Context, tenant, space string, put bool) bool // Config.Lost

	open    atomic.Bool   // the passages' collection is there
	rebuild atomic.Bool   // passages may be missing
	made    atomic.Int64  // how often a collection was found empty of this ledger's passages
	asked   atomic.Int64  // made when NeedsRebuild was called last
	doubt   chan struct{} // wakes watch: the collection may be gone
	crowded chan struct{} // wakes cool: too many tenants are in memory
	rarity  rarity
	tenants tenants
	spaces  spaces
	// One for each way to search, so that one that is broken costs the other
	// nothing.
	byText, byVector breaker

	closed     atomic.Bool
	background context.Context // ends with stop
	stop       context.CancelFunc
	works      sync.WaitGroup
	gate       sync.RWMutex // held by Close while it shuts further calls out
	calls      sync.WaitGroup
}

// New returns the index of c. It waits for the server for some seconds and goes
// on without one that cannot be reached, which is looked for from then on. One
// that refuses the key, or is too old, is an error.
func New(ctx context.Context, c Config) (*Index, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("weaviate: the URL must be http://host:port or https://host:port")
	}
	if len(c.Namespace) == 0 {
		return nil, errors.New("weaviate: no namespace")
	}
	x := &Index{server: newServer(u.Scheme, u.Host, c.APIKey), host: u.Host, log: c.Logger, clock: c.Clock, idle: cmp.Or(c.Idle, defaultIdle), hot: cmp.Or(c.Hot, defaultHot), temporary: c.Temporary, told: c.Lost,
		space: slices.Clone(c.Namespace), doubt: make(chan struct{}, 1), crowded: make(chan struct{}, 1)}
	x.prefix = x.digest("namespace")[:12]
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	if x.told == nil {
		x.told = func(context.Context, string, string, bool) bool { return false }
	}
	if x.clock == nil {
		x.clock = time.Now
	}
	x.byText.clock, x.byVector.clock, x.rarity.clock = x.clock, x.clock, x.clock
	x.tenants.used = map[place]time.Time{}
	x.background, x.stop = context.WithCancel(context.Background())
	look, cancel := context.WithTimeout(ctx, firstLook)
	err = x.setUp(look)
	cancel()
	if errors.Is(err, ErrRefused) || errors.Is(err, errOld) || errors.Is(err, errForm) {
		x.stop()
		x.server.close()
		return nil, err
	}
	if err != nil {
		x.log.Error("the search index cannot be reached: documents are not found until it can", "url", c.URL, "error", err)
	}
	x.works.Go(func() { x.watch(x.background) })
	x.works.Go(func() { x.cool(x.background) })
	return x, nil
}

// NeedsRebuild reports whether passages may be missing because the server has
// never had all of this ledger's, or has lost them. It is false while the
// server cannot be reached. It stays so, over restarts too, until Rebuilt is
// called.
func (x *Index) NeedsRebuild() bool {
	x.asked.Store(x.made.Load())
	return x.open.Load() && x.rebuild.Load()
}

// Rebuilt notes that all passages have been put since NeedsRebuild was called.
// Where the server has lost them again meanwhile it is an error. Passages that
// were cut in another way than now, by an earlier program, are removed.
func (x *Index) Rebuilt(ctx context.Context) error {
	if err := x.noteRebuilt(ctx); err != nil {
		return err
	}
	err := x.clear(ctx, func(name string) bool { return strings.HasPrefix(name, passagesPrefix) && name != collection })
	if err != nil {
		x.log.Warn("passages of an earlier version stay on the index's server", "error", err)
	}
	return nil
}

func (x *Index) noteRebuilt(ctx context.Context) error {
	ctx, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	defer done()
	errLost := errors.New("weaviate: the server has lost its passages while they were put")
	if x.asked.Load() != x.made.Load() {
		return errLost
	}
	filled := place{collection, x.mark()}
	if err := x.server.createTenant(ctx, filled); err != nil {
		return x.failed("note the rebuild", err)
	}
	if x.asked.Load() != x.made.Load() {
		return errors.Join(errLost, x.server.dropTenants(ctx, collection, filled.tenant))
	}
	x.rebuild.Store(false)
	return nil
}

// Close ends the index after the calls that are running. Later calls return
// stores.ErrClosed.
func (x *Index) Close() error {
	var err error
	if x.temporary && !x.closed.Load() {
		err = x.erase()
	}
	x.gate.Lock()
	first := x.closed.CompareAndSwap(false, true)
	x.gate.Unlock()
	if !first {
		return nil
	}
	x.stop()
	x.works.Wait()
	x.calls.Wait()
	x.server.close()
	return err
}

// begin bounds a call and refuses it while the server is away.
func (x *Index) begin(ctx context.Context, limit time.Duration) (_ context.Context, done func(), _ error) {
	x.gate.RLock()
	defer x.gate.RUnlock()
	switch {
	case x.closed.Load():
		return nil, nil, stores.ErrClosed
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case !x.open.Load():
		return nil, nil, ErrUnavailable
	}
	x.calls.Add(1)
	ctx, cancel := context.WithTimeout(ctx, limit)
	return ctx, func() { cancel(); x.calls.Done() }, nil
}

// failed says what a call was doing. What the server answered may mean that
// the collection is gone, so that is looked at.
func (x *Index) failed(doing string, err error) error {
	if answered(err) {
		x.suspect()
	}
	return fmt.Errorf("weaviate: %s: %w", doing, err)
}

// suspect has watch look whether the server has lost something.
func (x *Index) suspect() {
	select {
	case x.doubt <- struct{}{}:
	default:
	}
}

// watch sets up the collection as soon as the server can be reached, and again
// when it is in doubt.
func (x *Index) watch(ctx context.Context) {
	for pause := firstPause; ; {
		var again <-chan time.Time
		if !x.open.Load() {
			again = time.After(pause)
			pause = min(2*pause, lastPause)
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-x.doubt:
			select { // what raised the doubt may come in hundreds
			case <-ctx.Done():
				return
			case <-time.After(firstPause):
			}
		}
		was := x.open.Load()
		limited, cancel := context.WithTimeout(ctx, writeLimit)
		err := x.setUp(limited)
		cancel()
		switch {
		case err == nil && !was:
			pause = firstPause
			x.log.Info("the search index can be reached")
		case err != nil && ctx.Err() == nil:
			x.log.Warn("the search index cannot be reached", "error", err)
		}
	}
}

// tenant is the name of a tenant on the server. Names there are short and of
// few characters, and a tenant's own may be an address.
func (x *Index) tenant(tenant string) string { return x.prefix + "-" + x.digest("tenant", tenant) }

// mark is the name of a tenant that holds nothing. In the passages' collection
// it says that nothing of this ledger's is missing which nobody waits to put; in
// one of vectors, that there are some.
func (x *Index) mark() string { return x.prefix + "-filled" }

// vectorsNote is the name of a tenant of the passages' collection that holds
// nothing and says that this ledger has vectors in another one.
func (x *Index) vectorsNote(collection string) string {
	return x.prefix + "-v-" + strings.TrimPrefix(collection, vectorsPrefix)
}

// readNote is the collection that such a tenant is a note of.
func (x *Index) readNote(tenant string) (collection string, ok bool) {
	rest, ok := strings.CutPrefix(tenant, x.prefix+"-v-")
	if ok {
		_, _, ok = spaceOf(vectorsPrefix + rest)
	}
	return vectorsPrefix + rest, ok
}

// digest is keyed, so that nobody who can read the server can try out names.
func (x *Index) digest(parts ...string) string {
	mac := hmac.New(sha256.New, x.space)
	mac.Write([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}
