package policy

import (
	"regexp"
	"strings"

	"strata/internal/terms"
)

// valueTable folds spellings of a value to one word. Keys are folded text.
type valueTable map[string]string

// foldTable reads lines of "canonical: spelling, spelling".
func foldTable(lines ...string) valueTable {
	t := valueTable{}
	for _, l := range lines {
		canonical, spellings, _ := strings.Cut(l, ":")
		t[foldText(canonical)] = canonical
		for _, s := range strings.Split(spellings, ",") {
			t[foldText(s)] = canonical
		}
	}
	return t
}

var (
	languages = foldTable("zh: chinese,中文,汉语,普通话,华语,国语,简体中文,中国话,mandarin,simplified chinese", "zh-hant: 繁体中文,traditional chinese,繁体", "en: english,英文,英语", "ja: japanese,日语,日文",
		"ko: korean,韩语,韩文", "fr: french,法语,法文", "de: german,德语,德文", "es: spanish,西班牙语,西语", "pt: portuguese,葡萄牙语,葡语", "ru: russian,俄语,俄文", "it: italian,意大利语", "ar: arabic,阿拉伯语", "yue: cantonese,粤语,广东话", "nl: dutch,荷兰语", "vi: vietnamese,越南语", "th: thai,泰语", "hi: hindi,印地语", "tr: turkish,土耳其语", "pl: polish,波兰语")
	tones       = foldTable("formal: 正式,professional,专业,书面,严肃,serious", "casual: 随意,轻松,口语化,口语,informal,relaxed,conversational", "friendly: 亲切,友好,warm,温和,温柔", "polite: 礼貌,客气,courteous", "humorous: 幽默,funny,playful,风趣", "direct: 直接,blunt,直白,straightforward,直截了当")
	lengths     = foldTable("short: brief,concise,succinct,terse,to the point,shorter,简短,精简,简洁,简明,简练,言简意赅,短,短一点,简单,扼要", "long: detailed,in detail,thorough,longer,详细,详尽,展开,细致,长")
	orders      = foldTable("conclusion first: 结论在前,先结论,先给结论,结论优先,结论放前面,结论先行,bottom line first,answer first,summary first", "reasons first: 先讲原因,先分析,先推理,reasoning first")
	shown       = foldTable("show: 显示,展示,附上,include,yes,use,shown", "hide: 不显示,隐藏,no,none,never,不用,hidden")
	unitSystems = foldTable("metric: 公制,米制,公制单位,metric units,si", "imperial: 英制,英制单位,imperial units,us customary")
	amountUnits = foldTable("元: yuan", "千元: 千,thousands,in thousands", "万元: 万,ten thousands", "百万元: 百万,millions,in millions", "亿元: 亿,billions")
	currencies  = foldTable("CNY: 人民币,rmb,yuan,renminbi", "USD: 美元,美金,dollars,us dollars,dollar", "EUR: 欧元,euros,euro", "JPY: 日元,yen", "GBP: 英镑,pounds,sterling", "HKD: 港币,港元", "SGD: 新加坡元,新币", "KRW: 韩元,won", "INR: 卢比,rupees")
	zones       = foldTable("UTC+8: 东八区,北京时间,utc+8,gmt+8,asia/shanghai,中国标准时间,上海时间,beijing time,china time", "UTC: gmt,世界时,协调世界时", "PST: pacific time,pt,america/los_angeles,太平洋时间", "EST: eastern time,et,america/new_york,美东时间", "CET: central european time,europe/berlin,欧洲中部时间", "JST: asia/tokyo,东京时间,日本时间", "IST: india time,asia/kolkata", "CST: central time")
	charts      = foldTable("bar: 柱状图,柱形图,条形图,bar chart,bar charts,bars,column chart", "line: 折线图,线图,line chart,line charts,lines", "pie: 饼图,pie chart,pie charts", "scatter: 散点图,scatter plot,scatter plots", "area: 面积图,area chart")
	dialects    = foldTable("postgresql: postgres,pg", "mysql:", "sqlite: sqlite3", "oracle:", "sql server: mssql,tsql,t-sql", "bigquery:", "snowflake:", "clickhouse:", "hive: hiveql", "spark: spark sql")
	months      = foldTable("1: january,jan,一月,1月", "2: february,feb,二月,2月", "3: march,mar,三月,3月", "4: april,apr,四月,4月", "5: may,五月,5月", "6: june,jun,六月,6月", "7: july,jul,七月,7月", "8: august,aug,八月,8月", "9: september,sep,九月,9月", "10: october,oct,十月,10月", "11: november,nov,十一月,11月", "12: december,dec,十二月,12月")
	diets       = foldTable("vegetarian: 素食,吃素,素食者,不吃肉,素食主义者,doesnt eat meat,dont eat meat,do not eat meat,no meat", "vegan: 纯素,全素,纯素食,plant-based", "halal: 清真", "kosher: 犹太洁食", "pescatarian: 鱼素", "gluten free: 无麸质,gluten-free", "keto: 生酮")

	valueTables = []valueTable{languages, tones, lengths, orders, unitSystems, currencies, zones, charts, dialects, diets}
)

func foldWith(t valueTable) func(string) string {
	return func(v string) string {
		c, _ := lookValue(t, foldText(stripFiller(v)))
		return c
	}
}

// lookValue finds a folded value as a whole.
func lookValue(t valueTable, folded string) (string, bool) {
	c, ok := t[folded]
	return c, ok
}

var countWord = map[string]string{"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10", "一": "1", "两": "2", "二": "2", "三": "3", "四": "4", "五": "5", "六": "6", "七": "7", "八": "8", "十": "10"}

var (
	bulletForm = regexp.MustCompile(`bullet|要点|分点|列点|条目|项目符号|逐条|列表`)
	tableForm  = regexp.MustCompile(`\btables?\b|\btabular\b|表格`)
	markForm   = regexp.MustCompile(`markdown`)
	plainForm  = regexp.MustCompile(`plain text|纯文本`)
	jsonForm   = regexp.MustCompile(`\bjson\b`)
	proseForm  = regexp.MustCompile(`\b(prose|paragraphs?)\b|段落|段话|段文字|^[一两二三]?(?:小|整|大|个)?段$|连贯的文字|成段`)
	// deniedWords are those of deniedForm besides the form itself.
	deniedWords = regexp.MustCompile(`\b(?:instead of|rather than|not|no|more|without|stop|using|giving|sending|don'?t|do|never|use|give|send|write|avoid|please|me|the|any|in)\b|不要再?|别再?|不用|不再|而不是|而非|不想要?|不需要|用|给我|写成?|使用`)
	formCount   = regexp.MustCompile(`\b(\d+|one|two|three|four|five|six|seven|eight|nine|ten)\b|(\d+|[一两二三四五六七八十])\s*[条个点项]`)
)

// foldFormat folds a way to lay out answers, with its number of items: "at most
// five bullets" is "bullets 5".
func foldFormat(v string) string {
	v = terms.Normalize(v)
	form := ""
	if deniedForm.MatchString(v) {
		_, kind := cutDenied(v)
		return "not " + foldFormat(deniedWords.ReplaceAllString(kind, ""))
	}
	switch {
	case bulletForm.MatchString(v):
		form = "bullets"
	case tableForm.MatchString(v):
		return "table"
	case markForm.MatchString(v):
		return "markdown"
	case plainForm.MatchString(v):
		return "plain text"
	case jsonForm.MatchString(v):
		return "json"
	case proseForm.MatchString(v):
		return "prose"
	default:
		return ""
	}
	if m := formCount.FindStringSubmatch(v); m != nil {
		n := m[1] + m[2]
		if d := countWord[n]; d != "" {
			n = d
		}
		form += " " + n
	}
	return form
}
