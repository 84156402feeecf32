package textindex

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"strata/stores"
)

// Vectors stand in tables of their own, beside those of text: an index that is
// emptied because text is cut in another way keeps them.
//
// A set is what a tenant has in one space. Each vector, and each removal of
// one, takes the set's next number, so that whoever holds what the set was like
// up to a number reads only what came after it, whichever process wrote it. A
// removal is a row without data that names the number which is gone. When there
// are too many of these they are dropped, and floor says up to which number a
// reader must have come to do without them. Ids of sets are never used again.
const vectorSchema = `
CREATE TABLE IF NOT EXISTS vector_set (
	id INTEGER PRIMARY KEY AUTOINCREMENT, tenant BLOB NOT NULL, space TEXT NOT NULL, dims INTEGER NOT NULL,
	next INTEGER NOT NULL DEFAULT 1, live INTEGER NOT NULL DEFAULT 0, removals INTEGER NOT NULL DEFAULT 0, floor INTEGER NOT NULL DEFAULT 0,
	UNIQUE (tenant, space));
CREATE TABLE IF NOT EXISTS vector (
	key INTEGER PRIMARY KEY, owner INTEGER NOT NULL, passage TEXT, gone INTEGER, data BLOB);
CREATE UNIQUE INDEX IF NOT EXISTS vector_passage ON vector (owner, passage);
`

// manyRemovals is how many removals a set keeps beside those for each vector.
const manyRemovals = 1000

// PutVectors keeps where passages are in a space; when it returns, Nearest
// finds them there. One that is there already is replaced. Vectors that are not
// of the space's size or not of length 1 are an error, and then none is kept.
// When it fails for another reason, some may have been kept: put them all again.
func (x *Index) PutVectors(ctx context.Context, tenant string, space stores.Space, vectors []stores.Vector) error {
	if tenant == "" {
		return stores.ErrScope
	}
	if space.ID == "" || space.Dims <= 0 {
		return errors.New("textindex: vectors of no space")
	}
	for _, v := range vectors {
		if v.Passage == "" {
			return errors.New("textindex: a vector without passage")
		}
		if err := checkVector(v.Values, space.Dims); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(vectors, batch) {
		err := x.write(ctx, func(tx *sql.Tx) error {
			s, err := makeSet(ctx, tx, tenant, space)
			if err != nil {
				return err
			}
			for _, v := range part {
				if err := s.put(v); err != nil {
					return err
				}
			}
			return s.save()
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// checkVector refuses what has no cosine with others.
func checkVector(values []float32, dims int) error {
	if len(values) != dims {
		return fmt.Errorf("textindex: a vector of %d numbers in a space of %d", len(values), dims)
	}
	// Also false for what is not a number.
	if length := dot(values, values); !(length > 0.99 && length < 1.01) {
		return errors.New("textindex: a vector that is not of length 1")
	}
	return nil
}

// Missing returns those of the passages that have no vector in a space, in the
// order of ids.
func (x *Index) Missing(ctx context.Context, tenant, space string, ids []string) ([]string, error) {
	if tenant == "" {
		return nil, stores.ErrScope
	}
	var out []string
	for part := range slices.Chunk(ids, batch) {
		list, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		there := make(map[string]bool, len(part))
		err = x.query(ctx, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			there[id] = true
			return err
		}, `SELECT v.passage FROM vector_set s CROSS JOIN json_each(?3) j CROSS JOIN vector v ON v.owner = s.id AND v.passage = j.value
WHERE s.tenant = ?1 AND s.space = ?2`, tenantKey(tenant), space, string(list))
		if err != nil {
			return nil, err
		}
		for _, id := range part {
			if !there[id] {
				out = append(out, id)
			}
		}
	}
	return out, nil
}

// KeepSpace removes the vectors of every other space, of all if id is "".
func (x *Index) KeepSpace(ctx context.Context, id string) error {
	// Without their sets they are found no more. The rest takes room alone, and
	// what an end in between leaves is taken out by the next call.
	err := x.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM vector_set WHERE space <> ?`, id)
		return err
	}, nil)
	if err != nil {
		return err
	}
	var owners []int64
	err = x.query(ctx, func(scan func(...any) error) error {
		var owner int64
		err := scan(&owner)
		owners = append(owners, owner)
		return err
	}, `SELECT DISTINCT owner FROM vector WHERE owner NOT IN (SELECT id FROM vector_set)`)
	for _, owner := range owners {
		for n := int64(1); n > 0 && err == nil; {
			err = x.write(ctx, func(tx *sql.Tx) error {
				res, err := tx.ExecContext(ctx, `DELETE FROM vector WHERE key IN (SELECT key FROM vector WHERE owner = ? LIMIT ?)`, owner, batch)
				if err == nil {
					n, err = res.RowsAffected()
				}
				return err
			}, nil)
		}
	}
	return err
}

// removeVectors takes the vectors of passages out of all spaces.
func removeVectors(ctx context.Context, tx *sql.Tx, tenant string, ids []string) error {
	sets, err := setsOf(ctx, tx, tenant)
	for _, s := range sets {
		for _, id := range ids {
			if err == nil {
				err = s.remove(id)
			}
		}
		if err == nil {
			err = s.save()
		}
	}
	return err
}

// dropVectors takes out all that a tenant has.
func dropVectors(ctx context.Context, tx *sql.Tx, tenant string) error {
	for _, q := range []string{`DELETE FROM vector WHERE owner IN (SELECT id FROM vector_set WHERE tenant = ?)`, `DELETE FROM vector_set WHERE tenant = ?`} {
		if _, err := tx.ExecContext(ctx, q, tenantKey(tenant)); err != nil {
			return err
		}
	}
	return nil
}

// setRow is what is known of all vectors of a set.
type setRow struct {
	id             int64 // 0: there is none
	dims           int
	next           int64
	live, removals int64
	floor          int64
}

const setColumns = `SELECT id, dims, next, live, removals, floor FROM vector_set WHERE tenant = ?`

func (s *setRow) scan(scan func(...any) error) error {
	return scan(&s.id, &s.dims, &s.next, &s.live, &s.removals, &s.floor)
}

// change of a set within a transaction.
type setChange struct {
	setRow
	ctx  context.Context
	tx   *sql.Tx
	from int64 // next at the beginning
}

func setsOf(ctx context.Context, tx *sql.Tx, tenant string) (out []*setChange, err error) {
	rows, err := tx.QueryContext(ctx, setColumns, tenantKey(tenant))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		s := &setChange{ctx: ctx, tx: tx}
		if err := s.scan(rows.Scan); err != nil {
			return nil, err
		}
		s.from = s.next
		out = append(out, s)
	}
	return out, rows.Err()
}

// makeSet returns a tenant's set of a space, a new one when it has none.
func makeSet(ctx context.Context, tx *sql.Tx, tenant string, space stores.Space) (*setChange, error) {
	_, err := tx.ExecContext(ctx, `INSERT INTO vector_set (tenant, space, dims) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, tenantKey(tenant), space.ID, space.Dims)
	if err != nil {
		return nil, err
	}
	s := &setChange{ctx: ctx, tx: tx}
	if err := s.scan(tx.QueryRowContext(ctx, setColumns+` AND space = ?`, tenantKey(tenant), space.ID).Scan); err != nil {
		return nil, err
	}
	if s.dims != space.Dims {
		return nil, fmt.Errorf("textindex: a space of %d numbers has become one of %d", s.dims, space.Dims)
	}
	s.from = s.next
	return s, nil
}

func (s *setChange) put(v stores.Vector) error {
	if err := s.remove(v.Passage); err != nil {
		return err
	}
	_, err := s.tx.ExecContext(s.ctx, `INSERT INTO vector (key, owner, passage, data) VALUES (?, ?, ?, ?)`, s.key(s.next), s.id, v.Passage, packVector(v.Values))
	s.next++
	s.live++
	return err
}

func (s *setChange) remove(passage string) error {
	var key int64
	err := s.tx.QueryRowContext(s.ctx, `SELECT key FROM vector WHERE owner = ? AND passage = ?`, s.id, passage).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := s.tx.ExecContext(s.ctx, `DELETE FROM vector WHERE key = ?`, key); err != nil {
		return err
	}
	_, err = s.tx.ExecContext(s.ctx, `INSERT INTO vector (key, owner, gone) VALUES (?, ?, ?)`, s.key(s.next), s.id, key&(1<<numberBits-1))
	s.next++
	s.live--
	s.removals++
	return err
}

func (s *setChange) save() error {
	if s.next == s.from {
		return nil
	}
	if s.removals > s.live+manyRemovals {
		if _, err := s.tx.ExecContext(s.ctx, `DELETE FROM vector WHERE owner = ? AND passage IS NULL`, s.id); err != nil {
			return err
		}
		s.floor, s.removals = s.next, 0
	}
	_, err := s.tx.ExecContext(s.ctx, `UPDATE vector_set SET next = ?, live = ?, removals = ?, floor = ? WHERE id = ?`, s.next, s.live, s.removals, s.floor, s.id)
	return err
}

func (s *setRow) key(number int64) int64 { return s.id<<numberBits | number }

// packVector writes numbers of four bytes, the low one first.
func packVector(values []float32) []byte {
	out := make([]byte, 0, 4*len(values))
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// appendVector is the other way.
func appendVector(to []float32, data []byte) []float32 {
	for ; len(data) >= 4; data = data[4:] {
		to = append(to, math.Float32frombits(binary.LittleEndian.Uint32(data)))
	}
	return to
}
