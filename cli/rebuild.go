package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"strata/ingest"
	"strata/internal/tokens"
	"strata/stores"
	"strata/stores/ledger"
)

const (
	// wishCheck is how often a running Strata looks for the wish to rebuild.
	wishCheck = 2 * time.Second
	// wishPatience is how long a wish waits for one before whoever wishes does
	// the work.
	wishPatience = 4 * wishCheck
)

func (p *program) indexCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rebuild", Short: "Fill the search index anew, and take a changed embedder over", Args: noArguments,
		Long: `Fill the search index anew from the ledger, and, where an embedder is
configured, give all documents vectors of it. An embedder that is another one
than before is taken over by this: its vectors are built beside the old ones,
which go when all is there. What has its vector already is not embedded again.

While Strata runs on the same data folder, it does the work, and this command
waits for it; otherwise the command does. When it is ended early, what is left is
done by the next Strata that runs.`,
		Example: "  strata index rebuild\n  strata index rebuild --config /etc/strata/strata.yaml",
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return p.rebuildIndex(ctx)
		},
	}
	return group("index", "Look after the search index", "  strata index rebuild", cmd)
}

func (p *program) rebuildIndex(ctx context.Context) error {
	l, err := p.load()
	if err != nil {
		return err
	}
	s := newServer(&l.Config, p.logger(&l.Config))
	path := s.storePath(s.cfg.Ledger.URL, "ledger.db")
	if _, err := os.Stat(path); err != nil {
		return usageError{fmt.Errorf("there is no ledger at %s, so there is nothing to fill an index from; check data_dir and ledger.url", path)}
	}
	r := &rebuilding{server: s, program: p}
	if r.ledger, err = ledger.New(ctx, ledger.Config{Path: path, Logger: s.log}); err != nil {
		return newStoreError("ledger.url", path, err)
	}
	defer r.ledger.Close()
	err = r.run(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("ended early; the next `strata serve` goes on with what is left")
	}
	return err
}

// rebuilding is one run of the command.
type rebuilding struct {
	*server
	*program
	ledger *ledger.Ledger
	said   string
}

func (r *rebuilding) run(ctx context.Context) error {
	// One that is running may have been left by a process that is no more; if
	// it was not, its process takes this wish up as the same.
	for _, from := range []stores.RebuildState{stores.NoRebuild, stores.RebuildRunning} {
		if _, err := r.ledger.MoveRebuild(ctx, from, stores.RebuildAsked); err != nil {
			return err
		}
	}
	for end := time.Now().Add(wishPatience); time.Now().Before(end); {
		state, err := r.ledger.Rebuild(ctx)
		if err != nil {
			return err
		}
		if state != stores.RebuildAsked {
			r.say("Strata runs on this data folder and does the work")
			return r.follow(ctx)
		}
		if !sleep(ctx, wishCheck/4) {
			return ctx.Err()
		}
	}
	if taken, err := r.ledger.MoveRebuild(ctx, stores.RebuildAsked, stores.RebuildRunning); err != nil || !taken {
		return err
	}
	b, err := r.openSearch(ctx)
	if err != nil {
		return err
	}
	defer b.closeAll(ctx)
	if b.meaning == nil {
		r.say("no embedder is configured: the index is filled with texts alone")
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	b.run(func() {
		if err := b.carryOut(ctx, r.server); err != nil {
			fail(err)
		}
	})
	if err := r.follow(ctx); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// follow shows what is left every two seconds, until the wish is fulfilled,
// whichever process does that.
func (r *rebuilding) follow(ctx context.Context) error {
	for {
		state, err := r.ledger.Rebuild(ctx)
		if err != nil {
			return err
		}
		if state == stores.NoRebuild {
			r.say("the index is rebuilt")
			return nil
		}
		texts, err := r.ledger.OutboxRows(ctx)
		if err != nil {
			return err
		}
		vectors, err := r.ledger.EmbedRows(ctx)
		if err != nil {
			return err
		}
		r.say(fmt.Sprintf("left: %d batches of texts, %d of vectors", texts, vectors))
		if !sleep(ctx, wishCheck) {
			return ctx.Err()
		}
	}
}

// say writes a line that is not the last one again.
func (r *rebuilding) say(line string) {
	if line != r.said {
		fmt.Fprintln(r.stderr, line)
	}
	r.said = line
}

// openSearch opens what the index is filled by, and starts it, without what
// else Strata does.
func (s *server) openSearch(opening context.Context) (b *backends, err error) {
	ctx, stop := context.WithCancel(context.Background())
	b = &backends{stop: stop}
	defer func() {
		if err != nil {
			_ = b.closeAll(opening)
		}
	}()
	if err := b.open(ctx, s); err != nil {
		return nil, err
	}
	b.fill(ctx)
	return b, nil
}

// open opens ledger and index, and makes what joins them.
func (b *backends) open(ctx context.Context, s *server) (err error) {
	path := s.storePath(s.cfg.Ledger.URL, "ledger.db")
	if b.ledger, err = ledger.New(ctx, ledger.Config{Path: path, Logger: s.log}); err != nil {
		return newStoreError("ledger.url", path, err)
	}
	b.losses = newLosses(b.ledger, s.log)
	if b.index, err = s.openIndex(ctx, b.ledger.Secret(), b.losses.tell); err != nil {
		return err
	}
	if b.meaning, err = s.newMeaning(b.ledger, b.index); err != nil {
		return err
	}
	cfg := ingest.Config{Ledger: b.ledger, Index: b.index, Logger: s.log, Count: tokens.Count, TmpDir: b.tmp}
	if b.meaning != nil {
		cfg.Vectors, cfg.Embed = b.index, b.meaning.passages
	}
	b.ingester = ingest.New(cfg)
	return nil
}

// fill starts what brings documents into the index.
func (b *backends) fill(ctx context.Context) {
	b.run(func() { b.ingester.Run(ctx) })
	b.run(func() { b.losses.run(ctx, b.ingester.Notify) })
	if b.meaning != nil {
		b.run(func() { b.meaning.run(ctx, b.ingester) })
	}
}

// takeWishes carries out rebuilds that are asked for, and one that another
// process has left unfinished. A wish that comes while one is carried out is
// the same.
func (b *backends) takeWishes(ctx context.Context, s *server) {
	ended := make(chan error, 1)
	running := false
	for first := true; ; first = false {
		state, err := b.ledger.Rebuild(ctx)
		taken := false
		if err == nil && (state == stores.RebuildAsked || first && state == stores.RebuildRunning) {
			taken, err = b.ledger.MoveRebuild(ctx, state, stores.RebuildRunning)
		}
		if err == nil && taken && !running {
			running = true
			b.run(func() { ended <- b.carryOut(ctx, s) })
		}
		select {
		case err = <-ended:
			running = false
		default:
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("the rebuild of the search index that was asked for has failed; ask again, or it is begun again at the next start", "error", err)
		}
		if !sleep(ctx, wishCheck) {
			return
		}
	}
}

// carryOut fills the index anew and waits until all is in it.
func (b *backends) carryOut(ctx context.Context, s *server) error {
	s.log.Info("the search index is rebuilt, as was asked")
	if b.meaning != nil {
		b.meaning.renew()
	}
	b.rebuild(ctx, s)
	for {
		left, err := b.left(ctx)
		if err != nil {
			return err
		}
		if left == 0 {
			break
		}
		if !sleep(ctx, drainCheck) {
			return ctx.Err()
		}
	}
	_, err := b.ledger.MoveRebuild(ctx, stores.RebuildRunning, stores.NoRebuild)
	return err
}

// left is how much waits for the index, 0 when everything is in it.
func (b *backends) left(ctx context.Context) (int, error) {
	n, err := b.ledger.OutboxRows(ctx)
	if err != nil || b.meaning == nil {
		return n, err
	}
	vectors, err := b.meaning.left(ctx)
	return n + vectors, err
}
