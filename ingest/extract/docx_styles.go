package extract

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// style is what a paragraph style of Word says of a paragraph.
type style struct {
	base     string
	level    int // of a heading, 0 = none
	title    bool
	contents bool // a line of the table of contents
	list     string
	depth    int
}

// readStyles returns the paragraph styles by id, with what they inherit.
func readStyles(a *archive, part string) (map[string]style, error) {
	out := map[string]style{}
	id, cur, inside := "", style{}, false
	err := a.walk(part, func(_ *xml.Decoder, t xml.Token) error {
		switch t := t.(type) {
		case xml.StartElement:
			if t.Name.Local == "style" {
				id, cur, inside = attr(t, "styleId"), style{}, attr(t, "type") == "paragraph"
			} else if inside {
				cur.property(t)
			}
		case xml.EndElement:
			if t.Name.Local == "style" && inside && id != "" {
				out[id] = cur
			}
		}
		return nil
	})
	for id, st := range out {
		inherited := st
		for range 10 { // deeper chains are loops
			base, ok := out[inherited.base]
			if !ok {
				break
			}
			inherited.base = base.base
			if st.level == 0 {
				st.level = base.level
			}
			if st.list == "" {
				st.list, st.depth = base.list, base.depth
			}
		}
		out[id] = st
	}
	return out, optional(err)
}

func (s *style) property(e xml.StartElement) {
	val := attr(e, "val")
	switch e.Name.Local {
	case "basedOn":
		s.base = val
	case "outlineLvl":
		if n := number(val) + 1; n <= 9 {
			s.level = n
		}
	case "numId":
		s.list = val
	case "ilvl":
		s.depth = number(val)
	case "name":
		name := strings.ToLower(val)
		switch {
		case name == "title":
			s.title = true
		case strings.HasPrefix(name, "toc "):
			s.contents = true
		default:
			for _, word := range []string{"heading ", "标题 ", "标题"} {
				if n, ok := strings.CutPrefix(name, word); ok && len(n) == 1 && n >= "1" && n <= "9" {
					s.level = number(n)
				}
			}
		}
	}
}

// numbering counts the lists that Word numbers itself.
type numbering struct {
	abstract map[string][]listLevel // by abstract id
	lists    map[string]string      // list id -> abstract id
	counts   map[string][]int       // abstract id -> by depth
	restarts map[string]map[int]int // list id -> depth -> the number that it begins with, until it has begun
}

type listLevel struct {
	format, text string
	start        int
	digits       bool // numbers of higher levels are written in digits here
}

func readNumbering(a *archive, part string) (*numbering, error) {
	n := &numbering{abstract: map[string][]listLevel{}, lists: map[string]string{}, counts: map[string][]int{}, restarts: map[string]map[int]int{}}
	abstract, list, depth := "", "", 0
	err := a.walk(part, func(_ *xml.Decoder, t xml.Token) error {
		e, ok := t.(xml.StartElement)
		if !ok {
			return nil
		}
		levels := n.abstract[abstract]
		switch e.Name.Local {
		case "abstractNum":
			abstract = attr(e, "abstractNumId")
		case "lvl":
			if len(levels) < 9 && abstract != "" {
				n.abstract[abstract] = append(levels, listLevel{format: "decimal", start: 1})
			}
		case "numFmt", "lvlText", "start", "isLgl":
			if len(levels) > 0 {
				levels[len(levels)-1].property(e.Name.Local, attr(e, "val"))
			}
		case "num":
			abstract, list = "", attr(e, "numId")
		case "lvlOverride":
			depth = number(attr(e, "ilvl"))
		case "startOverride":
			if n.restarts[list] == nil {
				n.restarts[list] = map[int]int{}
			}
			n.restarts[list][depth] = number(attr(e, "val"))
		case "abstractNumId":
			n.lists[list] = attr(e, "val")
		}
		return nil
	})
	return n, optional(err)
}

func (l *listLevel) property(name, val string) {
	switch name {
	case "numFmt":
		l.format = val
	case "lvlText":
		l.text = val
	case "start":
		l.start = number(val)
	case "isLgl":
		l.digits = val != "0" && val != "false"
	}
}

// next returns the mark of the next paragraph of a list, "" of no list, "-"
// where there is no number.
func (n *numbering) next(list string, depth int) string {
	if list == "" || list == "0" {
		return ""
	}
	levels := n.abstract[n.lists[list]]
	if depth >= len(levels) {
		return "-"
	}
	id := n.lists[list]
	counts := n.counts[id]
	for len(counts) <= depth {
		counts = append(counts, levels[len(counts)].start-1)
	}
	if start, ok := n.restarts[list][depth]; ok {
		delete(n.restarts[list], depth)
		counts[depth] = start - 1
	}
	counts[depth]++
	for i := depth + 1; i < len(counts); i++ {
		counts[i] = levels[i].start - 1
	}
	n.counts[id] = counts
	if levels[depth].format == "bullet" || levels[depth].format == "none" {
		return "-"
	}
	text := levels[depth].text
	for i := range min(depth+1, len(levels)) {
		format := levels[i].format
		if levels[depth].digits {
			format = "decimal"
		}
		text = strings.ReplaceAll(text, "%"+strconv.Itoa(i+1), inFormat(max(counts[i], levels[i].start), format))
	}
	if text = strings.TrimSpace(text); text == "" {
		return "-"
	}
	return text
}

// inFormat writes a number as a format of Word does; unknown ones as digits.
func inFormat(n int, format string) string {
	switch format {
	case "lowerLetter", "upperLetter":
		if n < 1 || n > 26*20 {
			return strconv.Itoa(n)
		}
		s := strings.Repeat(string(rune('a'+(n-1)%26)), (n-1)/26+1)
		if format == "upperLetter" {
			s = strings.ToUpper(s)
		}
		return s
	case "decimalZero":
		return fmt.Sprintf("%02d", n)
	case "decimalEnclosedCircle", "decimalEnclosedCircleChinese":
		if n >= 1 && n <= 20 {
			return string(rune('①' + n - 1))
		}
	case "lowerRoman":
		return strings.ToLower(roman(n))
	case "upperRoman":
		return roman(n)
	case "chineseCounting", "chineseCountingThousand", "ideographTraditional", "japaneseCounting", "taiwaneseCountingThousand":
		return han(n)
	}
	return strconv.Itoa(n)
}

func roman(n int) string {
	if n < 1 || n > 3999 {
		return strconv.Itoa(n)
	}
	var b strings.Builder
	for _, d := range []struct {
		value int
		sign  string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for ; n >= d.value; n -= d.value {
			b.WriteString(d.sign)
		}
	}
	return b.String()
}

// han writes a number up to 9,999 in Chinese.
func han(n int) string {
	if n < 1 || n > 9999 {
		return strconv.Itoa(n)
	}
	digits := []string{"零", "一", "二", "三", "四", "五", "六", "七", "八", "九"}
	units := []string{"", "十", "百", "千"}
	out, zero := "", false
	for unit, part := 3, n; unit >= 0; unit-- {
		power := []int{1, 10, 100, 1000}[unit]
		d := part / power
		part %= power
		switch {
		case d == 0:
			zero = out != ""
			continue
		case zero:
			out += digits[0]
			zero = false
		}
		out += digits[d] + units[unit]
	}
	if strings.HasPrefix(out, "一十") {
		out = strings.TrimPrefix(out, "一")
	}
	return out
}
