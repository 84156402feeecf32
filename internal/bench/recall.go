package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// remembered are the twenty memories of the reader: type, topic, summary. Four
// of them meet the words of polishQuestion.
var remembered = [20][3]string{
	{"preference", "tone", "翻译和邮件一律用正式、礼貌的语气"},
	{"preference", "format", "Answers in short paragraphs, with units behind every figure"},
	{"preference", "language", "默认用中文回答"},
	{"agreement", "mail titles", "给承运商的邮件标题要写明线路和月份"},
	{"agreement", "weekly report", "The weekly report goes out on Friday before noon, with the table of late deliveries first"},
	{"agreement", "numbers", "金额统一用万元，保留一位小数"},
	{"goal", "carriers", "Bring the late share of Harbour below 5 % by the end of the third quarter"},
	{"goal", "template", "六月底前和 Harbour 一起把报关文件模板定下来"},
	{"goal", "warehouse", "Move the spare parts to the northern warehouse before the winter"},
	{"conclusion", "customs papers", "报关文件不全的问题都出在南线，缺的是收货人登记号"},
	{"conclusion", "storm", "The late deliveries of March came from the storm week; without it both carriers are equal"},
	{"conclusion", "loading", "仓库装车延误主要发生在周一上午，因为叉车只有两台"},
	{"conclusion", "price", "North is 6 % more expensive per pallet and half a day faster"},
	{"conclusion", "pallets", "标准托盘每辆车最多装三十三个"},
	{"preference", "contact", "Calls only after ten, mails at any time"},
	{"preference", "role", "在贸易公司负责东欧线的物流"},
	{"agreement", "meeting", "承运商例会改到每月第一个周二下午"},
	{"agreement", "names", "Carriers are called by their short names in all documents"},
	{"goal", "figures", "把到货准时率做成每周自动更新的图表"},
	{"conclusion", "insurance", "The insurance covers water damage only when the container was sealed"},
}

// runRecall compares chats of a user with twenty memories.
func runRecall(b *bench) ([]row, error) {
	own, err := b.startStrata(oneCore)
	if err != nil {
		return nil, err
	}
	defer own.stop()
	for _, m := range remembered {
		if err := own.remember(b.ctx, "reader", m[0], m[1], m[2]); err != nil {
			return nil, err
		}
	}
	request := chatRequest("X-Strata-User: reader", "X-Strata-Mode: read-only")
	if err := b.expectContext(own, request); err != nil {
		return nil, err
	}
	bare := &contender{target: b.bare, request: request}
	strata := &contender{target: own, request: request}
	if err := b.plainContest().run(b.ctx, bare, strata); err != nil {
		return nil, err
	}
	return []row{
		cpuRow("recall", "chat read-only with 20 memories (4 KB in, 1 KB out): CPU per request", bare, strata, 1.9),
		rateRow("recall", "such requests per second, 32 connections", bare, strata, 0),
	}, nil
}

// expectContext makes sure that something is inserted: a figure of a walk
// that found nothing would be a lie.
func (b *bench) expectContext(t *target, request []byte) error {
	p, err := dialPool(b.ctx, t.addr, 1, request)
	if err != nil {
		return err
	}
	defer p.close()
	if _, err := p.run(b.ctx, 0, (*client).exchange); err != nil {
		return err
	}
	said, err := p[0].answerHeader("X-Strata-Context")
	if err == nil && !strings.HasPrefix(said, "full;") {
		err = fmt.Errorf("no context: %s", said)
	}
	return err
}

const (
	talkUsers   = 50
	talkTurns   = 8 // exchanges of one conversation
	userMark    = "user-00"
	sessionMark = "talk-000000"
	ticketMark  = "Ticket 00000000. "
)

// said are the words of one conversation's turns. Where one is empty,
// something is stated that is worth remembering.
var said = [talkTurns]string{
	"Draft a short note to the team about the new delivery slots.",
	"把上面这段改得更简洁一些，保留三个要点。",
	"",
	"Why do prices for pallets rise before the holidays? Explain in simple words.",
	"帮我想五个内部分享会的题目。",
	"Make the second paragraph warmer, please.",
	"谢谢，这样就可以了。",
	polishQuestion,
}

// stated take turns, so that users state new things, repeat what they said
// and change their minds.
var stated = [...]string{
	"Please remember: always answer me in bullet points.",
	"请记住：我的办公室在三号楼。",
	"I prefer metric units in all tables.",
	"以后都用中文回答我。",
	"Remember that our budget year begins in April.",
	"我们约定周报周五中午前发出。",
	"From now on answer me in one short paragraph.",
	"请记住：我的办公室在五号楼。",
	"My goal is to bring the late share below five percent by September.",
	"以后金额统一用万元表示。",
	"Please remember: our project is called Blue Heron.",
	"以后用英文回答我。",
}

// talks makes the requests of fifty users, each with one conversation after
// the other, eight turns long.
type talks struct {
	turns  [talkTurns][]byte
	states [len(stated)][]byte
	count  atomic.Int64 // exchanges so far
}

func newTalks() *talks {
	t := new(talks)
	ask := func(words string) []byte {
		return httpRequest("/v1/chat/completions", askBody("bench", false, ticketMark, words), "X-Strata-User: "+userMark, "X-Strata-Session: "+sessionMark)
	}
	for i, words := range said {
		t.turns[i] = ask(words)
	}
	for i, words := range stated {
		t.states[i] = ask(words)
	}
	return t
}

// next returns a way to make requests that fills one buffer again and again.
func (t *talks) next() func() []byte {
	var buf []byte
	return func() []byte {
		n := int(t.count.Add(1))
		user, turn := n%talkUsers, n/talkUsers
		talk := turn / talkTurns
		template := t.turns[turn%talkTurns]
		if said[turn%talkTurns] == "" {
			template = t.states[(talk+user)%len(stated)]
		}
		buf = append(buf[:0], template...)
		number(buf, userMark, user)
		number(buf, sessionMark, talk)
		number(buf, ticketMark, n)
		return buf
	}
}

// number writes n over the zeros of mark's first occurrence in b.
func number(b []byte, mark string, n int) {
	from := strings.IndexByte(mark, '0')
	end := strings.LastIndexByte(mark, '0')
	at := bytes.Index(b, []byte(mark))
	for i := at + end; i >= at+from; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
}

// runLearn counts everything that an exchange costs in the end: forwarding,
// the walk, the record, and learning from it.
func runLearn(b *bench) ([]row, error) {
	own, err := b.startStrata(oneCore)
	if err != nil {
		return nil, err
	}
	defer own.stop()
	c := b.plainContest()
	if !b.quick {
		c.rounds = 9 // each adds some ten thousand exchanges to the store
	}
	bare := &contender{target: b.bare, request: chatRequest()}
	strata := &contender{target: own, request: chatRequest(), vary: newTalks().next, settle: own.learnAll}
	if err := c.run(b.ctx, bare, strata); err != nil {
		return nil, err
	}
	if err := b.expectLearned(own); err != nil {
		return nil, err
	}
	all, added := spreadOf(strata.cpu), spreadOf(pairwise(strata.cpu, bare.cpu, difference))
	return []row{
		{Case: "learn", What: "chat with mode on, 50 users: CPU per exchange, recorded and learned", Unit: "µs",
			Bare: median(bare.cpu), Strata: all.Median, Result: &all, ResultUnit: "µs", Aim: atMost(150, all)},
		{Case: "learn", What: "the same: added to the bare forwarder", Unit: "µs",
			Bare: median(bare.cpu), Strata: all.Median, Result: &added, ResultUnit: "µs"},
	}, nil
}

func (b *bench) expectLearned(t *target) error {
	n, err := t.memories(b.ctx, fmt.Sprintf("user-%02d", talkUsers/2))
	if err == nil && n == 0 {
		err = errors.New("nothing was learned")
	}
	return err
}
