package assemble

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"strata/intent"
	"strata/internal/terms"
	"strata/stores"
)

// sameMatter is the share of a memory's terms that a sentence of a passage,
// with its title and headings, must hold to speak of the same matter.
const sameMatter = 0.6

// clash reports whether a passage on offer gives another number for what an
// earlier finding states. The passage stands.
func (w *walk) clash(m *stores.Memory) bool {
	if w.plan.Intent != intent.RAG || m.Type != stores.Conclusion {
		return false
	}
	mine := figures(m.Summary)
	if len(mine) == 0 {
		return false
	}
	var matter []topic
	for _, t := range topics(m.Summary) {
		if !strings.ContainsFunc(t.term, unicode.IsDigit) {
			matter = append(matter, t)
		}
	}
	if len(matter) == 0 {
		return false
	}
	for _, o := range w.offers {
		for i := range o.items {
			if p := o.items[i].passage; p != nil && contradicts(p, matter, mine) {
				return true
			}
		}
	}
	return false
}

// contradicts reports whether a sentence of p is about the matter and holds
// none of its figures but others, and no sentence holds them.
func contradicts(p *stores.Passage, matter []topic, mine []string) bool {
	head := map[uint64]bool{}
	hold(head, p.Title+"\n"+p.Heading)
	if coverOf(matter, head, p.Text) < sameMatter {
		return false
	}
	other := false
	for s := range sentences(p.Text) {
		theirs := numbers(s)
		if len(theirs) == 0 || coverOf(matter, head, s) < sameMatter {
			continue
		}
		if slices.ContainsFunc(mine, func(n string) bool { return slices.Contains(theirs, n) }) {
			return false
		}
		other = true
	}
	return other
}

func hold(set map[uint64]bool, text string) {
	for _, t := range terms.Of(text) {
		set[digest(t)] = true
	}
}

func coverOf(matter []topic, head map[uint64]bool, text string) float64 {
	body := map[uint64]bool{}
	hold(body, text)
	all, held := 0.0, 0.0
	for _, t := range matter {
		all += t.weight
		if body[t.hash] || head[t.hash] {
			held += t.weight
		}
	}
	return held / all
}

// sentences yields the sentences and lines of text.
func sentences(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		from := 0
		for i, r := range text {
			switch r {
			case '。', '！', '？', '；', '\n', ';', '!', '?':
			case '.':
				if next := text[i+1:]; next != "" && next[0] != ' ' {
					continue
				}
			default:
				continue
			}
			if !yield(text[from:i]) {
				return
			}
			from = i + len(string(r))
		}
		yield(text[from:])
	}
}

// figures are the numbers that a statement is about: years and parts of dates
// only where there is nothing else.
func figures(text string) []string {
	all := numbers(text)
	rest := slices.DeleteFunc(slices.Clone(all), func(n string) bool {
		y, err := strconv.Atoi(n)
		return err == nil && y >= 1900 && y < 2100
	})
	if len(rest) == 0 {
		return all
	}
	return rest
}

// numbers returns the numbers of text, without signs that group digits:
// 1,000 is 1000, 三十天 is 30.
func numbers(text string) []string {
	var out []string
	rs := []rune(terms.Normalize(text))
	for i := 0; i < len(rs); {
		switch {
		case rs[i] >= '0' && rs[i] <= '9':
			n, end := digits(rs, i)
			out, i = append(out, n), end
		case startsNumber(rs[i]):
			n, end := hanNumber(rs, i)
			if end < len(rs) && strings.ContainsRune(measures, rs[end]) {
				out = append(out, strconv.Itoa(n))
			}
			i = end
		default:
			i++
		}
	}
	return out
}

func digits(rs []rune, i int) (string, int) {
	var b strings.Builder
	for ; i < len(rs); i++ {
		switch r := rs[i]; {
		case r >= '0' && r <= '9':
			b.WriteRune(r)
		case (r == '.' || r == ',') && i+1 < len(rs) && rs[i+1] >= '0' && rs[i+1] <= '9':
			if r == '.' {
				b.WriteByte('.')
			}
		default:
			return b.String(), i
		}
	}
	return b.String(), i
}

// measures follow a number; without one 一 and 十 are parts of words.
const measures = "天日个元块次年月周岁人小分秒号楼层倍名份条点级万亿%"

var hanValues = map[rune]int{'零': 0, '一': 1, '二': 2, '两': 2, '三': 3, '四': 4, '五': 5, '六': 6, '七': 7, '八': 8, '九': 9}

var hanUnits = map[rune]int{'十': 10, '百': 100, '千': 1000, '万': 10000}

func startsNumber(r rune) bool {
	if r < 0x4E00 {
		return false
	}
	_, ok := hanValues[r]
	return ok || r == '十'
}

func hanNumber(rs []rune, i int) (int, int) {
	sum, last := 0, 0
	for ; i < len(rs) && sum < 1e8; i++ {
		if v, ok := hanValues[rs[i]]; ok {
			last = v
			continue
		}
		unit, ok := hanUnits[rs[i]]
		if !ok {
			break
		}
		if unit == 10000 {
			sum, last = (sum+last)*unit, 0
			continue
		}
		sum, last = sum+max(1, last)*unit, 0
	}
	return sum + last, i
}
