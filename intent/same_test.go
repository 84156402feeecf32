package intent

import (
	"strings"
	"testing"
	"unicode"
)

// asked are requests of all kinds, some of them near a border.
var asked = []string{
	"How many vacation days can I carry over into next year", "who approves a purchase above 5000", "do visitors need a badge",
	"Rewrite this sentence so that it sounds friendlier", "explain in simple words what a percentile is", "give me five names for a bakery",
	"What was the average order value by region last quarter", "list the employees older than 40 sorted by salary", "which store returned the most items in May",
	"how long does a refund take on my card", "write a short note to the team about the new rule", "what is the longest runway in the database",
	"年假最多可以结转几天", "超过五千的采购由谁审批", "访客进门需要登记吗", "把这句话改得更礼貌一点", "用大白话解释一下什么是分位数", "给面包店起五个名字",
	"上个季度各大区的平均客单价是多少", "列出四十岁以上的员工并按工资排序", "五月份哪家门店退货最多", "退款多久能到账", "给团队写一段关于新规定的通知", "数据库里哪条跑道最长",
	"试用期被辞退有补偿吗", "我们公司的报销流程是什么", "帮我分析一下用户流失的原因", "最近压力好大，不知道怎么办",
}

// traditionalOf maps some simplified characters to their traditional form.
var traditionalOf = strings.NewReplacer("结", "結", "转", "轉", "过", "過", "购", "購", "谁", "誰", "审", "審", "访", "訪", "进", "進", "门", "門", "需", "需",
	"记", "記", "吗", "嗎", "这", "這", "话", "話", "礼", "禮", "点", "點", "释", "釋", "数", "數", "给", "給", "个", "個", "区", "區", "单", "單", "价", "價",
	"员", "員", "资", "資", "岁", "歲", "并", "並", "货", "貨", "队", "隊", "写", "寫", "关", "關", "规", "規", "据", "據", "库", "庫", "里", "裡", "条", "條", "长", "長",
	"试", "試", "补", "補", "偿", "償", "们", "們", "报", "報", "销", "銷", "帮", "幫", "压", "壓", "么", "麼", "办", "辦", "会", "會", "订", "訂", "来", "來", "时", "時")

func fullWidth(text string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7F {
			return r - '!' + 0xFF01
		}
		return r
	}, text)
}

// However a request is dressed, it is the same request.
func TestSameRequest(t *testing.T) {
	han := func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
	}
	dress := map[string]func(string) string{
		"capitals":     strings.ToUpper,
		"small":        strings.ToLower,
		"full width":   fullWidth,
		"traditional":  traditionalOf.Replace,
		"spaces":       func(s string) string { return "  \n" + s + "  \n\n" },
		"zero width":   func(s string) string { return "\ufeff" + s + "\u200b" },
		"curly quotes": func(s string) string { return strings.ReplaceAll(s, "'", "’") },
	}
	for _, words := range []string{"Hi, %", "Hello! %", "Please %", "Could you please %", "%, please", "%. Thanks!", "% thanks in advance", "%，好吗", "你好，%", "您好！%", "请问%", "请问一下，%", "麻烦你%", "请%",
		"%，谢谢", "%。谢谢啦！", "%，谢谢大家", "%，拜托了", "%，麻烦了", "大家好，%", "%～"} {
		if han(words) {
			dress[words] = func(s string) string {
				if !han(s) {
					return s
				}
				return strings.ReplaceAll(words, "%", s)
			}
			continue
		}
		dress[words] = func(s string) string {
			if han(s) {
				return s
			}
			return strings.ReplaceAll(words, "%", s)
		}
	}
	changed, all := 0, 0
	for _, text := range asked {
		want := shared.Classify(user(text), Hints{})
		for name, d := range dress {
			all++
			got := shared.Classify(user(d(text)), Hints{})
			if got.Intent != want.Intent {
				changed++
				t.Errorf("%s: %q is %s (%.2f), bare %s (%.2f)", name, d(text), got.Intent, got.Confidence, want.Intent, want.Confidence)
			}
		}
	}
	t.Logf("%d of %d changed", changed, all)
}

// What is quoted, and what a system message says, is not what is asked.
func TestNoise(t *testing.T) {
	for _, text := range asked {
		want := shared.Classify(user(text), Hints{}).Intent
		noise := "You are a data analyst. Always follow the company policy handbook. Plot charts, count rows, translate and rewrite texts politely."
		m := append([]Message{{Role: "system", Text: noise}}, user(text)...)
		if got := shared.Classify(m, Hints{}); got.Intent != want {
			t.Errorf("behind a system message %q is %s, want %s", text, got.Intent, want)
		}
	}
	for _, tt := range [][2]string{
		{`translate "%" into German`, "how many sick days do I get"}, {`translate "%" into German`, "total sales by region"},
		{`把“%”翻译成英文`, "年假可以休几天"}, {`把“%”翻译成英文`, "各门店销售额排名"}, {`polish the sentence '%'`, "plot the churn by month"},
	} {
		text := strings.ReplaceAll(tt[0], "%", tt[1])
		if got := shared.Classify(user(text), Hints{}); got.Intent != Chat {
			t.Errorf("%s: %s, want chat", text, got.Intent)
		}
	}
}
