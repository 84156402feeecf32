package cli

import (
	"encoding/json"
	"testing"
)

// TestLateExplanations: what a busy machine left out is asked for again.
func TestLateExplanations(t *testing.T) {
	for given, want := range map[string]bool{
		`{"reason":"ledger"}`: true,
		`{"reason":"late"}`:   true,
		`{"skipped":[{"name":"knowledge","reason":"late"}]}`:  true,
		`{"skipped":[{"name":"memory","reason":"busy"}]}`:     true,
		`{"skipped":[{"name":"knowledge","reason":"floor"}]}`: false,
		`{"reason":"no_match"}`:                               false,
	} {
		var e explanation
		if err := json.Unmarshal([]byte(given), &e); err != nil || e.late() != want {
			t.Errorf("%s: %v, %v", given, e.late(), err)
		}
	}
}
