package intent

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Of a long message only the beginning and the end are read: the request
// stands before or after what was pasted. Bytes.
const (
	headSize = 1400
	tailSize = 600
	textSize = headSize + tailSize + 64

	// longMessage is how long a message must be for its later lines to be
	// taken as pasted.
	longMessage = 500
	// longRequest is how many words no request has.
	longRequest = 80
)

// reading is what one pass over a message found.
type reading struct {
	any      mask // in the request, that is outside of quotes and pasted text
	clause   mask // where a clause of the request begins, pleasantries skipped
	first    mask // where the message begins, pleasantries skipped
	material mask // in later lines
	latin    int  // words of the request
	han      int  // Chinese characters of the request
}

// read reads text and collects its words in g, unless that is nil. It allocates
// nothing.
func (c *Classifier) read(text string, g *grams) reading {
	var buf [textSize]byte
	var r reading
	if g != nil {
		g.reset()
	}
	n := normalizer{r: &r, characters: c.characters}
	s := scan{b: plainRequest(n.whole(buf[:0], text)), r: &r, grams: g, phrases: c.phrases, clause: true, first: true}
	s.run()
	if g != nil {
		g.end(s.b)
	}
	r.finish()
	return r
}

// scan walks over normalized text.
type scan struct {
	b       []byte
	r       *reading
	grams   *grams // of the request, nil = not wanted
	phrases *phrases
	line    int
	clause  bool // a clause begins here
	first   bool // nothing but pleasantries so far

	unclosed [len(quotes)]bool // quotes of this kind end nowhere from here on
}

func (s *scan) run() {
	for i := 0; i < len(s.b); {
		ch := s.b[i]
		switch {
		case ch == ' ':
			i++
		case ch == '\n':
			s.newLine(i)
			i++
		case isQuote(s.b, i):
			i = s.skipQuote(i)
		case ch >= utf8.RuneSelf || wordByte(s.b, i):
			i = s.word(i)
		default:
			s.sign(ch)
			i++
		}
	}
}

// sign notes a punctuation mark.
func (s *scan) sign(ch byte) {
	switch ch {
	case '?':
		if s.line == 0 {
			s.r.any.add(isQuestion)
		}
		s.clause = true
	case '!':
		s.r.any.add(isExclaim)
		s.clause = true
	case ':':
		s.clause = true
		if s.line == 0 && s.r.onText() {
			s.line = 1
		}
	case '.', ',', ';', '(':
		s.clause = true
	}
}

// newLine decides whether what follows is pasted: after a request to work on a
// text, or in a long message. Its last line is a request again when it is short
// and stands apart or after many.
func (s *scan) newLine(i int) {
	s.clause = true
	if s.r.latin+s.r.han/2 < 4 || len(s.b) < longMessage && !s.r.onText() {
		return
	}
	s.line++
	last := len(s.b)-i < 240 && bytes.IndexByte(bytes.TrimSpace(s.b[i:]), '\n') < 0
	if last && (s.line > 3 || i > 0 && s.b[i-1] == '\n') {
		s.line = 0
		if s.r.retract() && s.grams != nil {
			s.grams.reset()
		}
	}
}

// word takes the phrase or the word at i and returns where to go on.
func (s *scan) word(i int) int {
	found, n := s.phrases.at(s.b, i)
	if n > 0 {
		s.note(found)
	}
	if n > 0 && (found.meets(swallowed) || found.has(polite) && s.clause) {
		s.count(i, i+n)
		if !found.has(polite) {
			s.clause, s.first = false, false
			s.collect(i, i+n)
		}
		return i + n
	}
	s.clause, s.first = false, false
	end := wordAfter(s.b, i)
	s.count(i, end)
	s.collect(i, end)
	return end
}

// collect takes words of the request that are not mere politeness.
func (s *scan) collect(from, to int) {
	if s.grams != nil && s.line == 0 {
		s.grams.add(s.b, from, to)
	}
}

func (s *scan) note(found mask) {
	if s.line > 0 {
		s.r.material.merge(found)
		return
	}
	s.r.any.merge(found)
	if s.clause {
		s.r.clause.merge(found)
	}
	if s.first {
		s.r.first.merge(found)
	}
}

// count counts the words of the request.
func (s *scan) count(from, to int) {
	if s.line > 0 {
		return
	}
	if s.b[from] >= utf8.RuneSelf {
		s.r.han += (to - from + 2) / 3
		return
	}
	s.r.latin += 1 + bytes.Count(s.b[from:to], []byte{' '})
}

// wordAfter returns the end of the word at i: one ideograph, or a run of
// letters.
func wordAfter(b []byte, i int) int {
	if 0xE4 <= b[i] && b[i] <= 0xE9 && i+3 <= len(b) { // U+4000 to U+9FFF
		return i + 3
	}
	if b[i] >= utf8.RuneSelf {
		ru, n := utf8.DecodeRune(b[i:])
		if ideograph(ru) || !unicode.IsLetter(ru) {
			return i + n
		}
		i += n
	}
	for i < len(b) && wordByte(b, i) {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, n := utf8.DecodeRune(b[i:])
		i += n
	}
	return i
}

// wordByte tells whether b[i] is inside a word that is written with letters.
func wordByte(b []byte, i int) bool {
	ch := b[i]
	switch {
	case 'a' <= ch && ch <= 'z', ch == '#':
		return true
	case ch == '\'':
		return i > 0 && i+1 < len(b) && isLetter(b[i-1]) && isLetter(b[i+1])
	case ch < utf8.RuneSelf:
		return false
	}
	ru, _ := utf8.DecodeRune(b[i:])
	return !ideograph(ru) && unicode.IsLetter(ru)
}

func ideograph(ru rune) bool {
	return firstIdeograph <= ru && ru <= lastIdeograph || 0x3400 <= ru && ru <= 0x4DBF
}

// onText tells whether the request is to work on a text, which then follows a
// colon or stands on the next lines.
func (r *reading) onText() bool { return r.any.meets(textMarks) || r.clause.meets(textOpening) }

// widen takes pasted lines for the request, for want of anything else.
func (r *reading) widen() {
	r.any.merge(r.material)
	r.settle()
}

// retract takes what has been read for pasted text, if it is too long to be a
// request, since a request follows. It tells whether it did.
func (r *reading) retract() bool {
	if r.latin+r.han/2 < longRequest {
		return false
	}
	r.material.merge(r.any)
	*r = reading{material: r.material, any: r.any.and(seenMarks)}
	return true
}

// finish adds the cues that are not made of words.
func (r *reading) finish() {
	if !r.material.empty() {
		r.any.add(isPasted)
	}
	if r.any.meets(askedAnywhere) || r.clause.meets(askedOpening) {
		r.any.add(isAsked)
	} else if r.latin+r.han > 0 {
		r.any.add(isPlain)
	}
	if r.latin <= 6 && r.han <= 10 && r.latin+r.han/2 <= 7 {
		r.any.add(isShort)
	}
	r.settle()
}

// What makes a sentence a question: some words wherever they stand, others
// where a clause begins.
var (
	askedAnywhere = maskOf([]cue{isQuestion, yesNo, howMany, howMuch, duration, procedure, manner, consequent, permit, whoDecides, define, opinion})
	askedOpening  = maskOf([]cue{wh, auxiliary})
	seenMarks     = maskOf([]cue{isNumber, isIdentifier, isCode})
	textMarks     = maskOf([]cue{polishMark, given})
	textOpening   = maskOf([]cue{polishVerb, writeVerb})
	// swallowed phrases hide the cues of the words inside of them.
	swallowed = maskOf([]cue{blank, define, procedure, duration, consequent, whoDecides, howMany})
)
