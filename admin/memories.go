package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"strata/internal/ids"
	"strata/internal/tokens"
	"strata/policy"
	"strata/stores"
)

// Memories reads and writes what is kept of users. An empty user means any of
// the tenant's.
type Memories interface {
	AddMemory(ctx context.Context, scope stores.Scope, m stores.Memory) (stores.Memory, error)
	Memory(ctx context.Context, tenant, user, id string) (stores.Memory, error)
	PatchMemory(ctx context.Context, scope stores.Scope, id string, change func(*stores.Memory) error) (stores.Memory, error)
	DeleteMemory(ctx context.Context, scope stores.Scope, id string) error
	ListMemories(ctx context.Context, tenant string, f stores.MemoryFilter) ([]stores.Memory, string, error)
	RejectedOf(ctx context.Context, tenant, user string, limit int) ([]stores.Rejected, error)
}

var (
	memoryTypes    = []string{string(stores.Preference), string(stores.Goal), string(stores.Agreement), string(stores.Conclusion), string(stores.Summary)}
	memoryScopes   = []string{string(stores.SessionScope), string(stores.UserScope), string(stores.WorkspaceScope)}
	memoryStatuses = []string{string(stores.Active), string(stores.Superseded), string(stores.Deleted), string(stores.Expired)}
	memoryKinds    = []string{"semantic", "episodic", "procedural"}

	// editable may be changed later, placing says whose a new memory is.
	editable = []string{"memory_type", "kind", "topic", "summary", "expires_at"}
	placing  = []string{"scope", "session_id"}
)

const (
	maxSummary = 2000 // characters
	maxTopic   = 100  // characters
)

func (c *calls) memoryRoutes() []route {
	off := c.cfg.Memories == nil
	return []route{
		{"POST /v1/memories", nil, off, c.addMemory},
		{"GET /v1/memories", append([]string{"status", "type"}, paged...), off, c.listMemories},
		{"GET /v1/memories/{id}", nil, off, c.getMemory},
		{"PATCH /v1/memories/{id}", nil, off, c.patchMemory},
		{"DELETE /v1/memories/{id}", nil, off, c.deleteMemory},
		{"GET /v1/rejected", []string{"limit"}, off, c.listRejected},
	}
}

func (c *calls) listMemories(w http.ResponseWriter, r *request) error {
	limit, cursor, err := r.page()
	if err != nil {
		return err
	}
	f := stores.MemoryFilter{User: r.user, Status: stores.Active, Cursor: cursor, Limit: limit}
	if s := r.query["status"]; s != "" {
		if err := oneOf("status", s, memoryStatuses); err != nil {
			return err
		}
		f.Status = stores.MemoryStatus(s)
	}
	if t := r.query["type"]; t != "" {
		if err := oneOf("type", t, memoryTypes); err != nil {
			return err
		}
		f.Type = stores.MemoryType(t)
	}
	memories, next, err := c.cfg.Memories.ListMemories(r.Context(), r.tenant, f)
	if err != nil {
		return err
	}
	for i := range memories {
		memories[i].Sources = list(memories[i].Sources)
	}
	answer(w, http.StatusOK, struct {
		Memories []stores.Memory `json:"memories"`
		Next     string          `json:"next_cursor"`
	}{list(memories), next})
	return nil
}

func (c *calls) getMemory(w http.ResponseWriter, r *request) error {
	m, err := c.findMemory(r)
	if err != nil {
		return err
	}
	return answerMemory(w, http.StatusOK, m)
}

func answerMemory(w http.ResponseWriter, status int, m stores.Memory) error {
	m.Sources = list(m.Sources)
	answer(w, status, m)
	return nil
}

// findMemory returns the memory of the path, if it is the named user's.
func (c *calls) findMemory(r *request) (stores.Memory, error) {
	id, err := r.id()
	if err != nil {
		return stores.Memory{}, err
	}
	return c.cfg.Memories.Memory(r.Context(), r.tenant, r.user, id)
}

// owner is the scope whose row m is.
func owner(tenant string, m stores.Memory) stores.Scope {
	return stores.Scope{Tenant: tenant, User: m.User, Session: m.Session}
}

func (c *calls) deleteMemory(w http.ResponseWriter, r *request) error {
	m, err := c.findMemory(r)
	if err != nil {
		return err
	}
	if err := c.cfg.Memories.DeleteMemory(r.Context(), owner(r.tenant, m), m.ID); err != nil {
		return err
	}
	answer(w, http.StatusOK, deletion{m.ID, true})
	return nil
}

func (c *calls) addMemory(w http.ResponseWriter, r *request) error {
	texts, err := r.object(w, append(slices.Clone(placing), editable...))
	if err != nil {
		return err
	}
	now := c.cfg.Clock()
	m := stores.Memory{
		ID: ids.New("mem"), Scope: stores.UserScope, Kind: "semantic", Status: stores.Active, CreatedAt: now,
		Confidence: 1, Scores: stores.Scores{Reuse: 3, Irrecoverable: 2, Stability: 2, Impact: 3},
	}
	for _, required := range []string{"memory_type", "summary"} {
		if strings.TrimSpace(texts[required]) == "" {
			return invalid(required, "missing")
		}
	}
	if err := place(&m, r, texts); err != nil {
		return err
	}
	if err := edit(&m, texts, r.zone, now); err != nil {
		return err
	}
	scope := owner(r.tenant, m)
	added, err := c.cfg.Memories.AddMemory(r.Context(), scope, m)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/memories/"+added.ID)
	return answerMemory(w, http.StatusCreated, added)
}

// place sets whose the memory is.
func place(m *stores.Memory, r *request, texts map[string]string) error {
	if s := texts["scope"]; s != "" {
		if err := oneOf("scope", s, memoryScopes); err != nil {
			return err
		}
		m.Scope = stores.MemoryScope(s)
	}
	session := texts["session_id"]
	if why := malformed(session, maxIdentity); why != "" {
		return invalid("session_id", why)
	}
	if m.Scope == stores.WorkspaceScope {
		return nil
	}
	if m.User = r.user; m.User == "" {
		return stores.ErrScope
	}
	if session == "" {
		session = r.session
	}
	if m.Scope != stores.SessionScope {
		return nil
	}
	if m.Session = session; session == "" {
		return invalid("session_id", "missing; a memory of scope session needs it, or X-Strata-Session")
	}
	return nil
}

func (c *calls) patchMemory(w http.ResponseWriter, r *request) error {
	texts, err := r.object(w, editable)
	if err != nil {
		return err
	}
	if len(texts) == 0 {
		return &problem{http.StatusBadRequest, "invalid_value", "Nothing to change; send one of " + strings.Join(editable, ", ") + "."}
	}
	m, err := c.findMemory(r)
	if err != nil {
		return err
	}
	if m.Status == stores.Deleted {
		return stores.ErrNotFound
	}
	now := c.cfg.Clock()
	m, err = c.cfg.Memories.PatchMemory(r.Context(), owner(r.tenant, m), m.ID, func(m *stores.Memory) error {
		return edit(m, texts, r.zone, now)
	})
	if err != nil {
		return err
	}
	return answerMemory(w, http.StatusOK, m)
}

// edit writes the given texts into m, secrets replaced, and what follows from
// them. An admin's word needs no judge, only the guard of the stable block.
func edit(m *stores.Memory, texts map[string]string, zone *time.Location, now time.Time) error {
	for _, field := range editable {
		text, given := texts[field]
		if !given {
			continue
		}
		if err := editField(m, field, text, zone); err != nil {
			return err
		}
	}
	if m.Topic == "" {
		m.Topic = string(m.Type)
	}
	m.Slot = policy.Slot(m.Topic, m.Summary)
	m.Standing = (m.Type == stores.Preference || m.Type == stores.Agreement) && policy.Guard(m.Summary)
	m.Tokens = tokens.Count(m.Summary)
	m.Importance = m.Scores.Total()
	m.Source, m.Scorer, m.UpdatedAt = "admin", "admin", now
	return nil
}

func editField(m *stores.Memory, field, text string, zone *time.Location) (err error) {
	switch field {
	case "memory_type":
		m.Type = stores.MemoryType(text)
		return oneOf(field, text, memoryTypes)
	case "kind":
		m.Kind = text
		return oneOf(field, text, memoryKinds)
	case "topic":
		m.Topic, err = topic(text)
	case "summary":
		m.Summary, err = statement(text)
	case "expires_at":
		m.ExpiresAt, err = parseDate(field, text, zone, true)
	}
	return err
}

func statement(text string) (string, error) {
	clean, _ := policy.Redact(strings.TrimSpace(text))
	switch {
	case clean == "":
		return "", invalid("summary", "empty")
	case utf8.RuneCountInString(clean) > maxSummary:
		return "", invalid("summary", "longer than 2,000 characters; state one thing")
	case strings.ContainsFunc(clean, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		return "", invalid("summary", "holds control characters")
	}
	return clean, nil
}

// topic returns the key of a topic. One that holds a single value must be
// found under one spelling, so "Fiscal-Year" and 财年 become fiscal_year.
func topic(text string) (string, error) {
	clean, _ := policy.Redact(strings.TrimSpace(text))
	if utf8.RuneCountInString(clean) > maxTopic || strings.ContainsFunc(clean, unicode.IsControl) {
		return "", invalid("topic", "longer than 100 characters, or holding control characters")
	}
	snake := strings.Join(strings.FieldsFunc(strings.ToLower(clean), func(r rune) bool { return r == '-' || r == '_' || unicode.IsSpace(r) }), "_")
	if policy.SingleValued(snake) {
		return snake, nil
	}
	if key := policy.TopicOf(clean); key != "" {
		return key, nil
	}
	return clean, nil
}

func (c *calls) listRejected(w http.ResponseWriter, r *request) error {
	limit, _, err := r.page()
	if err != nil {
		return err
	}
	rejected, err := c.cfg.Memories.RejectedOf(r.Context(), r.tenant, r.user, limit)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, map[string][]stores.Rejected{"rejected": list(rejected)})
	return nil
}

// oneOf refuses a value that is not allowed.
func oneOf(what, value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return invalid(what, "one of "+strings.Join(allowed, ", "))
}
