package upstreamtest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"math"
	"strings"
	"unicode"
)

const (
	defaultDims = 1536
	maxDims     = 4096
)

func embeddings(body []byte) (*Script, error) {
	var req struct {
		Model          string          `json:"model"`
		Input          json.RawMessage `json:"input"`
		EncodingFormat string          `json:"encoding_format"`
		Dimensions     int             `json:"dimensions"`
	}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	texts, err := inputs(req.Input)
	if err != nil {
		return nil, err
	}
	dims := defaultDims
	if req.Dimensions != 0 {
		dims = req.Dimensions
	}
	if dims < 1 || dims > maxDims {
		return nil, invalid("'dimensions' is out of range.")
	}
	tokens := 0
	data := make([]object, 0, len(texts))
	for i, text := range texts {
		tokens += tokenCount(text)
		var vector any = Embedding(text, dims)
		if req.EncodingFormat == "base64" {
			vector = packed(Embedding(text, dims))
		}
		data = append(data, object{"object": "embedding", "index": i, "embedding": vector})
	}
	return JSON(200, encode(object{
		"object": "list", "data": data, "model": req.Model,
		"usage": object{"prompt_tokens": tokens, "total_tokens": tokens},
	})), nil
}

// inputs reads the four shapes of an embedding input; token lists become text.
func inputs(raw json.RawMessage) ([]string, error) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var many []string
	if json.Unmarshal(raw, &many) == nil && len(many) > 0 {
		return many, nil
	}
	var tokens []int
	if json.Unmarshal(raw, &tokens) == nil && len(tokens) > 0 {
		return []string{string(raw)}, nil
	}
	var lists [][]int
	if json.Unmarshal(raw, &lists) == nil && len(lists) > 0 {
		for _, l := range lists {
			many = append(many, string(encode(l)))
		}
		return many, nil
	}
	return nil, invalid("'input' must be a string, a list of strings or a list of tokens.")
}

// Embedding is the vector that the OpenAI handler answers for text: unit
// length, and the nearer to another one the more words (of Han text: pairs of
// characters) the two texts share.
func Embedding(text string, dims int) []float32 {
	sums := make([]float64, dims)
	for _, term := range terms(text) {
		h := fnv.New64a()
		h.Write([]byte(term))
		bits := h.Sum64()
		for range 4 { // four places a term: collisions then rarely matter
			sign := 1.0
			if bits&1 == 1 {
				sign = -1
			}
			sums[int((bits>>1)%uint64(dims))] += sign
			bits = bits*6364136223846793005 + 1442695040888963407
		}
	}
	norm := 0.0
	for _, v := range sums {
		norm += v * v
	}
	out := make([]float32, dims)
	if norm == 0 {
		out[0] = 1
		return out
	}
	for i, v := range sums {
		out[i] = float32(v / math.Sqrt(norm))
	}
	return out
}

// terms are the lower-case words of a text and the pairs of its Han characters.
func terms(text string) []string {
	var out []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			out = append(out, word.String())
			word.Reset()
		}
	}
	var before rune
	for _, c := range text {
		han := unicode.Is(unicode.Han, c)
		switch {
		case han:
			flush()
			out = append(out, string(c))
			if before != 0 {
				out = append(out, string([]rune{before, c}))
			}
		case unicode.IsLetter(c) || unicode.IsDigit(c):
			word.WriteRune(unicode.ToLower(c))
		default:
			flush()
		}
		before = 0
		if han {
			before = c
		}
	}
	flush()
	return out
}

// packed is a vector as the API sends it in base64: little-endian float32.
func packed(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return base64.StdEncoding.EncodeToString(b)
}
