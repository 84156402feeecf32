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

	mu   sync.Mutex
	dims map[string]int // by marked id
}

// set notes which collections there are, and returns those of vectors.
func (s *spaces) set(names iter.Seq[string]) []string {
	s.mu.Lock()
	s.dims = map[string]int{}
	for name := range names {
		if marked, dims, ok := spaceOf(name); ok {
			s.dims[marked] = dims
		}
	}
	s.mu.Unlock()
	return s.names()
}

func (s *spaces) add(marked string, dims int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dims == nil {
		s.dims = map[string]int{}
	}
	s.dims[marked] = dims
}

func (s *spaces) forget(marked string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.dims, marked)
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

// lay makes the collection of a space where there is none.
func (x *Index) lay(ctx context.Context, space stores.Space) error {
	ctx, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	defer done()
	marked, err := markedSpace(space.ID)
	if err != nil {
		return err
	}
	name, err := vectorCollection(space.ID, space.Dims)
	if err != nil {
		return err
	}
	x.spaces.laying.Lock()
	defer x.spaces.laying.Unlock()
	switch dims := x.spaces.size(marked); dims {
	case space.Dims:
		return nil
	case 0:
	default:
		return fmt.Errorf("weaviate: the space %s has vectors of %d dimensions and is to take some of %d", space.ID, dims, space.Dims)
	}
	f, err := x.server.form(ctx, name)
	if err == nil && f == nil {
		_, err = x.server.createCollection(ctx, vectors(name))
	} else if err == nil {
		err = f.fits(vectors(name))
	}
	if err != nil {
		return x.failed("make the collection of a space", err)
	}
	x.spaces.add(marked, space.Dims)
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
	return x.clear(ctx, func(name string) bool {
		marked, _, ok := spaceOf(name)
		return ok && marked != keep
	})
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
	all, err := x.server.tenants(bounded, name)
	done()
	if err != nil {
		return x.failed("list the tenants", err)
	}
	var ours []string
	for _, t := range all {
		if strings.HasPrefix(t.Name, x.prefix+"-") {
			ours = append(ours, t.Name)
		}
	}
	for part := range slices.Chunk(ours, dropBatch) {
		bounded, done, err := x.begin(ctx, writeLimit)
		if err != nil {
			return err
		}
		err = x.server.dropTenants(bounded, name, part...)
		done()
		if err != nil {
			return x.failed("remove tenants", err)
		}
		for _, tenant := range part {
			x.tenants.drop(place{name, tenant})
		}
	}
	return x.dropIfEmpty(ctx, name)
}

// dropIfEmpty removes a collection that has no tenants. One that another ledger
// makes in the middle of this it makes again.
func (x *Index) dropIfEmpty(ctx context.Context, name string) error {
	ctx, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	defer done()
	x.spaces.laying.Lock()
	defer x.spaces.laying.Unlock()
	left, err := x.server.tenants(ctx, name)
	if err != nil || len(left) > 0 {
		return err
	}
	if err := x.server.dropCollection(ctx, name); err != nil {
		return x.failed("remove a collection", err)
	}
	if marked, _, ok := spaceOf(name); ok {
		x.spaces.forget(marked)
	}
	return nil
}

// NeedsVectors reports whether vectors of a space may be missing which nobody
// waits to put: VectorsQueued was not called for it yet, or the server has lost
// what it had since. A server that cannot be reached is an error.
func (x *Index) NeedsVectors(ctx context.Context, space string) (bool, error) {
	marked, err := markedSpace(space)
	if err != nil {
		return false, err
	}
	ctx, done, err := x.begin(ctx, searchLimit)
	if err != nil {
		return false, err
	}
	defer done()
	dims := x.spaces.size(marked)
	if dims == 0 {
		return true, nil
	}
	name, err := vectorCollection(space, dims)
	if err != nil {
		return false, err
	}
	there, err := x.server.hasTenant(ctx, place{name, x.mark()})
	if err != nil {
		return false, x.failed("look for a space", err)
	}
	return !there, nil
}

// VectorsQueued notes that all vectors of a space are put, or wait to be. The
// note is kept with them, so that who loses them loses it.
func (x *Index) VectorsQueued(ctx context.Context, space stores.Space) error {
	if err := x.lay(ctx, space); err != nil {
		return err
	}
	name, err := vectorCollection(space.ID, space.Dims)
	if err != nil {
		return err
	}
	ctx, done, err := x.begin(ctx, writeLimit)
	if err != nil {
		return err
	}
	defer done()
	if err := x.server.createTenant(ctx, place{name, x.mark()}); err != nil {
		return x.failed("note that a space is queued", err)
	}
	return nil
}
