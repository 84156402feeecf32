package assemble

import (
	"fmt"
	"testing"
	"time"

	"strata/intent"
	"strata/internal/tokens"
	"strata/stores"
)

// reader are the memories of a usual user: type, topic, summary.
var reader = [20][3]string{
	{"preference", "tone", "翻译和邮件一律用正式、礼貌的语气"},
	{"preference", "format", "Answers in short paragraphs, with units behind every figure"},
	{"preference", "language", "默认用中文回答"},
	{"agreement", "mail titles", "给承运商的邮件标题要写明线路和月份"},
	{"agreement", "weekly report", "The weekly report goes out on Friday before noon, with the table of late deliveries first"},
	{"agreement", "numbers", "金额统一用万元，保留一位小数"},
	{"goal", "carriers", "Bring the late share of Harbour below 5 % by the end of the third quarter"},
	{"goal", "template", "六月底前和 Harbour 一起把报关文件模板定下来"},
	{"goal", "warehouse", "Move the spare parts to the northern warehouse before the winter"},
	{"conclusion", "customs papers", "报关文件不全的问题都出在南线，缺的是收货人登记号"},
	{"conclusion", "storm", "The late deliveries of March came from the storm week; without it both carriers are equal"},
	{"conclusion", "loading", "仓库装车延误主要发生在周一上午，因为叉车只有两台"},
	{"conclusion", "price", "North is 6 % more expensive per pallet and half a day faster"},
	{"conclusion", "pallets", "标准托盘每辆车最多装三十三个"},
	{"preference", "contact", "Calls only after ten, mails at any time"},
	{"preference", "role", "在贸易公司负责东欧线的物流"},
	{"agreement", "meeting", "承运商例会改到每月第一个周二下午"},
	{"agreement", "names", "Carriers are called by their short names in all documents"},
	{"goal", "figures", "把到货准时率做成每周自动更新的图表"},
	{"conclusion", "insurance", "The insurance covers water damage only when the container was sealed"},
}

func readersMemories() []stores.Memory {
	var list []stores.Memory
	for i, m := range reader {
		one := memory(fmt.Sprintf("mem_%02d", i), stores.MemoryType(m[0]), m[2], 40-i)
		one.Topic, one.Tokens = m[1], tokens.Count(m[2])
		one.Standing = one.Type == stores.Preference || one.Type == stores.Agreement
		if one.Type == stores.Goal {
			one.ExpiresAt = at(-100)
		}
		list = append(list, one)
	}
	return list
}

// BenchmarkRecall is a chat of a user with twenty memories, some of which meet
// the question.
func BenchmarkRecall(b *testing.B) {
	l := &fakeLedger{memories: readersMemories()}
	a := New(Config{Ledger: l, Cache: heldRows{Prepare(l.memories)}})
	plan, open := planOf(intent.Chat), openingOf(l)
	questions := map[string]string{
		"zh": "好的，再帮我翻译成中文，语气正式一点，并把标题改得更具体。",
		"en": "Can you put my figures on the late deliveries of March into one table and tell me which carrier I should call first?",
	}
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		b.Fatal(err)
	}
	for name, words := range questions {
		q := ask(words)
		q.Zone, q.Request = zone, func(string) bool { return false }
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := a.Assemble(b.Context(), q, plan, open); r.Context != "full" {
					b.Fatal(r)
				}
			}
		})
	}
}

// BenchmarkPrepare is what is done once for the memories of a user.
func BenchmarkPrepare(b *testing.B) {
	list := readersMemories()
	b.ReportAllocs()
	for b.Loop() {
		Prepare(list)
	}
}
