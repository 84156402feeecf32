package upstreamtest_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"strata/internal/upstreamtest"
)

type chatAnswer struct {
	ID      string
	Created int64
	Choices []struct {
		Index   int
		Message struct {
			Role, Content string
			ToolCalls     []toolCall `json:"tool_calls"`
		}
		Delta struct {
			Role, Content string
			ToolCalls     []toolCall `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	}
}

type toolCall struct {
	ID, Type string
	Function struct{ Name, Arguments string }
}

func parse[T any](t *testing.T, body []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

// chunks are the data payloads of a stream, without the [DONE] that must end it.
func chunks(t *testing.T, body []byte) []chatAnswer {
	t.Helper()
	var out []chatAnswer
	events := upstreamtest.SplitEvents(body)
	for _, event := range events[:len(events)-1] {
		out = append(out, parse[chatAnswer](t, bytes.TrimPrefix(event, []byte("data: "))))
	}
	if last := string(events[len(events)-1]); last != "data: [DONE]\n\n" {
		t.Fatalf("the stream ends with %q", last)
	}
	return out
}

const weatherTools = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object",
 "properties":{"city":{"type":"string"},"unit":{"enum":["c","f"]},"days":{"type":"integer"}}}}},
 {"type":"function","function":{"name":"get_time","parameters":{}}}]`

func TestChatCompletion(t *testing.T) {
	s := upstreamtest.New(t, upstreamtest.OpenAI())
	tests := []struct {
		name, body, content, tool, arguments, finish string
		choices                                      int
	}{
		{"text", `{"messages":[{"role":"system","content":"x"},{"role":"user","content":"你好 <b>"}]}`,
			"You said: 你好 <b>", "", "", "stop", 1},
		{"list of parts", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},
			{"type":"image_url","image_url":{"url":"u"}},{"type":"text","text":"b"}]}]}`,
			"You said: a\nb", "", "", "stop", 1},
		{"two choices", `{"n":2,"messages":[{"role":"user","content":"hi"}]}`, "You said: hi", "", "", "stop", 2},
		{"first tool", `{` + weatherTools + `,"messages":[{"role":"user","content":"hi"}]}`,
			"", "get_weather", `{"city":"text","days":1,"unit":"c"}`, "tool_calls", 1},
		{"named tool", `{` + weatherTools + `,"tool_choice":{"type":"function","function":{"name":"get_time"}},
			"messages":[{"role":"user","content":"hi"}]}`, "", "get_time", `{}`, "tool_calls", 1},
		{"no tool wanted", `{` + weatherTools + `,"tool_choice":"none","messages":[{"role":"user","content":"hi"}]}`,
			"You said: hi", "", "", "stop", 1},
		{"tool result", `{` + weatherTools + `,"messages":[{"role":"tool","tool_call_id":"call_test","content":"17"}]}`,
			"The tool returned: 17", "", "", "stop", 1},
		{"JSON schema", `{"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object",
			"properties":{"items":{"type":"array","items":{"$ref":"#/$defs/item"}},"ok":{"type":["boolean","null"]}},
			"$defs":{"item":{"type":"object","properties":{"kind":{"const":"k"},"n":{"type":"number","minimum":3}}}}}}},
			"messages":[{"role":"user","content":"hi"}]}`,
			`{"items":[{"kind":"k","n":3}],"ok":true}`, "", "", "stop", 1},
		{"JSON object", `{"response_format":{"type":"json_object"},"messages":[{"role":"user","content":"hi"}]}`,
			`{"ok":true}`, "", "", "stop", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := call(t, s, "POST", "/v1/chat/completions", tt.body)
			if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("status %d, type %s: %s", resp.StatusCode, resp.Header.Get("Content-Type"), body)
			}
			if _, again := call(t, s, "POST", "/v1/chat/completions", tt.body); !bytes.Equal(body, again) {
				t.Errorf("not the same bytes twice:\n%s\n%s", body, again)
			}
			got := parse[chatAnswer](t, body)
			if len(got.Choices) != tt.choices || got.Usage == nil || got.Usage.Total != got.Usage.Prompt+got.Usage.Completion {
				t.Fatalf("choices or usage: %s", body)
			}
			for i, c := range got.Choices {
				if c.Index != i || c.Message.Content != tt.content || c.FinishReason != tt.finish {
					t.Errorf("choice %d: %+v", i, c)
				}
				if tt.tool != "" && (len(c.Message.ToolCalls) != 1 || c.Message.ToolCalls[0].Function.Name != tt.tool ||
					c.Message.ToolCalls[0].Function.Arguments != tt.arguments) {
					t.Errorf("tool calls %+v", c.Message.ToolCalls)
				}
			}
			compareStream(t, s, tt.body, got)
		})
	}
}

// compareStream asks for the same answer as a stream and puts it together.
func compareStream(t *testing.T, s *upstreamtest.Server, body string, want chatAnswer) {
	t.Helper()
	body = `{"stream":true,"stream_options":{"include_usage":true},` + strings.TrimPrefix(body, "{")
	resp, stream := call(t, s, "POST", "/v1/chat/completions", body)
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		t.Errorf("content type %q", resp.Header.Get("Content-Type"))
	}
	got := chunks(t, stream)
	texts := make([]string, len(want.Choices))
	names := make([]string, len(want.Choices))
	for _, chunk := range got[:len(got)-1] {
		if chunk.Usage != nil || len(chunk.Choices) != 1 {
			t.Fatalf("chunk %+v", chunk)
		}
		c := chunk.Choices[0]
		texts[c.Index] += c.Delta.Content
		for _, call := range c.Delta.ToolCalls {
			texts[c.Index] += call.Function.Arguments
			names[c.Index] += call.Function.Name
		}
	}
	last := got[len(got)-1]
	if len(last.Choices) != 0 || last.Usage == nil || *last.Usage != *want.Usage {
		t.Errorf("usage chunk %+v", last)
	}
	for i, c := range want.Choices {
		text, name := c.Message.Content, ""
		if len(c.Message.ToolCalls) > 0 {
			text, name = c.Message.ToolCalls[0].Function.Arguments, c.Message.ToolCalls[0].Function.Name
		}
		if texts[i] != text || names[i] != name {
			t.Errorf("choice %d streamed %q %q, want %q %q", i, texts[i], names[i], text, name)
		}
	}
}

func TestStreamWithoutUsage(t *testing.T) {
	s := upstreamtest.New(t, upstreamtest.OpenAI())
	_, body := call(t, s, "POST", "/v1/chat/completions", `{"stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	if bytes.Contains(body, []byte("usage")) {
		t.Errorf("usage was not asked for: %s", body)
	}
	if n := onlyRequest(t, s).Writes(); n != len(upstreamtest.SplitEvents(body)) {
		t.Errorf("%d writes for %d events", n, len(upstreamtest.SplitEvents(body)))
	}
}

func TestAPIErrors(t *testing.T) {
	s := upstreamtest.New(t, upstreamtest.OpenAI())
	tests := []struct {
		name, method, path, body string
		status                   int
		kind, code               string
	}{
		{"401", "POST", "/v1/chat/completions", `{"model":"error-401","messages":[{}]}`, 401, "invalid_request_error", "invalid_api_key"},
		{"429", "POST", "/v1/chat/completions", `{"model":"error-429","stream":true,"messages":[{}]}`, 429, "requests", "rate_limit_exceeded"},
		{"500", "POST", "/v1/embeddings", `{"model":"error-500","input":"a"}`, 500, "server_error", ""},
		{"unknown path", "POST", "/v1/nothing", `{}`, 404, "invalid_request_error", ""},
		{"version twice", "POST", "/v1/v1/chat/completions", `{}`, 404, "invalid_request_error", ""},
		{"wrong method", "GET", "/v1/chat/completions", ``, 404, "invalid_request_error", ""},
		{"unknown model", "GET", "/v1/models/none", ``, 404, "invalid_request_error", "model_not_found"},
		{"trailing comma", "POST", "/v1/chat/completions", `{"a":1,}`, 400, "invalid_request_error", ""},
		{"no messages", "POST", "/v1/chat/completions", `{}`, 400, "invalid_request_error", ""},
		{"no input", "POST", "/v1/embeddings", `{"input":[]}`, 400, "invalid_request_error", ""},
		{"no form", "POST", "/v1/files", `{}`, 400, "invalid_request_error", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := call(t, s, tt.method, tt.path, tt.body)
			got := parse[struct {
				Error struct{ Message, Type, Code string }
			}](t, body).Error
			if resp.StatusCode != tt.status || got.Type != tt.kind || got.Code != tt.code || got.Message == "" {
				t.Errorf("status %d, %s", resp.StatusCode, body)
			}
			if tt.status == 429 {
				for _, name := range []string{"Retry-After", "retry-after-ms", "x-ratelimit-remaining-requests"} {
					if resp.Header.Get(name) == "" {
						t.Errorf("no header %s", name)
					}
				}
			}
		})
	}
}

func TestEmbeddings(t *testing.T) {
	s := upstreamtest.New(t, upstreamtest.OpenAI())
	_, body := call(t, s, "POST", "/v1/embeddings", `{"model":"m","dimensions":64,"input":["the red door","值班电话"]}`)
	floats := parse[struct {
		Data []struct {
			Index     int
			Embedding []float32
		}
	}](t, body).Data
	_, body = call(t, s, "POST", "/v1/embeddings",
		`{"model":"m","dimensions":64,"encoding_format":"base64","input":["the red door","值班电话"]}`)
	packed := parse[struct{ Data []struct{ Embedding string } }](t, body).Data
	if len(floats) != 2 || len(packed) != 2 || floats[1].Index != 1 {
		t.Fatalf("got %s", body)
	}
	for i := range floats {
		raw, err := base64.StdEncoding.DecodeString(packed[i].Embedding)
		if err != nil || len(raw) != 4*64 || len(floats[i].Embedding) != 64 {
			t.Fatalf("%d bytes, %d floats, %v", len(raw), len(floats[i].Embedding), err)
		}
		for j, f := range floats[i].Embedding {
			if got := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*j:])); got != f {
				t.Fatalf("place %d: %v in base64, %v as number", j, got, f)
			}
		}
	}
	for _, input := range []string{`"a"`, `[1,2]`, `[[1],[2]]`} {
		if resp, body := call(t, s, "POST", "/v1/embeddings", `{"input":`+input+`}`); resp.StatusCode != 200 {
			t.Errorf("input %s: %s", input, body)
		}
	}
}

func TestEmbeddingFollowsTheText(t *testing.T) {
	cosine := func(a, b string) float64 {
		x, y := upstreamtest.Embedding(a, 384), upstreamtest.Embedding(b, 384)
		sum := 0.0
		for i := range x {
			sum += float64(x[i]) * float64(y[i])
		}
		return sum
	}
	if got := cosine("The red door.", "the RED door"); math.Abs(got-1) > 1e-5 {
		t.Errorf("same words: cosine %v, want 1", got)
	}
	for _, pair := range [][3]string{
		{"where is the red door", "the red door is open", "quarterly revenue in Asia"},
		{"值班电话是多少", "值班电话是一一四", "季度营收报告"},
	} {
		near, far := cosine(pair[0], pair[1]), cosine(pair[0], pair[2])
		if near < far+0.3 {
			t.Errorf("%q: %.2f to %q, %.2f to %q", pair[0], near, pair[1], far, pair[2])
		}
	}
	if got := cosine("", ""); math.Abs(got-1) > 1e-5 {
		t.Errorf("empty text has no unit vector: %v", got)
	}
}

func TestUploads(t *testing.T) {
	s := upstreamtest.New(t, upstreamtest.OpenAI())
	file := bytes.Repeat([]byte("\r\n--x\x00\xff"), 400_000) // 2.8 MB that look like boundaries
	sum := sha256.Sum256(file)
	want := hex.EncodeToString(sum[:])
	var form bytes.Buffer
	mw := multipart.NewWriter(&form)
	mw.WriteField("purpose", "assistants")
	mw.WriteField("model", "whisper-1")
	part, err := mw.CreateFormFile("file", "报告.bin")
	if err != nil {
		t.Fatal(err)
	}
	part.Write(file)
	mw.Close()
	for _, path := range []string{"/v1/files", "/v1/audio/transcriptions"} {
		resp, err := http.Post(s.URL()+path, mw.FormDataContentType(), bytes.NewReader(form.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Bytes                           int
			Sha256, Filename, Purpose, Text string
		}
		err = json.NewDecoder(resp.Body).Decode(&got)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("status %d, %v", resp.StatusCode, err)
		}
		if path == "/v1/files" && (got.Bytes != len(file) || got.Sha256 != want || got.Filename != "报告.bin" || got.Purpose != "assistants") {
			t.Errorf("file object %+v", got)
		}
		if path != "/v1/files" && got.Text != "sha256:"+want {
			t.Errorf("text %q", got.Text)
		}
	}
}

func TestOtherCalls(t *testing.T) {
	s := upstreamtest.New(t, upstreamtest.OpenAI())
	tests := []struct {
		name, method, path, body string
		status                   int
		contains                 string
	}{
		{"models", "GET", "/v1/models", "", 200, `"id":"gpt-4o-mini"`},
		{"one model", "GET", "/v1/models/gpt-5", "", 200, `"id":"gpt-5"`},
		{"models without a body", "HEAD", "/v1/models", "", 200, ""},
		{"preflight", "OPTIONS", "/v1/chat/completions", "", 204, ""},
		{"delete a file", "DELETE", "/v1/files/f-1", "", 200, `"deleted":true`},
		{"list files", "GET", "/v1/files", "", 200, `"data":[]`},
		{"completions", "POST", "/v1/completions", `{"prompt":"a"}`, 200, `"text":"You said: a"`},
		{"image", "POST", "/v1/images/generations", `{"prompt":"a","n":2}`, 200, `"b64_json":"iVBOR`},
		{"response", "POST", "/v1/responses", `{"input":"a"}`, 200, `"text":"You said: a"`},
		{"response to items", "POST", "/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":"b"}]}]}`,
			200, `"text":"You said: b"`},
		{"response stream", "POST", "/v1/responses", `{"input":"a","stream":true}`, 200, "event: response.completed\n"},
		{"rerank", "POST", "/v2/rerank", `{"model":"m","query":"年假","documents":["食堂","年假几天"]}`, 200, `"results":[{"index":1,"relevance_score":`},
		{"rerank of texts", "POST", "/rerank", `{"query":"annual leave","texts":["lunch","annual leave"]}`, 200, `[{"index":1,"score":`},
		{"rerank of nothing", "POST", "/v1/rerank", `{"query":"annual leave","documents":[]}`, 400, "documents"},
		{"another base", "POST", "/compatible-mode/v1/completions", `{"prompt":"a"}`, 200, "text_completion"},
		{"beta base", "POST", "/v1beta/openai/completions", `{"prompt":"a"}`, 200, "text_completion"},
		{"deployment", "POST", "/openai/deployments/gpt-x/completions?api-version=1", `{"prompt":"a"}`, 200, "text_completion"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := call(t, s, tt.method, tt.path, tt.body)
			if resp.StatusCode != tt.status || !bytes.Contains(body, []byte(tt.contains)) {
				t.Errorf("status %d: %s", resp.StatusCode, body)
			}
			if resp.Header.Get("x-request-id") == "" {
				t.Error("no request id")
			}
		})
	}
}

func TestSpeechHasEveryByte(t *testing.T) {
	s := upstreamtest.New(t, upstreamtest.OpenAI())
	resp, body := call(t, s, "POST", "/v1/audio/speech", `{"input":"hello"}`)
	seen := make(map[byte]bool)
	for _, b := range body {
		seen[b] = true
	}
	if len(seen) != 256 || resp.Header.Get("Content-Type") != "audio/mpeg" {
		t.Errorf("%d byte values, type %s", len(seen), resp.Header.Get("Content-Type"))
	}
}

func TestCompressedRequest(t *testing.T) {
	s := upstreamtest.New(t, upstreamtest.OpenAI())
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	zw.Write([]byte(`{"messages":[{"role":"user","content":"packed"}]}`))
	zw.Close()
	req, err := http.NewRequest("POST", s.URL()+"/v1/chat/completions", bytes.NewReader(packed.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Encoding", "gzip")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got chatAnswer
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Choices[0].Message.Content != "You said: packed" {
		t.Errorf("%+v, %v", got, err)
	}
	if r := onlyRequest(t, s); !bytes.Equal(r.Body, packed.Bytes()) {
		t.Error("the recorded body is not what was sent")
	}
}

func TestChatStreamFromTokens(t *testing.T) {
	s := upstreamtest.New(t, upstreamtest.Always(upstreamtest.ChatStream([]string{"tok-0 ", "龙<"}, 0)))
	_, body := call(t, s, "POST", "/v1/chat/completions", "{}")
	got := chunks(t, body)
	if len(got) != 3 || got[0].Choices[0].Delta.Content != "tok-0 " || got[1].Choices[0].Delta.Content != "龙<" ||
		got[2].Choices[0].FinishReason != "stop" {
		t.Errorf("got %s", body)
	}
}
