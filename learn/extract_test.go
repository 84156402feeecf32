package learn

import (
	"strings"
	"testing"
	"time"
)

var shanghai = time.FixedZone("CST", 8*3600)

// said is a Monday evening in Shanghai.
var said = time.Date(2026, 11, 30, 23, 30, 0, 0, shanghai)

func topics(f Found) string {
	var out []string
	for _, c := range f.Candidates {
		out = append(out, string(c.Type)+"/"+c.Topic)
	}
	return strings.Join(out, " ")
}

func TestExtract(t *testing.T) {
	for text, want := range map[string]string{
		"Remember that the gate code changes every spring.": "conclusion/note",
		"请记住打印机在二楼走廊":                                       "conclusion/note",
		"记一下：下周一交季度报告。":                                     "goal/appointment",
		"以后都先列要点再展开":                                        "preference/format",
		"Always answer in French.":                          "preference/language",
		"From now on, put the total in the last row.":       "preference/instruction",
		"I prefer window seats.":                            "preference/likes",
		"我习惯早上写代码":                                          "preference/likes",
		"My name is Ada Byron and I work at Initech.":       "preference/name preference/employer",
		"I'm allergic to penicillin.":                       "preference/allergy",
		"我对芒果过敏，而且住在南宁。":                                    "preference/allergy preference/city",
		"We agreed that demos take place on Fridays.":       "agreement/agreement",
		"我们约定每周五演示":                                         "agreement/agreement",
		"My goal is to read forty books.":                   "goal/goal",
		"我的目标是一年读四十本书":                                      "goal/goal",
		"We concluded that the cache was too small.":        "conclusion/conclusion",
		"经过测试，我们决定保留旧缓存":                                    "conclusion/conclusion",
		"Could you always reply in German?":                 "preference/language",
		"I have never been to Rome. What should I see?":     "",
		"do I prefer tea?":                                  "",
		"我的项目代号是什么？":                                        "",
		"Thanks a lot!":                                     "",
		"帮我写一封请假邮件":                                         "",
		"I forgot my umbrella at home.":                     "",
		"Please translate: I live in Paris and love cats":   "",
		"> I live in Paris\nwhat does this say?":            "",
		"```\nmy name is Bob Jones\n```\nfix it":            "",
		"Answer this one in French.":                        "",
		"这次用英文回答":                                           "",
		"Please remember to breathe":                        "",
	} {
		if got := topics(Extract(text, said, shanghai)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestExplicitIsMarked(t *testing.T) {
	for _, text := range []string{"Please remember that I like oat milk.", "别忘了我喜欢燕麦奶", "I like oat milk, remember that.", "我喜欢燕麦奶，请记住。", "Remember this: I like oat milk"} {
		f := Extract(text, said, shanghai)
		if len(f.Candidates) != 1 || !f.Candidates[0].Explicit || f.Candidates[0].Topic != "likes" {
			t.Errorf("%q: %+v", text, f)
		}
	}
}

func TestPastedTextIsNotTheUser(t *testing.T) {
	text := "Summarise:\n" + strings.Repeat("I live in Paris and my manager is Zed. ", 100)
	if f := Extract(text, said, shanghai); len(f.Candidates) != 0 {
		t.Errorf("%+v", f.Candidates)
	}
}

func TestAbsoluteDates(t *testing.T) {
	for text, want := range map[string]string{
		"明天下午三点开会": "2026-12-01 15:00 开会", "后天上午九点半体检": "2026-12-02 09:30 体检", "今晚八点直播": "2026-11-30 20:00 直播", "下周一交报告": "2026-12-07 交报告",
		"这周五放假": "2026-12-04 放假", "三天后出差": "2026-12-03 出差", "两周后考试": "2026-12-14 考试", "下个月5号搬家": "2026-12-05 搬家", "明年三月毕业": "2027-03 毕业", "今年的目标": "2026年的目标",
		"每周四开例会": "每周四开例会", "昨天买的": "2026-11-29 买的",
		"meeting tomorrow at 3pm": "meeting 2026-12-01 15:00", "demo at 10:30 am tomorrow": "demo 2026-12-01 10:30", "flight next Monday": "flight 2026-12-07", "exam in two weeks": "exam 2026-12-14",
		"due this Friday": "due 2026-12-04", "dinner tonight at 8": "dinner 2026-11-30 20:00", "launch next week": "launch the week of 2026-12-07", "trip next year": "trip 2027", "every Monday": "every Monday", "fair two days ago": "fair 2026-11-28", "moved last Friday": "moved 2026-11-27", "quit last year": "quit 2025", "三天前扭伤": "2026-11-27 扭伤", "去年毕业": "2025年毕业", "上周开会": "2026-11-23 那周开会", "两个月前": "2026-09", "in five minutes": "in five minutes",
	} {
		if got := absolute(text, said, shanghai).text; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if d := absolute("明天开会", said.UTC(), time.UTC); d.text != "2026-12-01 开会" {
		t.Errorf("in UTC it is still the 30th: %q", d.text)
	}
}

func TestThirdPerson(t *testing.T) {
	for text, want := range map[string]string{
		"我的办公室在3号楼。": "用户的办公室在3号楼", "我喜欢爬山": "用户喜欢爬山", "我们组周五复盘": "我们组周五复盘", "我和你说过我爱茶": "我和你说过我爱茶", "其实我住在杭州": "用户住在杭州",
		"My desk is B-12.": "The user's desk is B-12", "I prefer tea": "The user prefers tea", "I'm a nurse": "The user is a nurse", "I don't eat pork": "The user doesn't eat pork",
		"Tell me if I like it": "Tell me if I like it", "I like my coffee black": "I like my coffee black", "Always use tabs": "Always use tabs",
	} {
		if got := third(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestCues(t *testing.T) {
	for text, want := range map[string][3]bool{
		"What do you remember about me?": {true, false, false}, "你记得我什么": {true, false, false}, "你还记得关于我的什么吗？": {true, false, false}, "show me my memories": {true, false, false},
		"do you remember my locker code?": {}, "我记得你说过什么": {}, "what's my name?": {},
		"Forget my locker code.": {false, true, false}, "忘掉我的工号": {false, true, false}, "别再记我的工号": {false, true, false}, "forget that": {false, true, false}, "Please delete everything you know about me": {false, true, false},
		"I forgot my keys": {}, "别忘了买菜": {}, "don't forget the milk": {}, "forget it": {}, "delete the second row": {}, "删掉重复的行": {}, "Forget about it, I was joking": {},
		"This is off the record: I quit.": {false, false, true}, "这段不要记": {false, false, true}, "接下来的内容不要记录": {false, false, true}, "What does off the record mean?": {}, "Keep this out of the report": {},
		"Hello, how do I sort a slice in Go?": {}, "帮我写一个排序": {},
	} {
		recall, forget, off := Cues(text)
		if got := [3]bool{recall, forget, off}; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func FuzzExtract(f *testing.F) {
	for _, s := range []string{"我的办公室在3号楼。", "My name is Ada and I live in Oslo.", "不是A，是B", "忘掉…", "Remember: ", "明天下午三点", "in two weeks at 3pm", "> q\n```x```", "off the record", "I'm", "我", "把X改成Y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		found := Extract(s, said, shanghai)
		Cues(s)
		for _, c := range found.Candidates {
			if c.Summary == "" || c.Topic == "" || c.Type == "" || len(c.Summary) > maxSummary || c.Scores.Total() < 6 {
				t.Fatalf("%q: %+v", s, c)
			}
		}
	})
}
