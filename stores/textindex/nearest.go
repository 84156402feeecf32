package textindex

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"strata/stores"
)

// Nearest returns the limit passages of tenant whose vectors in a space are
// nearest to one of length 1, best first, with the cosine as their score. Those
// that it does not compare by their numbers are too far away by their codes, so
// none is missed. The first question after
// a while reads a tenant's vectors from the file; that goes on when ctx ends,
// so that the next one finds them read.
func (x *Index) Nearest(ctx context.Context, tenant, space string, vector []float32, limit int) ([]stores.Hit, error) {
	if tenant == "" {
		return nil, stores.ErrScope
	}
	if err := checkVector(vector, len(vector)); err != nil {
		return nil, err
	}
	m, err := x.matrix(ctx, shelf{string(tenantKey(tenant)), space})
	if err != nil || m == nil || limit <= 0 || len(m.nums) == m.gone {
		return nil, err
	}
	if len(vector) != m.dims {
		return nil, fmt.Errorf("textindex: a vector of %d numbers in a space of %d", len(vector), m.dims)
	}
	return x.nameVectors(ctx, m.set, m.nearest(vector, min(limit, maxHits)))
}

// nameVectors turns numbers into hits. Those that are gone by now are left out.
func (x *Index) nameVectors(ctx context.Context, set int64, best []found) ([]stores.Hit, error) {
	keys := make([]int64, len(best))
	place := make(map[int64]int, len(best))
	hits := make([]stores.Hit, len(best))
	for i, f := range best {
		keys[i] = set<<numberBits | f.num
		place[keys[i]] = i
		hits[i].Score = float64(f.score)
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	err = x.query(ctx, func(scan func(...any) error) error {
		var key int64
		var id string
		err := scan(&key, &id)
		hits[place[key]].ID = id
		return err
	}, `SELECT v.key, v.passage FROM json_each(?1) j CROSS JOIN vector v ON v.key = j.value`, string(list))
	return slices.DeleteFunc(hits, func(h stores.Hit) bool { return h.ID == "" }), err
}

// query runs a statement on a connection for vectors and gives each row to
// collect. These have connections of their own: reading many vectors must not
// keep searches of text waiting.
func (x *Index) query(ctx context.Context, collect func(scan func(...any) error) error, statement string, args ...any) error {
	if x.closed.Load() {
		return stores.ErrClosed
	}
	rows, err := x.vectors.QueryContext(ctx, statement, args...)
	if err != nil {
		return x.failVectors(ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := collect(rows.Scan); err != nil {
			return x.failVectors(ctx, err)
		}
	}
	return x.failVectors(ctx, rows.Err())
}

// failVectors tells what went wrong first: the end of the index or of ctx is
// why a connection fails.
func (x *Index) failVectors(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case x.closed.Load():
		return stores.ErrClosed
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fail("read vectors", err)
}

// matrix is a set as it was when all before a number had been written. It does
// not change; what comes later makes another one that shares most of it.
type matrix struct {
	set    int64
	dims   int
	next   int64
	nums   []int64   // ascending but for the sign; below 0 = removed
	gone   int       // how many of these
	values []float32 // one after the other, dims each
	codes  codes
}

// bytes is the memory it takes.
func (m *matrix) bytes() int64 {
	return 4*int64(cap(m.values)) + 8*int64(cap(m.nums)) + m.codes.bytes()
}

// readMatrix brings m, which may be nil, up to date with the set in the file.
// It is nil when there is no set.
func readMatrix(ctx context.Context, db *sql.DB, at shelf, m *matrix, room func(bytes int64) error) (*matrix, error) {
	tx, err := db.BeginTx(ctx, nil) // a snapshot of both tables
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	var s setRow
	err = s.scan(tx.QueryRowContext(ctx, setColumns+` AND space = ?`, []byte(at.tenant), at.space).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if m != nil && m.set == s.id && m.next == s.next {
		return m, nil
	}
	if m == nil || m.set != s.id || m.next < s.floor || 2*m.gone > len(m.nums) {
		if err := room(s.live*vectorBytes(int64(s.dims)) + 4*int64(s.dims)); err != nil {
			return nil, err
		}
		m = &matrix{set: s.id, dims: s.dims, nums: make([]int64, 0, s.live), values: make([]float32, 0, s.live*int64(s.dims))}
	}
	return m.read(ctx, tx, s)
}

// read returns m with what the set has had since.
func (m *matrix) read(ctx context.Context, tx *sql.Tx, s setRow) (*matrix, error) {
	n := &matrix{set: m.set, dims: m.dims, next: s.next, gone: m.gone, values: m.values, codes: m.codes}
	// Those who read m see its numbers; its vectors stay where they are.
	n.nums = append(make([]int64, 0, cap(m.nums)), m.nums...)
	rows, err := tx.QueryContext(ctx, `SELECT key, gone, data FROM vector WHERE key >= ? AND key < ? ORDER BY key`, s.key(m.next), s.key(s.next))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key int64
		var gone sql.NullInt64
		var data sql.RawBytes
		if err := rows.Scan(&key, &gone, &data); err != nil {
			return nil, err
		}
		switch {
		case gone.Valid:
			n.remove(gone.Int64)
		case len(data) != 4*n.dims:
			return nil, fmt.Errorf("%w: broken vector", stores.ErrUnreadable)
		default:
			n.nums = append(n.nums, key&(1<<numberBits-1))
			n.values = appendVector(n.values, data)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	n.codes = m.codes.with(n.values, n.dims)
	return n, nil
}

// remove marks a number as gone; one that is not there was never read.
func (m *matrix) remove(num int64) {
	at, ok := slices.BinarySearchFunc(m.nums, num, func(a, b int64) int { return int(max(-1, min(1, abs(a)-b))) })
	if ok && m.nums[at] > 0 {
		m.nums[at] = -num // keeps its place in the order
		m.gone++
	}
}

func abs(n int64) int64 { return max(n, -n) }

// nearest finds the best limit. Codes tell how near each one can be; with the
// numbers of those that can be nearest, limit are known, and what cannot be
// nearer than the last of these need not be looked at.
func (m *matrix) nearest(vector []float32, limit int) []found {
	limit = min(limit, len(m.nums))
	bounds := m.bounds(vector)
	first, floor := newTop(limit), newTop(limit)
	first.floor, floor.floor = noCosine, noCosine
	for i, b := range bounds {
		if b > first.floor {
			first.offer(found{num: int64(i), score: b})
		}
	}
	for _, f := range first.sorted() {
		floor.offer(found{score: dot(vector, m.vector(int(f.num)))})
	}
	floor.cut()
	best := newTop(limit)
	var turn sync.Mutex
	inParts(len(bounds), func(from, to int) {
		some := m.nearestOf(from, to, bounds, vector, limit, floor.floor)
		turn.Lock()
		defer turn.Unlock()
		for _, f := range some.kept {
			best.offer(f)
		}
	})
	return best.sorted()
}

// noCosine is below that of any two vectors.
const noCosine = -2

// bounds tells of each vector how near it can be at most.
func (m *matrix) bounds(vector []float32) []float32 {
	bounds := make([]float32, len(m.nums))
	q, size := m.codes.ask(vector), codeWords(m.dims)
	inParts(len(bounds), func(from, to int) {
		for i := from; i < to; i++ {
			bounds[i] = noCosine
			if m.nums[i] > 0 {
				bounds[i] = q.bound(m.codes.words[i*size:(i+1)*size], &m.codes.marks[i])
			}
		}
	})
	return bounds
}

// nearestOf compares those from one place up to another that can be at floor or
// above it.
func (m *matrix) nearestOf(from, to int, bounds, vector []float32, limit int, floor float32) *top {
	best := newTop(min(limit, max(1, to-from)))
	best.floor = math.Nextafter32(floor, noCosine) // who is at it comes in
	for i := from; i < to; i++ {
		if bounds[i] <= best.floor { // false for what is not a number
			continue
		}
		if score := dot(vector, m.vector(i)); score > best.floor {
			best.offer(found{num: m.nums[i], score: score})
		}
	}
	return best
}

func (m *matrix) vector(i int) []float32 { return m.values[i*m.dims : (i+1)*m.dims] }

// dot is the sum of products. Eight sums side by side keep the processor busy.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for len(a) >= 8 && len(b) >= 8 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		s4 += a[4] * b[4]
		s5 += a[5] * b[5]
		s6 += a[6] * b[6]
		s7 += a[7] * b[7]
		a, b = a[8:], b[8:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3 + (s4 + s5 + s6 + s7)
}
