package weaviate

import (
	"context"
	"maps"
)

// setUp makes the passages' collection where it is missing, and finds out what
// the server has of this ledger and what it has lost.
func (x *Index) setUp(ctx context.Context) error {
	if err := x.server.check(ctx); err != nil {
		return err
	}
	f, err := x.look(ctx)
	if err != nil {
		return err
	}
	there, first := f != nil, !x.open.Load()
	var has stock
	if there {
		if err := f.fits(passages()); err != nil {
			return err
		}
		has, err = x.takeStock(ctx, first)
	} else {
		x.open.Store(false)
		f, err = x.server.createCollection(ctx, passages())
	}
	if err != nil {
		return err
	}
	if (first || !there) && f.InvertedIndexConfig.UsingBlockMaxWAND {
		x.log.Error("the search index misses passages that it holds: its server ranks by BlockMax WAND, which Weaviate 1.35 does wrongly. "+
			"Set USE_INVERTED_SEARCHABLE=false on the server and delete the collection; it is filled again", "collection", collection)
	}
	if !has.filled && (!there || first || has.lost || !x.rebuild.Load()) {
		x.rarity.forget()
		x.made.Add(1)
	}
	x.spaces.note(has.spaces)
	x.rebuild.Store(!has.filled)
	x.open.Store(true)
	return nil
}

// look finds out which collections of vectors are on the server, and how the
// passages' is made, nil where it is missing.
func (x *Index) look(ctx context.Context) (*form, error) {
	x.spaces.laying.Lock()
	defer x.spaces.laying.Unlock()
	forms, err := x.server.forms(ctx)
	if err != nil {
		return nil, err
	}
	x.spaces.set(maps.Keys(forms))
	return forms[collection], nil
}

// stock is what the server has of this ledger.
type stock struct {
	filled bool     // nothing is missing that nobody waits to put
	lost   bool     // vectors are gone that were there
	spaces []string // that have vectors, as names of collections
}

// takeStock reads what the server has of this ledger; first, it takes over which
// tenants are in its memory. That vectors are in a collection is noted in the
// passages' one, and there: where only the first note is left the server has
// lost them, and all is to be put again.
func (x *Index) takeStock(ctx context.Context, first bool) (has stock, _ error) {
	all, err := x.server.tenants(ctx, collection, x.prefix)
	if err != nil {
		return has, err
	}
	gone := []string{x.mark()}
	for _, t := range all {
		has.filled = has.filled || t.Name == x.mark()
		vectors, isNote := x.readNote(t.Name)
		if !isNote {
			continue
		}
		there, err := x.server.hasTenant(ctx, place{vectors, x.mark()})
		if err != nil {
			return has, err
		}
		if there {
			has.spaces = append(has.spaces, vectors)
		} else {
			gone = append(gone, t.Name)
		}
	}
	if len(gone) > 1 {
		x.log.Error("the search index has lost vectors; it is filled again", "noted_by", gone[1:])
		has.filled, has.lost = false, true
		if err := x.server.dropTenants(ctx, collection, gone...); err != nil {
			return has, err
		}
	}
	if first {
		err = x.adopt(ctx, all)
	}
	return has, err
}
