package policy

import (
	"fmt"
	"testing"
	"time"

	"strata/stores"
)

// BenchmarkMerge is what one statement costs a user with this many memories.
func BenchmarkMerge(b *testing.B) {
	for _, n := range []int{10, 250, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			texts := []string{"The code of hall ZEBRA-%d is blue", "The user likes ZEBRA-%d tea", "ZEBRA-%d号门要先敲门"}
			var active []stores.Memory
			for i := range n {
				active = append(active, stores.Memory{ID: fmt.Sprint(i), Scope: stores.UserScope, Topic: "note", Summary: fmt.Sprintf(texts[i%3], i), Slot: fmt.Sprint(i)})
			}
			c := Candidate{Topic: "note", Value: "the lift of hall 999 is slow", Summary: "The lift of hall 999 is slow", Scope: stores.UserScope, Said: time.Now()}
			for b.Loop() {
				Merge(c, active)
			}
		})
	}
}
