package proxy_test

import (
	"net/http"
	"testing"

	"strata/assemble"
	"strata/internal/upstreamtest"
	"strata/proxy"
)

// Sources are named where that is configured, and only of what went upstream.
func TestCitationsHeader(t *testing.T) {
	const want = `[{"document": "leave.md", "title": "\u4f11\u5047", "section": "page 3"}]`
	refuses := func(*upstreamtest.Request) *upstreamtest.Script { return upstreamtest.JSON(400, `{"error":{}}`) }
	for name, test := range map[string]struct {
		off     bool
		handler upstreamtest.Handler
		headers []string
		want    string
	}{
		"configured":     {want: want},
		"not configured": {off: true},
		"observed":       {headers: []string{"X-Strata-Mode", "observe"}},
		"off":            {headers: []string{"X-Strata-Mode", "off"}},
		"sent without":   {handler: refuses},
		"explained":      {headers: []string{"X-Strata-Explain", "1"}, want: want},
	} {
		w := startWalk(t, test.handler, func(c *proxy.Config) { c.Loopback = true; c.Context.Citations = !test.off })
		w.assembly.result.Sources = []assemble.Source{{Document: "leave.md", Title: "休假", Section: "page 3"}}
		resp, _ := w.ask(t, systemBody, test.headers...)
		if got := resp.Header.Get("X-Strata-Citations"); got != test.want || len(resp.Header.Values("X-Strata-Citations")) > 1 {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if test.handler == nil && resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
}
