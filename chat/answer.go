package chat

import "slices"

// Outcome tells how an answer ended.
type Outcome uint8

// The outcomes. A body that just ends, without a finish reason or [DONE], is
// interrupted, however cleanly its connection closed.
const (
	Interrupted Outcome = iota
	Complete
	Failed
)

func (o Outcome) String() string {
	return [...]string{"interrupted", "complete", "failed"}[o]
}

// Answer is what a chat completion said.
type Answer struct {
	ID           string
	Model        string
	Choices      []Choice // by index
	Usage        Usage
	Outcome      Outcome
	ErrorMessage string
	Cut          bool // more came than is kept: texts are a beginning, or choices or calls beyond 128 are missing
}

// Choice is one of the n answers asked for.
type Choice struct {
	Index        int
	Text         string // without reasoning
	Refusal      string
	FinishReason string
	ToolCalls    []ToolCall
}

// ToolCall is a call that the model asks for.
type ToolCall struct {
	ID, Name, Arguments string
}

// Usage are the token counts that upstream reported, if it did.
type Usage struct {
	Known                                       bool
	PromptTokens, CompletionTokens, TotalTokens int
	CachedTokens                                int // of the prompt, read from the provider's cache
}

// maxChoices and maxCalls bound what is told apart; servers allow as many.
// Without them a hostile answer of empty objects costs minutes to read.
const (
	maxChoices = 128
	maxCalls   = 128 // of one choice
)

// choice and call gather what comes in pieces.
type choice struct {
	index         int
	text, refusal []byte
	finish        string
	calls         []call
}

type call struct {
	index    int
	id, name string
	args     []byte
}

// answerReader gathers an answer from its JSON values.
type answerReader struct {
	answer  Answer
	choices []choice
	failed  bool
	done    bool // [DONE]
	cut     bool // more choices or calls came than are kept

	// trusting reads each value without checking all of it first. Broken JSON
	// then spoils what was gathered, and the reading is done again.
	trusting, spoiled bool
}

// take reads one JSON value: a whole answer or an event of a stream. Broken
// JSON changes nothing and gives false.
func (a *answerReader) take(b []byte) bool {
	if !a.trusting {
		check := scanner{b: b}
		check.value()
		if check.end() != nil {
			return false
		}
	}
	s := scanner{b: b}
	a.read(&s)
	if s.end() != nil {
		a.spoiled = true
		return false
	}
	return true
}

// read gathers from the value at s.
func (a *answerReader) read(s *scanner) {
	if s.peek() != '{' {
		s.value()
		return
	}
	s.object(func(key []byte) {
		switch string(key) {
		case "id":
			a.answer.ID = first(a.answer.ID, s)
		case "model":
			a.answer.Model = first(a.answer.Model, s)
		case "choices":
			a.each(s, a.choice)
		case "usage":
			a.usage(s)
		case "error":
			a.error(s)
		case "object":
			if kind, _ := s.text(); kind == "error" {
				a.failed = true
			}
		case "message":
			a.answer.ErrorMessage = first(a.answer.ErrorMessage, s)
		default:
			s.value()
		}
	})
}

// first keeps what was there before, or takes the text at s.
func first(have string, s *scanner) string {
	if have != "" {
		s.value()
		return have
	}
	text, _ := s.text()
	return text
}

// each calls f for every object of an array, with its position.
func (a *answerReader) each(s *scanner, f func(s *scanner, at int)) {
	if s.peek() != '[' {
		s.value()
		return
	}
	at := 0
	s.array(func() {
		if s.peek() == '{' {
			f(s, at)
		} else {
			s.value()
		}
		at++
	})
}

// choice reads one element of choices. Its index may come after its content,
// so it is looked up first.
func (a *answerReader) choice(s *scanner, at int) {
	c := a.choiceAt(indexOf(s, at))
	if c == nil {
		a.cut = true
		s.value()
		return
	}
	s.object(func(key []byte) {
		switch string(key) {
		case "delta", "message":
			if s.peek() != '{' {
				s.value()
				return
			}
			s.object(func(key []byte) { a.message(s, c, key) })
		case "finish_reason":
			// Some servers send an empty one with every event.
			if reason, _ := s.text(); reason != "" {
				c.finish = reason
			}
		default:
			s.value()
		}
	})
}

// indexOf reads the member index of the object at s without moving.
func indexOf(s *scanner, fallback int) int {
	ahead := *s
	ahead.object(func(key []byte) {
		if string(key) == "index" && ahead.peek() != 'n' {
			fallback = ahead.integer()
			ahead.fail(ErrSyntax) // of the copy: ends its walk
		} else {
			ahead.value()
		}
	})
	return fallback
}

// choiceAt returns the choice with an index, nil where there are too many.
func (a *answerReader) choiceAt(index int) *choice {
	for i := range a.choices {
		if a.choices[i].index == index {
			return &a.choices[i]
		}
	}
	if len(a.choices) == maxChoices {
		return nil
	}
	a.choices = append(a.choices, choice{index: index})
	return &a.choices[len(a.choices)-1]
}

func (a *answerReader) message(s *scanner, c *choice, key []byte) {
	switch string(key) {
	case "content":
		c.text = appendContent(c.text, s)
	case "refusal":
		c.refusal = appendText(c.refusal, s)
	case "tool_calls":
		a.each(s, func(s *scanner, at int) { a.cut = !c.merge(readFragment(s, at)) || a.cut })
	default:
		s.value()
	}
}

// appendContent appends a content: a string, or the texts of a list of parts.
func appendContent(dst []byte, s *scanner) []byte {
	if s.peek() != '[' {
		return appendText(dst, s)
	}
	s.array(func() {
		if s.peek() != '{' {
			s.value()
			return
		}
		s.object(func(key []byte) {
			if string(key) == "text" {
				dst = appendText(dst, s)
			} else {
				s.value()
			}
		})
	})
	return dst
}

// appendText appends the string at s; another value adds nothing.
func appendText(dst []byte, s *scanner) []byte {
	if s.peek() != '"' {
		s.value()
		return dst
	}
	inner, escaped := s.string()
	if escaped {
		return unescape(dst, inner.of(s.b))
	}
	return append(dst, inner.of(s.b)...)
}

// fragment is a tool call or a piece of one.
type fragment struct {
	index    int
	id, name string
	args     []byte // inside of a JSON string
}

// readFragment reads one element of tool_calls, at its position in the list.
func readFragment(s *scanner, at int) fragment {
	f := fragment{index: at}
	s.object(func(key []byte) {
		switch {
		case string(key) == "index" && s.peek() != 'n':
			f.index = s.integer()
		case string(key) == "id":
			f.id, _ = s.text()
		case string(key) == "function" && s.peek() == '{':
			s.object(func(key []byte) {
				switch {
				case string(key) == "name":
					f.name, _ = s.text()
				case string(key) == "arguments" && s.peek() == '"':
					inner, _ := s.string()
					f.args = inner.of(s.b)
				default:
					s.value()
				}
			})
		default:
			s.value()
		}
	})
	return f
}

// merge adds a fragment to the call with its index. Servers that send whole
// calls one by one leave the index out or repeat it: another id together with
// a name begins a new call. It gives false where there are too many.
func (c *choice) merge(f fragment) bool {
	i := len(c.calls) - 1
	for i >= 0 && c.calls[i].index != f.index {
		i--
	}
	if i < 0 || f.id != "" && f.name != "" && c.calls[i].id != "" && f.id != c.calls[i].id {
		if len(c.calls) == maxCalls {
			return false
		}
		i = len(c.calls)
		c.calls = append(c.calls, call{index: f.index})
	}
	t := &c.calls[i]
	if t.id == "" {
		t.id = f.id
	}
	if t.name == "" {
		t.name = f.name
	}
	t.args = unescape(t.args, f.args)
	return true
}

func (a *answerReader) usage(s *scanner) {
	if s.peek() != '{' {
		s.value()
		return
	}
	u := &a.answer.Usage
	u.Known = true
	s.object(func(key []byte) {
		switch {
		case string(key) == "prompt_tokens":
			u.PromptTokens = s.integer()
		case string(key) == "completion_tokens":
			u.CompletionTokens = s.integer()
		case string(key) == "total_tokens":
			u.TotalTokens = s.integer()
		case string(key) == "prompt_cache_hit_tokens": // DeepSeek
			u.CachedTokens = max(u.CachedTokens, s.integer())
		case string(key) == "prompt_tokens_details" && s.peek() == '{':
			s.object(func(key []byte) {
				if string(key) == "cached_tokens" {
					u.CachedTokens = max(u.CachedTokens, s.integer())
				} else {
					s.value()
				}
			})
		default:
			s.value()
		}
	})
}

// error reads an error member: an object with a message, or a bare string.
func (a *answerReader) error(s *scanner) {
	switch s.peek() {
	case 'n', 'f':
		s.value()
		return
	case '{':
		s.object(func(key []byte) {
			if string(key) == "message" {
				a.answer.ErrorMessage = first(a.answer.ErrorMessage, s)
			} else {
				s.value()
			}
		})
	default:
		a.answer.ErrorMessage = first(a.answer.ErrorMessage, s)
	}
	a.failed = true
}

// finished tells that every choice gave a finish reason.
func (a *answerReader) finished() bool {
	for _, c := range a.choices {
		if c.finish == "" {
			return false
		}
	}
	return len(a.choices) > 0
}

// result puts the pieces together.
func (a *answerReader) result(complete bool) Answer {
	out := a.answer
	out.Cut = a.cut
	slices.SortFunc(a.choices, func(x, y choice) int { return x.index - y.index })
	for _, c := range a.choices {
		done := Choice{Index: c.index, Text: textOf(c.text), Refusal: textOf(c.refusal), FinishReason: c.finish}
		slices.SortStableFunc(c.calls, func(x, y call) int { return x.index - y.index })
		for _, t := range c.calls {
			done.ToolCalls = append(done.ToolCalls, ToolCall{t.id, t.name, textOf(t.args)})
		}
		out.Choices = append(out.Choices, done)
	}
	switch {
	case a.failed:
		out.Outcome = Failed
	case complete || a.done || a.finished():
		out.Outcome = Complete
	}
	if !a.failed {
		out.ErrorMessage = ""
	}
	return out
}
