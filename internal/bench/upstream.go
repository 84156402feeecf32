package main

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"strata/internal/upstreamtest"
)

const (
	answerSize   = 1 << 10 // bytes of a whole JSON answer
	streamChunks = 20      // stamped chunks of a stream
	chunkGap     = 5 * time.Millisecond

	// modelHeld asks for a stream that stays silent after its first chunk until
	// the client leaves.
	modelHeld = "bench-held"

	// Every chunk carries the time it was sent, in nanoseconds since 1970.
	stampMark   = `"sent_ns":`
	stampDigits = 19
)

// upstreamHandler answers embeddings and chats with fixed JSON and streams
// with stamped chunks.
func upstreamHandler() upstreamtest.Handler {
	jsonType := []string{"Content-Type: application/json"}
	chat := upstreamtest.Static(200, jsonType, chatAnswer())
	embeddings := upstreamtest.Static(200, jsonType, embeddingsAnswer())
	return func(r *upstreamtest.Request) *upstreamtest.Script {
		// The requests name model and stream first, so their start is enough.
		start := r.Body[:min(len(r.Body), 64)]
		switch {
		case bytes.Contains(start, []byte(modelHeld)):
			return heldStream()
		case bytes.Contains(start, []byte(`"stream":true`)):
			return stampedStream(streamChunks, chunkGap)
		case strings.HasSuffix(r.Path(), "/embeddings"):
			return embeddings(r)
		}
		return chat(r)
	}
}

// stampedStream is a stream of n chunks with gap between two of them, its end
// marker right behind the last. Each chunk is stamped just before its write.
func stampedStream(n int, gap time.Duration) *upstreamtest.Script {
	s := upstreamtest.Stream()
	for i := range n {
		if i > 0 {
			s.Pause(gap)
		}
		addStamped(s)
	}
	return s.WriteString("data: [DONE]\n\n")
}

func heldStream() *upstreamtest.Script {
	s := upstreamtest.Stream()
	addStamped(s)
	return s.Silence()
}

const chunkTemplate = `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,` +
	`"model":"bench",` + stampMark + `0000000000000000000,"choices":[{"index":0,"delta":{"content":"上下文 and memory "},` +
	`"finish_reason":null}]}` + "\n\n"

func addStamped(s *upstreamtest.Script) {
	chunk := []byte(chunkTemplate)
	at := strings.Index(chunkTemplate, stampMark) + len(stampMark)
	s.Do(func() { strconv.AppendInt(chunk[:at], time.Now().UnixNano(), 10) }).Write(chunk)
}

func chatAnswer() []byte {
	return padded(`{"id":"chatcmpl-bench","object":"chat.completion","created":1700000000,"model":"bench",`+
		`"choices":[{"index":0,"message":{"role":"assistant","content":"`,
		`A proxy adds little when it only reads what it must. 只读必要的部分，其余原样转发。 `,
		`"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1100,"completion_tokens":190,"total_tokens":1290}}`, answerSize)
}

func embeddingsAnswer() []byte {
	return padded(`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.0123`,
		`,-0.0456,0.0789,0.0012`,
		`]}],"model":"bench-embedding","usage":{"prompt_tokens":900,"total_tokens":900}}`, answerSize)
}

// padded repeats filler between head and tail as often as fits into size bytes
// and makes up the rest with spaces behind it, where JSON allows them.
func padded(head, filler, tail string, size int) []byte {
	room := size - len(head) - len(tail)
	times := max(room/len(filler), 0)
	b := slices.Concat([]byte(head), bytes.Repeat([]byte(filler), times), []byte(tail))
	return append(b, bytes.Repeat([]byte(" "), max(size-len(b), 0))...)
}
