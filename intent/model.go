package intent

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
)

// The trained stage is a linear model over what the rules see (cues by their
// place, rules that speak, sizes) and over hashed words, pairs of words and
// runs of characters. train is the program that makes its weights.

//go:embed weights.bin
var weightsFile []byte

const (
	placesOfCues = 4 // anywhere, opening, start, pasted
	denseCues    = placesOfCues * 128
	denseRules   = denseCues
	denseSums    = denseRules + 128
	denseSizes   = denseSums + 3
	sizeSteps    = 8
	denseCount   = denseSizes + 2*sizeSteps

	leanSizes = 4
	leanKinds = 3 * leanSizes
)

// Weights are a trained model as train hands it over.
type Weights struct {
	Grams  [][3]float32 // by place
	Dense  [][3]float32 // by feature
	Bias   [3]float32
	Lean   [leanKinds]float32 // how far the turn before counts, by Sample.Lean
	Own    [leanKinds]float32 // how far the message itself counts then
	Spread float32            // divides what is summed, so that probabilities come true
}

// Feature is one of those that are not hashed.
type Feature struct {
	At    int
	Value float32
}

// Sample is what the model sees of one message.
type Sample struct {
	Dense []Feature
	Grams []uint32
	Lean  int // how much the message rests on the turn before, by its words and size
}

// Sizes are how many grams and features there are.
func Sizes() (gramPlaces, features, leans int) { return 1 << gramBits, denseCount, leanKinds }

// Sample reads a message as the model does.
func (c *Classifier) Sample(text string) Sample {
	var g grams
	r, s := c.judge(text, &g)
	out := Sample{Grams: g.at, Lean: leanKind(leanOf(&r, &s, true), &r)}
	c.dense(&r, &s, func(at int, v float32) { out.Dense = append(out.Dense, Feature{at, v}) })
	return out
}

// dense names the features of a reading.
func (c *Classifier) dense(r *reading, s *scores, visit func(at int, v float32)) {
	for place, m := range [placesOfCues]*mask{&r.any, &r.clause, &r.first, &r.material} {
		m.each(func(k int) { visit(place*128+k, 1) })
	}
	s.said.each(func(i int) { visit(denseRules+i, 1) })
	for i, sum := range s.sum {
		visit(denseSums+i, sum/4)
	}
	visit(denseSizes+step(r.latin), 1)
	visit(denseSizes+sizeSteps+step(r.han), 1)
}

// step is n on a scale of doublings.
func step(n int) int {
	k := 0
	for ; n > 0 && k < sizeSteps-1; n >>= 1 {
		k++
	}
	return k
}

// leanKind joins how a message leans with how short it is.
func leanKind(l lean, r *reading) int {
	size, k := r.latin+r.han/2, 0
	switch {
	case size <= 2:
	case size <= 5:
		k = 1
	case size <= 12:
		k = 2
	default:
		k = 3
	}
	return int(l)*leanSizes + k
}

// model is Weights as they are used: of hashed words one byte each.
type model struct {
	grams  [][3]int8
	unit   float32 // of a step of grams
	dense  [][3]float32
	bias   [3]float32
	lean   [leanKinds]float32
	alone  [leanKinds]float32
	spread float32
}

const weightsVersion = 1

// Encode writes the weights as the package embeds them. mark ties them to the
// tables that they were trained with.
func (w *Weights) Encode(mark uint64) []byte {
	top := float32(0)
	for _, g := range w.Grams {
		for _, v := range g {
			top = max(top, v, -v)
		}
	}
	b := binary.LittleEndian.AppendUint64(nil, mark)
	b = binary.LittleEndian.AppendUint32(b, weightsVersion)
	put := func(v float32) { b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v)) }
	put(w.Spread)
	put(top / 127)
	for i := range w.Lean {
		put(w.Lean[i])
		put(w.Own[i])
	}
	for _, v := range w.Bias {
		put(v)
	}
	for _, d := range w.Dense {
		for _, v := range d {
			put(v)
		}
	}
	for _, g := range w.Grams {
		for _, v := range g {
			b = append(b, byte(int8(math.RoundToEven(float64(v/top)*127))))
		}
	}
	return b
}

// decode reads what Encode wrote.
func decode(b []byte, mark uint64) (*model, error) {
	const head = 8 + 4 + 4*(2+2*leanKinds+3+3*denseCount)
	if len(b) != head+3<<gramBits || binary.LittleEndian.Uint32(b[8:]) != weightsVersion {
		return nil, fmt.Errorf("intent: weights of %d bytes are of another version", len(b))
	}
	if binary.LittleEndian.Uint64(b) != mark {
		return nil, fmt.Errorf("intent: the weights were trained with other cues or rules")
	}
	m := &model{dense: make([][3]float32, denseCount), grams: make([][3]int8, 1<<gramBits)}
	at := 12
	get := func() float32 {
		v := math.Float32frombits(binary.LittleEndian.Uint32(b[at:]))
		at += 4
		return v
	}
	m.spread, m.unit = get(), get()
	for i := range m.lean {
		m.lean[i], m.alone[i] = get(), get()
	}
	for i := range m.bias {
		m.bias[i] = get()
	}
	for i := range m.dense {
		m.dense[i] = [3]float32{get(), get(), get()}
	}
	for i := range m.grams {
		m.grams[i] = [3]int8{int8(b[at]), int8(b[at+1]), int8(b[at+2])}
		at += 3
	}
	return m, nil
}

// Mark tells the tables of cues and rules from any others.
func (c *Classifier) Mark() uint64 {
	h := fnv.New64a()
	for _, table := range [][]words{english, chinese, life} {
		for _, w := range table {
			fmt.Fprintln(h, w.cue, w.phrases)
		}
	}
	for _, r := range rules {
		fmt.Fprintln(h, r)
	}
	return h.Sum64()
}

// own weighs one message by itself.
func (c *Classifier) own(r *reading, s *scores, g *grams) (sum [3]float32) {
	m := c.model
	var words [3]int32
	for _, at := range g.at {
		w := &m.grams[at]
		words[0] += int32(w[0])
		words[1] += int32(w[1])
		words[2] += int32(w[2])
	}
	scale := m.unit / float32(math.Sqrt(float64(max(1, len(g.at)))))
	for i := range sum {
		sum[i] = m.bias[i] + float32(words[i])*scale
	}
	c.dense(r, s, func(at int, v float32) {
		w := &m.dense[at]
		for i := range sum {
			sum[i] += w[i] * v
		}
	})
	for i := range sum {
		sum[i] /= m.spread
	}
	return sum
}

// LeanOn adds what the turns before say to what a message says itself, each
// as far as it counts.
func LeanOn(before, sum [3]float32, lean, own float32) [3]float32 {
	for i := range sum {
		sum[i] = own*sum[i] + lean*before[i]
	}
	return sum
}

// Softmax makes probabilities of sums.
func Softmax(sum [3]float32) (p [3]float64) {
	top := max(sum[0], sum[1], sum[2])
	total := 0.0
	for i, v := range sum {
		p[i] = math.Exp(float64(v - top))
		total += p[i]
	}
	for i := range p {
		p[i] /= total
	}
	return p
}

// OwnWords begins a reason that holds words of the message.
const OwnWords = "words "

// most is how many reasons a verdict tells.
const most = 4

// reasons are what weighed most for an intent, in the message itself.
func (c *Classifier) reasons(to int, r *reading, s *scores, g *grams) []Reason {
	type candidate struct {
		weight float32
		at     int // of a gram, or -1 - feature
	}
	var top [most]candidate
	offer := func(weight float32, at int) {
		if weight <= top[most-1].weight {
			return
		}
		for i := range top {
			if at >= 0 && top[i].at >= 0 && top[i].weight >= weight && g.within(at, top[i].at) {
				return // a part of what was named
			}
			if weight > top[i].weight {
				copy(top[i+1:], top[i:])
				top[i] = candidate{weight, at}
				return
			}
		}
	}
	m := c.model
	scale := m.unit / float32(math.Sqrt(float64(max(1, len(g.at))))) / m.spread
	for k, at := range g.at {
		w := &m.grams[at]
		if lead := 3*int(w[to]) - int(w[0]) - int(w[1]) - int(w[2]); lead > 0 {
			offer(float32(lead)/3*scale, k)
		}
	}
	c.dense(r, s, func(at int, v float32) {
		w := &m.dense[at]
		if featureNamed(at) {
			offer((w[to]-(w[0]+w[1]+w[2])/3)*v/m.spread, -1-at)
		}
	})
	var out []Reason
	for _, t := range top {
		if t.weight < .05 {
			break
		}
		what := ""
		if t.at < 0 {
			what = c.featureName(-1 - t.at)
		} else {
			sp := g.spans[t.at]
			what = OwnWords + string(g.text[sp.from:sp.to])
		}
		out = append(out, Reason{what, math.Round(float64(t.weight)*100) / 100})
	}
	return out
}

// within tells whether gram a stands inside of gram b.
func (g *grams) within(a, b int) bool {
	return g.spans[a].from >= g.spans[b].from && g.spans[a].to <= g.spans[b].to
}

func featureNamed(at int) bool { return at < denseSums }

var placeNames = [placesOfCues]string{"", " first in a clause", " at the start", " in pasted text"}

// featureName is a feature in words.
func (c *Classifier) featureName(at int) string {
	if at >= denseRules {
		return "rule " + c.rules[at-denseRules].name
	}
	return "cue " + cueNames[at%128] + placeNames[at/128]
}
