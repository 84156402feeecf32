package textindex

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"strata/internal/pace"
)

// settleIdle is how long nothing is written before all that is left is settled.
// It must be longer than the pauses within an upload: what is settled in part
// is written again with what follows.
const settleIdle = 10 * time.Second

// settleTo returns up to which number passages are to be settled now, if any
// are. A block is settled when it is full, so that each row of postings is
// written once; all is settled when so many are gone that they slow searches
// down, or when there is time.
func (t tenantRow) settleTo(idle bool) (to int64, due bool) {
	full := (t.settled/blockSize + 1) * blockSize
	switch {
	case t.next >= full:
		return full, true
	case t.gone >= blockSize, idle && (t.settled < t.next || t.gone > 0):
		return t.next, true
	}
	return 0, false
}

// changed tells the settler of a tenant that has been written to. When it has
// too much to do it comes to that tenant after a later change, or when idle.
func (x *Index) changed(t tenantRow) {
	id := t.id
	if _, due := t.settleTo(false); !due {
		id = 0
	}
	select {
	case x.unsettled <- id:
	default:
	}
}

// settler makes postings beside those who write and read, until ctx ends.
func (x *Index) settler(ctx context.Context) {
	idle := time.NewTimer(settleIdle) // an earlier process may have left some
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case id := <-x.unsettled:
			idle.Reset(settleIdle)
			err = x.settle(ctx, id, false)
		case <-idle.C:
			err = x.settleAll(ctx)
		}
		if err != nil && ctx.Err() == nil {
			x.log.WarnContext(ctx, "index: postings are made later", "err", err)
		}
	}
}

// settleAll settles every tenant, as long as nobody else writes.
func (x *Index) settleAll(ctx context.Context) error {
	var ids []int64
	rows, err := x.vectors.QueryContext(ctx, `SELECT id FROM tenant WHERE settled < next OR gone > 0`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, id := range ids {
		if err := x.settle(ctx, id, true); err != nil || len(x.unsettled) > 0 {
			return err
		}
	}
	return nil
}

// settle does what is due for a tenant, a block at a time.
func (x *Index) settle(ctx context.Context, tenant int64, idle bool) error {
	for more := tenant != 0; more; {
		err := x.write(ctx, func(tx *sql.Tx) error {
			var t tenantRow
			if err := t.scan(tx.QueryRowContext(ctx, tenantColumns+` WHERE id = ?`, tenant)); err != nil {
				return err
			}
			var to int64
			if to, more = t.settleTo(idle); !more {
				return nil
			}
			return (&settling{ctx: ctx, tx: tx, tenant: t, to: to, touched: map[int64]*[bucketCount]bool{}}).run()
		}, nil)
		if err != nil {
			return err
		}
		x.freshes.drop(tenant)
	}
	return nil
}

// settling makes postings of the passages of a tenant from settled up to a
// number, which are in one block, and takes those out of passages below that
// number that are gone.
type settling struct {
	ctx     context.Context
	tx      *sql.Tx
	tenant  tenantRow
	to      int64
	gone    map[int64]bitmap             // by block, numbers below to
	nums    []int64                      // those of gone
	more    postings                     // of passages that have none
	touched map[int64]*[bucketCount]bool // by block
	pace    pace.Pace
}

func (s *settling) run() error {
	for _, step := range []func() error{s.readGone, s.readPassages, s.readRemoved, s.writeRows, s.forget} {
		if err := step(); err != nil {
			return err
		}
	}
	s.tenant.settled = s.to
	return s.tenant.save(s.ctx, s.tx)
}

// readGone reads which numbers are gone. Behind to, which ends a block or all,
// no block has numbers below it.
func (s *settling) readGone() (err error) {
	if s.tenant.gone == 0 {
		return nil
	}
	if s.gone, err = readBits(s.tx.QueryContext(s.ctx, `SELECT block, bits FROM gone WHERE tenant = ? AND block * ? < ?`, s.tenant.id, blockSize, s.to)); err != nil {
		return err
	}
	for block, bits := range s.gone {
		for at := range blockSize {
			if bits.has(at) {
				s.nums = append(s.nums, block*blockSize+int64(at))
			}
		}
	}
	return nil
}

// readPassages gathers the postings of passages that have none.
func (s *settling) readPassages() error {
	rows, err := s.tx.QueryContext(s.ctx, passagesQuery, s.tenant.key(s.tenant.settled), s.tenant.key(s.to))
	if err != nil {
		return err
	}
	block := s.tenant.settled / blockSize
	err = eachPassage(rows, func(num int64, length byte, terms []byte) {
		if at := num % blockSize; !s.gone[block].has(int(at)) {
			s.more.add(uint32(at), length, terms)
		}
		s.pace.Keep(s.ctx)
	})
	for bucket, more := range s.more {
		if len(more) > 0 {
			s.touch(block, bucket)
		}
	}
	return err
}

func (s *settling) touch(block int64, bucket int) {
	t := s.touched[block]
	if t == nil {
		t = &[bucketCount]bool{}
		s.touched[block] = t
	}
	t[bucket] = true
}

// readRemoved finds the rows that hold postings of what is gone.
func (s *settling) readRemoved() error {
	for _, num := range s.nums {
		if num >= s.tenant.settled { // never had any
			continue
		}
		var terms []byte
		if err := s.tx.QueryRowContext(s.ctx, `SELECT terms FROM passage WHERE key = ?`, s.tenant.key(num)).Scan(&terms); err != nil {
			return err
		}
		eachTerm(terms, func(hash int64, _ byte) { s.touch(num/blockSize, bucketOf(hash)) })
		s.pace.Keep(s.ctx)
	}
	return nil
}

// writeRows writes what has changed in the order in which it is kept.
func (s *settling) writeRows() error {
	w, err := newRowWriter(s.ctx, s.tx)
	if err != nil {
		return err
	}
	defer w.close()
	blocks := slices.Sorted(maps.Keys(s.touched))
	for bucket := range bucketCount {
		for _, block := range blocks {
			if !s.touched[block][bucket] {
				continue
			}
			var more []posting
			if block == s.tenant.settled/blockSize {
				more = s.more[bucket]
			}
			// Of a block that no passage is settled of there are no rows.
			before := block*blockSize < s.tenant.settled
			if err := w.change(s.tenant.postingKey(bucket, block), before, s.gone[block], more); err != nil {
				return err
			}
		}
		s.pace.Keep(s.ctx)
		if err := s.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// forget takes out the passages that are gone, and the marks of them.
func (s *settling) forget() error {
	if _, err := s.tx.ExecContext(s.ctx, `DELETE FROM gone WHERE tenant = ? AND block * ? < ?`, s.tenant.id, blockSize, s.to); err != nil {
		return err
	}
	for _, num := range s.nums {
		if _, err := s.tx.ExecContext(s.ctx, `DELETE FROM passage WHERE key = ?`, s.tenant.key(num)); err != nil {
			return err
		}
		s.pace.Keep(s.ctx)
	}
	s.tenant.gone -= len(s.nums)
	if s.to == s.tenant.next {
		s.tenant.gone = 0 // a count that was wrong would come up for ever
	}
	return nil
}

// rowWriter changes rows of postings.
type rowWriter struct {
	ctx            context.Context
	get, put, drop *sql.Stmt
}

func newRowWriter(ctx context.Context, tx *sql.Tx) (*rowWriter, error) {
	// Statements take microseconds; asking for the end of ctx at each of them
	// would cost more than they do.
	w := &rowWriter{ctx: context.WithoutCancel(ctx)}
	for _, s := range []struct {
		to  **sql.Stmt
		sql string
	}{
		{&w.get, `SELECT data FROM posting WHERE key = ?`},
		{&w.put, `INSERT OR REPLACE INTO posting (key, data) VALUES (?, ?)`},
		{&w.drop, `DELETE FROM posting WHERE key = ?`},
	} {
		var err error
		if *s.to, err = tx.PrepareContext(ctx, s.sql); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

func (w *rowWriter) close() {
	for _, s := range []*sql.Stmt{w.get, w.put, w.drop} {
		if s != nil {
			s.Close()
		}
	}
}

// change takes what is gone out of a row and puts more in. Without before
// there is no such row.
func (w *rowWriter) change(key int64, before bool, gone bitmap, more []posting) error {
	var had []byte
	if before {
		if err := w.get.QueryRowContext(w.ctx, key).Scan(&had); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	data, whole := merge(had, gone, more)
	if !whole {
		return errBroken
	}
	var err error
	switch {
	case len(data) > 0:
		_, err = w.put.ExecContext(w.ctx, key, data)
	case had != nil:
		_, err = w.drop.ExecContext(w.ctx, key)
	}
	return err
}
