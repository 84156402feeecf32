package weaviate

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weaviate/weaviate/entities/models"

	"strata/stores"
)

// vectorCollection is the name of the collection of a space's vectors. The
// server does not tell names apart by their letters' case, so capitals are
// marked. The size is part of it: the first vector in a tenant fixes that of
// all for ever, and one of another size must not get there.
func vectorCollection(space string, dims int) (string, error) {
	marked, err := markedSpace(space)
	if err == nil && dims <= 0 {
		err = fmt.Errorf("weaviate: the space %s has %d dimensions", space, dims)
	}
	return vectorsPrefix + marked + "_" + strconv.Itoa(dims), err
}

const maxSpaceID = 16

func markedSpace(space string) (string, error) {
	var marked strings.Builder
	for _, c := range []byte(space) {
		switch {
		case c >= 'A' && c <= 'Z':
			marked.WriteByte('_')
			marked.WriteByte(c - 'A' + 'a')
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			marked.WriteByte(c)
		default:
			return "", fmt.Errorf("weaviate: the space %q: an id is letters and digits", space)
		}
	}
	if space == "" || len(space) > maxSpaceID {
		return "", fmt.Errorf("weaviate: the space %q: an id has 1 to %d letters and digits", space, maxSpaceID)
	}
	return marked.String(), nil
}

// spaceOf takes a name apart that vectorCollection has made.
func spaceOf(name string) (marked string, dims int, ok bool) {
	rest, ok := strings.CutPrefix(name, vectorsPrefix)
	i := strings.LastIndexByte(rest, '_')
	if !ok || i < 1 {
		return "", 0, false
	}
	dims, err := strconv.Atoi(rest[i+1:])
	return rest[:i], dims, err == nil && dims > 0
}

// spaces are those that have a collection of vectors on the server.
type spaces struct {
	laying sync.Mutex // held while collections are listed, made or dropped

	mu    sync.Mutex
	dims  map[string]int  // by marked id
	noted map[string]bool // collections of which is noted that this ledger has vectors there
}

// set notes which collections there are.
func (s *spaces) set(names iter.Seq[string]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dims = map[string]int{}
	for name := range names {
		if marked, dims, ok := spaceOf(name); ok {
			s.dims[marked] = dims
		}
	}
}

// note keeps of which collections is noted that this ledger has vectors there.
func (s *spaces) note(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noted = make(map[string]bool, len(names))
	for _, name := range names {
		s.noted[name] = true
	}
}

func (s *spaces) isNoted(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noted[name]
}

// add takes a collection in that was made and noted.
func (s *spaces) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dims == nil {
		s.dims = map[string]int{}
	}
	if s.noted == nil {
		s.noted = map[string]bool{}
	}
	marked, dims, _ := spaceOf(name)
	s.dims[marked], s.noted[name] = dims, true
}

// leave forgets that this ledger has vectors in a collection.
func (s *spaces) leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.noted, name)
}

// forget takes a collection out that is gone.
func (s *spaces) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if marked, _, ok := spaceOf(name); ok {
		delete(s.dims, marked)
	}
}

// size is how many dimensions a space has; 0 = it has no collection.
func (s *spaces) size(marked string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dims[marked]
}

// names are those of the collections, in order.
func (s *spaces) names() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, marked := range slices.Sorted(maps.Keys(s.dims)) {
		names = append(names, vectorsPrefix+marked+"_"+strconv.Itoa(s.dims[marked]))
	}
	return names
}

// lay makes the collection of a space where there is none, and notes that this
// ledger has vectors there: in that collection, and then beside the passages.
func (x *Index) lay(ctx context.Context, space stores.Space) error {
	ctx, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	defer done()
	name, err := vectorCollection(space.ID, space.Dims)
	if err != nil || x.spaces.isNoted(name) {
		return err
	}
	x.spaces.laying.Lock()
	defer x.spaces.laying.Unlock()
	marked, _, _ := spaceOf(name)
	if dims := x.spaces.size(marked); dims != 0 && dims != space.Dims {
		return fmt.Errorf("weaviate: the space %s has vectors of %d dimensions and is to take some of %d", space.ID, dims, space.Dims)
	}
	f, err := x.server.form(ctx, name)
	if err == nil && f == nil {
		_, err = x.server.createCollection(ctx, vectors(name))
	} else if err == nil {
		err = f.fits(vectors(name))
	}
	for _, note := range []place{{name, x.mark()}, {collection, x.vectorsNote(name)}} {
		if err == nil {
			err = x.server.createTenant(ctx, note)
		}
	}
	if err != nil {
		return x.failed("make the collection of a space", err)
	}
	x.spaces.add(name)
	return nil
}

// KeepSpace removes this ledger's vectors of every other space than id; "" =
// of all. A collection that is left without tenants is removed.
func (x *Index) KeepSpace(ctx context.Context, id string) error {
	keep := ""
	if id != "" {
		var err error
		if keep, err = markedSpace(id); err != nil {
			return err
		}
	}
	meant := func(name string) bool {
		marked, _, ok := spaceOf(name)
		return ok && marked != keep
	}
	if err := x.leave(ctx, meant); err != nil {
		return err
	}
	return x.clear(ctx, meant)
}

// leave takes the notes away that this ledger has vectors in collections. It
// goes first: vectors that are removed are not lost.
func (x *Index) leave(ctx context.Context, meant func(name string) bool) error {
	ctx, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	defer done()
	all, err := x.server.tenants(ctx, collection, x.prefix)
	if err != nil {
		return x.failed("list the spaces", err)
	}
	for _, t := range all {
		name, isNote := x.readNote(t.Name)
		if !isNote || !meant(name) {
			continue
		}
		if err := x.server.dropTenants(ctx, collection, t.Name); err != nil {
			return x.failed("leave a space", err)
		}
		x.spaces.leave(name)
	}
	return nil
}

// eraseLimit is how long it may take to remove all of a ledger.
const eraseLimit = time.Minute

// erase removes all that this ledger has on the server.
func (x *Index) erase() error {
	ctx, cancel := context.WithTimeout(x.background, eraseLimit)
	defer cancel()
	return x.clear(ctx, func(string) bool { return true })
}

// dropBatch is how many tenants one request removes.
const dropBatch = 200

// clear removes this ledger's tenants from those of our collections that are
// meant, and such as have no tenants left.
func (x *Index) clear(ctx context.Context, meant func(name string) bool) error {
	bounded, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	forms, err := x.server.forms(bounded)
	done()
	if err != nil {
		return x.failed("list the collections", err)
	}
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		if !meant(name) {
			continue
		}
		if err := x.clearOne(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) clearOne(ctx context.Context, name string) error {
	bounded, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	ours, err := x.server.tenants(bounded, name, x.prefix+"-")
	done()
	if err != nil {
		return x.failed("list the tenants", err)
	}
	for part := range slices.Chunk(ours, dropBatch) {
		if err := x.dropSome(ctx, name, part); err != nil {
			return err
		}
	}
	return x.dropIfEmpty(ctx, name)
}

func (x *Index) dropSome(ctx context.Context, collection string, tenants []models.Tenant) error {
	ctx, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	defer done()
	names := make([]string, len(tenants))
	for i, t := range tenants {
		names[i] = t.Name
		x.tenants.drop(place{collection, t.Name})
	}
	if err := x.server.dropTenants(ctx, collection, names...); err != nil {
		return x.failed("remove tenants", err)
	}
	return nil
}

// dropIfEmpty removes a collection that has no tenants. Another ledger that
// comes in the middle of this makes it again.
func (x *Index) dropIfEmpty(ctx context.Context, name string) error {
	ctx, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	defer done()
	x.spaces.laying.Lock()
	defer x.spaces.laying.Unlock()
	left, err := x.server.tenants(ctx, name, "")
	if err == nil && len(left) == 0 {
		err = x.server.dropCollection(ctx, name)
		x.spaces.forget(name)
	}
	if err != nil {
		return x.failed("remove a collection", err)
	}
	return nil
}
