package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/internal/prefilter"
)

// NeverStore tells why a text may never become a memory, whatever a scorer
// says; "" lets it go on to be judged. It is asked for one statement; of a
// longer text ask sentence by sentence, after asking for the whole.
//
// Reasons: empty, secret, personal_data, base64, document, tool_log, greeting,
// acknowledgement, smalltalk, lookup, snapshot, draft, mood, one_off. A repeat
// is found by Merge. A statement that is said to hold for good ("always …",
// "以后…") is neither a mood nor a one-off, however it is put.
func NeverStore(text string) (reason string) {
	r := Read(text)
	return r.NeverStore()
}

func (r *Reading) findNever() string {
	if r.text == "" {
		return "empty"
	}
	if _, credentials, personal := redact(r.text); credentials > 0 {
		return "secret"
	} else if personal > 0 {
		return "personal_data"
	}
	if reason := machineText(r.text); reason != "" {
		return reason
	}
	low, read := r.normalized()
	lasting := read.Lasting()
	for i := range neverRules {
		rule := &neverRules[i]
		if !(lasting && rule.soft) && rule.match.Match(low, &read.hits) {
			return rule.reason
		}
	}
	if !lasting && read.Question() {
		return "lookup"
	}
	return ""
}

// maxStatement is the longest text in bytes that is a statement and not a
// document copied into the chat.
const maxStatement = 1200

// machineText finds what no person wrote as a statement: base64, documents,
// JSON, tables, code.
func machineText(text string) string {
	run, longest := 0, 0
	for i := 0; i < len(text); i++ {
		if c := text[i]; tokenByte(c) || c == '+' || c == '/' || c == '=' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	switch {
	case longest >= 100 || strings.Contains(text, ";base64,"):
		return "base64"
	case len(text) > maxStatement || strings.Count(text, "\n") > 12:
		return "document"
	case strings.HasPrefix(text, "```"), strings.HasPrefix(text, "{\""), strings.HasPrefix(text, "[{"), strings.Count(text, "|") >= 6:
		return "document"
	}
	return ""
}

var neverRules = []struct {
	reason string
	soft   bool // does not hold against a statement that is meant to last
	match  *prefilter.Pattern
}{
	{"tool_log", false, patterns.Compile(`^\s*(\[?(tool|system|debug|info|warn|warning|error|trace|log)\]?\s*[:：\]]|\[\d{1,2}:\d\d|\d{4}-\d\d-\d\d[t ]\d\d:\d\d:\d\d|traceback\b|exception in|at [\w.$]+\(|npm err|fatal:|error:|\$ |> \w+@|step \d+/\d+|>>>)`)},
	{"tool_log", false, patterns.Compile(`traceback \(most recent|\b\w+(error|exception): |(returned|responded with|status|状态码|返回)\s*[:：]?\s*[1-5]\d\d\b|\b(took|in|耗时|用时)\s*[:：]?\s*\d+(\.\d+)?\s*(ms|毫秒)|第\s*\d+\s*[轮步]\S{0,4}(调用|检索|执行|运行|返回)|(调用|执行|运行)了?\s*[a-z]+_[a-z_]+|retrieved \d+ (chunk|doc|row|result)|(返回|命中|检索到|召回)了?\s*\d+\s*(条|行|个)|\b(select|insert|update|delete)\b.{1,200}\b(from|into|set|count\(|跑出来|returned|返回)|select count\(|\b(exit code|exited with)\b|[a-z_]+\([^)]*\) (returned|=>|->)|\d+ rows? (in set|affected|returned)|build (failed|succeeded|passed)|tests? passed`)},
	{"greeting", true, patterns.Compile(`^(hi+|hey+|hello+|hiya|yo|howdy|greetings|good (morning|afternoon|evening|night|day)|morning|evening)\b[\s\w',!.~]{0,40}[!.?~]*$`)},
	{"greeting", true, patterns.Compile(`^(hi|hey|hello)\b.{0,30}(how are you|how'?s it going|what'?s up|how have you been|long time no (see|talk)|good to (see|hear)|nice to (see|meet|hear))`)},
	{"greeting", true, patterns.Compile(`^(how are you( doing)?|what'?s up|long time no (see|talk)|nice to meet you|see (you|ya)( \w+)?|bye+( bye)?|goodbye|good night|take care|talk to you (later|soon)|catch you later|later|have a (good|nice|great) \w+|welcome back|are you there|anyone there)\b[\w\s,]{0,25}[!.?~]*$`)},
	{"greeting", true, patterns.Compile(`^(你好|您好|嗨|哈喽|哈啰|嘿|早|早安|晚安|早上好|上午好|中午好|下午好|晚上好|大家好|在吗|在不在|在么|有人吗|再见|拜拜|回头见|明天见|下次见|好久不见|最近怎么样|最近好吗|吃了吗|hello|hi)[呀啊哦呢吗嘛了,，!！。.?？~～\s]*(你好|在吗|最近\S{0,4}|小\S{1,3}|ai\S{0,4})?[呀啊哦呢吗,，!！。.?？~～\s]*$`)},
	{"acknowledgement", true, patterns.Compile(`^((ok(ay)?|k|kk|got it|sure|yes|yeah|yep|yup|no|nope|nah|right|fine|great|perfect|cool|nice|awesome|amazing|thanks?|thank you|thx|ty|cheers|understood|i see|makes sense|sounds good|alright|will do|good|exactly|agreed|noted|done|correct|true|of course|no problem|np|you'?re welcome|much appreciated|appreciate it|lgtm|great work|good job|well done|very helpful|that helps|that works|works for me|so much|a lot|again|all good|for (the|your|that|this) [\w ]{2,24})[\s,.!~;:-]*)+$`)},
	{"acknowledgement", true, patterns.Compile(`^(thanks|thank you|thx|cheers)\b[^.!?]{0,60}[.!]*(\s*(your help|it|that|this) (means|helps|helped|is|was)\b.{0,40})?(\s*(i'?ll )?keep you (posted|updated).{0,50})?$`)},
	{"acknowledgement", true, patterns.Compile(`^(your help means|keep you posted|i'?ll (let you know|keep you|take a look|have a look|check it out|give it a try|try (it|that)|look into it|think about it))\b.{0,60}$`)},
	{"acknowledgement", true, patterns.Compile(`^(好|好的|好吧|好呀|好啊|好嘞|行|行吧|可以|可以的|嗯+|嗯哼|哦+|噢|喔|是|是的|对|对的|没错|不是|不用|不用了|没事|没问题|收到|明白|明白了|知道了|了解|懂了|谢谢|多谢|感谢|谢了|谢啦|辛苦|辛苦了|麻烦你了|太好了|太棒了|棒|不错|很好|真好|厉害|赞|ok|okay|thanks|你|您|你们|啦|了|的|呀|啊|我看看|我看一下|我试试|我试一下|我去看看|我会去看一看|我想想|我再想想|有道理|原来如此|就这样|就这样吧|就这么办|非常|很|你的\S{1,6}|您的\S{1,6}|[,，。.!！~～、;；\s])+$`)},
	{"acknowledgement", true, patterns.Compile(`^(好的?|嗯+|行|哦)?[,，。!！\s]*(谢谢|多谢|感谢)[^?？]{0,16}[,，。!！]?\s*我(会|去|先|再)?(会)?(去)?(看|试|想|考虑|尝试|努力)[^我]{0,10}$`)},
	{"smalltalk", true, patterns.Compile(`^((l+o+l+|lmao|rofl|haha+|hehe+|hah|nice|cool|funny|true|wow|omg|oh|ah|hm+|huh|ooh|yay|really|no way|oops|ugh|meh|whatever|:\)|:d|;\)|xd)[\s,.!?~]*)+$`)},
	{"smalltalk", true, patterns.Compile(`^(congrats|congratulations|well done|good for you|you got this|you'?re (so )?(inspiring|amazing|awesome|great|the best|kind|welcome|right|funny)|so (proud|happy) (of|for) you|proud of you|happy (birthday|new year|holidays)|good luck|best of luck|that'?s (so )?(awesome|great|amazing|cool|funny|hilarious|wonderful|nice|interesting|super|sweet|lovely)|sounds (fun|great|amazing|awesome|lovely|nice)|wow|what a (day|week|game)|how (cool|nice|lovely|fun)|glad to hear|sorry to hear|keep (it up|up the|going))\b[^?]{0,120}$`)},
	{"smalltalk", true, patterns.Compile(`^((it'?s|it is|it was|it'?s been) )?(so |really |very |pretty )?(raining|snowing|sunny|cloudy|windy|freezing|pouring|hot|cold|warm|humid|lovely|nice|beautiful)( out(side)?| here| today| again| weather| day| in [\w ]{2,16}| this (morning|week|weekend)|,? isn'?t it)*[\s.!]*$|^(nice|lovely|terrible|awful|great) (weather|day)\b|^(the )?(traffic|weather) (is|was|'s)\b[^?]{0,50}$`)},
	{"smalltalk", true, patterns.Compile(`^([^\p{Han}]*[哈呵嘿嘻哇啊哎唉噢呜]|[^\p{L}\d]*2333*)((哈|呵|嘿|嘻|233+|哇|啊|哎|唉|噢|呜)*[,，。!！~～\s]*)+(笑死\S{0,3}|好笑|有意思|真的假的|太\S{1,3}了|厉害)?[,，。!！~～\s]*$|^\S{1,6}哈哈哈*[!！。~]*$|^哈哈+\S{1,6}$|笑死(我了)?[!！。~]*$`)},
	{"smalltalk", true, patterns.Compile(`^(恭喜|祝你|祝贺|加油|你真\S{1,6}|你太\S{1,6}|真有意思|太有意思|好有趣|好玩|生日快乐|新年快乐|节日快乐|周末愉快|真的吗|真的假的|没意思|无聊)[^?？我]{0,16}$`)},
	{"smalltalk", true, patterns.Compile(`^(今天|今儿|外面|这边|这里|现在|最近|昨天|明天)?[^我]{0,6}(天气|下雨|下雪|刮风|降温|升温|雾霾|堵车|好堵|很堵|好热|好冷|太热|太冷|晴天|阴天|出太阳)[^我?？]{0,14}$`)},
	{"snapshot", true, patterns.Compile(`\b(right now|at the moment|currently|as of (now|today|this morning)|at present|so far today|just now|today)\b.{0,40}\d|\d[\d,.]*%?.{0,24}\b(right now|at the moment|currently|as of (now|today)|at present|so far today|today|left in stock|in stock)\b`)},
	{"snapshot", true, patterns.Compile(`\b(balance|stock( level| price)?|inventory|temperature|exchange rate|queue|price|cpu|memory usage|disk usage|bitcoin|btc|ethereum|eth|gold|share price|index|dow|nasdaq|orders today|visitors)\b[\w ']{0,20}\b(is|are|was|at|stands at|hit|reached)\b.{0,14}\d`)},
	{"snapshot", true, patterns.Compile(`(当前|现在|目前|此刻|此时|实时|今日|今天|刚刚|刚才|截至\S{1,8})\S{0,16}(余额|库存|价格|股价|汇率|温度|气温|在线人数|排队|油价|金价|币价|指数|销量|订单|访问量|单价|股票|数量|还剩|还有多少)|(余额|库存|股价|汇率|油价|金价|币价|气温|大盘|指数|比特币)\S{0,8}(是|为|还剩|剩|涨到|跌到|报|收|到了?|在)\s*-?[\d.,]+`)},
	{"snapshot", true, patterns.Compile(`(当前|现在|目前|此刻|今天)\S{0,14}\d[\d.,]*\s*(元|块|万|件|度|℃|%|人|美元|单|个在线|分钟|条)`)},
	{"draft", true, patterns.Compile(`\b(rough draft|first draft|draft:|drafting|thinking out loud|think out loud|let me think|brain ?dump|scratch that|no wait|hmm|not sure yet|haven'?t decided|don'?t hold me|no idea|just an idea|half-baked|wip|something like|off the top of my head|i'?m (just )?guessing|my guess|i guess|i suppose|not sure (if|whether|about|what|yet)|perhaps|could be that)\b|\bmaybe\b.{2,60}\b(maybe|or|perhaps|no idea)\b|^(maybe|perhaps|possibly|could be|probably)\b`)},
	{"draft", true, patterns.Compile(`草稿|初稿先|先这样写|先随便写|随便写写|还没想好|还没想清楚|没想清楚|没想好|还没定|还不确定|不太确定|不确定是不是|我猜|猜测|我在想|让我想想|想一下啊|说不定|也可能|可能是\S{1,12}(也)?可能|大概是|或许|要不然|先写个大概|暂定|……$|\.\.\.$`)},
	{"mood", true, patterns.Compile(`\bi(?:'?m| am| feel| felt|'?ve been feeling| was)( feeling)?( just| a bit| a little| so| really| very| too| kind of| pretty| super| quite| not)* (tired|exhausted|sad|happy|upset|angry|annoyed|stressed|anxious|bored|lonely|down|depressed|frustrated|overwhelmed|excited|sleepy|hungry|nervous|worried|sick|grumpy|relieved|better|great|good|fine|okay|ok|bad|terrible|awful|blue|glad|thrilled|burnt out|burned out)( (today|now|tonight|right now|lately|again|this (morning|week|afternoon)|these days|about (it|this|that|\w+)))*[\s.!~]*$`)},
	{"mood", true, patterns.Compile(`^(ugh|sigh|what a (long|rough|terrible|awful) (day|week)|(today|this (week|morning)) (was|has been|is) (rough|hard|awful|terrible|great|long)|(having|had) a (bad|rough|hard|good|great|terrible) (day|week|morning)|feeling \w+)\b.{0,40}$`)},
	{"mood", true, patterns.Compile(`(今天|最近|现在|这几天|刚才|这两天|今晚|此刻)?[^,，。]{0,8}(有点|有些|感到|感觉|觉得|好|很|太|真|特别|非常|挺|超)\S{0,3}(烦|累|困|开心|高兴|难过|伤心|郁闷|焦虑|无聊|孤独|沮丧|生气|紧张|疲倦|疲惫|犯愁|失落|崩溃|痛苦|迷茫|委屈|尴尬|压力大|压力有些大|压力好大|兴奋|激动|不爽|不舒服|腹胀|头疼|头痛|饿|好多了|舒服)(了|啊|呀|哦|死了|极了|啦|的|,|，|。|!|！|~|$|、|食)`)},
	{"mood", true, patterns.Compile(`^(烦死了|累死了|困死了|气死我了|心累|好烦|好累|好困|心情(不好|很差|不错|好|低落|很好)|我(好|很|太|真)(烦|累|困|开心|难过|伤心|郁闷|焦虑|无聊|孤独))`)},
	{"one_off", true, patterns.Compile(`^(now |ok(ay)?,? |and |then |also |great,? |hi,? |please |pls |can you |could you |would you |will you |let'?s |just |i (want|need|would like|'?d like) you to )*(please )?(make|redo|rerun|run|rewrite|write|draft|translate|summari[sz]e|shorten|fix|plot|draw|show me|give me|list|find|search|look up|check|compute|calculate|convert|explain|tell me|send|create|generate|open|sort|compare|repeat|try again|try|continue|go on|do it|change|move|delete|remove|add|rename|print|read|analy[sz]e|review|format|export|download|upload|help( me)?|log in|recommend|suggest|plan|design|build|put|update|edit|polish|expand|book|order|count|merge|split|undo|stop|wait|again|one more time|say (it|that))\b`)},
	{"one_off", true, patterns.Compile(`^(那|那么|好的?[,，]|嗯[,，]|现在|然后|接着|再|请|麻烦|麻烦你|劳烦|请你|你|能不能|可以|能|帮忙|先|就|也|快|继续)*(帮我?|给我|替我|为我|把(刚才|上面|这|那|它|下面|第|图|表|标题|文中|文章)|再(说|来|画|写|算|跑|试|查|发|改|做|讲|加|生成)|翻译|总结一下|总结这|概括|润色|改写|重写|重新|画一?[个张]|写一?[个篇段份首封]|做一?[个份张]|算一下|查一下|查询|搜一下|搜索|列出|列一下|解释一下|解释|讲一下|讲讲|说说|介绍一下|介绍|推荐|生成|打开|关掉|继续|删掉|删除|导出|下载|排序|对比一下|分析一下|看一下|看看|运行|跑一下|试一下|换个|换一个|加上|去掉|缩短|扩写|续写|修改|改一下|提取|计算|统计)`)},
	{"one_off", true, patterns.Compile(`(请|帮)(为我|给我|我|你)?\S{0,3}(定制|推荐|写|做|制定|设计|规划|安排|生成|翻译|列出|画|算|介绍|总结|分析|查|整理|找)[^,，]{0,20}[。.!！]?$`)},
	{"one_off", true, patterns.Compile(`\b(this time|for this (one|answer|reply|chart|question|email|task)|just this once|only this once|this once|for today|temporarily|for the moment)\b|这次|这一次|这回|仅此一次|就这一次|暂时|临时|先别|今天先|这张图|这份文件|这段话|这篇`)},
}

// lastingWords say that something is meant to hold beyond this turn.
var lastingWords = patterns.Compile(`\b(always|never|from now on|going forward|from here on|in (the )?future|every time|each time|whenever|by default|default to|any ?more|no longer|remember( that| this)?|don'?t forget|keep in mind|bear in mind|note that|for future reference|every (day|week|month|monday|tuesday|wednesday|thursday|friday)|stop (?:apologi[sz]|us|say|ask|add|call|send|writ|repeat|giv|suggest|mention)ing\b|permanently|as a rule|in all|all (my|our|your) (answers|replies|charts|reports))\b|以后|今后|往后|从今|从现在起|从现在开始|从此|每次|每回|每当|一直|始终|总是|一律|统一|永远|长期|默认|凡是|都要|务必|记住|记得|请记|记一下|记下|牢记|别忘|不要忘|不再|再也不|别再|固定|每周|每天|每月|每个月`)

// LastingPattern is an expression that matches in lower case what Lasting says
// yes to.
func LastingPattern() string { return lastingWords.String() }

// Lasting reports whether a text says that it is meant to hold for good.
func Lasting(text string) bool {
	r := Read(text)
	return r.Lasting()
}

var askingStart = patterns.CompileInside(`^(so,? |and |but |hey,? |hi,? |ok(ay)?,? |well,? |um+,? |please )*(who|whom|whose|what|what'?s|when|where|which|why|how|is|are|am|was|were|do|does|did|can|could|will|would|should|shall|has|have|may|might|isn'?t|aren'?t|don'?t you|doesn'?t|didn'?t|any idea|do you)\b`)

// askingHan are the words of a question, by their first character. A sentence
// with one of them near its end is asked even without its sign. "什么都…" and
// "谁都…" state something, so what stands between decides.
var askingHan = func() map[rune][]string {
	m := map[rune][]string{}
	for _, w := range strings.Fields("什么 啥 怎么 怎么样 怎样 如何 为何 为什么 哪里 哪儿 哪个 哪些 哪天 哪家 哪位 几点 几号 几天 多少 多久 多大 多远 是谁 谁是 谁在 谁知道 是否 是不是 有没有 能不能 可不可以 要不要 会不会 对不对 好不好 行不行 在哪 记不记得") {
		r, _ := utf8.DecodeRuneInString(w)
		m[r] = append(m[r], w)
	}
	return m
}()

const (
	askingRest = 14 // characters behind the word, besides the last
	askingWord = 4
)

// asksHan reports whether a sentence, without the sign at its end, is asked in
// Chinese.
func asksHan(s string) bool {
	for _, end := range [...]string{"吗", "么", "呢"} {
		if strings.HasSuffix(s, end) {
			return true
		}
	}
	most := askingRest
	if r, _ := utf8.DecodeLastRuneInString(s); strings.ContainsRune("吗呢呀啊的", r) && s != "" {
		most++
	}
	i := len(s)
	for behind := 1; i > 0 && behind <= most+askingWord; behind++ {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		if i -= size; strings.ContainsRune("都也,，。", r) {
			return false
		}
		if r < 0x4E00 {
			continue
		}
		for _, w := range askingHan[r] {
			if strings.HasPrefix(s[i:], w) && behind-utf8.RuneCountInString(w) <= most {
				return true
			}
		}
	}
	return false
}

// indirectHan asks nothing: "我在学习如何做面食".
var indirectHan = patterns.CompileInside(`(学习|学|研究|练习|掌握|懂得|知道了|探索|分享)了?(?:如何|怎么样|怎么|怎样)`)

func (r *Reading) question() bool {
	s := strings.TrimRight(strings.TrimSpace(r.text), " \t\r\n\"”')）")
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") {
		return !(questionTag.May(&r.hits) && questionTag.MatchString(strings.ToLower(s)))
	}
	s = strings.TrimRight(s, "。.!！~～…")
	stated := s
	if indirectHan.May(&r.hits) {
		stated = indirectHan.ReplaceAllString(strings.ToLower(s), "$1")
	}
	if asksHan(stated) {
		return true
	}
	if !askingStart.May(&r.hits) || !askedOrder.May(&r.hits) || strings.Contains(s, ",") {
		return false
	}
	s = strings.ToLower(s)
	return askingStart.MatchString(s) && askedOrder.MatchString(s)
}

// questionTag is a request or a statement with a question only for form: "I'm
// vegetarian, ok?", "我对花生过敏，知道吗？".
var questionTag = patterns.CompileInside(`[,，]\s*(ok|okay|alright|right|got it|please|will you|would you|好吗|好吧|好不好|知道吗|记住了吗|可以吗|行吗|明白吗|懂吗)\s*[?？]$`)

// askedOrder is a question's order of words: an asking word, or the verb before
// its subject.
var askedOrder = patterns.CompileInside(`^(\w+,? )?(who|whom|whose|what|when|where|which|why|how)\b|^(\w+,? )?(is|are|am|was|were|do|does|did|can|could|will|would|should|has|have|may|isn'?t|aren'?t|doesn'?t|didn'?t) (i|you|we|he|she|it|they|the|my|your|our|this|that|there|any|a|an)\b`)

// dense reports whether a statement has enough of its own to say something
// when read alone: a name, a number, or a few words.
func dense(text string) bool {
	han, words, digits, signs := 0, 0, 0, 0
	inWord := false
	for _, r := range text {
		letter := unicode.IsLetter(r)
		switch {
		case unicode.Is(unicode.Han, r):
			han++
			inWord = false
			continue
		case unicode.IsDigit(r):
			digits++
		case !letter && !unicode.IsSpace(r):
			signs++
		}
		if letter && !inWord {
			words++
		}
		inWord = letter
	}
	n := utf8.RuneCountInString(text)
	return (han >= 4 || words >= 3 || han >= 2 && words+digits > 0 || words >= 2 && digits > 0) && signs*2 < n
}
