package ingest

import (
	"cmp"
	"context"
	"strings"

	"strata/internal/pace"
	"strata/internal/tokens"
	"strata/stores"
)

// Sizes of passages in tokens. Packing goes by estimate, which has a margin of
// 15 %: 420 estimated are some 360 counted.
const (
	limit = 500 // counted, never above
	most  = 420 // estimated; where a section is longer, it is cut into even parts below this
	whole = 500 // estimated; lists, tables and code up to this stay in one piece
	head  = 150 // estimated; the longest table head or fence that is repeated
)

// atom is what is not cut any more: a block, a sentence, a row.
type atom struct {
	start, end int32
	tokens     int32
	wrap       int32 // 1 + index of what surrounds it when it is cut from its block; 0 none
	opens      bool  // begins a block
	sticky     bool  // a heading: stays with what follows
}

// wrap is repeated around the parts of a block that is cut.
type wrap struct {
	before, after string
	start, end    int32 // the block's: its first part has before already, its last one after
	tokens        int
}

// splitter cuts a text into passages, one window of it after the other.
type splitter struct {
	ctx   context.Context
	count func(string) int
	put   func(stores.Passage) error
	n     int      // passages so far
	open  *heading // what the next window stands under
	room  int      // what fitted lately, at most most: text that the estimate is too low for is seldom alone
	err   error    // of put
	pace  pace.Pace

	// Of the window.
	text   string
	blocks []block
	marks  []mark
	wraps  []wrap
}

func newSplitter(ctx context.Context, count func(string) int, put func(stores.Passage) error) *splitter {
	return &splitter{ctx: ctx, count: count, put: put, room: most}
}

// window gives out the passages of a text whose blocks are known, in its
// order. They do not overlap: repeating the last sentence of the passage
// before covered 2 to 3 % more of the wanted text in two judged sets and 4 %
// less in a third, for the same tokens.
// The only errors are ctx's and those of put.
func (s *splitter) window(text string, blocks []block, marks []mark) error {
	s.text, s.blocks, s.marks = text, blocks, marks
	var atoms []atom
	var all []group
	all, s.open = groups(text, blocks, s.open)
	for _, g := range all {
		if err := s.failed(); err != nil {
			return err
		}
		atoms, s.wraps = atoms[:0], s.wraps[:0]
		for i := g.from; i < g.to; i++ {
			atoms = s.atoms(atoms, blocks[i], most)
		}
		s.pack(g.path, atoms, most)
	}
	return s.failed()
}

func (s *splitter) failed() error { return cmp.Or(s.err, s.ctx.Err()) }

// give gives out one passage of the text from start to end.
func (s *splitter) give(path, text string, tokens, start, end int) {
	if s.err == nil {
		s.err = s.put(stores.Passage{Ordinal: s.n, Heading: placed(path, s.marks, start, end), Text: text, Tokens: tokens})
		s.n++
	}
	s.pace.Keep(s.ctx)
}

// pack gathers atoms into passages of even size, at most room estimated
// tokens each, and prefers to end them where a block ends.
func (s *splitter) pack(path string, atoms []atom, room int) {
	rest := 0
	for _, a := range atoms {
		rest += int(a.tokens)
	}
	for widest := room; len(atoms) > 0 && s.failed() == nil; {
		room = min(widest, s.room)
		goal := rest / max(1, (rest+room-1)/room)
		size, n, left := 0, 0, rest
		if w := atoms[0].wrap; w > 0 {
			size = s.wraps[w-1].tokens
		}
		for n < len(atoms) {
			a := atoms[n]
			grown := size + int(a.tokens)
			enough := size+int(a.tokens)/2 > goal || a.opens && size >= goal*3/4
			if n > 0 && (grown > room || enough && size+left > room && !atoms[n-1].sticky) {
				break
			}
			size, n, left = grown, n+1, left-int(a.tokens)
		}
		rest = left
		s.emit(path, atoms[:n], room)
		atoms = atoms[n:]
	}
}

// emit makes one passage of atoms. The estimate can be too low for unusual
// text: what counts above the limit is cut again, smaller.
func (s *splitter) emit(path string, atoms []atom, room int) {
	first, last := atoms[0], atoms[len(atoms)-1]
	body := strings.TrimRight(trimBlankLines(s.text[first.start:last.end]), " \t\n")
	if body == "" {
		return
	}
	wrapped := s.surround(body, first, last)
	n := s.count(wrapped)
	if n <= limit {
		s.room = min(most, s.room+s.room/16+1)
		s.give(path, wrapped, n, int(first.start), int(last.end))
		return
	}
	smaller := max(1, room*limit/n*9/10)
	s.room = min(s.room, smaller)
	if len(atoms) > 1 {
		s.pack(path, atoms, smaller)
		return
	}
	parts := s.cut(nil, int(first.start), int(first.end), smaller, 0)
	if len(parts) > 1 {
		s.pack(path, parts, smaller)
		return
	}
	if n = s.count(body); len(wrapped) > len(body) && n <= limit {
		wrapped = body
	}
	s.give(path, wrapped, n, int(first.start), int(last.end))
}

// surround repeats a table's head and closes fences where a passage begins or
// ends inside their block.
func (s *splitter) surround(body string, first, last atom) string {
	if first.wrap > 0 {
		if w := s.wraps[first.wrap-1]; first.start > w.start {
			body = w.before + body
		}
	}
	if last.wrap > 0 {
		if w := s.wraps[last.wrap-1]; last.end < w.end {
			body += w.after
		}
	}
	return body
}

// atoms appends the atoms of a block: the block itself if it is small enough.
func (s *splitter) atoms(dst []atom, b block, room int) []atom {
	n := len(dst)
	fits := room
	if b.kind == table || b.kind == code || b.kind == list {
		fits = room * whole / most
	}
	switch {
	case b.tokens <= fits:
		dst = append(dst, atom{start: int32(b.start), end: int32(b.end), tokens: int32(b.tokens), sticky: b.kind == title})
	case b.kind == table:
		dst = s.rows(dst, b, room)
	case b.kind == code:
		dst = s.codeLines(dst, b, room)
	case b.kind == list:
		dst = s.items(dst, b, room)
	default:
		dst = s.cut(dst, b.start, b.end, room, 0)
	}
	if len(dst) > n {
		dst[n].opens = true
	}
	return dst
}

// rows appends a table row by row, its head with the first.
func (s *splitter) rows(dst []atom, b block, room int) []atom {
	top := lineEnd(s.text, lineEnd(s.text, b.start))
	w := wrap{before: s.text[b.start:top], start: int32(b.start), end: int32(b.end)}
	if w.tokens = tokens.Estimate(w.before); w.tokens > head {
		return s.lines(dst, b.start, b.start, b.end, room, 0)
	}
	s.wraps = append(s.wraps, w)
	return s.lines(dst, b.start, top, b.end, room-w.tokens, len(s.wraps))
}

// codeLines appends a block of code line by line.
func (s *splitter) codeLines(dst []atom, b block, room int) []atom {
	top := lineEnd(s.text, b.start)
	fence := strings.TrimSpace(s.text[b.start:top])
	mark := len(fence) - len(strings.TrimLeft(fence, "`~"))
	if mark < 3 || len(fence) > maxTitle {
		return s.lines(dst, b.start, b.start, b.end, room, 0)
	}
	s.wraps = append(s.wraps, wrap{before: fence + "\n", after: "\n" + fence[:mark], start: int32(b.start), end: int32(b.end), tokens: tokens.Estimate(fence) + mark})
	return s.lines(dst, b.start, top, b.end, room-2*mark, len(s.wraps))
}

// lines appends the lines from start to end, the first one with what is
// before it from begin on.
func (s *splitter) lines(dst []atom, begin, start, end, room, wrapped int) []atom {
	for at := begin; at < end; {
		next := min(lineEnd(s.text, start), end)
		n := tokens.Estimate(s.text[at:next])
		from := len(dst)
		if n <= room {
			dst = append(dst, atom{start: int32(at), end: int32(next), tokens: int32(n)})
		} else {
			dst = s.cut(dst, at, next, room, 0)
		}
		for i := from; i < len(dst); i++ {
			dst[i].wrap = int32(wrapped)
		}
		at, start = next, next
	}
	return dst
}

// items appends a list item by item.
func (s *splitter) items(dst []atom, b block, room int) []atom {
	at := b.start
	for i := 1; i <= len(b.cuts); i++ {
		next := b.end
		if i < len(b.cuts) {
			next = b.cuts[i]
		}
		if next <= at || next > b.end {
			continue
		}
		if n := tokens.Estimate(s.text[at:next]); n <= room {
			dst = append(dst, atom{start: int32(at), end: int32(next), tokens: int32(n), opens: true})
		} else {
			dst = s.cut(dst, at, next, room, 0)
		}
		at = next
	}
	if at < b.end {
		dst = s.cut(dst, at, b.end, room, 0)
	}
	return dst
}

// trimBlankLines cuts leading blank lines but not the indent of the first
// line with text.
func trimBlankLines(s string) string {
	i := len(s) - len(strings.TrimLeft(s, " \t\n"))
	return s[lineStart(s, i):]
}
