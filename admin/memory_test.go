package admin_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"strata/admin"
	"strata/admin/admintest"
	"strata/stores"
)

// endless is a store with one document of many passages, which are made as they
// are read.
type endless struct {
	*admintest.Store
	passages int
	text     string
	read     func(first int)
}

func (e *endless) Document(context.Context, string, string) (stores.Document, []stores.Version, error) {
	return stores.Document{ID: "a", Version: 1, Passages: e.passages}, []stores.Version{{Version: 1, Passages: e.passages}}, nil
}

func (e *endless) DocumentPassages(_ context.Context, _, _ string, version, first int) (page []stores.Passage, err error) {
	e.read(first)
	for n := first; n < min(first+64, e.passages); n++ {
		page = append(page, stores.Passage{ID: fmt.Sprint("psg_", n), Version: version, Ordinal: n, Text: fmt.Sprint(n, e.text)})
	}
	return page, nil
}

// TestDocumentMemory reads a document of 64 MB and looks at what is in memory
// meanwhile.
func TestDocumentMemory(t *testing.T) {
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var most uint64
	e := &endless{Store: admintest.New(), passages: 32 << 10, text: strings.Repeat("x", 2<<10), read: func(first int) {
		if first%(4<<10) == 0 {
			most = max(most, inUse())
		}
	}}
	p := newPlane(t, func(c *admin.Config) { c.Documents = e })
	before := inUse()
	req, _ := http.NewRequest("GET", p.url+"/v1/documents/a", nil)
	req.Header.Set("Authorization", "Bearer t")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	size, err := io.Copy(io.Discard, resp.Body)
	if err != nil || size < 64<<20 {
		t.Errorf("%d bytes, %v", size, err)
	}
	if most == 0 || most > before+uint64(size)/2 { // what other tests left comes and goes
		t.Errorf("%d KB in use at most, %d KB before", most>>10, before>>10)
	}
}
