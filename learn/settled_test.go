package learn

import (
	"strings"
	"testing"
	"time"

	"strata/policy"
	"strata/stores"
)

func TestSettled(t *testing.T) {
	l := New(Config{})
	plain := stores.Exchange{Asked: "How does a hash map grow?", Answer: "It doubles its table."}
	if l.Settled(&plain) {
		t.Error("settled before the rules were ready")
	}
	l.ready.Store(true)
	for _, c := range []struct {
		asked, answer string
		want          bool
	}{
		{plain.Asked, plain.Answer, true},
		{"这个函数为什么慢？", "因为每次都排序。", true},
		{"", "", true},
		{"Remember that my office is on floor 3.", "Noted.", false},
		{"请记住：我的办公室在三号楼。", "好的。", false},
		{"This is off the record: why is it slow?", "It sorts.", false},
		{"forget everything about me", "Done.", false},
		{"Why does it fail with password=hunter22-xk?", "It is wrong.", false},
		{plain.Asked, "Write to ada.byron@example.com.", false},
		{strings.Repeat("Why is it slow? ", settledSize/16), "It sorts.", false},
	} {
		if got := l.Settled(&stores.Exchange{Asked: c.asked, Answer: c.answer}); got != c.want {
			t.Errorf("%.40q, %q: settled = %v", c.asked, c.answer, got)
		}
	}
}

// From a message that is settled the learner would have learned nothing, and
// it would have kept it as it is.
func TestSettledSaysNothing(t *testing.T) {
	l := New(Config{})
	l.ready.Store(true)
	settled := 0
	for _, m := range allMessages(t) {
		if !l.Settled(&stores.Exchange{Asked: m}) {
			continue
		}
		settled++
		all := func(list []string) (out []*utterance) {
			for _, s := range list {
				out = append(out, loud(s))
			}
			return out
		}
		f := extract(m, time.Now(), time.UTC, all)
		if _, secrets := policy.Redact(m); !f.empty() || f.OffRecord || offRecord(m) || secrets > 0 {
			t.Errorf("%q is settled and says %+v, %d secrets", m, f, secrets)
		}
	}
	if settled < 10 {
		t.Errorf("%d messages are settled", settled)
	}
}
