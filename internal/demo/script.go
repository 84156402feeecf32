package demo

import (
	"embed"
	"fmt"
)

//go:embed handbook
var handbook embed.FS

// Document is a file of the sample handbook.
type Document struct {
	ID     string
	Groups []string
	Body   []byte
}

// Step is one thing to do and what must come of it.
type Step struct {
	Title string    // what it shows
	Put   *Document // a document to store, instead of saying something

	User, Session string
	Groups        string
	Say           string
	// Continue sends the session's earlier turns along, as chat apps do.
	Continue bool

	Intent string   // chat, rag or data
	Gets   []string // texts that the model must receive besides the words
	Never  []string // texts that it must not
}

// Script returns the documents to begin with and the steps, in English or
// Chinese (en, zh).
func Script(lang string) ([]Document, []Step, error) {
	steps, ok := map[string]func() []Step{"en": english, "zh": chinese}[lang]
	if !ok {
		return nil, nil, fmt.Errorf("there is no demo in %q; choose en or zh", lang)
	}
	var docs []Document
	for _, d := range []Document{{ID: "leave"}, {ID: "expenses"}, {ID: "security"}, {ID: "salary-bands", Groups: []string{"people-team"}}} {
		d.Body = file(lang, d.ID)
		docs = append(docs, d)
	}
	return docs, steps(), nil
}

func file(lang, name string) []byte {
	b, err := handbook.ReadFile("handbook/" + lang + "/" + name + ".md")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return b
}

func english() []Step {
	return []Step{
		{Title: "A general question: no documents are searched", User: "alice", Session: "monday",
			Say: "Explain the difference between a strategy and a plan in two sentences.", Intent: "chat", Never: []string{"annual leave", "Hotels"}},
		{Title: "A preference is stated", User: "alice", Session: "monday", Continue: true,
			Say: "Please remember: always answer me in bullet points.", Intent: "chat"},
		{Title: "It holds in a new conversation", User: "alice", Session: "tuesday",
			Say: "Help me write a friendly opening line for a farewell card.", Intent: "chat", Gets: []string{"bullet points"}},
		{Title: "A question about the rules: the handbook answers", User: "alice", Session: "tuesday",
			Say: "How many days of annual leave do I get after three years?", Intent: "rag", Gets: []string{"annual leave is 18 days"}},
		{Title: "A follow-up keeps its subject", User: "alice", Session: "tuesday", Continue: true,
			Say: "And what about sick leave?", Intent: "rag", Gets: []string{"up to 10 days a year"}},
		{Title: "A question about data: no documents, no guessing", User: "alice", Session: "wednesday",
			Say:    "Which month had the highest revenue, and what is the trend?\n\nmonth,revenue\n2026-07,120\n2026-08,135\n2026-09,128",
			Intent: "data", Never: []string{"annual leave"}},
		{Title: "The preference changes", User: "alice", Session: "wednesday",
			Say: "From now on always answer me in one short paragraph instead of bullet points.", Intent: "chat"},
		{Title: "Only the new one is served", User: "alice", Session: "thursday",
			Say: "Brainstorm three names for our internal newsletter.", Intent: "chat", Gets: []string{"one short paragraph"}, Never: []string{"always answer me in bullet points"}},
		{Title: "The leave rules change: version 2", Put: &Document{ID: "leave", Body: file("en", "leave-v2")}},
		{Title: "The new version answers, the old one is out", User: "alice", Session: "friday",
			Say: "How many days of annual leave do I get after three years?", Intent: "rag", Gets: []string{"annual leave is 20 days"}, Never: []string{"annual leave is 18 days"}},
		{Title: "A document of another group stays closed", User: "alice", Session: "friday",
			Say: "What is the salary band of level 5?", Intent: "rag", Never: []string{"70,000"}},
		{Title: "The group itself sees it", User: "carol", Session: "friday", Groups: "people-team",
			Say: "What is the salary band of level 5?", Intent: "rag", Gets: []string{"70,000 to 88,000"}},
		{Title: "Another user sees nothing of alice", User: "bob", Session: "friday",
			Say: "What do you remember about me?", Intent: "chat", Never: []string{"paragraph", "bullet"}},
		{Title: "Alice asks what is remembered", User: "alice", Session: "saturday",
			Say: "What do you remember about me?", Intent: "chat", Gets: []string{"one short paragraph"}},
		{Title: "Alice has it forgotten", User: "alice", Session: "saturday",
			Say: "Forget that I want one short paragraph.", Intent: "chat"},
		{Title: "It is gone", User: "alice", Session: "sunday",
			Say: "What do you remember about me?", Intent: "chat", Never: []string{"paragraph", "bullet points"}},
	}
}

func chinese() []Step {
	return []Step{
		{Title: "普通问题：不查文档", User: "小李", Session: "周一",
			Say: "用两句话解释一下战略和计划的区别。", Intent: "chat", Never: []string{"年假", "住宿"}},
		{Title: "说出一个偏好", User: "小李", Session: "周一", Continue: true,
			Say: "请记住：以后都用要点列表回答我。", Intent: "chat"},
		{Title: "换一个会话仍然有效", User: "小李", Session: "周二",
			Say: "帮我给同事的送别贺卡写一句开头。", Intent: "chat", Gets: []string{"要点列表"}},
		{Title: "制度问题：由员工手册回答", User: "小李", Session: "周二",
			Say: "工龄满三年的员工年假有几天？", Intent: "rag", Gets: []string{"满三年的为18天"}},
		{Title: "追问沿用上文的主题", User: "小李", Session: "周二", Continue: true,
			Say: "那病假呢？", Intent: "rag", Gets: []string{"病假每年最多10天"}},
		{Title: "数据问题：不查文档", User: "小李", Session: "周三",
			Say: "哪个月收入最高，趋势如何？\n\n月份,收入\n2026-07,120\n2026-08,135\n2026-09,128", Intent: "data", Never: []string{"年假"}},
		{Title: "偏好改变", User: "小李", Session: "周三",
			Say: "以后不要用要点列表，改成一小段话回答我。", Intent: "chat"},
		{Title: "只有新的偏好生效", User: "小李", Session: "周四",
			Say: "给内部通讯想三个名字。", Intent: "chat", Gets: []string{"一小段话"}, Never: []string{"以后都用要点列表"}},
		{Title: "休假制度更新：第二版", Put: &Document{ID: "leave", Body: file("zh", "leave-v2")}},
		{Title: "按新版回答，旧版不再出现", User: "小李", Session: "周五",
			Say: "工龄满三年的员工年假有几天？", Intent: "rag", Gets: []string{"满三年的为20天"}, Never: []string{"满三年的为18天"}},
		{Title: "其他组的文档看不到", User: "小李", Session: "周五",
			Say: "五级的薪酬区间是多少？", Intent: "rag", Never: []string{"28万"}},
		{Title: "本组的人看得到", User: "小陈", Session: "周五", Groups: "people-team",
			Say: "五级的薪酬区间是多少？", Intent: "rag", Gets: []string{"28万至40万"}},
		{Title: "另一个用户看不到小李的任何内容", User: "小王", Session: "周五",
			Say: "你记得我什么？", Intent: "chat", Never: []string{"要点列表", "一小段话"}},
		{Title: "小李问记住了什么", User: "小李", Session: "周六",
			Say: "你记得我什么？", Intent: "chat", Gets: []string{"一小段话"}},
		{Title: "小李要求忘掉", User: "小李", Session: "周六",
			Say: "忘掉用一小段话回答我这件事。", Intent: "chat"},
		{Title: "已经忘掉", User: "小李", Session: "周日",
			Say: "你记得我什么？", Intent: "chat", Never: []string{"一小段话", "要点列表"}},
	}
}
