package admintest

import (
	"context"
	"fmt"
	"slices"

	"strata/stores"
)

type example struct {
	tenant string
	stores.IntentExample
}

// AddExample implements admin.Intents.
func (s *Store) AddExample(_ context.Context, scope stores.Scope, e stores.IntentExample) (stores.IntentExample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.User = scope.User
	return s.keepExample(scope.Tenant, e), nil
}

// FixIntent implements admin.Intents. A receipt without a turn has no words.
func (s *Store) FixIntent(_ context.Context, scope stores.Scope, id, intent string, words func(string) (string, error)) (stores.IntentExample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.receipts, func(r receipt) bool {
		return r.tenant == scope.Tenant && (scope.User == "" || r.user == scope.User) && (r.id == id || r.answer == id)
	})
	if i < 0 {
		return stores.IntentExample{}, stores.ErrNotFound
	}
	e := stores.IntentExample{Intent: intent, Source: stores.SourceFix, Exchange: s.receipts[i].id, User: s.receipts[i].user}
	asked := ""
	for _, c := range s.sessions {
		for _, t := range c.turns {
			if c.tenant == scope.Tenant && t.Exchange == e.Exchange && t.Role == "user" {
				asked, e.Session = t.Content, c.info.ID
			}
		}
	}
	var err error
	if e.Text, err = words(asked); err != nil {
		return stores.IntentExample{}, err
	}
	return s.keepExample(scope.Tenant, e), nil
}

func (s *Store) keepExample(tenant string, e stores.IntentExample) stores.IntentExample {
	e.ID, e.CreatedAt = fmt.Sprintf("iex_%d", len(s.examples)+1), s.tick()
	for i := range s.examples {
		if o := &s.examples[i]; o.tenant == tenant && o.Text == e.Text {
			e.ID = o.ID
			o.IntentExample = e
			return e
		}
	}
	s.examples = append(s.examples, example{tenant, e})
	return e
}

// ListExamples implements admin.Intents.
func (s *Store) ListExamples(_ context.Context, tenant, user, cursor string, limit int) ([]stores.IntentExample, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []stores.IntentExample
	for _, e := range slices.Backward(s.examples) {
		if e.tenant == tenant && (user == "" || e.User == user) {
			out = append(out, e.IntentExample)
		}
	}
	return page(out, cursor, limit)
}

// DeleteExample implements admin.Intents.
func (s *Store) DeleteExample(_ context.Context, tenant, user, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.examples, func(e example) bool { return e.tenant == tenant && e.ID == id && (user == "" || e.User == user) })
	if i < 0 {
		return stores.ErrNotFound
	}
	s.examples = slices.Delete(s.examples, i, i+1)
	return nil
}
