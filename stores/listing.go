package stores

import (
	"errors"
	"time"
)

// ErrCursor is what a list gives for a cursor that no page has given out.
var ErrCursor = errors.New("stores: malformed cursor")

// SessionInfo is one conversation as lists show it.
type SessionInfo struct {
	ID        string
	User      string
	Turns     int // recorded user turns
	CreatedAt time.Time
	UpdatedAt time.Time // of its last turn
	Closed    bool      // due for learning, whatever its age
}

// MemoryFilter narrows a list of memories. Zero fields do not narrow, but an
// empty Status means Active.
type MemoryFilter struct {
	User   string // "" = the whole tenant, workspace memories too
	Status MemoryStatus
	Type   MemoryType
	Cursor string // as the page before gave it, "" = the first page
	Limit  int    // 1-500
}

// UserInfo is one user of a tenant as lists show it.
type UserInfo struct {
	ID       string
	Sessions int
	Memories int       // active ones
	LastSeen time.Time // of the last exchange or memory, zero if unknown
}

// UserExport is everything that is kept about one user.
type UserExport struct {
	User     string
	Memories []Memory // of every status; deleted ones have id and time only
	Sessions []SessionExport
	Rejected []Rejected
	Examples []IntentExample // that the user's words are
	Receipts [][]byte        // JSON each, newest first
}

// SessionExport is one conversation with its turns, oldest first.
type SessionExport struct {
	SessionInfo
	History []Turn
}

// Stats counts what a tenant keeps.
type Stats struct {
	Users     int
	Sessions  int
	Exchanges int
	Documents int // published
	Passages  int // of published versions
	Rejected  int
	Examples  int // of intents
	Unlearned int // exchanges that wait to be learned from
	Outbox    int // rows that wait for the index
	Embeds    int // rows that wait for vectors

	// Memories counts the active ones, once per grouping.
	Memories         int
	MemoriesBySource map[string]int // explicit, rules, model, admin
	MemoriesByType   map[string]int
	MemoriesByScope  map[string]int
	// ExchangesByIntent counts the recorded ones: chat, rag, data, "" if none
	// was decided.
	ExchangesByIntent map[string]int
}
