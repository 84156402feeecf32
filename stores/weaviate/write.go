package weaviate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/filters"
	"github.com/weaviate/weaviate/entities/models"

	"strata/internal/lexical"
	"strata/stores"
)

const (
	// batchSize is how many passages one request puts, and how many ids one
	// request removes.
	putBatch    = 100
	removeBatch = 500
	// writeLimit is how long one request may take.
	writeLimit = 30 * time.Second
)

// Put makes passages findable; when it returns, they are. One whose id is
// there already is replaced. Of passages with the same id the last one counts.
// When it fails, some may have been put, also of those that the server calls
// failed: put them all again.
func (x *Index) Put(ctx context.Context, tenant string, passages []stores.Passage) error {
	if tenant == "" {
		return stores.ErrScope
	}
	last := make(map[string]int, len(passages))
	for i, p := range passages {
		if p.ID == "" {
			return errors.New("weaviate: a passage without id")
		}
		last[p.ID] = i
	}
	name := x.tenant(tenant)
	objects := make([]*models.Object, 0, putBatch)
	flush := func() error {
		err := x.putObjects(ctx, name, objects)
		objects = objects[:0]
		return err
	}
	for i, p := range passages {
		if last[p.ID] != i {
			continue
		}
		objects = append(objects, object(name, p))
		if len(objects) == putBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(objects) == 0 {
		return nil
	}
	return flush()
}

// object is a passage as the server keeps it. Title and heading are searched
// along with the text.
func object(tenant string, p stores.Passage) *models.Object {
	all := lexical.Cut(nil, p.Text)
	all = lexical.Cut(all, p.Title)
	all = lexical.Cut(all, p.Heading)
	var words strings.Builder
	for i, t := range all {
		if i > 0 {
			words.WriteByte(' ')
		}
		words.WriteString(t.Token())
	}
	return &models.Object{
		Class: collection, Tenant: tenant, ID: objectID(p.ID),
		Properties: map[string]any{propPassage: p.ID, propWords: words.String(), propSketch: newSketch(all)},
	}
}

// objectID is the same for the same passage each time, so that putting it again
// replaces it.
func objectID(passage string) strfmt.UUID {
	id := sha256.Sum256([]byte(passage))
	id[6] = id[6]&0x0f | 0x80 // version 8: made in a way of one's own
	id[8] = id[8]&0x3f | 0x80
	return strfmt.UUID(fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16]))
}

// putObjects puts one batch. A good answer may hold errors of single objects.
func (x *Index) putObjects(ctx context.Context, tenant string, objects []*models.Object) error {
	ctx, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	defer done()
	defer x.rarity.wrote(tenant, len(objects))
	x.tenants.touch(tenant, x.clock())
	got, err := x.server.batch.ObjectsBatcher().WithObjects(objects...).Do(ctx)
	if err != nil {
		return x.failed("put", told(err))
	}
	if len(got) != len(objects) {
		return fmt.Errorf("weaviate: put: the server answers for %d of %d passages", len(got), len(objects))
	}
	bad, first := 0, ""
	for _, o := range got {
		if o.Result == nil || o.Result.Errors == nil && (o.Result.Status == nil || *o.Result.Status == models.ObjectsGetResponseAO2ResultStatusSUCCESS) {
			continue
		}
		if bad++; bad == 1 && o.Result.Errors != nil {
			first = messages(o.Result.Errors)
		}
	}
	if bad > 0 {
		return x.failed("put", &answer{says: fmt.Sprintf("%d of %d passages failed, the first: %s", bad, len(objects), shorten(first))})
	}
	return nil
}

// Remove makes passages unfindable. Ids that are not there are no error.
func (x *Index) Remove(ctx context.Context, tenant string, ids []string) error {
	if tenant == "" {
		return stores.ErrScope
	}
	name := x.tenant(tenant)
	for part := range slices.Chunk(ids, removeBatch) {
		if err := x.removeObjects(ctx, name, part); err != nil {
			return err
		}
	}
	return nil
}

// removeObjects removes one batch. The server takes so many at a time, so it is
// asked until none is left.
func (x *Index) removeObjects(ctx context.Context, tenant string, ids []string) error {
	ctx, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	defer done()
	defer x.rarity.wrote(tenant, len(ids))
	x.tenants.touch(tenant, x.clock())
	objects := make([]string, len(ids))
	for i, id := range ids {
		objects[i] = string(objectID(id))
	}
	these := filters.Where().WithPath([]string{"id"}).WithOperator(filters.ContainsAny).WithValueText(objects...)
	for {
		r, err := x.server.batch.ObjectsBatchDeleter().WithClassName(collection).WithTenant(tenant).WithWhere(these).WithOutput("minimal").Do(ctx)
		switch {
		case err != nil && x.missing(ctx, tenant, told(err)):
			return nil
		case err != nil:
			return x.failed("remove", told(err))
		case r.Results == nil:
			return errors.New("weaviate: remove: the server does not say what it removed")
		case r.Results.Failed > 0:
			return x.failed("remove", &answer{says: fmt.Sprintf("%d of %d passages could not be removed", r.Results.Failed, r.Results.Matches)})
		case r.Results.Matches == 0:
			return nil
		}
	}
}

// missing tells whether the server answered with an error because it has no
// such tenant: nothing was ever put there.
func (x *Index) missing(ctx context.Context, tenant string, err error) bool {
	if !answered(err) {
		return false
	}
	there, err := x.server.hasTenant(ctx, tenant)
	if err != nil || there {
		return false
	}
	there, err = x.server.hasCollection(ctx)
	return err == nil && there
}

// DropTenant removes all that is kept of a tenant.
func (x *Index) DropTenant(ctx context.Context, tenant string) error {
	if tenant == "" {
		return stores.ErrScope
	}
	ctx, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	defer done()
	name := x.tenant(tenant)
	defer x.rarity.forgetTenant(name)
	if err := x.server.dropTenant(ctx, name); err != nil {
		return x.failed("drop a tenant", err)
	}
	x.tenants.drop(name)
	return nil
}
