package intent

// cue is a class of words, or something else that a message shows. The rules
// speak of cues only, so they are the same in both languages; words_en.go and
// words_zh.go say which words make a cue.
type cue uint8

const (
	// Glue.
	polite cue = iota // please, could you, 请, 帮我: what begins a clause comes after it
	blank             // holds a cue word by chance: of course, 银行

	// Work that needs nothing but the message or common knowledge.
	writeVerb   // write, draft, imagine
	giveVerb    // give, provide, 给出: of ideas or of rows
	polishVerb  // rewrite, translate, shorten
	polishMark  // editing wherever it stands: more polite, 润色
	textNoun    // email, poem, 文案
	ideaNoun    // ideas, tips, 点子
	ideaVerb    // suggest, recommend, 推荐
	role        // pretend, act as, 扮演
	suppose     // what if, 假如
	keeping     // remember that, from now on, 请记住, 忘掉: a wish about the memory
	greeting    // hello, 你好
	smallTalk   // thanks, lol, 晚安
	persona     // what the assistant is: your name, 你是谁
	people      // my boss, 女朋友: whom advice is about
	why         // why do people, 为什么
	particle    // 啊, 呀: the tone of talk
	knowing     // 知道, 听说过: with 吗 an opener of talk
	opinion     // do you like, 你觉得
	liking      // i love, 我喜欢, 好看
	emotion     // nervous, 紧张
	explainVerb // explain, clarify, give an example, 说明: asks for more, whatever it is about
	plainly     // in plain words, 大白话
	given       // the following text, 以下段落
	selfHelp    // stress, productivity, 自信
	leisure     // film, song, 火锅
	animal      // cat, 狗
	everyday    // kitchen, pets, games, what school teaches, 厨房
	coding      // function, regex, 报错
	fixVerb     // fix, refactor, 修复
	chatty      // i, you, 我, 你 and particles: talk, not a search phrase

	// Work on tables and files.
	computeVerb // calculate, group, 统计: at the start of a clause
	computeMark // the same wherever it stands: 汇总, calculate
	fetchVerb   // list, show, find, 列出
	which       // which, who, 哪个: what a row is asked for by
	aggregate   // average, total, 总数
	superlative // most, highest, 最多
	ranked      // top 5, 前十
	comparison  // more than, at least, 大于
	ordering    // sorted by, descending, 升序
	each        // for each, per, 每个
	sheet       // column, dataset, 表格
	chart       // plot, histogram, 柱状图
	statistic   // outlier, correlation, 异常值
	metric      // revenue, churn, 销售额
	period      // last quarter, in March, 上个月
	recent      // last quarter, 上季度: a period of one's own figures
	change      // grew, year over year, 同比
	howMany     // how many, 几个
	howMuch     // how much, 多少: an amount, or one fact
	attribute   // name, id, 姓名: what a row holds

	// Facts of rules, processes, documentation.
	policyNoun // policy, handbook, 制度
	ruleWord   // required, limit, fee, 手续费
	duty       // obligation, must be, minimum standard, 应当: what rules are made of
	legal      // law, lease, 违法
	service    // account, refund, visa, 账号: what an organisation handles
	staff      // leave, payroll, 年假: what an employer handles
	workplace  // meeting room, supplier, 工牌: says no more than whose matter it is
	permit     // can i, do i need, 能不能
	auxiliary  // is the, does a: at the start of a clause a question
	may        // 可以, 要, 会: with yesNo a permit
	yesNo      // 吗, 是否
	procedure  // how do i, where can i, 怎么
	manner     // how do i, how long, 怎么, 多久: asks for a way, not for a fact
	duration   // how long, how soon, 多久
	request    // i need to, 我要: a wish for a service
	consequent // what happens if, 怎么处理
	whoDecides // who approves, 找谁
	define     // what is, stand for, 什么是
	ours       // our, company, 公司
	offer      // do you accept, 你们支持
	product    // app, install, version, 设置
	health     // symptoms, vaccine, 症状
	wh         // a question word
	you        // you, your, 你: the assistant, if nothing of a service is named

	// How it leans on what was said.
	andWhat   // and what about, 换成: nothing but a new filling
	whatOf    // 呢: the same at the end
	backward  // it, they, the second one, 上面
	carryOn   // continue, 继续
	otherTurn // your previous response

	// Seen by the reader, not made of words.
	isQuestion   // a question mark
	isExclaim    // an exclamation mark
	isNumber     // a number
	isIdentifier // snake_case
	isAcronym    // VAT, ERP: capitals among small letters
	isCode       // a fenced block
	isQuoted     // something in quotes
	isPasted     // later lines hold text
	isAsked      // a question mark or a question word where it asks
	isPlain      // not asked
	isShort      // up to six words or ten characters
	isGeneral    // nothing that an organisation handles is named
	isDaily      // general, and about anybody's day
	isOpen       // general, and asks for a way, a reason or a notion

	cueCount // at most 128: a mask holds no more
)

// words are phrases that make a cue. Separators are |; a trailing * takes any
// ending; # is a number; a plural s is implied.
type words struct {
	cue     cue
	phrases string
}
