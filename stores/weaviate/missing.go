package weaviate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"strata/stores"
)

// ErrLost is that of searches in a tenant that is gone from the server, though
// it should be there. It is filled again.
var ErrLost = errors.New("weaviate: the tenant is gone from the server and is filled again")

// owner is whose passages are meant, or whose vectors in a space.
type owner struct {
	tenant, space string
	put           bool // something is about to be put there
}

// lost tells of a tenant that is not there, and reports whether it should be.
// While all is to be put again anyway, it is nothing new.
func (x *Index) lost(ctx context.Context, of owner, at place) bool {
	if x.rebuild.Load() || !x.told(ctx, of.tenant, of.space, of.put) {
		return false
	}
	x.rarity.forgetTenant(at.tenant)
	return true
}

// beforePut looks whether a tenant is there that passages are put in. The
// server makes one that is not by the put, and then nobody could tell that
// others are gone.
func (x *Index) beforePut(ctx context.Context, tenant string, at place) error {
	ctx, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	defer done()
	there, err := x.server.hasTenant(ctx, at)
	if err != nil {
		return x.failed("look for a tenant", err)
	}
	if !there {
		x.lost(ctx, owner{tenant, "", true}, at)
	}
	return nil
}

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
		hits, err := x.guarded(ctx, &x.byVector, owner{tenant, space, true}, at, func(ctx context.Context, at place) ([]stores.Hit, error) { return x.having(ctx, at, part) })
		if err != nil && !errors.Is(err, ErrLost) {
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
