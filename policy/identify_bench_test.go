package policy_test

import (
	"strings"
	"testing"

	"strata/policy"
)

// usualBody is a chat of three finished exchanges, 4 KB long.
func usualBody() string {
	const sentence = `You are the assistant of a mid-sized trading firm; answer briefly and name your sources. 回答要简短，并注明出处。\n`
	const talk = `,
{"role":"user","content":"Can you compare the delivery times of our two carriers for March? A table is fine."},
{"role":"assistant","content":"Here is the comparison for March.\n\n| carrier | median days | late share |\n|---|---|---|\n| North | 2.1 | 4 % |\n| Harbour | 3.4 | 11 % |\n\nHarbour was late mainly in the week of the \"storm warning\"; without it the two are within half a day of each other."},
{"role":"user","content":"那四月份呢？另外把迟到的原因也列出来，按次数排序。"},
{"role":"assistant","content":"四月份两家承运商的差距缩小了：\n\n1. 天气原因：12 次\n2. 报关文件不全：7 次\n3. 仓库装车延误：5 次\n\nNorth 的中位数是 2.0 天，Harbour 是 2.6 天。报关文件的问题都出在 Harbour 的同一条线路上，建议先和他们核对模板。"},
{"role":"user","content":"Draft a short, friendly mail to Harbour about the customs papers. Mention the route, but no figures."},
{"role":"assistant","content":"Subject: Customs papers on the southern route\n\nDear team,\n\nthank you for the steady improvement in April. On the southern route we still see customs papers that miss the consignee's registration, which holds up the trucks at the border. Could we go through the template together this week?\n\nKind regards"},
{"role":"user","content":"好的，再帮我翻译成中文，语气正式一点，并把标题改得更具体。"}],"max_tokens":512}`
	head := `{"model":"bench","stream":false,"temperature":0.3,"messages":[{"role":"system","content":"`
	return head + strings.Repeat(sentence, (4<<10-len(head)-len(talk))/len(sentence)) + `"}` + talk
}

// BenchmarkIdentify is what is done to find out who asks, and what, of a usual
// request.
func BenchmarkIdentify(b *testing.B) {
	id := identity(b, policy.IdentityConfig{Loopback: true})
	req := parsed(b, usualBody())
	header := func(name string) (string, int) {
		switch name {
		case "x-strata-user":
			return "reader", 1
		case "x-strata-mode":
			return "read-only", 1
		}
		return "", 0
	}
	caller := id.Identify(header, req)
	talk := id.Converse(req, caller)
	steps := []struct {
		name string
		do   func()
	}{
		{"who", func() { caller = id.Identify(header, req) }},
		{"converse", func() { talk = id.Converse(req, caller) }},
		{"links", func() { linkKeys.Links(caller, req, talk) }},
		{"all", func() {
			c := id.Identify(header, req)
			linkKeys.Links(c, req, id.Converse(req, c))
		}},
	}
	for _, s := range steps {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.do()
			}
		})
	}
}
