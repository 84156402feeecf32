package intent

import (
	"slices"
	"strings"
	"testing"
)

// examples hold one message a language for each rule. "" where the rule is
// about words that the language has not.
var examples = []struct{ rule, en, zh string }{
	{"polish", "Shorten the welcome note for new members", "压缩一下开场白"},
	{"polish words", "can this be said more formal?", "这句开场能不能更委婉"},
	{"write", "Draft three lines for a birthday card", "撰写一段开场白"},
	{"write a text", "Write an essay about rain", "写一首关于雨的诗歌"},
	{"give a text", "Give me a slogan for a bakery", "给出面包店的标语"},
	{"give", "Share what makes a good host", "列举五种水果"},
	{"ideas", "any tips for a first camping trip?", "露营有什么小贴士"},
	{"suggest", "recommend somewhere quiet to sit", "推荐一家安静的店"},
	{"role", "Pretend to be a lighthouse keeper", "扮演一位灯塔看守人"},
	{"suppose", "What if trains had never been built?", "假如火车从来没有出现"},
	{"given text", "Count the vowels in the following sentence", "看看下面这几行有没有问题"},
	{"greeting", "hello there", "早上好"},
	{"small talk", "thanks, that was quick", "谢谢，真快"},
	{"talk words", "we made it, congratulations", "终于做完了，辛苦了"},
	{"about the assistant", "who made you and are you a robot?", "你是谁"},
	{"to the assistant", "do you see colours?", "你会飞吗"},
	{"do you know it", "", "听说过那位画家吗"},
	{"memory", "Please remember: show amounts in thousands", "请记住：金额都用万元"},
	{"opinion asked", "do you like rainy days?", "你觉得下雨天怎么样"},
	{"liking told", "I love long walks", "我喜欢散步"},
	{"emotion", "so nervous about tomorrow", "明天要上台，好紧张"},
	{"explain", "Explain how tides work", "讲讲潮汐是怎么回事"},
	{"plain words", "what is inflation, in plain words?", "用大白话说什么是通货膨胀"},
	{"self help", "how to deal with stress before a talk", "怎么克服拖延"},
	{"advice about people", "my roommate never washes up", "室友从来不洗碗"},
	{"how to treat people", "how do I cheer up my friend?", "怎么安慰闺蜜"},
	{"why in general", "why do people yawn?", "为什么人会打哈欠"},
	{"tone of talk", "", "今天好热呀"},
	{"daily life", "which plants like shade?", "空腹跑步好不好"},
	{"open question", "how do I tie a knot", "怎么打结"},
	{"leisure", "that song is stuck in my head", "这部电影看哭了"},
	{"code help", "fix this code, it loops for ever", "这段代码哪里错"},
	{"statement", "the train was late again", "火车又晚点"},
	{"statement of talk", "I missed the train", "我又没赶上火车"},
	{"exclamation", "what a view!", "真壮观！"},

	{"compute", "Group the orders by warehouse", "汇总各仓库的出库单"},
	{"compute words", "I want the totals computed for both shops", "帮忙把两个店的数算出"},
	{"fetch", "List the warehouses in Lyon", "列出里昂的仓库"},
	{"fetch attributes", "Which nurses share a first name?", "哪些护士的编号相同"},
	{"chart", "a pie chart of visitors would be good", "来一张访客的饼图"},
	{"statistic", "any outliers in the sensor readings?", "传感器读数里有异常值吗"},
	{"sheet", "what is in the second column of the spreadsheet?", "这个表格第二列是什么"},
	{"column named", "is unit_price in euros", "unit_price是欧元"},
	{"aggregate", "the average wait at the desk", "前台的平均等待"},
	{"figure asked", "what is the average wait at the desk?", "哪家店的客诉占比低"},
	{"superlative", "the tallest tower", "最高的塔"},
	{"which is most", "which shop has the fewest visitors?", "哪家店的访客最少"},
	{"top n", "top 5 shops", "排名前五的店"},
	{"comparison", "shops with at least two floors", "超过两层的店"},
	{"comparison with a number", "shops with more than 20 seats", "座位多于20的店"},
	{"comparison of attributes", "names of shops that have a garden", "编号大于三的店"},
	{"which compares", "which shops have more than two floors?", "哪些店至少有两层"},
	{"rows edited", "Replace the blanks in that column with zero", "替换数据集里的空格"},
	{"which of late", "which shops closed last quarter?", "哪些店上季度关门了"},
	{"ordering", "shops in descending order of size", "店铺从大到小"},
	{"each", "visitors per day", "每天的访客"},
	{"attribute", "the phone number of the desk", "前台的电话号码"},
	{"how many", "how many shops are open?", "有多少店开着"},
	{"how much", "how much did the roof weigh?", "屋顶重多少"},
	{"metric", "churn looks odd", "流失率不太对"},
	{"metric of a period", "revenue for last quarter", "上季度的营收"},
	{"period", "this was last month", "上个月的事"},
	{"change", "it fell year over year", "同比不太好"},

	{"policy", "what does the handbook say about pets?", "制度里关于宠物的写法"},
	{"requirement", "the fee is not refundable", "手续费谁来出"},
	{"obligation", "the requirements of a branch", "上报的义务"},
	{"law", "the landlord changed the lock", "房东换了锁"},
	{"service", "my passport is full", "护照用完了"},
	{"employment", "sick leave for a dentist visit", "看牙算病假"},
	{"permission", "can I bring a guest to the office?", "能不能带客人进办公室"},
	{"permission asked", "", "访客可以进机房吗"},
	{"procedure", "how do I get a locker?", "怎么领储物柜的权限"},
	{"how long", "how long is the notice period?", "试用期多久"},
	{"what happens if", "what happens if I lose the badge?", "工牌丢了会怎样"},
	{"who decides", "who approves a new desk?", "换工位谁审批"},
	{"how many one may", "how many devices can I register?", "一个账号能登录几个设备，有多少限制"},
	{"service wanted", "I need to renew my passport", "我要补办身份证"},
	{"definition", "what is a licence", "什么是留置权"},
	{"our own", "does our company close in August?", "公司八月放假吗"},
	{"what is offered", "do you accept cash?", "你们收现金吗"},
	{"product", "the printer shows a red light", "打印机亮红灯"},
	{"health", "is the rash a symptom", "皮疹是不是症状"},
	{"question", "the gate code?", "门禁码是哪个？"},
	{"question word", "where is the gate", "谁有钥匙"},
	{"question of yes or no", "", "仓库的门锁了吗"},
	{"search phrase", "vpn installation on linux", "增值税申报期限"},
}

func TestEveryRuleSpeaks(t *testing.T) {
	c := New()
	seen := map[string]bool{}
	for _, e := range examples {
		seen[e.rule] = true
		for _, text := range []string{e.en, e.zh} {
			if text == "" {
				continue
			}
			if got := spoken(c, text); !slices.Contains(got, e.rule) {
				t.Errorf("%s: not heard in %q, but %v", e.rule, text, got)
			}
		}
	}
	for _, r := range rules {
		if !seen[r.name] {
			t.Errorf("%s: no example", r.name)
		}
	}
	if len(examples) != len(rules) {
		t.Errorf("%d examples of %d rules", len(examples), len(rules))
	}
}

// spoken are the names of the rules that apply to text.
func spoken(c *Classifier, text string) []string {
	r, _ := c.judge(text, nil)
	var out []string
	for i := range c.rules {
		if c.rules[i].speaks(&r) {
			out = append(out, c.rules[i].name)
		}
	}
	return out
}

func TestWordTables(t *testing.T) {
	if cueCount > 128 {
		t.Fatalf("%d cues do not fit into a mask", cueCount)
	}
	used := maskOf([]cue{polite, animal, everyday, manner, workplace, andWhat, whatOf, backward, carryOn, otherTurn})
	for _, r := range rules {
		used.merge(maskOf(r.in))
		used.merge(maskOf(r.with))
		used.merge(maskOf(r.without))
	}
	used.merge(swallowed)
	for name, table := range map[string][]words{"english": english, "chinese": chinese, "life": life} {
		for _, w := range table {
			if !used.has(w.cue) {
				t.Errorf("%s: cue %d is in no rule", name, w.cue)
			}
			for _, p := range strings.Split(w.phrases, "|") {
				if p == "" || p != strings.TrimSpace(p) || strings.Contains(strings.TrimSuffix(p, "*"), "*") || p != strings.ToLower(p) || strings.ContainsAny(p, "0123456789-/_") {
					t.Errorf("%s: phrase %q is not well formed", name, p)
				}
			}
		}
	}
	if len([]rune(traditional)) != len([]rune(simplified)) {
		t.Error("the tables of characters are not of the same length")
	}
}
