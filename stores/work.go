package stores

import (
	"iter"
	"time"
)

// Work is what waits to be learned from one session.
type Work struct {
	Scope     Scope
	Exchanges []Exchange // recorded, finished and learnable, in the order of their turns
	Lease     string     // to be named in the Lesson; ends by itself after a minute
}

// Lesson is what was decided on some of a Work's exchanges. It is written in
// one transaction or not at all.
type Lesson struct {
	Scope   Scope // user and session of the work
	Lease   string
	UserGen int64 // of the memories that Add, Evidence and Delete were decided on; other than now = ErrConflict

	Learned  []Redaction // done with; their texts are replaced by these
	Failed   []string    // exchanges that are given up
	Add      []Memory    // Supersedes names the row that it closes; Sources its evidence
	Evidence []Evidence  // added to rows that stay
	Delete   []string    // ids of the user's active memories
	Rejected []Rejected
	Standing bool // a standing preference was stated or changed
}

// Decides tells whether the lesson changes memories, and so rests on those
// that were there.
func (l *Lesson) Decides() bool { return len(l.Add)+len(l.Evidence)+len(l.Delete) > 0 || l.Standing }

// Redaction is the text of an exchange as it is kept from now on.
type Redaction struct {
	ID, Asked, Answer string
}

// Evidence is an exchange that a memory rests on.
type Evidence struct {
	MemoryID, ExchangeID string
}

// Draft is a document version to be.
type Draft struct {
	ID        string
	Title     string
	SHA256    string // hex, of the file
	MediaType string
	Groups    []string  // who may read it; none = everybody
	Effective time.Time // zero = at once
	Expires   time.Time // zero = never
	Passages  []Passage // ordinals and ids are set by the ledger
	// More are the passages that follow those, where they are too many to be
	// held in memory; nil = none. It may be read more than once. An error is
	// its last pair.
	More iter.Seq2[Passage, error]
}

// PutResult tells what became of a Draft.
type PutResult struct {
	Version   int
	Unchanged bool // equal to the newest version, nothing was written
	Passages  int
	Vectors   string // of the version: none, pending, ready
}

// OutboxEntry is one change that the index still has to make. Making it twice
// does no harm.
type OutboxEntry struct {
	Seq      int64
	Tenant   string
	Document string
	Version  int
	Op       OutboxOp
	Passages []Passage // to remove: ids only
}

// OutboxOp is what is to be done to the index.
type OutboxOp string

// The operations of an outbox entry.
const (
	OutboxPut    OutboxOp = "put"
	OutboxRemove OutboxOp = "remove"
	OutboxEmbed  OutboxOp = "embed"
)

// RebuildState is how far a wish to fill the index anew has come.
type RebuildState string

// The states of a rebuild.
const (
	NoRebuild      RebuildState = ""
	RebuildAsked   RebuildState = "asked"
	RebuildRunning RebuildState = "running" // or whoever ran it has ended
)
