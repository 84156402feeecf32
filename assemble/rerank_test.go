package assemble

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"strata/intent"
	"strata/stores"
)

func rulesFound(n int) (*fakeLedger, fixedHits) {
	l := &fakeLedger{}
	var hits fixedHits
	for i := range n {
		p := passage(fmt.Sprintf("p%02d", i), "Leave", fmt.Sprintf("Branch %d", i), fmt.Sprintf("Rule %d: leave is %d days for all. Ask 13812345678.", i, i*i))
		l.passages = append(l.passages, p)
		hits = append(hits, stores.Hit{ID: p.ID, Score: float64(99 - i), Cover: 0.7})
	}
	return l, hits
}

// A cross-encoder puts the first twenty into order, reads no more of them than
// it needs and none of their secrets.
func TestRerank(t *testing.T) {
	l, hits := rulesFound(30)
	var query string
	var sent []string
	rerank := func(_ context.Context, q string, texts []string) ([]float64, error) {
		query, sent = q, texts
		scores := make([]float64, len(texts))
		for i := range scores {
			scores[i] = -float64(i)
		}
		scores[7] = 3
		return scores, nil
	}
	q := ask("how many days of leave, call me on 13812345678")
	plan := planOf(intent.RAG)
	plan.Layers[0].Items = 25
	r := New(Config{Ledger: l, Index: hits, Rerank: rerank}).Assemble(t.Context(), q, plan, openingOf(l))
	if want := []string{"p07", "p00", "p01"}; !slices.Equal(r.Items[:3], want) || r.Items[20] != "p20" || r.Context != "full" {
		t.Errorf("%v %s", r.Items, r.Context)
	}
	if len(sent) != reranked || !strings.HasPrefix(sent[7], "Leave\nBranch 7\nRule 7") || strings.Contains(query+strings.Join(sent, ""), "13812345678") {
		t.Errorf("%q with %d texts: %q", query, len(sent), sent[0])
	}
}

func TestRerankThatFails(t *testing.T) {
	type scores = func(context.Context, string, []string) ([]float64, error)
	for name, test := range map[string]struct {
		rerank scores
		reason string
		waits  bool
	}{
		"late": {func(ctx context.Context, _ string, _ []string) ([]float64, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, "rerank_late", true},
		"broken":  {func(context.Context, string, []string) ([]float64, error) { return nil, errBroken }, "rerank_failed", false},
		"panics":  {func(context.Context, string, []string) ([]float64, error) { panic("reranker") }, "rerank_failed", false},
		"too few": {func(context.Context, string, []string) ([]float64, error) { return []float64{1}, nil }, "rerank_failed", false},
		"no number": {func(_ context.Context, _ string, texts []string) ([]float64, error) {
			return slices.Repeat([]float64{math.NaN()}, len(texts)), nil
		}, "rerank_failed", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, hits := rulesFound(5)
			begun := time.Now()
			r := New(Config{Ledger: l, Index: hits, Rerank: test.rerank}).Assemble(t.Context(), ask("how many days of leave"), planOf(intent.RAG), openingOf(l))
			took := time.Since(begun)
			if !slices.Equal(r.Items, []string{"p00", "p01", "p02", "p03", "p04"}) || took >= 150*time.Millisecond || (took > 0) != test.waits {
				t.Errorf("%s: %v after %v", name, r.Items, took)
			}
			if !slices.Contains(r.Skipped, Skipped{Name: "knowledge", Reason: test.reason}) || r.Context != "partial" || r.Reason != map[bool]string{true: "late", false: "store_unavailable"}[test.reason == "rerank_late"] {
				t.Errorf("%s: %s %q %v", name, r.Context, r.Reason, r.Skipped)
			}
		})
	}
}

// Vectors and the cross-encoder together hold a request no longer than its
// deadline, and the one leaves the other its time.
func TestVectorsLeaveTimeToRerank(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, hits := rulesFound(5)
		rerank := func(ctx context.Context, _ string, texts []string) ([]float64, error) {
			select {
			case <-time.After(40 * time.Millisecond):
				return []float64{1, 2, 3, 4, 5}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		a := New(Config{Ledger: l, Index: hits, Rerank: rerank, Vectors: &fakeVectors{hold: hang("vectors", nil)}})
		begun := time.Now()
		r := a.Assemble(t.Context(), ask("how many days of leave"), planOf(intent.RAG), openingOf(l))
		if took := time.Since(begun); took >= 150*time.Millisecond || r.Items[0] != "p04" || !slices.Contains(r.Skipped, Skipped{Name: "knowledge", Reason: "vectors_late"}) {
			t.Errorf("%v after %v; %v", r.Items, took, r.Skipped)
		}
	})
}
