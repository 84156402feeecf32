package proxy

import (
	"bytes"
	"strings"

	"strata/intent"
	"strata/policy"
	"strata/stores"
)

// Unsure is a recorded exchange of which another intent was almost as likely.
type Unsure struct {
	Scope  stores.Scope // its session too
	ID     string
	Intent intent.Intent
	Words  string // the user's own, as they were classified
	Before string // what the user said in the turn before, "" where the request does not hold it
}

// tellUnsure hands out a recorded exchange whose intent was a near miss. A
// turn that goes on with tool calls is none yet: its further calls keep the
// intent that they began with. What the user wants off the record is nobody
// else's business either.
func (x *exchange) tellUnsure(e *stores.Exchange) {
	d := &x.d
	if x.parts.Unsure == nil || !d.verdict.NearMiss() || !e.Finished || e.ReceiptOnly || d.offRecord || d.caller.Mode != policy.On {
		return
	}
	// Copies, so that a short text does not keep the request that it was cut from.
	x.parts.Unsure(Unsure{
		Scope: e.Scope, ID: e.ID, Intent: d.verdict.Intent,
		Words: strings.Clone(d.talk.Messages[len(d.talk.Messages)-1].Text), Before: strings.Clone(d.talk.Before()),
	})
}

// defaultIntent is what the configuration says of such requests.
func (x *exchange) defaultIntent() intent.Intent {
	if x.parts.DefaultIntent == nil {
		return ""
	}
	path, _, _ := bytes.Cut(originForm(x.ctx.Request.Header.RequestURI()), []byte("?"))
	return x.parts.DefaultIntent(x.req.Model, string(path))
}
