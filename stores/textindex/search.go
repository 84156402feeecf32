package textindex

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"strata/internal/lexical"
	"strata/stores"
)

// maxHits is how many hits one search gives at most.
const maxHits = 4000

// Search returns the limit passages of tenant that fit query best, best first:
// BM25 over title, heading and text together. Only those are returned that
// hold a term of the query.
func (x *Index) Search(ctx context.Context, tenant, query string, limit int) ([]stores.Hit, error) {
	if tenant == "" {
		return nil, stores.ErrScope
	}
	q := question{lexical.NewQuestion(query)}
	if q.Question == nil || limit <= 0 {
		return nil, nil
	}
	var hits []stores.Hit
	err := x.read(ctx, func(r *reader) error {
		t, err := r.tenant(ctx, tenant)
		if err != nil || t.passages == 0 {
			return err
		}
		lists, err := r.settled(ctx, t, q)
		if err != nil {
			return err
		}
		fresh, err := x.fresh(ctx, r, t, q)
		if err != nil {
			return err
		}
		gone, err := r.gone(ctx, t)
		if err != nil {
			return err
		}
		lists = append(lists, fresh...)
		for _, l := range lists {
			q.Terms[l.term].DF += l.n
			if bits := gone[l.block]; bits != nil {
				q.Terms[l.term].DF -= countGone(l.data, bits)
			}
		}
		q.Weigh(t.passages)
		best, err := q.rank(lists, gone, t, min(limit, maxHits))
		if err != nil {
			return err
		}
		hits, err = r.name(ctx, t.id, best, q)
		return err
	})
	return hits, err
}

// question is a query that finds its passages in postings.
type question struct{ *lexical.Question }

// list is the entries of a term in a block.
type list struct {
	term  int // in question.Terms
	block int64
	n     int
	data  []byte
}

// found is a passage that may be among the best.
type found struct {
	num   int64
	score float32
	mask  lexical.Mask
}

// better orders by score, then by age.
func better(a, b found) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.num, b.num))
}

// rank scores block by block and returns the best limit passages in order,
// without those that are gone.
func (q question) rank(lists []list, gone map[int64]bitmap, t tenantRow, limit int) ([]found, error) {
	slices.SortFunc(lists, func(a, b list) int {
		return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.term, b.term))
	})
	scale := lexical.NewScale(float64(t.length) / float64(t.passages))
	best := newTop(limit)
	var page sheet
	for i := 0; i < len(lists); {
		block := lists[i].block
		for ; i < len(lists) && lists[i].block == block; i++ {
			term := q.Terms[lists[i].term]
			if term.Bit < 0 {
				continue
			}
			if !page.add(lists[i].data, float32(term.Weight), term.Bit, scale) {
				return nil, errBroken
			}
		}
		page.collect(best, block*blockSize, gone[block])
	}
	return best.sorted(), nil
}

// sheet sums up one block.
type sheet struct {
	score [blockSize]float32
	mask  [blockSize]lexical.Mask
}

// add scores a row of postings. It reports whether the row is whole.
func (s *sheet) add(data []byte, weight float32, bit int, scale *lexical.Scale) bool {
	part, bits := bit/64, uint64(1)<<(bit%64)
	for at := -1; len(data) > 0; {
		step, c, l, rest := next(data)
		at += step
		if step == 0 || at >= blockSize {
			return false
		}
		s.score[at] += scale.Score(weight, c, l)
		s.mask[at][part] |= bits
		data = rest
	}
	return true
}

// collect offers what the sheet holds to best and clears it.
func (s *sheet) collect(best *top, first int64, gone bitmap) {
	for at, score := range s.score {
		if score > best.floor && !gone.has(at) {
			best.offer(found{first + int64(at), score, s.mask[at]})
		}
	}
	*s = sheet{}
}

// top keeps the best of what it is offered, in the order of numbers.
type top struct {
	limit int
	kept  []found
	floor float32 // scores up to here cannot come in
}

func newTop(limit int) *top { return &top{limit: limit, kept: make([]found, 0, 2*limit)} }

func (t *top) offer(f found) {
	t.kept = append(t.kept, f)
	if len(t.kept) == 2*t.limit {
		t.cut()
	}
}

func (t *top) cut() {
	slices.SortFunc(t.kept, better)
	if len(t.kept) >= t.limit {
		t.kept = t.kept[:t.limit]
		t.floor = t.kept[t.limit-1].score
	}
}

func (t *top) sorted() []found {
	t.cut()
	return t.kept
}

// reader is a connection for searches with its statements.
type reader struct {
	conn *sql.Conn

	begin, end, tenantOf, postingsOf, passagesOf, goneOf, nameOf *sql.Stmt
}

func newReader(ctx context.Context, db *sql.DB) (*reader, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	r := &reader{conn: conn}
	for _, s := range []struct {
		to  **sql.Stmt
		sql string
	}{
		{&r.begin, `BEGIN`},
		{&r.end, `ROLLBACK`},
		{&r.tenantOf, tenantColumns + ` WHERE name = ?`},
		{&r.postingsOf, fmt.Sprintf(`SELECT p.key, p.data FROM json_each(?1) j CROSS JOIN posting p ON p.key >= j.value AND p.key < j.value + %d`, 1<<blockBits)},
		{&r.passagesOf, passagesQuery},
		{&r.goneOf, `SELECT block, bits FROM gone WHERE tenant = ?`},
		{&r.nameOf, `SELECT p.key, p.id FROM json_each(?1) j CROSS JOIN passage p ON p.key = j.value`},
	} {
		if *s.to, err = conn.PrepareContext(ctx, s.sql); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return r, nil
}

func (r *reader) close() {
	for _, s := range []*sql.Stmt{r.begin, r.end, r.tenantOf, r.postingsOf, r.passagesOf, r.goneOf, r.nameOf} {
		s.Close()
	}
	r.conn.Close()
}

// snapshot runs f on one state of the file.
func (r *reader) snapshot(ctx context.Context, f func() error) error {
	if _, err := r.begin.ExecContext(ctx); err != nil {
		return err
	}
	err := f()
	// The end of ctx must not leave the snapshot open.
	if _, e := r.end.ExecContext(context.WithoutCancel(ctx)); err == nil {
		err = e
	}
	return err
}

// tenant returns the row of a tenant, a zero one when it has none.
func (r *reader) tenant(ctx context.Context, tenant string) (t tenantRow, err error) {
	err = t.scan(r.tenantOf.QueryRowContext(ctx, tenantKey(tenant)))
	return t, err
}

// gone returns which passages of a tenant do not count, by block.
func (r *reader) gone(ctx context.Context, t tenantRow) (map[int64]bitmap, error) {
	if t.gone == 0 {
		return nil, nil
	}
	return readBits(r.goneOf.QueryContext(ctx, t.id))
}

// readBits reads rows of blocks and bits.
func readBits(rows *sql.Rows, err error) (map[int64]bitmap, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[int64]bitmap{}
	for rows.Next() {
		var block int64
		var bits []byte
		if err := rows.Scan(&block, &bits); err != nil {
			return nil, err
		}
		if len(bits) != bitmapBytes {
			return nil, errBroken
		}
		all[block] = bits
	}
	return all, rows.Err()
}

// settled reads the lists of q's terms from the rows of their buckets.
func (r *reader) settled(ctx context.Context, t tenantRow, q question) ([]list, error) {
	if t.settled == 0 {
		return nil, nil
	}
	inBucket := map[int64][]int{} // terms
	for i, term := range q.Terms {
		first := t.postingKey(bucketOf(term.Hash), 0)
		inBucket[first] = append(inBucket[first], i)
	}
	firsts, err := json.Marshal(slices.Sorted(maps.Keys(inBucket)))
	if err != nil {
		return nil, err
	}
	rows, err := r.postingsOf.QueryContext(ctx, string(firsts))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []list
	for rows.Next() {
		var key int64
		var data sql.RawBytes
		if err := rows.Scan(&key, &data); err != nil {
			return nil, err
		}
		block := key & (1<<blockBits - 1)
		var ok bool
		if out, ok = q.pick(out, inBucket[key-block], block, data); !ok {
			return nil, errBroken
		}
	}
	return out, rows.Err()
}

// pick adds to lists those of terms that are in a row. It reports whether the
// row is whole.
func (q question) pick(lists []list, terms []int, block int64, row []byte) ([]list, bool) {
	for len(row) > 0 {
		rest, n, data, after, ok := nextTerm(row)
		if !ok {
			return nil, false
		}
		for _, i := range terms {
			if q.Terms[i].Hash&restMask == rest {
				lists = append(lists, list{i, block, n, bytes.Clone(data)})
			}
		}
		row = after
	}
	return lists, true
}

// name turns numbers into ids.
func (r *reader) name(ctx context.Context, tenant int64, best []found, q question) ([]stores.Hit, error) {
	keys := make([]int64, len(best))
	place := make(map[int64]int, len(best))
	hits := make([]stores.Hit, len(best))
	for i, f := range best {
		keys[i] = tenant<<numberBits | f.num
		place[keys[i]] = i
		hits[i] = stores.Hit{Score: float64(f.score), Cover: q.Cover(f.mask), Named: q.Named(f.mask), Spread: q.Spread}
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	rows, err := r.nameOf.QueryContext(ctx, string(list))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key int64
		var id sql.RawBytes
		if err := rows.Scan(&key, &id); err != nil {
			return nil, err
		}
		hits[place[key]].ID = string(id)
	}
	return slices.DeleteFunc(hits, func(h stores.Hit) bool { return h.ID == "" }), rows.Err()
}
