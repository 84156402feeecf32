package admintest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"strata/ingest"
	"strata/stores"
)

// paragraphs cuts a text where a line is empty.
func paragraphs(source ingest.Source) ([]stores.Passage, error) {
	if !strings.HasPrefix(source.MediaType, "text/") && source.MediaType != "" {
		return nil, ingest.ErrMediaType
	}
	var out []stores.Passage
	for part := range bytes.SplitSeq(source.Body, []byte("\n\n")) {
		if text := strings.TrimSpace(string(part)); text != "" {
			out = append(out, stores.Passage{ID: fmt.Sprintf("%s#%d", source.ID, len(out)), Document: source.ID, Ordinal: len(out), Text: text})
		}
	}
	if len(out) == 0 {
		return nil, ingest.ErrEmpty
	}
	return out, nil
}

func digest(source ingest.Source) string {
	sum := sha256.Sum256(fmt.Appendf(source.Body[:len(source.Body):len(source.Body)], "|%s|%v|%v|%v", source.Title, source.Groups, source.Effective, source.Expires))
	return hex.EncodeToString(sum[:])
}

// AddMemory implements admin.Memories.
func (s *Store) AddMemory(_ context.Context, scope stores.Scope, m stores.Memory) (stores.Memory, error) {
	check := scope.CheckUser
	if m.Scope == stores.WorkspaceScope {
		check = scope.CheckTenant
	}
	if err := check(); err != nil {
		return m, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.memories {
		o := &s.memories[i]
		if o.tenant == scope.Tenant && o.Status == stores.Active && o.User == m.User && o.Scope == m.Scope && o.Session == m.Session && o.Slot == m.Slot {
			o.Status, m.Supersedes = stores.Superseded, o.ID
		}
	}
	s.memories = append(s.memories, memory{scope.Tenant, m})
	return m, nil
}

func (s *Store) findMemory(tenant, id string, whose func(stores.Memory) bool) *memory {
	i := slices.IndexFunc(s.memories, func(m memory) bool { return m.tenant == tenant && m.ID == id && whose(m.Memory) })
	if i < 0 {
		return nil
	}
	return &s.memories[i]
}

// Memory implements admin.Memories.
func (s *Store) Memory(_ context.Context, tenant, user, id string) (stores.Memory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.findMemory(tenant, id, func(m stores.Memory) bool { return user == "" || m.User == user })
	if m == nil {
		return stores.Memory{}, stores.ErrNotFound
	}
	return m.Memory, nil
}

// PatchMemory implements admin.Memories.
func (s *Store) PatchMemory(_ context.Context, scope stores.Scope, id string, edit func(*stores.Memory) error) (stores.Memory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.findMemory(scope.Tenant, id, func(m stores.Memory) bool { return m.User == scope.User && m.Status == stores.Active })
	if old == nil {
		return stores.Memory{}, stores.ErrNotFound
	}
	m := old.Memory
	if err := edit(&m); err != nil {
		return m, err
	}
	for _, o := range s.memories {
		if o.tenant == scope.Tenant && o.ID != id && o.Status == stores.Active && o.User == m.User && o.Scope == m.Scope && o.Session == m.Session && o.Slot == m.Slot {
			return m, stores.ErrConflict
		}
	}
	old.Memory = m
	return m, nil
}

// DeleteMemory implements admin.Memories.
func (s *Store) DeleteMemory(_ context.Context, scope stores.Scope, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.findMemory(scope.Tenant, id, func(m stores.Memory) bool { return m.User == scope.User && m.Status != stores.Deleted })
	if m == nil {
		return stores.ErrNotFound
	}
	m.Memory = stores.Memory{ID: m.ID, User: m.User, Status: stores.Deleted, CreatedAt: m.CreatedAt, UpdatedAt: s.tick()}
	return nil
}

// ListMemories implements admin.Memories.
func (s *Store) ListMemories(_ context.Context, tenant string, f stores.MemoryFilter) ([]stores.Memory, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []stores.Memory
	for _, m := range s.memories {
		if m.tenant == tenant && m.Status == cmp.Or(f.Status, stores.Active) && (f.User == "" || m.User == f.User) && (f.Type == "" || m.Type == f.Type) {
			out = append(out, m.Memory)
		}
	}
	return page(out, f.Cursor, f.Limit)
}

// Reject adds a candidate that was not kept.
func (s *Store) Reject(tenant string, r stores.Rejected) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.At = s.tick()
	s.rejected = append(s.rejected, rejected{tenant, r})
}

// RejectedOf implements admin.Memories.
func (s *Store) RejectedOf(_ context.Context, tenant, user string, limit int) ([]stores.Rejected, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []stores.Rejected
	for _, r := range slices.Backward(s.rejected) {
		if r.tenant == tenant && (user == "" || r.User == user) && len(out) < limit {
			out = append(out, r.Rejected)
		}
	}
	return out, nil
}

// Say records a finished turn: what was asked, the answer, and a receipt whose
// id is the exchange's.
func (s *Store) Say(tenant, user, id, exchange, asked, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.tick()
	i := slices.IndexFunc(s.sessions, func(o session) bool { return o.tenant == tenant && o.info.User == user && o.info.ID == id })
	if i < 0 {
		s.sessions = append(s.sessions, session{tenant: tenant, info: stores.SessionInfo{ID: id, User: user, CreatedAt: at}})
		i = len(s.sessions) - 1
	}
	c := &s.sessions[i]
	c.info.Turns++
	c.info.UpdatedAt = at
	c.turns = append(c.turns, stores.Turn{Exchange: exchange, Role: "user", Content: asked, At: at, Status: stores.Complete},
		stores.Turn{Exchange: exchange, Role: "assistant", Content: answer, At: at, Status: stores.Complete})
	s.receipts = append(s.receipts, receipt{tenant, user, exchange, "chatcmpl-" + exchange,
		fmt.Appendf(nil, `{"request_id":%q,"intent":"rag","confidence":0.83,"stage":"model","context":"full","layers":[{"name":"knowledge","ids":["p1"],"tokens":40,"ms":1.5}],"skipped":[{"name":"memory","reason":"floor","ID":"mem_x"}],"block_tokens":40,"cached_tokens":0}`, exchange)})
}
