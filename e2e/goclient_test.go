package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/sashabaranov/go-openai"
	"github.com/sashabaranov/go-openai/jsonschema"
)

const model = "gpt-4o-mini"

// question is what every plain call asks: digits, Chinese, an emoji, and
// characters that encoders like to escape.
const question = "What is 2^53 + 1? 请用中文回答 🙂 <&>"

// goClient is go-openai with the last answer's head kept, since the library
// does not show the head of an error.
type goClient struct {
	*openai.Client
	t    *testing.T
	in   inputs
	last http.Header
}

func (g *goClient) Do(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		g.last = resp.Header
	}
	return resp, err
}

func runGoOpenAI(t *testing.T, baseURL string, in inputs) map[string]outcome {
	g := &goClient{t: t, in: in}
	cfg := openai.DefaultConfig("sk-e2e")
	cfg.BaseURL, cfg.HTTPClient = baseURL, g
	g.Client = openai.NewClientWithConfig(cfg)
	runs := map[string]func() (any, error){
		"chat":          func() (any, error) { return g.CreateChatCompletion(within(t), ask()) },
		"tools":         g.tools,
		"structured":    g.structured,
		"embeddings":    g.embeddings,
		"models":        func() (any, error) { return g.ListModels(within(t)) },
		"upload":        g.upload,
		"image":         g.image,
		"transcription": g.transcription,
		"speech":        g.speech,
		"error_401":     func() (any, error) { return g.failure("error-401") },
		"error_429":     func() (any, error) { return g.failure("error-429") },
		"error_500":     func() (any, error) { return g.failure("error-500") },
		"stream":        func() (any, error) { return g.stream(ask(), -1) },
		"stream_usage":  g.streamUsage,
		"abort":         g.abort,
	}
	outcomes := make(map[string]outcome)
	for _, name := range scenarios {
		outcomes[name] = g.outcome(name, runs[name])
	}
	return outcomes
}

// outcome runs one scenario. A failure of the call is part of what is compared
// only where the scenario says so.
func (g *goClient) outcome(name string, run func() (any, error)) outcome {
	g.t.Helper()
	v, err := run()
	if err != nil {
		g.t.Fatalf("%s: %v", name, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		g.t.Fatal(err)
	}
	return b
}

func ask(more ...openai.ChatCompletionMessage) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{Model: model, Messages: append([]openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: "Be brief."},
		{Role: openai.ChatMessageRoleUser, Content: question},
	}, more...)}
}

// stream reads limit chunks and closes, or all of them when limit is below 0.
func (g *goClient) stream(req openai.ChatCompletionRequest, limit int) (any, error) {
	req.Stream = true
	stream, err := g.CreateChatCompletionStream(within(g.t), req)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var chunks []openai.ChatCompletionStreamResponse
	for len(chunks) != limit {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, chunk)
	}
	return chunks, nil
}

func (g *goClient) streamUsage() (any, error) {
	req := ask()
	req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	return g.stream(req, -1)
}

func (g *goClient) abort() (any, error) {
	req := ask()
	req.Model = abortedModel
	return g.stream(req, 3)
}

func (g *goClient) tools() (any, error) {
	tools := []openai.Tool{{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
		Name: "get_weather",
		Parameters: jsonschema.Definition{Type: jsonschema.Object, Properties: map[string]jsonschema.Definition{
			"city": {Type: jsonschema.String}, "days": {Type: jsonschema.Integer},
		}},
	}}}
	req := ask()
	req.Tools = tools
	first, err := g.CreateChatCompletion(within(g.t), req)
	if err != nil {
		return nil, err
	}
	streamed, err := g.stream(req, -1)
	if err != nil {
		return nil, err
	}
	message := first.Choices[0].Message
	req = ask(message, openai.ChatCompletionMessage{
		Role: openai.ChatMessageRoleTool, ToolCallID: message.ToolCalls[0].ID, Content: "21 °C, sunny",
	})
	req.Tools = tools
	second, err := g.CreateChatCompletion(within(g.t), req)
	return []any{first, streamed, second}, err
}

func (g *goClient) structured() (any, error) {
	var invoice struct {
		Customer string   `json:"customer"`
		Items    []string `json:"items"`
		Paid     bool     `json:"paid"`
	}
	schema, err := jsonschema.GenerateSchemaForType(invoice)
	if err != nil {
		return nil, err
	}
	req := ask()
	req.ResponseFormat = &openai.ChatCompletionResponseFormat{
		Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
		JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "invoice", Schema: schema, Strict: true},
	}
	answer, err := g.CreateChatCompletion(within(g.t), req)
	if err != nil {
		return nil, err
	}
	return invoice, json.Unmarshal([]byte(answer.Choices[0].Message.Content), &invoice)
}

func (g *goClient) embeddings() (any, error) {
	return g.CreateEmbeddings(within(g.t), openai.EmbeddingRequest{
		Input: []string{"first text", "第二段"}, Model: openai.SmallEmbedding3, Dimensions: 64,
		EncodingFormat: openai.EmbeddingEncodingFormatFloat,
	})
}

func (g *goClient) upload() (any, error) {
	return g.CreateFile(within(g.t), openai.FileRequest{
		FileName: "notes.jsonl", FilePath: g.in.Upload, Purpose: "user_data",
	})
}

func (g *goClient) image() (any, error) {
	return g.CreateChatCompletion(within(g.t), openai.ChatCompletionRequest{
		Model: model,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, MultiContent: []openai.ChatMessagePart{
			{Type: openai.ChatMessagePartTypeText, Text: "What is in this picture?"},
			{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: g.in.Image}},
		}}},
	})
}

func (g *goClient) transcription() (any, error) {
	return g.CreateTranscription(within(g.t), openai.AudioRequest{Model: openai.Whisper1, FilePath: g.in.Audio})
}

func (g *goClient) speech() (any, error) {
	answer, err := g.CreateSpeech(within(g.t), openai.CreateSpeechRequest{
		Model: openai.TTSModel1, Voice: openai.VoiceAlloy, Input: "Say this aloud.",
	})
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	audio, err := io.ReadAll(answer)
	sum := sha256.Sum256(audio)
	return []string{answer.Header().Get("Content-Type"), hex.EncodeToString(sum[:])}, err
}

func (g *goClient) failure(model string) (any, error) {
	req := ask()
	req.Model = model
	_, err := g.CreateChatCompletion(within(g.t), req)
	e, ok := errors.AsType[*openai.APIError](err)
	if !ok {
		return nil, err
	}
	return []any{e, e.HTTPStatus, e.HTTPStatusCode, g.last.Get("Retry-After"), g.last.Get("X-Request-Id")}, nil
}
