package intent

import (
	"strings"
	"testing"
)

// shared serves all tests: a classifier has no state.
var shared = New()

func user(texts ...string) []Message {
	var out []Message
	for i, t := range texts {
		if i > 0 {
			out = append(out, Message{Role: "assistant", Text: "Here you are."})
		}
		out = append(out, Message{Role: "user", Text: t})
	}
	return out
}

// Pairs and triples that share their words and differ in the work asked for.
func TestWorkNotWords(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Intent
	}{
		{"make this line of the parking rules friendlier: 'Cars without a badge will be towed.'", Chat},
		{"what do the parking rules say about visitors?", RAG},
		{"how many cars were towed per month, by parking lot?", Data},
		{"把这条停车规定说得委婉些：没有车证的车辆一律拖走。", Chat},
		{"停车规定里访客怎么登记", RAG},
		{"上个月哪个停车场拖走的车最多？", Data},

		{"Rewrite the explanation of the join below for a newcomer: 'Each visit is matched to a badge.'", Chat},
		{"who may run queries on the production database?", RAG},
		{"join the visits with the badges and count them by day", Data},
		{"把下面的取数说明改写成新人能看懂的话：按工牌号关联访问记录。", Chat},
		{"谁可以申请生产库的查询权限", RAG},
		{"按工牌号关联访问记录，再按天统计人次", Data},

		{"which team booked the most overtime in October?", Data},
		{"how is overtime approved?", RAG},
		{"write a short note thanking the team for the overtime", Chat},
		{"十月份加班最多的是哪个组？", Data},
		{"加班要谁审批", RAG},
		{"写一段话感谢大家加班", Chat},

		{"how does the style guide define an inactive account?", RAG},
		{"how many accounts were inactive last quarter?", Data},
		{"three catchy names for our inactive account campaign", Chat},
		{"规范里沉睡账户是怎么定义的", RAG},
		{"上季度沉睡账户有多少个？", Data},
		{"给唤醒沉睡账户的活动起三个响亮的名字", Chat},

		{"translate into English: 出差住宿每晚不超过四百元。", Chat},
		{"出差住宿每晚最多能报多少", RAG},
		{"今年每个月的出差住宿费用分别是多少，画成折线图", Data},
		{"can I expense a hotel above 400 a night?", RAG},
		{"sum the hotel costs by traveller and flag anyone above 400", Data},

		{"explain in plain words what a percentile is", Chat},
		{"what is the 90th percentile of the response time column?", Data},
		{"用大白话解释一下什么是分位数", Chat},
		{"响应时间这一列的九十分位数是多少", Data},
		{"I have to present the churn numbers on Friday and I'm so nervous", Chat},
		{"你今天心情怎么样", Chat},
		{"haha you are quick today", Chat},
		{"請問年假可以延到明年嗎？", RAG},
		{"幫我把這段話翻譯成英文：會議改到下週。", Chat},
		{"統計每個部門的加班時長", Data},
	} {
		if v := shared.Classify(user(tt.text), Hints{}); v.Intent != tt.want {
			t.Errorf("%q: %+v, want %s", tt.text, v, tt.want)
		}
	}
}

func TestFollowUp(t *testing.T) {
	chart, policy, talk := "plot the revenue by month from orders.csv", "how many days in advance must I request parental leave?", "suggest a nice restaurant for our team"
	zhChart, zhPolicy, zhTalk := "画一下各月营收的柱状图", "产假要提前几天申请", "推荐几个周末短途游的地方"
	for _, tt := range []struct {
		before, text string
		want         Intent
		leans        bool
	}{
		{chart, "and what about the northern shops?", Data, true},
		{policy, "and for adoption?", RAG, true},
		{talk, "and in Porto?", Chat, true},
		{policy, "does it apply to interns?", RAG, true},
		{chart, "continue", Data, true},
		{zhChart, "那华东呢？", Data, true},
		{zhPolicy, "那陪产假呢？", RAG, true},
		{zhTalk, "那杭州呢？", Chat, true},
		{zhChart, "继续", Data, true},
		{zhPolicy, "还需要交它的复印件吗", RAG, true},
		{chart, "thanks, well done!", Chat, false},
		{zhChart, "太棒了，谢谢", Chat, false},
		{chart, "who approves a purchase above 5000?", RAG, false},
		{zhPolicy, "统计一下各部门的加班时长并排名", Data, false},
		{zhPolicy, "写一封请假邮件", Chat, false},
	} {
		v := shared.Classify(user(tt.before, tt.text), Hints{})
		if v.Intent != tt.want || v.FollowUp != tt.leans {
			t.Errorf("%q after %q: %+v, want %s leaning %v", tt.text, tt.before, v, tt.want, tt.leans)
		}
	}
}

func TestFollowUpOfFollowUps(t *testing.T) {
	v := shared.Classify(user("统计各门店的客单价", "那上个月呢？", "南京的呢"), Hints{})
	if v.Intent != Data || v.Stage != "followup" || !v.FollowUp {
		t.Errorf("%+v", v)
	}
	for _, last := range []Intent{Chat, RAG, Data} { // a thin client sends nothing before
		if v := shared.Classify(user("and what about Lisbon?"), Hints{Last: last}); v.Intent != last || v.Stage != "followup" {
			t.Errorf("after %s: %+v", last, v)
		}
	}
}

func TestFollowUpOfAGivenIntent(t *testing.T) {
	for _, tt := range []struct {
		before, text string
		want         bool
	}{
		{"How many days of leave do I have?", "and by when?", true},
		{"年假有几天？", "那没休完怎么办？", true},
		{"年假有几天？", "How much does a parking space in the garage cost a month?", false},
	} {
		v := shared.Classify(user(tt.before, tt.text), Hints{Forced: "rag"})
		if v.Intent != RAG || v.Stage != "header" || v.FollowUp != tt.want {
			t.Errorf("%q after %q: %+v, want leaning %v", tt.text, tt.before, v, tt.want)
		}
	}
	if v := shared.Classify(user("and by when?"), Hints{Forced: "rag"}); v.FollowUp {
		t.Errorf("the first message leans on nothing: %+v", v)
	}
}

// TestFewWordsRestOnTheTurnBefore: they say what kind of question it is, and
// not of what.
func TestFewWordsRestOnTheTurnBefore(t *testing.T) {
	for text, want := range map[string]bool{
		"怎么申请？": true, "谁审批？": true, "需要什么材料？": true, "到什么时候？": true, "who has to approve?": true, "which form?": true, "how far ahead?": true,
		"谢谢": false, "讲个笑话": false, "tell me a joke": false, "How many people may take part in the workshop?": false,
	} {
		for _, forced := range []string{"", "rag"} {
			if v := shared.Classify(user("年假有几天？", text), Hints{Forced: forced}); v.FollowUp != want {
				t.Errorf("%q, forced %q: %+v, want leaning %v", text, forced, v, want)
			}
		}
		if v := shared.Classify(user(text), Hints{}); v.FollowUp {
			t.Errorf("%q as a first message leans", text)
		}
	}
}

func TestStructure(t *testing.T) {
	const table = "| item | sold |\n|---|---|\n| tea | 12 |\n| milk | 30 |"
	const rows = "city,open,closed\nLyon,3,4\nPorto,5,1\nBern,2,2"
	const code = "```go\nfor i := range n { sum += i }\n```"
	for _, tt := range []struct {
		text  string
		hints Hints
		want  Intent
		stage string
	}{
		{"write a poem", Hints{Forced: "data"}, Data, "header"},
		{"hi", Hints{Forced: "rag"}, RAG, "header"},
		{"anything odd in here?", Hints{Files: []string{"Q3.XLSX"}}, Data, "structure"},
		{"这里面有什么问题", Hints{Files: []string{"text/csv"}}, Data, "structure"},
		{"translate the first sentence into French", Hints{Files: []string{"a.csv"}}, Chat, "model"},
		{"how many days of notice must I give?", Hints{Files: []string{"contract.pdf"}}, RAG, "model"},
		{"what stands out?\n" + table, Hints{}, Data, "structure"},
		{rows + "\n这些里面哪个城市开得多", Hints{}, Data, "structure"},
		{"translate this into German:\n" + table, Hints{}, Chat, "model"},
		{"explain this to me\n" + code, Hints{}, Chat, "structure"},
		{"帮我重构一下\n" + code, Hints{}, Chat, "structure"},
		{"the busiest day in May", Hints{Tools: []string{"run_sql"}}, Data, "structure"},
		{"write a poem about May", Hints{Tools: []string{"run_sql"}}, Chat, "model"},
		{"ok do the others", Hints{Tools: []string{"query_database"}, ToolUse: true}, Data, "structure"},
	} {
		v := shared.Classify(user(tt.text), tt.hints)
		if v.Intent != tt.want || tt.stage != "" && v.Stage != tt.stage {
			t.Errorf("%q %v: %+v, want %s at %s", tt.text, tt.hints, v, tt.want, tt.stage)
		}
	}
}

func TestProbe(t *testing.T) {
	good, weak := Probe{Cover: .7, Distinct: 3}, Probe{Cover: .3, Distinct: 1}
	for _, tt := range []struct {
		text  string
		probe Probe
		ok    bool
		want  Intent
		stage string
		asked int
	}{
		{"blue folder Kestrel", good, true, RAG, "probe", 1},
		{"blue folder Kestrel", weak, true, Chat, "", 1},
		{"blue folder Kestrel", good, false, Chat, "", 1},
		{"Kestrel", Probe{Cover: 1, Distinct: 1, Title: true}, true, Chat, "model", 1}, // one word alone is no find
		{"write a poem about Kestrel", good, true, Chat, "model", 0},
		{"how do I apply for a Kestrel badge?", weak, true, RAG, "model", 0},
		{"plot the visits by week", good, true, Data, "model", 0},
	} {
		asked := 0
		v := shared.Classify(user(tt.text), Hints{Probe: func() (Probe, bool) { asked++; return tt.probe, tt.ok }})
		if v.Intent != tt.want || tt.stage != "" && v.Stage != tt.stage || asked != tt.asked {
			t.Errorf("%q: %+v, asked %d; want %s at %s, asked %d", tt.text, v, asked, tt.want, tt.stage, tt.asked)
		}
	}
}

func TestNothingSaid(t *testing.T) {
	for _, m := range [][]Message{nil, {}, user(""), user("  \n"), user("\xff\xfe"), user("???")} {
		if v := shared.Classify(m, Hints{}); v.Confidence < 0 || v.Confidence > 1 || v.Intent == "" || v.Stage == "" {
			t.Errorf("%q: %+v", m, v)
		}
	}
	if v := shared.Classify(user(""), Hints{}); v.Intent != Chat || v.Stage != "abstain" {
		t.Errorf("%+v", v)
	}
}

// The request is found before and after what was pasted, and what was pasted
// does not speak for it.
func TestLongMessages(t *testing.T) {
	pasted := strings.Repeat("Employees must submit receipts within 30 days, as the expense policy requires. ", 90)
	for _, text := range []string{
		"Summarize the text in two sentences.\n\n" + pasted,
		pasted + "\n\nTranslate the above into Spanish.",
		"把下面这段翻译成英文：\n" + strings.Repeat("员工须在三十日内提交发票，逾期不予报销。", 200),
	} {
		if v := shared.Classify(user(text), Hints{}); v.Intent != Chat {
			t.Errorf("%.40q: %+v", text, v)
		}
	}
}

// What a verdict allocates are the reasons that it tells, however long the
// message is.
func TestAllocations(t *testing.T) {
	c := New()
	for _, text := range []string{"统计各门店的客单价", strings.Repeat("Employees submit receipts within 30 days of the trip. ", 2000)} {
		m := user("统计各门店的客单价", text)
		if n := testing.AllocsPerRun(100, func() { c.Classify(m, Hints{}) }); n > 12 {
			t.Errorf("%v allocations for %d bytes", n, len(text))
		}
	}
}

func FuzzClassify(f *testing.F) {
	for _, s := range []string{"", "hi", "把《制度》“改”一下", "```\n|a|b|\n", "it's 'quoted' \"here", "\xe4\xb8", "１２３ＡＢＣ", "a_b `c` 'd"} {
		f.Add(s, s, "x.csv")
	}
	c := New()
	f.Fuzz(func(t *testing.T, before, text, file string) {
		v := c.Classify(user(before, text), Hints{Files: []string{file}, Tools: []string{file}})
		if v.Confidence < 0 || v.Confidence > 1 || v.Stage == "" {
			t.Fatalf("%+v", v)
		}
		if _, known := indexOf(v.Intent); !known {
			t.Fatalf("%+v", v)
		}
	})
}

func BenchmarkClassify(b *testing.B) {
	short := "Which of the regional offices filed the most late expense claims last quarter, and how does that compare with the quarter before? Please list the top five offices together with the number of late claims."
	zh := strings.Repeat("请问上个季度哪个大区的报销超期单最多，和前一个季度相比变化有多大？", 6)
	long := strings.Repeat("Employees submit receipts within 30 days of the trip, as the policy requires. ", 105)
	zhLong := strings.Repeat("员工须在三十日内提交发票，逾期不予报销。", 136)
	for _, bb := range []struct {
		name string
		m    []Message
	}{
		{"en200", user(short)}, {"zh200", user(zh)}, {"en8k", user("Summarize this.\n" + long)}, {"zh8k", user("概括一下。\n" + zhLong)},
		{"en100k", user("Summarize this.\n" + strings.Repeat(long, 13))}, {"zh100k", user("概括一下。\n" + strings.Repeat(zhLong, 13))},
		{"quotes8k", user(strings.Repeat(" 'a", 2700))}, {"followup", user(short, zh, short, "and what about the north?")},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c := New()
			b.ReportAllocs()
			for b.Loop() {
				c.Classify(bb.m, Hints{})
			}
		})
	}
}
