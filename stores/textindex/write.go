package textindex

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"strata/internal/lexical"
	"strata/internal/pace"
	"strata/stores"
)

// batch is how many passages one transaction takes.
const batch = 512

// analyzed is a passage as the index keeps it.
type analyzed struct {
	id     string
	length int
	terms  []byte // see packTerms
}

// Put makes passages findable; when it returns, they are. One whose id is
// there already is replaced. Of passages with the same id the last one counts.
// When it fails, some may have been put: put them all again.
func (x *Index) Put(ctx context.Context, tenant string, passages []stores.Passage) error {
	if tenant == "" {
		return stores.ErrScope
	}
	var pace pace.Pace
	for part := range slices.Chunk(passages, batch) {
		byID := make(map[string]int, len(part))
		for i, p := range part {
			if p.ID == "" {
				return errors.New("textindex: a passage without id")
			}
			byID[p.ID] = i
		}
		cut := make([]analyzed, 0, len(byID))
		for i, p := range part {
			if byID[p.ID] == i {
				terms := lexical.NewPassage(p.Text, p.Title, p.Heading)
				cut = append(cut, analyzed{p.ID, terms.Length, packTerms(terms.Terms)})
				pace.Keep(ctx)
			}
		}
		err := x.change(ctx, tenant, true, func(c *change) error {
			for _, a := range cut {
				if err := c.replace(a); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Remove makes passages unfindable, by their vectors too. Ids that are not
// there are no error.
func (x *Index) Remove(ctx context.Context, tenant string, ids []string) error {
	if tenant == "" {
		return stores.ErrScope
	}
	for part := range slices.Chunk(ids, batch) {
		err := x.change(ctx, tenant, false, func(c *change) error {
			for _, id := range part {
				if err := c.remove(id); err != nil {
					return err
				}
			}
			return removeVectors(ctx, c.tx, tenant, part)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// DropTenant removes all that is kept of a tenant.
func (x *Index) DropTenant(ctx context.Context, tenant string) error {
	if tenant == "" {
		return stores.ErrScope
	}
	return x.write(ctx, func(tx *sql.Tx) error {
		if err := dropVectors(ctx, tx, tenant); err != nil {
			return err
		}
		t, err := findTenant(ctx, tx, tenant)
		if err != nil || t.id == 0 {
			return err
		}
		for _, q := range []string{`DELETE FROM posting WHERE key >= ?1 << 40 AND key < (?1 + 1) << 40`, `DELETE FROM gone WHERE tenant = ?1`,
			`DELETE FROM passage WHERE tenant = ?1`, `DELETE FROM tenant WHERE id = ?1`} {
			if _, err := tx.ExecContext(ctx, q, t.id); err != nil {
				return err
			}
		}
		x.freshes.drop(t.id)
		return nil
	}, nil)
}

// tenantRow is what is known of all passages of a tenant.
type tenantRow struct {
	id       int64 // 0: it has never had any
	passages int
	length   int64 // of all passages together
	gone     int   // passages that were removed and whose rows are there still
	next     int64 // the number of the next passage
	settled  int64 // those below have postings
}

const tenantColumns = `SELECT id, passages, length, gone, next, settled FROM tenant`

// scan reads a row of tenantColumns, a zero one where there is none.
func (t *tenantRow) scan(row *sql.Row) error {
	err := row.Scan(&t.id, &t.passages, &t.length, &t.gone, &t.next, &t.settled)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

func findTenant(ctx context.Context, tx *sql.Tx, tenant string) (t tenantRow, err error) {
	err = t.scan(tx.QueryRowContext(ctx, tenantColumns+` WHERE name = ?`, tenantKey(tenant)))
	return t, err
}

func (t tenantRow) save(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `UPDATE tenant SET passages = ?, length = ?, gone = ?, next = ?, settled = ? WHERE id = ?`,
		t.passages, t.length, t.gone, t.next, t.settled, t.id)
	return err
}

// key is that of a passage by its number.
func (t tenantRow) key(num int64) int64 { return t.id<<numberBits | num }

// postingKey is that of a row of postings. Those of a bucket follow one another.
func (t tenantRow) postingKey(bucket int, block int64) int64 {
	return t.id<<numberBits | int64(bucket)<<blockBits | block
}

// change is what a transaction does to a tenant. It writes passages, not
// postings: each would be a row of its own, most of them rewritten by the next
// change. Postings are made of many passages at once, see settle.
type change struct {
	ctx         context.Context
	tx          *sql.Tx
	tenant      tenantRow
	add, takeID *sql.Stmt
	gone        map[int64]bitmap // by block, those that have changed
}

// change runs f in a transaction about a tenant, and settles what is then due.
// Without make, a tenant that is not there has passages that cannot be removed.
func (x *Index) change(ctx context.Context, tenant string, create bool, f func(*change) error) error {
	var t tenantRow
	err := x.write(ctx, func(tx *sql.Tx) error {
		c, err := newChange(ctx, tx, tenant, create)
		if err != nil {
			return err
		}
		defer c.close()
		if err = f(c); err == nil {
			err = c.save()
		}
		t = c.tenant
		return err
	}, nil)
	if err == nil {
		x.changed(t)
	}
	return err
}

func newChange(ctx context.Context, tx *sql.Tx, tenant string, create bool) (*change, error) {
	t, err := findTenant(ctx, tx, tenant)
	if err != nil {
		return nil, err
	}
	if t.id == 0 && create {
		res, err := tx.ExecContext(ctx, `INSERT INTO tenant (name, passages, length, gone, next, settled) VALUES (?, 0, 0, 0, 0, 0)`, tenantKey(tenant))
		if err != nil {
			return nil, err
		}
		if t.id, err = res.LastInsertId(); err != nil {
			return nil, err
		}
	}
	c := &change{ctx: ctx, tx: tx, tenant: t, gone: map[int64]bitmap{}}
	if c.add, err = tx.PrepareContext(ctx, `INSERT INTO passage (key, tenant, id, length, terms) VALUES (?, ?, ?, ?, ?)`); err != nil {
		return nil, err
	}
	if c.takeID, err = tx.PrepareContext(ctx, `UPDATE passage SET id = NULL WHERE tenant = ? AND id = ? RETURNING key, length`); err != nil {
		c.add.Close()
		return nil, err
	}
	return c, nil
}

func (c *change) close() {
	c.add.Close()
	c.takeID.Close()
}

// replace takes out what is there under a's id and puts a.
func (c *change) replace(a analyzed) error {
	if err := c.remove(a.id); err != nil {
		return err
	}
	_, err := c.add.ExecContext(c.ctx, c.tenant.key(c.tenant.next), c.tenant.id, a.id, a.length, a.terms)
	c.tenant.next++
	c.tenant.passages++
	c.tenant.length += int64(a.length)
	return err
}

func (c *change) remove(id string) error {
	var key, length int64
	err := c.takeID.QueryRowContext(c.ctx, c.tenant.id, id).Scan(&key, &length)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	num := key & (1<<numberBits - 1)
	bits, err := c.bits(num / blockSize)
	if err != nil {
		return err
	}
	bits.set(int(num % blockSize))
	c.tenant.passages--
	c.tenant.gone++
	c.tenant.length -= length
	return nil
}

// bits are those of a block, to be changed.
func (c *change) bits(block int64) (bitmap, error) {
	bits := c.gone[block]
	if bits != nil {
		return bits, nil
	}
	err := c.tx.QueryRowContext(c.ctx, `SELECT bits FROM gone WHERE tenant = ? AND block = ?`, c.tenant.id, block).Scan((*[]byte)(&bits))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		bits = make(bitmap, bitmapBytes)
	case err != nil:
		return nil, err
	case len(bits) != bitmapBytes:
		return nil, errBroken
	}
	c.gone[block] = bits
	return bits, nil
}

func (c *change) save() error {
	for block, bits := range c.gone {
		if _, err := c.tx.ExecContext(c.ctx, `INSERT OR REPLACE INTO gone (tenant, block, bits) VALUES (?, ?, ?)`, c.tenant.id, block, []byte(bits)); err != nil {
			return err
		}
	}
	return c.tenant.save(c.ctx, c.tx)
}
