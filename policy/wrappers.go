package policy

import (
	"strings"

	"strata/chat"
)

// The delimiters of what Strata inserts. A client that sends it back must not
// make it the user's words.
const (
	blockOpen  = "<strata-context"
	blockClose = "</strata-context>"
)

// cutBlocks cuts Strata's own blocks out. A line feed takes the place of
// each, so that nothing can be put together into a new one; without an end
// the rest of the text is the block's.
func cutBlocks(text string) string {
	at := strings.Index(text, blockOpen)
	if at < 0 {
		return text
	}
	var out strings.Builder
	for at >= 0 {
		out.WriteString(text[:at])
		out.WriteByte('\n')
		end := strings.Index(text[at:], blockClose)
		if end < 0 {
			return out.String()
		}
		text = text[at+end+len(blockClose):]
		at = strings.Index(text, blockOpen)
	}
	out.WriteString(text)
	return out.String()
}

// wrapper is one way in which front ends put retrieved text around what the
// user wrote. Documents hold anything, closing tags and questions too: what
// ends them is always the last one, so that at worst some of the user's words
// are lost and never a document's become the user's.
type wrapper struct {
	heads  []string // the text starts with one of these
	needs  string   // and holds this
	ends   []string // what retrieved text ends with
	labels []string // what stands before the user's words, behind that
	must   bool     // without a label nothing is the user's
	tails  []string // what may follow them
}

// wrappers are the templates of Open WebUI (the newer and the older one, which
// Dify, aichat and others share), LangChain, LlamaIndex, FastGPT and
// Langchain-Chatchat.
var wrappers = []wrapper{
	{heads: []string{"### Task:\nRespond to the user query using the provided context"}, needs: "<context>",
		ends: []string{"</context>"}},
	{heads: []string{"Use the following context as your learned knowledge, inside <context></context> XML tags.",
		"Use the provided context as your learned knowledge"}, needs: "</context>",
		ends:   []string{"</context>", "Given the context information, answer the query.", "And answer according to the language of the user's question."},
		labels: []string{"Query:"}},
	{heads: []string{"Use the following pieces of context to answer the", "Answer the question based only on the following context"},
		labels: []string{"\nQuestion:", "\nquestion:"}, must: true, tails: []string{"\nHelpful Answer:", "\nAnswer:"}},
	{heads: []string{"Context information is below.\n---------------------"},
		ends: []string{"\n---------------------\n"}, labels: []string{"Query:"}, must: true, tails: []string{"\nAnswer:"}},
	{heads: []string{"使用 <Data></Data> 标记中的内容作为", "使用 <Reference></Reference> 标记中的内容作为", "使用 <QA></QA> 标记中的问答对"},
		ends: []string{"</Data>", "</Reference>", "</QA>"}, labels: []string{"问题:\"\"\"", "问题：\"\"\"", "问题:", "问题："}, must: true, tails: []string{"\"\"\""}},
	{heads: []string{"<指令>"}, needs: "</已知信息>", ends: []string{"</已知信息>"}, labels: []string{"<问题>"}, must: true, tails: []string{"</问题>"}},
	{heads: []string{"已知信息：", "已知信息:"}, needs: "上述已知信息", ends: []string{"上述已知信息"},
		labels: []string{"问题是：", "问题是:", "问题：", "问题:"}, must: true},
}

// Open WebUI puts lists of files before the user's words, and instructions
// for its code interpreter behind them.
var (
	wrapperLists = [...]struct{ open, close string }{
		{"<attached_files>", "</attached_files>"}, {"<system_default_context>", "</system_default_context>"},
	}
	wrapperTails = []string{"\n#### Tools Available\n\n1. **Code Interpreter**", "\n#### Code Interpreter\n\nYou have access to a Python code interpreter via:"}
)

// unwrap cuts the templates of front ends off the user's words.
func unwrap(text string) string {
	text = strings.TrimSpace(text)
	text = cutHistory(cutTails(cutLists(text)))
	if after, ok := strings.CutPrefix(text, libreDocuments); ok {
		text = behindDocuments(after)
	}
	if wrapperFirst.of(text) {
		for i := range wrappers {
			if w := &wrappers[i]; w.holds(text) {
				return w.cut(text)
			}
		}
	}
	return strings.TrimSpace(text)
}

// firstBytes are those that some texts begin with. Most other texts begin with
// another byte and need not be compared with each of them.
type firstBytes [256]bool

func firstBytesOf(texts ...string) (set firstBytes) {
	for _, t := range texts {
		set[t[0]] = true
	}
	return set
}

func (f *firstBytes) of(text string) bool { return text != "" && f[text[0]] }

var wrapperFirst = func() firstBytes {
	var heads []string
	for i := range wrappers {
		heads = append(heads, wrappers[i].heads...)
	}
	return firstBytesOf(heads...)
}()

func cutLists(text string) string {
	for again := true; again; {
		again = false
		for _, tag := range wrapperLists {
			if !strings.HasPrefix(text, tag.open) {
				continue
			}
			if _, behind, ok := strings.Cut(text, tag.close); ok {
				text, again = strings.TrimSpace(behind), true
			}
		}
	}
	return text
}

func cutTails(text string) string {
	for _, tail := range wrapperTails {
		text, _, _ = strings.Cut(text, tail)
	}
	return text
}

// cutHistory cuts a quoted conversation.
func cutHistory(text string) string {
	open := strings.Index(text, historyOpen)
	if open < 0 {
		return text
	}
	end := strings.LastIndex(text, historyClose)
	if end < open {
		return text
	}
	return strings.TrimSpace(text[:open] + "\n" + text[end+len(historyClose):])
}

func (w *wrapper) holds(text string) bool {
	for _, head := range w.heads {
		if strings.HasPrefix(text, head) {
			return strings.Contains(text, w.needs)
		}
	}
	return false
}

const (
	queryOpen  = "<user_query>"
	queryClose = "</user_query>"
)

func (w *wrapper) cut(text string) string {
	from := 0
	for _, end := range w.ends {
		if at := strings.LastIndex(text, end); at >= 0 {
			from = max(from, at+len(end))
		}
	}
	rest := text[from:]
	if at := strings.LastIndex(rest, queryClose); at >= 0 {
		// Later versions quote the query in the template and send the user's
		// message behind it as well.
		quoted := rest[:at]
		if rest = strings.TrimSpace(rest[at+len(queryClose):]); rest != "" {
			return rest
		}
		if open := strings.LastIndex(quoted, queryOpen); open >= 0 {
			return strings.TrimSpace(quoted[open+len(queryOpen):])
		}
		return ""
	}
	rest, ok := w.behindLabel(rest, from > 0)
	if !ok && w.must {
		return ""
	}
	for _, tail := range w.tails {
		if at := strings.LastIndex(rest, tail); at >= 0 {
			rest = rest[:at]
			break
		}
	}
	return saidOnce(strings.TrimSpace(rest))
}

// behindLabel takes the first label behind the retrieved text; where nothing
// tells its end, the last one.
func (w *wrapper) behindLabel(rest string, ended bool) (string, bool) {
	for _, label := range w.labels {
		at := strings.LastIndex(rest, label)
		if ended {
			at = strings.Index(rest, label)
		}
		if at >= 0 {
			return rest[at+len(label):], true
		}
	}
	return rest, false
}

// saidOnce undoes "the question, a line feed, the question again".
func saidOnce(text string) string {
	if half := len(text) / 2; len(text)%2 == 1 && text[half] == '\n' && text[:half] == text[half+1:] {
		return text[:half]
	}
	return text
}

// LibreChat quotes files that were uploaded as text before the user's words.
const libreDocuments = "Attached document(s):\n```md"

func behindDocuments(text string) string {
	const fence = "\n```\n"
	if at := strings.LastIndex(text, fence); at >= 0 {
		return strings.TrimSpace(text[at+len(fence):])
	}
	return "" // the documents alone
}

// helperHeads are the first words of the calls that front ends make for
// themselves: the text of the last user message starts with one of these.
// They are long enough that nobody types them by chance.
var helperHeads = []string{
	// Open WebUI, besides the templates that quote the chat history
	"Your task is to reflect the speaker's likely facial expression through a fitting emoji.",
	"You have been provided with a set of responses from various models to the latest user query:",
	"Query: History:\n",
	"Create a concise, 3-5 word phrase with an emoji as a title for the previous query.",
	"Create a concise, 3-5 word phrase as a header for the following query",
	"### Task:\nYou are an autocompletion system.",
	// LibreChat
	"Provide a concise, 5-word-or-less title for the conversation",
	"Please generate a concise, 5-word-or-less title for the conversation",
	"Analyze this conversation and provide:\n1. The detected language of the conversation",
	"Write a concise title for this conversation in the given language.",
	// NextChat
	"Please generate a four to five word title summarizing our conversation without any lead-in",
	"使用四到五个字直接返回这句话的简要主题",
	"简要总结一下对话内容，用作后续的上下文提示 prompt",
	"Summarize the discussion briefly in 200 words or less to use as a prompt for future context.",
	// Chatbox, BetterChatGPT
	"Based on the chat history, give this conversation a name.",
	"Generate a title in less than 6 words for the following message",
}

var helperFirst = firstBytesOf(helperHeads...)

// helperTitles are Chinese ones that only with one of the second words ask for
// a title and nothing else.
var (
	helperTitles = []string{"请为以下对话生成一个", "请根据以下对话生成一个", "请为下面的对话生成一个"}
	helperOnly   = []string{"只返回标题", "直接返回标题", "直接输出标题", "仅输出标题", "只输出标题", "仅返回标题"}
)

// helperEnds are the last words of a quoted conversation.
var helperEnds = []string{
	"请总结上述对话为10个字以内的标题，不需要包含标点符号",
	"Please summarize the above conversation into a title",
}

// helperSystems are the first words of the system message of such calls:
// LobeChat, Cherry Studio, OpenCode, HuggingChat, Big-AGI, LibreChat.
var helperSystems = []string{
	"You are a professional conversation summarizer. Generate a concise title",
	"You are an assistant skilled in conversation. You need to summarize the user's conversation into a title",
	"You are an assistant who is good at conversation. You need to summarize the user's conversation into a title",
	"你是一名擅长会话的助理，你需要将用户的会话总结为",
	"You are a title generator. You output ONLY a thread title.",
	"You are a thread title generator. You output ONLY a thread title.",
	"You are a summarization AI. You'll never answer a user's question directly",
	"You are a chat thread titling assistant",
	"You are an AI conversation titles assistant",
	"Write a concise title for this conversation in the given language.",
	"Detect the language used in the following text.",
	"Available Tools: ",
}

// helperCues are what a template that quotes the history asks for.
var helperCues = []string{"title", "tags", "follow-up", "follow up", "search quer", "autocomplet", "standalone question",
	"标题", "标签", "追问", "后续问题", "搜索词", "检索词", "查询词"}

const (
	historyOpen   = "<chat_history>"
	historyClose  = "</chat_history>"
	historyBehind = 200     // bytes of a template behind the history
	helperHead    = 4000    // bytes of a template before the history
	helperStart   = 1 << 10 // bytes of a system message that its first words are in
	helperGlance  = 64      // bytes that mostly show that it has other first words
	helperPrompts = 8 << 10 // bytes of a system message above which it is an app's
)

// helperText tells whether a user message is the template of a helper call.
func helperText(text string) bool {
	text = strings.TrimSpace(text)
	if helperFirst.of(text) && helperAny(text, helperHeads, strings.HasPrefix) {
		return true
	}
	if helperAny(text, helperTitles, strings.HasPrefix) && helperAny(text, helperOnly, strings.Contains) {
		return true
	}
	return helperAny(text[max(0, len(text)-300):], helperEnds, strings.Contains) || helperHistory(text)
}

// helperHistory: a template that quotes the conversation. Open WebUI's start
// with "### Task:", in whatever language an operator has put it; others say
// what they want of the conversation and nothing behind it.
func helperHistory(text string) bool {
	at := strings.Index(text, historyOpen)
	if at < 0 || at > helperHead {
		return false
	}
	end := strings.LastIndex(text, historyClose)
	if end < at {
		return false
	}
	head := strings.ToLower(text[:at])
	if strings.HasPrefix(head, "### task") || strings.HasPrefix(head, "### 任务") {
		return true
	}
	return len(text)-end-len(historyClose) <= historyBehind && helperAny(head, helperCues, strings.Contains)
}

func helperAny(text string, of []string, fits func(text, part string) bool) bool {
	for _, part := range of {
		if fits(text, part) {
			return true
		}
	}
	return false
}

// helperSystem tells whether the leading system message makes the whole
// request a helper call.
func helperSystem(req *chat.Request) bool {
	m := &req.Messages[0]
	if m.Role != "system" && m.Role != "developer" || m.Content.End-m.Content.Start > helperPrompts {
		return false
	}
	if otherSystem(strings.TrimSpace(req.Start(0, helperGlance))) {
		return false
	}
	start := strings.TrimSpace(req.Start(0, helperStart))
	for _, head := range helperSystems {
		if !strings.HasPrefix(start, head) {
			continue
		}
		text := req.Text(0)
		// An app may describe its tools like that; Open WebUI's choice of a
		// tool says what to return.
		return head != "Available Tools: " || strings.Contains(text, "Your task is to choose and return the correct tool(s)")
	}
	return false
}

// otherSystem tells whether a glance at a system message shows that it is none
// of helperSystems. Its end may be a broken character.
func otherSystem(glance string) bool {
	if len(glance) < helperGlance/2 {
		return false // escapes or space: it shows too little
	}
	glance = glance[:helperGlance/2-3*len("\uFFFD")]
	for _, head := range helperSystems {
		if n := min(len(head), len(glance)); head[:n] == glance[:n] {
			return false
		}
	}
	return true
}
