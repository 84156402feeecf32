package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

const (
	docSections  = 20 // one passage each
	questionEach = 25 // sections
)

// corpus writes the same documents each time: half in English, half in
// Chinese, of common words that most sections share, and rare ones that few
// do, as in the rules of a firm.
type corpus struct {
	rand      *rand.Rand
	questions []string
}

func newCorpus() *corpus { return &corpus{rand: rand.New(rand.NewPCG(7, 11))} }

var (
	enCommon = strings.Fields(`the of and to in is for on that with by must may each which from when at as be this are not after before
under within no request form office manager approval budget travel cost days week month year limit rule department employee supplier contract order
delivery stock report price account team training device access data review meeting customer invoice payment standard level visit copy record date`)
	enRare = syllables([]string{"bar", "cor", "del", "fen", "gal", "hol", "ker", "lim", "mor", "nor", "pel", "quin", "ros", "sel", "tar", "vel", "wes", "zan"},
		[]string{"a", "e", "i", "o", "u"}, []string{"ton", "ber", "dell", "ford", "ham", "lin", "mark", "nik", "sted", "wick"})
	zhCommon = strings.Fields(`申请 审批 部门 员工 经理 预算 出差 费用 标准 规定 应当 不得 可以 以及 如果 之前 之后 每月 每年 合同 供应商 订单 交付 库存 报告 价格
账户 团队 培训 设备 权限 数据 评审 会议 客户 发票 付款 级别 访问 记录 日期 工作日 提交 系统 负责人 书面 说明 一次 超过 限额 由 的 和 在 须 内`)
	zhRare = syllables([]string{"青", "岩", "澄", "榆", "霖", "棠", "砚", "翎", "珩", "湛", "嵘", "茗"}, []string{"河", "岭", "川", "泽", "屿", "坪"},
		[]string{"站", "条款", "线路", "仓", "项目", "等级", "补贴", "编号"})
)

// syllables are all words of one part each.
func syllables(parts ...[]string) []string {
	words := []string{""}
	for _, part := range parts {
		var longer []string
		for _, w := range words {
			for _, p := range part {
				longer = append(longer, w+p)
			}
		}
		words = longer
	}
	return words
}

// skewed picks a word as language does: the first ones often.
func (c *corpus) skewed(words []string) string {
	return words[int(float64(len(words))*math.Pow(c.rand.Float64(), 2))]
}

// document returns the n-th document. Now and then a section becomes a
// question.
func (c *corpus) document(n int) []byte {
	var b strings.Builder
	chinese := n%2 == 1
	fmt.Fprintf(&b, "# %s\n", c.title(chinese))
	for i := range docSections {
		rare, head := c.rare(chinese), c.title(chinese)
		fmt.Fprintf(&b, "\n## %d.%d %s\n\n", n, i+1, head)
		c.section(&b, chinese, rare)
		if (n*docSections+i)%questionEach == 0 {
			c.questions = append(c.questions, c.question(chinese, head, rare))
		}
	}
	return []byte(b.String())
}

func (c *corpus) rare(chinese bool) string {
	if chinese {
		return c.skewed(zhRare)
	}
	return c.skewed(enRare)
}

func (c *corpus) title(chinese bool) string {
	if chinese {
		return c.skewed(zhCommon[:32]) + c.skewed(zhCommon[:32]) + "规定"
	}
	return "Rules for " + c.skewed(enCommon[30:]) + " and " + c.skewed(enCommon[30:])
}

// section writes some 900 bytes that name rare words, one of them twice.
func (c *corpus) section(b *strings.Builder, chinese bool, rare string) {
	common, others, space, stop, words := enCommon, enRare, " ", ". ", 150
	if chinese {
		common, others, space, stop, words = zhCommon, zhRare, "", "。", 130
	}
	for i := range words {
		switch {
		case i == 3 || i == words/2:
			b.WriteString(rare)
		case i%19 == 7:
			b.WriteString(c.skewed(others))
		case i%23 == 11:
			fmt.Fprint(b, c.rand.IntN(900)+10)
		default:
			b.WriteString(c.skewed(common))
		}
		if i%16 == 15 {
			b.WriteString(stop)
		} else {
			b.WriteString(space)
		}
	}
	b.WriteByte('\n')
}

// line is at least so many letters of English words.
func (c *corpus) line(letters int) string {
	var b strings.Builder
	for b.Len() < letters {
		b.WriteString(c.skewed(enCommon) + " ")
	}
	return b.String() + c.skewed(enRare)
}

func (c *corpus) question(chinese bool, head, rare string) string {
	if chinese {
		return rare + "的" + c.skewed(zhCommon[:32]) + "限额是多少？" + head + "里怎么写的？"
	}
	return "What is the " + c.skewed(enCommon[30:]) + " limit for " + rare + " according to the " + strings.ToLower(head) + "?"
}
