package chat

import "strings"

// maxFields bounds what a body that repeats its keys makes us keep.
const maxFields = 64

// fieldNames are the members that something of Strata may ask for. Naming
// them here saves an allocation for each member of each request.
var fieldNames = [...]string{"user", "safety_identifier", "metadata", "max_tokens", "max_completion_tokens",
	"tools", "functions", "prompt_cache_key", "chat_id", "session_id", "conversation_id", "user_id", "response_format"}

func fieldName(key []byte) string {
	for _, name := range fieldNames {
		if string(key) == name {
			return name
		}
	}
	return ""
}

// KnownField tells whether Field can answer for name.
func KnownField(name string) bool {
	name, _, _ = strings.Cut(name, ".")
	return fieldName([]byte(name)) != ""
}

// member returns where the value of a top-level member is. One that occurs
// twice is nobody's word.
func (r *Request) member(name string) (Span, bool) {
	var found Span
	n := 0
	for _, f := range r.fields {
		if f.key == name {
			found = f.value
			n++
		}
	}
	return found, n == 1
}

// Field returns a string member of the request by its path (user,
// metadata.user_id), "" when it is absent, no string, or there twice.
func (r *Request) Field(path string) string {
	name, rest, nested := strings.Cut(path, ".")
	at, ok := r.member(name)
	if !ok {
		return ""
	}
	s := scanner{b: at.of(r.Body)}
	for nested {
		if s.peek() != '{' {
			return ""
		}
		name, rest, nested = strings.Cut(rest, ".")
		var inner scanner
		n := 0
		s.object(func(key []byte) {
			if string(key) == name {
				n++
				s.space()
				inner = s
			}
			s.value()
		})
		if n != 1 {
			return ""
		}
		s = inner
	}
	text, _ := s.text()
	return text
}

// MaxTokens returns the length that the request allows its answer, in tokens;
// 0 when it says none.
func (r *Request) MaxTokens() int {
	for _, name := range [...]string{"max_completion_tokens", "max_tokens"} {
		if at, ok := r.member(name); ok {
			s := scanner{b: at.of(r.Body)}
			s.space()
			if n := s.integer(); n > 0 {
				return n
			}
		}
	}
	return 0
}

// Tools returns the names of the functions that the request offers.
func (r *Request) Tools() []string {
	var names []string
	for _, member := range [...]string{"tools", "functions"} {
		at, ok := r.member(member)
		if !ok {
			continue
		}
		s := scanner{b: at.of(r.Body)}
		if s.peek() != '[' {
			continue
		}
		s.array(func() { names = appendToolName(names, &s) })
	}
	return names
}

// appendToolName reads {"function":{"name":…}} or {"name":…}.
func appendToolName(names []string, s *scanner) []string {
	if s.peek() != '{' {
		s.value()
		return names
	}
	s.object(func(key []byte) {
		switch {
		case string(key) == "function" && s.peek() == '{':
			names = appendToolName(names, s)
		case string(key) == "name":
			if name, ok := s.text(); ok {
				names = append(names, name)
			}
		default:
			s.value()
		}
	})
	return names
}

// Files returns what is attached to message i besides text, images and sound:
// each file's name, or its media type, or "file".
func (r *Request) Files(i int) []string {
	m := r.Messages[i]
	if m.Kind != Parts {
		return nil
	}
	var files []string
	s := scanner{b: m.Content.of(r.Body)}
	s.array(func() {
		if s.peek() != '{' {
			s.value()
			return
		}
		isFile, name := false, ""
		s.object(func(key []byte) {
			switch {
			case string(key) == "type":
				kind, _ := s.text()
				isFile = kind == "file" || kind == "input_file" || kind == "document"
			case string(key) == "file" && s.peek() == '{':
				s.object(func(key []byte) { name = fileName(&s, key, name) })
			default:
				name = fileName(&s, key, name)
			}
		})
		if isFile {
			if name == "" {
				name = "file"
			}
			files = append(files, name)
		}
	})
	return files
}

// fileName reads the members that tell what a file is; its name wins.
func fileName(s *scanner, key []byte, have string) string {
	switch string(key) {
	case "filename", "name":
		if name, _ := s.text(); name != "" {
			return name
		}
		return have
	case "file_data", "data":
		if have != "" || s.peek() != '"' {
			s.value()
			return have
		}
		inner, _ := s.string()
		if kind, ok := strings.CutPrefix(string(s.b[inner.Start:min(inner.End, inner.Start+100)]), "data:"); ok {
			kind, _, _ = strings.Cut(kind, ";")
			return kind
		}
		return have
	}
	s.value()
	return have
}

// ToolUse tells that tool calls or their results are in the conversation.
func (r *Request) ToolUse() bool {
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.ToolCalls || m.Role == "tool" || m.Role == "function" {
			return true
		}
	}
	return false
}

const (
	bytesPerToken   = 4   // of JSON: English takes 4.8, Chinese 4 with its three bytes a character
	tokensPerObject = 800 // of a picture or another part that is no text
)

// EstimateTokens is about how many tokens the request takes. Data inside of
// it, such as a picture in base64, counts as one small object.
func (r *Request) EstimateTokens() int {
	size, objects := len(r.Body), 0
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Kind != Parts {
			continue
		}
		size -= m.Content.End - m.Content.Start
		for _, p := range r.parts[m.parts:m.partsEnd] {
			size += p.text.End - p.text.Start
		}
		objects += m.others
	}
	return size/bytesPerToken + objects*tokensPerObject
}
