package intenteval

import "strata/intent"

var labels = []intent.Intent{intent.Chat, intent.RAG, intent.Data}

// confusion counts said by gold.
type confusion map[[2]intent.Intent]int

// tally holds one confusion a part of the rows.
type tally map[string]confusion

func newTally() tally { return tally{} }

func (t tally) add(gold, said intent.Intent, parts ...string) {
	for _, p := range parts {
		if t[p] == nil {
			t[p] = confusion{}
		}
		t[p][[2]intent.Intent{gold, said}]++
	}
}

func (t tally) figures() map[string]Figures {
	out := map[string]Figures{}
	for part, c := range t {
		out[part] = c.figures()
	}
	return out
}

// figures averages F1 over the labels that the rows have: a label that is only
// said costs precision elsewhere, and has no F1 of its own.
func (c confusion) figures() Figures {
	var f Figures
	right, classes := 0, 0
	for _, n := range c {
		f.N += n
	}
	for _, l := range labels {
		hit, gold, said := c[[2]intent.Intent{l, l}], 0, 0
		for _, other := range labels {
			gold += c[[2]intent.Intent{l, other}]
			said += c[[2]intent.Intent{other, l}]
		}
		right += hit
		if gold == 0 {
			continue
		}
		classes++
		f.MacroF1 += 2 * float64(hit) / float64(gold+said)
	}
	if f.N > 0 {
		f.Accuracy = float64(right) / float64(f.N)
		f.MacroF1 /= float64(classes)
	}
	return f
}

// table is the confusion with every cell, also the empty ones.
func (c confusion) table() map[intent.Intent]map[intent.Intent]int {
	out := map[intent.Intent]map[intent.Intent]int{}
	for _, gold := range labels {
		out[gold] = map[intent.Intent]int{}
		for _, said := range labels {
			out[gold][said] = c[[2]intent.Intent{gold, said}]
		}
	}
	return out
}
