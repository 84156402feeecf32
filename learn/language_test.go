package learn_test

import (
	"testing"
	"time"

	"strata/learn"
	"strata/stores"
)

// A user has one language to be answered in, however the wish is worded: the
// later one takes the place of the earlier.
func TestOneLanguage(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{"Always answer me in French.", "Always answer me in German.", "Always answer me in German"},
		{"From now on, reply to me in French.", "Please always write to us in Spanish.", "Please always write to us in Spanish"},
		{"Always speak to me in English.", "Always respond to us in Dutch.", "Always respond to us in Dutch"},
		{"Always speak French to me.", "以后都用英文跟我聊", "以后都用英文跟我聊"},
		{"请一直用法语跟我说话", "以后用日语答复我", "以后用日语答复我"},
		{"以后请以英文回复我", "以后中文跟我说", "以后中文跟我说"},
		{"请一直用德语回答我们", "Always answer all my questions in Italian.", "Always answer all my questions in Italian"},
	} {
		f := newFake(time.Now)
		for i, words := range []string{c.first, c.second} {
			if err := f.Record(t.Context(), exchange(string(rune('a'+i)), words, noon.Add(time.Duration(i)*time.Hour))); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := learn.New(learn.Config{Ledger: f}).Flush(t.Context()); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		list, err := f.Memories(t.Context(), stores.Scope{Tenant: "T1", User: "U1"})
		if err != nil || summaries(list) != c.want {
			t.Errorf("%q, then %q: %q, want %q (%v)", c.first, c.second, summaries(list), c.want, err)
		}
	}
}
