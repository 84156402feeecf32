package assemble

import (
	"context"
	"slices"
	"strings"

	"strata/internal/terms"
	"strata/stores"
)

// probeHits is how many passages a probe looks at.
const probeHits = 5

// probed is what a probe tells of the best passage that may be served.
type probed struct {
	cover    float64
	distinct int
	title    bool
}

// Probe says how well the tenant's knowledge fits a query: the share of the
// query's rarity that the best servable passage covers, how many different
// telling terms of the query it holds, and whether its title or heading holds
// one of the rarest of them. ok is false when no answer came in time.
func (a *Assembler) Probe(ctx context.Context, scope stores.Scope, query string) (cover float64, distinct int, title, ok bool) {
	if a.cfg.Index == nil || strings.TrimSpace(query) == "" {
		return 0, 0, false, false
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Probe)
	defer cancel()
	query = strings.Clone(shorten(query, maxQuery))
	index, ledger := a.cfg.Index, a.cfg.Ledger
	p, err := start(ctx, a.knowledge, func(ctx context.Context) (probed, error) {
		hits, err := index.Search(ctx, scope.Tenant, query, probeHits)
		if err != nil || len(hits) == 0 {
			return probed{}, err
		}
		list, err := served(ctx, ledger, scope, hits)
		return fitOf(query, list), err
	})
	if err != nil {
		return 0, 0, false, false
	}
	o := p.wait(ctx)
	return o.value.cover, o.value.distinct, o.value.title, o.err == nil
}

// served are those of hits that may be served, in their order.
func served(ctx context.Context, ledger Ledger, scope stores.Scope, hits []stores.Hit) ([]found, error) {
	ids := make([]string, len(hits))
	for i := range hits {
		ids[i] = hits[i].ID
	}
	passages, err := ledger.Passages(ctx, scope, ids)
	if err != nil {
		return nil, err
	}
	var out []found
	for i := range passages {
		if at := slices.Index(ids, passages[i].ID); at >= 0 {
			out = append(out, found{passage: &passages[i], cover: hits[at].Cover})
		}
	}
	return out, nil
}

// fitOf looks at the passage that covers most.
func fitOf(query string, list []found) probed {
	question := topics(query)
	var best probed
	at := -1
	count := map[uint64]int{} // in how many of the passages a term is
	held := make([]map[uint64]bool, len(list))
	for i, f := range list {
		held[i] = map[uint64]bool{}
		hold(held[i], f.passage.Title+"\n"+f.passage.Heading+"\n"+f.passage.Text)
		for _, t := range question {
			if held[i][t.hash] {
				count[t.hash]++
			}
		}
		if at < 0 || f.cover > best.cover {
			at, best.cover = i, f.cover
		}
	}
	if at < 0 {
		return best
	}
	head := map[uint64]bool{}
	for _, t := range terms.Of(list[at].passage.Title + "\n" + list[at].passage.Heading) {
		head[digest(t)] = true
	}
	for _, t := range question {
		if t.weight < wordWeight || !held[at][t.hash] {
			continue
		}
		best.distinct++
		// What every passage found holds is common here, unless only one is.
		if head[t.hash] && (len(list) < 3 || 2*count[t.hash] <= len(list)+1) {
			best.title = true
		}
	}
	return best
}
