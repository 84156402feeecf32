// Package judge has a language model look again at messages whose kind the
// classifier was unsure of, after their answers, so that the turns that follow
// lean on the right one. It decides what is asked, what counts as an answer
// and what becomes of it. Nothing waits for it, and what it has no room for is
// left as it was decided. It must not know which model that is or how it is
// called.
package judge

import (
	"context"
	"log/slog"

	"strata/intent"
	"strata/policy"
	"strata/stores"
)

// Case is an exchange of which another intent was almost as likely.
type Case struct {
	Scope  stores.Scope // its session too
	ID     string
	Intent intent.Intent
	Words  string // the user's own
	Before string // what the user said in the turn before, "" where the request did not hold it
}

// Ledger is where verdicts go.
type Ledger interface {
	SetIntent(ctx context.Context, scope stores.Scope, exchange, intent string) error
	Recent(ctx context.Context, scope stores.Scope, n int) ([]stores.Turn, error)
}

// What became of a case.
const (
	Agreed  = "agreed"  // the model says the same
	Changed = "changed" // it says another intent, which is now the exchange's
	Failed  = "failed"  // it gave no answer, or none that can be used
	Dropped = "dropped" // there was no room or no time, or the exchange is gone
)

// Results are all that can become of a case.
var Results = []string{Agreed, Changed, Failed, Dropped}

// Config is what a judge works with.
type Config struct {
	// Ask puts one question to the model. It bounds its own time.
	Ask    func(ctx context.Context, system, user string) (string, error)
	Ledger Ledger
	Judged func(result string) // optional; called once for each case
	Logger *slog.Logger        // nil = none
}

// waiting is how many cases may wait.
const waiting = 100

// Judge works through cases one by one. Make it with New.
type Judge struct {
	cfg     Config
	queue   chan Case
	failing bool // of Run alone
}

// New makes a judge. It begins with Run.
func New(cfg Config) *Judge {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Judged == nil {
		cfg.Judged = func(string) {}
	}
	return &Judge{cfg: cfg, queue: make(chan Case, waiting)}
}

// Offer hands in a case. It never waits.
func (j *Judge) Offer(c Case) {
	select {
	case j.queue <- c:
	default:
		j.cfg.Judged(Dropped)
	}
}

// Run works until ctx ends and drops what waits then.
func (j *Judge) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case c := <-j.queue:
			j.cfg.Judged(j.judge(ctx, c))
		case <-ctx.Done():
		}
	}
	for {
		select {
		case <-j.queue:
			j.cfg.Judged(Dropped)
		default:
			return
		}
	}
}

// judge asks about one case and writes down what the model says.
func (j *Judge) judge(ctx context.Context, c Case) (result string) {
	answer, err := j.cfg.Ask(ctx, instruction, question(c.Words, j.before(ctx, c)))
	if ctx.Err() != nil {
		return Dropped
	}
	said, ok := read(answer)
	if err == nil && ok {
		j.failing = false
	} else {
		j.tell(err)
		return Failed
	}
	if said == c.Intent {
		return Agreed
	}
	if err := j.cfg.Ledger.SetIntent(ctx, c.Scope, c.ID, string(said)); err != nil {
		j.cfg.Logger.Debug("an intent could not be put right", "request", c.ID, "error", err)
		return Dropped
	}
	return Changed
}

// tell logs the first of several failures in a row.
func (j *Judge) tell(err error) {
	switch {
	case j.failing:
	case err != nil:
		j.cfg.Logger.Warn("the model that judges unsure requests gave no answer; they stay as they were decided", "error", err)
	default:
		j.cfg.Logger.Warn("the model that judges unsure requests answers none of chat, rag, data; another one may follow the instruction better")
	}
	j.failing = true
}

// before is what the user said in the turn before: of clients that send one
// message, the ledger knows it.
func (j *Judge) before(ctx context.Context, c Case) string {
	if c.Before != "" {
		return c.Before
	}
	turns, err := j.cfg.Ledger.Recent(ctx, c.Scope, 2)
	if err != nil {
		return ""
	}
	said := ""
	for _, t := range turns {
		if t.Role == "user" && t.Exchange != c.ID {
			said = t.Content
		}
	}
	return said
}

// question words a case.
func question(words, before string) string {
	text := "<message>\n" + shown(words) + "\n</message>"
	if before != "" {
		text = "<turn_before>\n" + shown(before) + "\n</turn_before>\n" + text
	}
	return text
}

// shown is what of a text the model gets to see.
func shown(text string) string {
	clean, _ := policy.Redact(text)
	return short(clean, textSize)
}
