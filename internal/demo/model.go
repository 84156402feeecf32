// Package demo is what `strata demo` shows: a sample handbook, a small model
// that answers from the prompt it receives, and the conversation to be had
// with it. It must not know how Strata works; it sees what any upstream sees.
package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"unicode"

	"strata/internal/terms"
)

// Model is an OpenAI-compatible upstream without a network or a key. It has
// no knowledge: it answers with the sentence of its prompt that fits the
// question best, or says that it has none.
type Model struct {
	mu   sync.Mutex
	last []message
}

// Received returns what stood in the last request's messages besides texts,
// which are those that were sent.
func (m *Model) Received(texts []string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var added strings.Builder
	for i, msg := range m.last {
		rest := msg.Content
		if i < len(texts) {
			rest = strings.TrimPrefix(rest, texts[i])
		}
		if rest = strings.TrimSpace(rest); rest != "" {
			added.WriteString(rest + "\n")
		}
	}
	return added.String()
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// ServeHTTP answers a chat completion.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model    string    `json:"model"`
		Stream   bool      `json:"stream"`
		Messages []message `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Messages) == 0 {
		http.Error(w, `{"error":{"message":"no messages","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.last = in.Messages
	m.mu.Unlock()
	text := answer(in.Messages)
	usage := map[string]int{"prompt_tokens": promptTokens(in.Messages), "completion_tokens": len(text) / 4}
	if !in.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "demo-answer", "object": "chat.completion", "model": in.Model, "usage": usage,
			"choices": []any{map[string]any{"index": 0, "message": message{"assistant", text}, "finish_reason": "stop"}}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(delta map[string]string, finish any) {
		b, _ := json.Marshal(map[string]any{"id": "demo-answer", "object": "chat.completion.chunk", "model": in.Model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
		_, _ = fmt.Fprintf(w, "data: %s\n\n", b)
		w.(http.Flusher).Flush()
	}
	for word := range strings.SplitAfterSeq(text, " ") {
		event(map[string]string{"content": word}, nil)
	}
	event(map[string]string{}, "stop")
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

func promptTokens(messages []message) int {
	n := 0
	for _, m := range messages {
		n += len(m.Content) / 4
	}
	return n
}

// answer takes the sentence of the context that fits the question best. Where
// none does it names the preferences it was given.
func answer(messages []message) string {
	question, block, _ := strings.Cut(messages[len(messages)-1].Content, "\n\n<strata-")
	preferences := between(block, "preferences>", "</strata-preferences>")
	facts := ""
	if begin, end := strings.Index(block, "<document"), strings.LastIndex(block, "</document>"); begin >= 0 && begin < end {
		facts = block[begin:end]
	}
	best := bestSentence(sentences(facts), question)
	var kept []string
	for line := range strings.Lines(preferences) {
		if statement, ok := strings.CutPrefix(line, "- "); ok {
			kept = append(kept, strings.TrimSpace(statement))
		}
	}
	chinese := strings.ContainsFunc(question, func(r rune) bool { return unicode.Is(unicode.Han, r) })
	switch {
	case best != "" && chinese:
		return "根据给我的内容：" + best
	case best != "":
		return "From what I was given: " + best
	case len(kept) > 0 && chinese:
		return "（演示模型没有自己的知识。）我会遵守：" + strings.Join(kept, "；")
	case len(kept) > 0:
		return "(The demo model has no knowledge of its own.) I keep to: " + strings.Join(kept, "; ")
	case chinese:
		return "（演示模型没有自己的知识，也没有得到任何内容。）"
	}
	return "(The demo model has no knowledge of its own, and was given nothing.)"
}

// between is text from its beginning up to end, "" where it begins otherwise.
func between(text, begin, end string) string {
	at := strings.Index(text, end)
	if !strings.HasPrefix(text, begin) || at < 0 {
		return ""
	}
	return text[:at]
}

// bestSentence weighs each term of the question by how few sentences hold it.
func bestSentence(all []string, question string) string {
	holders := map[string][]int{}
	for _, t := range terms.Of(question) {
		if (len([]rune(t)) > 1 || t >= "0" && t <= "9") && !terms.Weak(t) {
			holders[t] = nil
		}
	}
	for i, s := range all {
		for _, t := range terms.Of(s) {
			if at, asked := holders[t]; asked && (len(at) == 0 || at[len(at)-1] != i) {
				holders[t] = append(at, i)
			}
		}
	}
	scores := make([]float64, len(all))
	best, most := "", 0.0
	for _, at := range holders {
		for _, i := range at {
			scores[i] += 1 / float64(len(at))
		}
	}
	for i, score := range scores {
		if score > most+1e-9 {
			best, most = all[i], score
		}
	}
	return best
}

// sentences cuts text at the ends of sentences and lines.
func sentences(text string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		if s := strings.TrimSpace(text[start:end]); s != "" && !strings.HasPrefix(s, "<") {
			out = append(out, s)
		}
		start = end
	}
	for i, r := range text {
		switch r {
		case '\n', '。', '！', '？':
			cut(i + len(string(r)))
		case '.', '!', '?':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n' {
				cut(i + 1)
			}
		}
	}
	cut(len(text))
	return out
}
