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
	passages, err := distinct(passages, func(p stores.Passage) string { return p.ID })
	if err != nil {
		return err
	}
	at := place{collection, x.tenant(tenant)}
	if len(passages) > 0 {
		if err := x.beforePut(ctx, tenant, at); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(passages, putBatch) {
		objects := make([]*models.Object, len(part))
		for i, p := range part {
			objects[i] = object(at, p)
		}
		err := x.putObjects(ctx, at, objects)
		x.rarity.wrote(at.tenant, len(part)) // some of it, where it failed
		if err != nil {
			return err
		}
	}
	return nil
}

// distinct are those of all whose id comes no more after them.
func distinct[T any](all []T, id func(T) string) ([]T, error) {
	last := make(map[string]int, len(all))
	for i, one := range all {
		if id(one) == "" {
			return nil, errors.New("weaviate: a passage without id")
		}
		last[id(one)] = i
	}
	out := make([]T, 0, len(last))
	for i, one := range all {
		if last[id(one)] == i {
			out = append(out, one)
		}
	}
	return out, nil
}

// object is a passage as the server keeps it. Title and heading are searched
// along with the text.
func object(at place, p stores.Passage) *models.Object {
	cut := lexical.NewPassage(p.Text, p.Title, p.Heading)
	var words strings.Builder
	for i, t := range cut.Cut {
		if i > 0 {
			words.WriteByte(' ')
		}
		words.WriteString(t.Token())
	}
	return &models.Object{
		Class: at.collection, Tenant: at.tenant, ID: objectID(p.ID),
		Properties: map[string]any{propPassage: p.ID, propWords: words.String(), propSketch: newSketch(cut)},
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
func (x *Index) putObjects(ctx context.Context, at place, objects []*models.Object) error {
	ctx, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	defer done()
	x.use(at)
	got, err := x.server.batch.ObjectsBatcher().WithObjects(objects...).Do(ctx)
	if err != nil {
		return x.failed("put", told(err))
	}
	if len(got) != len(objects) {
		return fmt.Errorf("weaviate: put: the server answers for %d of %d passages", len(got), len(objects))
	}
	if err := failures(objects, got); err != nil {
		return x.failed("put", err)
	}
	return nil
}

// maxNamed is how many passages of a batch that failed are named.
const maxNamed = 5

// failures says which objects of a batch failed and why, nil where none did.
func failures(objects []*models.Object, got []models.ObjectsGetResponse) error {
	var said []string
	bad := 0
	for i, o := range got {
		if o.Result == nil || o.Result.Errors == nil && (o.Result.Status == nil || *o.Result.Status == models.ObjectsGetResponseAO2ResultStatusSUCCESS) {
			continue
		}
		if bad++; bad > maxNamed {
			continue
		}
		at := slices.IndexFunc(objects, func(sent *models.Object) bool { return sent.ID == o.ID })
		if at < 0 {
			at = i
		}
		why := "it does not say why"
		if o.Result.Errors != nil {
			why = shorten(messages(o.Result.Errors))
		}
		said = append(said, fmt.Sprintf("%q: %s", passageOf(objects[at]), why))
	}
	if bad == 0 {
		return nil
	}
	return &answer{says: fmt.Sprintf("%d of %d passages failed: %s", bad, len(objects), strings.Join(said, "; "))}
}

// passageOf is the id of the passage that an object is of.
func passageOf(o *models.Object) string {
	properties, _ := o.Properties.(map[string]any)
	id, _ := properties[propPassage].(string)
	return id
}

// Remove makes passages unfindable, by their texts and by their vectors in all
// spaces. Ids that are not there are no error.
func (x *Index) Remove(ctx context.Context, tenant string, ids []string) error {
	if tenant == "" {
		return stores.ErrScope
	}
	name := x.tenant(tenant)
	for part := range slices.Chunk(ids, removeBatch) {
		for _, c := range append(x.spaces.names(), collection) {
			if err := x.removeObjects(ctx, place{c, name}, part); err != nil {
				return err
			}
		}
		x.rarity.wrote(name, len(part))
	}
	return nil
}

// removeObjects removes one batch. The server takes so many at a time, so it is
// asked until none is left.
func (x *Index) removeObjects(ctx context.Context, at place, ids []string) error {
	ctx, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	defer done()
	x.use(at)
	objects := make([]string, len(ids))
	for i, id := range ids {
		objects[i] = string(objectID(id))
	}
	these := filters.Where().WithPath([]string{"id"}).WithOperator(filters.ContainsAny).WithValueText(objects...)
	for {
		r, err := x.server.batch.ObjectsBatchDeleter().WithClassName(at.collection).WithTenant(at.tenant).WithWhere(these).WithOutput("minimal").Do(ctx)
		switch {
		case err != nil && x.missing(ctx, at, told(err)):
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
// such tenant: nothing was ever put there. Where the whole collection is gone
// something is wrong, and is looked at; of vectors there are none then.
func (x *Index) missing(ctx context.Context, at place, err error) bool {
	if !answered(err) {
		return false
	}
	there, err := x.server.hasTenant(ctx, at)
	if err != nil || there {
		return false
	}
	x.tenants.drop(at)
	there, err = x.server.hasCollection(ctx, at.collection)
	if err == nil && !there {
		x.suspect()
	}
	return err == nil && (there || at.collection != collection)
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
	for _, c := range append(x.spaces.names(), collection) {
		at := place{c, name}
		if err := x.server.dropTenants(ctx, c, name); err != nil && !x.missing(ctx, at, err) {
			return x.failed("drop a tenant", err)
		}
		x.tenants.drop(at)
	}
	return nil
}
