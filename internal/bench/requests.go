package main

import (
	"fmt"
	"strings"
)

const requestSize = 4 << 10 // bytes of a request's body

// httpRequest is a POST as an app's HTTP library sends it, ready to be
// written. headers are further header lines.
func httpRequest(path string, body []byte, headers ...string) []byte {
	var h strings.Builder
	fmt.Fprintf(&h, "POST %s HTTP/1.1\r\nHost: 127.0.0.1:4470\r\nUser-Agent: OpenAI/Python 1.99.1\r\n"+
		"Accept: application/json\r\nAuthorization: Bearer sk-bench-0000000000000000\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n", path, len(body))
	for _, line := range headers {
		h.WriteString(line + "\r\n")
	}
	return append([]byte(h.String()+"\r\n"), body...)
}

func embeddingsRequest() []byte {
	return httpRequest("/v1/embeddings", padded(`{"model":"bench-embedding","encoding_format":"float","input":["`,
		`季度报告的第三章讨论了库存周转。 The third chapter of the quarterly report is about stock turnover. `, `"]}`, requestSize))
}

func chatRequest(headers ...string) []byte {
	return httpRequest("/v1/chat/completions", chatBody("bench", false), headers...)
}

func streamRequest(model string) []byte {
	return httpRequest("/v1/chat/completions", chatBody(model, true))
}

// chatBody is a conversation in English and Chinese: a system prompt, three
// questions with their answers, and a question, requestSize bytes long.
func chatBody(model string, stream bool) []byte {
	return askBody(model, stream, "", polishQuestion)
}

// askBody is chatBody with another question at the end and a first sentence
// for the system prompt. Neither may need escapes.
func askBody(model string, stream bool, first, question string) []byte {
	head := fmt.Sprintf(`{"model":%q,"stream":%t,"temperature":0.3,"messages":[{"role":"system","content":"%s`, model, stream, first)
	return padded(head, systemSentence, `"}`+conversation+`{"role":"user","content":"`+question+`"}],"max_tokens":512}`, requestSize)
}

const systemSentence = `You are the assistant of a mid-sized trading firm; answer briefly and name your sources. 回答要简短，并注明出处。\n`

const conversation = `,
{"role":"user","content":"Can you compare the delivery times of our two carriers for March? A table is fine."},
{"role":"assistant","content":"Here is the comparison for March.\n\n| carrier | median days | late share |\n|---|---|---|\n| North | 2.1 | 4 % |\n| Harbour | 3.4 | 11 % |\n\nHarbour was late mainly in the week of the \"storm warning\"; without it the two are within half a day of each other."},
{"role":"user","content":"那四月份呢？另外把迟到的原因也列出来，按次数排序。"},
{"role":"assistant","content":"四月份两家承运商的差距缩小了：\n\n1. 天气原因：12 次\n2. 报关文件不全：7 次\n3. 仓库装车延误：5 次\n\nNorth 的中位数是 2.0 天，Harbour 是 2.6 天。报关文件的问题都出在 Harbour 的同一条线路上，建议先和他们核对模板。"},
{"role":"user","content":"Draft a short, friendly mail to Harbour about the customs papers. Mention the route, but no figures."},
{"role":"assistant","content":"Subject: Customs papers on the southern route\n\nDear team,\n\nthank you for the steady improvement in April. On the southern route we still see customs papers that miss the consignee's registration, which holds up the trucks at the border. Could we go through the template together this week?\n\nKind regards"},
`

const polishQuestion = `好的，再帮我翻译成中文，语气正式一点，并把标题改得更具体。`
