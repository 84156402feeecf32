package assemble

import (
	"fmt"
	"testing"
	"time"

	"strata/intent"
	"strata/stores"
)

func twenty() []stores.Memory {
	list := []stores.Memory{memory("mem_z", stores.Agreement, zebra, 3), standing("mem_s", "Answers in short paragraphs, with units", 9)}
	for i := range 18 {
		list = append(list, memory(fmt.Sprint("mem_", i), stores.Conclusion, fmt.Sprintf("The weekly review number %d settled who tests the importer and how 导入 is checked", i), i))
	}
	return list
}

func BenchmarkChatCached(b *testing.B) {
	l := &fakeLedger{memories: twenty()}
	a := New(Config{Ledger: l, Cache: heldRows{Prepare(l.memories)}})
	plan, open := planOf(intent.Chat), openingOf(l)
	for name, words := range map[string]string{"en": "what is my project code", "zh": "我的项目代号是什么？", "miss": "tell me a story about the sea"} {
		q := ask(words)
		q.Request = func(string) bool { return false }
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a.Assemble(b.Context(), q, plan, open)
			}
		})
	}
}

func BenchmarkRAG(b *testing.B) {
	l := &fakeLedger{memories: twenty()}
	text := "第%d节：出差人员须在出发前在系统中提交申请，由部门负责人审批；住宿标准按城市分级执行，一线城市每晚不超过 %d 元。Receipts are handed in within %d days of the return, with the form of the finance desk. "
	hits := fixedHits{}
	for i := range 5 {
		p := passage(fmt.Sprint("p", i), "差旅制度", "住宿", "")
		for j := range 4 {
			p.Text += fmt.Sprintf(text, i*7+j, 400+i*31+j, 10+i)
		}
		p.Tokens = 300
		l.passages = append(l.passages, p)
		hits = append(hits, stores.Hit{ID: p.ID, Score: 9, Cover: 0.8})
	}
	a := New(Config{Ledger: l, Index: hits, Cache: heldRows{Prepare(l.memories)}})
	q := ask("一线城市的住宿标准是多少？")
	plan, open := planOf(intent.RAG), openingOf(l)
	plan.Deadline = time.Minute // of the work, not of what else this machine does
	b.ReportAllocs()
	for b.Loop() {
		if r := a.Assemble(b.Context(), q, plan, open); len(r.Items) != 5 {
			b.Fatal(r.Items)
		}
	}
}
