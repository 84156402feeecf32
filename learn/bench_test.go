package learn

import (
	"strings"
	"testing"
	"time"

	"strata/policy"
)

// spoken are messages as people write them: most state nothing.
var spoken = []struct{ name, text string }{
	{"plain/en", "Can you explain how the garbage collector in Go decides when to run, and what the trade-offs between throughput and latency are? Please include a short example that shows the difference for a web server."},
	{"plain/zh", "请帮我解释一下分布式数据库里两阶段提交是怎么工作的，和三阶段提交相比有什么优缺点？另外写一个简单的例子，说明协调者在中途宕机的情况下会发生什么，以及参与者应该如何恢复数据。最后画一张图，把整个过程里每一步谁给谁发消息标出来，箭头上写清楚消息的名字，图下面再加一小段文字，讲讲为什么网络分区会让事情变得更复杂，并且举一个真实世界里发生过的故障作为例子来说明。"},
	{"states/en", "I'm allergic to peanuts and I live in Berlin. What could I cook tonight with rice, beans and an old courgette, and how long would it take me?"},
	{"states/zh", "我对花生过敏，现在住在成都。今晚家里只有米饭、豆子和一根西葫芦，可以做点什么菜，大概需要多长时间？"},
	{"rule/en", "From now on, please answer in English and keep the answers short."},
	{"rule/zh", "以后请用中文回答我，先给结论再解释原因。"},
	{"4KB/en", "Summarise this for me:\n" + strings.Repeat("The committee met in the large hall and talked about the bridge over the river, the school's roof and the price of salt. ", 34) + "\nWhich points were left open?"},
	{"4KB/zh", "帮我总结一下：\n" + strings.Repeat("委员会在大厅里讨论了河上的桥、学校的屋顶和盐的价格，随后又看了几份旧图纸。", 36) + "\n还有哪些问题没有解决？"},
	{"code", "Why does this loop never end?\n```go\n" + strings.Repeat("for i := 0; i < len(list); i++ {\n\tmy.name = \"is \" + list[i].name\n}\n", 60) + "```\nI run it with Go 1.26."},
}

// BenchmarkExtract is what learning costs an exchange whose answer is as long
// as its question: reading it, and redacting both.
func BenchmarkExtract(b *testing.B) {
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	for _, s := range spoken {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Extract(s.text, at, time.UTC)
				policy.Redact(s.text)
				policy.Redact(s.text)
			}
		})
	}
}

func BenchmarkCues(b *testing.B) {
	for _, s := range []struct{ name, text string }{
		{"none/en", spoken[0].text}, {"none/zh", spoken[1].text}, {"word/en", "How do I save a file in vim without leaving it? And please keep it short."}, {"word/zh", "如何在记事本里把文件存成另外一种编码？"},
		{"recall/en", "What do you remember about me?"}, {"recall/zh", "你还记得关于我的什么吗？"}, {"forget/en", "Forget my locker code."}, {"forget/zh", "忘掉我的工号"},
	} {
		b.Run(s.name, func(b *testing.B) {
			for b.Loop() {
				Cues(s.text)
			}
		})
	}
}
