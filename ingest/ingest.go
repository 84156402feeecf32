// Package ingest turns files into passages and brings them into the search
// index: reading text whatever its encoding, cutting it by its structure,
// writing versions to the ledger, working off the outbox that tells the index
// what to do, and giving passages their vectors. It decides what a passage is,
// when a version counts as published, what of it an embedder gets, and whether
// two embedders are the same. It must not know how the ledger or the index keep things, nor
// who asks.
package ingest

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"strata/internal/tokens"
	"strata/stores"
)

// What Put returns, wrapped, for a source that cannot be taken in.
var (
	ErrMediaType = errors.New("ingest: not a kind of document that is read")
	ErrEmpty     = errors.New("ingest: the document has no text")
	ErrEncoding  = errors.New("ingest: the text's encoding is not understood")
	ErrTooLarge  = errors.New("ingest: the document is too large")
	ErrID        = errors.New("ingest: not a document id")
	ErrFront     = errors.New("ingest: front matter") // the message names line, key and what is right
	ErrDamaged   = errors.New("ingest: the document cannot be read")
	ErrProtected = errors.New("ingest: the document cannot be opened")
	ErrLimit     = errors.New("ingest: reading the document takes more than is allowed")

	errBacklog = errors.New("ingest: index writes fail and wait to be repeated")
)

// Ledger is what documents are written to.
type Ledger interface {
	PutDocument(ctx context.Context, tenant string, d stores.Draft) (stores.PutResult, error)
	DeleteDocument(ctx context.Context, tenant, id string) error
	// Document returns a document and its versions, the newest among them.
	Document(ctx context.Context, tenant, id string) (stores.Document, []stores.Version, error)
	// Outbox returns the first entries in the order in which they are to be
	// done, of all tenants.
	Outbox(ctx context.Context, limit int) ([]stores.OutboxEntry, error)
	// OutboxDone takes entries out and publishes the versions that are
	// complete with them.
	OutboxDone(ctx context.Context, seqs []int64) error
	OutboxRows(ctx context.Context) (int, error)
	// Requeue asks for all that may be served, now or later, to be put again,
	// and returns how many versions that are.
	Requeue(ctx context.Context) (int, error)

	// Space is the one in which passages have vectors, false if there is none.
	Space(ctx context.Context) (stores.Space, bool, error)
	// EmbedQueue returns the first entries that wait to be embedded, with texts.
	// Of those that were cancelled EmbedDone is all that is left to do.
	EmbedQueue(ctx context.Context, limit int) ([]stores.OutboxEntry, error)
	EmbedDone(ctx context.Context, seqs []int64) error
}

// Index is what passages are searched in. Both methods may be repeated.
type Index interface {
	Put(ctx context.Context, tenant string, passages []stores.Passage) error
	Remove(ctx context.Context, tenant string, ids []string) error
}

// Config is what an Ingester needs.
type Config struct {
	Ledger Ledger
	Index  Index
	// Vectors and Embed are what RunVectors works with. Embed makes vectors of
	// length 1 in the space, in the order of the texts, and tries again what may
	// succeed. Where the embedder has become another one, that is an error.
	Vectors VectorIndex
	Embed   func(ctx context.Context, space stores.Space, texts []string) ([][]float32, error)

	Logger *slog.Logger     // nil = none
	Clock  func() time.Time // nil = time.Now
	Count  func(string) int // tokens of a text; nil = tokens.Count; a worker has its own
	Worker Worker
	TmpDir string // for documents on their way, where they are large or read by a worker; "" = the system's
}

// Ingester takes documents in. All methods are safe for concurrent use.
type Ingester struct {
	ledger  Ledger
	index   Index
	vectors VectorIndex
	embed   func(ctx context.Context, space stores.Space, texts []string) ([][]float32, error)
	log     *slog.Logger
	clock   func() time.Time
	count   func(string) int
	worker  Worker
	tmp     string

	wake       chan struct{} // holds one note that the outbox has work
	searchable chan struct{} // holds one note that texts were put, and so may be embedded
	turn       chan struct{} // held by whoever works on the index, so that an old version is never put after its removal
	large      chan struct{} // held while a worker runs, to bound memory
	small      chan struct{} // held by those that read a document here, for the same
	held       map[int64]hold
}

// New returns an Ingester. Run must run for failed index writes to be
// repeated.
func New(cfg Config) *Ingester {
	g := &Ingester{
		ledger: cfg.Ledger, index: cfg.Index, vectors: cfg.Vectors, embed: cfg.Embed, log: cfg.Logger, clock: cfg.Clock, count: cfg.Count, worker: cfg.Worker, tmp: cfg.TmpDir,
		wake: make(chan struct{}, 1), searchable: make(chan struct{}, 1), turn: make(chan struct{}, 1), large: make(chan struct{}, 1), small: make(chan struct{}, hereAtOnce),
		held: map[int64]hold{},
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if g.clock == nil {
		g.clock = time.Now
	}
	if g.count == nil {
		g.count = tokens.Count
	}
	return g
}

// Progress tells how far a Put is.
type Progress struct {
	Stage       string // reading, indexing
	Done, Total int    // passages that can be searched, and of the document; 0 while it is read
}

// Result tells what became of a Source.
type Result struct {
	ID        string `json:"id"`
	Version   int    `json:"version"`
	Status    string `json:"status"` // one of the Status constants
	Passages  int    `json:"passages"`
	Unchanged bool   `json:"unchanged"` // equal to the newest version; nothing was written
	Vectors   string `json:"vectors"`   // none, pending or ready
	// Of a PDF of which some pages show something and have no text: how many,
	// and how many pages it has.
	Textless int `json:"pages_without_text,omitempty"`
	Pages    int `json:"pages,omitempty"`
}

// What a version is when Put returns.
const (
	StatusPublished = "published" // found from now on
	StatusScheduled = "scheduled" // indexed, in force later
	StatusExpired   = "expired"   // indexed, no longer in force
	StatusPending   = "pending"   // the index did not take it yet; Run goes on
	StatusReplaced  = "replaced"  // a newer version came meanwhile
	StatusDeleted   = "deleted"   // the document was deleted meanwhile
)

// largeSize is from where texts too are read by a worker, in bytes: Markdown
// that is nothing but marks takes up to 300 times its size.
const largeSize = 256 << 10

// hereAtOnce is how many smaller ones are read at one time.
const hereAtOnce = 4

// Put takes a document in as the newest version of its id. When it returns
// without an error, the version is published, unless Result says otherwise.
// A source equal to the newest version changes nothing.
func (g *Ingester) Put(ctx context.Context, tenant string, src Source) (Result, error) {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return Result{}, err
	}
	report := src.Progress
	if report == nil {
		report = func(Progress) {}
	}
	report(Progress{Stage: "reading"})
	draft, said, done, err := g.parse(ctx, src)
	if err != nil {
		return Result{}, err
	}
	defer done()
	put, err := g.ledger.PutDocument(ctx, tenant, draft)
	if err != nil {
		return Result{}, err
	}
	g.Notify()
	r := Result{ID: src.ID, Version: put.Version, Passages: put.Passages, Unchanged: put.Unchanged, Textless: said.Textless, Pages: said.Pages}
	there := 0
	indexed := func(passages int) {
		there += passages
		report(Progress{Stage: "indexing", Done: min(there, put.Passages), Total: put.Passages})
	}
	indexed(0)
	r.Status, r.Vectors = g.publish(ctx, tenant, draft, put, indexed)
	return r, nil
}

// parse makes a draft, which is good until done is called, and tells what a
// worker found besides. What is no text, or a large one, is read by a worker,
// one at a time.
func (g *Ingester) parse(ctx context.Context, src Source) (d stores.Draft, said facts, done func(), err error) {
	o, err := src.open(g.count)
	if err != nil {
		return d, said, nil, err
	}
	defer o.close()
	here := !o.format.extracted() && o.size <= largeSize
	room := g.large
	if here {
		room = g.small
	}
	select {
	case room <- struct{}{}:
		defer func() { <-room }()
	case <-ctx.Done():
		return d, said, nil, ctx.Err()
	}
	if here {
		err := o.parseHere(ctx)
		return o.draft, said, func() {}, err
	}
	p, err := readApart(ctx, g.worker, g.tmp, o.reading, o.file)
	if err != nil {
		return d, said, nil, err
	}
	o.draft.Passages, o.draft.More = p.list, p.more
	if err := finish(&o.draft, p.facts); err != nil {
		p.close()
		return d, said, nil, err
	}
	return o.draft, p.facts, p.close, nil
}

// publish works the outbox until a version is done and tells what it and its
// vectors are then.
// indexed is told of each part of it. What fails is left to Run.
func (g *Ingester) publish(ctx context.Context, tenant string, d stores.Draft, put stores.PutResult, indexed func(passages int)) (status, vectors string) {
	if err := g.workOff(ctx, version{tenant, d.ID, put.Version}, indexed, func() {}); err != nil {
		g.log.Warn("a document waits for the index", "document", d.ID, "version", put.Version, "error", err)
		return StatusPending, put.Vectors
	}
	// Its entries are gone: done, or cancelled by a delete or a newer version.
	_, versions, err := g.ledger.Document(ctx, tenant, d.ID)
	if err != nil && !errors.Is(err, stores.ErrNotFound) {
		return StatusPending, put.Vectors
	}
	for _, v := range versions {
		switch {
		case v.Version == put.Version && v.Status == "current":
			return StatusPublished, v.Vectors
		case v.Version == put.Version:
			return v.Status, v.Vectors
		}
	}
	return StatusDeleted, "none"
}

// Delete removes a document: when it returns, no search serves it. What the
// index still holds is removed by Run.
func (g *Ingester) Delete(ctx context.Context, tenant, id string) error {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return err
	}
	err := g.ledger.DeleteDocument(ctx, tenant, id)
	g.Notify()
	return err
}

// Notify tells Run that the outbox has work.
func (g *Ingester) Notify() { note(g.wake) }

// note leaves one note, if none is there.
func note(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
