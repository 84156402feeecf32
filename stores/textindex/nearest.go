package textindex

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"strata/stores"
)

// Nearest returns the limit passages of tenant whose vectors in a space are
// nearest to one of length 1, best first, with the cosine as their score. It
// compares with every one of them, so none is missed. The first question after
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
}

// bytes is the memory it takes.
func (m *matrix) bytes() int64 { return 4*int64(cap(m.values)) + 8*int64(cap(m.nums)) }

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
		if err := room(s.live * int64(4*s.dims+8)); err != nil {
			return nil, err
		}
		m = &matrix{set: s.id, dims: s.dims, nums: make([]int64, 0, s.live), values: make([]float32, 0, s.live*int64(s.dims))}
	}
	return m.read(ctx, tx, s)
}

// read returns m with what the set has had since.
func (m *matrix) read(ctx context.Context, tx *sql.Tx, s setRow) (*matrix, error) {
	n := &matrix{set: m.set, dims: m.dims, next: s.next, gone: m.gone, values: m.values}
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
	return n, rows.Err()
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

// part is how many vectors are worth a goroutine.
const part = 16 << 10

// nearest compares all, on several processors where there are many.
func (m *matrix) nearest(vector []float32, limit int) []found {
	workers := min(max(1, len(m.nums)/part), runtime.GOMAXPROCS(0))
	each := (len(m.nums) + workers - 1) / workers
	tops := make([]*top, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() { tops[w] = m.nearestOf(w*each, min((w+1)*each, len(m.nums)), vector, limit) })
	}
	group.Wait()
	best := tops[0]
	for _, t := range tops[1:] {
		for _, f := range t.kept {
			best.offer(f)
		}
	}
	return best.sorted()
}

// nearestOf compares those from one place up to another.
func (m *matrix) nearestOf(from, to int, vector []float32, limit int) *top {
	best := newTop(min(limit, max(1, to-from)))
	best.floor = -2 // below every cosine
	offer := func(i int, score float32) {
		if score > best.floor && m.nums[i] > 0 {
			best.offer(found{num: m.nums[i], score: score})
		}
	}
	i := from
	for ; i+4 <= to; i += 4 {
		for j, score := range fourDots(vector, m.values[i*m.dims:(i+4)*m.dims]) {
			offer(i+j, score)
		}
	}
	for ; i < to; i++ {
		offer(i, dot(vector, m.values[i*m.dims:(i+1)*m.dims]))
	}
	return best
}

// fourDots are the dots of a with four vectors of its size that stand one after
// the other: each number of a is loaded once for all of them.
func fourDots(a, four []float32) [4]float32 {
	n := len(a)
	v0, v1, v2, v3 := four[:n], four[n:][:n], four[2*n:][:n], four[3*n:][:n]
	var s0, s1, s2, s3, t0, t1, t2, t3 float32
	i := 0
	for ; i+1 < n; i += 2 {
		x, y := a[i], a[i+1]
		s0 += x * v0[i]
		t0 += y * v0[i+1]
		s1 += x * v1[i]
		t1 += y * v1[i+1]
		s2 += x * v2[i]
		t2 += y * v2[i+1]
		s3 += x * v3[i]
		t3 += y * v3[i+1]
	}
	if i < n {
		s0, s1, s2, s3 = s0+a[i]*v0[i], s1+a[i]*v1[i], s2+a[i]*v2[i], s3+a[i]*v3[i]
	}
	return [4]float32{s0 + t0, s1 + t1, s2 + t2, s3 + t3}
}

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
