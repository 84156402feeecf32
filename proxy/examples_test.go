package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"strata/proxy"
	"strata/stores"
)

// exampleSource is where examples are read, and counts the reads.
type exampleSource struct {
	mu    sync.Mutex
	list  map[string][]stores.IntentExample // by tenant
	reads map[string]int
	err   error
}

func (s *exampleSource) Examples(_ context.Context, tenant string) ([]stores.IntentExample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads[tenant]++
	if tenant == "panics" {
		panic("a broken store")
	}
	return s.list[tenant], s.err
}

func (s *exampleSource) count(tenant string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads[tenant]
}

const odd = "please list the blue whales of our second floor"

func startWithExamples(t *testing.T) (*walkTest, *exampleSource) {
	t.Helper()
	s := &exampleSource{reads: map[string]int{}, list: map[string][]stores.IntentExample{
		"T1": {{ID: "iex_other", Text: "write me a poem about rain", Intent: "rag"}, {ID: "iex_1", Text: odd, Intent: "data"}}}}
	return startWalk(t, nil, func(c *proxy.Config) { c.Context.Examples = s }), s
}

func (l *ledger) set(change func(*stores.Opening)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.opening)
}

// verdict asks and returns X-Strata-Intent.
func (w *walkTest) verdict(t *testing.T, text string, headers ...string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "m", "messages": []map[string]string{{"role": "user", "content": text}}})
	if err != nil {
		t.Fatal(err)
	}
	resp, _ := w.ask(t, string(body), headers...)
	return resp.Header.Get("X-Strata-Intent")
}

// A tenant's examples decide, and are read once for each change.
func TestExamples(t *testing.T) {
	w, s := startWithExamples(t)
	example := func(got string) bool {
		return strings.HasPrefix(got, "data; ") && strings.HasSuffix(got, "stage=example")
	}
	if got := w.verdict(t, odd); example(got) || s.count("T1") != 0 {
		t.Errorf("an opening that tells of none: %s after %d reads", got, s.count("T1"))
	}
	w.ledger.set(func(o *stores.Opening) { o.Examples, o.KBGen = 2, 7 })
	w.verdict(t, odd) // on a busy machine the first one is late
	for range 3 {
		if got := w.verdict(t, odd+", thanks"); !example(got) {
			t.Errorf("with an example: %s", got)
		}
	}
	if n := s.count("T1"); n != 1 {
		t.Errorf("%d reads of one generation", n)
	}
	if got := w.verdict(t, odd, "X-Strata-Tenant", "T2"); example(got) {
		t.Errorf("another tenant: %s", got)
	}
	if got := w.verdict(t, odd, "X-Strata-Intent", "rag"); !strings.Contains(got, "stage=header") {
		t.Errorf("forced: %s", got)
	}
	s.mu.Lock()
	s.list["T1"] = nil
	s.mu.Unlock()
	w.ledger.set(func(o *stores.Opening) { o.KBGen = 8 })
	if got := w.verdict(t, odd); example(got) || s.count("T1") != 2 {
		t.Errorf("gone with the next generation: %s after %d reads", got, s.count("T1"))
	}
}

// Whose words an example is may be another user's: receipts name its id.
func TestExampleIsNamedByID(t *testing.T) {
	w, _ := startWithExamples(t)
	w.ledger.set(func(o *stores.Opening) { o.Examples = 2 })
	w.verdict(t, odd)
	w.verdict(t, odd+" again")
	var receipt struct {
		Rule string `json:"rule"`
	}
	e := w.ledger.all()
	if err := json.Unmarshal(e[len(e)-1].Receipt, &receipt); err != nil || receipt.Rule != "example iex_1" {
		t.Errorf("the rule is %q, %v", receipt.Rule, err)
	}
}

// Examples that cannot be read, or not in time, cost a request next to nothing.
func TestExamplesThatDoNotCome(t *testing.T) {
	w, s := startWithExamples(t)
	w.ledger.set(func(o *stores.Opening) { o.Examples = 2 })
	s.err = errors.New("broken")
	for range 5 {
		if got := w.verdict(t, odd); strings.Contains(got, "stage=example") {
			t.Errorf("without examples: %s", got)
		}
	}
	if n := s.count("T1"); n != 1 {
		t.Errorf("%d reads of what is broken", n)
	}
	if got := w.verdict(t, odd, "X-Strata-Tenant", "panics"); got == "" || s.count("panics") != 1 {
		t.Errorf("a panic: %q", got)
	}
}
