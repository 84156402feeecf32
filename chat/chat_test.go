package chat_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"strata/chat"
)

func caseFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustParse(t testing.TB, body []byte) *chat.Request {
	t.Helper()
	r, err := chat.Parse(body)
	if err != nil {
		t.Fatalf("%.80s: %v", body, err)
	}
	return r
}

func TestParseErrors(t *testing.T) {
	for body, want := range map[string]error{
		``:                  chat.ErrSyntax,
		`{`:                 chat.ErrSyntax,
		`{"messages":[]}`:   nil,
		`{"messages":[],}`:  chat.ErrSyntax,
		`{"messages":[]} x`: chat.ErrSyntax,
		`{"messages":[]}{}`: chat.ErrSyntax,
		`{"messages":[{"role":"user","content":"a` + "\n" + `"}]}`: chat.ErrSyntax,
		`{"messages":[{"role":"user","content":"\ud83"}]}`:         chat.ErrSyntax,
		`{"messages":[{"role":"user","content":"\x41"}]}`:          chat.ErrSyntax,
		`{"messages":[{"role":"user","content":01}]}`:              chat.ErrSyntax,
		`{"messages":{}}`:                    chat.ErrNotChat,
		`{"messages":"x"}`:                   chat.ErrNotChat,
		`{"messages":[1]}`:                   chat.ErrNotChat,
		`[]`:                                 chat.ErrNotChat,
		`"x"`:                                chat.ErrNotChat,
		`{"Messages":[]}`:                    chat.ErrNotChat,
		`{"messages":[],"messages":[]}`:      chat.ErrDuplicateKey,
		`{"messages":[],"m\u0065ssages":[]}`: chat.ErrDuplicateKey,
		`{"model":"a","model":"b","messages":[]}`:                                           chat.ErrDuplicateKey,
		`{"stream":true,"stream":false,"messages":[]}`:                                      chat.ErrDuplicateKey,
		`{"messages":[{"role":"user","role":"system"}]}`:                                    chat.ErrDuplicateKey,
		`{"messages":[{"content":"a","\u0063ontent":"b"}]}`:                                 chat.ErrDuplicateKey,
		`{"messages":[{"content":[{"type":"text","text":"a","text":""}]}]}`:                 chat.ErrDuplicateKey,
		`{"x":1,"x":2,"messages":[{"name":"a","name":"b"}]}`:                                nil,
		`{"messages":[],"x":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + `}`: chat.ErrDepth,
		`{"messages":[],"x":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}`:   nil,
	} {
		if _, err := chat.Parse([]byte(body)); !errors.Is(err, want) {
			t.Errorf("%.80s: %v, want %v", body, err, want)
		}
	}
	for _, open := range []string{"[", `{"a":`, `{"messages":[`} {
		if _, err := chat.Parse(bytes.Repeat([]byte(open), 20_000_000/len(open))); err == nil {
			t.Errorf("20 MB of %s accepted", open)
		}
	}
}

func TestParseFields(t *testing.T) {
	r := mustParse(t, []byte(`{"model":"gpt-\u0078","stream":true,"messages":[
		{"role":"developer","content":"be brief"},
		{"content":[{"type":"text","text":"看\u56fe"},{"type":"image_url","image_url":{"url":"data:;base64,AAAA"}},{"text":"\ud83d\ude00 \ud83d","type":"text"}],"role":"user"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c1"}]},
		{"role":"tool","tool_call_id":"c1","content":"{}"},
		{"role":"critic"}, {"role":7,"content":{}}]}`))
	if r.Model != "gpt-x" || !r.Stream || len(r.Messages) != 6 {
		t.Fatalf("%+v", r)
	}
	roles, kinds := "", []chat.Kind{}
	for _, m := range r.Messages {
		roles += m.Role + " "
		kinds = append(kinds, m.Kind)
	}
	if roles != "developer user assistant tool critic  " || !reflect.DeepEqual(kinds, []chat.Kind{chat.String, chat.Parts, chat.Null, chat.String, chat.Absent, chat.Other}) {
		t.Errorf("roles %q, kinds %v", roles, kinds)
	}
	if got := r.Text(1); got != "看图\n😀 \ufffd" {
		t.Errorf("text %q", got)
	}
	if !r.Messages[2].ToolCalls || r.Messages[3].ToolCallID != "c1" || r.LastUser() != 1 || r.ToolLoop() {
		t.Errorf("%+v", r.Messages)
	}
	if got := mustParse(t, caseFile(t, "C029.json")).Text(0); got != "我的项目代号是什么？😀" {
		t.Errorf("C029: %q", got)
	}
	if got := mustParse(t, caseFile(t, "C031a.json")); len(got.Messages) == 0 {
		t.Error("C031a: a byte order mark hides the request")
	}
	if _, err := chat.Parse(caseFile(t, "C031b.json")); !errors.Is(err, chat.ErrSyntax) {
		t.Errorf("C031b: %v", err)
	}
	if !mustParse(t, caseFile(t, "C055.json")).ToolLoop() {
		t.Error("C055: not seen as a tool loop")
	}
}

// remove cuts the inserted ranges out.
func remove(body []byte, spans []chat.Span) []byte {
	var out []byte
	from := 0
	for _, s := range spans {
		out = append(out, body[from:s.Start]...)
		from = s.End
	}
	return append(out, body[from:]...)
}

const secret = "ZEBRA-41"

// Every recorded request takes a text without losing a byte, in the place
// where its server accepts it.
func TestInjectCases(t *testing.T) {
	for _, name := range []string{"C015.json", "C016.json", "C017.json", "C019.json", "C021.json", "C024.json", "C027.json", "C029.json",
		"C031a.json", "C036.json", "C051.json", "C053.json", "C055.json", "C060.json", "C062.json"} {
		body := caseFile(t, name)
		r := mustParse(t, body)
		out, spans := r.Inject("", secret)
		if !bytes.Equal(remove(out, spans), body) || len(spans) != 1 || strings.Count(string(out), secret) != 1 {
			t.Errorf("%s: %d insertions in %s", name, len(spans), out)
		}
		again := mustParse(t, out)
		if len(again.Messages) != len(r.Messages) {
			t.Fatalf("%s: %d messages, were %d", name, len(again.Messages), len(r.Messages))
		}
		last := r.LastUser()
		for i := range r.Messages {
			same := bytes.Equal(again.Body[again.Messages[i].Start:again.Messages[i].End], body[r.Messages[i].Start:r.Messages[i].End])
			if same == (i == last) || again.Messages[i].Role != r.Messages[i].Role || again.Messages[i].Kind != r.Messages[i].Kind {
				t.Errorf("%s: message %d (%s) unchanged: %v", name, i, r.Messages[i].Role, same)
			}
		}
		if text := again.Text(last); !strings.HasPrefix(text, r.Text(last)+"\n") || !strings.HasSuffix(text, secret) {
			t.Errorf("%s: user text is %q", name, text)
		}
		if second, _ := mustParse(t, body).Inject("", secret); !bytes.Equal(out, second) {
			t.Errorf("%s: not the same bytes twice", name)
		}
	}
}

func TestInjectPlaces(t *testing.T) {
	for _, c := range []struct{ name, body, stable, volatile, want string }{
		{"both, strings", `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}`, "S", "V",
			`{"messages":[{"role":"system","content":"s\n\nS"},{"role":"user","content":"u\n\nV"}]}`},
		{"both, parts", `{"messages":[{"role":"developer","content":[{"type":"text","text":"s"} ]},{"role":"user","content":[ ]}]}`, "S", "V",
			`{"messages":[{"role":"developer","content":[{"type":"text","text":"s"} ,{"type":"text","text":"S"}]},{"role":"user","content":[ {"type":"text","text":"V"}]}]}`},
		{"no system", `{"messages":[{"role":"user","content":"u"}]}`, "S", "V", `{"messages":[{"role":"user","content":"u\n\nS\n\nV"}]}`},
		{"system without text", `{"messages":[{"role":"system","content":null},{"role":"user","content":""}]}`, "S", "V",
			`{"messages":[{"role":"system","content":null},{"role":"user","content":"S\n\nV"}]}`},
		{"system not first", `{"messages":[{"role":"user","content":"u"},{"role":"system","content":"s"}]}`, "S", "",
			`{"messages":[{"role":"user","content":"u\n\nS"},{"role":"system","content":"s"}]}`},
		{"last user before a tool loop", `{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":null,"tool_calls":[]},{"role":"tool","content":"t"}]}`, "", "V",
			`{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b\n\nV"},{"role":"assistant","content":null,"tool_calls":[]},{"role":"tool","content":"t"}]}`},
		{"no user", `{"messages":[{"role":"system","content":"s"}]}`, "S", "V", `{"messages":[{"role":"system","content":"s"}]}`},
		{"user without text", `{"messages":[{"role":"system","content":"s"},{"role":"user"}]}`, "S", "V", `{"messages":[{"role":"system","content":"s"},{"role":"user"}]}`},
		{"nothing", `{"messages":[{"role":"user","content":"u"}]}`, "", "", `{"messages":[{"role":"user","content":"u"}]}`},
		{"escapes", `{"messages":[{"role":"user","content":"u"}]}`, "", "<&>\"\\\n\t\x01\u2028é\xff", `{"messages":[{"role":"user","content":"u\n\n<&>\"\\\n\t\u0001` + "\u2028é\ufffd" + `"}]}`},
	} {
		out, spans := mustParse(t, []byte(c.body)).Inject(c.stable, c.volatile)
		if string(out) != c.want || string(remove(out, spans)) != c.body {
			t.Errorf("%s:\n got %s\nwant %s", c.name, out, c.want)
		}
	}
}

// The app's own instructions survive both kinds of text, in every shape.
func TestInjectKeepsInstructions(t *testing.T) {
	for _, system := range []string{"", `{"role":"system","content":"Be kind."},`, `{"role":"system","content":[{"type":"text","text":"Be"},{"type":"text","text":"kind."}]},`} {
		for i := range 4 {
			stable, volatile := strings.Repeat("STABLE", i&1), strings.Repeat("VOLATILE", i>>1)
			body := []byte(`{"messages":[` + system + `{"role":"user","content":"q"}]}`)
			out, spans := mustParse(t, body).Inject(stable, volatile)
			if !bytes.Equal(remove(out, spans), body) || strings.Count(string(out), "STABLE") != i&1 || strings.Count(string(out), "VOLATILE") != i>>1 {
				t.Errorf("%s + %s: %s", stable, volatile, out)
			}
			r := mustParse(t, out)
			if system != "" && !strings.HasPrefix(r.Text(0), mustParse(t, body).Text(0)) {
				t.Errorf("instructions are %q", r.Text(0))
			}
		}
	}
}

func collect(contentType, encoding string, ended bool, pieces ...[]byte) chat.Answer {
	var c chat.Collector
	c.Reset(contentType, encoding)
	for _, p := range pieces {
		_, _ = c.Write(p)
	}
	return c.Answer(ended)
}

func TestCollectStreams(t *testing.T) {
	const typed = "text/event-stream; charset=utf-8"
	for _, c := range []struct {
		file    string
		texts   []string
		finish  string
		outcome chat.Outcome
	}{
		{"C001.sse", []string{"你好，世界"}, "stop", chat.Complete},
		{"C002.sse", []string{"ok-7"}, "stop", chat.Complete},
		{"C003.sse", []string{"42"}, "", chat.Complete},
		{"C006a.sse", nil, "stop", chat.Complete},
		{"C006b.sse", []string{"The password rotation runs every"}, "", chat.Interrupted},
		{"C009.sse", []string{"ok"}, "", chat.Complete},
		{"C012.sse", []string{"阴气渐重，露凝而白😀也"}, "", chat.Complete},
		{"C013.sse", []string{"Azure.", "Blue."}, "", chat.Complete},
		{"C021.sse", []string{"17"}, "", chat.Complete},
		{"C040a.sse", nil, "", chat.Failed},
		{"C040b.sse", []string{"Half"}, "", chat.Failed},
		{"C040c.sse", nil, "", chat.Failed},
	} {
		body := caseFile(t, c.file)
		a := collect(typed, "", true, body)
		if a.Outcome != c.outcome {
			t.Errorf("%s: outcome %v, want %v", c.file, a.Outcome, c.outcome)
		}
		for i, want := range c.texts {
			if i >= len(a.Choices) || strings.TrimRight(a.Choices[i].Text, " ") != strings.TrimRight(want, " ") {
				t.Errorf("%s: choices %+v, want %q", c.file, a.Choices, c.texts)
			}
		}
		if c.finish != "" && a.Choices[0].FinishReason != c.finish {
			t.Errorf("%s: finish %q", c.file, a.Choices[0].FinishReason)
		}
		var bytewise [][]byte
		for i := range body {
			bytewise = append(bytewise, body[i:i+1])
		}
		if b := collect("", "", true, bytewise...); len(body) < 5000 && !reflect.DeepEqual(a, b) {
			t.Errorf("%s: byte by byte %+v, at once %+v", c.file, b, a)
		}
	}
	u := collect(sse, "", true, caseFile(t, "C009.sse")).Usage
	if u.PromptTokens != 9 || u.CompletionTokens != 4 || u.TotalTokens != 13 {
		t.Errorf("C009: usage %+v", u)
	}
	calls := collect(sse, "", true, caseFile(t, "C022.sse")).Choices[0].ToolCalls
	if len(calls) != 2 || calls[0].Name != "get_weather" || calls[0].Arguments != `{"city":"巴黎"}` || calls[1].Name != "get_time" || calls[1].Arguments != `{"tz":"JST"}` {
		t.Errorf("C022: %+v", calls)
	}
	if a := collect(sse, "gzip", true, caseFile(t, "C044.sse.gz")); a.Choices[0].Text != "压缩的回答" {
		t.Errorf("C044: %+v", a)
	}
	for _, n := range []int{22_000, 500_000, 2_000_000} {
		line := []byte(`data: {"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("龙", n) + `END-OF-BIG"},"finish_reason":"stop"}]}` + "\n\n")
		if a := collect(sse, "", true, line); len(a.Choices) != 1 || !strings.HasSuffix(a.Choices[0].Text, "END-OF-BIG") || a.Cut {
			t.Errorf("a line of %d characters: cut %v", n, a.Cut)
		}
	}
	if a := collect(sse, "", true, bytes.Repeat([]byte("x"), chat.MaxCollect), []byte("y")); !a.Cut {
		t.Error("over the limit and not marked as cut")
	}
}

func TestCollectJSON(t *testing.T) {
	whole := `{"id":"i","model":"m","choices":[{"message":{"role":"assistant","content":"a\u00e9","refusal":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"prompt_tokens_details":{"cached_tokens":2}}}`
	a := collect("application/json", "", true, []byte(whole))
	want := chat.Answer{ID: "i", Model: "m", Outcome: chat.Complete, Usage: chat.Usage{Known: true, PromptTokens: 3, CachedTokens: 2},
		Choices: []chat.Choice{{Text: "aé", FinishReason: "stop", ToolCalls: []chat.ToolCall{{ID: "c", Name: "f", Arguments: `{"a":1}`}}}}}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("got %+v\nwant %+v", a, want)
	}
	for body, outcome := range map[string]chat.Outcome{
		`{"error":{"message":"no"}}`: chat.Failed,
		`{"error":"no"}`:             chat.Failed,
		`{"error":null,"choices":[{"message":{"content":[{"type":"text","text":"x"}]}}]}`: chat.Complete,
		whole[:60]:           chat.Interrupted,
		``:                   chat.Interrupted,
		`<html>`:             chat.Interrupted,
		`{"choices":[]}`:     chat.Interrupted,
		`{"choices":"x"}`:    chat.Interrupted,
		`{"choices":[7,{}]}`: chat.Complete,
	} {
		if got := collect("application/json", "", true, []byte(body)).Outcome; got != outcome {
			t.Errorf("%s: %v, want %v", body, got, outcome)
		}
	}
	if got := collect("", "", false, []byte(`{"choices":[{"message":{"content":"x"}}]}`)).Outcome; got != chat.Interrupted {
		t.Errorf("cut without a finish reason: %v", got)
	}
}

func TestDecode(t *testing.T) {
	text := []byte(strings.Repeat("你好 ", 1000))
	var gz, br, zs bytes.Buffer
	g := gzip.NewWriter(&gz)
	_, _ = g.Write(text)
	g.Close()
	b := brotli.NewWriter(&br)
	_, _ = b.Write(text)
	b.Close()
	z, _ := zstd.NewWriter(&zs)
	_, _ = z.Write(text)
	z.Close()
	for encoding, body := range map[string][]byte{"gzip": gz.Bytes(), " GZIP ": gz.Bytes(), "br": br.Bytes(), "zstd": zs.Bytes(), "identity": text, "": text} {
		if got, err := chat.Decode(encoding, body, 1<<20); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%q: %v", encoding, err)
		}
		if _, err := chat.Decode(encoding, body, 100); !errors.Is(err, chat.ErrTooLarge) {
			t.Errorf("%q above the limit: %v", encoding, err)
		}
	}
	for _, encoding := range []string{"gzip", "br", "zstd", "deflate", "x-new"} {
		if _, err := chat.Decode(encoding, []byte("?? nothing of the kind"), 100); !errors.Is(err, chat.ErrEncoding) {
			t.Errorf("%s: %v", encoding, err)
		}
	}
}

// benchBody is a usual request of about 4 KB.
func benchBody() []byte {
	var b bytes.Buffer
	b.WriteString(`{"model":"gpt-4o","temperature":0.7,"stream":false,"messages":[{"role":"system","content":"` + strings.Repeat("You are a helpful assistant. ", 20) + `"}`)
	for i := range 6 {
		fmt.Fprintf(&b, `,{"role":"user","content":"%s"},{"role":"assistant","content":"%s"}`, strings.Repeat("报销制度的上限是多少？", 4), strings.Repeat("The limit is 500 per day.\\n", 10+i))
	}
	b.WriteString(`,{"role":"user","content":"And for hotels?"}]}`)
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	for name, body := range map[string][]byte{"4KB": benchBody(),
		"100KB": []byte(`{"messages":[{"role":"user","content":"` + strings.Repeat("long text, 长文。", 5000) + `"}]}`)} {
		b.Run(name, func(b *testing.B) {
			var r chat.Request
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := chat.ParseInto(&r, body); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/json.Valid", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				json.Valid(body)
			}
		})
	}
}

func BenchmarkInject(b *testing.B) {
	r := mustParse(b, benchBody())
	text := strings.Repeat("The user prefers short answers.\n", 30)
	b.ReportAllocs()
	for b.Loop() {
		r.Inject(text, text)
	}
}

func BenchmarkCollect(b *testing.B) {
	var stream bytes.Buffer
	for range 20 {
		stream.WriteString(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"token "},"finish_reason":null}]}` + "\n\n")
	}
	stream.WriteString("data: [DONE]\n\n")
	answer := []byte(`{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + strings.Repeat("word ", 160) + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`)
	for name, c := range map[string]struct {
		kind string
		body []byte
	}{"stream": {"text/event-stream", stream.Bytes()}, "json": {"application/json", answer}} {
		b.Run(name, func(b *testing.B) {
			var col chat.Collector
			b.ReportAllocs()
			for b.Loop() {
				col.Reset(c.kind, "")
				_, _ = col.Write(c.body)
				if col.Answer(true).Outcome != chat.Complete {
					b.Fatal("not complete")
				}
			}
		})
	}
}

// A buffer that was used before changes nothing: neither what is written nor
// the client's bytes.
func TestInjectIntoUsedBuffer(t *testing.T) {
	body := []byte(`{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi \"there\""}]}`)
	req, err := chat.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	want, spans := req.Inject("stable", "volatile")
	for _, size := range []int{0, 10, 4 << 10} {
		buf := bytes.Repeat([]byte("x"), size)
		got, inserted := req.InjectInto(buf, "stable", "volatile")
		if !bytes.Equal(got, want) || !slices.Equal(inserted, spans) {
			t.Errorf("over %d bytes: %s, want %s", size, got, want)
		}
		if size > len(want) && &got[0] != &buf[0] {
			t.Error("a buffer with room enough is not used")
		}
	}
	if string(req.Body) != string(body) {
		t.Errorf("the client's bytes: %s", req.Body)
	}
}
