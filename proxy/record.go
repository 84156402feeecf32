package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"strata/assemble"
	"strata/chat"
	"strata/intent"
	"strata/policy"
	"strata/stores"
)

// note keeps what X-Strata-Context will say.
func (x *exchange) note(result, reason string) {
	if result == "none" && reason == "" {
		reason = "no_match"
	}
	x.result, x.reason = result, reason
	if reason == "no_match" {
		x.s.metrics.noMatch.Inc()
		return
	}
	x.s.metrics.context.WithLabelValues(result, reason).Inc()
}

// countInjected counts the tokens inserted, by tier.
func (x *exchange) countInjected() {
	stable := 0
	for _, l := range x.d.result.Layers {
		if l.Name == "stable" {
			stable = l.Tokens
		}
	}
	kind := string(x.d.verdict.Intent)
	x.s.metrics.injected.WithLabelValues("stable", kind).Add(float64(stable))
	x.s.metrics.injected.WithLabelValues("volatile", kind).Add(float64(x.d.result.Tokens - stable))
}

// appendOwnHeaders appends what Strata says about a chat request. Other calls
// come back as upstream answered them.
func (x *exchange) appendOwnHeaders(dst []byte) []byte {
	if x.result == "" {
		return dst
	}
	d := &x.d
	dst = append(dst, "X-Strata-Request-Id: "...)
	dst = append(dst, x.id...)
	if d.verdict.Intent != "" {
		dst = append(dst, "\r\nX-Strata-Intent: "...)
		dst = append(dst, d.verdict.Intent...)
		dst = append(dst, "; confidence="...)
		dst = strconv.AppendFloat(dst, d.verdict.Confidence, 'f', 2, 64)
		dst = append(dst, "; stage="...)
		dst = append(dst, d.verdict.Stage...)
	}
	dst = append(dst, "\r\nX-Strata-Context: "...)
	dst = append(dst, x.result...)
	dst = append(dst, "; tokens="...)
	dst = strconv.AppendInt(dst, int64(d.result.Tokens), 10)
	for _, s := range d.result.Skipped {
		if s.ID == "" { // a whole layer; single candidates are in the receipt
			dst = append(append(append(append(dst, "; skipped="...), s.Name...), ':'), s.Reason...)
		}
	}
	if x.reason != "" {
		dst = append(dst, "; reason="...)
		dst = append(dst, x.reason...)
	}
	if x.reason == "no_user" {
		dst = append(append(dst, "; "...), cmp.Or(d.caller.NoUser, "fix=identity")...)
	}
	if d.session != "" && !d.caller.Named {
		dst = append(dst, "\r\nX-Strata-Session: "...)
		dst = append(dst, d.session...)
	}
	if x.parts != nil && x.parts.Citations {
		dst = appendCitations(dst, d.result.Sources)
	}
	dst = append(dst, "\r\nServer-Timing: strata;dur="...)
	dst = strconv.AppendFloat(dst, float64(x.sent.Sub(x.began))/float64(time.Millisecond), 'f', 3, 64)
	return append(dst, "\r\n"...)
}

// recordLimit is how long the end of an answer may wait for its record.
const recordLimit = 50 * time.Millisecond

// record writes the exchange down, once. It runs before the client gets the
// end of the answer, so that an answer received in full is never lost.
func (x *exchange) record(whole bool) {
	if x.d.recorded || x.parts == nil {
		return
	}
	x.d.recorded = true
	x.said = x.collector.Answer(whole)
	x.heard = true
	if x.d.talk.Last < 0 || x.d.caller.Tenant == "" {
		return
	}
	e := x.exchangeRecord(time.Now())
	ctx := context.Background()
	if !e.ReceiptOnly { // a receipt alone is not waited for
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, recordLimit)
		defer cancel()
	}
	if err := x.parts.Ledger.Record(ctx, e); err != nil {
		x.s.metrics.late.Inc()
		x.s.log.Debug("the exchange was not recorded in time", "request", x.id, "error", err)
		if n := x.s.late.count(time.Now()); n > 0 {
			x.s.log.Warn("exchanges were not recorded in time", "exchanges", n, "request", x.id, "error", err)
		}
	} else {
		x.tellUnsure(&e)
	}
	if e.Learn && x.parts.Recorded != nil {
		x.parts.Recorded()
	}
}

// lateEvery is how often late records are told of: a store that falls behind
// would fill the log with them.
const lateEvery = 10 * time.Second

// lateRecords counts late records between two lines of the log.
type lateRecords struct {
	mu   sync.Mutex
	n    int
	told time.Time
}

// count returns how many are to be told of now, 0 for later.
func (l *lateRecords) count(now time.Time) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n++; now.Sub(l.told) < lateEvery {
		return 0
	}
	n, l.n, l.told = l.n, 0, now
	return n
}

// exchangeRecord is what will be known of this exchange.
func (x *exchange) exchangeRecord(now time.Time) stores.Exchange {
	d := &x.d
	e := stores.Exchange{
		ID: x.id, Scope: d.caller.Scope(), Links: d.links, Named: d.caller.Named, History: d.talk.History,
		AnswerID: x.said.ID, Model: x.req.Model, Status: x.status(),
		Intent: string(d.verdict.Intent), Timezone: d.caller.Timezone,
		Items: d.result.Items, Receipt: x.receipt(), At: x.began, Ended: now,
		ReceiptOnly: x.receiptOnly(),
	}
	e.Scope.Session = d.session
	if e.ReceiptOnly {
		return e
	}
	answer, open := firstChoice(x.said)
	e.Finished = e.Status == stores.Complete && !open
	if d.plan.Inject && !d.unopened {
		e.Stable, e.StableGen, e.Pin = d.result.StableIDs, d.opening.StableGen, d.result.Chosen
	}
	if d.offRecord {
		return e
	}
	e.Asked, e.Answer = d.talk.Words, policy.Storable(answer)
	e.PairKey = x.parts.Keys.Pair(d.caller, d.talk.Words, answer)
	e.Learn = d.plan.Learn && e.Finished
	return e
}

// firstChoice is the answer that a conversation goes on with, and whether it
// leaves tool calls to be answered.
func firstChoice(a chat.Answer) (text string, open bool) {
	if len(a.Choices) == 0 {
		return "", false
	}
	c := a.Choices[0]
	if c.Text == "" {
		return c.Refusal, len(c.ToolCalls) > 0
	}
	return c.Text, len(c.ToolCalls) > 0
}

func (x *exchange) status() stores.ExchangeStatus {
	switch {
	case x.answer.StatusCode() >= 400 || x.said.Outcome == chat.Failed:
		return stores.Failed
	case x.said.Outcome == chat.Complete:
		return stores.Complete
	}
	return stores.Aborted
}

// account is what was decided for a request, as receipts and explanations
// tell it.
type account struct {
	Intent        string                `json:"intent"`
	Confidence    float64               `json:"confidence"`
	Stage         string                `json:"stage"`
	Rule          string                `json:"rule,omitempty"`
	Probabilities *intent.Probabilities `json:"probabilities,omitempty"` // where the trained stage was asked
	Why           []intent.Reason       `json:"why,omitempty"`
	Context       string                `json:"context"`
	Reason        string                `json:"reason,omitempty"`
	Layers        []assemble.LayerUse   `json:"layers"`
	Skipped       []assemble.Skipped    `json:"skipped"`
	Tokens        int                   `json:"block_tokens"`
}

// account tells it, with or without what holds words of the message.
func (x *exchange) account(words bool) account {
	d := &x.d
	a := account{
		Intent: string(d.verdict.Intent), Confidence: d.verdict.Confidence, Stage: d.verdict.Stage,
		Context: x.result, Reason: x.reason, Layers: d.result.Layers, Skipped: d.result.Skipped, Tokens: d.result.Tokens,
	}
	x.because(&a, words)
	if a.Layers == nil { // lists, never null
		a.Layers = []assemble.LayerUse{}
	}
	if a.Skipped == nil {
		a.Skipped = []assemble.Skipped{}
	}
	return a
}

// millis is how long Strata took before the request went upstream.
func (x *exchange) millis() float64 {
	return float64(x.sent.Sub(x.began).Microseconds()) / 1000
}

// receiptOnly tells whether neither texts nor session are kept.
func (x *exchange) receiptOnly() bool { return !x.d.plan.Record || x.d.caller.User == "" }

// receipt is what GET /v1/receipts answers.
func (x *exchange) receipt() []byte {
	b, err := json.Marshal(struct {
		ID       string      `json:"request_id"`
		AnswerID string      `json:"answer_id,omitempty"`
		At       string      `json:"at"`
		Session  string      `json:"session,omitempty"`
		Model    string      `json:"model"`
		Mode     policy.Mode `json:"mode"`
		account
		Cached int     `json:"cached_tokens"`
		Millis float64 `json:"ms"`
	}{x.id, x.said.ID, x.began.UTC().Format(time.RFC3339), x.d.session, x.req.Model, x.d.caller.Mode,
		x.account(!x.receiptOnly() && !x.d.offRecord), x.said.Usage.CachedTokens, x.millis()})
	if err != nil {
		panic("BUG: a receipt does not encode: " + err.Error())
	}
	return b
}

// finish takes note of the answer once it is over.
func (x *exchange) finish(whole bool) {
	if !x.walked {
		return
	}
	x.record(whole)
	if !x.heard {
		x.said = x.collector.Answer(whole)
	}
	outcome := x.said.Outcome
	if x.answer.StatusCode() >= 400 {
		outcome = chat.Failed
	}
	if outcome == chat.Complete {
		x.s.metrics.complete.Inc()
	} else {
		x.s.metrics.answers.WithLabelValues(outcome.String()).Inc()
	}
	if n := x.said.Usage.CachedTokens; n > 0 {
		x.s.metrics.cached.Add(float64(n))
	}
	x.announce()
}

// announce tells whoever watches that a walk has ended.
func (x *exchange) announce() {
	c := x.parts
	if c == nil || c.Finished == nil {
		return
	}
	d := &x.d
	f := Finished{
		At: x.began, ID: x.id, Tenant: d.caller.Tenant, User: d.caller.User, Session: d.session, Model: strings.Clone(x.req.Model),
		Intent: string(d.verdict.Intent), Stage: d.verdict.Stage, Confidence: d.verdict.Confidence,
		Context: x.result, Reason: x.reason, Tokens: d.result.Tokens,
		Millis: x.millis(), Status: string(x.status()),
	}
	for _, l := range d.result.Layers {
		if len(l.IDs) > 0 {
			f.Layers = append(f.Layers, l.Name)
		}
	}
	c.Finished(f)
}
