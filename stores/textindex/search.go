package textindex

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"strata/internal/lexical"
	"strata/stores"
)

// Ranking is BM25 with these weights, and those of the terms in lexical.
// They were fitted together on four sets of questions in two languages and
// checked on eight of other kinds; the figures are flat around each of them.
const (
	k1 = 1.2
	b  = 0.75
	// A term of title or heading counts as so many in the text.
	headWeight = 1.5
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
		rows, err := r.postings(ctx, t.id, q)
		if err != nil {
			return err
		}
		for _, row := range rows {
			q.Terms[row.term].DF += row.n
		}
		q.Weigh(t.passages)
		best, err := q.rank(rows, t, min(limit, maxHits))
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

// postings is one row of them.
type postings struct {
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

// rank scores block by block and returns the best limit passages in order.
func (q question) rank(rows []postings, t tenantRow, limit int) ([]found, error) {
	slices.SortFunc(rows, func(a, b postings) int {
		return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.term, b.term))
	})
	counts, lengths := scales(t)
	best := newTop(limit)
	var page sheet
	for i := 0; i < len(rows); {
		block := rows[i].block
		for ; i < len(rows) && rows[i].block == block; i++ {
			term := q.Terms[rows[i].term]
			if term.Bit < 0 {
				continue
			}
			if !page.add(rows[i].data, float32(term.Weight*(k1+1)), term.Bit, &counts, &lengths) {
				return nil, fmt.Errorf("%w: broken postings", stores.ErrUnreadable)
			}
		}
		page.collect(best, block*blockSize)
	}
	return best.sorted(), nil
}

// scales are the two parts of BM25 for each byte of counts and of length.
func scales(t tenantRow) (counts, lengths [256]float32) {
	average := max(1, float64(t.length)/float64(t.passages))
	for i := range 256 {
		counts[i] = float32(float64(i&15) + headWeight*float64(i>>4))
		lengths[i] = float32(k1 * (1 - b + b*unpackLength(byte(i))/average))
	}
	return counts, lengths
}

// sheet sums up one block.
type sheet struct {
	score [blockSize]float32
	mask  [blockSize]lexical.Mask
}

// add scores a row of postings. It reports whether the row is whole.
func (s *sheet) add(data []byte, weight float32, bit int, counts, lengths *[256]float32) bool {
	part, bits := bit/64, uint64(1)<<(bit%64)
	for at := -1; len(data) > 0; {
		step, c, l, rest := next(data)
		at += step
		if step == 0 || at >= blockSize {
			return false
		}
		tf := counts[c]
		s.score[at] += weight * tf / (tf + lengths[l])
		s.mask[at][part] |= bits
		data = rest
	}
	return true
}

// collect offers what the sheet holds to best and clears it.
func (s *sheet) collect(best *top, first int64) {
	for at, score := range s.score {
		if score > best.floor {
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
	conn                                     *sql.Conn
	begin, end, tenantOf, postingsOf, nameOf *sql.Stmt
}

const tenantQuery = `SELECT id, passages, length, next FROM tenant WHERE name = ?`

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
		{&r.tenantOf, tenantQuery},
		{&r.postingsOf, `SELECT p.term, p.block, p.n, p.data FROM json_each(?2) j CROSS JOIN posting p ON p.tenant = ?1 AND p.term = j.value`},
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
	for _, s := range []*sql.Stmt{r.begin, r.end, r.tenantOf, r.postingsOf, r.nameOf} {
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
	err = r.tenantOf.QueryRowContext(ctx, tenantKey(tenant)).Scan(&t.id, &t.passages, &t.length, &t.next)
	if errors.Is(err, sql.ErrNoRows) {
		return t, nil
	}
	return t, err
}

// postings reads the rows of q's terms.
func (r *reader) postings(ctx context.Context, tenant int64, q question) ([]postings, error) {
	hashes := make([]int64, len(q.Terms))
	for i, t := range q.Terms {
		hashes[i] = t.Hash
	}
	list, err := json.Marshal(hashes)
	if err != nil {
		return nil, err
	}
	rows, err := r.postingsOf.QueryContext(ctx, tenant, string(list))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []postings
	for rows.Next() {
		var p postings
		var term int64
		if err := rows.Scan(&term, &p.block, &p.n, &p.data); err != nil {
			return nil, err
		}
		p.term = q.Index(term)
		out = append(out, p)
	}
	return out, rows.Err()
}

// name turns numbers into ids.
func (r *reader) name(ctx context.Context, tenant int64, best []found, q question) ([]stores.Hit, error) {
	keys := make([]int64, len(best))
	place := make(map[int64]int, len(best))
	hits := make([]stores.Hit, len(best))
	for i, f := range best {
		keys[i] = tenant<<numberBits | f.num
		place[keys[i]] = i
		hits[i] = stores.Hit{Score: float64(f.score), Cover: q.Cover(f.mask)}
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
