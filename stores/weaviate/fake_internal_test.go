package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weaviate/weaviate/entities/models"

	"strata/stores"
)

// fake is a server that has the passages' collection and answers batches as it
// is told.
type fake struct {
	*httptest.Server
	batches atomic.Int64
	fails   func(batch int64, id string) string // why an object fails; "" = it does not
	noted   func()                              // called when a tenant is made
	marks   atomic.Int64                        // tenants that were made and not removed
	asked   func(r *http.Request, query string) // called before a question is answered, with nothing
}

func newFake(t *testing.T, version string) *fake {
	t.Helper()
	f := &fake{fails: func(int64, string) string { return "" }, asked: func(*http.Request, string) {}, noted: func() {}}
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/.well-known/ready", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v1/meta", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]string{"version": version}) })
	mux.HandleFunc("GET /v1/schema", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"classes": []any{passages(), vectors("StrataVectors_s1_2"), map[string]any{"class": "Somebodys", "vectorIndexConfig": "odd"}}})
	})
	mux.HandleFunc("GET /v1/schema/{class}/tenants", func(w http.ResponseWriter, _ *http.Request) { answer(w, []any{}) })
	mux.HandleFunc("POST /v1/schema/{class}/tenants", func(w http.ResponseWriter, _ *http.Request) {
		f.marks.Add(1)
		f.noted()
		answer(w, []any{})
	})
	mux.HandleFunc("DELETE /v1/schema/{class}/tenants", func(http.ResponseWriter, *http.Request) { f.marks.Add(-1) })
	mux.HandleFunc("POST /v1/batch/objects", func(w http.ResponseWriter, r *http.Request) {
		var sent struct{ Objects []*models.Object }
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		n := f.batches.Add(1)
		got := make([]models.ObjectsGetResponse, len(sent.Objects))
		for i, o := range sent.Objects {
			status := models.ObjectsGetResponseAO2ResultStatusSUCCESS
			got[i] = models.ObjectsGetResponse{Object: *o, Result: &models.ObjectsGetResponseAO2Result{Status: &status}}
			if why := f.fails(n, passageOf(o)); why != "" {
				failed := models.ObjectsGetResponseAO2ResultStatusFAILED
				got[i].Result.Status = &failed
				got[i].Result.Errors = &models.ErrorResponse{Error: []*models.ErrorResponseErrorItems0{{Message: why}}}
			}
		}
		answer(w, got)
	})
	mux.HandleFunc("POST /v1/graphql", func(w http.ResponseWriter, r *http.Request) {
		var sent models.GraphQLQuery
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		f.asked(r, sent.Query)
		count := map[string]any{"meta": map[string]int{"count": 0}}
		answer(w, map[string]any{"data": map[string]any{"Get": map[string]any{}, "Aggregate": map[string]any{collection: []any{count}}}})
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

// C102: a batch that is answered with 200 and failed objects inside has failed,
// for a reason and by the passages' names; all of it goes once more.
func TestFailedObjectsInAGoodAnswer(t *testing.T) {
	f := newFake(t, "1.35.2")
	f.fails = func(batch int64, id string) string {
		switch {
		case batch == 1 && id == "p7":
			return "store is read-only"
		case batch == 1 && id == "p93":
			return "vector lengths don't match"
		case batch == 3:
			return "disk full"
		}
		return ""
	}
	x, err := New(t.Context(), Config{URL: f.URL, Namespace: []byte("n")})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	all := make([]stores.Passage, 100)
	for i := range all {
		all[i] = stores.Passage{ID: fmt.Sprint("p", i), Text: "word"}
	}
	err = x.Put(t.Context(), "T", all)
	if err == nil {
		t.Fatal("98 of 100 are taken for all")
	}
	for _, want := range []string{"2 of 100", `"p7": store is read-only`, `"p93": vector lengths don't match`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
	if err := x.Put(t.Context(), "T", all); err != nil || f.batches.Load() != 2 {
		t.Errorf("once more: %v, %d batches", err, f.batches.Load())
	}
	// Where all fail, some are named.
	if err := x.Put(t.Context(), "T", all); err == nil || !strings.Contains(err.Error(), "100 of 100") || strings.Count(err.Error(), "disk full") != maxNamed {
		t.Errorf("%v", err)
	}
}

// A server that is too old for what is asked of it is an error of New.
func TestOldServer(t *testing.T) {
	for version, old := range map[string]bool{"1.29.9": true, "0.99": true, "": true, "next": true, "1.30.0": false, "2.0.0": false} {
		x, err := New(t.Context(), Config{URL: newFake(t, version).URL, Namespace: []byte("n")})
		if err == nil {
			_ = x.Close()
		}
		if errors.Is(err, errOld) != old || !old && err != nil {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// Vectors that hang cost a search by text nothing, and after some of them no
// longer time.
func TestOneWayHangs(t *testing.T) {
	f := newFake(t, "1.35.2")
	var hung atomic.Int64
	f.asked = func(r *http.Request, query string) {
		if strings.Contains(query, "nearVector") {
			hung.Add(1)
			<-r.Context().Done()
		}
	}
	x, err := New(t.Context(), Config{URL: f.URL, Namespace: []byte("n")})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for range breakAfter {
		ctx, cancel := context.WithTimeout(t.Context(), patience+50*time.Millisecond)
		if _, err := x.Nearest(ctx, "T", "s1", east, 5); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a search that hangs: %v", err)
		}
		cancel()
		if _, err := x.Search(t.Context(), "T", "word", 5); err != nil {
			t.Errorf("a search by text beside it: %v", err)
		}
	}
	if _, err := x.Nearest(t.Context(), "T", "s1", east, 5); !errors.Is(err, ErrUnavailable) || hung.Load() != breakAfter {
		t.Errorf("after %d that hung: %v", hung.Load(), err)
	}
	if _, err := x.Search(t.Context(), "T", "word", 5); err != nil {
		t.Errorf("a search by text after that: %v", err)
	}
}
