// Package stores names what is kept and who may ask for it: scopes, records
// and the errors that every backend returns. It holds no logic; backends are
// the packages below it.
package stores

import (
	"errors"
	"time"
)

// What every backend returns, wrapped. Test with errors.Is.
var (
	ErrScope      = errors.New("stores: no tenant or no user")            // never a wider read
	ErrNotFound   = errors.New("stores: not found")                       // or not the caller's
	ErrAmbiguous  = errors.New("stores: the id belongs to several users") // name the user
	ErrConflict   = errors.New("stores: changed meanwhile")               // read again and retry
	ErrNewer      = errors.New("stores: written by a newer version")      // nothing was changed
	ErrUnreadable = errors.New("stores: damaged or not a store")          // nothing was changed
	ErrClosed     = errors.New("stores: closed")
)

// Scope says on whose behalf something is read or written. Every method takes
// one; an empty Tenant, or an empty User where rows are personal, is ErrScope.
type Scope struct {
	Tenant  string
	User    string
	Session string
	Groups  []string // of the user; filter documents
}

// CheckTenant returns ErrScope when no tenant is named.
func (s Scope) CheckTenant() error {
	if s.Tenant == "" {
		return ErrScope
	}
	return nil
}

// CheckUser returns ErrScope when tenant or user is not named.
func (s Scope) CheckUser() error {
	if s.Tenant == "" || s.User == "" {
		return ErrScope
	}
	return nil
}

// Links are the keyed digests by which a request finds its session and turn.
type Links struct {
	Turn  string   // of all messages up to the last user message
	Pairs []string // of the last user/assistant pairs, latest first, at most 4
	Thin  bool     // a named session and exactly one message that is not a system one
}

// Opening is what one read at the start of a walk tells.
type Opening struct {
	Session   string // the scope's, else the linked one, else "" (a new one)
	Known     bool   // something of this session is recorded
	UserGen   int64  // bumped by every change of the user's memories
	KBGen     int64  // bumped by every change of the tenant's documents, workspace memories and intent examples
	StableGen int64  // bumped when the user states or changes a standing preference

	Memories  int // active memories that may be served: the user's, the session's, the workspace's
	OfSession int // of these, the session's
	Documents int // published documents of the tenant
	Examples  int // messages of the tenant whose intent was put right

	Fixed       bool     // the session's stable block was chosen before: Pinned, be it nothing
	Pinned      []string // memories of the stable block
	PinnedGen   int64    // StableGen when they were chosen
	LastIntent  string   // of the session's last request
	LastHistory bool     // the session's last request carried history
	Turns       int      // finished turns of this session that are recorded

	Turn *OpenTurn // recorded for this turn key already, nil if nothing is
}

// OpenTurn is what is recorded of the turn that a request belongs to: an
// earlier call of a tool loop, a try before, or the answer to regenerate.
type OpenTurn struct {
	ID       string // the turn's
	Items    []string
	Stable   []string
	Intent   string
	Finished bool // its answer ended the turn: no tool calls are open
	At       time.Time
}

// ExchangeStatus tells how an exchange ended.
type ExchangeStatus string

// The statuses of an exchange.
const (
	Complete ExchangeStatus = "complete" // the answer ended well
	Aborted  ExchangeStatus = "aborted"  // the client left, or the answer broke off
	Failed   ExchangeStatus = "failed"   // upstream answered with an error
)

// Exchange is what was newly asked and the answer to it.
type Exchange struct {
	ID      string // request id, the receipt's too
	Scope   Scope  // an empty User records the receipt alone
	Links   Links
	PairKey string // keyed digest of the pair asked/answer, for linking; "" without text
	History bool   // the request carried earlier turns
	Named   bool   // the client named the session: it is found by name, never by its pairs

	ReceiptOnly bool   // read-only mode: neither texts nor session
	Asked       string // the user's own words; redacted when learned
	Answer      string // redacted when learned
	AnswerID    string
	Model       string
	Status      ExchangeStatus
	Finished    bool // the answer ended the turn: complete and without tool calls
	Learn       bool // may be learned from
	Settled     bool // there is nothing to learn from it, and its texts may be kept as they are
	Intent      string
	Timezone    string // IANA name, "" = UTC

	Items     []string // ids in the volatile block
	Stable    []string // ids in the stable block
	Pin       bool     // Stable was chosen freely, be it nothing, and stands for the session from now on
	StableGen int64    // when it was chosen
	Receipt   []byte   // JSON, answered as it is
	At        time.Time
	Ended     time.Time
}

// Turn is one message of a recorded conversation.
type Turn struct {
	Exchange string // id
	Role     string // user or assistant
	Content  string
	At       time.Time
	Status   ExchangeStatus
	Former   bool // of recent turns: it states, or was given, what has been replaced since
}

// MemoryType is what a memory states.
type MemoryType string

// The memory types.
const (
	Preference MemoryType = "preference"
	Goal       MemoryType = "goal"
	Agreement  MemoryType = "agreement"
	Conclusion MemoryType = "conclusion"
	Summary    MemoryType = "summary"
)

// MemoryScope is for whom a memory holds.
type MemoryScope string

// The memory scopes.
const (
	SessionScope   MemoryScope = "session"
	UserScope      MemoryScope = "user"
	WorkspaceScope MemoryScope = "workspace"
)

// MemoryStatus is where a memory is in its life. Only active ones are served.
type MemoryStatus string

// The memory statuses.
const (
	Active     MemoryStatus = "active"
	Superseded MemoryStatus = "superseded"
	Deleted    MemoryStatus = "deleted" // text and slot are gone
	Expired    MemoryStatus = "expired"
)

// Scores are the four sub-scores of a memory's worth, 10 in all.
type Scores struct {
	Reuse         int `json:"reuse"`         // 0-3
	Irrecoverable int `json:"irrecoverable"` // 0-2
	Stability     int `json:"stability"`     // 0-2
	Impact        int `json:"impact"`        // 0-3
}

// Total is the sum, stored from 6.
func (s Scores) Total() int { return s.Reuse + s.Irrecoverable + s.Stability + s.Impact }

// Memory is one distilled, typed, scored statement.
type Memory struct {
	ID         string       `json:"memory_id"`
	Scope      MemoryScope  `json:"scope"`
	User       string       `json:"user,omitempty"`
	Session    string       `json:"session_id,omitempty"`
	Type       MemoryType   `json:"memory_type"`
	Kind       string       `json:"kind"` // semantic, episodic, procedural
	Topic      string       `json:"topic"`
	Summary    string       `json:"summary"`
	Importance int          `json:"importance"` // the scores' total
	Confidence float64      `json:"confidence"` // 0-1
	Status     MemoryStatus `json:"status"`
	CreatedAt  time.Time    `json:"created_at"`
	UpdatedAt  time.Time    `json:"updated_at"`
	ExpiresAt  time.Time    `json:"expires_at,omitzero"`
	Sources    []string     `json:"source_message_ids"` // exchange ids
	Supersedes string       `json:"supersedes,omitempty"`
	Scores     Scores       `json:"scores"`
	Scorer     string       `json:"scorer"`             // rules, model, admin
	Source     string       `json:"source"`             // explicit, rules, model, admin
	Standing   bool         `json:"standing,omitempty"` // belongs into the stable block

	// Slot is the one place this statement takes among its owner's active
	// memories: the topic where it holds one value, topic and value where it
	// is a set. Two active memories never share one.
	Slot   string `json:"-"`
	Tokens int    `json:"-"` // of Summary, counted when written
}

// Rejected is a candidate that was not kept, and why. It is redacted.
type Rejected struct {
	ID       string    `json:"id"`
	User     string    `json:"user"`
	Exchange string    `json:"exchange"`
	Text     string    `json:"text"`
	Reason   string    `json:"reason"`
	Scores   Scores    `json:"scores"`
	At       time.Time `json:"at"`
}

// Where an example of an intent is from.
const (
	SourceFix    = "fix"    // a recorded request whose intent was put right
	SourceImport = "import" // a text that was given as it is
)

// IntentExample is a message whose intent somebody has named. It holds for all
// of its tenant.
type IntentExample struct {
	ID        string    `json:"id"`
	Text      string    `json:"text"` // redacted
	Intent    string    `json:"intent"`
	Source    string    `json:"source"`
	Exchange  string    `json:"request_id,omitempty"` // that it was said in
	User      string    `json:"user,omitempty"`       // who said it
	Session   string    `json:"session_id,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
}

// Document is one document and its version in force.
type Document struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Version   int       `json:"version"` // in force; 0 = none yet
	Status    string    `json:"status"`  // published, pending, scheduled, expired
	Groups    []string  `json:"groups"`
	Passages  int       `json:"passages"` // of the version in force
	UpdatedAt time.Time `json:"updated_at"`
}

// Version is one version of a document.
type Version struct {
	Version   int       `json:"version"`
	Status    string    `json:"status"` // current, scheduled, replaced, pending, expired
	Title     string    `json:"title"`
	Groups    []string  `json:"groups"` // who may read it; none = everybody
	SHA256    string    `json:"sha256"`
	Effective time.Time `json:"effective,omitzero"`
	Expires   time.Time `json:"expires,omitzero"`
	Vectors   string    `json:"vectors"` // none, pending, ready
	Passages  int       `json:"passages"`
	CreatedAt time.Time `json:"created_at"`
}

// Passage is a chunk of a document version.
type Passage struct {
	ID       string `json:"id"`
	Document string `json:"document,omitempty"`
	Title    string `json:"title,omitempty"` // the document's
	Version  int    `json:"version,omitempty"`
	Ordinal  int    `json:"ordinal"` // from 0
	Heading  string `json:"heading"` // path of headings, " > " between
	Text     string `json:"text"`
	Tokens   int    `json:"tokens"`
	// Effective is the day from which the version is in force, zero if unsaid.
	Effective time.Time `json:"-"`
}

// Hit is one find of a search: an id and how well it fits.
type Hit struct {
	ID    string
	Score float64 // BM25; comparable within one answer only
	// Cover is the share of the query's rarity that the passage covers, 0-1.
	Cover float64
	// Named: the passage holds a rare name (a product, a code) of a query whose
	// other words are in a script without spaces.
	Named bool
	// Spread is how much scores of this query differ by chance, but for a factor
	// that is the index's own. 0 = it is not known.
	Spread float64
}
