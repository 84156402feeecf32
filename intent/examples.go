package intent

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Example is a message whose intent somebody has named.
type Example struct {
	ID     string // by which a verdict names it; "" = by its text
	Text   string
	Intent Intent
}

// Config is what an operator adds to the classifier's own knowledge.
type Config struct {
	Keywords map[Intent][]string         // a message that holds one is of the intent
	Patterns map[Intent][]*regexp.Regexp // the same; they see the text as it was written
	Examples []Example                   // messages like these are of the intent
}

const (
	likeEnough = .72 // of the words and neighbours that a message shares with an example
	likeLead   = .05 // over the best example of another intent
	// patternSize is how much of a message patterns see, in bytes.
	patternSize = 4 << 10
)

// Examples are messages whose intent is known, ready to be compared with. They
// are never changed.
type Examples struct {
	list  []Example
	size  []float32          // grams of each, the square root of
	holds map[uint32][]int32 // examples that hold a gram
}

// Examples prepares examples. Those without words are left out.
func (c *Classifier) Examples(list []Example) *Examples {
	e := &Examples{holds: map[uint32][]int32{}}
	g := takeGrams()
	defer g.giveBack()
	for _, x := range list {
		c.read(x.Text, g)
		places := g.places()
		if _, ok := indexOf(x.Intent); !ok || len(places) == 0 {
			continue
		}
		for _, at := range places {
			e.holds[at] = append(e.holds[at], int32(len(e.list)))
		}
		e.list = append(e.list, x)
		e.size = append(e.size, root(len(places)))
	}
	return e
}

// places are the grams of a message, each once, in order.
func (g *grams) places() []uint32 {
	p := slices.Clone(g.at)
	slices.Sort(p)
	return slices.Compact(p)
}

func root(n int) float32 { return float32(math.Sqrt(float64(n))) }

// nearest returns the example that is most like a message, if it is like
// enough and clearly more so than one of another intent.
func (e *Examples) nearest(g *grams) (x Example, like float64, ok bool) {
	if e == nil || len(e.list) == 0 {
		return x, 0, false
	}
	places := g.places()
	shared := map[int32]float32{}
	for _, at := range places {
		for _, i := range e.holds[at] {
			shared[i]++
		}
	}
	own := root(len(places))
	best, other := int32(-1), float32(0)
	of := func(i int32) float32 { return shared[i] / (own * e.size[i]) }
	for i := range shared {
		if best < 0 || of(i) > of(best) || of(i) == of(best) && i > best { // of equals the later one
			best = i
		}
	}
	if best < 0 || of(best) < likeEnough {
		return x, 0, false
	}
	for i := range shared {
		if e.list[i].Intent != e.list[best].Intent {
			other = max(other, of(i))
		}
	}
	// Of two that say the same of the same words the later one holds.
	if of(best)-other < likeLead && other < of(best) {
		return x, 0, false
	}
	return e.list[best], float64(min(of(best), 1)), true
}

// wishes are Config as the classifier uses it.
type wishes struct {
	keywords []keyword // longest first
	patterns []pattern
	examples *Examples
}

type keyword struct {
	text   string // normalized
	told   string // as it was written
	intent int
}

type pattern struct {
	*regexp.Regexp
	intent int
}

// With returns a classifier that also knows what cfg says. An error names the
// key.
func (c *Classifier) With(cfg Config) (*Classifier, error) {
	w := &wishes{examples: c.Examples(cfg.Examples)}
	told := map[string]int{}
	for at, name := range intents {
		for _, k := range cfg.Keywords[name] {
			text := c.normal(k)
			if text == "" {
				return nil, fmt.Errorf("intent.keywords.%s: %q holds no word", name, k)
			}
			if before, twice := told[text]; twice && before != at {
				return nil, fmt.Errorf("intent.keywords.%s: %q is also one of %s", name, k, intents[before])
			}
			told[text] = at
			w.keywords = append(w.keywords, keyword{text, k, at})
		}
		for _, p := range cfg.Patterns[name] {
			w.patterns = append(w.patterns, pattern{p, at})
		}
	}
	slices.SortStableFunc(w.keywords, func(a, b keyword) int { return len(b.text) - len(a.text) })
	out := *c
	out.wishes = w
	return &out, nil
}

// normal is a text as the reader sees it, without outer space.
func (c *Classifier) normal(text string) string {
	var buf [textSize]byte
	n := normalizer{r: new(reading), characters: c.characters}
	return strings.TrimSpace(string(n.whole(buf[:0], text)))
}

// told returns what somebody has said of such a message: the tenant's examples
// before the operator's patterns, keywords and examples.
func (c *Classifier) told(text string, g *grams, tenant *Examples) (to int, like float64, rule string, ok bool) {
	if x, like, ok := tenant.nearest(g); ok {
		to, _ := indexOf(x.Intent)
		return to, like, x.name(), true
	}
	w := c.wishes
	if w == nil {
		return 0, 0, "", false
	}
	for _, p := range w.patterns {
		if p.MatchString(text[:boundary(text, patternSize)]) {
			return p.intent, 1, "pattern " + quoted(p.String()), true
		}
	}
	for _, k := range w.keywords {
		if holdsWord(g.text, k.text) {
			return k.intent, 1, "keyword " + quoted(k.told), true
		}
	}
	if x, like, ok := w.examples.nearest(g); ok {
		to, _ := indexOf(x.Intent)
		return to, like, x.name(), true
	}
	return 0, 0, "", false
}

func (x *Example) name() string {
	if x.ID != "" {
		return "example " + x.ID
	}
	return "example " + quoted(x.Text)
}

// quoted is the beginning of a text in quotes.
func quoted(text string) string {
	const most = 60
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = text[:boundary(text, most)] + "…"
	}
	return "“" + text + "”"
}

// holdsWord tells whether normalized text holds a phrase of whole words;
// Chinese has no spaces between them.
func holdsWord(text []byte, phrase string) bool {
	for from := 0; ; {
		at := strings.Index(string(text[from:]), phrase)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(phrase)
		before := at == 0 || !wordByte(text, at) || !wordByte(text, lastRune(text, at))
		after := end == len(text) || !wordByte(text, end) || !wordByte(text, lastRune(text, end))
		if before && after {
			return true
		}
		from = at + 1
	}
}

// lastRune is where the rune before i begins.
func lastRune(text []byte, i int) int {
	_, n := utf8.DecodeLastRune(text[:i])
	return i - n
}
