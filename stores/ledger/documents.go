package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"strata/stores"
)

// The states of a version. One that is published or scheduled is in force
// from its day on, until a later one is; that is decided when it is read.
const (
	statePending   = "pending"
	stateScheduled = "scheduled"
	statePublished = "published"
	stateReplaced  = "replaced"
	stateExpired   = "expired"
)

// outboxChunk is how many passages one outbox row stands for.
const outboxChunk = 64

// PutDocument keeps a new version. It is served when OutboxDone has been told
// of all its rows. While a space is kept it is queued to be embedded too.
func (l *Ledger) PutDocument(ctx context.Context, tenant string, d stores.Draft) (stores.PutResult, error) {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return stores.PutResult{}, err
	}
	if d.ID == "" {
		return stores.PutResult{}, errors.New("ledger: a document without an id")
	}
	if len(d.Passages) == 0 && d.More == nil {
		return stores.PutResult{}, errors.New("ledger: a document without passages")
	}
	d.Groups = slices.Compact(slices.Sorted(slices.Values(d.Groups)))
	if d.More != nil || len(d.Passages) > partSize {
		return l.putInParts(ctx, tenant, d)
	}
	return update(ctx, l, func(t *tx) (stores.PutResult, error) { return l.putDocument(t, tenant, d) })
}

func (l *Ledger) putDocument(t *tx, tenant string, d stores.Draft) (stores.PutResult, error) {
	s, err := standingOf(t, tenant, d)
	if err != nil {
		return stores.PutResult{}, err
	}
	if s.same != nil {
		return *s.same, nil
	}
	version := s.latest + 1
	if err := takeParts(t, parts{Tenant: tenant, Document: d.ID, Version: version}); err != nil {
		return stores.PutResult{}, err
	}
	ids, err := insertPassages(t, tenant, d.ID, version, 0, d.Passages)
	if err != nil {
		return stores.PutResult{}, err
	}
	return l.addVersion(t, tenant, d, version, ids)
}

// standing is what a document is when a version of it is put.
type standing struct {
	latest  int // 0 = there is none
	deleted bool
	same    *stores.PutResult // the version is its newest already
}

func standingOf(t *tx, tenant string, d stores.Draft) (s standing, err error) {
	var passages, deleted int
	var state, title, sum, groups, vectors string
	var effective, expires int64
	_, err = one(t, `SELECT d.latest, d.deleted, COALESCE(v.state, ''), COALESCE(v.title, ''), COALESCE(v.sha256, ''), COALESCE(v.groups, ''),
  COALESCE(v.effective, 0), COALESCE(v.expires, 0), COALESCE(v.passages, 0), COALESCE(v.vectors, '')
FROM documents d LEFT JOIN versions v ON v.tenant = d.tenant AND v.document = d.id AND v.version = d.latest
WHERE d.tenant = $1 AND d.id = $2`, []any{tenant, d.ID}, &s.latest, &deleted, &state, &title, &sum, &groups, &effective, &expires, &passages, &vectors)
	s.deleted = deleted == 1
	same := title == d.Title && sum == d.SHA256 && groups == packList(d.Groups) && effective == micros(d.Effective) && expires == micros(d.Expires)
	if same && (state == statePending || state == stateScheduled || state == statePublished || state == stateExpired) {
		s.same = &stores.PutResult{Version: s.latest, Unchanged: true, Passages: passages, Vectors: vectors}
	}
	return s, err
}

// addVersion adds a version whose passages are written, and queues them.
func (l *Ledger) addVersion(t *tx, tenant string, d stores.Draft, version int, ids []string) (stores.PutResult, error) {
	if _, err := t.exec(`INSERT INTO documents (tenant, id, latest, updated_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant, id) DO UPDATE SET latest = excluded.latest, deleted = 0, updated_at = excluded.updated_at`, tenant, d.ID, version, l.now()); err != nil {
		return stores.PutResult{}, err
	}
	if err := l.insertVersion(t, tenant, d, version, len(ids)); err != nil {
		return stores.PutResult{}, err
	}
	if err := l.enqueue(t, tenant, d.ID, version, stores.OutboxPut, ids); err != nil {
		return stores.PutResult{}, err
	}
	r := stores.PutResult{Version: version, Passages: len(ids), Vectors: vectorsNone}
	_, kept, err := spaceOf(t)
	if kept && err == nil {
		r.Vectors = vectorsPending
		err = l.enqueueEmbed(t, tenant, d.ID, version, ids)
	}
	return r, err
}

func (l *Ledger) insertVersion(t *tx, tenant string, d stores.Draft, version, passages int) error {
	_, err := t.exec(`INSERT INTO versions (tenant, document, version, state, title, sha256, media_type, restricted, groups, effective, expires, passages, created_at)
VALUES ($1, $2, $3, 'pending', $4, $5, $6, $7, $8, $9, $10, $11, $12)`, tenant, d.ID, version, d.Title, d.SHA256, d.MediaType,
		flag(len(d.Groups) > 0), packList(d.Groups), micros(d.Effective), micros(d.Expires), passages, l.now())
	for _, g := range d.Groups {
		if err == nil {
			_, err = t.exec(`INSERT INTO version_groups (tenant, document, version, name) VALUES ($1, $2, $3, $4)`, tenant, d.ID, version, g)
		}
	}
	return err
}

// insertPassages writes passages, the first of which is the number first of its
// version, and returns their ids. One without an id gets one that is the same
// each time.
func insertPassages(t *tx, tenant, document string, version, first int, passages []stores.Passage) ([]string, error) {
	ids := make([]string, len(passages))
	for i, p := range passages {
		ids[i] = cmp.Or(p.ID, passageID(tenant, document, version, first+i))
		_, err := t.exec(`INSERT INTO passages (tenant, id, document, version, ordinal, tokens, heading, text) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			tenant, ids[i], document, version, first+i, p.Tokens, p.Heading, p.Text)
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func passageID(tenant, document string, version, ordinal int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s%d:%d", len(tenant), tenant, len(document), document, version, ordinal))
	return "psg_" + hex.EncodeToString(sum[:12])
}

// Passages returns those of the ids that the scope may read now, in the order
// of the ids: of the version in force, and of groups that it shares. It is one
// statement, so nothing that was deleted before it began is returned.
func (l *Ledger) Passages(ctx context.Context, scope stores.Scope, ids []string) ([]stores.Passage, error) {
	if err := scope.CheckTenant(); err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found := make(map[string]stores.Passage, len(ids))
	for chunk := range slices.Chunk(ids, 256) {
		list, err := directly(ctx, l.direct, func(s source) ([]stores.Passage, error) { return l.passages(s, scope, chunk) })
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			found[p.ID] = p
		}
	}
	out := make([]stores.Passage, 0, len(found))
	for _, id := range ids {
		if p, ok := found[id]; ok {
			out = append(out, p)
			delete(found, id)
		}
	}
	return out, nil
}

func (l *Ledger) passages(s source, scope stores.Scope, ids []string) (out []stores.Passage, err error) {
	query, args := l.allowedPassages(scope, ids, true)
	err = each(s, `SELECT p.id, p.document, v.title, p.version, p.ordinal, p.heading, p.text, p.tokens, v.effective `+query, args, func(scan func(...any) error) error {
		var p stores.Passage
		var effective int64
		err := scan(&p.ID, &p.Document, &p.Title, &p.Version, &p.Ordinal, &p.Heading, &p.Text, &p.Tokens, &effective)
		p.Effective = moment(effective)
		out = append(out, p)
		return err
	})
	return out, err
}

// allowedPassages is the end of a query for those of the passages that are of
// groups which the scope shares, of the versions in force or of any.
func (l *Ledger) allowedPassages(scope stores.Scope, ids []string, inForce bool) (query string, args []any) {
	args, from := []any{scope.Tenant}, 2
	if inForce {
		args, from = append(args, l.now()), 3
	}
	list, size := holders(from, len(ids))
	args = fill(args, ids, size)
	query = `FROM passages p JOIN versions v ON v.tenant = p.tenant AND v.document = p.document AND v.version = p.version
WHERE p.tenant = $1 AND p.id IN (` + list + `)`
	if inForce {
		query += ` AND v.state IN ('published', 'scheduled') AND v.effective <= $2 AND (v.expires = 0 OR v.expires > $2)
AND NOT EXISTS (SELECT 1 FROM versions n WHERE n.tenant = v.tenant AND n.document = v.document AND n.version > v.version
  AND n.state IN ('published', 'scheduled', 'expired') AND n.effective <= $2)`
	}
	if len(scope.Groups) == 0 {
		return query + ` AND v.restricted = 0`, args
	}
	names, n := holders(from+size, len(scope.Groups))
	return query + ` AND (v.restricted = 0 OR EXISTS (SELECT 1 FROM version_groups g
WHERE g.tenant = v.tenant AND g.document = v.document AND g.version = v.version AND g.name IN (` + names + `)))`, fill(args, scope.Groups, n)
}

// DeleteDocument removes a document with all its versions. None of its text is
// served when it returns; one that is still being put never is.
func (l *Ledger) DeleteDocument(ctx context.Context, tenant, id string) error {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return err
	}
	return l.change(ctx, func(t *tx) error {
		n, err := t.exec(`UPDATE documents SET deleted = 1, published = 0, updated_at = $3 WHERE tenant = $1 AND id = $2 AND deleted = 0`, tenant, id, l.now())
		if err != nil {
			return err
		}
		if n == 0 {
			return stores.ErrNotFound
		}
		if err := l.unqueue(t, tenant, id); err != nil {
			return err
		}
		for _, table := range []string{"passages", "version_groups", "versions"} {
			if _, err := t.exec(`DELETE FROM `+table+` WHERE tenant = $1 AND document = $2`, tenant, id); err != nil {
				return err
			}
		}
		return touchTenant(t, tenant)
	})
}

// version is one that was published, with its day.
type version struct {
	number             int
	state              string
	effective, expires int64
}

// stateNow is the state of v, given the later ones.
func (v version) stateNow(later []version, now int64) string {
	switch {
	case slices.ContainsFunc(later, func(l version) bool { return l.effective <= max(now, v.effective) }):
		return stateReplaced
	case v.effective > now:
		return stateScheduled
	case v.expires > 0 && v.expires <= now:
		return stateExpired
	}
	return statePublished
}

// settleVersions brings the states of a document's versions up to date and
// queues the removal of the text that can never be served again.
func (l *Ledger) settleVersions(t *tx, tenant, id string) error {
	var all []version
	err := each(t, `SELECT version, state, effective, expires FROM versions WHERE tenant = $1 AND document = $2
AND state IN ('published', 'scheduled', 'expired') ORDER BY version DESC`, []any{tenant, id}, func(scan func(...any) error) error {
		var v version
		err := scan(&v.number, &v.state, &v.effective, &v.expires)
		all = append(all, v)
		return err
	})
	if err != nil {
		return err
	}
	now := l.now()
	for i, v := range all {
		state := v.stateNow(all[:i], now)
		if state == v.state {
			continue
		}
		if _, err := t.exec(`UPDATE versions SET state = $4 WHERE tenant = $1 AND document = $2 AND version = $3`, tenant, id, v.number, state); err != nil {
			return err
		}
		if v.state != stateExpired && (state == stateReplaced || state == stateExpired) {
			if err := l.enqueueRemoval(t, tenant, id, v.number); err != nil {
				return err
			}
		}
	}
	_, err = t.exec(`UPDATE documents SET updated_at = $3, published = CASE WHEN EXISTS (SELECT 1 FROM versions v
  WHERE v.tenant = $1 AND v.document = $2 AND v.state IN ('published', 'scheduled')) THEN 1 ELSE 0 END
WHERE tenant = $1 AND id = $2`, tenant, id, now)
	if err == nil {
		err = touchTenant(t, tenant)
	}
	return err
}

// documentColumns want the tenant in $1 and the time in $2. The version shown
// is the one in force, else the newest.
const documentColumns = `SELECT d.id, d.updated_at, COALESCE(v.version, 0), v.title, v.groups, v.state, v.effective, v.expires, v.passages
FROM documents d JOIN versions v ON v.tenant = d.tenant AND v.document = d.id AND v.version = COALESCE(
  (SELECT MAX(n.version) FROM versions n WHERE n.tenant = d.tenant AND n.document = d.id AND n.state IN ('published', 'scheduled', 'expired') AND n.effective <= $2),
  (SELECT MAX(n.version) FROM versions n WHERE n.tenant = d.tenant AND n.document = d.id))
WHERE d.tenant = $1 AND d.deleted = 0`

// collectDocuments also tells the number of the version shown, which may not
// be in force.
func collectDocuments(now int64, out *[]stores.Document, shown *[]int) func(func(...any) error) error {
	return func(scan func(...any) error) error {
		var (
			d                           stores.Document
			groups, state               string
			updated, effective, expires int64
		)
		err := scan(&d.ID, &updated, &d.Version, &d.Title, &groups, &state, &effective, &expires, &d.Passages)
		d.UpdatedAt, d.Groups = moment(updated), unpackList(groups)
		*shown = append(*shown, d.Version)
		switch {
		case state == statePending, state == stateReplaced:
			d.Status = statePending
		case effective > now:
			d.Status = stateScheduled
		case expires > 0 && expires <= now:
			d.Status = stateExpired
		default:
			d.Status = statePublished
		}
		if d.Status == statePending || d.Status == stateScheduled {
			d.Version, d.Passages = 0, 0
		}
		*out = append(*out, d)
		return err
	}
}

// Documents lists the documents of a tenant by id.
func (l *Ledger) Documents(ctx context.Context, tenant, cursor string, limit int) ([]stores.Document, string, error) {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return nil, "", err
	}
	after, err := unpackCursor(cursor, 1)
	if err != nil {
		return nil, "", err
	}
	limit = pageSize(limit)
	var out []stores.Document
	var shown []int
	now := l.now()
	err = each(l.reader(ctx), documentColumns+` AND d.id > $3 ORDER BY d.id LIMIT $4`,
		[]any{tenant, now, strings.Join(after, ""), limit + 1}, collectDocuments(now, &out, &shown))
	if err != nil || len(out) <= limit {
		return out, "", err
	}
	return out[:limit], packCursor(out[limit-1].ID), nil
}

// Document returns one document and its versions, the newest first.
func (l *Ledger) Document(ctx context.Context, tenant, id string) (stores.Document, []stores.Version, error) {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return stores.Document{}, nil, err
	}
	r, now := l.reader(ctx), l.now()
	var documents []stores.Document
	var shown []int
	if err := each(r, documentColumns+` AND d.id = $3`, []any{tenant, now, id}, collectDocuments(now, &documents, &shown)); err != nil {
		return stores.Document{}, nil, err
	}
	if len(documents) == 0 {
		return stores.Document{}, nil, stores.ErrNotFound
	}
	versions, err := versionsOf(r, tenant, id, shown[0], now)
	return documents[0], versions, err
}

// passagePage is how many passages of a version one read returns: a document
// may be larger than memory, and a long read keeps the journal from its
// checkpoint.
const passagePage = 64

// versionPassages wants tenant, document, version, and the number of the first.
// Passages whose version is not there are still being written.
var versionPassages = `SELECT p.id, v.title, p.ordinal, p.heading, p.text, p.tokens
FROM versions v JOIN passages p ON p.tenant = v.tenant AND p.document = v.document AND p.version = v.version
WHERE v.tenant = $1 AND v.document = $2 AND v.version = $3 AND p.ordinal >= $4 ORDER BY p.ordinal LIMIT ` + strconv.Itoa(passagePage)

// DocumentPassages returns some passages of one version, whatever its state,
// from the number first on; none are left after the last. What a version holds
// never changes, and goes with the document at once: so all reads together are
// the one version, or the last of them is stores.ErrNotFound.
func (l *Ledger) DocumentPassages(ctx context.Context, tenant, id string, version, first int) (out []stores.Passage, err error) {
	if err := (stores.Scope{Tenant: tenant}).CheckTenant(); err != nil {
		return nil, err
	}
	r := l.reader(ctx)
	err = each(r, versionPassages, []any{tenant, id, version, first}, func(scan func(...any) error) error {
		p := stores.Passage{Document: id, Version: version}
		err := scan(&p.ID, &p.Title, &p.Ordinal, &p.Heading, &p.Text, &p.Tokens)
		out = append(out, p)
		return err
	})
	if err != nil || len(out) > 0 {
		return out, err
	}
	var there int
	found, err := one(r, `SELECT 1 FROM versions WHERE tenant = $1 AND document = $2 AND version = $3`, []any{tenant, id, version}, &there)
	if err == nil && !found {
		err = stores.ErrNotFound
	}
	return nil, err
}

// versionsOf tells the states as they are now, whatever the last job has
// written: all published ones below the one in force are replaced.
func versionsOf(s source, tenant, id string, inForce int, now int64) (out []stores.Version, err error) {
	err = each(s, `SELECT version, state, title, groups, sha256, effective, expires, passages, vectors, created_at FROM versions WHERE tenant = $1 AND document = $2 ORDER BY version DESC`,
		[]any{tenant, id}, func(scan func(...any) error) error {
			var v stores.Version
			var state, groups string
			var effective, expires, created int64
			err := scan(&v.Version, &state, &v.Title, &groups, &v.SHA256, &effective, &expires, &v.Passages, &v.Vectors, &created)
			v.Groups = unpackList(groups)
			v.Effective, v.Expires, v.CreatedAt = moment(effective), moment(expires), moment(created)
			switch {
			case state == statePending, state == stateReplaced:
				v.Status = state
			case effective > now:
				v.Status = stateScheduled
			case v.Version < inForce:
				v.Status = stateReplaced
			case expires > 0 && expires <= now:
				v.Status = stateExpired
			default:
				v.Status = "current"
			}
			out = append(out, v)
			return err
		})
	return out, err
}
