package chat_test

import (
	"reflect"
	"strings"
	"testing"

	"strata/chat"
)

func parse(t *testing.T, body string) *chat.Request {
	t.Helper()
	r, err := chat.Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestField(t *testing.T) {
	r := parse(t, `{"user":"u\u0031","safety_identifier":7,"metadata":{"a":{"b":"deep"},"user_id":"m1","twice":"1","twice":"2"},
		"chat_id":"c1","chat_id":"c2","messages":[{"role":"user","content":"x"}],"other":"o"}`)
	for path, want := range map[string]string{"user": "u1", "safety_identifier": "", "metadata.user_id": "m1", "metadata.a.b": "deep",
		"metadata.a": "", "metadata.twice": "", "metadata.user_id.x": "", "chat_id": "", "other": "", "absent": "", "user.x": ""} {
		if got := r.Field(path); got != want {
			t.Errorf("Field(%q) = %q, want %q", path, got, want)
		}
	}
	if !chat.KnownField("metadata.user_id") || chat.KnownField("other") {
		t.Error("KnownField")
	}
}

func TestMaxTokens(t *testing.T) {
	for body, want := range map[string]int{
		`{"messages":[],"max_tokens":100}`:                                      100,
		`{"messages":[],"max_tokens":100,"max_completion_tokens" : 2000 }`:      2000,
		`{"messages":[],"max_tokens":null}`:                                     0,
		`{"messages":[],"max_tokens":-4}`:                                       0,
		`{"messages":[]}`:                                                       0,
		`{"messages":[],"max_tokens":5,"max_tokens":6}`:                         0,
		`{"messages":[],"max_completion_tokens":"many","max_tokens": 64}`:       64,
		`{"messages":[],"max_completion_tokens":99999999999999,"max_tokens":3}`: 3,
	} {
		if got := parse(t, body).MaxTokens(); got != want {
			t.Errorf("%s: MaxTokens %d, want %d", body, got, want)
		}
	}
}

func TestTools(t *testing.T) {
	r := parse(t, `{"messages":[],"tools":[{"type":"function","function":{"description":"d","name":"run_sql","parameters":{"name":"no"}}},
		{"type":"web_search"},{"name":"flat"},7],"functions":[{"name":"old"}]}`)
	if got, want := r.Tools(), []string{"run_sql", "flat", "old"}; !reflect.DeepEqual(got, want) {
		t.Errorf("Tools %q, want %q", got, want)
	}
	if got := parse(t, `{"messages":[],"tools":null}`).Tools(); got != nil {
		t.Errorf("Tools of null: %q", got)
	}
}

func TestFiles(t *testing.T) {
	r := parse(t, `{"messages":[{"role":"user","content":[{"type":"text","text":"t"},
		{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}},
		{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBE","filename":"q3.xlsx"}},
		{"type":"file","file":{"file_data":"data:text/csv;base64,YSxi"}},
		{"type":"input_file","file_id":"file-1"}]},{"role":"user","content":"x"}]}`)
	if got, want := r.Files(0), []string{"q3.xlsx", "text/csv", "file"}; !reflect.DeepEqual(got, want) {
		t.Errorf("Files %q, want %q", got, want)
	}
	if got := r.Files(1); got != nil {
		t.Errorf("Files of a string: %q", got)
	}
}

func TestDone(t *testing.T) {
	for _, c := range []struct {
		name   string
		writes []string
		want   bool
	}{
		{"whole", []string{"data: {\"a\":1}\n\n", "data: [DONE]\n\n"}, true},
		{"alone", []string{"data: [DONE]\n\n"}, true},
		{"no space", []string{"data: {}\r\n\r\ndata:[DONE]\r\n\r\n"}, true},
		{"cut", []string{"data: {}\n\ndat", "a: [DO", "NE", "]\n\n"}, true},
		{"in JSON", []string{"data: {\"content\":\"\\ndata: [DONE]\"}\n\n"}, false},
		{"other field", []string{"event: [DONE]\n\n"}, false},
		{"after one in JSON", []string{"data: {\"c\":\"[DONE]\"}\n\ndata: [DONE]\n\n"}, true},
		{"not yet", []string{"data: [DONE"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var k chat.Collector
			k.Reset("text/event-stream", "")
			for _, w := range c.writes {
				_, _ = k.Write([]byte(w))
			}
			if k.Done() != c.want {
				t.Errorf("Done %v, want %v", k.Done(), c.want)
			}
		})
	}
}

func TestToolUse(t *testing.T) {
	for body, want := range map[string]bool{
		`{"messages":[{"role":"user","content":"a"}]}`:                               false,
		`{"messages":[{"role":"assistant","content":null,"tool_calls":[{}]}]}`:       true,
		`{"messages":[{"role":"tool","tool_call_id":"1","content":"a"}]}`:            true,
		`{"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function"}]}`: false,
	} {
		if got := parse(t, body).ToolUse(); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}

// C091: a picture in base64 counts as one small object.
func TestEstimateTokens(t *testing.T) {
	text := strings.Repeat("word ", 800)
	plain := parse(t, `{"messages":[{"role":"user","content":"`+text+`"}]}`).EstimateTokens()
	if plain < 900 || plain > 1100 {
		t.Errorf("4000 characters: %d tokens", plain)
	}
	picture := parse(t, `{"messages":[{"role":"user","content":[{"type":"text","text":"`+text+`"},{"type":"image_url","image_url":{"url":"data:image/png;base64,`+
		strings.Repeat("A", 1<<20)+`"}}]}]}`).EstimateTokens()
	if picture < plain || picture > plain+1000 {
		t.Errorf("with a picture: %d tokens", picture)
	}
}
