package admintest

import (
	"context"
	"maps"
	"slices"

	"strata/stores"
)

// Sessions implements admin.Sessions.
func (s *Store) Sessions(_ context.Context, tenant, user, cursor string, limit int) ([]stores.SessionInfo, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []stores.SessionInfo
	for _, c := range s.sessions {
		if c.tenant == tenant && (user == "" || c.info.User == user) {
			out = append(out, c.info)
		}
	}
	return page(out, cursor, limit)
}

// one returns the index of the only session with this id.
func (s *Store) one(tenant, user, id string) (int, error) {
	found, at := 0, -1
	for i, c := range s.sessions {
		if c.tenant == tenant && c.info.ID == id && (user == "" || c.info.User == user) {
			found, at = found+1, i
		}
	}
	switch found {
	case 0:
		return at, stores.ErrNotFound
	case 1:
		return at, nil
	}
	return at, stores.ErrAmbiguous
}

// Session implements admin.Sessions.
func (s *Store) Session(_ context.Context, tenant, user, id string) (stores.SessionInfo, []stores.Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.one(tenant, user, id)
	if err != nil {
		return stores.SessionInfo{}, nil, err
	}
	return s.sessions[i].info, slices.Clone(s.sessions[i].turns), nil
}

// DeleteSession implements admin.Sessions.
func (s *Store) DeleteSession(_ context.Context, tenant, user, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.one(tenant, user, id)
	if err == nil {
		s.sessions = slices.Delete(s.sessions, i, i+1)
	}
	return err
}

// CloseSession implements admin.Sessions.
func (s *Store) CloseSession(_ context.Context, tenant, user, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.one(tenant, user, id)
	if err == nil {
		s.sessions[i].info.Closed = true
	}
	return err
}

// Receipt implements admin.Receipts.
func (s *Store) Receipt(_ context.Context, tenant, user, id string) ([]byte, error) {
	return s.latest(func(r receipt) bool {
		return r.tenant == tenant && (user == "" || r.user == user) && (r.id == id || r.answer == id)
	})
}

// LastReceipt implements admin.Receipts.
func (s *Store) LastReceipt(_ context.Context, tenant, user string) ([]byte, error) {
	return s.latest(func(r receipt) bool { return r.tenant == tenant && (user == "" || r.user == user) })
}

func (s *Store) latest(match func(receipt) bool) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range slices.Backward(s.receipts) {
		if match(r) {
			return r.json, nil
		}
	}
	return nil, stores.ErrNotFound
}

// Users implements admin.Users.
func (s *Store) Users(_ context.Context, tenant, cursor string, limit int) ([]stores.UserInfo, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	users := map[string]*stores.UserInfo{}
	of := func(id string) *stores.UserInfo {
		if users[id] == nil {
			users[id] = &stores.UserInfo{ID: id}
		}
		return users[id]
	}
	for _, c := range s.sessions {
		if c.tenant == tenant {
			u := of(c.info.User)
			u.Sessions, u.LastSeen = u.Sessions+1, c.info.UpdatedAt
		}
	}
	for _, m := range s.memories {
		if m.tenant == tenant && m.User != "" && m.Status == stores.Active {
			of(m.User).Memories++
		}
	}
	var out []stores.UserInfo
	for _, id := range slices.Sorted(maps.Keys(users)) {
		out = append(out, *users[id])
	}
	return page(out, cursor, limit)
}

// ExportUser implements admin.Users.
func (s *Store) ExportUser(_ context.Context, tenant, user string) (stores.UserExport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := stores.UserExport{User: user}
	for _, m := range s.memories {
		if m.tenant == tenant && m.User == user {
			e.Memories = append(e.Memories, m.Memory)
		}
	}
	for _, c := range s.sessions {
		if c.tenant == tenant && c.info.User == user {
			e.Sessions = append(e.Sessions, stores.SessionExport{SessionInfo: c.info, History: c.turns})
		}
	}
	for _, r := range s.rejected {
		if r.tenant == tenant && r.User == user {
			e.Rejected = append(e.Rejected, r.Rejected)
		}
	}
	for _, x := range s.examples {
		if x.tenant == tenant && x.User == user {
			e.Examples = append(e.Examples, x.IntentExample)
		}
	}
	for _, r := range slices.Backward(s.receipts) {
		if r.tenant == tenant && r.user == user {
			e.Receipts = append(e.Receipts, r.json)
		}
	}
	if len(e.Memories)+len(e.Sessions)+len(e.Rejected)+len(e.Receipts) == 0 {
		return e, stores.ErrNotFound
	}
	return e, nil
}

// EraseUser implements admin.Users.
func (s *Store) EraseUser(_ context.Context, tenant, user string) (map[string]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.memories)
	s.memories = slices.DeleteFunc(s.memories, func(m memory) bool { return m.tenant == tenant && m.User == user })
	rows := map[string]int{"memories": n - len(s.memories)}
	n = len(s.sessions)
	s.sessions = slices.DeleteFunc(s.sessions, func(c session) bool { return c.tenant == tenant && c.info.User == user })
	rows["sessions"] = n - len(s.sessions)
	n = len(s.receipts)
	s.receipts = slices.DeleteFunc(s.receipts, func(r receipt) bool { return r.tenant == tenant && r.user == user })
	rows["exchanges"] = n - len(s.receipts)
	s.rejected = slices.DeleteFunc(s.rejected, func(r rejected) bool { return r.tenant == tenant && r.User == user })
	s.examples = slices.DeleteFunc(s.examples, func(e example) bool { return e.tenant == tenant && e.User == user })
	return rows, nil
}

// Stats implements admin.Users.
func (s *Store) Stats(_ context.Context, tenant string) (stores.Stats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := stores.Stats{MemoriesBySource: map[string]int{}, Unlearned: s.pending}
	for _, m := range s.memories {
		if m.tenant == tenant && m.Status == stores.Active {
			out.Memories++
			out.MemoriesBySource[m.Source]++
		}
	}
	for _, c := range s.sessions {
		if c.tenant == tenant {
			out.Sessions++
		}
	}
	for _, d := range s.docs {
		if d.tenant == tenant {
			out.Documents++
		}
	}
	return out, nil
}

// SetPending says what Flush leaves.
func (s *Store) SetPending(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = n
}

// Notified is how often Notify was called.
func (s *Store) Notified() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notified
}

// Notify implements admin.Learner.
func (s *Store) Notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notified++
}

// Flush implements admin.Learner.
func (s *Store) Flush(context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending, nil
}
