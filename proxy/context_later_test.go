package proxy_test

import (
	"net/http"
	"testing"

	"strata/internal/upstreamtest"
	"strata/policy"
	"strata/proxy"
)

// A request under way goes on without context when it comes; the next one gets
// it, by the header lines that only then tell who asks.
func TestContextThatComesLater(t *testing.T) {
	gate := make(chan struct{})
	answer := upstreamtest.Respond(200).Header("Content-Type", "application/json").Wait(gate).WriteString(chatAnswer)
	var later *proxy.Context
	w := startWalk(t, upstreamtest.Always(answer), func(c *proxy.Config) {
		later = c.Context
		c.Context, c.NoContext = nil, "store_unavailable"
	})
	identity, err := policy.NewIdentity(policy.IdentityConfig{Tenant: "T1", Mode: policy.On, Stage: policy.Recall, Loopback: true,
		Headers: policy.IdentityHeaders{User: "X-Remote-User"}})
	if err != nil {
		t.Fatal(err)
	}
	later.Identity = identity

	first := make(chan *http.Response, 1)
	go func() {
		resp, _ := w.ask(t, chatBody, "X-Remote-User", "U2")
		first <- resp
	}()
	if sent := string(lastRequest(t, w.up, 1).Body); sent != chatBody {
		t.Errorf("without context upstream got %s", sent)
	}
	w.SetContext(later)
	close(gate)
	if resp := <-first; resp == nil || resp.Header.Get("X-Strata-Context") != "none; tokens=0; reason=store_unavailable" {
		t.Errorf("the request under way: %v", resp)
	}
	if n := len(w.ledger.all()); n != 0 {
		t.Errorf("%d exchanges are recorded of nobody", n)
	}
	resp, _ := w.ask(t, chatBody, "X-Remote-User", "U2")
	if h := resp.Header.Get("X-Strata-Context"); h != "full; tokens=7" {
		t.Errorf("the next request: X-Strata-Context %q", h)
	}
	if e := w.ledger.all(); len(e) != 1 || e[0].Scope.User != "U2" {
		t.Errorf("recorded %+v, want one exchange of U2", e)
	}
	if f := <-w.finished; f.User != "U2" || len(w.finished) != 0 {
		t.Errorf("finished %+v and %d more", f, len(w.finished))
	}
}
