package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"strata/stores"
)

// Users reads and erases everything that is kept of one person, and counts
// what a tenant keeps.
type Users interface {
	Users(ctx context.Context, tenant, cursor string, limit int) ([]stores.UserInfo, string, error)
	ExportUser(ctx context.Context, tenant, user string) (stores.UserExport, error)
	// EraseUser returns the rows erased by table.
	EraseUser(ctx context.Context, tenant, user string) (map[string]int, error)
	Stats(ctx context.Context, tenant string) (stores.Stats, error)
}

type user struct {
	ID       string    `json:"id"`
	Sessions int       `json:"sessions"`
	Memories int       `json:"memories"`
	LastSeen time.Time `json:"last_seen,omitzero"`
}

// export is everything that is kept of one user.
type export struct {
	User     string                 `json:"user"`
	Memories []stores.Memory        `json:"memories"`
	Sessions []exportedSession      `json:"sessions"`
	Rejected []stores.Rejected      `json:"rejected"`
	Examples []stores.IntentExample `json:"intent_examples"`
	Receipts []json.RawMessage      `json:"receipts"`
}

type exportedSession struct {
	session
	Turns []turn `json:"turns"`
}

// erasure is the report of an erase.
type erasure struct {
	User   string         `json:"user"`
	Erased map[string]int `json:"erased"` // rows by table
	Rows   int            `json:"rows"`   // in all
	At     time.Time      `json:"at"`
}

func (c *calls) userRoutes() []route {
	off := c.cfg.Users == nil
	return []route{
		{"GET /v1/users", paged, off, c.listUsers},
		{"GET /v1/users/{id}", nil, off, c.exportUser},
		{"DELETE /v1/users/{id}", nil, off, c.eraseUser},
		{"GET /v1/stats", nil, off, c.stats},
	}
}

func (c *calls) listUsers(w http.ResponseWriter, r *request) error {
	limit, cursor, err := r.page()
	if err != nil {
		return err
	}
	infos, next, err := c.users(r, cursor, limit)
	if err != nil {
		return err
	}
	users := make([]user, len(infos))
	for i, u := range infos {
		users[i] = user{u.ID, u.Sessions, u.Memories, u.LastSeen}
	}
	answer(w, http.StatusOK, struct {
		Users []user `json:"users"`
		Next  string `json:"next_cursor"`
	}{users, next})
	return nil
}

// users returns a page of the tenant's users, or the named one alone.
func (c *calls) users(r *request, cursor string, limit int) ([]stores.UserInfo, string, error) {
	if r.user == "" {
		return c.cfg.Users.Users(r.Context(), r.tenant, cursor, limit)
	}
	for cursor = ""; ; {
		infos, next, err := c.cfg.Users.Users(r.Context(), r.tenant, cursor, maxPage)
		if err != nil {
			return nil, "", err
		}
		if i := slices.IndexFunc(infos, func(u stores.UserInfo) bool { return u.ID == r.user }); i >= 0 {
			return infos[i : i+1], "", nil
		}
		if cursor = next; next == "" {
			return nil, "", nil
		}
	}
}

// person is the user of the path. Another one named by header or query sees
// nothing of them.
func (r *request) person() (string, error) {
	id, err := r.id()
	if err == nil && r.user != "" && r.user != id {
		err = stores.ErrNotFound
	}
	return id, err
}

func (c *calls) exportUser(w http.ResponseWriter, r *request) error {
	id, err := r.person()
	if err != nil {
		return err
	}
	e, err := c.cfg.Users.ExportUser(r.Context(), r.tenant, id)
	if err != nil {
		return err
	}
	out := export{User: id, Memories: list(e.Memories), Sessions: []exportedSession{}, Rejected: list(e.Rejected), Examples: list(e.Examples), Receipts: []json.RawMessage{}}
	for i := range out.Memories {
		out.Memories[i].Sources = list(out.Memories[i].Sources)
	}
	for _, s := range e.Sessions {
		out.Sessions = append(out.Sessions, exportedSession{sessionOf(s.SessionInfo), turnsOf(s.History)})
	}
	for _, receipt := range e.Receipts {
		if json.Valid(receipt) { // a damaged one must not spoil the rest
			out.Receipts = append(out.Receipts, receipt)
		}
	}
	answer(w, http.StatusOK, out)
	return nil
}

func (c *calls) eraseUser(w http.ResponseWriter, r *request) error {
	id, err := r.person()
	if err != nil {
		return err
	}
	erased, err := c.cfg.Users.EraseUser(r.Context(), r.tenant, id)
	if err != nil {
		return err
	}
	report := erasure{User: id, Erased: erased, At: c.cfg.Clock().UTC()}
	for _, n := range erased {
		report.Rows += n
	}
	answer(w, http.StatusOK, report)
	return nil
}

func (c *calls) stats(w http.ResponseWriter, r *request) error {
	s, err := c.cfg.Users.Stats(r.Context(), r.tenant)
	if err != nil {
		return err
	}
	counts := func(m map[string]int) map[string]int {
		if m == nil {
			return map[string]int{}
		}
		return m
	}
	answer(w, http.StatusOK, map[string]any{
		"version": c.cfg.Version, "tenant": r.tenant,
		"rows": map[string]int{
			"users": s.Users, "sessions": s.Sessions, "exchanges": s.Exchanges, "documents": s.Documents,
			"passages": s.Passages, "memories": s.Memories, "rejected": s.Rejected, "intent_examples": s.Examples,
		},
		"waiting":   map[string]int{"learning": s.Unlearned, "index": s.Outbox, "vectors": s.Embeds},
		"memories":  map[string]any{"by_source": counts(s.MemoriesBySource), "by_type": counts(s.MemoriesByType), "by_scope": counts(s.MemoriesByScope)},
		"exchanges": map[string]any{"by_intent": counts(s.ExchangesByIntent)},
	})
	return nil
}
