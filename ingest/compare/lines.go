package compare

import (
	"bytes"
	"fmt"

	// The diff of Go's own tools as a package: anchored on lines that are unique
	// in both texts, so that it takes n log n time on any input.
	"github.com/rogpeppe/go-internal/diff"
)

const (
	context = 3        // lines around a change
	block   = 64 << 10 // bytes of a text that are read at once
)

// lines is the unified diff of two texts without its head of file names, ""
// where they are the same. What both begin and end with is not looked at but
// for the lines around a change, as a large section mostly differs in little.
func lines(before, after *section) (string, error) {
	h, err := commonHead(before, after)
	if err != nil || h.same == before.size && h.same == after.size {
		return "", err
	}
	tail, err := commonTail(before, after, min(before.size, after.size)-h.same)
	if err != nil {
		return "", err
	}
	var texts [2][]byte
	for i, s := range []*section{before, after} {
		texts[i] = make([]byte, s.size-tail-h.cut)
		if err := s.read(texts[i], h.cut); err != nil {
			return "", err
		}
	}
	b := diff.Diff("a", texts[0], "b", texts[1])
	for range 3 {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		}
	}
	return renumber(b, h.lines), nil
}

// head is what two texts begin with.
type head struct {
	same  int64 // bytes that are the same
	cut   int64 // of these, what is further from the first difference than the context
	lines int   // in what is cut
}

func commonHead(a, b *section) (h head, err error) {
	var starts [context + 1]int64 // of the latest lines, the first of them the oldest
	ended := 0                    // lines
	size := min(a.size, b.size)
	buf := make([]byte, 2*min(block, size))
	for h.same < size {
		n := min(block, size-h.same)
		x, y := buf[:n], buf[n:2*n]
		if err := readBoth(a, b, x, y, h.same, h.same); err != nil {
			return h, err
		}
		same := commonPrefix(x, y)
		for at := 0; ; ended++ {
			i := bytes.IndexByte(x[at:same], '\n')
			if i < 0 {
				break
			}
			at += i + 1
			copy(starts[:], starts[1:])
			starts[context] = h.same + int64(at)
		}
		h.same += int64(same)
		if same < len(x) {
			break
		}
	}
	h.cut, h.lines = starts[0], max(0, ended-context)
	return h, nil
}

// commonTail is how much of the end of two texts, limit at most, is the same
// and further from the last difference than the context.
func commonTail(a, b *section, limit int64) (cut int64, err error) {
	var ends [context + 1]int64 // of the latest lines, counted from the texts' end; the first of them the oldest
	buf := make([]byte, 2*min(block, limit))
	for done := int64(0); done < limit; {
		n := min(block, limit-done)
		x, y := buf[:n], buf[n:2*n]
		if err := readBoth(a, b, x, y, a.size-done-n, b.size-done-n); err != nil {
			return 0, err
		}
		same := commonSuffix(x, y)
		for rest := x; ; {
			i := bytes.LastIndexByte(rest, '\n')
			if i < len(x)-same {
				break
			}
			rest = rest[:i]
			copy(ends[:], ends[1:])
			ends[context] = done + int64(len(x)-i-1)
		}
		if done += int64(same); same < len(x) {
			break
		}
	}
	return ends[0], nil
}

func readBoth(a, b *section, x, y []byte, fromA, fromB int64) error {
	if err := a.read(x, fromA); err != nil {
		return err
	}
	return b.read(y, fromB)
}

// commonPrefix is for texts of the same length, as is commonSuffix.
func commonPrefix(x, y []byte) int {
	if bytes.Equal(x, y) {
		return len(x)
	}
	n := 0
	for x[n] == y[n] {
		n++
	}
	return n
}

func commonSuffix(x, y []byte) int {
	if bytes.Equal(x, y) {
		return len(x)
	}
	n := 0
	for x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
}

// renumber adds the lines that were cut off before a diff to its numbers.
func renumber(b []byte, cut int) string {
	if cut == 0 {
		return string(b)
	}
	var out bytes.Buffer
	for line := range bytes.Lines(b) {
		var from, old, to, new int
		if _, err := fmt.Sscanf(string(line[:min(len(line), 80)]), "@@ -%d,%d +%d,%d @@", &from, &old, &to, &new); err != nil {
			out.Write(line)
			continue
		}
		fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n", from+cut, old, to+cut, new)
	}
	return out.String()
}
