package textindex

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"strata/stores"
)

// batch is how many passages one transaction takes.
const batch = 512

// Put makes passages findable; when it returns, they are. One whose id is
// there already is replaced. Of passages with the same id the last one counts.
// When it fails, some may have been put: put them all again.
func (x *Index) Put(ctx context.Context, tenant string, passages []stores.Passage) error {
	if tenant == "" {
		return stores.ErrScope
	}
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
				cut = append(cut, analyze(p))
			}
		}
		err := x.write(ctx, func(tx *sql.Tx) error {
			c, err := newChange(ctx, tx, tenant, true)
			if err != nil {
				return err
			}
			for _, a := range cut {
				if err := c.replace(a); err != nil {
					return err
				}
			}
			return c.save()
		}, nil)
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
		err := x.write(ctx, func(tx *sql.Tx) error {
			c, err := newChange(ctx, tx, tenant, false)
			if err != nil {
				return err
			}
			if c != nil {
				for _, id := range part {
					if err := c.remove(id); err != nil {
						return err
					}
				}
				if err := c.save(); err != nil {
					return err
				}
			}
			return removeVectors(ctx, tx, tenant, part)
		}, nil)
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
		for _, q := range []string{`DELETE FROM posting WHERE tenant = ?`, `DELETE FROM passage WHERE tenant = ?`, `DELETE FROM tenant WHERE id = ?`} {
			if _, err := tx.ExecContext(ctx, q, t.id); err != nil {
				return err
			}
		}
		return nil
	}, nil)
}

// tenantRow is what is known of all passages of a tenant.
type tenantRow struct {
	id       int64 // 0: it has never had any
	passages int
	length   int64 // of all passages together
	next     int64 // the number of the next passage
}

func findTenant(ctx context.Context, tx *sql.Tx, tenant string) (t tenantRow, err error) {
	err = tx.QueryRowContext(ctx, tenantQuery, tenantKey(tenant)).Scan(&t.id, &t.passages, &t.length, &t.next)
	if errors.Is(err, sql.ErrNoRows) {
		return t, nil
	}
	return t, err
}

// spot is one row of postings.
type spot struct{ term, block int64 }

// delta is what a transaction does to one row of postings.
type delta struct {
	add  []entry // in order
	drop []int
	had  []byte // what the row holds
}

// change gathers what a transaction does to a tenant, so that each row of
// postings is read and written once.
type change struct {
	ctx    context.Context
	tx     *sql.Tx
	tenant tenantRow
	fresh  int64 // blocks from here on had no rows before
	rows   map[spot]*delta
}

// newChange begins one. For a tenant that is not there it returns nil, unless
// make is set.
func newChange(ctx context.Context, tx *sql.Tx, tenant string, create bool) (*change, error) {
	t, err := findTenant(ctx, tx, tenant)
	if err != nil {
		return nil, err
	}
	if t.id == 0 {
		if !create {
			return nil, nil
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO tenant (name, passages, length, next) VALUES (?, 0, 0, 0)`, tenantKey(tenant))
		if err != nil {
			return nil, err
		}
		if t.id, err = res.LastInsertId(); err != nil {
			return nil, err
		}
	}
	return &change{ctx: ctx, tx: tx, tenant: t, fresh: (t.next + blockSize - 1) / blockSize, rows: map[spot]*delta{}}, nil
}

func (c *change) row(term, num int64) *delta {
	at := spot{term, num / blockSize}
	d := c.rows[at]
	if d == nil {
		d = &delta{}
		c.rows[at] = d
	}
	return d
}

// replace takes out what is there under a's id and puts a.
func (c *change) replace(a analyzed) error {
	if err := c.remove(a.id); err != nil {
		return err
	}
	num, length := c.tenant.next, packLength(a.length)
	for _, t := range a.terms {
		d := c.row(t.hash, num)
		d.add = append(d.add, entry{int(num % blockSize), t.counts, length})
	}
	_, err := c.tx.ExecContext(c.ctx, `INSERT INTO passage (key, tenant, id, length, terms) VALUES (?, ?, ?, ?, ?)`,
		c.tenant.id<<numberBits|num, c.tenant.id, a.id, a.length, packHashes(a.terms))
	c.tenant.next++
	c.tenant.passages++
	c.tenant.length += int64(a.length)
	return err
}

func (c *change) remove(id string) error {
	var key, length int64
	var packed []byte
	err := c.tx.QueryRowContext(c.ctx, `SELECT key, length, terms FROM passage WHERE tenant = ? AND id = ?`, c.tenant.id, id).
		Scan(&key, &length, &packed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	num := key & (1<<numberBits - 1)
	for _, term := range unpackHashes(packed) {
		d := c.row(term, num)
		d.drop = append(d.drop, int(num%blockSize))
	}
	c.tenant.passages--
	c.tenant.length -= length
	_, err = c.tx.ExecContext(c.ctx, `DELETE FROM passage WHERE key = ?`, key)
	return err
}

// save writes the gathered rows in the order in which they are kept.
func (c *change) save() error {
	spots := slices.SortedFunc(maps.Keys(c.rows), func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.term, b.term), cmp.Compare(a.block, b.block))
	})
	if err := c.load(spots); err != nil {
		return err
	}
	w, err := newRowWriter(c.ctx, c.tx, c.tenant.id)
	if err != nil {
		return err
	}
	defer w.close()
	for i, at := range spots {
		if i%1024 == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		data, n, ok := c.rows[at].merge()
		if !ok {
			return fmt.Errorf("%w: broken postings", stores.ErrUnreadable)
		}
		if err := w.write(at, n, data); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	_, err = c.tx.ExecContext(c.ctx, `UPDATE tenant SET passages = ?, length = ?, next = ? WHERE id = ?`,
		c.tenant.passages, c.tenant.length, c.tenant.next, c.tenant.id)
	return err
}

// load reads what the rows hold that were there before.
func (c *change) load(spots []spot) error {
	byBlock := map[int64][]int64{}
	for _, at := range spots {
		if at.block < c.fresh {
			byBlock[at.block] = append(byBlock[at.block], at.term)
		}
	}
	for block, hashes := range byBlock {
		for part := range slices.Chunk(hashes, 4096) {
			if err := c.loadBlock(block, part); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *change) loadBlock(block int64, hashes []int64) error {
	list, err := json.Marshal(hashes)
	if err != nil {
		return err
	}
	rows, err := c.tx.QueryContext(c.ctx, `SELECT p.term, p.data FROM json_each(?3) j
		CROSS JOIN posting p ON p.tenant = ?1 AND p.term = j.value AND p.block = ?2`, c.tenant.id, block, string(list))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		at := spot{block: block}
		var data []byte
		if err := rows.Scan(&at.term, &data); err != nil {
			return err
		}
		c.rows[at].had = data
	}
	return rows.Err()
}

// merge returns the row after the change and how many entries it has; numbers
// that are added are above all that were there. It reports whether the row was
// whole.
func (d *delta) merge() (data []byte, n int, ok bool) {
	entries := make([]entry, 0, len(d.had)/3+len(d.add))
	at := -1
	for rest := d.had; len(rest) > 0; {
		step, counts, length, after := next(rest)
		at += step
		if step == 0 || at >= blockSize {
			return nil, 0, false
		}
		if !slices.Contains(d.drop, at) {
			entries = append(entries, entry{at, counts, length})
		}
		rest = after
	}
	entries = append(entries, d.add...)
	return appendEntries(make([]byte, 0, 3*len(entries)+16), entries), len(entries), true
}

// rowsAtOnce is how many rows one statement writes.
const rowsAtOnce = 64

// rowWriter writes rows of postings, many with one statement.
type rowWriter struct {
	ctx             context.Context
	tenant          int64
	many, one, gone *sql.Stmt
	args            []any
}

func newRowWriter(ctx context.Context, tx *sql.Tx, tenant int64) (*rowWriter, error) {
	// Statements take milliseconds at most; asking for the end of ctx at each
	// of them would cost more than they do.
	w := &rowWriter{ctx: context.WithoutCancel(ctx), tenant: tenant}
	const insert = `INSERT OR REPLACE INTO posting (tenant, term, block, n, data) VALUES (?, ?, ?, ?, ?)`
	var err error
	if w.many, err = tx.PrepareContext(ctx, insert+strings.Repeat(`, (?, ?, ?, ?, ?)`, rowsAtOnce-1)); err != nil {
		return nil, err
	}
	if w.one, err = tx.PrepareContext(ctx, insert); err != nil {
		w.many.Close()
		return nil, err
	}
	if w.gone, err = tx.PrepareContext(ctx, `DELETE FROM posting WHERE tenant = ? AND term = ? AND block = ?`); err != nil {
		w.many.Close()
		w.one.Close()
	}
	return w, err
}

func (w *rowWriter) close() {
	w.many.Close()
	w.one.Close()
	w.gone.Close()
}

// write puts the row of a spot, or takes it out when nothing is left of it.
func (w *rowWriter) write(at spot, n int, data []byte) error {
	if n == 0 {
		_, err := w.gone.ExecContext(w.ctx, w.tenant, at.term, at.block)
		return err
	}
	w.args = append(w.args, w.tenant, at.term, at.block, n, data)
	if len(w.args) < 5*rowsAtOnce {
		return nil
	}
	_, err := w.many.ExecContext(w.ctx, w.args...)
	w.args = w.args[:0]
	return err
}

// flush puts the rows that are not enough for a statement of many.
func (w *rowWriter) flush() error {
	for row := range slices.Chunk(w.args, 5) {
		if _, err := w.one.ExecContext(w.ctx, row...); err != nil {
			return err
		}
	}
	w.args = w.args[:0]
	return nil
}
