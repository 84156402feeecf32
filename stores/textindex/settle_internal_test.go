package textindex

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"strata/internal/lexical"
	"strata/stores"
)

func TestSettleTo(t *testing.T) {
	for _, c := range []struct {
		t    tenantRow
		idle bool
		to   int64
		due  bool
	}{
		{tenantRow{}, true, 0, false},
		{tenantRow{next: 5}, false, 0, false},
		{tenantRow{next: 5}, true, 5, true},
		{tenantRow{next: 5, settled: 5}, true, 0, false},
		{tenantRow{next: 5, settled: 5, gone: 1}, true, 5, true},
		{tenantRow{next: 5, settled: 5, gone: 1}, false, 0, false},
		{tenantRow{next: blockSize}, false, blockSize, true},
		{tenantRow{next: 3*blockSize + 1, settled: blockSize + 7}, false, 2 * blockSize, true},
		{tenantRow{next: 3*blockSize + 1, settled: 3 * blockSize}, false, 0, false},
		{tenantRow{next: 9, settled: 7, gone: blockSize}, false, 9, true},
	} {
		if to, due := c.t.settleTo(c.idle); to != c.to || due != c.due {
			t.Errorf("%+v idle=%v: %d, %v, want %d, %v", c.t, c.idle, to, due, c.to, c.due)
		}
	}
}

// What nobody has asked for in a while goes out of memory.
func TestFreshLetGo(t *testing.T) {
	now := time.Now()
	k := freshes{byTenant: map[int64]*fresh{}}
	old := k.of(1, now)
	k.of(2, now.Add(time.Minute))
	k.letGo(now.Add(time.Second))
	if len(k.byTenant) != 1 || k.of(1, now) == old {
		t.Errorf("%d are kept", len(k.byTenant))
	}
}

// When nobody writes for a while, all is settled.
func TestSettleWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, err := New(t.Context(), Config{Path: filepath.Join(t.TempDir(), "index.db")})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		left := func() (n int) {
			if err := x.db.QueryRow(`SELECT sum(next - settled) FROM tenant`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		putNumbers(t, x, 0, 3)
		time.Sleep(settleIdle / 2)
		putNumbers(t, x, 3, 5)
		time.Sleep(settleIdle * 3 / 4)
		if n := left(); n != 5 {
			t.Errorf("%d wait while there are writers", n)
		}
		time.Sleep(settleIdle / 2)
		synctest.Wait()
		if n := left(); n != 0 {
			t.Errorf("%d wait for ever", n)
		}
	})
}

// FuzzRow reads rows that anybody may have written.
func FuzzRow(f *testing.F) {
	e := entries{}
	e.add(3, 1, 40)
	e.add(900, 2, 41)
	f.Add(appendTerm(appendTerm(nil, 5, &e), 9, &e), []byte{3})
	f.Add([]byte{1, 2, 3}, []byte{})
	f.Fuzz(func(t *testing.T, data, gone []byte) {
		bits := make(bitmap, bitmapBytes)
		for i := range gone {
			bits.set(int(gone[i]) * 16)
		}
		merged, ok := merge(data, bits, []posting{{hash: 7, num: blockSize - 1, counts: 1, length: 2}})
		if !ok {
			return
		}
		again, ok := merge(merged, bits, nil)
		if !ok {
			t.Fatal("a merged row is not whole")
		}
		for row, last := again, int64(-1); len(row) > 0; {
			rest, n, entries, after, ok := nextTerm(row)
			if !ok || countGone(entries, bits) > 0 || n == 0 {
				t.Fatalf("row %x, n=%d", row, n)
			}
			_, row, last = last, after, rest
		}
	})
}

// unsettled is an index that makes no postings by itself.
func unsettled(t *testing.T) *Index {
	t.Helper()
	x, err := New(t.Context(), Config{Path: filepath.Join(t.TempDir(), "index.db")})
	if err != nil {
		t.Fatal(err)
	}
	x.stop()
	x.idle.Wait()
	t.Cleanup(func() { x.Close() })
	return x
}

func putNumbers(t *testing.T, x *Index, from, to int) {
	t.Helper()
	var all []stores.Passage
	for i := from; i < to; i++ {
		all = append(all, stores.Passage{ID: fmt.Sprint(i), Text: fmt.Sprintf("shared number%d", i)})
	}
	if err := x.Put(t.Context(), "T", all); err != nil {
		t.Fatal(err)
	}
}

// What waits for its postings may be of several blocks.
func TestFreshOfManyBlocks(t *testing.T) {
	x := unsettled(t)
	putNumbers(t, x, 0, 2*blockSize+10)
	for _, i := range []int{0, blockSize - 1, blockSize, 2*blockSize + 9} {
		hits, err := x.Search(t.Context(), "T", fmt.Sprint("number", i), 2)
		if err != nil || len(hits) != 1 || hits[0].ID != fmt.Sprint(i) {
			t.Errorf("%d: %v, %v", i, hits, err)
		}
	}
}

// A search counts what its snapshot shows, whatever others have read since.
func TestFreshOfASnapshot(t *testing.T) {
	x := unsettled(t)
	putNumbers(t, x, 0, 5)
	q := question{lexical.NewQuestion("shared")}
	err := x.read(t.Context(), func(r *reader) error {
		before, err := r.tenant(t.Context(), "T")
		if err != nil {
			return err
		}
		putNumbers(t, x, 5, 9)
		if hits, err := x.Search(t.Context(), "T", "shared", 20); err != nil || len(hits) != 9 {
			t.Errorf("%d hits, %v", len(hits), err)
		}
		lists, err := x.fresh(t.Context(), r, before, q)
		if err != nil || len(lists) != 1 || lists[0].n != 5 {
			t.Errorf("%+v, %v, want 5 entries", lists, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A count of what is gone that is wrong is put right.
func TestSettleEnds(t *testing.T) {
	x := unsettled(t)
	putNumbers(t, x, 0, 3)
	if _, err := x.db.Exec(`UPDATE tenant SET gone = 7`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := x.settleAll(ctx); err != nil {
		t.Fatal(err)
	}
	var gone int
	if err := x.db.QueryRow(`SELECT gone FROM tenant`).Scan(&gone); err != nil || gone != 0 {
		t.Errorf("%d gone, %v", gone, err)
	}
}
