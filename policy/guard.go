package policy

import (
	"strata/internal/prefilter"
	"strata/internal/terms"
)

// Guard reports whether a statement may stand in the stable block, among the
// instructions. false: it tries to steer the model beyond a preference (drop
// its instructions, reveal them, become someone else, call tools, send data
// away, act without the user), or to close a delimiter.
func Guard(text string) bool {
	low := terms.Normalize(text)
	hits := closer.Scan(low)
	for _, rule := range guardRules {
		if rule.Match(low, &hits) {
			return false
		}
	}
	return true
}

var guardRules = []*prefilter.Pattern{
	closer.Compile(`\b(ignore|disregard|forget|override|bypass|skip|drop|neglect|do not (follow|obey)|don'?t (follow|obey)|stop following)\b.{0,40}\b(instruction|prompt|rule|guideline|polic(y|ies)|guardrail|safety|restriction|filter|constraint|everything (above|before)|(previous|prior|above|earlier) (message|text|context)|system)s?\b`),
	closer.Compile(`\b(reveal|print|show|repeat|output|leak|expose|dump|tell me|disclose|include|quote)\b.{0,40}\b(system (prompt|message)|(hidden|secret|initial|developer|internal) (prompt|instruction|message)s?|your (prompt|instructions|rules)|api[ _-]?keys?|credentials|passwords?|other users?)`),
	closer.Compile(`\byou (are|'re) (now|no longer|not an? )|\bfrom now on,? you (are|'re|will be)\b|\b(pretend|act|behave|respond|roleplay|role-play) (to be|as if|as though|as an?)\b.{0,40}\b(unrestricted|jailbroken|dan|no (rules|limits|restrictions|filters)|without|root|admin|developer mode)|\b(jailbreak|developer mode|dan mode|god mode|do anything now|sudo mode)\b`),
	closer.Compile(`\b(exfiltrat\w*|(send|post|forward|upload|email|transmit|leak)\b.{0,50}\b(to|at|into)\b.{0,20}(https?:|www\.|webhook|attacker|[\w.-]+\.(com|net|io|org|ru|cn|xyz|test)\b))|!\[[^\]]*\]\(|<img\b|<script\b|https?://\S+[?&]\w+=\{`),
	closer.Compile(`\b(call|invoke|execute|run|use|trigger)\b.{0,24}\b(tool|function|shell|command|script|code|plugin|api|bash|curl|rm -rf)s?\b.{0,60}\b(with|without|before|after|every|each|when|always|silently|secretly|asking|first|automatically)\b|\b(always|silently|secretly|automatically|immediately|must)\b.{0,24}\b(call|invoke|execute|trigger)\b.{0,24}\b(tool|function|shell|command|script|plugin|bash|curl|rm\b|delete)`),
	closer.Compile(`\b(approve|accept|authori[sz]e|confirm|delete|transfer|pay|purchase|grant)\b.{0,40}\b(without (asking|confirmation|review|checking)|automatically|all (requests|payments|files|data))|\bwithout telling (the user|anyone)|\bdo(n'?t| not) (tell|inform|warn|mention).{0,20}\b(user|anyone)\b|\b(everyone|all users|other users|every user)\b.{0,30}\b(password|secret|data|memor)`),
	closer.Compile(`(忽略|无视|不要遵守|不用遵守|不必遵守|忘记|忘掉|绕过|跳过|覆盖|违反|抛弃|取消)\S{0,12}(指令|提示词|系统提示|规则|限制|设定|约束|安全|要求|以上内容|上文|前文|上面的内容|之前的内容|对话内容)`),
	closer.Compile(`(泄露|透露|输出|显示|告诉我|打印|重复|复述|公开|展示|给我)\S{0,12}(系统提示|提示词|系统消息|隐藏指令|内部指令|初始指令|密钥|其他用户|别的用户|别人的)|(系统提示词?|提示词|系统消息|隐藏指令|内部指令|初始指令)\S{0,8}(输出|告诉|打印|显示|发给|公开|复述|泄露|展示)`),
	closer.Compile(`(你现在是|从现在起你是|从现在开始你是|你不再是|假装你?是|假扮|扮演一?个?(没有|不受)|越狱|开发者模式|上帝模式|没有任何限制|不受任何限制|不受限制|解除限制)`),
	closer.Compile(`(调用|执行|运行|触发)\S{0,10}(工具|函数|命令|脚本|代码|插件|接口)\S{0,20}(之前|之后|每次|自动|不要问|无需|不经|悄悄|立即|然后)|(每次|自动|悄悄|立即|必须|先|偷偷)\S{0,8}(调用|执行|运行|触发)\S{0,10}(工具|函数|命令|脚本|插件|接口|删除)|(发送|上传|转发|发|传)(到|给|至)\S{0,8}(https?:|[\w.-]+\.(com|net|io|org|cn|xyz)|外部|第三方|攻击)|(不要|别|无需|不用)(告诉|通知|提醒|让)\S{0,4}用户|(无需|不用|不必|不要)\S{0,2}(确认|询问|审批)\S{0,6}(就|直接|自动)?(删除|转账|付款|支付|通过|批准|授权)|(直接|自动)(批准|转账|付款|授权)`),
	closer.Compile(`<\s*/?\s*(system|assistant|user|tool|context|memory|instructions?|strata)\b[^>]*>|\[/?(inst|system)\]|<\|[\w]+\|>|^\s*(system|assistant|developer)\s*[:：]|###\s*(system|instruction)`),
}
