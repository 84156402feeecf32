// Package admintest is a store in memory behind the control plane's calls, for
// tests of these calls and of what makes them. It keeps the rules that callers
// rely on (whose row is whose, one active memory a slot, what is not found,
// what is ambiguous); it must not stand in for a real store anywhere else.
package admintest

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"strata/admin"
	"strata/ingest"
	"strata/stores"
)

// Store is everything at once. Make it with New.
type Store struct {
	// Gate, if set before use, is called by Put before anything is written.
	Gate func(context.Context, ingest.Source) error
	// Read, if set before use, is called before passages of a document are
	// read, with the number of the first.
	Read func(document string, first int) error

	mu       sync.Mutex
	pending  int // what Flush answers
	notified int
	docs     []document
	memories []memory
	sessions []session
	receipts []receipt
	rejected []rejected
	examples []example
	at       time.Time // moves on by a second with every write
}

type document struct {
	tenant   string
	doc      stores.Document
	versions []stores.Version         // the newest first
	passages map[int][]stores.Passage // by version
}

type memory struct {
	tenant string
	stores.Memory
}

type session struct {
	tenant string
	info   stores.SessionInfo
	turns  []stores.Turn
}

type receipt struct {
	tenant, user, id, answer string
	json                     []byte
}

type rejected struct {
	tenant string
	stores.Rejected
}

// New returns an empty store whose clock begins at 2026-03-01 08:00 UTC.
func New() *Store { return &Store{at: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)} }

// Config is the control plane's over this store; the token is "t", the tenant
// "default".
func (s *Store) Config() admin.Config {
	return admin.Config{
		Token: "t", Loopback: true, Tenant: "default", Version: "1.2.3", NotReady: func() string { return "" }, Clock: s.now, Metrics: http.NotFoundHandler(),
		Documents: s, Ingester: s, Memories: s, Sessions: s, Receipts: s, Users: s, Intents: s, Learner: s, Events: admin.NewFeed(),
	}
}

func (s *Store) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tick()
}

func (s *Store) tick() time.Time {
	s.at = s.at.Add(time.Second)
	return s.at
}

// page cuts a list at a cursor, which is the index of the next row.
func page[T any](rows []T, cursor string, limit int) ([]T, string, error) {
	from := 0
	if cursor != "" {
		n, err := strconv.Atoi(cursor)
		if err != nil || n < 0 || n > len(rows) {
			return nil, "", stores.ErrCursor
		}
		from = n
	}
	rows = rows[from:]
	if len(rows) <= limit {
		return rows, "", nil
	}
	return rows[:limit], strconv.Itoa(from + limit), nil
}

func tenantOnly(tenant string) error { return stores.Scope{Tenant: tenant}.CheckTenant() }

func (s *Store) findDocument(tenant, id string) int {
	return slices.IndexFunc(s.docs, func(d document) bool { return d.tenant == tenant && d.doc.ID == id })
}

// Documents implements admin.Documents.
func (s *Store) Documents(_ context.Context, tenant, cursor string, limit int) ([]stores.Document, string, error) {
	if err := tenantOnly(tenant); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []stores.Document
	for _, d := range s.docs {
		if d.tenant == tenant {
			out = append(out, d.doc)
		}
	}
	slices.SortFunc(out, func(a, b stores.Document) int { return cmp.Compare(a.ID, b.ID) })
	return page(out, cursor, limit)
}

// Document implements admin.Documents.
func (s *Store) Document(_ context.Context, tenant, id string) (stores.Document, []stores.Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.findDocument(tenant, id)
	if i < 0 {
		return stores.Document{}, nil, stores.ErrNotFound
	}
	return s.docs[i].doc, slices.Clone(s.docs[i].versions), nil
}

// passagePage is how many passages one read returns: so few that a short
// document takes several.
const passagePage = 2

// DocumentPassages implements admin.Documents.
func (s *Store) DocumentPassages(_ context.Context, tenant, id string, version, first int) ([]stores.Passage, error) {
	if s.Read != nil {
		if err := s.Read(id, first); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.findDocument(tenant, id)
	if i < 0 || s.docs[i].passages[version] == nil {
		return nil, stores.ErrNotFound
	}
	all := s.docs[i].passages[version]
	return slices.Clone(all[min(first, len(all)):min(first+passagePage, len(all))]), nil
}

// Put implements admin.Ingester: a passage for each paragraph.
func (s *Store) Put(ctx context.Context, tenant string, source ingest.Source) (ingest.Result, error) {
	if source.File != "" {
		body, err := os.ReadFile(source.File)
		if err != nil {
			return ingest.Result{}, err
		}
		source.Body = body
	}
	if s.Gate != nil {
		if err := s.Gate(ctx, source); err != nil {
			return ingest.Result{}, err
		}
	}
	passages, err := paragraphs(source)
	if err != nil {
		return ingest.Result{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sha := digest(source)
	i := s.findDocument(tenant, source.ID)
	if i < 0 {
		s.docs = append(s.docs, document{tenant: tenant})
		i = len(s.docs) - 1
	}
	d := &s.docs[i]
	r := ingest.Result{ID: source.ID, Status: ingest.StatusPublished, Passages: len(passages), Vectors: "none", Version: 1}
	if len(d.versions) > 0 {
		r.Version = d.versions[0].Version
		if d.versions[0].SHA256 == sha {
			r.Unchanged = true
			return r, nil
		}
		r.Version++
		d.versions[0].Status = "replaced"
	}
	at := s.tick()
	d.doc = stores.Document{ID: source.ID, Title: cmp.Or(source.Title, source.ID), Version: r.Version, Status: r.Status, Groups: source.Groups, Passages: len(passages), UpdatedAt: at}
	d.versions = append([]stores.Version{{Version: r.Version, Status: "current", Title: cmp.Or(source.Title, source.ID), Groups: source.Groups, SHA256: sha, Effective: source.Effective, Expires: source.Expires,
		Vectors: "none", Passages: len(passages), CreatedAt: at}}, d.versions...)
	if d.passages == nil {
		d.passages = map[int][]stores.Passage{}
	}
	for i := range passages {
		passages[i].Version = r.Version
	}
	d.passages[r.Version] = passages
	return r, nil
}

// Delete implements admin.Ingester.
func (s *Store) Delete(_ context.Context, tenant, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.findDocument(tenant, id)
	if i < 0 {
		return stores.ErrNotFound
	}
	s.docs = slices.Delete(s.docs, i, i+1)
	return nil
}
