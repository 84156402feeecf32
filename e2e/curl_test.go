package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// curlCall is one command: what is sent, with which flags.
type curlCall struct {
	path  string
	json  any // sent when not nil
	flags []string
}

func runCurl(t *testing.T, baseURL string, in inputs) map[string]outcome {
	curl := tool(t, "curl", "install curl")
	outcomes := make(map[string]outcome)
	calls := curlScenarios(in)
	for _, name := range scenarios[:len(scenarios)-1] {
		var answers [][]string
		for _, call := range calls[name] {
			out, err := curlCommand(t, t.Context(), curl, baseURL, call).Output()
			if err != nil {
				t.Fatalf("%s: curl: %v", name, err)
			}
			answers = append(answers, answerOf(out))
		}
		outcomes[name] = mustJSON(t, answers)
	}
	outcomes["abort"] = curlAbort(t, curl, baseURL)
	return outcomes
}

type body = map[string]any

func curlScenarios(in inputs) map[string][]curlCall {
	messages := []body{{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}}
	chat := func(extra body) curlCall {
		b := body{"model": model, "messages": messages}
		for k, v := range extra {
			b[k] = v
		}
		return curlCall{path: "/chat/completions", json: b}
	}
	schema := body{"type": "object", "properties": body{"city": body{"type": "string"}, "paid": body{"type": "boolean"}}}
	tools := []body{{"type": "function", "function": body{"name": "get_weather", "parameters": schema}}}
	call := body{"id": "call_test", "type": "function", "function": body{"name": "get_weather", "arguments": "{}"}}
	result := append(slices.Clone(messages),
		body{"role": "assistant", "content": nil, "tool_calls": []body{call}},
		body{"role": "tool", "tool_call_id": "call_test", "content": "21 °C, sunny"})
	picture := []body{{"type": "text", "text": "What is in this picture?"},
		{"type": "image_url", "image_url": body{"url": in.Image}}}
	format := body{"type": "json_schema", "json_schema": body{"name": "invoice", "schema": schema, "strict": true}}
	embed := body{"model": "text-embedding-3-small", "input": []string{"first text", "第二段"}, "dimensions": 64}
	speech := body{"model": "tts-1", "voice": "alloy", "input": "Say this aloud."}
	return map[string][]curlCall{
		"chat":         {chat(nil)},
		"stream":       {chat(body{"stream": true})},
		"stream_usage": {chat(body{"stream": true, "stream_options": body{"include_usage": true}})},
		"tools": {chat(body{"tools": tools}), chat(body{"tools": tools, "stream": true}),
			chat(body{"tools": tools, "messages": result})},
		"structured":    {chat(body{"response_format": format})},
		"embeddings":    {{path: "/embeddings", json: embed}},
		"models":        {{path: "/models"}, {path: "/models/gpt-5"}, {path: "/models/none"}, {path: "/models", flags: []string{"-I"}}},
		"upload":        {{path: "/files", flags: []string{"-F", "purpose=user_data", "-F", "file=@" + in.Upload}}},
		"image":         {chat(body{"messages": []body{{"role": "user", "content": picture}}})},
		"transcription": {{path: "/audio/transcriptions", flags: []string{"-F", "model=whisper-1", "-F", "file=@" + in.Audio}}},
		"speech":        {{path: "/audio/speech", json: speech}},
		"error_401":     {chat(body{"model": "error-401"})},
		"error_429":     {chat(body{"model": "error-429"})},
		"error_500":     {chat(body{"model": "error-500"}), chat(body{"model": "error-500", "stream": true})},
	}
}

func curlCommand(t *testing.T, ctx context.Context, curl, baseURL string, call curlCall) *exec.Cmd {
	t.Helper()
	args := []string{"--disable", "--silent", "--show-error", "--include", "--no-buffer", "--http1.1", "--noproxy", "*",
		"--max-time", "20", "--header", "Authorization: Bearer sk-e2e"}
	if call.json != nil {
		file := filepath.Join(t.TempDir(), "body.json")
		if err := os.WriteFile(file, mustJSON(t, call.json), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--header", "Content-Type: application/json", "--data-binary", "@"+file)
	}
	args = append(append(args, call.flags...), baseURL+call.path)
	return exec.CommandContext(ctx, curl, args...)
}

// answerOf is the status line, the sorted header lines and the body of an
// answer, without what a hop may change and what Strata documents as its own.
func answerOf(raw []byte) []string {
	var head, rest []byte
	for rest = raw; ; {
		head, rest, _ = bytes.Cut(rest, []byte("\r\n\r\n"))
		if !bytes.HasPrefix(head, []byte("HTTP/1.1 1")) {
			break // 100 Continue comes before the answer
		}
	}
	lines := strings.Split(string(head), "\r\n")
	kept := []string{lines[0]}
	for _, line := range lines[1:] {
		name, _, _ := strings.Cut(line, ":")
		name = textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case name == "Connection", name == "Keep-Alive", name == "Server-Timing", strings.HasPrefix(name, "X-Strata-"):
		default:
			kept = append(kept, line)
		}
	}
	slices.Sort(kept[1:])
	return append(kept, string(rest))
}

// curlAbort reads three events and leaves by killing curl.
func curlAbort(t *testing.T, curl, baseURL string) outcome {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := curlCommand(t, ctx, curl, baseURL, curlCall{path: "/chat/completions", json: body{
		"model": abortedModel, "stream": true, "messages": []body{{"role": "user", "content": question}},
	}})
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var read []byte
	for buf := make([]byte, 512); bytes.Count(read, []byte("\n\n")) < 3; {
		n, err := out.Read(buf)
		read = append(read, buf[:n]...)
		if err != nil && (err != io.EOF || n == 0) {
			t.Fatalf("abort: %v after %q", err, read)
		}
	}
	cancel()
	_ = cmd.Wait() // killed, and so always an error
	events := strings.SplitAfterN(answerOf(read)[len(answerOf(read))-1], "\n\n", 4)
	return mustJSON(t, append(answerOf(read)[:1], events[:3]...))
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
