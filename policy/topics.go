package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode/utf8"

	"strata/internal/terms"
)

// topic is one thing a user has exactly one of: the noun by which it is named
// ("my X is Y", "我的X是Y"), the nouns other than these that mean it, and how
// its values are folded to one spelling.
type topic struct {
	key    string
	en, zh []string // nouns; the first is used in summaries
	fold   func(value string) string
}

// singles are the single-valued topics. Only these supersede by themselves;
// every other topic is a set.
var singles = []topic{
	{"language", []string{"preferred language", "answer language", "reply language", "language"}, []string{"回答语言", "回复语言", "首选语言", "偏好语言", "语言"}, foldWith(languages)},
	{"tone", []string{"preferred tone", "tone"}, []string{"语气", "口吻"}, foldWith(tones)},
	{"verbosity", []string{"preferred answer length", "answer length"}, []string{"回答篇幅", "回答长度", "篇幅"}, foldWith(lengths)},
	{"answer_order", []string{"preferred answer order"}, []string{"回答顺序"}, foldWith(orders)},
	{"format", []string{"preferred format", "answer format"}, []string{"回答格式", "输出格式"}, foldFormat},
	{"emoji", []string{"emoji preference"}, []string{"表情偏好"}, foldWith(shown)},
	{"tool_steps", []string{"preference on tool steps"}, []string{"工具过程偏好"}, foldWith(shown)},
	{"show_query", []string{"preference on showing queries"}, []string{"查询语句偏好"}, foldWith(shown)},
	{"units", []string{"units", "unit system", "measurement system"}, []string{"单位制", "度量单位"}, foldWith(unitSystems)},
	{"amount_unit", []string{"amount unit"}, []string{"金额单位"}, foldWith(amountUnits)},
	{"currency", []string{"currency", "default currency"}, []string{"货币", "币种", "结算货币"}, foldWith(currencies)},
	{"timezone", []string{"time zone", "timezone"}, []string{"时区"}, foldWith(zones)},
	{"date_format", []string{"date format"}, []string{"日期格式"}, nil},
	{"chart_type", []string{"default chart type", "default chart"}, []string{"默认图表类型", "默认图表"}, foldWith(charts)},
	{"sql_dialect", []string{"sql dialect"}, []string{"SQL方言", "SQL 方言"}, foldWith(dialects)},
	{"fiscal_year", []string{"fiscal year", "financial year"}, []string{"财年", "财政年度"}, foldWith(months)},
	{"diet", []string{"diet"}, []string{"饮食习惯", "饮食"}, foldWith(diets)},
	{"name", []string{"name", "full name", "first name"}, []string{"名字", "姓名", "大名"}, nil},
	{"nickname", []string{"nickname"}, []string{"昵称", "外号", "网名"}, nil},
	{"role", []string{"role", "job title", "job", "position", "title", "occupation", "profession"}, []string{"职位", "岗位", "职务", "职业", "角色", "工作"}, nil},
	{"employer", []string{"employer", "company", "workplace"}, []string{"公司", "单位", "雇主"}, nil},
	{"office", []string{"office", "desk"}, []string{"办公室", "工位", "办公地点"}, nil},
	{"city", []string{"home town now", "city", "location", "home city"}, []string{"城市", "所在地", "住处", "住址", "家"}, nil},
	{"hometown", []string{"hometown", "home town"}, []string{"家乡", "老家", "籍贯"}, nil},
	{"team", []string{"team", "department", "group"}, []string{"团队", "部门", "小组", "组"}, nil},
	{"manager", []string{"manager", "boss", "supervisor", "line manager", "team lead"}, []string{"经理", "领导", "老板", "上级", "主管", "上司"}, nil},
	{"assistant_name", []string{"assistant's name"}, []string{"助手的名字", "助手名字"}, nil},
	{"project", []string{"current project", "project name"}, []string{"当前项目", "项目名", "项目名称"}, nil},
	{"project_code", []string{"project code", "project codename", "project code name", "project number"}, []string{"项目代号", "项目代码", "项目编号"}, nil},
	{"locker_code", []string{"locker code", "locker number", "locker"}, []string{"储物柜号", "储物柜代码", "柜子号", "储物柜编号", "储物柜"}, nil},
	{"employee_id", []string{"employee id", "employee number", "staff id", "badge number", "badge id"}, []string{"工号", "员工编号", "员工号", "胸牌号"}, nil},
	{"cost_center", []string{"cost center", "cost centre", "budget code"}, []string{"成本中心", "预算编号", "预算代码"}, nil},
	{"license_plate", []string{"license plate", "licence plate", "plate number", "number plate"}, []string{"车牌号", "车牌"}, nil},
	{"parking_spot", []string{"parking spot", "parking space"}, []string{"车位号", "车位"}, nil},
	{"birthday", []string{"birthday", "date of birth"}, []string{"生日", "出生日期"}, nil},
	{"age", []string{"age"}, []string{"年龄", "岁数"}, nil},
	{"weight", []string{"weight"}, []string{"体重"}, nil},
	{"height", []string{"height"}, []string{"身高"}, nil},
	{"clothing_size", []string{"shirt size", "shoe size", "clothing size"}, []string{"衣服尺码", "鞋码", "尺码"}, nil},
	{"blood_type", []string{"blood type"}, []string{"血型"}, nil},
	{"spouse", []string{"wife", "husband", "spouse", "partner"}, []string{"妻子", "丈夫", "老婆", "老公", "爱人", "伴侣"}, nil},
	{"school", []string{"school", "university", "college"}, []string{"学校", "大学", "母校"}, nil},
	{"major", []string{"major", "field of study"}, []string{"专业"}, nil},
	{"editor", []string{"editor", "ide"}, []string{"编辑器"}, nil},
	{"operating_system", []string{"operating system", "os"}, []string{"操作系统"}, nil},
	{"programming_language", []string{"main programming language", "programming language"}, []string{"主要编程语言", "编程语言"}, nil},
	{"working_hours", []string{"working hours", "office hours"}, []string{"工作时间", "上班时间"}, nil},
	{"report_recipient", []string{"report recipient"}, []string{"报告接收人", "报表接收人"}, nil},
	{"launch_date", []string{"launch date", "release date", "go-live date", "deadline"}, []string{"上线时间", "上线日期", "发布日期", "发布时间", "截止日期", "截止时间"}, nil},
	{"favorite_color", []string{"favorite color", "favourite colour", "favorite colour", "favourite color"}, []string{"最喜欢的颜色"}, nil},
	{"favorite_food", []string{"favorite food", "favourite food", "favorite dish"}, []string{"最喜欢的食物", "最喜欢吃的", "最爱吃的"}, nil},
	{"favorite_movie", []string{"favorite movie", "favourite movie", "favourite film", "favorite film"}, []string{"最喜欢的电影"}, nil},
	{"favorite_book", []string{"favorite book", "favourite book"}, []string{"最喜欢的书"}, nil},
}

// The indexes over singles.
var (
	singleByKey  = indexKeys()
	singleByNoun = indexNouns()
)

func indexKeys() map[string]*topic {
	m := map[string]*topic{}
	for i := range singles {
		m[singles[i].key] = &singles[i]
	}
	return m
}

func indexNouns() map[string]*topic {
	m := map[string]*topic{}
	for i := range singles {
		for _, n := range append(append([]string{}, singles[i].en...), singles[i].zh...) {
			m[foldText(n)] = &singles[i]
		}
	}
	return m
}

// SingleValued reports whether a user has one value of topic: another one
// replaces it. All other topics are sets.
func SingleValued(topic string) bool { return singleByKey[topic] != nil }

// TopicOf maps a noun of either language ("办公室", "job title") or a key to its
// single-valued topic; "" when it names none.
func TopicOf(noun string) string {
	noun = strings.TrimSpace(noun)
	if singleByKey[noun] != nil {
		return noun
	}
	if t := singleByNoun[foldText(noun)]; t != nil {
		return t.key
	}
	return ""
}

// TopicNoun names a single-valued topic in the language of a summary.
func TopicNoun(key string, chinese bool) string {
	t := singleByKey[key]
	if t == nil {
		return ""
	}
	if chinese {
		return t.zh[0]
	}
	return t.en[0]
}

// Slot is the place a statement takes among its owner's active memories: the
// topic where that holds one value, topic and a digest of the value where it is
// a set. It holds no text of the user, so a deletion may keep it.
func Slot(topic, value string) string {
	if SingleValued(topic) {
		return topic
	}
	sum := sha256.Sum256([]byte(foldText(stripFiller(value))))
	return topic + ":" + hex.EncodeToString(sum[:12])
}

// SameValue reports whether two values mean the same thing, whatever their
// case, spaces and punctuation: "用中文", "中文回复" and "Chinese" do.
func SameValue(a, b string) bool {
	if fa, fb := foldText(a), foldText(b); fa == fb {
		return fa != "" || strings.TrimSpace(a) == strings.TrimSpace(b)
	}
	fa, fb := foldText(stripFiller(a)), foldText(stripFiller(b))
	if fa == fb && fa != "" {
		return true
	}
	for _, table := range valueTables {
		if va, ok := lookValue(table, fa); ok {
			if vb, ok := lookValue(table, fb); ok {
				return va == vb
			}
		}
	}
	return false
}

// sameIn is SameValue within one topic, where its own folding applies.
func sameIn(key, a, b string) bool {
	if t := singleByKey[key]; t != nil && t.fold != nil {
		va, vb := t.fold(a), t.fold(b)
		if va != "" && vb != "" {
			return va == vb || key == "format" && (strings.HasPrefix(va, vb+" ") || strings.HasPrefix(vb, va+" "))
		}
	}
	return SameValue(a, b)
}

// foldText keeps letters and digits only, in one case and width.
func foldText(s string) string {
	s = terms.Normalize(s)
	at := strings.IndexFunc(s, folded)
	if at < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:at])
	for _, r := range s[at:] {
		if !folded(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// folded reports whether foldText leaves a character out.
func folded(r rune) bool { return r <= ' ' || signRune(r) }

func signRune(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiSigns[r>>6]>>(r&63)&1 != 0
	}
	switch r {
	case '，', '。', '；', '：', '！', '？', '、', '“', '”', '‘', '’', '（', '）', '【', '】', '《', '》', '「', '」', '…', '—', '·', '　':
		return true
	}
	return false
}

// asciiSigns are bits.
var asciiSigns = func() (set [2]uint64) {
	for _, c := range " \t.,;:!?'\"`~()[]{}<>-_/\\|" {
		set[c>>6] |= 1 << (c & 63)
	}
	return set
}()

var filler = regexp.MustCompile(`(?i)^(请|麻烦|以后|今后|都|一律|统一|默认|总是|一直|继续|改为|改成|改用|换成|用|使用|以|说|是|在|位于|为|the |a |an |please |always |use |using |in |at |on |is |to |answer |reply |respond |write |speak |from now on,? )+|(来)?(回复|回答|答复|作答|交流|沟通|书写|输出|为准|就行|就好|即可|吧|了| please| only| now| from now on| for answers| in answers)+$`)

// stripFiller takes off what surrounds a value without changing it.
func stripFiller(s string) string {
	s = strings.TrimSpace(s)
	for range 3 {
		t := strings.Trim(filler.ReplaceAllString(s, ""), " .,，。!！")
		if t == s || t == "" {
			break
		}
		s = t
	}
	return s
}
