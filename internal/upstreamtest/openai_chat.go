package upstreamtest

import (
	"encoding/json"
	"strings"
)

// maxChoices bounds n, as the API does.
const maxChoices = 128

// chatRequest is what the answer depends on; other fields are accepted.
type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	N             int           `json:"n"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Function toolFunction `json:"function"`
	} `json:"tools"`
	ToolChoice     json.RawMessage `json:"tool_choice"`
	ResponseFormat struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type toolFunction struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// chatReply is the answer to one request before it is written in either form.
type chatReply struct {
	model     string
	text      string
	tool      *toolFunction
	arguments string
	choices   int
	usage     usage
}

// text is the content of a message: a string, or the text parts of a list.
func (m chatMessage) text() string {
	var plain string
	if json.Unmarshal(m.Content, &plain) == nil {
		return plain
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// tokenCount is an estimate that is good enough to be a usage figure.
func tokenCount(text string) int { return (len(text) + 3) / 4 }

func chatCompletion(body []byte) (*Script, error) {
	var req chatRequest
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	if len(req.Messages) == 0 {
		return nil, invalid("Missing required parameter: 'messages'.")
	}
	if req.N < 0 || req.N > maxChoices {
		return nil, invalid("'n' is out of range.")
	}
	reply := req.reply()
	if req.Stream {
		return reply.stream(req.StreamOptions.IncludeUsage), nil
	}
	return reply.plain(), nil
}

// reply decides what is answered: a tool call when one is offered and no result
// has come back yet, JSON when it is asked for, else what the user said.
func (req *chatRequest) reply() chatReply {
	r := chatReply{model: req.Model, choices: max(1, req.N)}
	last := req.Messages[len(req.Messages)-1]
	switch tool := req.chosenTool(); {
	case last.Role == "tool":
		r.text = "The tool returned: " + last.text()
	case tool != nil:
		r.tool, r.arguments = tool, string(encode(sampleOf(tool.Parameters)))
	case req.ResponseFormat.Type == "json_schema":
		r.text = string(encode(sampleOf(req.ResponseFormat.JSONSchema.Schema)))
	case req.ResponseFormat.Type == "json_object":
		r.text = `{"ok":true}`
	default:
		r.text = "You said: " + last.text()
	}
	for _, m := range req.Messages {
		r.usage.Prompt += 3 + tokenCount(string(m.Content))
	}
	r.usage.Completion = r.choices * tokenCount(r.text+r.arguments)
	r.usage.Total = r.usage.Prompt + r.usage.Completion
	return r
}

// chosenTool is the tool that tool_choice names, else the first; nil for none.
func (req *chatRequest) chosenTool() *toolFunction {
	var word string
	if json.Unmarshal(req.ToolChoice, &word) == nil && word == "none" {
		return nil
	}
	var named struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	// A word instead of an object leaves the name empty.
	_ = json.Unmarshal(req.ToolChoice, &named)
	for i := range req.Tools {
		if f := &req.Tools[i].Function; named.Function.Name == "" || f.Name == named.Function.Name {
			return f
		}
	}
	return nil
}

func (r *chatReply) finish() string {
	if r.tool != nil {
		return "tool_calls"
	}
	return "stop"
}

func (r *chatReply) toolCall(arguments string) object {
	return object{"id": "call_test", "type": "function",
		"function": object{"name": r.tool.Name, "arguments": arguments}}
}

func (r *chatReply) plain() *Script {
	message := object{"role": "assistant", "content": r.text, "refusal": nil}
	if r.tool != nil {
		message["content"] = nil
		message["tool_calls"] = []object{r.toolCall(r.arguments)}
	}
	choices := make([]object, 0, r.choices)
	for i := range r.choices {
		choices = append(choices, object{"index": i, "message": message, "logprobs": nil, "finish_reason": r.finish()})
	}
	return JSON(200, encode(object{
		"id": chatID, "object": "chat.completion", "created": created, "model": r.model,
		"choices": choices, "usage": r.usage, "system_fingerprint": "fp_test",
	}))
}

// stream sends the role, the pieces and the finish reason of every choice, the
// usage when asked, and [DONE]: one event a write.
func (r *chatReply) stream(withUsage bool) *Script {
	s := Stream()
	send := func(choices []object, counts any) {
		chunk := object{"id": chatID, "object": "chat.completion.chunk", "created": created,
			"model": r.model, "system_fingerprint": "fp_test", "choices": choices}
		if withUsage {
			chunk["usage"] = counts
		}
		s.WriteString("data: " + string(encode(chunk)) + "\n\n")
	}
	for _, delta := range r.deltas() {
		for i := range r.choices {
			send([]object{{"index": i, "delta": delta, "logprobs": nil, "finish_reason": nil}}, nil)
		}
	}
	for i := range r.choices {
		send([]object{{"index": i, "delta": object{}, "logprobs": nil, "finish_reason": r.finish()}}, nil)
	}
	if withUsage {
		send([]object{}, r.usage)
	}
	return s.WriteString("data: [DONE]\n\n")
}

func (r *chatReply) deltas() []object {
	if r.tool == nil {
		deltas := []object{{"role": "assistant", "content": "", "refusal": nil}}
		for _, piece := range tokens(r.text) {
			deltas = append(deltas, object{"content": piece})
		}
		return deltas
	}
	first := r.toolCall("")
	first["index"] = 0
	deltas := []object{{"role": "assistant", "content": nil, "tool_calls": []object{first}}}
	for _, piece := range tokens(r.arguments) {
		part := object{"index": 0, "function": object{"arguments": piece}}
		deltas = append(deltas, object{"tool_calls": []object{part}})
	}
	return deltas
}

// tokens cuts a text into pieces of at most four characters, the size of a
// typical token; no character is cut.
func tokens(text string) []string {
	var out []string
	count, start := 0, 0
	for i := range text {
		if count == 4 {
			out = append(out, text[start:i])
			start, count = i, 0
		}
		count++
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

func textCompletion(body []byte) (*Script, error) {
	var req struct {
		Model  string `json:"model"`
		Prompt string `json:"prompt"`
	}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	text := "You said: " + req.Prompt
	in, out := tokenCount(req.Prompt), tokenCount(text)
	return JSON(200, encode(object{
		"id": "cmpl-test", "object": "text_completion", "created": created, "model": req.Model,
		"choices": []object{{"index": 0, "text": text, "logprobs": nil, "finish_reason": "stop"}},
		"usage":   object{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out},
	})), nil
}
