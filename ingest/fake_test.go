package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"strata/stores"
)

var errDown = errors.New("the index is down")

// fakeLedger keeps documents as stores/ledger does: versions, an outbox of rows
// of two passages, and who is current.
type fakeLedger struct {
	mu      sync.Mutex
	seq     int64
	docs    map[string]*document // tenant/id
	rows    []stores.OutboxEntry
	dropped map[int64]stores.OutboxEntry // cancelled puts
	space   stores.Space                 // none while it has no id
	embeds  []stores.OutboxEntry
	failing func(method string) error // asked before each call
}

type document struct {
	current  int
	versions []*versionRow
}

type versionRow struct {
	draft  stores.Draft
	status string
}

func newLedger() *fakeLedger {
	return &fakeLedger{docs: map[string]*document{}, dropped: map[int64]stores.OutboxEntry{}, failing: func(string) error { return nil }}
}

func (l *fakeLedger) lock(method string) (func(), error) {
	if err := l.failing(method); err != nil {
		return nil, err
	}
	l.mu.Lock()
	return l.mu.Unlock, nil
}

func (l *fakeLedger) PutDocument(_ context.Context, tenant string, d stores.Draft) (stores.PutResult, error) {
	unlock, err := l.lock("PutDocument")
	if err != nil {
		return stores.PutResult{}, err
	}
	defer unlock()
	key := tenant + "/" + d.ID
	doc := l.docs[key]
	if doc == nil {
		doc = &document{}
		l.docs[key] = doc
	}
	n := len(doc.versions)
	if n > 0 {
		if last := doc.versions[n-1]; last.draft.SHA256 == d.SHA256 && last.draft.Title == d.Title && last.status != "deleted" {
			return stores.PutResult{Version: n, Unchanged: true, Passages: len(last.draft.Passages)}, nil
		}
	}
	if d.More != nil {
		for p, err := range d.More {
			if err != nil {
				return stores.PutResult{}, err
			}
			d.Passages = append(d.Passages, p)
		}
		d.More = nil
	}
	for i := range d.Passages {
		d.Passages[i].ID = fmt.Sprintf("%s#%d.%d", key, n+1, i)
		d.Passages[i].Document = d.ID
	}
	doc.versions = append(doc.versions, &versionRow{d, "pending"})
	l.enqueue(tenant, d.ID, n+1, stores.OutboxPut)
	r := stores.PutResult{Version: n + 1, Passages: len(d.Passages), Vectors: "none"}
	if l.space.ID != "" {
		for chunk := range slices.Chunk(d.Passages, 2) {
			l.seq++
			l.embeds = append(l.embeds, stores.OutboxEntry{Seq: l.seq, Tenant: tenant, Document: d.ID, Version: n + 1, Op: stores.OutboxEmbed, Passages: chunk})
		}
		r.Vectors = "pending"
	}
	return r, nil
}

func (l *fakeLedger) Space(context.Context) (stores.Space, bool, error) {
	unlock, err := l.lock("Space")
	if err != nil {
		return stores.Space{}, false, err
	}
	defer unlock()
	return l.space, l.space.ID != "", nil
}

func (l *fakeLedger) EmbedQueue(_ context.Context, limit int) ([]stores.OutboxEntry, error) {
	unlock, err := l.lock("EmbedQueue")
	if err != nil {
		return nil, err
	}
	defer unlock()
	var out []stores.OutboxEntry
	for _, e := range l.embeds {
		waits := slices.ContainsFunc(l.rows, func(o stores.OutboxEntry) bool {
			return o.Tenant == e.Tenant && o.Document == e.Document && o.Version == e.Version && o.Op == stores.OutboxPut
		})
		if !waits && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, nil
}

func (l *fakeLedger) EmbedDone(_ context.Context, seqs []int64) error {
	unlock, err := l.lock("EmbedDone")
	if err != nil {
		return err
	}
	defer unlock()
	for _, seq := range seqs {
		i := slices.IndexFunc(l.embeds, func(e stores.OutboxEntry) bool { return e.Seq == seq })
		if i < 0 {
			continue
		}
		if e := l.embeds[i]; e.Op == stores.OutboxRemove {
			l.enqueue(e.Tenant, e.Document, e.Version, stores.OutboxRemove)
		}
		l.embeds = slices.Delete(l.embeds, i, i+1)
	}
	return nil
}

// waiting is how many changes the index still has to make.
func (l *fakeLedger) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.rows)
}

func (l *fakeLedger) enqueue(tenant, id string, version int, op stores.OutboxOp) {
	for chunk := range slices.Chunk(l.docs[tenant+"/"+id].versions[version-1].draft.Passages, 2) {
		l.seq++
		l.rows = append(l.rows, stores.OutboxEntry{Seq: l.seq, Tenant: tenant, Document: id, Version: version, Op: op, Passages: chunk})
	}
}

func (l *fakeLedger) DeleteDocument(_ context.Context, tenant, id string) error {
	unlock, err := l.lock("DeleteDocument")
	if err != nil {
		return err
	}
	defer unlock()
	doc := l.docs[tenant+"/"+id]
	if doc == nil {
		return stores.ErrNotFound
	}
	l.rows = slices.DeleteFunc(l.rows, func(e stores.OutboxEntry) bool {
		mine := e.Tenant == tenant && e.Document == id && e.Op == stores.OutboxPut
		if mine {
			l.dropped[e.Seq] = e
		}
		return mine
	})
	for i, e := range l.embeds {
		if e.Tenant == tenant && e.Document == id {
			l.embeds[i].Op, l.embeds[i].Passages = stores.OutboxRemove, nil
		}
	}
	for i, v := range doc.versions {
		if v.status != "deleted" {
			l.enqueue(tenant, id, i+1, stores.OutboxRemove)
		}
		v.status = "deleted"
	}
	doc.current = 0
	return nil
}

func (l *fakeLedger) Document(_ context.Context, tenant, id string) (stores.Document, []stores.Version, error) {
	unlock, err := l.lock("Document")
	if err != nil {
		return stores.Document{}, nil, err
	}
	defer unlock()
	doc := l.docs[tenant+"/"+id]
	if doc == nil || doc.versions[len(doc.versions)-1].status == "deleted" {
		return stores.Document{}, nil, stores.ErrNotFound
	}
	var out []stores.Version
	for i, v := range doc.versions {
		vectors := "none"
		if l.space.ID != "" {
			vectors = "ready"
		}
		if slices.ContainsFunc(l.embeds, func(e stores.OutboxEntry) bool { return e.Tenant == tenant && e.Document == id && e.Version == i+1 }) {
			vectors = "pending"
		}
		out = append(out, stores.Version{Version: i + 1, Status: v.status, Vectors: vectors})
	}
	return stores.Document{ID: id}, out, nil
}

func (l *fakeLedger) Outbox(_ context.Context, limit int) ([]stores.OutboxEntry, error) {
	unlock, err := l.lock("Outbox")
	if err != nil {
		return nil, err
	}
	defer unlock()
	return slices.Clone(l.rows[:min(limit, len(l.rows))]), nil
}

func (l *fakeLedger) OutboxDone(_ context.Context, seqs []int64) error {
	unlock, err := l.lock("OutboxDone")
	if err != nil {
		return err
	}
	defer unlock()
	for _, seq := range seqs {
		if e, ok := l.dropped[seq]; ok {
			delete(l.dropped, seq)
			l.seq++
			e.Seq, e.Op = l.seq, stores.OutboxRemove
			l.rows = append(l.rows, e)
		}
		i := slices.IndexFunc(l.rows, func(e stores.OutboxEntry) bool { return e.Seq == seq })
		if i < 0 {
			continue
		}
		e := l.rows[i]
		l.rows = slices.Delete(l.rows, i, i+1)
		left := slices.ContainsFunc(l.rows, func(o stores.OutboxEntry) bool {
			return o.Tenant == e.Tenant && o.Document == e.Document && o.Version == e.Version && o.Op == stores.OutboxPut
		})
		if e.Op == stores.OutboxPut && !left {
			l.publish(e)
		}
	}
	return nil
}

func (l *fakeLedger) publish(e stores.OutboxEntry) {
	doc := l.docs[e.Tenant+"/"+e.Document]
	v := doc.versions[e.Version-1]
	switch {
	case v.status != "pending":
	case doc.current > e.Version:
		v.status = "replaced"
		l.enqueue(e.Tenant, e.Document, e.Version, stores.OutboxRemove)
	default:
		if old := doc.current; old > 0 {
			doc.versions[old-1].status = "replaced"
			l.enqueue(e.Tenant, e.Document, old, stores.OutboxRemove)
		}
		doc.current, v.status = e.Version, "current"
	}
}

func (l *fakeLedger) OutboxRows(context.Context) (int, error) {
	unlock, err := l.lock("OutboxRows")
	if err != nil {
		return 0, err
	}
	defer unlock()
	return len(l.rows), nil
}

func (l *fakeLedger) Requeue(context.Context) (int, error) {
	unlock, err := l.lock("Requeue")
	if err != nil {
		return 0, err
	}
	defer unlock()
	n := 0
	for _, key := range slices.Sorted(maps.Keys(l.docs)) {
		if doc := l.docs[key]; doc.current > 0 {
			n++
			tenant, id := key[:2], key[3:]
			l.enqueue(tenant, id, doc.current, stores.OutboxPut)
		}
	}
	return n, nil
}

// fakeIndex holds passages by tenant and id.
type fakeIndex struct {
	mu      sync.Mutex
	byID    map[string]map[string]string
	vectors map[string][]float32                    // tenant, space and passage
	failing func(tenant string, ids []string) error // asked before each call
	after   func()                                  // called after each put
}

func newIndex() *fakeIndex {
	return &fakeIndex{byID: map[string]map[string]string{}, vectors: map[string][]float32{}, failing: func(string, []string) error { return nil }, after: func() {}}
}

func (x *fakeIndex) Put(_ context.Context, tenant string, passages []stores.Passage) error {
	defer x.after()
	x.mu.Lock()
	defer x.mu.Unlock()
	var ids []string
	for _, p := range passages {
		ids = append(ids, p.ID)
	}
	if err := x.failing(tenant, ids); err != nil {
		return err
	}
	if x.byID[tenant] == nil {
		x.byID[tenant] = map[string]string{}
	}
	for _, p := range passages {
		x.byID[tenant][p.ID] = p.Text
	}
	return nil
}

func (x *fakeIndex) Remove(_ context.Context, tenant string, ids []string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.failing(tenant, ids); err != nil {
		return err
	}
	for _, id := range ids {
		delete(x.byID[tenant], id)
		maps.DeleteFunc(x.vectors, func(key string, _ []float32) bool {
			return strings.HasPrefix(key, tenant+"|") && strings.HasSuffix(key, "|"+id)
		})
	}
	return nil
}

func (x *fakeIndex) PutVectors(_ context.Context, tenant string, space stores.Space, vectors []stores.Vector) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var ids []string
	for _, v := range vectors {
		ids = append(ids, v.Passage)
	}
	if err := x.failing(tenant, ids); err != nil {
		return err
	}
	for _, v := range vectors {
		x.vectors[tenant+"|"+space.ID+"|"+v.Passage] = v.Values
	}
	return nil
}

func (x *fakeIndex) Missing(_ context.Context, tenant, space string, ids []string) (out []string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		if _, ok := x.vectors[tenant+"|"+space+"|"+id]; !ok {
			out = append(out, id)
		}
	}
	return out, nil
}

// vectorCount is how many vectors a tenant has.
func (x *fakeIndex) vectorCount(tenant string) (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for key := range x.vectors {
		if strings.HasPrefix(key, tenant+"|") {
			n++
		}
	}
	return n
}

// texts returns a tenant's texts in the order of their ids.
func (x *fakeIndex) texts(tenant string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []string
	for _, id := range slices.Sorted(maps.Keys(x.byID[tenant])) {
		out = append(out, x.byID[tenant][id])
	}
	return out
}
