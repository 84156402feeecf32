package learn

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/internal/eval"
	"strata/internal/prefilter"
)

// messages are of all kinds: statements of every rule, orders, questions,
// pasted and fenced text, wishes to remember and to forget, odd characters.
var messages = []string{
	"I'm allergic to peanuts and I live in Berlin. From now on, please answer in English and keep the answers short.", "My name is Ada Byron, and I work at Initech as an engineer, but I also teach.", "We agreed that demos take place on Fridays; our code name for it is Zephyr.",
	"My goal is to read forty books this year. The dentist is next Tuesday at 3pm.", "I prefer window seats — and I usually work from home, and then my wife takes over.", "Please remember: my locker code is 4711.", "Remember that", "Don't forget I like oat milk!", "I like oat milk, remember that.", "Can you always cite your sources?",
	"No, it's Tuesday, not Monday.", "Actually it's 8 seconds.", "change the timeout to 8 seconds", "Forget my locker code.", "forget everything about me", "Forget that.", "never mind, don't remember that", "This is off the record: I quit.", "What does off the record mean?", "what do you remember about me?", "delete the second row", "I forgot my umbrella",
	"Translate this: I live in Paris and love cats", "When you write SQL, always use upper case.", "The client requires weekly reports. Everyone must sign off before a release.", "I had a meeting yesterday and it was fun", "I've been learning Rust - my brother taught me", "My son Tim is five. Our cat is called Miso.", "if it rains I stay in", "Whenever I ask for code, add tests.",
	"I can't eat gluten, e.g. bread, but I do like rice.", "my password is hunter22 and I love cats", "could you please never use emoji?", "Thanks! That helps a lot.", "Summarise:\n> I live in Rome\n> and work there\nok?", "```\nmy name is Bob Jones\n```\nI am in Oslo, and we use Go.", "<think>I live in Rome</think> I live in Oslo <memory kind=\"x\">my job is spy</memory>and paint", "a < b and <thinking> or <think no end", "``` open fence, I like it",
	"Go on", "I moved to Madrid two weeks ago and I'm looking for a flat", "the launch is next week", "By ARR we mean annual recurring revenue.", "use British spelling", "I'm left-handed", "I want to learn Greek", "I am now the team lead, our office has moved to floor 9",
	"我对花生过敏，现在住在成都。以后请用中文回答我，先给结论再解释原因。", "我叫李雷，在腾讯做后端工程师；平时喜欢爬山，不喜欢太甜的东西。", "我们约定每周五演示，项目代号是北极星。", "请记住：我的办公室在3号楼。", "记一下", "我的目标是一年读四十本书，下周三面试。", "客户要求所有金额都用人民币，周报统一发给王总。", "我老婆是医生，女儿今年五岁。", "我习惯早上写代码，而且一直负责数据平台。",
	"不是周一，是周二。", "更正一下，应该是8秒", "把超时改成8秒", "忘掉我的工号", "忘掉关于我的一切", "刚才那个忘了吧", "不用记了", "这段话不要记录", "你还记得关于我的什么吗？", "删掉重复的行", "别忘了买菜", "帮我翻译：我住在巴黎", "经过测试，我们决定保留旧缓存", "涉及金额的时候，都要注明单位", "能不能以后都用表格？", "以后回答短一点，可以吗？", "我昨天去了医院，医生说我有高血压",
	"我的口令是芝麻开门，别告诉别人", "可以一直用密码是芝麻开门吗", "哈哈哈太好笑了", "明天下午三点开会", "如果遇到报错就先看日志", "只有老板同意才能上线", "我一个人养了两只猫", "我想转行做设计，正在学画画", "我们说的大版本指的是3.0", "周会每周四开，改到周五了", "这次用英文回答", "其实我住在杭州，也喜欢西湖", "你总是很友好", "我记得小时候爱吃糖",
	"", " ", "，。", "?", "ſtop using tables, and ſo on", "MY \u212AEY IS BLUE", "\xff I like tea \xfe", "Ｉ ｌｉｋｅ ｔｅａ", "I like tea… and coffee", "I like  -- tea --  and my dog", "x;y;z", "我喜欢茶—不喜欢咖啡",
}

// allMessages adds every text of the labelled sets, where they are.
func allMessages(t *testing.T) []string {
	t.Helper()
	all := slices.Clone(messages)
	dir := os.Getenv("STRATA_EVAL")
	if dir == "" {
		return all
	}
	for _, part := range []string{"memory", "intent"} {
		texts, err := eval.Texts(filepath.Join(dir, part))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, slices.DeleteFunc(texts, func(s string) bool { return len(s) <= 12 })...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestGatedPatternsMatchTheSame(t *testing.T) {
	for name, set := range map[string]*prefilter.Set{"patterns": &patterns, "cues": &cues, "targets": &targets, "dates": &datePatternSet} {
		t.Run(name, func(t *testing.T) {
			for _, m := range allMessages(t) {
				for _, s := range sentences(m) {
					if len(s) < 400 {
						sameInSentence(t, set, s)
					}
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

func sameInSentence(t *testing.T, set *prefilter.Set, s string) {
	t.Helper()
	hits := set.Scan(s)
	for _, p := range set.Patterns() {
		text := s
		if p.Inside {
			text = strings.TrimRight(s, "。.!！?？~ ")
		}
		want := p.FindStringSubmatch(text)
		if got := p.Match(text, &hits); got != (want != nil) {
			t.Errorf("%.60s… in %q: %v", p, text, got)
		}
		if got, names := p.Find(text, &hits); (got == nil) != (want == nil) || value(got, names) != value(want, p.SubexpNames()) {
			t.Errorf("%.60s… in %q: %q, want %q", p, text, got, want)
		}
	}
}

func value(m, names []string) string {
	for i := range m {
		if i == 0 || m[i] != "" && strings.HasPrefix(names[i], "v") {
			return m[i]
		}
	}
	return ""
}

// A sentence that is passed over says nothing when it is read.
func TestSilentSentencesSayNothing(t *testing.T) {
	everyOne := func(list []string) (out []*utterance) {
		for _, s := range list {
			out = append(out, loud(s))
		}
		return out
	}
	silent, all := 0, 0
	for _, m := range allMessages(t) {
		got, want := Extract(m, said, shanghai), extract(m, said, shanghai, everyOne)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n got %+v\nwant %+v", m, got, want)
		}
		for _, s := range heard(sentences(m)) {
			if all++; s.silent {
				silent++
			}
		}
	}
	t.Logf("%d of %d sentences are silent", silent, all)
}

func TestCuesAreTheSame(t *testing.T) {
	for _, m := range allMessages(t) {
		words := m
		if len(words) > 2*edge {
			words = strings.ToValidUTF8(words[:edge]+"\n"+words[len(words)-edge:], "")
		}
		var recall, forget, off bool
		if hinted(words) {
			for _, s := range sentences(words) {
				c := listen(s)
				kind, _ := c.forgetAsked()
				recall, forget, off = recall || recallAsked.MatchString(s), forget || kind != forgetNone, off || offRecordSaid.MatchString(s) && !offRecordNot.MatchString(s)
			}
		}
		if r, f, o := Cues(m); r != recall || f != forget || o != off {
			t.Errorf("%q: %v %v %v, want %v %v %v", m, r, f, o, recall, forget, off)
		}
	}
}

// joined is nextJoin as one expression.
var joined = regexp.MustCompile(`(?i)(,\s+|;\s*|\s+-+\s+|\s*—\s*)|\s+(?:and|but)\s+(?:(?:also|then)\s+)?(?:i|i'm|i've|we|my|our|the user)\b`)

func TestJoins(t *testing.T) {
	list := allMessages(t)
	for _, a := range []string{" and", " AND ", "but", " but also ", " then ", "\n", ",", ", ", "; ", " - ", " -- ", "-", " — ", "—", "I", " i'm", "we", "the user", "island", "users"} {
		for _, b := range []string{" and ", " but also", "also then ", ",", ",  ", ";", " -", "- ", " —", "I", "my ", "myth", "the users", "the user."} {
			list = append(list, "x"+a+b, a+b+"y", b+a, "x"+a+"i"+b+"we")
		}
	}
	for _, s := range list {
		from := 0
		for _, m := range joined.FindAllStringSubmatchIndex(s, -1) {
			j, ok := nextJoin(s, from)
			if !ok || j.from != m[0] || j.word != (m[2] < 0) || !j.word && j.to != m[1] {
				t.Fatalf("%q: %+v %v, want %v", s, j, ok, m)
			}
			from = j.to
		}
		if j, ok := nextJoin(s, from); ok {
			t.Errorf("%q: %+v too many", s, j)
		}
	}
}

// fenced is withoutFences as one expression.
var fenced = regexp.MustCompile("(?s)```.*?(```|$)|<(think|context|memory|document|tool_call)\\b[^>]*>.*?(</\\w+>|$)")

func TestFences(t *testing.T) {
	list := allMessages(t)
	for _, a := range []string{"```", "<think>", "<think", "<thinker>", "<memory a='b'>", "</think>", "</>", "</a b>", "<b>", "`", "``", "<", ">", "</x"} {
		for _, b := range []string{"```", "<think>", "<context ", "</think>", "</", ">", "````", "<document>", "x"} {
			list = append(list, a+b, "x"+a+"y"+b+"z", b+a+"q", a+b+a+b, a+"1"+b+"2"+a+"3</y>4")
		}
	}
	for _, s := range list {
		if got, want := withoutFences(s), fenced.ReplaceAllString(s, "\n"); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// However long a message is, reading it takes a moment: only its edges are
// read when it is long, and nothing in it is searched again and again.
func TestHugeMessages(t *testing.T) {
	for name, piece := range map[string]string{"tags": "<think", "closed": "<memory></", "ticks": "`` ", "lines": ">\n", "words": "I like tea and ", "signs": ",;—- "} {
		start := time.Now()
		Extract(strings.Repeat(piece, 1<<20/len(piece)), said, shanghai)
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s: %v", name, d)
		}
	}
}
