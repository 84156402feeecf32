package learn

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strata/policy"
	"strata/stores"
	"testing"
	"time"
)

func TestGolden(t *testing.T) {
	b, _ := os.ReadFile("/tmp/texts.json")
	var texts []string
	json.Unmarshal(b, &texts)
	f, _ := os.Create(os.Getenv("GOLDEN"))
	w := bufio.NewWriter(f)
	at := time.Date(2026, 11, 30, 23, 30, 0, 0, time.FixedZone("CST", 8*3600))
	var prev stores.Memory
	for _, s := range texts {
		fo := Extract(s, at, time.UTC)
		j, _ := json.Marshal(fo)
		r, n := policy.Redact(s)
		a, bb, c := Cues(s)
		var more string
		for _, x := range fo.Candidates {
			more += fmt.Sprint(policy.Guard(x.Summary), policy.Slot(x.Topic, x.Value), policy.Merge(x, []stores.Memory{prev}))
			prev = stores.Memory{ID: "p", Topic: x.Topic, Summary: x.Summary, Scope: stores.UserScope, Slot: policy.Slot(x.Topic, x.Value)}
		}
		if len(s) > 300 {
			s = s[:300]
		}
		fmt.Fprintf(w, "%q\t%s\t%d %d %v %v %v off=%v\t%s %v %v %v %v\t%s\n", s, j, len(r), n, a, bb, c, offRecord(s), policy.NeverStore(s), policy.Lasting(s), policy.Question(s), policy.Facts(s), policy.Guard(s), more)
	}
	w.Flush()
}
