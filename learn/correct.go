package learn

import (
	"strings"

	"strata/internal/prefilter"
)

var corrections = []struct {
	match             *prefilter.Pattern
	old, new, subject int // groups
}{
	{patterns.Compile(`^(?:不对?[，,。!！]?|错了[，,]?|更正(?:一下)?[，,:：]?|其实|应该)*不是\s*([^,，。]{1,24}?)\s*[,，]?\s*(?:而?是|应该是|改成)\s*([^,，。!！?？]{1,40})[。.!！]*$`), 1, 2, 0},
	{patterns.Compile(`^(?:是)?\s*([^,，。]{1,24}?)[,，]\s*不是\s*([^,，。!！?？]{1,24})[。.!！]*$`), 2, 1, 0},
	{patterns.Compile(`^(?:不对|不是|错了|我说错了|更正(?:一下)?|纠正(?:一下)?|哦不|说错了)[，,:：。\s]*(?:应该|其实)?(?:是|改成|改为)\s*([^,，。!！?？]{1,40})[。.!！]*$`), 0, 1, 0},
	{patterns.Compile(`^(?:其实|实际上|准确地?说|应该)(?:应该)?是\s*([^,，。!！?？]{1,40})[。.!！]*$`), 0, 1, 0},
	{patterns.Compile(`^(?:请|帮我|以后)*(?:把|将)?([^,，。]{2,24}?)(?:的[^,，。]{0,4})?(?:改成|改为|改到|换成|更新为|调整为|推迟到|提前到)了?\s*([^,，。!！?？]{1,40})[。.!！]*$`), 0, 2, 1},
	{gated(`^(?:no|nope|sorry|wait|oops|correction|actually|my mistake|wrong)[,.:!]?(?: no,?| sorry,?| wait,?| actually,?)? ?(?:it'?s|it is|that'?s|i meant|i mean|it should be|should be|make (?:that|it)|that should be) (?:actually )?([^,;.!?]{1,60}?)(?:,? (?:and )?not ([^,;.!?]{1,40}))?[.!]*$`), 2, 1, 0},
	{gated(`^(?:no,? )?(?:it'?s|it is|that'?s) (?:actually )?([^,;.!?]{1,60}?),? (?:and )?not ([^,;.!?]{1,40})[.!]*$`), 2, 1, 0},
	{gated(`^(?:no,? )?(?:it'?s )?not ([^,;.!?]{1,40}?)[,;]? (?:but|it'?s|it is|rather) ([^,;.!?]{1,60})[.!]*$`), 1, 2, 0},
	{gated(`^(?:please )?(?:change|update|switch|move|set) (?:the |my |our )?([^,;.!?]{3,50}?) to ([^,;!?]{1,60}?)[.!]*$`), 0, 2, 1},
}

// correction reads a sentence that puts something right.
func correction(s *utterance) (Correction, bool) {
	for i := range corrections {
		c := &corrections[i]
		m := c.match.Submatch(s.text, &s.hits)
		if m == nil {
			continue
		}
		get := func(g int) string {
			if g == 0 {
				return ""
			}
			return strings.TrimSpace(m[g])
		}
		return Correction{Old: get(c.old), New: get(c.new), Subject: get(c.subject), Text: s.text}, true
	}
	return Correction{}, false
}
