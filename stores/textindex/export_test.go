package textindex

import "context"

// VectorsInMemory is how many bytes vectors take.
func (x *Index) VectorsInMemory() (bytes int64) {
	x.keeper.mu.Lock()
	defer x.keeper.mu.Unlock()
	for _, k := range x.keeper.kept {
		if k.m != nil {
			bytes += k.m.bytes()
		}
	}
	return bytes
}

// SettleAll makes the postings of all passages, as happens when nobody writes.
func (x *Index) SettleAll(ctx context.Context) error { return x.settleAll(ctx) }
