package assemble

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"strata/internal/tokens"
	"strata/policy"
	"strata/stores"
)

const (
	usualFacts = 6   // passages, where the plan does not say
	spare      = 4   // passages read beyond those, as some repeat each other
	maxRead    = 200 // passages read at a time, where few of them may be served
	maxQuery   = 3000
)

// depths are how many hits are asked for: the first number, and the further
// ones where the caller's groups leave too few of those.
var depths = [...]int{50, 400, 4000}

const (
	// restOfFloor is what the further passages must cover once the best one
	// covers the plan's floor: whether anything is on the subject shows at the
	// best, and what answers is often worded otherwise than the question. On
	// two judged sets this finds 2 to 4 % more than one floor for all, and a
	// question about something else still gets nothing.
	restOfFloor = 0.5
	// floorZH is the part of a floor that holds for Chinese, where covers are
	// lower: half of the right questions' best is above 0.41 and of foreign
	// ones' above 0.14, in English above 0.54 and 0.29.
	floorZH = 0.7
)

// found is a passage that may be served, and how well it fits.
type found struct {
	passage *stores.Passage
	cover   float64
}

type knowledgeRead struct {
	found []found  // best first
	under []string // ids of the best that do not cover enough of the query
}

// questions are what is searched for. A follow-up leans on the turn before and
// yet asks for something else ("and sick leave?"): it is searched for together
// with that turn, and alone.
func (w *walk) questions() []string {
	alone := strings.Clone(shorten(w.q.Words, maxQuery))
	if w.leans() {
		return []string{w.question(), alone}
	}
	return []string{alone}
}

// question is the first of questions. It may be part of the request.
func (w *walk) question() string {
	if w.leans() {
		return shorten(w.q.Words+"\n"+w.q.Before, maxQuery)
	}
	return shorten(w.q.Words, maxQuery)
}

func (w *walk) leans() bool { return w.q.FollowUp && w.q.Before != "" }

func (w *walk) floor() float64 {
	if w.language() == "zh" {
		return w.plan.Floor * floorZH
	}
	return w.plan.Floor
}

func (w *walk) knowledgeReader() func(context.Context) (knowledgeRead, error) {
	p, _ := w.layer(policy.LayerKnowledge)
	want := p.Items
	if want <= 0 {
		want = usualFacts
	}
	r := knowledgeReader{ledger: w.a.cfg.Ledger, index: w.a.cfg.Index, scope: w.q.Scope,
		queries: w.questions(), floor: w.floor(), want: want, seen: map[string]bool{}}
	return r.read
}

// knowledgeReader searches, and gets the texts by a statement that returns
// only what this caller may see today.
type knowledgeReader struct {
	ledger  Ledger
	index   Index
	scope   stores.Scope
	queries []string
	floor   float64
	want    int
	seen    map[string]bool
	lost    int // hits that may not be served
	knowledgeRead
}

func (r knowledgeReader) read(ctx context.Context) (knowledgeRead, error) {
	if err := r.gather(ctx); err != nil {
		return knowledgeRead{}, err
	}
	r.under = r.readable(ctx, r.under)
	if !slices.ContainsFunc(r.found, func(f found) bool { return f.cover >= r.floor }) {
		var ids []string
		for _, f := range r.found {
			ids = append(ids, f.passage.ID)
		}
		ids = append(ids, r.under...)
		r.found, r.under = nil, ids[:min(len(ids), maxSkipped)]
	}
	return r.knowledgeRead, nil
}

// gather reads what may be served and covers enough should it not be the best.
func (r *knowledgeReader) gather(ctx context.Context) error {
	for i, limit := range depths {
		hits, err := r.look(ctx, limit, i > 0)
		switch {
		case err != nil && len(r.found) > 0:
			return nil // no time to look deeper
		case err != nil:
			return err
		case len(r.found) >= r.want || r.lost == 0 || len(hits) < limit:
			return nil
		}
	}
	return nil
}

// look searches, and reads what the search before did not give. A deeper one
// ends early enough that what was found until then is in time.
func (r *knowledgeReader) look(ctx context.Context, limit int, deeper bool) ([]stores.Hit, error) {
	if until, ok := ctx.Deadline(); ok && deeper {
		bounded, cancel := context.WithTimeout(ctx, time.Until(until)*3/4)
		defer cancel()
		ctx = bounded
	}
	hits, err := r.search(ctx, limit)
	if err != nil {
		return nil, err
	}
	return hits, r.take(ctx, hits)
}

// search asks the index each question. Of several, each passage has the best
// of its covers, and the ranks decide together (reciprocal rank fusion), as
// scores of different questions cannot be compared.
func (r *knowledgeReader) search(ctx context.Context, limit int) ([]stores.Hit, error) {
	first, err := r.index.Search(ctx, r.scope.Tenant, r.queries[0], limit)
	if err != nil || len(r.queries) == 1 {
		return first, err
	}
	const damping = 60
	var fused []stores.Hit
	at := map[string]int{}
	add := func(hits []stores.Hit) {
		for rank, h := range hits {
			i, there := at[h.ID]
			if !there {
				i = len(fused)
				at[h.ID] = i
				fused = append(fused, stores.Hit{ID: h.ID})
			}
			fused[i].Score += 1 / float64(damping+rank)
			fused[i].Cover = max(fused[i].Cover, h.Cover)
		}
	}
	add(first)
	for _, q := range r.queries[1:] {
		more, err := r.index.Search(ctx, r.scope.Tenant, q, limit)
		if err != nil {
			return nil, err
		}
		add(more)
	}
	slices.SortStableFunc(fused, func(a, b stores.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return fused, nil
}

// take reads the texts of hits until there are enough, some at a time.
func (r *knowledgeReader) take(ctx context.Context, hits []stores.Hit) error {
	var fit []stores.Hit
	for _, h := range hits {
		switch {
		case r.seen[h.ID]:
		case h.Cover < r.floor*restOfFloor:
			if len(r.under) < maxSkipped {
				r.under = append(r.under, h.ID)
			}
		default:
			fit = append(fit, h)
		}
		r.seen[h.ID] = true
	}
	for n := r.want + spare; len(fit) > 0 && len(r.found) < r.want+spare; n = min(2*n, maxRead) {
		some := fit[:min(n, len(fit))]
		if err := r.join(ctx, some); err != nil {
			return err
		}
		fit = fit[len(some):]
	}
	return nil
}

func (r *knowledgeReader) join(ctx context.Context, hits []stores.Hit) error {
	ids := make([]string, len(hits))
	for i := range hits {
		ids[i] = hits[i].ID
	}
	passages, err := r.ledger.Passages(ctx, r.scope, ids)
	if err != nil {
		return err
	}
	r.lost += len(ids) - len(passages)
	for i := range passages {
		if at := slices.Index(ids, passages[i].ID); at >= 0 {
			r.found = append(r.found, found{&passages[i], hits[at].Cover})
		}
	}
	return nil
}

// readable are those of ids that this caller may see. A receipt names no
// others, not even as what did not fit.
func (r *knowledgeReader) readable(ctx context.Context, ids []string) (out []string) {
	if len(ids) == 0 {
		return nil
	}
	passages, err := r.ledger.Passages(ctx, r.scope, ids)
	if err != nil {
		return nil
	}
	for _, id := range ids {
		if slices.ContainsFunc(passages, func(p stores.Passage) bool { return p.ID == id }) {
			out = append(out, id)
		}
	}
	return out
}

// offerKnowledge offers passages in their rank, without those that the
// request holds already or that repeat a better one.
func (w *walk) offerKnowledge(p policy.LayerPlan) {
	want := p.Items
	if want <= 0 {
		want = usualFacts
	}
	o := offer{layer: policy.LayerKnowledge, share: p.Share}
	var prints []fingerprint
	for i := range w.found {
		f := &w.found[i]
		if w.q.Request != nil && w.q.Request(f.passage.Text) {
			w.skip(policy.LayerKnowledge, "visible", f.passage.ID)
			continue
		}
		fp := fingerprintOf(f.passage.Text)
		if slices.ContainsFunc(prints, fp.repeats) {
			w.skip(policy.LayerKnowledge, "duplicate", f.passage.ID)
			continue
		}
		if len(o.items) == want {
			w.skip(policy.LayerKnowledge, "budget", f.passage.ID)
			continue
		}
		prints = append(prints, fp)
		o.items = append(o.items, passageItem(f))
	}
	w.offers = append(w.offers, o)
}

func passageItem(f *found) item {
	p := f.passage
	n := p.Tokens
	if n <= 0 {
		n = tokens.Estimate(p.Text)
	}
	return item{id: p.ID, score: f.cover, passage: p, tokens: n + tokens.Estimate(p.Title) + tokens.Estimate(p.Heading) + passageTokens}
}

// fingerprint is what a text is compared by: digests of its runs of three
// words or characters, a quarter of them, and where those agree its numbers.
type fingerprint struct {
	runs []uint64 // sorted
	text string
}

const (
	sameText = 0.9 // share of a text's runs that another one holds too
	fewRuns  = 8   // below it all runs are compared
)

func fingerprintOf(text string) fingerprint {
	return fingerprint{runs: runsOf(text, 3), text: text}
}

// runsOf returns the runs whose digests have none of mask's bits.
func runsOf(text string, mask uint64) []uint64 {
	var a, b uint64
	words, runs := 0, make([]uint64, 0, len(text)/8+4)
	forWords(text, func(word uint64) {
		words++
		if run := mix(mix(a, b), word); words > 2 && run>>32&mask == 0 {
			runs = append(runs, run)
		}
		a, b = b, word
	})
	slices.Sort(runs)
	return slices.Compact(runs)
}

// repeats reports whether the text says hardly anything that the other one
// does not: a rule with another number is another rule.
func (fp fingerprint) repeats(other fingerprint) bool {
	if fp.text == other.text {
		return true
	}
	a, b := fp.runs, other.runs
	if len(a) < fewRuns {
		a, b = runsOf(fp.text, 0), runsOf(other.text, 0)
	}
	if len(a) == 0 || float64(shared(a, b)) < sameText*float64(len(a)) {
		return false
	}
	return subset(numbers(fp.text), numbers(other.text))
}

func shared(a, b []uint64) int {
	n := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			n, i, j = n+1, i+1, j+1
		}
	}
	return n
}

func subset(a, b []string) bool {
	for _, s := range a {
		if !slices.Contains(b, s) {
			return false
		}
	}
	return true
}

// forWords calls do with a digest of each word, and of each character of
// scripts that write no spaces.
func forWords(text string, do func(uint64)) {
	h := uint64(0)
	for _, r := range text {
		switch {
		case r < 0x80 && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9'):
			h = mix(h+1, uint64(r))
		case r >= 0x4E00 && r <= 0x9FFF || r >= 0x2E80 && unicode.IsLetter(r):
			if h != 0 {
				do(h)
				h = 0
			}
			do(mix(1, uint64(r)))
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			h = mix(h+1, uint64(unicode.ToLower(r)))
		case h != 0:
			do(h)
			h = 0
		}
	}
	if h != 0 {
		do(h)
	}
}

func mix(h, x uint64) uint64 {
	h = (h ^ x) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}
