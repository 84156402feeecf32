package policy

import (
	"strings"
	"unicode/utf8"

	"strata/chat"
	"strata/intent"
)

const (
	wordsMessage  = 8 << 10 // bytes of a message that is classified
	wordsMessages = 8
	wordsPairs    = 4
	wordsWalk     = 4096 // messages looked at backwards; the tool messages among them cost nothing
)

// Conversation is what a request says, in the user's own words.
type Conversation struct {
	Words    string           // newly asked: the last user message, wrappers cut, Storable
	Last     int              // index of the last user message, -1
	Thin     bool             // a session by header and one message that is not a system one
	History  bool             // answers or tool results before the last user message
	ToolLoop bool             // the model is called again within one turn
	Messages []intent.Message // the last 8 of user and assistant, oldest first; the last user message ends it
	Helper   bool             // a front end asks for a title, tags, …: no turn of the user's
	Files    []string         // names or media types of what came with the new message

	pairs []wordPair // latest first
}

// wordPair is a user message and the answer that ended its turn.
type wordPair struct{ asked, answer string }

// Converse reads the messages that matter: not more of a long history than
// the last few, and of a tool loop only its end.
func (id *Identity) Converse(req *chat.Request, c Caller) Conversation {
	v := Conversation{Last: req.LastUser(), ToolLoop: req.ToolLoop()}
	v.Thin = c.Named && thinRequest(req)
	if v.Last < 0 {
		v.Helper = c.Task != ""
		return v
	}
	text := req.Text(v.Last)
	v.Helper = c.Task != "" || helperText(text) || helperSystem(req)
	v.Words = id.words(text)
	v.Files = newFiles(req, v.Last)
	id.look(req, &v)
	return v
}

// Before is what the user said in the turn before, "" where that is not in
// the request. It is cut like Messages.
func (v Conversation) Before() string {
	for i := len(v.Messages) - 2; i >= 0; i-- {
		if v.Messages[i].Role == "user" {
			return v.Messages[i].Text
		}
	}
	return ""
}

// thinRequest: all but one message are instructions.
func thinRequest(req *chat.Request) bool {
	n := 0
	for i := range req.Messages {
		switch req.Messages[i].Role {
		case "system", "developer":
		default:
			n++
		}
	}
	return n == 1
}

// look walks back from the last user message and collects messages and pairs.
func (id *Identity) look(req *chat.Request, v *Conversation) {
	var kept [wordsMessages]intent.Message // latest first
	kept[0] = intent.Message{Role: "user", Text: shortText(v.Words, wordsMessage)}
	n := 1
	answer, open := "", false // of the turn whose user message is still to come
	stop := max(0, v.Last-wordsWalk)
	for i := v.Last - 1; i >= stop; i-- {
		m := &req.Messages[i]
		switch m.Role {
		case "assistant":
			v.History = true
			if open || m.ToolCalls {
				open = true // what precedes is the way to the answer, not the answer
				continue
			}
			text := answerText(req.Text(i))
			if text == "" {
				continue
			}
			answer, open = text, true
			if n < len(kept) {
				kept[n] = intent.Message{Role: "assistant", Text: shortText(text, wordsMessage)}
				n++
			}
		case "user":
			words := id.words(req.Text(i))
			if answer != "" && words != "" && len(v.pairs) < wordsPairs {
				if v.pairs == nil {
					v.pairs = make([]wordPair, 0, wordsPairs)
				}
				v.pairs = append(v.pairs, wordPair{words, answer})
			}
			answer, open = "", false
			if n < len(kept) && words != "" {
				kept[n] = intent.Message{Role: "user", Text: shortText(words, wordsMessage)}
				n++
			}
		case "tool", "function":
			v.History = true
		}
		if n == len(kept) && len(v.pairs) == wordsPairs {
			break
		}
	}
	v.Messages = make([]intent.Message, n)
	for i := range n {
		v.Messages[i] = kept[n-1-i]
	}
}

// newFiles names what is attached to the user messages that follow the last
// answer: some front ends send a file as a message of its own.
func newFiles(req *chat.Request, last int) []string {
	from := last
	for from > 0 && req.Messages[from-1].Role == "user" {
		from--
	}
	var files []string
	for i := from; i <= last; i++ {
		files = append(files, req.Files(i)...)
	}
	return files
}

// words are what the user wrote of a message's text.
func (id *Identity) words(text string) string {
	text = cutBlocks(text)
	if id.userText != nil {
		if m := id.userText.FindStringSubmatch(text); m != nil {
			return Storable(strings.TrimSpace(m[1]))
		}
	}
	return Storable(unwrap(text))
}

// shortText keeps the head and the tail of a text above limit bytes: a
// question stands before or behind what it is about.
func shortText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	tail := len(text) - limit/4
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return cutText(text, limit-limit/4) + "\n…\n" + text[tail:]
}

// cutText keeps at most limit bytes, whole runes.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
