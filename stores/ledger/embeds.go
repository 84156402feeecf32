package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"strata/stores"
)

// What a version's vectors are.
const (
	vectorsNone    = "none"
	vectorsPending = "pending"
	vectorsReady   = "ready"
)

// Space returns the space in which passages have vectors, false if there is
// none yet.
func (l *Ledger) Space(ctx context.Context) (s stores.Space, kept bool, err error) {
	return spaceOf(l.reader(ctx))
}

func spaceOf(r source) (s stores.Space, kept bool, err error) {
	var text []byte
	kept, err = one(r, `SELECT value FROM meta WHERE name = 'space'`, nil, &text)
	if err != nil || !kept {
		return s, false, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, false, fmt.Errorf("%w: the space of vectors: %w", stores.ErrUnreadable, err)
	}
	return s, true, nil
}

// SetSpace keeps a space and asks for all that may be served, now or on a later
// day, to be embedded in it; of the space that is kept already only what has no
// vectors and does not wait for any. It returns how many versions that are.
func (l *Ledger) SetSpace(ctx context.Context, s stores.Space) (versions int, err error) {
	text, err := json.Marshal(s)
	if err != nil {
		return 0, err
	}
	return update(ctx, l, func(t *tx) (int, error) {
		had, kept, err := spaceOf(t)
		if err != nil {
			return 0, err
		}
		if _, err := t.exec(`INSERT INTO meta (name, value) VALUES ('space', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, text); err != nil {
			return 0, err
		}
		return l.enqueueEmbeds(t, kept && had.ID == s.ID)
	})
}

// enqueueEmbeds asks for all versions that may be served to be embedded, or
// for those alone that nobody has asked for yet.
func (l *Ledger) enqueueEmbeds(t *tx, lacking bool) (int, error) {
	condition := `state IN ('pending', 'published', 'scheduled')`
	if lacking {
		condition += ` AND vectors = 'none'`
	} else if _, err := t.exec(`DELETE FROM embeds WHERE cancelled = 0`); err != nil {
		return 0, err
	}
	return eachVersion(t, condition, nil, func(e stores.OutboxEntry, ids []string) error {
		return l.enqueueEmbed(t, e.Tenant, e.Document, e.Version, ids)
	})
}

// enqueueEmbed asks for the passages of a version to be embedded.
func (l *Ledger) enqueueEmbed(t *tx, tenant, document string, version int, ids []string) error {
	for chunk := range slices.Chunk(ids, outboxChunk) {
		_, err := t.exec(`INSERT INTO embeds (tenant, document, version, ids) VALUES ($1, $2, $3, $4)`, tenant, document, version, packList(chunk))
		if err != nil {
			return err
		}
	}
	_, err := t.exec(`UPDATE versions SET vectors = 'pending' WHERE tenant = $1 AND document = $2 AND version = $3`, tenant, document, version)
	return err
}

// cancelEmbeds gives up what waits to be embedded of a version. The rows stay
// until somebody has seen them: one may be under way.
func cancelEmbeds(t *tx, tenant, document string, version int) error {
	_, err := t.exec(`UPDATE embeds SET cancelled = 1 WHERE tenant = $1 AND document = $2 AND version = $3`, tenant, document, version)
	if err == nil {
		_, err = t.exec(`UPDATE versions SET vectors = 'none' WHERE tenant = $1 AND document = $2 AND version = $3`, tenant, document, version)
	}
	return err
}

// EmbedQueue returns what waits to be embedded and can be searched by its text
// already, with the texts, the oldest first. An entry that was cancelled has
// the operation remove and no passages: nothing is to be done but EmbedDone.
func (l *Ledger) EmbedQueue(ctx context.Context, limit int) ([]stores.OutboxEntry, error) {
	var out []stores.OutboxEntry
	r := l.reader(ctx)
	err := each(r, `SELECT seq, tenant, document, version, cancelled, ids FROM embeds e WHERE cancelled = 1
OR NOT EXISTS (SELECT 1 FROM outbox o WHERE o.tenant = e.tenant AND o.document = e.document AND o.version = e.version AND o.op = 'put')
ORDER BY seq LIMIT $1`, []any{limit}, func(scan func(...any) error) error {
		e := stores.OutboxEntry{Op: stores.OutboxEmbed}
		var ids string
		var cancelled int
		err := scan(&e.Seq, &e.Tenant, &e.Document, &e.Version, &cancelled, &ids)
		if cancelled == 1 {
			e.Op = stores.OutboxRemove
		} else {
			for _, id := range unpackList(ids) {
				e.Passages = append(e.Passages, stores.Passage{ID: id})
			}
		}
		out = append(out, e)
		return err
	})
	for i := range out {
		// Where the texts have gone meanwhile, the entry is cancelled.
		if err == nil && len(out[i].Passages) > 0 {
			out[i].Passages, err = putTexts(r, out[i])
		}
	}
	return out, err
}

// EmbedDone takes entries of EmbedQueue out that were carried out. With its
// last one a version's vectors are ready. For one that was cancelled meanwhile
// the removal of its passages is queued. Entries that are gone are passed over.
func (l *Ledger) EmbedDone(ctx context.Context, seqs []int64) error {
	return l.change(ctx, func(t *tx) error {
		for _, seq := range seqs {
			if err := l.embedDone(t, seq); err != nil {
				return err
			}
		}
		return nil
	})
}

func (l *Ledger) embedDone(t *tx, seq int64) error {
	var tenant, document, ids string
	var version, cancelled int
	found, err := one(t, `SELECT tenant, document, version, cancelled, ids FROM embeds WHERE seq = $1`, []any{seq},
		&tenant, &document, &version, &cancelled, &ids)
	if err != nil || !found {
		return err
	}
	if _, err := t.exec(`DELETE FROM embeds WHERE seq = $1`, seq); err != nil {
		return err
	}
	if cancelled == 1 {
		return l.enqueue(t, tenant, document, version, stores.OutboxRemove, unpackList(ids))
	}
	_, err = t.exec(`UPDATE versions SET vectors = 'ready' WHERE tenant = $1 AND document = $2 AND version = $3 AND vectors = 'pending'
AND NOT EXISTS (SELECT 1 FROM embeds e WHERE e.tenant = $1 AND e.document = $2 AND e.version = $3)`, tenant, document, version)
	return err
}

// EmbedRows counts the entries of all tenants that wait to be embedded.
func (l *Ledger) EmbedRows(ctx context.Context) (n int, err error) {
	_, err = one(l.reader(ctx), `SELECT COUNT(*) FROM embeds WHERE cancelled = 0`, nil, &n)
	return n, err
}
