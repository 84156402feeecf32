package upstreamtest

import (
	"cmp"
	"slices"
)

// rerank scores documents, or texts, by how much of the question's Embedding
// is in theirs, best first, in the shape that belongs to the request: Cohere's
// and Jina's for documents, that of Text Embeddings Inference for texts.
func rerank(body []byte) (*Script, error) {
	var req struct {
		Query     string   `json:"query"`
		Documents []string `json:"documents"`
		Texts     []string `json:"texts"`
	}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	if len(req.Documents)+len(req.Texts) == 0 || len(req.Documents)*len(req.Texts) != 0 {
		return nil, invalid("Either 'documents' or 'texts' must be a list of strings.")
	}
	type scored struct {
		index int
		score float64
	}
	var all []scored
	for i, text := range append(req.Documents, req.Texts...) {
		all = append(all, scored{i, Likeness(req.Query, text)})
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	list, name := make([]object, len(all)), "relevance_score"
	if req.Texts != nil {
		name = "score"
	}
	for i, s := range all {
		list[i] = object{"index": s.index, name: s.score}
	}
	if req.Texts != nil {
		return JSON(200, encode(list)), nil
	}
	return JSON(200, encode(object{"id": "rerank-test", "results": list})), nil
}

// Likeness is the score that the OpenAI handler gives a text for a question:
// the cosine of their Embeddings, from -1 to 1.
func Likeness(question, text string) float64 {
	a, b := Embedding(question, defaultDims), Embedding(text, defaultDims)
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
