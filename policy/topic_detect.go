package policy

import (
	"regexp"
	"strings"
	"unicode"

	"strata/internal/prefilter"
)

// Fact is a single-valued statement found in a clause. Value is verbatim.
type Fact struct {
	Topic string
	Value string
}

// detector finds the value of a topic in a clause: its first non-empty group,
// or fixed where the words stand for the value.
type detector struct {
	topic string
	match *prefilter.Pattern
	not   *prefilter.Pattern // the clause is about something else
	fixed string
}

const (
	langEN = `(chinese|mandarin|english|japanese|korean|french|german|spanish|portuguese|russian|italian|arabic|cantonese|dutch|vietnamese|thai|hindi|turkish|polish|simplified chinese|traditional chinese)`
	langZH = `(简体中文|繁体中文|中文|汉语|普通话|英文|英语|日文|日语|韩文|韩语|法文|法语|德文|德语|西班牙语|葡萄牙语|俄文|俄语|意大利语|阿拉伯语|粤语|广东话|荷兰语|越南语|泰语)`
	// An answer's words in Chinese, and whom and what it is to in English.
	replyZH  = `(?:回复|回答|回应|回我|作答|答复|交流|沟通|对话|聊天)`
	toWhomEN = `(?:,? (?:(?:to |with |for )?(?:me|us)|back|only|always|please|everything(?: (?:i|we) (?:ask|say|write|send))?|(?:to )?(?:(?:all|any|each|every one)(?: of)? )?(?:my|our) (?:questions|messages|prompts|requests)))*`
	tail     = `([^,;!?，。；！？\n]+?)(?:[,;!?，。；！？\n]|\. |\.?$)`
	userZH   = `(?:我|用户|本人|俺)`
	userEN   = `(?:i|the user)`
	zhRole   = `[^,，。；!！？?的]{0,12}?(?:工程师|开发者?|程序员|经理|总监|主管|设计师|分析师|产品|运营|老师|教师|医生|护士|律师|会计|学生|研究员|顾问|架构师|销售|财务|前端|后端|测试|数据科学家|作家|编辑|记者|摄影师|厨师|司机|创始人|负责人|实习生|博士生|研究生|大学生|老板|行政|客服|HR|PM|CEO|CTO|CFO|QA)`
	enRole   = `(?:[\w+#/-]+ ){0,4}(?:engineer|developer|programmer|manager|director|designer|analyst|teacher|doctor|nurse|lawyer|accountant|student|researcher|scientist|consultant|architect|writer|editor|journalist|photographer|chef|founder|intern|admin|administrator|salesperson|recruiter|lead|professor|officer|specialist|marketer|operator|pm|ceo|cto|cfo|sre|dba)`
	place    = `(?:building|floor|room|desk|block|tower|suite)\b`
)

var translation = gated(`翻译|译成|怎么说|怎么写|单词|这[段句篇封个]|这次|写一?[篇封段个]|translat|this (?:text|email|letter|sentence|paragraph|time|one)|the following|how do (?:you|i) say|speaking countries`)

var detectors = []detector{
	{"language", gated(`(?:用|改用|换成|改成|换回|切换到|切换成|使用|改为|讲|说)\s*` + langZH), translation, ""},
	{"language", gated(`以\s*` + langZH + `(?:为主|为准|来)?\s*(?:[跟和与同对给](?:我|大家)|` + replyZH + `|$)`), translation, ""},
	{"language", gated(`^(?:请|继续|还是|都|以后|今后|一律|全部|全程|统一|始终|一直|永远|只|麻烦|你|从现在(?:开始|起)|[跟和与同对给]我们?)*\s*` + langZH + `(?:来)?(?:[跟和与同对给](?:我|大家)|` + replyZH + `)`), translation, ""},
	{"language", gated(`(?:全程|一律|以后都|今后都)\s*` + langZH + `[。.!！]*$`), translation, ""},
	{"language", gated(`\b(?:answer|reply|respond|speak|talk|write|communicate|converse|switch|chat|address|responses?|answers|replies)\b` + toWhomEN + `\s+(?:(?:should|must|have to|need to)(?: always| all| only)* be |all )?(?:in|to)\s+` + langEN), translation, ""},
	{"language", gated(`\b(?:speak|talk|use|stick (?:to|with)|stay with)\s+(?:only |just |always )?` + langEN + `\b(?:,? please| (?:to|with) (?:me|us)| from now on| only| for .*| when .*)*[.!]*$`), translation, ""},
	{"language", gated(`^(?:please,? )?(?:in )?` + langEN + `,? (?:please|only|replies|answers)\b`), translation, ""},
	{"tone", gated(`(?:语气|口吻|文风)[^,，。]{0,6}?(正式|专业|书面|严肃|随意|轻松|口语化|亲切|友好|温和|温柔|礼貌|客气|幽默|风趣|直接|直白)`), nil, ""},
	{"tone", gated(`(正式|专业|严肃|随意|轻松|口语化|亲切|友好|温和|礼貌|幽默|风趣|直接|直白)(?:一点|一些|些)?的?(?:语气|口吻|文风)`), nil, ""},
	{"tone", gated(`\b(formal|professional|serious|casual|informal|relaxed|conversational|friendly|warm|polite|courteous|humorous|playful|direct|blunt)\b(?: and \w+)? (?:tone|style|manner|voice)\b`), nil, ""},
	{"verbosity", gated(`(?:回答|回复|答复|答案|说话|讲)[^,，。]{0,8}?(简短|精简|简洁|简明|简练|言简意赅|短一点|扼要|详细|详尽|展开)`), nil, ""},
	{"verbosity", gated(`(简短|精简|简洁|简明|简练|言简意赅|扼要|详细|详尽)(?:一点|一些|些)?的?(?:回答|回复|答复|答案)`), nil, ""},
	{"verbosity", gated(`(?:别|不要)(?:太|这么|那么)?(?:啰嗦|长篇大论|冗长)`), nil, "简短"},
	{"verbosity", gated(`\b(short|brief|concise|succinct|terse|detailed|thorough|longer|shorter)(?: and \w+|, \w+)? (?:answers|replies|responses|explanations)\b`), nil, ""},
	{"verbosity", gated(`\b(?:keep|make|want|like|prefer)\b(?: all| your| my| the)* (?:answers|replies|responses) (?:to be )?(short|brief|concise|succinct|detailed|to the point|long)\b`), nil, ""},
	{"verbosity", gated(`\b(?:be|answers? should be|replies should be) (brief|concise|succinct|terse)\b`), nil, ""},
	{"answer_order", gated(`(?:先|首先)(?:说|给|讲|写|列|亮)?(?:出)?(?:核心|最终)?结论|结论[^,，。]{0,6}?(?:先|前|开头|优先|第一)`), nil, "结论在前"},
	{"answer_order", gated(`\b(?:conclusion|bottom line|short answer)s? (?:first|up front|at the top)\b|\b(?:lead|start|begin|open) with the (?:conclusion|answer|bottom line|result|takeaway)|\b(?:give|put|state|show)(?: me)? the (?:conclusion|answer|bottom line) (?:first|up front|at the top)|\banswer first\b`), nil, "conclusion first"},
	{"format", gated(`((?:(?:at most|no more than|max(?:imum)?|up to|only|\d+|one|two|three|four|five|six|seven|eight|nine|ten) )*(?:short )?(?:bullets\b|bullet(?:ed)?[ -](?:points?|lists?))(?:[^.;]{0,16}?\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten)\b(?: at most| max)?)?)`), gated(`\b(?:this|these|the following|above) \w+|make \w+ bullet`), ""},
	{"format", gated(`(?:回答|回复|输出|答案|以后|一律|都)[^,，。]{0,8}?((?:最多|不超过)?[\d一两二三四五六七八十]*[条个点项]?(?:要点|分点|列点|条目|项目符号|逐条|表格|纯文本|列表|markdown))`), gated(`这[段个张篇]|的表格`), ""},
	{"format", gated(`\b(?:answer|reply|respond|format|answers|replies|responses|output)\b[^.,;]{0,24}\b(?:in|as|with|use|using) (?:a )?(tables?|markdown|plain text|json|prose|(?:(?:an?|one|two|three|single|short|brief|small|full|few|flowing) )*paragraphs?)\b`), gated(`\bthis\b|\bthe following\b`), ""},
	{"format", gated(`^(?:from now on,? |please |always |and |just )*(?:use|write|give me) (?:me )?(tables|markdown|plain text|prose|(?:(?:one|two|single|short|brief|full|flowing) )*paragraphs?)(?: please| from now on| only)?[.!]*$`), gated(`\bthis\b|\bthe following\b`), ""},
	{"format", gated(`(?:用|改成|改用|写成|换成|以)\s*((?:[一两二三]?(?:小|整|大|个)?段(?:话|文字)?|段落|连贯的文字|成段的?文字|要点列表|要点|列表|表格|纯文本))(?:来|的形式|的方式|形式)?(?:回答|回复|作答|答复|写|说)`), gated(`这[段个张篇]`), ""},
	{"emoji", gated(`(?:不要|别|不用|不许|禁止|少)[^,，。]{0,10}?(?:表情|emoji|颜文字)|\b(?:no|never|don'?t|do not|avoid|without|stop)\b[^.,;]{0,20}\bemojis?\b`), nil, "hide"},
	{"emoji", gated(`(?:多用|可以用|用点|加点|加上)[^,，。]{0,6}?(?:表情|emoji)|\b(?:use|include|add|like|more)\b[^.,;]{0,12}\bemojis?\b`), gated(`(?i)不要|别|don'?t|never|no emoji`), "show"},
	{"tool_steps", gated(`(?:不要|别|不用|隐藏|不需要)[^,，。]{0,10}?(?:显示|展示|列出|输出|说明)?[^,，。]{0,4}?工具[^,，。]{0,6}?(?:过程|步骤|细节|日志)|别把工具[^,，。]{0,12}?(?:展示|显示|列)|\b(?:hide|don'?t show|do not show|no|never show|skip)\b[^.,;]{0,16}\btool (?:calls?|steps?|output|logs?|use)\b`), nil, "hide"},
	{"show_query", gated(`\b(?:show|include|attach|give|add|display|print)\b[^.,;]{0,20}\b(?:sql|query|queries)\b|(?:附上|显示|展示|给出|列出|带上|写出)[^,，。]{0,8}?(?:sql|查询语句)|(?:sql|查询语句)[^,，。]{0,6}?(?:附上|贴出来|列出来|一起给|展示出来)`), gated(`(?i)\b(?:don'?t|do not|never|no)\b|不要|别|for this|这[条个次]`), "show"},
	{"units", gated(`\b(metric|imperial)\b(?: units?| system| measurements?)?`), gated(`(?i)\bmetrics\b|metric (?:is|of|that|name|for)`), ""},
	{"units", gated(`(公制|英制|米制)`), nil, ""},
	{"amount_unit", gated(`(?:金额|数字|数额|报表|收入)[^,，。]{0,10}?(?:用|以|按|为|是|成)\s*(百万元|百万|亿元|万元|千元|亿|元)`), nil, ""},
	{"amount_unit", gated(`\b(?:amounts?|figures|numbers|revenue|values)\b[^.,;]{0,20}\bin (thousands|millions|billions)\b`), nil, ""},
	{"currency", gated(`(?:用|以|按|换算成|折算成|统一成)\s*(人民币|美元|美金|欧元|日元|英镑|港币|港元|韩元)`), gated(`这[笔次]|多少`), ""},
	{"currency", gated(`\b(?:use|show|report|prices|amounts|convert everything to|always in|quote)\b[^.,;]{0,24}\b(usd|eur|cny|rmb|gbp|jpy|hkd|sgd|inr|us dollars|dollars|euros|yuan|pounds|yen|rupees)\b`), gated(`(?i)\bthis\b|how (?:much|many)`), ""},
	{"timezone", gated(`(?:时区)(?:是|为|在|用|：|:|改成)\s*` + tail), nil, ""},
	{"timezone", gated(`(?:按|用|以)\s*(北京时间|东京时间|美东时间|太平洋时间|UTC|格林尼治时间)`), nil, ""},
	{"timezone", gated(`\b(?:all )?times? (?:are |should be |always )?in (utc(?:[+-]\d+)?|gmt(?:[+-]\d+)?|cet|cest|pst|pdt|est|edt|ist|jst|bst|(?:pacific|eastern|central|beijing|china) time)\b`), nil, ""},
	{"date_format", gated(`日期[^,，。]{0,8}?(?:用|以|按|写成|格式为|统一用|为)\s*([\w年月日/.-]{3,16}?)(?:的?格式|[,，。]|$)`), nil, ""},
	{"date_format", gated(`\bdates? (?:should be |are |always )?(?:in|as|formatted as|formatted like) ([dmy0-9/.-]{6,12}|iso(?: 8601)?(?: format)?|day[- ]first|month[- ]first)`), nil, ""},
	{"chart_type", gated(`(?:图表|图|作图|画图|可视化)[^,，。]{0,8}?(?:默认|一律|都|统一|总是|优先)[^,，。]{0,4}?(柱状图|柱形图|条形图|折线图|饼图|散点图|面积图)`), nil, ""},
	{"chart_type", gated(`(?:默认|以后|一律|总是)[^,，。]{0,6}?(柱状图|柱形图|条形图|折线图|饼图|散点图|面积图)`), nil, ""},
	{"chart_type", gated(`\b(?:default to|always use|prefer|default is) (?:a )?((?:bar|line|pie|scatter|area|column) (?:charts?|plots?))\b`), nil, ""},
	{"sql_dialect", gated(`\b(postgresql|postgres|mysql|sqlite|oracle|sql server|bigquery|snowflake|clickhouse|spark sql|hive)\s*(?:的)?(?:方言|语法|dialect|syntax|flavou?r)`), gated(`(?i)^\S{0,6}(?:不要|别)|区别|difference`), ""},
	{"fiscal_year", gated(`(?:fiscal|financial) year[^.,;]{0,12}? (?:starts?|begins?|runs?|from)(?: (?:in|on|from))?(?: the)?(?: \d+(?:st|nd|rd|th)?(?: of)?)? (january|february|march|april|may|june|july|august|september|october|november|december)`), nil, ""},
	{"fiscal_year", gated(`(?:财年|财政年度)[^,，。]{0,6}?(?:从|是|自)\s*((?:\d{1,2}|[一二三四五六七八九十]{1,2})月)`), nil, ""},
	{"diet", gated(`(?:` + userEN + `(?:'m| am|'s| is) |^)(?:a |an |strictly |now )*(vegetarian|vegan|pescatarian|gluten[- ]free)\b`), gated(`(?i)recipes?|restaurants? `), ""},
	{"diet", gated(userEN + ` (?:don'?t|doesn'?t|do not|does not|never|no longer) eats? (?:any )?meat\b`), nil, "vegetarian"},
	{"diet", gated(`\b(halal|kosher)(?: food)?(?: only)?$|\beats? only (halal|kosher)`), nil, ""},
	{"diet", gated(userZH + `(?:是|只|一直|现在)*(吃素|素食者|素食主义者|不吃肉|吃全素|纯素食者|只吃清真)`), nil, ""},
	{"name", gated(userZH + `(?:的名字|的姓名|的大名)?(?:叫做?|名叫)([\p{Han}·]{2,8}|[A-Za-z][\w .'-]{0,30}?)(?:[,，。;；!！、\s]|在|，|$)`), gated(`(?:我|用户)叫了|叫他|叫她|叫它|叫外卖|叫车|叫不|叫作?你`), ""},
	{"name", gated(`^(?:请|以后|可以|就|你可以|以后都|大家都)*(?:叫|称呼)我([\p{Han}·A-Za-z][\p{Han}·\w'-]{0,11}?)(?:就行|就好|吧|即可|就可以)?[。.!！]*$`), gated(`起床|一声|怎么|别`), ""},
	{"name", gated(`(?:my|the user'?s)(?: full| first)? name(?:'s| is) ((?-i:\p{Lu})[\p{L}'.-]*(?: (?-i:\p{Lu})[\p{L}'.-]*){0,3}|[\p{Han}]{2,6})`), nil, ""},
	{"name", gated(`^(?:please |you can |just )*(?:call|address)(?: me as| me) (\p{L}[\p{L}'.-]*(?: (?-i:\p{Lu})[\p{L}'.-]*){0,2})(?: from now on| please)?[.!]*$`), gated(`(?i)(?:call|address) me (?:back|when|if|later|at|on|in|tomorrow|crazy|an?|the)\b`), ""},
	{"name", gated(`(?:\bi am|\bi'm|\bthis is) ((?-i:\p{Lu})[\p{L}'-]+(?: (?-i:\p{Lu})[\p{L}'-]+){1,2})(?: from|,|\.|$| and )`), nil, ""},
	{"assistant_name", gated(`(?:以后|今后)?(?:我)?(?:就)?叫你([\p{Han}A-Za-z]{1,8}?)(?:吧|了|好了|就行|，|。|$)`), gated(`怎么|什么`), ""},
	{"assistant_name", gated(`\b(?:i'?ll|i will|let me|i'?m going to) call you (\p{L}+)`), nil, ""},
	{"employer", gated(userZH + `?(?:现在|目前|已经)?(?:(?:^|[^现正存实内所])在|就职于|任职于|供职于|入职了?|加入了?|跳槽到了?)\s*([^,，。;；的在]{2,20}?)(?:公司)?(?:里)?(?:做|工作|上班|任职|当[^地然时年天作成前下中代]|担任|就职)`), gated(`在(?:考虑|当前|目前|想|计划|准备|讨论|学习|寻找|找|思考|犹豫|旅行|一些|业余|空闲|周末|晚上)|在家|在这|在那|在线|在办公|在本|在不|在一个|正在|在哪|在现|在一家|在某|在这家|在那家|在一所|在(?:上海|北京|广州|深圳|杭州|成都|武汉|南京|西安|重庆|苏州|天津)(?:工作|上班)`), ""},
	{"employer", gated(userZH + `(?:就职于|任职于|供职于|跳槽到了?|入职了?)\s*` + tail), nil, ""},
	{"employer", gated(userEN + `(?: now| currently)? works? (?:for|at) (?:the )?` + `((?-i:\p{Lu})[^,;.!?]{0,40}?)(?: as | in | on | doing |[,;!?]|\. |\.?$)`), gated(`(?i)works? at (?:home|night|\d)`), ""},
	{"employer", gated(userEN + `(?:'ve| have| has|'s)? (?:just )?joined ((?-i:\p{Lu})[\w& .-]{1,30}?)(?: as | in |[,;!?]|\. |\.?$)`), gated(`(?i)joined (?:the|a) `), ""},
	{"role", gated(`在[^,，。;；]{2,20}?(?:做|当|担任|任)\s*([^,，。;；的]{2,16}?)(?:的?工作|[,，。;；]|$)`), gated(`做(?:什么|了|完|过|好|一|些|点|着|个)|做饭|做客|企业|助手|在家|当(?:作|成|然|天|时|地|年)|现在|喜欢`), ""},
	{"role", gated(userZH + `(?:现在|目前)?是(?:一名|一个|个|一位|名|位|做)?(` + zhRole + `)(?:[,，。;；!！]|$)`), nil, ""},
	{"role", gated(userZH + `(?:现在|目前)?(?:是|担任|当|做)(?:一名|一个|个|一位)?(` + zhRole + `)(?:的|工作)?(?:[,，。;；!！]|$)`), nil, ""},
	{"role", gated(userZH + `(?:主要)?(?:从事|负责)\s*` + tail), nil, ""},
	{"role", gated(`\b(?:i am|i'm|the user is) (?:now )?(?:an?|the) (` + enRole + `)\b`), nil, ""},
	{"role", gated(userEN + `(?: currently| now)? works? as (?:an? |the )?` + `([^,;.!?]{2,40}?)(?: at | for | in |[,;!?]|\. |\.?$)`), nil, ""},
	{"role", gated(userEN + ` works? (?:at|for) [^,;.!?]{2,40}? as (?:an? |the )?([^,;.!?]{2,40}?)(?: in | on |[,;!?]|\. |\.?$)`), nil, ""},
	{"office", gated(`(?:搬到|搬去|换到|搬进|挪到|调到)了?\s*([^,，。;；]{1,16}?)(?:去)?(?:办公|上班|工作)`), nil, ""},
	{"office", gated(userZH + `?(?:的)?(?:办公室|工位|办公地点)(?:[^,，。;；是在]{0,4}?)(?:已经|现在|已)?(?:搬到了?|搬去了?|换到了?|改到了?|挪到了?|改成|换成)\s*` + tail), nil, ""},
	{"office", gated(userZH + `(?:现在)?在\s*([^,，。;；]{2,16}?)办公`), gated(`在家`), ""},
	{"office", gated(userZH + `(?:现在|已经)?(?:搬到|搬去|挪到|换到)了?\s*([^,，。;；]{0,8}?(?:\d+|[一二三四五六七八九十A-Za-z]+)(?:号楼|楼|层|室|座|栋|工位)[^,，。;；了]{0,8}?)(?:了|[,，。;；]|$)`), nil, ""},
	{"office", gated(`(?:i|i've|we|we've|the user|my office|my desk|the user's office)(?: have| has)?(?: just)? (?:moved|relocated)(?: offices?| desks?| over)?(?: to)? ((?:the )?(?:` + place + `[^,;.!?]{1,24}|(?:\w+ ){1,2}` + place + `)(?:[^,;.!?]{0,16})?)`), nil, ""},
	{"office", gated(userEN + ` sits? (?:in|at|on) ((?:the )?(?:` + place + `[^,;.!?]{1,24}|(?:\w+ ){1,2}` + place + `))`), nil, ""},
	{"city", gated(userZH + `(?:现在|目前|一直)?(?:住在|定居在|居住在|常住|生活在)\s*([^,，。;；]{1,16}?)(?:[,，。;；]|$)`), gated(`宾馆|酒店|旅馆`), ""},
	{"city", gated(userZH + `(?:现在|目前)?在\s*([^,，。;；在]{2,10}?)(?:生活|定居|居住|长住)`), nil, ""},
	{"city", gated(userZH + `(?:已经|刚|最近)?(?:搬到|搬去|搬家到|搬回|移居|定居)了?\s*([^,，。;；\d]{2,10}?)(?:住|生活|定居)?(?:了|[,，。;；]|$)`), gated(`办公|号楼|层|室|座|栋|工位`), ""},
	{"city", gated(userEN + `(?: now| currently)? lives? in ([^,;.!?]{2,40}?)(?: with | and | now|[,;!?]|\. |\.?$)`), gated(`(?i)\blive in (?:a|an|the|fear|hope)\b`), ""},
	{"city", gated(`(?:i am|i'm|the user is)(?: now| currently)? (?:based|located|living) in ([^,;.!?]{2,40}?)(?: with | and | now|[,;!?]|\. |\.?$)`), nil, ""},
	{"city", gated(`(?:i|i've|the user)(?: have| has)?(?: just| recently)? (?:moved|relocated)(?: back)? to ((?-i:\p{Lu})[^,;.!?]{1,30}?)(?: for | with | last | in | and |[,;!?]|\. |\.?$)`), gated(`(?i)` + place), ""},
	{"hometown", gated(userZH + `(?:是|来自|老家在|家在|家乡在)\s*([\p{Han}]{2,6}?)(?:人)(?:[,，。;；]|$)`), gated(`本地人|外地人|主持人|负责人|老人|男人|女人|病人|工人|盲人|好人|商人|军人|机器人|合伙人|经纪人|创始人`), ""},
	{"hometown", gated(userZH + `(?:来自|老家在|家乡在|老家是|家乡是)\s*([\p{Han}]{2,8}?)(?:[,，。;；]|$)`), nil, ""},
	{"hometown", gated(`(?:i am|i'm|i come|the user is|the user comes) (?:originally )?from ((?-i:\p{Lu})[^,;.!?]{1,30}?)(?: and | but |[,;!?]|\. |\.?$)`), nil, ""},
	{"team", gated(userZH + `(?:现在)?在\s*([^,，。;；]{2,12}?(?:组|团队|部门|部|事业群))(?:[,，。;；]|$)`), gated(`约定|内部`), ""},
	{"team", gated(`(?:i am|i'm|the user is)(?: now)? (?:on|in|part of|a member of) the ([\w &/-]{2,30}?) (?:team|department|group)\b`), nil, ""},
	{"manager", gated(userZH + `(?:的|们)?(?:直属|直接)?(?:经理|领导|老板|上级|主管|上司)(?:现在)?(?:是|叫)\s*` + tail), nil, ""},
	{"report_recipient", gated(`\breports?(?: now)? go(?:es)?(?: now)? to ((?-i:\p{Lu})\p{L}+(?: (?-i:\p{Lu})\p{L}+)?)|\b(?:send|address|forward) (?:all |the |my |weekly |monthly )*reports? to ((?-i:\p{Lu})\p{L}+(?: (?-i:\p{Lu})\p{L}+)?)`), nil, ""},
	{"launch_date", gated(`(?:项目|版本|产品|上线时间|发布时间|上线|发布|截止(?:日期|时间)?)[^,，。;；]{0,4}?(?:推迟到|延期到|延后到|提前到|改到|改成|定在|定于|是|在)?\s*((?:今年|明年|\d{4}年)?(?:\d{1,2}|[一二三四五六七八九十]{1,3})月(?:\d{1,2}[日号]|初|中旬|上旬|下旬|底|末)?)(?:上线|发布|交付|截止|[,，。;；]|$)`), gated(`每月|每个月|财年|发布会`), ""},
	{"launch_date", gated(`\b(?:launch|release|go-live|deadline|project)\b[^.,;]{0,16}\b(?:is|moved to|pushed(?: back)? to|delayed (?:to|until)|postponed (?:to|until)|slipped to|now|in|goes live in|ships in|launches in)\s+((?:early |mid[- ]|late |the end of )?(?:january|february|march|april|may|june|july|august|september|october|november|december)(?: \d{1,2}(?:st|nd|rd|th)?)?(?:,? \d{4})?)`), nil, ""},
	{"weight", gated(`(?:体重)(?:已经|现在|目前)?(?:是|为|到|有|降到|升到|涨到)?了?\s*(\d+(?:\.\d+)?\s*(?:kg|公斤|斤|千克))`), gated(`目标[^,，。]{0,4}体重|体重[^,，]{0,6}目标是`), ""},
	{"birthday", gated(userZH + `(?:的)?生日(?:是|在|为)\s*` + tail), nil, ""},
	{"programming_language", gated(`(?:代码|示例|例子|脚本)(?:都|一律|统一|默认|请)*(?:用|使用|写成|以)\s*(Python|Go|Golang|Java|JavaScript|TypeScript|Rust|C\+\+|C#|Kotlin|Swift|Ruby|PHP|R|Scala)`), gated(`这[段个]`), ""},
	{"programming_language", gated(`\b(?:code|examples?|snippets?|scripts?)\b[^.,;]{0,20}\b(?:in|use|using) (python|go|golang|java|javascript|typescript|rust|c\+\+|c#|kotlin|swift|ruby|php|scala)\b`), gated(`(?i)\bthis\b|\bwrite (?:a|an|me)\b|how`), ""},
}

// gated makes a pattern that is tried only where it may match.
func gated(s string) *prefilter.Pattern { return patterns.Compile(`(?i)` + s) }

func rx(s string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + s) }

// FactPatterns are expressions of which at least one matches in every text
// that holds a fact.
func FactPatterns() []string {
	list := []string{deniedForm.String()}
	for _, d := range nounDetectors {
		list = append(list, d.match.String())
	}
	for i := range detectors {
		list = append(list, detectors[i].match.String())
	}
	return list
}

// Facts finds the single-valued statements of one clause, at most one a topic,
// in words of the user ("我的办公室在3号楼") or about the user ("The user's office
// is in building 3"). Questions have none.
func Facts(clause string) []Fact {
	r := Read(clause)
	return r.Facts()
}

func (r *Reading) findFacts() []Fact {
	clause := r.text
	if clause == "" || len(clause) > maxStatement || r.Question() {
		return nil
	}
	var out []Fact
	add := func(topic, v string) {
		v = trimValue(v)
		if topic == "" || v == "" || len(v) > 120 {
			return
		}
		for _, f := range out {
			if f.Topic == topic {
				return
			}
		}
		out = append(out, Fact{Topic: topic, Value: v})
	}
	for _, d := range nounDetectors {
		noun, value := d.find(clause, &r.hits)
		add(TopicOf(noun), value)
	}
	rest, denied := r, ""
	if deniedForm.May(&r.hits) {
		text := ""
		if text, denied = cutDenied(clause); denied != "" {
			other := Read(text)
			rest = &other
		}
	}
	for i := range detectors {
		d := &detectors[i]
		read := r
		if d.topic == "format" {
			read = rest
		}
		m, _ := d.match.Find(read.text, &read.hits)
		if m == nil || d.not != nil && d.not.Match(read.text, &read.hits) {
			continue
		}
		add(d.topic, firstGroup(m, d.fixed))
	}
	add("format", denied)
	return out
}

const (
	formsEN = `(?:bullets|bullet(?:ed)?[ -](?:points?|lists?)|tables|markdown|plain text|numbered lists?|lists|paragraphs)`
	formsZH = `(?:要点列表|要点|分点|列点|项目符号|列表|表格|markdown|段落)`
)

// deniedForm is a layout that the user does not want: instead of bullet
// points, stop using tables, 不要用列表.
var deniedForm = gated(`,?\s*\b(?:instead of|rather than|not in|not|no(?: more)?|without|(?:please )?stop (?:using|giving me|sending)|(?:don'?t|do not|never) (?:use|give me|send|write)|avoid)\s+(?:me |the |any |using |in )*` + formsEN + `\b(?: any ?more| again)?|(?:不要再?|别再?|不用|不再|而不是|而非|不想要?|不需要)(?:用|给我|写成?|使用|列)?(?:那种|这种)?` + formsZH + `(?:了)?`)

// cutDenied takes out of a clause what it denies. A denial alone
// is a value of its own: "no tables".
func cutDenied(clause string) (rest, denied string) {
	at := deniedForm.FindStringIndex(clause)
	if at == nil {
		return clause, ""
	}
	return strings.TrimSpace(clause[:at[0]] + clause[at[1]:]), strings.Trim(clause[at[0]:at[1]], " ,，")
}

func firstGroup(m []string, fixed string) string {
	if fixed != "" {
		return fixed
	}
	for _, g := range m[1:] {
		if g != "" {
			return g
		}
	}
	return ""
}

// trimValue takes off quotes and what ends a clause, not the value.
func trimValue(v string) string {
	v = strings.TrimSpace(v)
	for _, end := range []string{"了", "吧", "哦", "啦", "呢", "哈", " please", " now", " actually", " again"} {
		v = strings.TrimSuffix(v, end)
	}
	v = strings.TrimFunc(v, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("\"'`“”‘’「」《》.。,，!！：:", r)
	})
	return v
}
