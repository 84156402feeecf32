package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"strata/stores"
)

// scratch is a Strata of its own in a temporary folder, configured as the real
// one is: what is tried there, nobody is served.
type scratch struct {
	*server
	dir string
}

// openScratch starts one, on ports of loopback that nobody else is told. It logs
// errors only. index is a server to search on, "" = a file in the folder.
func (p *program) openScratch(c *Config, index string) (*scratch, error) {
	dir, err := os.MkdirTemp("", "strata-scratch-")
	if err != nil {
		return nil, fmt.Errorf("no temporary folder can be made (%w); set TMPDIR to a folder that can be written", err)
	}
	cfg := *c
	cfg.Listen, cfg.Admin.Listen, cfg.Health.Listen = "127.0.0.1:0", "127.0.0.1:0", "off"
	cfg.DataDir, cfg.Ledger.URL, cfg.Index.URL = dir, "", index
	x := &scratch{newServer(&cfg, slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelError}))), dir}
	x.temporary = true
	if err := x.start(true); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	go func() { _ = x.proxy.Serve(x.data) }()
	x.setNotReady("")
	return x, nil
}

// url is where its data plane is.
func (x *scratch) url() string { return "http://" + x.data.Addr().String() }

// control is where its control plane is.
func (x *scratch) control() string { return "http://" + x.adminLn.Addr().String() }

// closeLimit is how long close may take. Nothing is in flight then, but what is
// on an index's server is removed there.
const closeLimit = time.Minute

// close ends it and removes all that it kept.
func (x *scratch) close() {
	x.windUp(time.Now().Add(closeLimit))
	_ = os.RemoveAll(x.dir)
}

// put takes a document version in. settle makes it found.
func (x *scratch) put(ctx context.Context, tenant string, d stores.Draft) error {
	_, err := x.backends.Load().ledger.PutDocument(ctx, tenant, d)
	return err
}

// indexPatience is how long the index may take for one batch before it is
// given up.
const indexPatience = time.Minute

// settle waits until everything that was put can be found, by its vectors too.
func (x *scratch) settle(ctx context.Context) error {
	b := x.backends.Load()
	b.ingester.Notify()
	last, since := -1, time.Now()
	for {
		left, err := b.left(ctx)
		switch {
		case err != nil:
			return err
		case left == 0:
			return nil
		case left != last:
			last, since = left, time.Now()
		case time.Since(since) > indexPatience:
			return fmt.Errorf("the search index has taken nothing in for %v, with %d batches left; the errors above say why", indexPatience, left)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
