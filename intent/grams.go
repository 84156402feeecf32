package intent

import (
	"sync"
	"unicode/utf8"
)

// gramBits is how many bits number the places that grams are hashed to.
const gramBits = 18

// grams collects the words of a request and their neighbours, each as the
// number of the place that it is hashed to.
type grams struct {
	at    []uint32
	spans []span
	text  []byte // normalized, in which the spans lie
	words int
	one   uint32 // the last word
	two   uint32 // the one before it
	from  [2]int // where these begin
}

// span is where the words of a gram stand.
type span struct{ from, to uint16 }

var gramPool = sync.Pool{New: func() any {
	return &grams{at: make([]uint32, 0, 1024), spans: make([]span, 0, 1024), text: make([]byte, 0, textSize)}
}}

func takeGrams() *grams { return gramPool.Get().(*grams) }

// giveBack keeps the room and none of the words.
func (g *grams) giveBack() {
	clear(g.text[:cap(g.text)])
	g.reset()
	gramPool.Put(g)
}

// What a gram is; part of its hash.
const (
	gramWord uint32 = iota + 1
	gramPair
	gramThree
	gramHead
	gramTail
	gramFirst
	gramSecond
	gramLast
	gramLastPair
)

func (g *grams) reset() {
	g.at, g.spans = g.at[:0], g.spans[:0]
	g.words, g.one, g.two, g.from = 0, 0, 0, [2]int{}
}

// add takes a span of normalized text, one word or a phrase of several.
func (g *grams) add(b []byte, from, to int) {
	for i := from; i < to; {
		if b[i] == ' ' {
			i++
			continue
		}
		end := min(wordAfter(b, i), to)
		g.word(b, i, end)
		i = end
	}
}

func (g *grams) word(b []byte, from, to int) {
	w := b[from:to]
	h := hashWord(w)
	g.emit(gramWord, h, from, to)
	g.emit(gramPair, mix(g.one, h), g.from[0], to)
	if w[0] >= utf8.RuneSelf {
		if g.two != 0 {
			g.emit(gramThree, mix(mix(g.two, g.one), h), g.from[1], to)
		}
	} else if len(w) > 4 { // what typing errors and endings leave
		g.emit(gramHead, hashWord(w[:4]), from, to)
		g.emit(gramTail, hashWord(w[len(w)-3:]), from, to)
	}
	switch g.words {
	case 0:
		g.emit(gramFirst, h, from, to)
	case 1:
		g.emit(gramSecond, mix(g.one, h), g.from[0], to)
	}
	g.words++
	g.two, g.one = g.one, h
	g.from[1], g.from[0] = g.from[0], from
}

// end takes note of how the request ends, and of its text.
func (g *grams) end(text []byte) {
	g.text = append(g.text[:0], text...)
	if n := len(g.spans); n > 0 {
		to := int(g.spans[n-1].to)
		g.emit(gramLast, g.one, g.from[0], to)
		g.emit(gramLastPair, mix(g.two, g.one), g.from[1], to)
	}
}

func (g *grams) emit(kind, h uint32, from, to int) {
	g.at = append(g.at, mix(kind, h)>>(32-gramBits))
	g.spans = append(g.spans, span{uint16(from), uint16(to)})
}

func hashWord(w []byte) uint32 {
	h := uint32(2166136261)
	for _, b := range w {
		h = (h ^ uint32(b)) * 16777619
	}
	return h | 1
}

func mix(a, b uint32) uint32 {
	h := (a*0x9E3779B1 ^ b) * 0x85EBCA6B
	return (h ^ h>>15) * 0xC2B2AE35
}
