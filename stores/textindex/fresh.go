package textindex

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"strata/internal/lexical"
)

// passagesQuery is for passages by their keys, from one up to another.
const passagesQuery = `SELECT key, length, terms FROM passage WHERE key >= ? AND key < ? ORDER BY key`

// eachPassage calls f with rows of passagesQuery and closes them. terms are
// valid within a call.
func eachPassage(rows *sql.Rows, f func(num int64, length byte, terms []byte)) error {
	defer rows.Close()
	for rows.Next() {
		var key int64
		var length int
		var terms sql.RawBytes
		if err := rows.Scan(&key, &length, &terms); err != nil {
			return err
		}
		f(key&(1<<numberBits-1), lexical.PackLength(length), terms)
	}
	return rows.Err()
}

// fresh holds, in memory, the postings of a tenant's passages that the file has
// none of. It is a copy of what passages say, made by whoever searches first
// after they were put, and never changed but for what follows.
type fresh struct {
	mu       sync.Mutex
	from, to int64     // numbers
	all      *postings // numbers from from on
	used     time.Time // guarded by freshes
}

// fresh returns the entries of q's terms that are not in the file yet.
func (x *Index) fresh(ctx context.Context, r *reader, t tenantRow, q question) ([]list, error) {
	if t.settled == t.next {
		return nil, nil
	}
	f := x.freshes.of(t.id, x.clock())
	buckets, err := f.read(ctx, r, t, q)
	if err != nil {
		return nil, err
	}
	var out []list
	for i, term := range q.Terms {
		l := list{term: i, block: t.settled / blockSize}
		var e entries
		for _, p := range buckets[i] {
			num := t.settled + int64(p.num)
			if num >= t.next { // came after the snapshot of r
				break
			}
			if p.hash != term.Hash {
				continue
			}
			if num/blockSize != l.block {
				out = l.appendTo(out, &e)
				l.block, e = num/blockSize, entries{}
			}
			e.add(int(num%blockSize), p.counts, p.length)
		}
		out = l.appendTo(out, &e)
	}
	return out, nil
}

func (l list) appendTo(out []list, e *entries) []list {
	if e.n == 0 {
		return out
	}
	l.n, l.data = e.n, e.data
	return append(out, l)
}

// read brings f up to what r sees and returns the buckets of q's terms. They
// are not changed any more, only added to.
func (f *fresh) read(ctx context.Context, r *reader, t tenantRow, q question) ([][]posting, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil || f.from != t.settled {
		f.from, f.to, f.all = t.settled, t.settled, &postings{}
	}
	if f.to < t.next {
		rows, err := r.passagesOf.QueryContext(ctx, t.key(f.to), t.key(t.next))
		if err != nil {
			return nil, err
		}
		err = eachPassage(rows, func(num int64, length byte, terms []byte) {
			f.all.add(uint32(num-f.from), length, terms)
			f.to = num + 1
		})
		if err != nil {
			return nil, err
		}
	}
	buckets := make([][]posting, len(q.Terms))
	for i, term := range q.Terms {
		buckets[i] = f.all[bucketOf(term.Hash)]
	}
	return buckets, nil
}

// freshes are those of the tenants that were asked for lately.
type freshes struct {
	mu       sync.Mutex
	byTenant map[int64]*fresh
}

func (k *freshes) of(tenant int64, now time.Time) *fresh {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.byTenant[tenant]
	if f == nil {
		f = &fresh{}
		k.byTenant[tenant] = f
	}
	f.used = now
	return f
}

// drop lets go of a tenant's; who reads it goes on with it.
func (k *freshes) drop(tenant int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.byTenant, tenant)
}

// letGo drops those that were not used since before.
func (k *freshes) letGo(before time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for tenant, f := range k.byTenant {
		if f.used.Before(before) {
			delete(k.byTenant, tenant)
		}
	}
}
