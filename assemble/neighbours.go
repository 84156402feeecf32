package assemble

import (
	"slices"
	"strconv"
	"strings"

	"strata/stores"
)

// inReadingOrder puts passages that follow one another in the same version of
// a document into their order there, at the place of the one that came first.
func inReadingOrder(list []*stores.Passage) []*stores.Passage {
	if len(list) < 2 {
		return list
	}
	type spot struct {
		document         string
		version, ordinal int
	}
	at := map[spot]*stores.Passage{}
	for _, p := range list {
		if p.Document != "" {
			at[spot{p.Document, p.Version, p.Ordinal}] = p
		}
	}
	out := make([]*stores.Passage, 0, len(list))
	for _, p := range list {
		if slices.Contains(out, p) {
			continue
		}
		s := spot{p.Document, p.Version, p.Ordinal}
		if at[s] != p { // no document's, or a second one in the same place
			out = append(out, p)
			continue
		}
		for prior := s; at[prior] != nil; prior.ordinal-- {
			s = prior
		}
		for ; at[s] != nil; s.ordinal++ {
			out = append(out, at[s])
		}
	}
	return out
}

// joined makes one passage of those that follow one another under the same
// headings.
func joined(list []*stores.Passage) []*stores.Passage {
	out := make([]*stores.Passage, 0, len(list))
	for _, p := range list {
		if n := len(out); n > 0 {
			if heading, ok := follows(out[n-1], p); ok {
				both := *out[n-1]
				both.Heading, both.Text, both.Ordinal = heading, continued(both.Text, p.Text), p.Ordinal
				out[n-1] = &both
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// follows tells whether b goes on where a ends, and under what both stand. Of a
// heading only the pages or rows at its end may differ.
func follows(a, b *stores.Passage) (heading string, ok bool) {
	if a.Document == "" || a.Document != b.Document || a.Version != b.Version || a.Ordinal+1 != b.Ordinal {
		return "", false
	}
	if a.Heading == b.Heading {
		return a.Heading, true
	}
	x, y := placeOf(a.Heading), placeOf(b.Heading)
	if x.what == "" || x.what != y.what || x.path != y.path || y.from < x.from || y.from > x.to+1 {
		return "", false
	}
	to := max(x.to, y.to)
	if to == x.from {
		return x.path + x.what + " " + strconv.Itoa(to), true
	}
	return x.path + x.what + "s " + strconv.Itoa(x.from) + "-" + strconv.Itoa(to), true
}

// position is where in its file a passage stands, as the end of its heading says:
// page 12, pages 12-13, rows 20-39.
type position struct {
	path     string // with the sign after it
	what     string // "" = no place
	from, to int
}

func placeOf(heading string) position {
	const sign = " > "
	cut := strings.LastIndex(heading, sign)
	last := heading
	if cut >= 0 {
		last = heading[cut+len(sign):]
	}
	what, numbers, ok := strings.Cut(last, " ")
	what, many := strings.CutSuffix(what, "s")
	if !ok || what != "page" && what != "slide" && what != "row" {
		return position{}
	}
	first, second, span := strings.Cut(numbers, "-")
	from, err := strconv.Atoi(first)
	to := from
	if span && err == nil {
		to, err = strconv.Atoi(second)
	}
	if err != nil || span != many || to < from {
		return position{}
	}
	return position{path: heading[:len(heading)-len(last)], what: what, from: from, to: to}
}

// continued is a followed by b, without what b repeats of a: the head of a
// table, the signs around code, or the lines where they overlap.
func continued(a, b string) string {
	a, b = strings.TrimRight(a, " \n"), strings.TrimLeft(b, "\n")
	if fence := strings.TrimSpace(lastLine(a)); strings.HasPrefix(b, fence) && (strings.HasPrefix(fence, "```") || strings.HasPrefix(fence, "~~~")) && strings.Trim(fence, fence[:1]) == "" {
		_, rest, _ := strings.Cut(b, "\n")
		return strings.TrimRight(strings.TrimSuffix(a, lastLine(a)), "\n") + "\n" + rest
	}
	if head := tableHead(b); head != "" && strings.Contains("\n"+a, "\n"+head) {
		return a + "\n" + b[len(head):]
	}
	if n := overlap(a, b); n > 0 {
		return a + b[n:]
	}
	return a + "\n" + b
}

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }

// tableHead is the head of the table that text begins with, with the end of its
// last line; "" when text begins otherwise.
func tableHead(text string) string {
	first, rest, ok := strings.Cut(text, "\n")
	second, _, more := strings.Cut(rest, "\n")
	if !ok || !more || !strings.HasPrefix(first, "|") || !strings.HasPrefix(second, "|") || strings.Trim(second, "|-: ") != "" {
		return ""
	}
	return text[:len(first)+len(second)+2]
}

// leastOverlap is how many bytes two texts must share to count as overlapping.
const leastOverlap = 24

// overlap is how much of the beginning of b is the end of a, in bytes.
func overlap(a, b string) int {
	for n := min(len(a), len(b)); n >= leastOverlap; n-- {
		if a[len(a)-n] == b[0] && strings.HasSuffix(a, b[:n]) {
			return n
		}
	}
	return 0
}
