package weaviate

import (
	"context"
	"net/http"
	"strings"

	"github.com/weaviate/weaviate/entities/models"

	"strata/internal/lexical"
)

// The properties of a passage. Its id on the server is made of its own.
const (
	propPassage = "passage" // its id
	propWords   = "words"   // its terms with spaces between
	propSketch  = "sketch"  // which terms it holds, see sketch
)

// collection is the name of the passages' collection. How they are cut is part
// of it, since an index that was cut by another way is useless; so will be the
// embedder and its dimensions once there are vectors, whose size the first one
// fixes for ever.
var collection = "StrataKnowledge" + strings.Map(func(r rune) rune {
	if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
		return r
	}
	return -1
}, lexical.Version)

func (s *server) hasCollection(ctx context.Context) (bool, error) {
	return s.has(ctx, "/schema/"+collection)
}

func (s *server) hasTenant(ctx context.Context, name string) (bool, error) {
	return s.has(ctx, "/schema/"+collection+"/tenants/"+name)
}

// has tells whether something is in the schema. The client's own checks take
// every answer but 200 for a no, a refused key among them.
func (s *server) has(ctx context.Context, path string) (bool, error) {
	r, err := s.con.RunREST(ctx, path, http.MethodGet, nil)
	switch {
	case err != nil:
		return false, told(err)
	case r.StatusCode == http.StatusOK:
		return true, nil
	case r.StatusCode == http.StatusNotFound:
		return false, nil
	}
	return false, toldStatus(r.StatusCode, r.Body)
}

// losesPassages tells whether the collection is ranked in the way that loses
// passages, which the server decides when it makes one.
func (s *server) losesPassages(ctx context.Context) (bool, error) {
	r, err := s.con.RunREST(ctx, "/schema/"+collection, http.MethodGet, nil)
	if err != nil {
		return false, told(err)
	}
	if r.StatusCode != http.StatusOK {
		return false, toldStatus(r.StatusCode, r.Body)
	}
	var class struct {
		InvertedIndexConfig struct{ UsingBlockMaxWAND bool } // unknown to the client's models
	}
	err = r.DecodeBodyIntoTarget(&class)
	return class.InvertedIndexConfig.UsingBlockMaxWAND, told(err)
}

// createCollection makes the collection, or finds that somebody else just has.
func (s *server) createCollection(ctx context.Context) error {
	err := told(s.schema.ClassCreator().WithClass(passages()).Do(ctx))
	if err == nil {
		return nil
	}
	if there, e := s.hasCollection(ctx); e == nil && there {
		return nil
	}
	return err
}

// passages is the collection. It has no vectorizer and builds no index of
// vectors: whatever vectors come have a collection of their own, see
// collection.
func passages() *models.Class {
	yes, no := true, false
	text := []string{"text"}
	return &models.Class{
		Class:             collection,
		Description:       "Passages of Strata's documents. Can be deleted at any time: Strata fills it again.",
		Vectorizer:        "none",
		VectorIndexType:   "hnsw",
		VectorIndexConfig: map[string]any{"skip": true},
		MultiTenancyConfig: &models.MultiTenancyConfig{
			Enabled: true, AutoTenantCreation: true, AutoTenantActivation: true,
		},
		InvertedIndexConfig: &models.InvertedIndexConfig{
			Bm25:      &models.BM25Config{K1: k1, B: b},
			Stopwords: &models.StopwordConfig{Preset: "none"},
		},
		Properties: []*models.Property{
			{Name: propPassage, DataType: text, Tokenization: models.PropertyTokenizationField, IndexFilterable: &no, IndexSearchable: &no},
			{Name: propWords, DataType: text, Tokenization: models.PropertyTokenizationWhitespace, IndexFilterable: &yes, IndexSearchable: &yes},
			{Name: propSketch, DataType: text, Tokenization: models.PropertyTokenizationField, IndexFilterable: &no, IndexSearchable: &no},
		},
	}
}

// createTenant makes a tenant that is not there yet, in memory or not.
func (s *server) createTenant(ctx context.Context, name string, hot bool) error {
	status := models.TenantActivityStatusCOLD
	if hot {
		status = models.TenantActivityStatusHOT
	}
	return told(s.schema.TenantsCreator().WithClassName(collection).WithTenants(models.Tenant{Name: name, ActivityStatus: status}).Do(ctx))
}

func (s *server) dropTenant(ctx context.Context, name string) error {
	return told(s.schema.TenantsDeleter().WithClassName(collection).WithTenants(name).Do(ctx))
}

// hotTenants are the names of those in memory that begin with prefix.
func (s *server) hotTenants(ctx context.Context, prefix string) (names []string, err error) {
	all, err := s.schema.TenantsGetter().WithClassName(collection).Do(ctx)
	if err != nil {
		return nil, told(err)
	}
	for _, t := range all {
		hot := t.ActivityStatus == models.TenantActivityStatusHOT || t.ActivityStatus == models.TenantActivityStatusACTIVE
		if hot && strings.HasPrefix(t.Name, prefix) {
			names = append(names, t.Name)
		}
	}
	return names, nil
}

// coolTenants takes tenants out of memory; what is in them stays.
func (s *server) coolTenants(ctx context.Context, names []string) error {
	tenants := make([]models.Tenant, len(names))
	for i, name := range names {
		tenants[i] = models.Tenant{Name: name, ActivityStatus: models.TenantActivityStatusCOLD}
	}
	return told(s.schema.TenantsUpdater().WithClassName(collection).WithTenants(tenants...).Do(ctx))
}
