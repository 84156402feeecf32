package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/weaviate/weaviate/entities/models"

	"strata/internal/lexical"
)

// The properties of a passage. Its id on the server is made of its own.
const (
	propPassage = "passage" // its id
	propWords   = "words"   // its terms with spaces between
	propSketch  = "sketch"  // its length, and how often it holds which terms, see sketch
)

// What the names of this package's collections begin with.
const (
	passagesPrefix = "StrataKnowledge"
	vectorsPrefix  = "StrataVectors_"
)

// collection is the name of the passages' collection. How they are cut and
// sketched is part of it, since an index made in another way is useless.
var collection = passagesPrefix + strings.Map(func(r rune) rune {
	if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
		return r
	}
	return -1
}, lexical.Version) + sketchForm

// passages is their collection. It holds no vectors: these have one of their
// own for each space, since the first one in a tenant fixes the size of all.
func passages() *models.Class {
	yes, no := true, false
	c := inTenants(collection, "Passages of Strata's documents. Can be deleted at any time: Strata fills it again.")
	c.VectorIndexConfig = map[string]any{"skip": true, "skipDefaultQuantization": true} // else the server logs an error
	c.InvertedIndexConfig = &models.InvertedIndexConfig{
		Bm25:      &models.BM25Config{K1: lexical.K1, B: lexical.B},
		Stopwords: &models.StopwordConfig{Preset: "none"},
	}
	c.Properties = []*models.Property{
		textProperty(propPassage, models.PropertyTokenizationField, &no),
		textProperty(propWords, models.PropertyTokenizationWhitespace, &yes),
		textProperty(propSketch, models.PropertyTokenizationField, &no),
	}
	return c
}

// vectors is the collection of a space's vectors. They are kept as they are:
// what a server packs them into by default would change the cosines.
func vectors(name string) *models.Class {
	no := false
	c := inTenants(name, "Vectors of the passages of Strata's documents. Can be deleted at any time: Strata fills it again.")
	c.VectorIndexConfig = map[string]any{"distance": "cosine", "skipDefaultQuantization": true}
	c.Properties = []*models.Property{textProperty(propPassage, models.PropertyTokenizationField, &no)}
	return c
}

func inTenants(name, description string) *models.Class {
	return &models.Class{
		Class: name, Description: description, Vectorizer: "none", VectorIndexType: "hnsw",
		MultiTenancyConfig: &models.MultiTenancyConfig{Enabled: true, AutoTenantCreation: true, AutoTenantActivation: true},
	}
}

func textProperty(name, tokenization string, indexed *bool) *models.Property {
	return &models.Property{Name: name, DataType: []string{"text"}, Tokenization: tokenization, IndexFilterable: indexed, IndexSearchable: indexed}
}

// form is how a collection on the server was made, as far as it matters here.
type form struct {
	MultiTenancyConfig  struct{ Enabled, AutoTenantCreation, AutoTenantActivation bool }
	InvertedIndexConfig struct{ UsingBlockMaxWAND bool } // unknown to the client's models
	VectorIndexConfig   struct{ Distance string }
	Properties          []struct{ Name, Tokenization string }
}

// errForm is that of a collection which bears one of our names and was made by
// somebody else, or changed.
var errForm = errors.New("weaviate: the collection is not as Strata makes it; delete it, and it is made and filled again")

// fits tells where a collection differs from the one that is wanted: without
// tenants, or with ids that are cut into words, what is one's own would be
// everybody's.
func (f *form) fits(want *models.Class) error {
	wrong := func(what string) error { return fmt.Errorf("%w: %s: %s", errForm, want.Class, what) }
	switch t := f.MultiTenancyConfig; {
	case !t.Enabled:
		return wrong("it has no tenants")
	case !t.AutoTenantCreation || !t.AutoTenantActivation:
		return wrong("its tenants are not made and woken by themselves")
	}
	for _, p := range want.Properties {
		i := slices.IndexFunc(f.Properties, func(have struct{ Name, Tokenization string }) bool { return have.Name == p.Name })
		if i < 0 || f.Properties[i].Tokenization != p.Tokenization {
			return wrong("its property " + p.Name + " is missing or cut in another way than by " + p.Tokenization)
		}
	}
	if c, ok := want.VectorIndexConfig.(map[string]any); ok && c["distance"] != nil && f.VectorIndexConfig.Distance != c["distance"] {
		return wrong("its distance is not the cosine")
	}
	return nil
}

// forms are the collections that bear our names.
func (s *server) forms(ctx context.Context) (map[string]*form, error) {
	var schema struct{ Classes []json.RawMessage }
	if _, err := s.get(ctx, "/schema", &schema); err != nil {
		return nil, err
	}
	ours := map[string]*form{}
	for _, c := range schema.Classes {
		var named struct{ Class string }
		if err := json.Unmarshal(c, &named); err != nil {
			return nil, fmt.Errorf("the server's schema is not understood: %w", err)
		}
		if !strings.HasPrefix(named.Class, passagesPrefix) && !strings.HasPrefix(named.Class, vectorsPrefix) {
			continue
		}
		ours[named.Class] = &form{}
		if err := json.Unmarshal(c, ours[named.Class]); err != nil {
			return nil, fmt.Errorf("the collection %s is not understood: %w", named.Class, err)
		}
	}
	return ours, nil
}

// form is that of one collection, nil where it is missing.
func (s *server) form(ctx context.Context, name string) (*form, error) {
	f := &form{}
	there, err := s.get(ctx, "/schema/"+name, f)
	if err != nil || !there {
		return nil, err
	}
	return f, nil
}

func (s *server) hasCollection(ctx context.Context, name string) (bool, error) {
	return s.get(ctx, "/schema/"+name, nil)
}

// hasTenant is false too where there is no such collection, which the server
// calls a mistake.
func (s *server) hasTenant(ctx context.Context, at place) (bool, error) {
	there, err := s.get(ctx, "/schema/"+at.collection+"/tenants/"+at.tenant, nil)
	if answered(err) {
		if has, failed := s.hasCollection(ctx, at.collection); failed == nil && !has {
			return false, nil
		}
	}
	return there, err
}

// get reads what is at a path and tells whether anything is. The client's own
// checks take every answer but 200 for a no, a refused key among them.
func (s *server) get(ctx context.Context, path string, result any) (bool, error) {
	r, err := s.con.RunREST(ctx, path, http.MethodGet, nil)
	switch {
	case err != nil:
		return false, told(err)
	case r.StatusCode == http.StatusNotFound:
		return false, nil
	case r.StatusCode != http.StatusOK:
		return false, toldStatus(r.StatusCode, r.Body)
	case result == nil:
		return true, nil
	}
	if err := json.Unmarshal(r.Body, result); err != nil {
		return true, fmt.Errorf("the server's answer is not understood: %w", err)
	}
	return true, nil
}

// createCollection makes a collection, or finds that somebody else just has, and tells how
// it was made.
func (s *server) createCollection(ctx context.Context, class *models.Class) (*form, error) {
	failed := told(s.schema.ClassCreator().WithClass(class).Do(ctx))
	f, err := s.form(ctx, class.Class)
	switch {
	case f == nil && failed != nil:
		return nil, failed
	case err != nil:
		return nil, err
	case f == nil:
		return nil, fmt.Errorf("the collection %s was made and is not there", class.Class)
	}
	return f, f.fits(class)
}

// dropCollection removes a collection; one that is not there is no error.
func (s *server) dropCollection(ctx context.Context, name string) error {
	return told(s.schema.ClassDeleter().WithClassName(name).Do(ctx))
}

// place is a tenant of a collection.
type place struct{ collection, tenant string }

// createTenant makes a tenant that is not there yet, outside of the server's
// memory.
func (s *server) createTenant(ctx context.Context, at place) error {
	tenant := models.Tenant{Name: at.tenant, ActivityStatus: models.TenantActivityStatusCOLD}
	return told(s.schema.TenantsCreator().WithClassName(at.collection).WithTenants(tenant).Do(ctx))
}

// dropTenants removes tenants; those that are not there are no error.
func (s *server) dropTenants(ctx context.Context, collection string, names ...string) error {
	return told(s.schema.TenantsDeleter().WithClassName(collection).WithTenants(names...).Do(ctx))
}

// tenants are those of a collection whose names begin with prefix.
func (s *server) tenants(ctx context.Context, collection, prefix string) (ours []models.Tenant, _ error) {
	all, err := s.schema.TenantsGetter().WithClassName(collection).Do(ctx)
	for _, t := range all {
		if strings.HasPrefix(t.Name, prefix) {
			ours = append(ours, t)
		}
	}
	return ours, told(err)
}

// isHot tells whether a tenant is in the server's memory, or will be with its
// first use since a restart.
func isHot(t models.Tenant) bool {
	return t.ActivityStatus == models.TenantActivityStatusHOT || t.ActivityStatus == models.TenantActivityStatusACTIVE
}

// coolTenants takes tenants out of memory; what is in them stays.
func (s *server) coolTenants(ctx context.Context, collection string, names []string) error {
	tenants := make([]models.Tenant, len(names))
	for i, name := range names {
		tenants[i] = models.Tenant{Name: name, ActivityStatus: models.TenantActivityStatusCOLD}
	}
	return told(s.schema.TenantsUpdater().WithClassName(collection).WithTenants(tenants...).Do(ctx))
}
