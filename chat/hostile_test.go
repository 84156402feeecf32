package chat_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"strata/chat"
)

const sse = "text/event-stream"

// Some bytes that a client or a server can send must not cost minutes or
// gigabytes. Each of these took minutes when its cost was quadratic.
func TestHostileInputIsLinear(t *testing.T) {
	const size = 2 << 20
	for name, read := range map[string]func(){
		"CR lines": func() { collect(sse, "", true, bytes.Repeat([]byte("\r"), size)) },
		"choices": func() {
			collect("application/json", "", true, []byte(`{"choices":[`+strings.Repeat(`{},`, size/3)+`{}]}`))
		},
		"tool calls": func() {
			collect("application/json", "", true, []byte(`{"choices":[{"message":{"tool_calls":[`+strings.Repeat(`{},`, size/3)+`{}]}}]}`))
		},
		"open brackets": func() { _, _ = chat.Parse(bytes.Repeat([]byte("["), 5*size)) },
		"nested answer": func() {
			collect("application/json", "", true, []byte(strings.Repeat(`{"choices":[`, size/12)))
		},
	} {
		start := time.Now()
		read()
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: %v", name, took)
		}
	}
}

func TestTooManyMessages(t *testing.T) {
	body := func(n int) []byte { return []byte(`{"messages":[` + strings.Repeat(`{},`, n-1) + `{}]}`) }
	if r := mustParse(t, body(1<<16)); len(r.Messages) != 1<<16 {
		t.Errorf("%d messages", len(r.Messages))
	}
	if _, err := chat.Parse(body(1<<16 + 1)); !errors.Is(err, chat.ErrNotChat) {
		t.Errorf("one more: %v", err)
	}
}

// A pooled request shows nothing of the one before, also after an error.
func TestParseIntoForgets(t *testing.T) {
	var r chat.Request
	for _, body := range []string{`{"model":"secret-1","messages":[{"role":"user","content":"secret-2","tool_call_id":"secret-3"}`, `{"messages":[]}`, `{"messages":[{}]}`} {
		full := `{"model":"secret-1","stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"secret-2"}],"tool_call_id":"secret-3"}]}`
		if err := chat.ParseInto(&r, []byte(full)); err != nil {
			t.Fatal(err)
		}
		_ = chat.ParseInto(&r, []byte(body))
		shown := fmt.Sprintf("%+v %+v", r, r.Messages[:cap(r.Messages)])
		if strings.Contains(shown, "secret") || r.Stream || len(r.Messages) > 0 && r.Text(0) != "" {
			t.Errorf("after %s: %s", body, shown)
		}
	}
}

// Memory hit or not, knowledge hit or not, summary or not; three shapes of
// instructions: each of the three texts arrives once, the instructions stay.
func TestC060AllPairs(t *testing.T) {
	list := string(caseFile(t, "C060.json"))
	parts := list[strings.Index(list, "[{\"role\":\"system\"")+1 : strings.Index(list, ",{\"role\":\"user\"")]
	for shape, system := range map[string]string{"string": `{"role":"system","content":"Answer in one line. Never mention prices."}`, "list": parts, "none": ""} {
		for i := range 8 {
			stable := strings.Repeat("MEMORY "+secret, i&1)
			volatile := strings.Repeat("KNOWLEDGE", i>>1&1) + strings.Repeat("SUMMARY", i>>2)
			comma := strings.Repeat(",", min(len(system), 1))
			body := []byte(`{"messages":[` + system + comma + `{"role":"user","content":"q"}]}`)
			out, spans := mustParse(t, body).Inject(stable, volatile)
			for text, n := range map[string]int{secret: i & 1, "KNOWLEDGE": i >> 1 & 1, "SUMMARY": i >> 2} {
				if strings.Count(string(out), text) != n {
					t.Errorf("%s %d: %s %d times in %s", shape, i, text, strings.Count(string(out), text), out)
				}
			}
			kept := strings.TrimSuffix(strings.TrimSuffix(system, `]}`), `"}`)
			if !bytes.Equal(remove(out, spans), body) || !strings.HasPrefix(string(out), `{"messages":[`+kept) {
				t.Errorf("%s %d: instructions changed: %s", shape, i, out)
			}
		}
	}
}

func TestC019ToolMessagesKeepTheirBytes(t *testing.T) {
	before := mustParse(t, caseFile(t, "C019.json"))
	out, _ := before.Inject(secret, secret)
	after := mustParse(t, out)
	var kinds []chat.Kind
	for i, m := range before.Messages {
		if m.Role != "assistant" && m.Role != "tool" {
			continue
		}
		now := after.Messages[i]
		if !bytes.Equal(out[now.Start:now.End], before.Body[m.Start:m.End]) {
			t.Errorf("message %d: %s", i, out[now.Start:now.End])
		}
		kinds = append(kinds, now.Kind)
	}
	if !slices.Contains(kinds, chat.Null) || !slices.Contains(kinds, chat.Absent) {
		t.Errorf("null and absent content are not told apart: %v", kinds)
	}
}

func TestC012Cuts(t *testing.T) {
	body := caseFile(t, "C012.sse")
	var pieces [][]byte
	from := 0
	for _, field := range append(strings.Fields(string(caseFile(t, "C012.cuts"))), strconv.Itoa(len(body))) {
		at, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, body[from:at])
		from = at
	}
	if got := collect(sse, "", true, pieces...).Choices[0].Text; got != "阴气渐重，露凝而白😀也" {
		t.Errorf("%q", got)
	}
}

func TestC011RecordedLine(t *testing.T) {
	got := collect(sse, "", true, caseFile(t, "C011.sse")).Choices[0].Text
	if strings.Count(got, "龙") != 22_000 || !strings.HasSuffix(got, "END-OF-BIG") {
		t.Errorf("%d characters, ends with %q", strings.Count(got, "龙"), got[len(got)-20:])
	}
}

func TestC032CompressedRequest(t *testing.T) {
	body, err := chat.Decode(" GZIP ", caseFile(t, "C032.json.gz"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got := mustParse(t, body).Text(0); got != "我的项目代号是什么？" {
		t.Errorf("%q", got)
	}
}

func TestErrorsInAnswers(t *testing.T) {
	for _, c := range []struct{ name, kind, body, message string }{
		{"C040a", sse, string(caseFile(t, "C040a.sse")), ""},
		{"C040b", sse, string(caseFile(t, "C040b.sse")), ""},
		{"C040c", sse, string(caseFile(t, "C040c.sse")), ""},
		{"C038", "application/json", string(caseFile(t, "C038.json")), ""},
		{"plain words", sse, "event: error\ndata: upstream exploded\n\n", "upstream exploded"},
		{"no data", sse, "event: error\n\n", "-"},
		{"JSON under the type of a stream", sse, `{"error":{"message":"no"}}`, "no"},
		{"after [DONE]", sse, "data: [DONE]\n\ndata: {\"error\":\"late\"}\n\n", "late"},
	} {
		a := collect(c.kind, "", true, []byte(c.body))
		if a.Outcome != chat.Failed || c.message != "-" && (a.ErrorMessage == "" || c.message != "" && a.ErrorMessage != c.message) {
			t.Errorf("%s: %v, %q", c.name, a.Outcome, a.ErrorMessage)
		}
	}
}

// delta is an event with one piece of text.
func delta(text, finish string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q},"finish_reason":%s}]}`, text, finish)
}

func TestStreamShapes(t *testing.T) {
	end := delta("b", `"stop"`)
	for _, c := range []struct {
		name, body, text string
		outcome          chat.Outcome
	}{
		{"CR only", "data:" + delta("a", "null") + "\r\rdata: " + end + "\r\r", "ab", chat.Complete},
		{"mixed ends", "data: " + delta("a", "null") + "\r\n\ndata: " + end + "\r\r\n", "ab", chat.Complete},
		{"several data lines", "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"ab\"},\ndata:\"finish_reason\":\"stop\"}]}\n\n", "ab", chat.Complete},
		{"no last blank line", "data: " + delta("a", "null") + "\n\ndata: " + end, "ab", chat.Complete},
		{"last event torn", "data: " + delta("a", "null") + "\n\ndata: " + end[:len(end)-3], "a", chat.Interrupted},
		{"byte order mark", "\xef\xbb\xbfdata: " + end + "\n\n", "b", chat.Complete},
		{"id first", "id: 1\nretry: 5\ndata: " + end + "\n\n", "b", chat.Complete},
		{"empty finish reasons", "data: " + end + "\n\ndata: " + delta("", `""`) + "\n\n", "b", chat.Complete},
		{"broken event between", "data: " + delta("a", "null") + "\n\ndata: {nope\n\ndata: " + end + "\n\n", "ab", chat.Complete},
		{"[DONE] alone ends it", "data: " + delta("a", "null") + "\n\ndata: [DONE]\n\n", "a", chat.Complete},
	} {
		for _, kind := range []string{sse, ""} {
			a := collect(kind, "", false, []byte(c.body))
			if len(a.Choices) != 1 || a.Choices[0].Text != c.text || a.Outcome != c.outcome {
				t.Errorf("%s (%q): %+v", c.name, kind, a)
			}
		}
	}
}

func TestToolCallFragments(t *testing.T) {
	event := func(calls string) string {
		return `data: {"choices":[{"index":0,"delta":{"tool_calls":[` + calls + `]}}]}` + "\n\n"
	}
	f, g := chat.ToolCall{ID: "a", Name: "f", Arguments: "{}"}, chat.ToolCall{ID: "b", Name: "g", Arguments: "[]"}
	for _, c := range []struct {
		name, body string
		want       []chat.ToolCall
	}{
		{"whole calls without index", event(`{"id":"a","function":{"name":"f","arguments":"{}"}}`) + event(`{"id":"b","function":{"name":"g","arguments":"[]"}}`), []chat.ToolCall{f, g}},
		{"index last, calls out of order", event(`{"id":"b","function":{"name":"g","arguments":"["},"index":1}`) + event(`{"function":{"name":"f","arguments":"{}"},"id":"a","index":0}`) + event(`{"index":1,"function":{"arguments":"]"}}`), []chat.ToolCall{f, g}},
		{"id and name repeated", event(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`) + event(`{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}`), []chat.ToolCall{f}},
		{"new id without a name", event(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`) + event(`{"index":0,"id":"x","function":{"arguments":"}"}}`), []chat.ToolCall{f}},
	} {
		if a := collect(sse, "", true, []byte(c.body)); !reflect.DeepEqual(a.Choices[0].ToolCalls, c.want) {
			t.Errorf("%s: %+v", c.name, a.Choices[0].ToolCalls)
		}
	}
}

func TestCachedTokensOfEitherField(t *testing.T) {
	for _, usage := range []string{`"prompt_cache_hit_tokens":7`, `"prompt_tokens_details":{"cached_tokens":7}`,
		`"prompt_cache_hit_tokens":7,"prompt_tokens_details":{"cached_tokens":0}`} {
		a := collect("application/json", "", true, []byte(`{"choices":[],"usage":{`+usage+`}}`))
		if !a.Usage.Known || a.Usage.CachedTokens != 7 {
			t.Errorf("%s: %+v", usage, a.Usage)
		}
	}
}

// packed returns text in every encoding, under the header value for it.
func packed(t *testing.T, text []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for name, open := range map[string]func(io.Writer) io.WriteCloser{
		" GZip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"deflate":  func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"Deflate ": func(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, 6); return f },
		"BR":       func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, 1) },
		"zstd":     func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w, zstd.WithWindowSize(8<<20)); return z },
	} {
		var b bytes.Buffer
		w := open(&b)
		half := len(text) / 2
		for _, p := range [][]byte{text[:half], text[half:]} {
			if _, err := w.Write(p); err != nil {
				t.Fatal(err)
			}
			if z, ok := w.(*zstd.Encoder); ok { // so that the frame does not know its size
				_ = z.Flush()
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		out[name] = b.Bytes()
	}
	return out
}

// The limit is about what comes out, at one byte's precision, whatever the
// encoding; a bomb costs no more than the limit.
func TestDecodeLimit(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	for encoding, body := range packed(t, text) {
		if got, err := chat.Decode(encoding, body, len(text)); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%q at the limit: %v", encoding, err)
		}
		if _, err := chat.Decode(encoding, body, len(text)-1); !errors.Is(err, chat.ErrTooLarge) {
			t.Errorf("%q above the limit: %v", encoding, err)
		}
		if _, err := chat.Decode(encoding, body[:len(body)/2], len(text)); !errors.Is(err, chat.ErrEncoding) {
			t.Errorf("%q torn: %v", encoding, err)
		}
	}
}

func TestAnswersInEveryEncoding(t *testing.T) {
	stream := "data: " + delta("好", "null") + "\n\n" + "data: " + delta("的", `"stop"`) + "\n\n"
	for encoding, body := range packed(t, []byte(stream)) {
		if a := collect(sse, encoding, true, body); len(a.Choices) != 1 || a.Choices[0].Text != "好的" {
			t.Errorf("%q: %+v", encoding, a)
		}
	}
}

// Every encoding is read through the same limit; gzip stands for all here.
func TestBombIsCut(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, _ = w.Write([]byte("data: " + delta("a", "null") + "\n\n:"))
	_, _ = w.Write(make([]byte, 33<<20))
	_ = w.Close()
	if a := collect(sse, "gzip", true, bomb.Bytes()); !a.Cut || len(a.Choices) != 1 || a.Choices[0].Text != "a" {
		t.Errorf("cut %v, %d choices", a.Cut, len(a.Choices))
	}
}

// A used collector shows nothing of the answer before, and does not hold on
// to the room that a long one took.
func TestCollectorReuse(t *testing.T) {
	var c chat.Collector
	c.Reset(sse, "gzip")
	_, _ = c.Write(bytes.Repeat([]byte("x"), chat.MaxCollect+1))
	c.Reset("", "")
	if room := c.Room(); room > 64<<10 {
		t.Errorf("%d bytes kept", room)
	}
	if a := c.Answer(true); a.Cut || a.Outcome != chat.Interrupted || a.Choices != nil {
		t.Errorf("%+v", a)
	}
}
