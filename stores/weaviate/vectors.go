package weaviate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/weaviate/weaviate/entities/models"

	"strata/stores"
)

// checkVector refuses what has no direction, or cannot be compared: the server
// would take a vector of zeros, and after one of a wrong size no right one.
func checkVector(values []float32, dims int) error {
	if dims > 0 && len(values) != dims {
		return fmt.Errorf("weaviate: a vector of %d dimensions in a space of %d", len(values), dims)
	}
	square := 0.0
	for _, v := range values {
		square += float64(v) * float64(v)
	}
	if !(square > 0.98 && square < 1.02) { // nor is what is no number
		return errors.New("weaviate: a vector that is not of length 1")
	}
	return nil
}

// PutVectors makes passages findable by their vectors in a space; when it
// returns, they are. What is there of a passage already is replaced, and of
// vectors of the same passage the last one counts. Vectors that are not of the
// space's size or of length 1 are refused, all of them. After another error some
// may have been put: put them all again.
func (x *Index) PutVectors(ctx context.Context, tenant string, space stores.Space, all []stores.Vector) error {
	if tenant == "" {
		return stores.ErrScope
	}
	name, err := vectorCollection(space.ID, space.Dims)
	if err != nil {
		return err
	}
	for _, v := range all {
		if err := checkVector(v.Values, space.Dims); err != nil {
			return fmt.Errorf("%w: passage %q", err, v.Passage)
		}
	}
	all, err = distinct(all, func(v stores.Vector) string { return v.Passage })
	if err != nil || len(all) == 0 {
		return err
	}
	if err := x.lay(ctx, space); err != nil {
		return err
	}
	at := place{name, x.tenant(tenant)}
	for part := range slices.Chunk(all, putBatch) {
		objects := make([]*models.Object, len(part))
		for i, v := range part {
			objects[i] = vectorObject(at, v)
		}
		if err := x.putObjects(ctx, at, objects); err != nil {
			return err
		}
	}
	return nil
}

// vectorObject is a vector as the server keeps it.
func vectorObject(at place, v stores.Vector) *models.Object {
	return &models.Object{
		Class: at.collection, Tenant: at.tenant, ID: objectID(v.Passage), Vector: v.Values,
		Properties: map[string]any{propPassage: v.Passage},
	}
}

// vectorSize is how many numbers the vectors of a space have that a tenant's
// are looked for in, 0 where none is known.
func (x *Index) vectorSize(tenant, space string) (int, error) {
	if tenant == "" {
		return 0, stores.ErrScope
	}
	marked, err := markedSpace(space)
	if err != nil {
		return 0, err
	}
	return x.spaces.size(marked), nil
}

// vectorPlace is where a tenant's vectors of that size are, nowhere where it is
// 0. Then it tells all the same when the server is away.
func (x *Index) vectorPlace(ctx context.Context, tenant, space string, dims int) (place, error) {
	if dims == 0 {
		_, done, err := x.begin(ctx, searchLimit)
		if err == nil {
			done()
		}
		return place{}, err
	}
	name, err := vectorCollection(space, dims)
	return place{name, x.tenant(tenant)}, err
}

// Nearest returns the limit passages of tenant whose vectors are nearest to
// vector in a space, nearest first. Score is the cosine. Of a large tenant some
// may be missed: the server looks along the links of a graph.
func (x *Index) Nearest(ctx context.Context, tenant, space string, vector []float32, limit int) ([]stores.Hit, error) {
	dims, err := x.vectorSize(tenant, space)
	if err != nil {
		return nil, err
	}
	if err := checkVector(vector, dims); err != nil || limit <= 0 {
		return nil, err
	}
	at, err := x.vectorPlace(ctx, tenant, space, dims)
	if err != nil || dims == 0 {
		return nil, err
	}
	return x.guarded(ctx, &x.byVector, owner{tenant: tenant, space: space}, at, func(ctx context.Context, at place) ([]stores.Hit, error) {
		return x.nearest(ctx, at, vector, min(limit, maxHits))
	})
}

func (x *Index) nearest(ctx context.Context, at place, vector []float32, limit int) ([]stores.Hit, error) {
	query := fmt.Appendf(nil, `{Get{%s(tenant:%s,limit:%d,nearVector:{vector:[`, at.collection, quote(at.tenant), limit)
	for i, v := range vector {
		if i > 0 {
			query = append(query, ',')
		}
		query = strconv.AppendFloat(query, float64(v), 'g', -1, 32)
	}
	query = fmt.Appendf(query, `]}){%s _additional{distance}}}}`, propPassage)
	var got foundAnswer
	if err := x.server.query(ctx, string(query), &got); err != nil {
		return nil, err
	}
	hits := make([]stores.Hit, len(got.Get[at.collection]))
	for i, f := range got.Get[at.collection] {
		if f.Additional.Distance == nil {
			return nil, fmt.Errorf("the server does not say how far passage %s is", f.Passage)
		}
		hits[i] = stores.Hit{ID: f.Passage, Score: 1 - *f.Additional.Distance}
	}
	slices.SortStableFunc(hits, func(a, b stores.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return hits, nil
}
