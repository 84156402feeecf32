package lexical_test

import (
	"testing"

	"strata/internal/lexical"
)

// A rare word of letters tells what a Chinese question is about, and the rarest
// one where there are several. Numbers of a few digits and common words do not.
func TestNamed(t *testing.T) {
	for _, tt := range []struct {
		question, passage string
		common            string // held by half of the passages
		want              bool
	}{
		{"VPN怎么连", "VPN 使用说明", "", true},
		{"VPN怎么连", "怎么连", "", false},
		{"VPN怎么连", "VPN 使用说明", "vpn", false},
		{"错误代码 E-1077 是什么意思", "E-1077 Fault of a valve", "", true},
		{"证书 27001 在哪", "ISO 27001", "", true},
		{"2024年奥运会在哪里", "2024 budget", "", false},
		{"第3条", "3 rooms", "", false},
		{"the VPN 怎么连", "the garden", "vpn", false},
		{"server 上的 API 怎么调", "API", "server", true},
		{"what does error E-1077 mean", "E-1077", "", false},
	} {
		q := lexical.NewQuestion(tt.question)
		for i := range q.Terms {
			if q.Terms[i].DF = 1; q.Terms[i].Text == tt.common {
				q.Terms[i].DF = 500
			}
		}
		q.Weigh(1000)
		var m lexical.Mask
		for _, cut := range lexical.Cut(nil, tt.passage) {
			if i, ok := at(q, cut.Hash); ok {
				m.Set(q.Terms[i].Bit)
			}
		}
		if q.Named(m) != tt.want {
			t.Errorf("%q in %q: named %v", tt.question, tt.passage, !tt.want)
		}
	}
}

func at(q *lexical.Question, hash int64) (int, bool) {
	for i := range q.Terms {
		if q.Terms[i].Hash == hash {
			return i, true
		}
	}
	return 0, false
}
