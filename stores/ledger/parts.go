package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"strata/internal/ids"
	"strata/stores"
)

const (
	// partSize is how many passages, and partBytes how much of their text, one
	// transaction takes: some milliseconds of the one writer, for which
	// exchanges wait.
	partSize  = 256
	partBytes = 512 << 10
	// keptParts is how long the passages of a version that never came about are
	// kept, in case somebody is still writing them.
	keptParts = 24 * time.Hour
)

// partsMark begins the names of the rows that say whose passages are written.
const partsMark = "parts "

// putInParts is PutDocument for what is too much for one transaction. Passages
// of a version that is not there are served to nobody, so they are written
// first, some at a time, and the version with the last transaction. Where the
// document has changed meanwhile, it is stores.ErrConflict.
func (l *Ledger) putInParts(ctx context.Context, tenant string, d stores.Draft) (_ stores.PutResult, err error) {
	p := parts{Tenant: tenant, Document: d.ID, owner: fmt.Sprint(l.now(), " ", ids.New("put"))}
	before, err := update(ctx, l, func(t *tx) (standing, error) {
		s, err := standingOf(t, tenant, d)
		if err == nil && s.same == nil {
			p.Version = s.latest + 1
			err = p.own(t)
		}
		return s, err
	})
	if err != nil {
		return stores.PutResult{}, err
	}
	if before.same != nil {
		return *before.same, nil
	}
	defer func() {
		if err != nil { // what is left of it goes later
			_ = l.removeParts(context.WithoutCancel(ctx), p, true)
		}
	}()
	if err := l.removeParts(ctx, p, false); err != nil { // of a try that was killed
		return stores.PutResult{}, err
	}
	written, err := l.writeParts(ctx, p, d)
	if err != nil {
		return stores.PutResult{}, err
	}
	return update(ctx, l, func(t *tx) (stores.PutResult, error) {
		now, err := standingOf(t, tenant, d)
		if err == nil && (now.latest != before.latest || now.deleted != before.deleted) {
			err = fmt.Errorf("%w: the document", stores.ErrConflict)
		}
		if err == nil {
			err = p.check(t)
		}
		if err == nil {
			err = p.disown(t)
		}
		if err != nil {
			return stores.PutResult{}, err
		}
		return l.addVersion(t, tenant, d, p.Version, written)
	})
}

// parts are the passages of a version to be. While they are written a row of
// meta says by whom, and since when.
type parts struct {
	Tenant, Document string
	Version          int

	owner string
}

func (p parts) mark() string {
	b, err := json.Marshal(p)
	if err != nil {
		panic("BUG: a place cannot be marshalled: " + err.Error())
	}
	return partsMark + string(b)
}

func (p parts) own(t *tx) error {
	_, err := t.exec(`INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, p.mark(), p.owner)
	return err
}

// check is stores.ErrConflict where somebody else has begun to put the same
// version since.
func (p parts) check(t *tx) error {
	var owner string
	_, err := one(t, `SELECT value FROM meta WHERE name = $1`, []any{p.mark()}, &owner)
	if err == nil && owner != p.owner {
		err = fmt.Errorf("%w: the document", stores.ErrConflict)
	}
	return err
}

func (p parts) disown(t *tx) error {
	_, err := t.exec(`DELETE FROM meta WHERE name = $1`, p.mark())
	return err
}

// writeParts writes all passages of a draft and returns their ids.
func (l *Ledger) writeParts(ctx context.Context, p parts, d stores.Draft) (written []string, err error) {
	var part []stores.Passage
	bytes := 0
	write := func() error {
		more, err := update(ctx, l, func(t *tx) ([]string, error) {
			if err := p.check(t); err != nil {
				return nil, err
			}
			return insertPassages(t, p.Tenant, d.ID, p.Version, len(written), part)
		})
		written, part, bytes = append(written, more...), nil, 0
		return err
	}
	for passage, err := range passagesOf(d) {
		if err != nil {
			return nil, err
		}
		part, bytes = append(part, passage), bytes+len(passage.Text)
		if len(part) < partSize && bytes < partBytes {
			continue
		}
		if err := write(); err != nil {
			return nil, err
		}
	}
	return written, write()
}

// passagesOf are all passages of a draft in their order.
func passagesOf(d stores.Draft) iter.Seq2[stores.Passage, error] {
	return func(yield func(stores.Passage, error) bool) {
		for _, p := range d.Passages {
			if !yield(p, nil) {
				return
			}
		}
		if d.More != nil {
			d.More(yield)
		}
	}
}

// removeParts removes what was written of a version that did not come about,
// and with all of it the row that says so.
func (l *Ledger) removeParts(ctx context.Context, p parts, disown bool) error {
	for below := partSize; ; below += partSize {
		left, err := update(ctx, l, func(t *tx) (bool, error) {
			if err := p.check(t); err != nil { // they are another's
				return false, err
			}
			var left int
			_, err := t.exec(`DELETE FROM passages WHERE tenant = $1 AND document = $2 AND version = $3 AND ordinal < $4`, p.Tenant, p.Document, p.Version, below)
			if err == nil {
				_, err = one(t, `SELECT COUNT(*) FROM (SELECT 1 FROM passages WHERE tenant = $1 AND document = $2 AND version = $3 LIMIT 1)`,
					[]any{p.Tenant, p.Document, p.Version}, &left)
			}
			if err == nil && left == 0 && disown {
				err = p.disown(t)
			}
			return left > 0, err
		})
		if err != nil || !left {
			return err
		}
	}
}

// takeParts removes what others have written of a version that is put now, in
// one transaction: hardly ever is there any.
func takeParts(t *tx, p parts) error {
	n, err := t.exec(`DELETE FROM meta WHERE name = $1`, p.mark())
	if err == nil && n > 0 {
		_, err = t.exec(`DELETE FROM passages WHERE tenant = $1 AND document = $2 AND version = $3`, p.Tenant, p.Document, p.Version)
	}
	return err
}

// removeOldParts removes what was written of versions whose writer was killed
// and did not come again.
func (l *Ledger) removeOldParts(ctx context.Context) error {
	var old []parts
	err := each(l.reader(ctx), `SELECT name, value FROM meta WHERE name >= $1 AND name < $2`, []any{partsMark, partsMark + "\x7f"}, func(scan func(...any) error) error {
		var name string
		var p parts
		err := scan(&name, &p.owner)
		since, _, _ := strings.Cut(p.owner, " ")
		if err == nil && number(since) <= l.now()-keptParts.Microseconds() && json.Unmarshal([]byte(name[len(partsMark):]), &p) == nil {
			old = append(old, p)
		}
		return err
	})
	for _, p := range old {
		if err == nil {
			err = l.removeParts(ctx, p, true)
		}
	}
	return err
}
