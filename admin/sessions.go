package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"strata/stores"
)

// Sessions reads and ends conversations. An empty user means any of the
// tenant's; an id that several have is then ErrAmbiguous.
type Sessions interface {
	Sessions(ctx context.Context, tenant, user, cursor string, limit int) ([]stores.SessionInfo, string, error)
	Session(ctx context.Context, tenant, user, id string) (stores.SessionInfo, []stores.Turn, error)
	DeleteSession(ctx context.Context, tenant, user, id string) error
	CloseSession(ctx context.Context, tenant, user, id string) error
}

// Receipts reads what was used for one answer, by request or answer id. An
// empty user means any of the tenant's.
type Receipts interface {
	Receipt(ctx context.Context, tenant, user, id string) ([]byte, error)
	LastReceipt(ctx context.Context, tenant, user string) ([]byte, error)
}

// session is one conversation as lists show it.
type session struct {
	ID        string    `json:"id"`
	User      string    `json:"user"`
	TurnCount int       `json:"turn_count"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	Closed    bool      `json:"closed"`
}

func sessionOf(s stores.SessionInfo) session {
	return session{s.ID, s.User, s.Turns, s.CreatedAt, s.UpdatedAt, s.Closed}
}

// turn is one message of a conversation.
type turn struct {
	Role     string                `json:"role"`
	Content  string                `json:"content"`
	At       time.Time             `json:"at"`
	Status   stores.ExchangeStatus `json:"status"`
	Exchange string                `json:"exchange"` // names the receipt, and the evidence of memories
}

func turnsOf(turns []stores.Turn) []turn {
	out := make([]turn, len(turns))
	for i, t := range turns {
		out[i] = turn{t.Role, t.Content, t.At, t.Status, t.Exchange}
	}
	return out
}

func (c *calls) sessionRoutes() []route {
	off, noReceipts := c.cfg.Sessions == nil, c.cfg.Receipts == nil
	return []route{
		{"GET /v1/sessions", paged, off, c.listSessions},
		{"GET /v1/sessions/{id}", nil, off, c.getSession},
		{"DELETE /v1/sessions/{id}", nil, off, c.deleteSession},
		{"POST /v1/sessions/{id}/close", nil, off, c.closeSession},
		{"GET /v1/receipts/last", nil, noReceipts, c.lastReceipt},
		{"GET /v1/receipts/{id}", nil, noReceipts, c.getReceipt},
	}
}

func (c *calls) listSessions(w http.ResponseWriter, r *request) error {
	limit, cursor, err := r.page()
	if err != nil {
		return err
	}
	infos, next, err := c.cfg.Sessions.Sessions(r.Context(), r.tenant, r.user, cursor, limit)
	if err != nil {
		return err
	}
	sessions := make([]session, len(infos))
	for i, s := range infos {
		sessions[i] = sessionOf(s)
	}
	answer(w, http.StatusOK, struct {
		Sessions []session `json:"sessions"`
		Next     string    `json:"next_cursor"`
	}{sessions, next})
	return nil
}

func (c *calls) getSession(w http.ResponseWriter, r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	info, turns, err := c.cfg.Sessions.Session(r.Context(), r.tenant, r.user, id)
	if err != nil {
		return err
	}
	summary, err := c.summaryOf(r.Context(), r.tenant, info)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, struct {
		session
		Turns   []turn          `json:"turns"`
		Summary string          `json:"summary"`
		State   json.RawMessage `json:"state"` // null: nothing was analysed in it
	}{sessionOf(info), turnsOf(turns), summary, nil})
	return nil
}

// summaryOf returns the session's latest summary, "" if it has none.
func (c *calls) summaryOf(ctx context.Context, tenant string, s stores.SessionInfo) (string, error) {
	if c.cfg.Memories == nil || s.User == "" {
		return "", nil
	}
	var latest stores.Memory
	f := stores.MemoryFilter{User: s.User, Status: stores.Active, Type: stores.Summary, Limit: maxPage}
	for {
		memories, next, err := c.cfg.Memories.ListMemories(ctx, tenant, f)
		if err != nil {
			return "", err
		}
		for _, m := range memories {
			if m.Session == s.ID && m.UpdatedAt.After(latest.UpdatedAt) {
				latest = m
			}
		}
		if f.Cursor = next; next == "" {
			return latest.Summary, nil
		}
	}
}

func (c *calls) deleteSession(w http.ResponseWriter, r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	if err := c.cfg.Sessions.DeleteSession(r.Context(), r.tenant, r.user, id); err != nil {
		return err
	}
	answer(w, http.StatusOK, deletion{id, true})
	return nil
}

func (c *calls) closeSession(w http.ResponseWriter, r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	if err := c.cfg.Sessions.CloseSession(r.Context(), r.tenant, r.user, id); err != nil {
		return err
	}
	if c.cfg.Learner != nil {
		c.cfg.Learner.Notify()
	}
	answer(w, http.StatusOK, struct {
		ID     string `json:"id"`
		Closed bool   `json:"closed"`
	}{id, true})
	return nil
}

func (c *calls) getReceipt(w http.ResponseWriter, r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	receipt, err := c.cfg.Receipts.Receipt(r.Context(), r.tenant, r.user, id)
	return answerReceipt(w, receipt, err)
}

func (c *calls) lastReceipt(w http.ResponseWriter, r *request) error {
	receipt, err := c.cfg.Receipts.LastReceipt(r.Context(), r.tenant, r.user)
	return answerReceipt(w, receipt, err)
}

// answerReceipt answers a receipt as it was recorded.
func answerReceipt(w http.ResponseWriter, receipt []byte, err error) error {
	if err != nil {
		return err
	}
	if len(receipt) == 0 {
		return stores.ErrNotFound
	}
	answer(w, http.StatusOK, json.RawMessage(receipt))
	return nil
}
