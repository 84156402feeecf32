package upstreamtest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
)

// Ids and times never change, so that two equal requests get equal bytes.
const (
	created = 1700000000
	chatID  = "chatcmpl-test"
)

// maxUnpacked bounds a gzip request body, in bytes.
const maxUnpacked = 128 << 20

// models are what /v1/models lists. A chat with a model named error-401,
// error-429 or error-500 is answered with that error; any other name is served.
var models = []string{"gpt-4o-mini", "gpt-5", "text-embedding-3-small", "error-401", "error-429", "error-500"}

// OpenAI answers like a small OpenAI API: models, chat completions (streams,
// tools, JSON schema, n), completions, embeddings, files, audio, images and
// responses; and like a reranker, at rerank of a version and at /rerank. Every answer is a function of the request alone.
func OpenAI() Handler {
	return func(r *Request) *Script {
		if r.Method == http.MethodOptions {
			return signed(Respond(http.StatusNoContent).Header("Allow", "GET, POST, DELETE, OPTIONS"))
		}
		s, err := route(r)
		if err != nil {
			return signed(errorScript(err))
		}
		return signed(s)
	}
}

// signed adds the headers that every answer of the API carries.
func signed(s *Script) *Script {
	return s.HeaderLines("x-request-id: req_test", "openai-version: 2020-10-01", "openai-processing-ms: 1")
}

// apiError is an error in the shape of the API.
type apiError struct {
	status  int
	headers []string
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (e *apiError) Error() string { return e.Message }

func invalid(message string) *apiError {
	return &apiError{status: http.StatusBadRequest, Message: message, Type: "invalid_request_error"}
}

func notFound(r *Request) *apiError {
	e := invalid("Invalid URL (" + r.Method + " " + r.Path() + ")")
	e.status = http.StatusNotFound
	return e
}

func errorScript(err error) *Script {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		e = invalid(err.Error())
	}
	body := encode(struct {
		Error *apiError `json:"error"`
	}{e})
	return JSON(e.status, body).HeaderLines(e.headers...)
}

// modelError is the error that a model name asks for, or nil.
func modelError(model string) error {
	code := func(c string) *string { return &c }
	switch model {
	case "error-401":
		return &apiError{status: 401, Message: "Incorrect API key provided: test.",
			Type: "invalid_request_error", Code: code("invalid_api_key")}
	case "error-429":
		return &apiError{status: 429, Message: "Rate limit reached for error-429.",
			Type: "requests", Code: code("rate_limit_exceeded"),
			headers: []string{
				"Retry-After: 1", "retry-after-ms: 20",
				"x-ratelimit-limit-requests: 60", "x-ratelimit-remaining-requests: 0",
				"x-ratelimit-reset-requests: 1s", "x-ratelimit-remaining-tokens: 0",
			}}
	case "error-500":
		return &apiError{status: 500, Message: "The server had an error while processing your request.",
			Type: "server_error"}
	}
	return nil
}

// resource is the part of the path after the version, as several providers
// place it; empty when there is none.
func resource(path string) string {
	if _, rest, ok := strings.Cut(path, "/openai/deployments/"); ok {
		_, rest, _ = strings.Cut(rest, "/")
		return rest
	}
	if _, rest, ok := strings.Cut(path, "/v1/"); ok {
		return rest
	}
	if _, rest, ok := strings.Cut(path, "/v2/"); ok {
		return rest
	}
	if strings.HasSuffix(path, "/rerank") {
		return "rerank"
	}
	_, rest, _ := strings.Cut(path, "/v1beta/openai/")
	return rest
}

func route(r *Request) (*Script, error) {
	body, err := plainBody(r)
	if err != nil {
		return nil, err
	}
	name := resource(r.Path())
	kind, id, _ := strings.Cut(name, "/")
	switch {
	case kind == "models" && reads(r):
		return modelList(id)
	case kind == "files" && (reads(r) || r.Method == http.MethodDelete):
		return fileCall(r.Method, id)
	case r.Method != http.MethodPost:
		return nil, notFound(r)
	}
	switch name {
	case "rerank":
		return rerank(body)
	case "chat/completions":
		return chatCompletion(body)
	case "completions":
		return textCompletion(body)
	case "responses":
		return response(body)
	case "embeddings":
		return embeddings(body)
	case "files":
		return upload(r, body)
	case "audio/transcriptions", "audio/translations":
		return transcription(r, body)
	case "audio/speech":
		return speech(body)
	case "images/generations":
		return image(body)
	}
	return nil, notFound(r)
}

func reads(r *Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// plainBody is the body without its content coding.
func plainBody(r *Request) ([]byte, error) {
	switch coding := strings.ToLower(r.Get("Content-Encoding")); coding {
	case "", "identity":
		return r.Body, nil
	case "gzip":
		zr, err := gzip.NewReader(bytes.NewReader(r.Body))
		if err != nil {
			return nil, invalid("The body is not gzip.")
		}
		return io.ReadAll(io.LimitReader(zr, maxUnpacked))
	default:
		return nil, invalid("Unknown content encoding " + coding + ".")
	}
}

// decode reads a JSON request and gives the error that its model asks for.
func decode(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return invalid("We could not parse the JSON body of your request: " + err.Error())
	}
	var named struct {
		Model string `json:"model"`
	}
	// The fields of v are the checked ones: a body without a model is no error.
	_ = json.Unmarshal(body, &named)
	return modelError(named.Model)
}

type object map[string]any

func modelList(id string) (*Script, error) {
	entry := func(id string) object {
		return object{"id": id, "object": "model", "created": created, "owned_by": "upstreamtest"}
	}
	if id == "" {
		list := make([]object, 0, len(models))
		for _, m := range models {
			list = append(list, entry(m))
		}
		return JSON(200, encode(object{"object": "list", "data": list})), nil
	}
	if !slices.Contains(models, id) {
		code := "model_not_found"
		return nil, &apiError{status: 404, Message: "The model '" + id + "' does not exist",
			Type: "invalid_request_error", Code: &code}
	}
	return JSON(200, encode(entry(id))), nil
}

// form reads a multipart body: the plain fields and the part named file.
func form(r *Request, body []byte) (fields map[string]string, filename string, file []byte, err error) {
	media, params, err := mime.ParseMediaType(r.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" {
		return nil, "", nil, invalid("The body must be multipart/form-data.")
	}
	fields = make(map[string]string)
	found := false
	for mr := multipart.NewReader(bytes.NewReader(body), params["boundary"]); ; {
		part, err := mr.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, "", nil, invalid("Could not parse multipart form: " + err.Error())
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return nil, "", nil, invalid("Could not parse multipart form: " + err.Error())
		}
		if part.FormName() == "file" {
			filename, file, found = part.FileName(), content, true
		} else {
			fields[part.FormName()] = string(content)
		}
	}
	if !found {
		return nil, "", nil, invalid("'file' is a required property")
	}
	return fields, filename, file, modelError(fields["model"])
}

func upload(r *Request, body []byte) (*Script, error) {
	fields, name, file, err := form(r, body)
	if err != nil {
		return nil, err
	}
	sum := hexSum(file)
	return JSON(200, encode(object{
		"id": "file-" + sum[:24], "object": "file", "bytes": len(file), "created_at": created,
		"filename": name, "purpose": fields["purpose"], "status": "processed", "sha256": sum,
	})), nil
}

// fileCall answers the calls about files; nothing is kept, so every id exists.
func fileCall(method, id string) (*Script, error) {
	switch {
	case id == "" && method == http.MethodDelete:
		return nil, invalid("Missing file id.")
	case id == "":
		return JSON(200, encode(object{"object": "list", "data": []object{}, "has_more": false})), nil
	case method == http.MethodDelete:
		return JSON(200, encode(object{"id": id, "object": "file", "deleted": true})), nil
	case strings.HasSuffix(id, "/content"):
		return Respond(200).Header("Content-Type", "application/octet-stream").Write(binaryBytes(id)), nil
	}
	return JSON(200, encode(object{
		"id": id, "object": "file", "bytes": 0, "created_at": created,
		"filename": "test", "purpose": "assistants", "status": "processed",
	})), nil
}

func transcription(r *Request, body []byte) (*Script, error) {
	fields, _, file, err := form(r, body)
	if err != nil {
		return nil, err
	}
	text := "sha256:" + hexSum(file)
	if fields["response_format"] == "text" {
		return Respond(200).Header("Content-Type", "text/plain; charset=utf-8").WriteString(text + "\n"), nil
	}
	return JSON(200, encode(object{"text": text})), nil
}

func speech(body []byte) (*Script, error) {
	var req struct {
		Input string `json:"input"`
	}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	audio := binaryBytes(req.Input)
	half := len(audio) / 2
	return Respond(200).Header("Content-Type", "audio/mpeg").Frame(Chunked).
		Write(audio[:half]).Write(audio[half:]), nil
}

// binaryBytes are 4,096 bytes that follow from seed and hold every byte value.
func binaryBytes(seed string) []byte {
	sum := sha256.Sum256([]byte(seed))
	out := make([]byte, 4096)
	for i := range out {
		out[i] = byte(i) ^ sum[i/256]
	}
	return out
}

// pixel is a transparent PNG of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

func image(body []byte) (*Script, error) {
	var req struct {
		Prompt string `json:"prompt"`
		N      int    `json:"n"`
	}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	data := make([]object, 0, 1)
	for range max(1, req.N) {
		data = append(data, object{"b64_json": pixel, "revised_prompt": req.Prompt})
	}
	return JSON(200, encode(object{"created": created, "data": data})), nil
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
