package llm

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrOther is the error of calls that another model has answered than those
// before, as its dimensions, its name or a Proof tell.
var ErrOther = errors.New("llm: another model answered than before")

// Proof is a text that goes along with others, and what tells by its vector
// whether the model is the one that is meant. A server may have another one
// since the last call, or several behind one address.
type Proof struct {
	Text  string
	Holds func(vector []float32) bool
}

// EmbedProven is EmbedAll whose vectors are all of the model that proof is
// about: its text is in each call, so what one answer holds is of one model. An
// API that takes a single text a call is asked for it by the next call. Its
// error is ErrOther where another model answers.
func (e *Embedder) EmbedProven(ctx context.Context, texts []string, proof Proof) ([][]float32, error) {
	return e.all(ctx, texts, &proof)
}

// proven is ask with the text of a proof, if there is one, among those of the
// call.
func (e *Embedder) proven(ctx context.Context, texts []string, proof *Proof) ([][]float32, error) {
	if proof == nil {
		return e.learn(e.ask(ctx, texts))
	}
	if len(texts) == 1 && e.single.Load() {
		return e.provenNext(ctx, texts, proof)
	}
	vectors, err := e.learn(e.ask(ctx, append(slices.Clip(texts), proof.Text)))
	if err != nil {
		// One text may be too long, or two be too many.
		if len(texts) > 1 || !tooMuch(err) {
			return nil, err
		}
		if vectors, err = e.provenNext(ctx, texts, proof); err == nil {
			e.single.Store(true)
		}
		return vectors, err
	}
	if !proof.Holds(vectors[len(texts)]) {
		return nil, ErrOther
	}
	return vectors[:len(texts)], nil
}

// provenNext asks for the proof in the next call.
func (e *Embedder) provenNext(ctx context.Context, texts []string, proof *Proof) ([][]float32, error) {
	vectors, err := e.learn(e.ask(ctx, texts))
	if err != nil {
		return nil, err
	}
	next, err := e.learn(e.ask(ctx, []string{proof.Text}))
	if err == nil && !proof.Holds(next[0]) {
		err = ErrOther
	}
	return vectors, err
}

// learn takes down that an answer's name is one of the model's. What is asked
// by EmbedAll is judged by its vectors, so its name is believed.
func (e *Embedder) learn(vectors [][]float32, name string, err error) ([][]float32, error) {
	if err == nil {
		e.names.learn(name)
	}
	return vectors, err
}

// maxNames is how many names an API may have for its model. One that has more
// says nothing by them.
const maxNames = 8

// names are what an API has called its model in its answers: some say which
// of several servers has answered.
type names struct {
	mu    sync.Mutex
	known []string
}

func (n *names) learn(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name != "" && len(n.known) <= maxNames && !slices.Contains(n.known, name) {
		n.known = append(n.known, name)
	}
}

// knows tells whether a name is nothing new. The first one is learned.
func (n *names) knows(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name != "" && len(n.known) == 0 {
		n.known = append(n.known, name)
	}
	return name == "" || len(n.known) > maxNames || slices.Contains(n.known, name)
}
