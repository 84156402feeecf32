package llm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"strata/internal/upstreamtest"
	"strata/llm"
)

// rerankAsked is what a reranker was sent.
type rerankAsked struct {
	Model     *string
	Query     string
	Documents []string
	Texts     []string
	Truncate  bool
}

func readRerank(t testing.TB, r *upstreamtest.Request) rerankAsked {
	t.Helper()
	var a rerankAsked
	if err := json.Unmarshal(r.Body, &a); err != nil {
		t.Errorf("sent %s: %v", r.Body, err)
	}
	return a
}

// scoring answers texts that begin with a number by that number, best first.
func scoring(texts []string, score string) string {
	entries := make([]string, len(texts))
	for i, text := range texts {
		n := 0
		_, _ = fmt.Sscanf(text, "%d", &n)
		entries[len(texts)-1-i] = fmt.Sprintf(`{"index":%d,%q:%d.5}`, i, score, n)
	}
	return "[" + strings.Join(entries, ",") + "]"
}

// cohereOnly and teiOnly refuse the other's request, as those servers do.
func cohereOnly(t testing.TB, r *upstreamtest.Request) *upstreamtest.Script {
	a := readRerank(t, r)
	if a.Documents == nil || a.Texts != nil {
		return upstreamtest.JSON(400, `{"message":"documents"}`)
	}
	return upstreamtest.JSON(200, `{"id":"x","results":`+scoring(a.Documents, "relevance_score")+`,"meta":{"billed_units":{"search_units":1}}}`)
}

func teiOnly(t testing.TB, r *upstreamtest.Request) *upstreamtest.Script {
	a := readRerank(t, r)
	if a.Texts == nil || len(a.Texts) > 32 {
		return upstreamtest.JSON(422, `{"error":"texts"}`)
	}
	return upstreamtest.JSON(200, " "+scoring(a.Texts, "score"))
}

func TestRerank(t *testing.T) {
	for name, c := range map[string]struct {
		path   string
		target string
		answer func(testing.TB, *upstreamtest.Request) *upstreamtest.Script
		calls  []int // for each of three times of 40 texts
	}{
		"Cohere":               {"/v2", "/v2/rerank", cohereOnly, []int{1, 1, 1}},
		"Jina":                 {"/v1/rerank", "/v1/rerank", cohereOnly, []int{1, 1, 1}},
		"TEI":                  {"", "/rerank", teiOnly, []int{2, 2, 2}},
		"TEI below a path":     {"/tei/", "/tei/rerank", teiOnly, []int{2, 2, 2}},
		"Cohere's, no version": {"", "/rerank", cohereOnly, []int{2, 1, 1}},
		"TEI's, with version":  {"/v1", "/v1/rerank", teiOnly, []int{3, 2, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script { return c.answer(t, r) })
			rr := llm.NewReranker(llm.RerankerConfig{BaseURL: up.URL() + c.path, APIKey: key, Model: "rerank-v3.5"})
			for round, calls := range c.calls {
				before := up.Calls()
				scores, err := rr.Rerank(t.Context(), "年假?", numbered(40))
				if err != nil {
					t.Fatal(err)
				}
				for i, s := range scores {
					if s != float64(i)+0.5 {
						t.Fatalf("%v", scores)
					}
				}
				if len(scores) != 40 || up.Calls()-before != calls {
					t.Errorf("round %d: %d scores, %d calls, want %d", round, len(scores), up.Calls()-before, calls)
				}
			}
			last := up.Requests()[up.Calls()-1]
			a := readRerank(t, last)
			if last.Target != c.target || last.Get("Authorization") != "Bearer "+key || a.Query != "年假?" {
				t.Errorf("sent to %s: %s", last.Target, last.Body)
			}
			if a.Documents != nil && (a.Model == nil || *a.Model != "rerank-v3.5") || a.Texts != nil && !a.Truncate {
				t.Errorf("sent %s", last.Body)
			}
		})
	}
}

// Nothing is sent for no texts, and no model or key where none is named. A
// shape that has worked once is not doubted.
func TestRerankLittle(t *testing.T) {
	refuse := atomic.Bool{}
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		if refuse.Load() {
			return refuses(400)
		}
		return cohereOnly(t, r)
	})
	rr := llm.NewReranker(llm.RerankerConfig{BaseURL: up.URL() + "/v1"})
	if scores, err := rr.Rerank(t.Context(), "q", nil); err != nil || scores != nil || up.Calls() != 0 {
		t.Errorf("%v, %v, %d calls", scores, err, up.Calls())
	}
	if scores, err := rr.Rerank(t.Context(), "q", numbered(1)); err != nil || !slices.Equal(scores, []float64{0.5}) {
		t.Errorf("%v, %v", scores, err)
	}
	sent := up.Requests()[0]
	if readRerank(t, sent).Model != nil || sent.Get("Authorization") != "" {
		t.Errorf("sent %s %s", sent.Head, sent.Body)
	}
	refuse.Store(true)
	if _, err := rr.Rerank(t.Context(), "q", numbered(1)); err == nil || up.Calls() != 2 {
		t.Errorf("%v after %d calls", err, up.Calls())
	}
}

func TestRerankHostile(t *testing.T) {
	good := `{"results":[{"index":0,"relevance_score":0.1},{"index":1,"relevance_score":0.2}]}`
	elsewhere := upstreamtest.New(t, upstreamtest.Always(upstreamtest.JSON(200, good)))
	cases := hostile(elsewhere.URL()+"/v1/rerank", good)
	of := func(data string) *upstreamtest.Script { return upstreamtest.JSON(200, `{"results":[`+data+`]}`) }
	for name, c := range map[string]hostileCase{
		"too few":   {of(`{"index":0,"relevance_score":1}`), "1 scores for 2 texts"},
		"too many":  {upstreamtest.JSON(200, `[{"index":0,"score":1},{"index":1,"score":1},{"index":2,"score":1}]`), "3 scores for 2 texts"},
		"twice":     {of(`{"index":0,"relevance_score":1},{"index":0,"relevance_score":1}`), "no text each"},
		"no index":  {of(`{"relevance_score":1},{"relevance_score":1}`), "no text each"},
		"no score":  {of(`{"index":0},{"index":1}`), "no text each"},
		"outside":   {of(`{"index":0,"relevance_score":1},{"index":2,"relevance_score":1}`), "no text each"},
		"negative":  {of(`{"index":-1,"relevance_score":1},{"index":1,"relevance_score":1}`), "no text each"},
		"NaN":       {of(`{"index":0,"relevance_score":NaN},{"index":1,"relevance_score":1}`), "invalid character"},
		"too large": {of(`{"index":0,"relevance_score":1e999},{"index":1,"relevance_score":1}`), "number 1e999"},
		"long":      {of(`{"index":0,"relevance_score":1` + strings.Repeat("0", 9999) + `},{"index":1,"relevance_score":1}`), "number 1000"},
		"a text":    {upstreamtest.JSON(200, `"yes"`), "cannot unmarshal"},
	} {
		cases[name] = c
	}
	checkHostile(t, cases, elsewhere, func(base string, timeout time.Duration) error {
		rr := llm.NewReranker(llm.RerankerConfig{BaseURL: base, APIKey: key, Timeout: timeout})
		scores, err := rr.Rerank(t.Context(), "q", []string{"a", "b"})
		if scores != nil {
			t.Errorf("scores beside %v: %v", err, scores)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		return err
	})
}

func TestRerankBreaker(t *testing.T) {
	var good atomic.Bool
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		if good.Load() {
			return cohereOnly(t, r)
		}
		return upstreamtest.JSON(503, "{}")
	})
	now := time.Now()
	rr := llm.NewReranker(llm.RerankerConfig{BaseURL: up.URL() + "/v1", Clock: func() time.Time { return now }})
	ask := func() error {
		_, err := rr.Rerank(t.Context(), "q", numbered(2))
		return err
	}
	for range 5 {
		if err := ask(); err == nil || errors.Is(err, llm.ErrPaused) {
			t.Errorf("%v", err)
		}
	}
	if err := ask(); !errors.Is(err, llm.ErrPaused) || up.Calls() != 5 {
		t.Errorf("%v after %d calls", err, up.Calls())
	}
	good.Store(true)
	now = now.Add(61 * time.Second)
	for range 2 {
		if err := ask(); err != nil {
			t.Errorf("healed: %v", err)
		}
	}
}
