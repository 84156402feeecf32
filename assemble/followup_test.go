package assemble

import (
	"testing"
	"testing/synctest"

	"strata/intent"
	"strata/stores"
)

// Of a client that sends one message, the turn that its words lean on is among
// the recorded ones. A ledger that hangs does not keep the search from its time.
func TestFollowUpOfAThinClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for hangs, want := range map[string]string{"": "病假呢？\n年假有几天？", "recent": "病假呢？"} {
			l := &fakeLedger{turns: []stores.Turn{
				{Exchange: "req_0", Role: "user", Content: "工资几号发？"}, {Exchange: "req_0", Role: "assistant", Content: "10号。"},
				{Exchange: "req_1", Role: "user", Content: "年假有几天？"}, {Exchange: "req_1", Role: "assistant", Content: "15天。"}}}
			if hangs != "" {
				l.hold = hang(hangs, nil)
			}
			index := &fakeIndex{}
			q := ask("病假呢？")
			q.Thin, q.FollowUp = true, true
			r := New(Config{Ledger: l, Index: index}).Assemble(t.Context(), q, planOf(intent.RAG), stores.Opening{Documents: 1, Turns: 2})
			if len(index.queries) == 0 || index.queries[0] != want || l.calls.recent.Load() != 1 {
				t.Errorf("searched for %q, want %q first; the turns were read %d times", index.queries, want, l.calls.recent.Load())
			}
			if (hangs == "") != (len(r.Items) == 4) {
				t.Errorf("given %v", r.Items)
			}
		}
	})
}
