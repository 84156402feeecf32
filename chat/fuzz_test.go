package chat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"unicode/utf8"

	"strata/chat"
)

// member is one key of an object with its value, as encoding/json sees it.
type member struct {
	key   string
	value json.RawMessage
}

// members reads an object without losing repeated keys; false for anything else.
func members(raw []byte) ([]member, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	out := []member{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil, false
		}
		out = append(out, member{key.(string), value})
	}
	return out, true
}

// get returns the first value of a key.
func get(from []member, key string) json.RawMessage {
	for _, m := range from {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

func repeats(from []member, keys ...string) bool {
	seen := map[string]bool{}
	for _, m := range from {
		if seen[m.key] && slices.Contains(keys, m.key) {
			return true
		}
		seen[m.key] = true
	}
	return false
}

func elements(raw []byte) ([]json.RawMessage, bool) {
	var out []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &out) != nil {
		return nil, false
	}
	return out, true
}

func decoded(raw []byte) string {
	var out string
	if len(raw) > 0 && raw[0] == '"' {
		_ = json.Unmarshal(raw, &out)
	}
	return out
}

// verdict is what Parse must say of valid JSON, found with encoding/json.
func verdict(b []byte) error {
	top, ok := members(b)
	if !ok {
		return chat.ErrNotChat
	}
	duplicate := repeats(top, "messages", "model", "stream")
	list, ok := elements(get(top, "messages"))
	wrong := !ok
	for _, raw := range list {
		message, ok := members(raw)
		wrong = wrong || !ok
		duplicate = duplicate || repeats(message, "role", "content", "tool_calls", "tool_call_id")
		for _, m := range message {
			parts, _ := elements(m.value)
			for _, raw := range parts {
				if part, ok := members(raw); ok && m.key == "content" && repeats(part, "type", "text") {
					duplicate = true
				}
			}
		}
	}
	switch {
	case duplicate:
		return chat.ErrDuplicateKey
	case wrong:
		return chat.ErrNotChat
	}
	return nil
}

// wantText is the text of a content, decoded by encoding/json.
func wantText(content json.RawMessage) string {
	parts, ok := elements(content)
	if !ok {
		return decoded(content)
	}
	text, some := "", false
	for _, raw := range parts {
		part, _ := members(raw)
		kind, value := decoded(get(part, "type")), get(part, "text")
		if (kind != "text" && kind != "input_text") || len(value) == 0 || value[0] != '"' {
			continue
		}
		if some {
			text += "\n"
		}
		text, some = text+decoded(value), true
	}
	return text
}

func wantKind(content json.RawMessage) chat.Kind {
	if content == nil {
		return chat.Absent
	}
	switch content[0] {
	case '"':
		return chat.String
	case '[':
		return chat.Parts
	case 'n':
		return chat.Null
	}
	return chat.Other
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	var reused chat.Request
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := chat.Parse(b)
		again := chat.ParseInto(&reused, b)
		plain := bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
		switch {
		case !errors.Is(again, err):
			t.Fatalf("%v, in a used request %v", err, again)
		case errors.Is(err, chat.ErrDepth):
			if bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) <= 1000 {
				t.Fatal("too deep with fewer than 1000 brackets")
			}
			return
		case !json.Valid(plain):
			if !errors.Is(err, chat.ErrSyntax) {
				t.Fatalf("invalid JSON gives %v", err)
			}
			return
		}
		if want := verdict(plain); !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
		if err == nil {
			checkRequest(t, r, plain)
			checkRequest(t, &reused, plain)
		}
	})
}

func checkRequest(t *testing.T, r *chat.Request, plain []byte) {
	t.Helper()
	top, _ := members(plain)
	list, _ := elements(get(top, "messages"))
	if r.Model != decoded(get(top, "model")) || r.Stream != (string(get(top, "stream")) == "true") || len(r.Messages) != len(list) {
		t.Fatalf("model %q, stream %v, %d messages", r.Model, r.Stream, len(r.Messages))
	}
	for i, m := range r.Messages {
		want, _ := members(list[i])
		content := get(want, "content")
		calls := get(want, "tool_calls")
		if !bytes.Equal(r.Body[m.Start:m.End], list[i]) || !bytes.Equal(r.Body[m.Content.Start:m.Content.End], content) {
			t.Fatalf("message %d is %q with content %q", i, r.Body[m.Start:m.End], r.Body[m.Content.Start:m.Content.End])
		}
		if m.Role != decoded(get(want, "role")) || m.ToolCallID != decoded(get(want, "tool_call_id")) ||
			m.Kind != wantKind(content) || m.ToolCalls != (len(calls) > 0 && calls[0] == '[') {
			t.Fatalf("message %d: %+v of %s", i, m, list[i])
		}
		if got := r.Text(i); got != wantText(content) {
			t.Fatalf("text %q, encoding/json has %q", got, wantText(content))
		}
	}
}

func FuzzInject(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s, "S", "V\"\\\n<>")
		f.Add(s, "", "\xff\u2028")
	}
	f.Fuzz(func(t *testing.T, b []byte, stable, volatile string) {
		r, err := chat.Parse(b)
		if err != nil {
			return
		}
		out, spans := r.Inject(stable, volatile)
		if !bytes.Equal(remove(out, spans), b) || len(spans) > 2 {
			t.Fatalf("insertions removed, the original is not there again: %q", out)
		}
		if second, _ := r.Inject(stable, volatile); !bytes.Equal(out, second) {
			t.Fatal("not the same bytes twice")
		}
		again, err := chat.Parse(out)
		if err != nil || len(again.Messages) != len(r.Messages) {
			t.Fatalf("after injecting: %v", err)
		}
		stable, volatile = string([]rune(stable)), string([]rune(volatile))
		last := r.LastUser()
		takes := func(i int) bool { return r.Messages[i].Kind == chat.String || r.Messages[i].Kind == chat.Parts }
		want := make([]string, len(r.Messages))
		if last >= 0 && takes(last) {
			if role := r.Messages[0].Role; (role == "system" || role == "developer") && takes(0) {
				want[0] = stable
			} else if stable != "" && volatile != "" {
				volatile = stable + "\n\n" + volatile
			} else {
				volatile += stable
			}
			want[last] = volatile
		}
		for i := range want {
			checkInserted(t, r, again, i, want[i])
		}
	})
}

// checkInserted checks that message i was extended by text and by nothing else.
func checkInserted(t *testing.T, before, after *chat.Request, i int, text string) {
	t.Helper()
	was, is := before.Messages[i], after.Messages[i]
	if text == "" {
		if !bytes.Equal(before.Body[was.Start:was.End], after.Body[is.Start:is.End]) {
			t.Fatalf("message %d changed: %q", i, after.Body[is.Start:is.End])
		}
		return
	}
	if is.Kind == chat.String {
		want := before.Text(i)
		if was.Content.End-was.Content.Start > 2 {
			want += "\n\n"
		}
		if got := after.Text(i); got != want+text {
			t.Fatalf("message %d is %q, want %q", i, got, want+text)
		}
		return
	}
	old, _ := elements(before.Body[was.Content.Start:was.Content.End])
	parts, _ := elements(after.Body[is.Content.Start:is.Content.End])
	if len(parts) != len(old)+1 {
		t.Fatalf("message %d has %d parts, had %d", i, len(parts), len(old))
	}
	added, _ := members(parts[len(old)])
	if len(added) != 2 || decoded(get(added, "type")) != "text" || decoded(get(added, "text")) != text {
		t.Fatalf("message %d got the part %s, want %q", i, parts[len(old)], text)
	}
}

func FuzzCollect(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s, "text/event-stream", "", uint8(7), true)
		f.Add(s, "", "gzip", uint8(1), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, contentType, encoding string, size uint8, ended bool) {
		whole := collect(contentType, encoding, ended, b)
		pieces := slices.Collect(slices.Chunk(b, int(size)+1))
		if split := collect(contentType, encoding, ended, pieces...); !reflect.DeepEqual(whole, split) {
			t.Fatalf("in pieces of %d: %+v, whole: %+v", int(size)+1, split, whole)
		}
		for _, c := range whole.Choices {
			if !utf8.ValidString(c.Text + c.Refusal + c.FinishReason) {
				t.Fatalf("text is not UTF-8: %q", c.Text)
			}
		}
	})
}

func seeds(f *testing.F) [][]byte {
	names, err := filepath.Glob("testdata/C*")
	if err != nil || len(names) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	var out [][]byte
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 10_000 {
			out = append(out, b)
		}
	}
	for _, s := range []string{
		`{"messages":[],"m\u0065ssages":[]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a","te\u0078t":"b"}]}],"model":"x"}`,
		"{\"messages\":[{\"role\":\"user\",\"content\":\"a\xff\\ud83d \\ud83d\\ude00\"}]}",
		"event: error\rdata: a\rdata: b\r\r",
	} {
		out = append(out, []byte(s))
	}
	return out
}
