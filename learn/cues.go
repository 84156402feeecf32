package learn

import (
	"regexp"
	"strings"

	"strata/internal/prefilter"
)

// cues are the patterns that the request path asks, a small family.
var cues prefilter.Set

// targets are asked of what is to be forgotten.
var targets prefilter.Set

// cued is a sentence with the cues that may stand in it.
type cued struct {
	text string
	hits prefilter.Hits
}

func listen(text string) cued { return cued{text: text, hits: cues.Scan(text)} }

// Cues tells whether the user's words ask what is remembered about them, ask
// to forget something, or speak off the record. It is read on the request
// path: a look for a few words first, and only where one stands the patterns.
func Cues(words string) (recall, forget, offRecord bool) {
	if len(words) > 2*edge {
		words = strings.ToValidUTF8(words[:edge]+"\n"+words[len(words)-edge:], "")
	}
	if may := anyCue.Scan(words); !may.Any() || !hinted(words) {
		return false, false, false
	}
	for _, text := range sentences(words) {
		s := listen(text)
		if !s.hits.Any() {
			continue
		}
		recall = recall || recallAsked.Match(text, &s.hits)
		if kind, _ := s.forgetAsked(); kind != forgetNone {
			forget = true
		}
		offRecord = offRecord || s.offRecord()
	}
	return recall, forget, offRecord
}

// anyCue is for a look at a whole message: without it no sentence has a cue.
var anyCue = func() *prefilter.Set {
	s := &prefilter.Set{}
	for _, p := range []*prefilter.Pattern{recallAsked, offRecordSaid, cancelSaid, forgetHanBA, forgetHan, forgetEN} {
		s.Screen(p.String())
	}
	return s
}()

// hinted looks for the words without which no cue can stand.
func hinted(s string) bool {
	for _, w := range [...]string{"记", "忘", "了解我", "知道我", "印象", "off", "Off", "OFF", "emember", "REMEMBER", "orget", "FORGET", "about me", "memor", "Memor", "elete", "rase", "save", "store", "keep this", "删", "保密"} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

var recallAsked = cues.Compile(`(?i)\bwhat(?: all| else| things)? (?:do|can|did) you (?:still |already |currently )?(?:remember|know|recall|have stored|have saved|have) (?:about|of|on) me\b|\bwhat (?:have|had) you (?:remembered|learned|learnt|saved|stored|noted)(?: about| of| on)? ?(?:me)?\b|\b(?:do|can) you (?:still )?(?:remember|recall|know) (?:me|anything about me|who i am|who am i)\b|\b(?:show|list|tell)(?: me)?(?: all)?(?: of)? (?:my|your|the|saved|stored) memor(?:y|ies)\b|\bwhat(?:'s| is| are) (?:in )?(?:your|my) (?:memory|memories)(?: about| of)?|\bwhat do you remember\??$|\beverything you (?:know|remember) about me\?|\btell me what you (?:know|remember) about me\b` +
	`|你(?:还|都|现在|目前)?(?:记得|记住|记着|知道|了解)(?:了)?(?:关于)?我(?:的)?(?:什么|哪些|多少|些什么|啥|吗)|你(?:还|都)?记(?:得|住|了|着)(?:了)?(?:些)?(?:什么|哪些|啥)|关于我.{0,6}(?:记得|知道|记住|了解|记了).{0,3}(?:什么|哪些|多少|啥)|你对我(?:有)?(?:什么|哪些|多少)(?:了解|印象|记忆)|你对我(?:了解|知道)多少|我(?:让|叫|要)你记(?:住|下|了)?(?:过|了)?(?:些)?(?:什么|哪些)|(?:列出|显示|看看|告诉我)(?:你)?(?:关于我|对我|我)的(?:全部|所有)?记忆|你还记得我吗|你记得我是谁`)

var offRecordSaid = cues.Compile(`(?i)\b(?:this is |strictly |keep (?:this|that|it) |let'?s go |speaking |going )?off[- ]the[- ]record\b|\b(?:don'?t|do not|please don'?t|never) (?:remember|save|store|record|memori[sz]e|log|keep) (?:this|any of this|what i(?:'m| am) (?:about to )?(?:say|tell)\w*|this (?:conversation|chat|message|part|turn)|what follows|the following)\b|\bkeep this (?:conversation|chat|message) out of (?:your )?memory\b` +
	`|(?:这|以下|下面|接下来|刚才)(?:段|句|些|个|条|部分|次)?(?:的)?(?:话|内容|对话|消息|聊天)?(?:的)?(?:都|就|请|你)?(?:不要|别|不用|不许|不必|勿)(?:记|保存|存|录|记录|记住|记下)|(?:不要|别|不用|请勿)(?:记录|记住|保存|记下?)(?:这|以下|下面|接下来)(?:段|句|些|个|条|部分|次)?|不(?:要)?(?:记录|记)在案|私下说|别记录在案|仅限这次.{0,6}不要记`)

var offRecordNot = cues.Compile(`(?i)\b(?:what|does|mean|meaning|define|phrase|translate)\b.*off[- ]the[- ]record|什么意思|怎么翻译`)

func (c *cued) offRecord() bool {
	return offRecordSaid.Match(c.text, &c.hits) && !offRecordNot.Match(c.text, &c.hits)
}

// What a sentence wants forgotten.
type forgetKind int

const (
	forgetNone   forgetKind = iota
	forgetTarget            // what is named
	forgetLast              // what was said last: "forget that"
	forgetAll               // everything about the user
	forgetCancel            // do not keep what this turn says
)

var (
	forgetHan   = cues.CompileInside(`^(?:好的?[，,]?|嗯[，,]?|那|那么|请|麻烦|麻烦你|请你|帮我|你|现在|可以|能不能|能|就|先|把|算了[，,]?|还是)*(?:忘掉|忘了|忘记|忘|别再记得?|不要再记得?|别记得?|不要记得?|不用再记得?|不用记得?|删掉|删除|清除|抹掉|清空|去掉)(?:住|着|了)?(.*)$`)
	forgetHanBA = cues.CompileInside(`^(?:好的?[，,]?|请|麻烦|麻烦你|请你|帮我|你|现在|那)*(?:把|将)(.+?)(?:给)?(?:忘掉|忘了|忘记|从记忆(?:里|中)?(?:删掉|删除|去掉)|删掉|删除|抹掉|清空|清除)(?:吧|了|掉)?[。.!！]*$`)
	forgetEN    = cues.CompileInside(`(?i)^(?:ok(?:ay)?,? |so,? |and |now,? |hey,? |actually,? |please,? |can you |could you |would you |will you |i (?:want|need|'d like) you to |you (?:can|should|may) |just )*(?:forget|erase|delete|remove|unlearn|stop remembering|don'?t remember|do not remember|no longer remember|don'?t keep|wipe)(?: about)?\b(.*)$`)
	memoryNoun  = regexp.MustCompile(`(?i)\bmemor(?:y|ies)\b|\b(?:know|remember|remembered|told you|said|stored|saved) |记忆|记得|记住|我说过|告诉过你|关于我|我的|我叫|我在|我住|我对|我是`)
	everything  = targets.Compile(`(?i)^(?:that )?(?:everything|all|all of it|all of that)(?: that)?(?: you (?:know|remember|have|stored|saved|learned)(?: about)?| about)?(?: (?:me|i(?:'ve| have)? (?:told|said)(?: to)? you)| of my memories| my memories)?$|^(?:all )?(?:of )?(?:my|your) (?:saved |stored )?memories(?: about me)?$|^(?:all )?memories about me$|^(?:关于我的?|我的|你记得的?|有关我的?)?(?:一切|所有|全部)(?:的)?(?:记忆|事情|信息|内容|东西|事)?(?:吧|了)?$|^(?:关于我的?|我的|你对我的)(?:所有|全部|一切)?记忆(?:吧)?$|^(?:所有|全部)(?:关于我的|我的)(?:记忆|事情|信息|内容|一切|事)?$`)
	anaphora    = regexp.MustCompile(`(?i)^(?:that|this|it|the last (?:one|thing|part|bit)|what i (?:just |last )?(?:said|told you)(?: just now)?|my last (?:message|statement))?(?: please| then| now)?$|^(?:这个|那个|这条|那条|这件事|那件事|这事|那事|它|这点|刚才那?(?:个|条|件事|句|段)?(?:话)?(?:说的)?|刚刚(?:说的|那条)|上一?(?:条|句|个)|我刚才?说的(?:话)?)?(?:吧|了|好了|啊)?$`)
	cancelSaid  = cues.CompileInside(`(?i)^(?:算了|不了|不)?[，,]?(?:不用|不必|别|不要)(?:再)?(?:帮我)?记(?:了|下来?了?|住了?|下了?)?(?:吧|啦|哦|啊)?$|^(?:never ?mind|nvm|actually|no)?,? ?(?:you )?(?:don'?t|do not|needn'?t|no need to)(?: have to| need to)? (?:remember|save|note|store|keep|write down|record)(?: (?:that|this|it))?(?: down)?(?: after all| any ?more)?$|^scratch that$|^取消记忆$|^刚才的?不算$|^当我没说(?:过)?$`)
	idiom       = regexp.MustCompile(`(?i)^(?: ?(?:it|about it(?:,.*)?|it,.*|that noise|you|not|to|me not))?$`)
	notForget   = cues.Compile(`(?:别|不要|不能|可别|千万别|勿)(?:忘|忘了|忘记)|(?:我|他|她|我们|差点|老是|总|又)(?:总是|经常|都|也|又|差点|刚)?忘|忘不了|难忘`)
	dataWork    = regexp.MustCompile(`(?i)\b(?:row|column|line|file|table|record|duplicate|word|sentence|paragraph|branch|comment|key|item|node|element|character|space|folder|function|test|class|from the (?:list|table|file|text|array|string|db|database))s?\b|行|列|文件|表格|重复|代码|函数|段落|空格|句子|字段|分支|注释|文件夹|这段话|标题|图`)
)

// isEverything reports whether all that is known of the user is to be forgotten.
func isEverything(target string) bool {
	hits := targets.Scan(target)
	return everything.Match(target, &hits)
}

// forgetAsked reads a wish to forget: its kind and the words that name what.
func (c *cued) forgetAsked() (forgetKind, string) {
	cancel, ba, han, en := cancelSaid.May(&c.hits), forgetHanBA.May(&c.hits), forgetHan.May(&c.hits), forgetEN.May(&c.hits)
	if !cancel && !ba && !han && !en {
		return forgetNone, ""
	}
	text := strings.TrimSpace(c.text)
	bare := strings.TrimRight(strings.TrimSpace(strings.TrimRight(text, "。.!！?？~ ")), "。.!！?？~ ")
	if cancel && cancelSaid.MatchString(bare) {
		return forgetCancel, ""
	}
	if notForget.Match(text, &c.hits) && strings.Contains(text, "忘") {
		return forgetNone, ""
	}
	var rest string
	strict := false
	if m := forgetHanBA.Submatch(bare, &c.hits); m != nil {
		rest, strict = m[1], !strings.Contains(bare, "忘")
	} else if m := forgetHan.Submatch(bare, &c.hits); m != nil {
		rest, strict = m[1], !strings.ContainsAny(bare, "忘记")
		if strings.HasPrefix(rest, "录") {
			return forgetNone, ""
		}
	} else if m := forgetEN.Submatch(bare, &c.hits); m != nil {
		low := strings.ToLower(bare)
		rest, strict = m[1], !strings.Contains(low, "forget") && !strings.Contains(low, "remember")
	} else {
		return forgetNone, ""
	}
	target := strings.Trim(strings.TrimSpace(rest), " ,，:：。.!！吧")
	target = strings.TrimPrefix(strings.TrimPrefix(target, "that "), "about ")
	switch {
	case strict && (!memoryNoun.MatchString(target+" ") || dataWork.MatchString(target)):
		return forgetNone, "" // "delete the second row", "删掉重复行"
	case isEverything(target):
		return forgetAll, ""
	case idiom.MatchString(" "+target) && target != "":
		return forgetNone, ""
	case anaphora.MatchString(target):
		return forgetLast, ""
	}
	return forgetTarget, target
}

// offRecord reports whether a text says that it is off the record.
func offRecord(text string) bool {
	own, _ := ownWords(text)
	for _, s := range sentences(own) {
		if c := listen(s); c.offRecord() {
			return true
		}
	}
	return false
}
