package cli

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"strata/assemble"
	"strata/ingest"
	"strata/stores"
	"strata/stores/textindex"
	"strata/stores/weaviate"
)

// index is where passages are searched: a file, or a server.
type index interface {
	assemble.Index
	ingest.Index
	ingest.VectorIndex
	Nearest(ctx context.Context, tenant, space string, vector []float32, limit int) ([]stores.Hit, error)
	KeepSpace(ctx context.Context, id string) error
	NeedsRebuild() bool
	Rebuilt(ctx context.Context) error
	Close() error
}

// indexServer is the Weaviate server that index.url names, "" where it is a
// file.
func indexServer(configured string) (string, error) {
	if strings.HasPrefix(configured, "file://") || !strings.Contains(configured, "://") {
		return "", nil
	}
	u, err := url.Parse(configured)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		// The text may hold a password, so it is not repeated.
		return "", errors.New("is neither a file nor a Weaviate server; name a path such as /var/lib/strata/index.db, or a server as http://weaviate:8080")
	case u.User != nil:
		return "", errors.New("holds a user name or password; put the key into index.api_key")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("must end with the server's port, as http://weaviate:8080")
	case u.Port() != "" && !validPort(u.Port()):
		return "", errors.New("names a port that does not exist; ports end at 65535")
	}
	return u.Scheme + "://" + u.Host, nil
}

// openIndex opens the index of a ledger, which has this secret. A server that
// has lost a tenant tells lost.
func (s *server) openIndex(ctx context.Context, secret []byte, lost func(ctx context.Context, tenant, space string, put bool) bool) (index, error) {
	server, err := indexServer(s.cfg.Index.URL)
	if err != nil {
		return nil, bad("index.url", "%v", err)
	}
	if server == "" {
		path := s.storePath(s.cfg.Index.URL, "index.db")
		x, err := s.openIndexFile(ctx, path)
		if err != nil {
			return nil, newStoreError("index.url", path, err)
		}
		return x, nil
	}
	x, err := weaviate.New(ctx, weaviate.Config{URL: server, APIKey: s.cfg.Index.APIKey, Namespace: secret, Temporary: s.temporary, Lost: lost, Logger: s.log})
	switch {
	case errors.Is(err, weaviate.ErrRefused):
		return nil, &storeError{"index.url: " + server + " does not take the key; check index.api_key", err}
	case err != nil:
		return nil, &storeError{"index.url: " + server + " cannot be used: " + err.Error(), err}
	}
	return x, nil
}

// openIndexFile opens the index of a file. A damaged one is put aside and made
// anew: the ledger holds all that was in it.
func (s *server) openIndexFile(ctx context.Context, path string) (*textindex.Index, error) {
	cfg := textindex.Config{Path: path, Logger: s.log}
	x, err := textindex.New(ctx, cfg)
	if !errors.Is(err, stores.ErrUnreadable) || errors.Is(err, textindex.ErrForeign) {
		return x, err
	}
	kept, failed := textindex.SetAside(path, time.Now())
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	s.log.Error("the search index is damaged and was put aside; it is built anew, and documents come back as that goes on", "kept", kept, "error", err)
	return textindex.New(ctx, cfg)
}

const (
	// fillCheck is how often an index is asked whether it has lost passages: a
	// server may, while it is in use.
	fillCheck = 5 * time.Second
	// drainCheck is how often the outbox is looked at while it fills the index.
	drainCheck = time.Second
)

// keepFilled fills an index that is new or was emptied. Searches meanwhile find
// what is in it already.
func (b *backends) keepFilled(ctx context.Context, s *server) {
	for {
		if b.index.NeedsRebuild() {
			b.filling.begin()
			b.rebuild(ctx, s)
		}
		if !sleep(ctx, fillCheck) {
			return
		}
	}
}

func (b *backends) rebuild(ctx context.Context, s *server) {
	began := time.Now()
	queued := false
	n, err := b.ingester.Rebuild(ctx, func(int) { queued = true; b.filling.queued() })
	switch {
	case n > 0:
		b.filling.queued()
	case queued:
		b.filling.end() // nothing was lost: what waits are new documents
	}
	if err != nil && (n > 0 || queued) {
		// All is in the outbox, and put as soon as the index takes it.
		if n > 0 {
			s.log.Warn("the search index is filled as far as it can be, and further as soon as it can", "error", err)
		}
		err = b.drained(ctx)
	}
	if err == nil {
		err = b.index.Rebuilt(ctx)
	}
	if err == nil {
		b.filling.end()
	}
	switch {
	case err == nil && n > 0:
		s.log.Info("the search index was rebuilt", "versions", n, "took", time.Since(began).Round(time.Millisecond).String())
	case err != nil && ctx.Err() == nil:
		s.log.Error("the search index is incomplete; that is tried again", "error", err)
	}
}

// drained returns when nothing waits for the index.
func (b *backends) drained(ctx context.Context) error {
	for sleep(ctx, drainCheck) {
		if left, err := b.ledger.OutboxRows(ctx); err != nil || left == 0 {
			return err
		}
	}
	return ctx.Err()
}

// sleep waits, and reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
