package tokens_test

import (
	"strings"
	"testing"

	"strata/internal/tokens"
)

func TestCount(t *testing.T) {
	for text, want := range map[string]int{"": 0, "hello world": 2, "你好": 1, "<|endoftext|>": 7} {
		if got := tokens.Count(text); got != want {
			t.Errorf("%q: %d tokens, want %d", text, got, want)
		}
	}
}

// An estimate is rather too high, and not by much.
func TestEstimate(t *testing.T) {
	for name, text := range map[string]string{
		"en": strings.Repeat("Claims above 500 euros need the approval of the department head. ", 20),
		"zh": strings.Repeat("超过3000元的报销单须由部门负责人审批，报销款随下月工资到账。", 20),
	} {
		exact, about := tokens.Count(text), tokens.Estimate(text)
		if about < exact*9/10 || about > exact*3/2 {
			t.Errorf("%s: about %d tokens, exactly %d", name, about, exact)
		}
	}
	if got := tokens.Estimate(""); got != 0 {
		t.Errorf("nothing has %d tokens", got)
	}
}
