package weaviate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"strata/stores"
)

// Missing returns those of the passages that have no vector in a space, in the
// order of ids.
func (x *Index) Missing(ctx context.Context, tenant, space string, ids []string) ([]string, error) {
	dims, err := x.vectorSize(tenant, space)
	if err != nil {
		return nil, err
	}
	at, err := x.vectorPlace(ctx, tenant, space, dims)
	if err != nil {
		return nil, err
	}
	if dims == 0 {
		return slices.Clone(ids), nil
	}
	var out []string
	for part := range slices.Chunk(ids, removeBatch) {
		hits, err := x.guarded(ctx, &x.byVector, at, func(ctx context.Context, at place) ([]stores.Hit, error) { return x.having(ctx, at, part) })
		if err != nil {
			return nil, err
		}
		there := make(map[string]bool, len(hits))
		for _, h := range hits {
			there[h.ID] = true
		}
		for _, id := range part {
			if !there[id] {
				out = append(out, id)
			}
		}
	}
	return out, nil
}

// having returns those of the passages that have a vector in a place.
func (x *Index) having(ctx context.Context, at place, ids []string) ([]stores.Hit, error) {
	objects := make([]string, len(ids))
	for i, id := range ids {
		objects[i] = quote(string(objectID(id)))
	}
	query := fmt.Sprintf(`{Get{%s(tenant:%s,limit:%d,where:{path:["id"],operator:ContainsAny,valueText:[%s]}){%s}}}`,
		at.collection, quote(at.tenant), len(ids), strings.Join(objects, ","), propPassage)
	var got foundAnswer
	if err := x.server.query(ctx, query, &got); err != nil {
		return nil, err
	}
	hits := make([]stores.Hit, len(got.Get[at.collection]))
	for i, f := range got.Get[at.collection] {
		hits[i].ID = f.Passage
	}
	return hits, nil
}
