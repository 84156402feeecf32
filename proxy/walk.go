package proxy

import (
	"context"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"

	"strata/assemble"
	"strata/chat"
	"strata/intent"
	"strata/internal/hostcheck"
	"strata/internal/ids"
	"strata/learn"
	"strata/policy"
)

// handle serves one request. fasthttp calls it; everything the client gets is
// written from here.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	x := s.exchanges.Get().(*exchange)
	x.begin(ctx)
	defer x.end()

	x.parts = s.context.Load()
	x.head.read(&ctx.Request.Header, x.parts.headerNames())
	x.target = s.upstream.join(x.target[:0], ctx.Request.Header.RequestURI())
	if r, refused := s.admit(x); refused {
		x.refuse(r)
		return
	}
	if err := x.openBody(); err != nil {
		x.fail(err)
		return
	}
	switch {
	case x.preflight():
	case x.head.upgrade:
		x.tunnel()
	case ctx.IsPost() && isChat(x.target):
		x.id = ids.NewAt("req", x.began)
		x.walk()
	default:
		x.pass(smallBody)
	}
}

// admit refuses what a browser page could do behind the user's back: reach a
// loopback listener by a name it controls, or use a key or a user's memory
// that Strata supplies.
func (s *Server) admit(x *exchange) (refusal, bool) {
	if string(x.ctx.Method()) == http.MethodConnect {
		return refusedConnect, true
	}
	if s.cfg.Loopback && !hostcheck.Allowed(string(x.ctx.Request.Header.Host()), s.cfg.AllowHosts) {
		return refusedHost, true
	}
	browser := len(x.head.origin) > 0 || len(x.head.fetchSite) > 0
	if browser && (s.cfg.UpstreamAPIKey != "" || s.cfg.SuppliesUser) && !x.ctx.IsOptions() &&
		!hostcheck.OriginAllowed(string(x.head.origin), s.cfg.AllowOrigins) {
		return refusedOrigin, true
	}
	return refusal{}, false
}

// walk is a chat request's way: hold the body, read it, find out who asks
// what, gather the context for it, insert it, send it, pass the answer back
// and record both.
func (x *exchange) walk() {
	asked, _ := x.head.lookup("x-strata-explain")
	explain := asked == "1"
	reason := x.bypass()
	if reason != "" && !explain {
		x.note("bypassed", reason)
		x.pass(smallBody)
		return
	}
	if err := x.holdBody(x.s.cfg.EnrichMaxBodyBytes); err != nil {
		x.fail(err)
		return
	}
	if reason == "" {
		reason = x.think()
	}
	if x.walked = reason == ""; !x.walked {
		x.note("bypassed", reason)
	}
	if explain {
		x.explain()
		return
	}
	x.pass(0)
}

// think is the walk between the two bodies. The reason says why a request
// goes on as it came.
func (x *exchange) think() (reason string) {
	x.d.began = time.Now()
	if x.rest != nil {
		return "too_large"
	}
	if reason := x.read(); reason != "" {
		return reason
	}
	if x.parts == nil {
		x.note("none", x.s.cfg.NoContext)
		return ""
	}
	if reason := x.identify(); reason != "" {
		return reason
	}
	x.open()
	x.classify()
	x.assemble()
	x.insert()
	return ""
}

// bypass says why a chat request is not even looked at.
func (x *exchange) bypass() string {
	switch {
	case policy.ModeOf(x.head.lookup, policy.Mode(x.s.cfg.Mode)) == policy.Off:
		return "off"
	case x.head.signed:
		return "signed"
	case policy.TaskOf(x.head.lookup) != "":
		return "helper"
	}
	return ""
}

// read unpacks and parses the held body. What cannot be read is forwarded
// untouched; the reason says why.
func (x *exchange) read() (reason string) {
	body := x.body
	if len(x.head.contentEncoding) > 0 {
		var err error
		body, err = chat.Decode(string(x.head.contentEncoding), body, x.s.cfg.EnrichMaxBodyBytes)
		if err == chat.ErrTooLarge {
			return "too_large"
		}
		if err != nil {
			return "unparseable"
		}
	}
	if err := chat.ParseInto(x.req, body); err != nil {
		return "unparseable"
	}
	return ""
}

// identify finds out who asks, and what in their own words. A front end's
// helper calls and temporary switches end the walk here.
func (x *exchange) identify() (reason string) {
	c := x.parts
	x.d.caller = c.Identity.Identify(x.head.lookup, x.req)
	if x.d.caller.Mode == policy.Off {
		return "off"
	}
	x.d.talk = c.Identity.Converse(x.req, x.d.caller)
	if x.d.caller.Task != "" || x.d.talk.Helper {
		return "helper"
	}
	x.d.links = c.Keys.Links(x.d.caller, x.req, x.d.talk)
	x.d.recall, x.d.forget, x.d.offRecord = learn.Cues(x.d.talk.Words)
	return ""
}

// openLimit bounds the one read that opens a walk.
const openLimit = 50 * time.Millisecond

// open asks the ledger what is there for this caller. Without an answer no
// context is given: what cannot be proved undeleted is not served.
func (x *exchange) open() {
	if x.d.caller.Tenant == "" { // named wrongly: nobody's rows are read
		return
	}
	ctx, cancel := context.WithTimeout(x.context, openLimit)
	defer cancel()
	var err error
	if x.d.opening, err = x.parts.Ledger.Open(ctx, x.d.caller.Scope(), x.d.links); err != nil {
		x.d.unopened = true
		x.s.log.Warn("no context: the ledger did not answer", "request", x.id, "error", err)
	}
	if x.d.caller.User == "" {
		return
	}
	if x.d.session = x.d.opening.Session; x.d.session == "" {
		x.d.session = x.d.caller.Session
	}
	if x.d.session == "" {
		x.d.session = ids.New("ses")
	}
}

// classify decides the kind of question, and with it what may be read. The
// calls of one tool loop keep the kind of their first.
func (x *exchange) classify() {
	c, d := x.parts, &x.d
	if turn := d.opening.Turn; turn != nil && d.talk.ToolLoop && d.caller.Forced == "" {
		d.verdict = intent.Verdict{Intent: intent.Intent(turn.Intent), Confidence: 1, Stage: "followup", Rule: "tool loop"}
	} else {
		d.verdict = c.Classifier.Classify(d.talk.Messages, x.hints())
	}
	d.plan = c.Plans.PlanFor(d.caller, d.verdict)
	x.s.metrics.intents.WithLabelValues(string(d.verdict.Intent), d.verdict.Stage).Inc()
	x.countNearMiss()
}

func (x *exchange) hints() intent.Hints {
	d := &x.d
	h := intent.Hints{
		Forced: d.caller.Forced, Files: d.talk.Files, Tools: x.req.Tools(),
		ToolUse: x.req.ToolUse(), Last: intent.Intent(d.opening.LastIntent), Default: x.defaultIntent(), Examples: x.examples(),
	}
	if d.opening.Documents > 0 {
		h.Probe = func() (intent.Probe, bool) {
			ctx, cancel := context.WithTimeout(x.context, openLimit)
			defer cancel()
			cover, distinct, title, ok := x.parts.Assembler.Probe(ctx, d.caller.Scope(), d.talk.Words)
			return intent.Probe{Cover: cover, Distinct: distinct, Title: title}, ok
		}
	}
	return h
}

// assemble gathers the context that the plan asks for.
func (x *exchange) assemble() {
	d := &x.d
	blocked := d.plan.Inject && x.s.refusing.blocked(x.req.Model, x.began)
	switch {
	case d.talk.Last < 0:
		d.result = assemble.Result{Context: "none", Reason: "no_match"}
	case d.unopened:
		d.result = assemble.Result{Context: "none", Reason: "ledger"}
	case blocked:
		d.result = assemble.Result{Context: "none", Reason: "refused"}
	case !d.plan.Read:
		d.result = assemble.Result{Context: "none", Reason: "no_match"}
	default:
		// What the walk took so far counts.
		d.plan.Deadline = max(d.plan.Deadline-time.Since(d.began), time.Millisecond)
		d.result = x.parts.Assembler.Assemble(x.context, x.query(), d.plan, d.opening)
		for _, layer := range d.result.Layers {
			x.s.metrics.layers.WithLabelValues(layer.Name).Observe(layer.Millis / 1000)
		}
	}
	if !d.plan.Inject {
		d.result.Context = "none"
		if d.caller.Mode == policy.Observe {
			d.result.Reason = "observe"
		}
	}
	if d.result.Context == "none" && d.caller.User == "" && (d.result.Reason == "" || d.result.Reason == "no_match") {
		d.result.Reason = "no_user"
	}
}

func (x *exchange) query() assemble.Query {
	d := &x.d
	q := assemble.Query{
		Scope: d.caller.Scope(), Words: d.talk.Words, Before: d.talk.Before(), FollowUp: d.verdict.FollowUp,
		Request: x.visible, Thin: d.talk.Thin && d.caller.Named && !d.opening.LastHistory, ToolLoop: d.talk.ToolLoop,
		Recall: d.recall, Forget: d.forget, Private: d.caller.Private, Room: x.room(), Zone: x.s.zones.Find(d.caller.Timezone, time.UTC), Now: x.began,
	}
	q.Scope.Session = d.session
	return q
}

// room is how many tokens of context the model's window still takes, -1 where
// the window is not known.
func (x *exchange) room() int {
	window := x.parts.Window
	if window == nil {
		return -1
	}
	size := window(x.req.Model)
	if size == 0 {
		return -1
	}
	return policy.Room(size, x.req.EstimateTokens(), x.req.MaxTokens())
}

// insert puts the blocks into the body.
func (x *exchange) insert() {
	d := &x.d
	if d.plan.Inject && d.result.Context != "none" {
		body, inserted := x.req.InjectInto(x.spare, d.result.Stable, d.result.Volatile)
		if len(inserted) > 0 {
			x.original, x.originalSize, x.spare = x.body, x.size, nil
			x.body, x.plain = body, len(x.head.contentEncoding) > 0
			if x.size >= 0 {
				x.size = len(body)
			}
			x.countInjected()
			x.note(d.result.Context, d.result.Reason)
			return
		}
		d.result.Context, d.result.Reason, d.result.Chosen = "none", "no_match", false
	}
	x.drop(d.result.Reason)
}

// drop notes that nothing of what was gathered goes upstream.
func (x *exchange) drop(reason string) {
	d := &x.d
	d.result.Tokens, d.result.Items, d.result.StableIDs, d.result.Sources = 0, nil, nil, nil
	if reason == "" {
		reason = "no_match"
	}
	d.result.Context, d.result.Reason = "none", reason
	x.note("none", reason)
}

// pass sends the request and relays the answer. Of a body not held yet up to
// hold bytes are read first, so that the usual request is one write.
func (x *exchange) pass(hold int) {
	if err := x.holdBody(hold); err != nil {
		x.fail(err)
		return
	}
	if x.id == "" {
		x.id = ids.NewAt("req", x.began)
	}
	if err := x.acquire(); err != nil {
		x.fail(err)
		return
	}
	defer x.s.upstream.leave()
	c, block, err := x.roundTrip()
	overhead := x.sent.Sub(x.began)
	if err == nil && x.original != nil && refusesContext(x.answer.StatusCode()) {
		c, block, err = x.sendOriginal(c)
	}
	if err != nil {
		x.fail(err)
		return
	}
	x.s.metrics.overhead.Observe(overhead.Seconds())
	x.s.metrics.ttft.Observe(x.head1.Sub(x.sent).Seconds())
	if x.walked {
		x.collector.Reset(string(x.answer.ContentType()), string(x.answer.ContentEncoding()))
	}
	x.relay(c, block)
}

// acquire waits for a place at upstream, with an eye on the client.
func (x *exchange) acquire() error {
	if x.rest == nil {
		x.client.bodyRead()
	}
	return x.s.upstream.acquire(x.context)
}
