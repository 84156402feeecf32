package assemble

import (
	"slices"
	"testing"

	"strata/intent"
	"strata/stores"
)

// A question in one language finds what was stated in the other, where it asks
// for a topic that has one value.
func TestTopicAskedInAnotherLanguageC080(t *testing.T) {
	employer, dog := memory("mem_1", stores.Preference, "用户的公司是云岫科技", 1), memory("mem_2", stores.Preference, "用户的狗叫团子", 1)
	employer.Topic, dog.Topic = "employer", "likes"
	l := &fakeLedger{memories: []stores.Memory{employer, dog}}
	for words, want := range map[string]bool{"Where do I work?": true, "我在哪上班": true, "Who do I work for?": true, "What is my company?": true, "Where is Rome?": false, "What is the name of the harbour?": false} {
		r := run(t, l, intent.Chat, ask(words))
		if slices.Contains(r.Items, "mem_1") != want || slices.Contains(r.Items, "mem_2") {
			t.Errorf("%q: %v", words, r.Items)
		}
	}
}
