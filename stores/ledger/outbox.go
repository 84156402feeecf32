package ledger

import (
	"context"
	"slices"
	"time"

	"strata/stores"
)

// cancelledFor is how long a cancelled put is remembered, in case somebody is
// still carrying it out.
const cancelledFor = time.Hour

// enqueue asks the index to put or remove passages.
func (l *Ledger) enqueue(t *tx, tenant, document string, version int, op stores.OutboxOp, ids []string) error {
	for chunk := range slices.Chunk(ids, outboxChunk) {
		_, err := t.exec(`INSERT INTO outbox (tenant, document, version, op, ids, at) VALUES ($1, $2, $3, $4, $5, $6)`,
			tenant, document, version, string(op), packList(chunk), l.now())
		if err != nil {
			return err
		}
	}
	return nil
}

// enqueueRemoval asks the index to remove a version, vectors and all.
func (l *Ledger) enqueueRemoval(t *tx, tenant, document string, version int) error {
	ids, err := passageIDs(t, tenant, document, version)
	if err != nil {
		return err
	}
	if err := cancelEmbeds(t, tenant, document, version); err != nil {
		return err
	}
	return l.enqueue(t, tenant, document, version, stores.OutboxRemove, ids)
}

func passageIDs(s source, tenant, document string, version int) (ids []string, err error) {
	err = each(s, `SELECT id FROM passages WHERE tenant = $1 AND document = $2 AND version = $3 ORDER BY ordinal`, []any{tenant, document, version},
		func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			ids = append(ids, id)
			return err
		})
	return ids, err
}

// unqueue cancels what waits to be put of a document and asks for the removal
// of all that may be in the index. Removals under way stay.
func (l *Ledger) unqueue(t *tx, tenant, document string) error {
	_, err := t.exec(`UPDATE outbox SET cancelled = 1, at = $3 WHERE tenant = $1 AND document = $2 AND op = 'put'`, tenant, document, l.now())
	if err != nil {
		return err
	}
	var versions []int
	err = each(t, `SELECT version FROM versions WHERE tenant = $1 AND document = $2 AND state IN ('pending', 'scheduled', 'published') ORDER BY version`,
		[]any{tenant, document}, func(scan func(...any) error) error {
			var v int
			err := scan(&v)
			versions = append(versions, v)
			return err
		})
	for _, v := range versions {
		if err == nil {
			err = l.enqueueRemoval(t, tenant, document, v)
		}
	}
	return err
}

// Outbox returns what the index still has to do, the oldest first. To be put
// are passages with their texts, to be removed their ids.
func (l *Ledger) Outbox(ctx context.Context, limit int) ([]stores.OutboxEntry, error) {
	var out []stores.OutboxEntry
	r := l.reader(ctx)
	err := each(r, `SELECT seq, tenant, document, version, op, ids FROM outbox WHERE cancelled = 0 ORDER BY seq LIMIT $1`, []any{limit},
		func(scan func(...any) error) error {
			var e stores.OutboxEntry
			var ids string
			err := scan(&e.Seq, &e.Tenant, &e.Document, &e.Version, &e.Op, &ids)
			for _, id := range unpackList(ids) {
				e.Passages = append(e.Passages, stores.Passage{ID: id})
			}
			out = append(out, e)
			return err
		})
	if err != nil {
		return nil, err
	}
	// A put whose texts have gone meanwhile is cancelled.
	kept := out[:0]
	for _, e := range out {
		if e.Op == stores.OutboxPut {
			if e.Passages, err = putTexts(r, e); err != nil {
				return nil, err
			}
			if len(e.Passages) == 0 {
				continue
			}
		}
		kept = append(kept, e)
	}
	return kept, nil
}

func putTexts(s source, e stores.OutboxEntry) (out []stores.Passage, err error) {
	ids := make([]string, len(e.Passages))
	for i, p := range e.Passages {
		ids[i] = p.ID
	}
	list, size := holders(2, len(ids))
	err = each(s, `SELECT p.id, p.document, v.title, p.version, p.ordinal, p.heading, p.text, p.tokens, v.effective
FROM passages p JOIN versions v ON v.tenant = p.tenant AND v.document = p.document AND v.version = p.version
WHERE p.tenant = $1 AND p.id IN (`+list+`) ORDER BY p.ordinal`, fill([]any{e.Tenant}, ids, size), func(scan func(...any) error) error {
		var p stores.Passage
		var effective int64
		err := scan(&p.ID, &p.Document, &p.Title, &p.Version, &p.Ordinal, &p.Heading, &p.Text, &p.Tokens, &effective)
		p.Effective = moment(effective)
		out = append(out, p)
		return err
	})
	return out, err
}

// OutboxDone takes entries that were carried out from the queue. With its last
// put a version is published; what it replaces is queued for removal. A put
// that was cancelled meanwhile is queued to be removed. Entries that are gone
// are passed over.
func (l *Ledger) OutboxDone(ctx context.Context, seqs []int64) error {
	return l.change(ctx, func(t *tx) error {
		for _, seq := range seqs {
			if err := l.outboxDone(t, seq); err != nil {
				return err
			}
		}
		return nil
	})
}

func (l *Ledger) outboxDone(t *tx, seq int64) error {
	var (
		e         stores.OutboxEntry
		ids       string
		cancelled int
	)
	found, err := one(t, `SELECT tenant, document, version, op, ids, cancelled FROM outbox WHERE seq = $1`, []any{seq},
		&e.Tenant, &e.Document, &e.Version, &e.Op, &ids, &cancelled)
	if err != nil || !found {
		return err
	}
	if _, err := t.exec(`DELETE FROM outbox WHERE seq = $1`, seq); err != nil || e.Op != stores.OutboxPut {
		return err
	}
	if cancelled == 1 {
		return l.enqueue(t, e.Tenant, e.Document, e.Version, stores.OutboxRemove, unpackList(ids))
	}
	n, err := t.exec(`UPDATE versions SET state = 'published' WHERE tenant = $1 AND document = $2 AND version = $3 AND state = 'pending'
AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.tenant = $1 AND o.document = $2 AND o.version = $3 AND o.op = 'put')`, e.Tenant, e.Document, e.Version)
	if err != nil || n == 0 {
		return err
	}
	return l.settleVersions(t, e.Tenant, e.Document)
}

// OutboxRows counts the entries of all tenants that wait.
func (l *Ledger) OutboxRows(ctx context.Context) (n int, err error) {
	_, err = one(l.reader(ctx), `SELECT COUNT(*) FROM outbox WHERE cancelled = 0`, nil, &n)
	return n, err
}

// Waits reports whether passages of a tenant wait to be put into the index. It
// looks at one row.
func (l *Ledger) Waits(ctx context.Context, tenant string) (bool, error) {
	return one(l.reader(ctx), `SELECT 1 FROM outbox WHERE tenant = $1 AND op = 'put' AND cancelled = 0 LIMIT 1`, []any{tenant}, new(int))
}

// served is the condition of versions that are to be found, now or from a day on.
const served = `state IN ('published', 'scheduled')`

// Requeue asks for all that may be served, now or on a later day, to be put
// into the index again, with its vectors where a space is kept, and returns how
// many versions that are. It is for an index that was lost.
func (l *Ledger) Requeue(ctx context.Context) (int, error) {
	return update(ctx, l, func(t *tx) (int, error) {
		n, err := eachVersion(t, served, nil, func(e stores.OutboxEntry, ids []string) error {
			return l.enqueue(t, e.Tenant, e.Document, e.Version, stores.OutboxPut, ids)
		})
		if err != nil {
			return 0, err
		}
		if _, kept, err := spaceOf(t); err != nil || !kept {
			return n, err
		}
		_, err = l.enqueueEmbeds(t, false)
		return n, err
	})
}

// eachVersion calls do for the versions that fulfil a condition with its args,
// with the ids of their passages, and returns how many they are.
func eachVersion(t *tx, condition string, args []any, do func(e stores.OutboxEntry, ids []string) error) (int, error) {
	var all []stores.OutboxEntry
	err := each(t, `SELECT tenant, document, version FROM versions WHERE `+condition+` ORDER BY tenant, document, version`, args,
		func(scan func(...any) error) error {
			var e stores.OutboxEntry
			err := scan(&e.Tenant, &e.Document, &e.Version)
			all = append(all, e)
			return err
		})
	for _, e := range all {
		var ids []string
		if err == nil {
			ids, err = passageIDs(t, e.Tenant, e.Document, e.Version)
		}
		if err == nil {
			err = do(e, ids)
		}
	}
	return len(all), err
}
