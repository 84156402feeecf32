package weaviate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"strata/internal/lexical"
)

// How many passages hold a term decides what it is worth, and the server does
// not say it: counting what a filter lets through takes it 30 ms for a usual
// word of 10,000 passages. So it is estimated from a sample of the tenant's
// passages, which is kept. Their ids on the server are digests, so the first
// ones in the order of ids are a fair sample; of a small tenant it is all.
const (
	samplePage = 500
	samplePart = 8 // pages at most
	// sampleFor is how long a sample is used. What is written meanwhile by this
	// process counts at once for a small tenant, and once it is a tenth of a
	// large one.
	sampleFor = 10 * time.Minute
	// maxMarks is how many terms all samples may have together; one takes
	// about 20 bytes.
	maxMarks = 2 << 20
)

// sample is how many of some passages hold each term. It is not changed once
// it can be seen by others.
type sample struct {
	passages int // of the tenant
	read     int // of these, in the sample
	marks    map[uint32]int32
	length   float64 // terms of all that were read
	next     string  // where the reading ended; "" = all were read
	since    time.Time
}

// rarity keeps the samples.
type rarity struct {
	clock func() time.Time

	mu      sync.Mutex
	tenants map[string]*entry
	marks   int
}

type entry struct {
	sample  *sample // nil: none was read, or it is forgotten
	changed int     // writes since
	epoch   int     // counts forgotten ones, so that a reading that began before is not kept
	growing bool
	used    time.Time
}

func (r *rarity) entry(tenant string) *entry {
	e := r.tenants[tenant]
	if e == nil {
		if r.tenants == nil {
			r.tenants = map[string]*entry{}
		}
		e = &entry{}
		r.tenants[tenant] = e
	}
	return e
}

// wrote notes that passages of a tenant were put or removed.
func (r *rarity) wrote(tenant string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.tenants[tenant]
	if e == nil {
		return
	}
	e.changed += n
	if e.sample == nil || e.sample.passages <= samplePage || e.changed*10 > e.sample.passages {
		r.drop(e)
	}
}

// forgetTenant forgets what is known of a tenant.
func (r *rarity) forgetTenant(tenant string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.tenants[tenant]; e != nil {
		r.drop(e)
	}
}

func (r *rarity) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.tenants {
		r.drop(e)
	}
}

func (r *rarity) drop(e *entry) {
	if e.sample != nil {
		r.marks -= len(e.sample.marks)
	}
	e.sample, e.changed = nil, 0
	e.epoch++
}

// at returns a tenant's sample, nil when there is none, and whether the caller
// is to read more of it.
func (r *rarity) at(tenant string) (s *sample, epoch int, grow bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entry(tenant)
	now := r.clock()
	e.used = now
	if e.sample != nil && now.Sub(e.sample.since) > sampleFor {
		r.drop(e)
	}
	grow = e.sample != nil && !e.growing && e.sample.next != "" && e.sample.read < samplePage*samplePart
	e.growing = e.growing || grow
	return e.sample, e.epoch, grow
}

// peek is at without a use.
func (r *rarity) peek(tenant string) *sample {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.tenants[tenant]
	if e == nil || e.sample == nil {
		return nil
	}
	return e.sample
}

// keep keeps what was read for epoch, and drops what was not used for longest
// where that is too much.
func (r *rarity) keep(tenant string, epoch int, s *sample, grown bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entry(tenant)
	if grown {
		e.growing = false
	}
	if e.epoch != epoch || s == nil || e.sample != nil && e.sample.read > s.read {
		return
	}
	if e.sample != nil {
		r.marks -= len(e.sample.marks)
	}
	e.sample = s
	r.marks += len(s.marks)
	for r.marks > maxMarks {
		var oldest *entry
		name := ""
		for n, o := range r.tenants {
			if o != e && o.sample != nil && (oldest == nil || o.used.Before(oldest.used)) {
				oldest, name = o, n
			}
		}
		if oldest == nil {
			return
		}
		r.drop(oldest)
		if !oldest.growing {
			delete(r.tenants, name)
		}
	}
}

// sampleOf returns a tenant's sample. Where there is none it reads one page of
// it, and the rest beside what is asked later.
func (x *Index) sampleOf(ctx context.Context, tenant string) (*sample, error) {
	s, epoch, grow := x.rarity.at(tenant)
	if grow {
		x.grow(tenant, epoch, s)
	}
	if s != nil {
		return s, nil
	}
	n, err := x.count(ctx, tenant)
	if err != nil {
		return nil, err
	}
	s, err = x.readPage(ctx, tenant, &sample{passages: n, since: x.clock()})
	if err != nil {
		return nil, err
	}
	x.rarity.keep(tenant, epoch, s, false)
	return s, nil
}

// grow reads more of a sample, out of sight. What fails is tried again with a
// later question.
func (x *Index) grow(tenant string, epoch int, s *sample) {
	x.calls.Add(1) // within a call, so that Close waits
	go func() {
		defer x.calls.Done()
		ctx, cancel := context.WithTimeout(x.background, searchLimit)
		defer cancel()
		for s.next != "" && s.read < samplePage*samplePart && !x.closed.Load() {
			more, err := x.readPage(ctx, tenant, s)
			if err != nil {
				x.log.Debug("a sample of passages could not be read", "error", err)
				break
			}
			s = more
		}
		x.rarity.keep(tenant, epoch, s, true)
	}()
}

// readPage returns the sample with one more page.
func (x *Index) readPage(ctx context.Context, tenant string, s *sample) (*sample, error) {
	query := fmt.Sprintf(`{Get{%s(tenant:%s,limit:%d,after:%s){%s _additional{id}}}}`, collection, quote(tenant), samplePage, quote(s.next), propSketch)
	var got foundAnswer
	if err := x.server.query(ctx, query, &got); err != nil {
		return nil, err
	}
	page := got.Get[collection]
	more := &sample{passages: s.passages, read: s.read + len(page), length: s.length, since: s.since, marks: make(map[uint32]int32, len(s.marks)+len(page)*8)}
	for mark, n := range s.marks {
		more.marks[mark] = n
	}
	for _, f := range page {
		holds, err := readSketch(f.Sketch)
		if err != nil {
			return nil, fmt.Errorf("a sketch is broken: %w", err)
		}
		for m := range holds.marks {
			more.marks[m.hash]++
		}
		more.length += lexical.UnpackLength(holds.length)
	}
	more.passages = max(more.passages, more.read)
	if len(page) == samplePage {
		more.next = page[len(page)-1].Additional.ID
	} else {
		more.passages = more.read
	}
	return more, nil
}

// common tells that a term is in too many passages to tell much. A small sample
// knows of none, nor does one that is not there.
func (s *sample) common(hash int64) bool {
	return s != nil && s.read >= samplePage && int(s.marks[uint32(hash&sketchMask)])*commonIn > s.read
}

// scale is for passages of the sample's average length.
func (s *sample) scale() *lexical.Scale { return lexical.NewScale(s.length / float64(max(1, s.read))) }

// weigh tells a question how rare its terms are. A term that no passage of the
// sample holds is in as many as were found.
func (s *sample) weigh(q *lexical.Question, hits []candidate) {
	for i := range q.Terms {
		t := &q.Terms[i]
		t.DF = int(s.marks[uint32(t.Hash&sketchMask)])
		if s.read < s.passages {
			t.DF = t.DF * s.passages / s.read
		}
		if t.DF > 0 {
			continue
		}
		for _, h := range hits {
			if h.holds.counts(t.Hash) != 0 {
				t.DF++
			}
		}
	}
	q.Weigh(s.passages)
}
